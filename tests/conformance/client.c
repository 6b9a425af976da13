/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The public API by lines: one call a line on stdin, its words separated by tabs and percent-encoded,
 * one JSON document a line on stdout. It keeps one context, one box and one job at a time, and knows
 * nothing but <holdfast.h>.
 */
#include <ctype.h>
#include <errno.h>
#include <holdfast.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_WORDS 4096

static hf_context *context;
static hf_box *box;
static hf_job *job;

static char *words[MAX_WORDS + 1];
static size_t sizes[MAX_WORDS];
static size_t count;

/* --- answers ----------------------------------------------------------------------------------- */

static void print_string(const char *text)
{
    putchar('"');
    for (; text && *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            printf("\\%c", c);
        else if (c < 0x20 || c >= 0x7f)
            printf("\\u%04x", c);
        else
            putchar(c);
    }
    putchar('"');
}

static void answer_error(hf_error *error, int code)
{
    printf("{\"error\":{\"code\":");
    print_string(hf_code_name(error ? hf_error_code(error) : (hf_code)code));
    printf(",\"errno\":%d,\"message\":", hf_error_errno(error));
    print_string(error ? hf_error_message(error) : "");
    printf("}}\n");
    if (error && (int)hf_error_code(error) != code) {
        fprintf(stderr, "returned %d, but the error says %d\n", code, (int)hf_error_code(error));
        exit(3);
    }
    hf_error_free(error);
}

static void answer_ok(void)
{
    printf("{\"ok\":true}\n");
}

static void answer(int r, hf_error *error)
{
    if (r < 0)
        answer_error(error, r);
    else
        answer_ok();
}

/* --- words ------------------------------------------------------------------------------------- */

static size_t decode(char *word)
{
    char *out = word;
    for (const char *at = word; *at; at++) {
        if (at[0] == '%' && isxdigit((unsigned char)at[1]) && isxdigit((unsigned char)at[2])) {
            char digits[3] = {at[1], at[2], '\0'};
            *out++ = (char)strtol(digits, NULL, 16);
            at += 2;
        } else {
            *out++ = *at;
        }
    }
    *out = '\0';
    return (size_t)(out - word);
}

static void split(char *line)
{
    count = 0;
    line[strcspn(line, "\n")] = '\0';
    for (char *at = line; at && count < MAX_WORDS;) {
        char *tab = strchr(at, '\t');
        if (tab)
            *tab = '\0';
        words[count] = at;
        sizes[count++] = decode(at);
        at = tab ? tab + 1 : NULL;
    }
    words[count] = NULL;
}

static const char *word(size_t index)
{
    return index < count ? words[index] : "";
}

static const char *value_of(const char *text, const char *name)
{
    size_t size = strlen(name);
    return strncmp(text, name, size) == 0 && text[size] == '=' ? text + size + 1 : NULL;
}

/* --- boxes ------------------------------------------------------------------------------------- */

/* The words from `first` on as key=value of a spec; "flags" is ours. */
static int make_spec(size_t first, hf_spec **ret_spec, unsigned *flags, hf_error **reterr)
{
    int r = hf_spec_new(ret_spec, reterr);
    for (size_t i = first; r == 0 && i < count; i++) {
        char *equals = strchr(words[i], '=');
        if (!equals)
            continue;
        *equals = '\0';
        if (strcmp(words[i], "flags") == 0)
            *flags = (unsigned)strtoul(equals + 1, NULL, 10);
        else
            r = hf_spec_set(*ret_spec, words[i], equals + 1, reterr);
    }
    return r;
}

static void do_create(void)
{
    hf_error *error = NULL;
    hf_spec *spec = NULL;
    unsigned flags = 0;
    int r = make_spec(1, &spec, &flags, &error);
    if (r == 0)
        r = hf_box_create(context, spec, flags, &box, &error);
    hf_spec_free(spec);
    if (r < 0) {
        answer_error(error, r);
        return;
    }
    printf("{\"name\":");
    print_string(hf_box_name(box));
    printf(",\"created\":%s}\n", hf_box_created(box) ? "true" : "false");
}

static void do_attach(void)
{
    hf_error *error = NULL;
    hf_box_close(box);
    box = NULL;
    int r = hf_box_open(context, word(1), &box, &error);
    answer(r, error);
}

static void do_box_close(void)
{
    hf_box_close(box);
    box = NULL;
    answer_ok();
}

static void do_list(void)
{
    hf_error *error = NULL;
    hf_boxes *boxes = NULL;
    char *json = NULL;
    int r = hf_box_list(context, &boxes, &error);
    if (r == 0)
        r = hf_boxes_json(boxes, &json, &error);
    if (r < 0)
        answer_error(error, r);
    else
        printf("{\"boxes\":%s}\n", json);
    free(json);
    hf_boxes_free(boxes);
}

static void do_remove(void)
{
    hf_error *error = NULL;
    int r = hf_box_remove(context, word(1), (unsigned)strtoul(word(2), NULL, 10), &error);
    answer(r, error);
}

static void do_stop(void)
{
    hf_error *error = NULL;
    int r = hf_box_stop(context, word(1), strtoll(word(2), NULL, 10), &error);
    answer(r, error);
}

static void do_sweep(void)
{
    hf_error *error = NULL;
    int r = hf_sweep(context, &error);
    if (r < 0)
        answer_error(error, r);
    else
        printf("{\"swept\":%d}\n", r);
}

/* --- jobs -------------------------------------------------------------------------------------- */

/* Options up to "--", the command after it. `env` must have room for all words. */
static void read_job(hf_job_options *options, const char **env)
{
    size_t used = 0, i = 1;
    const char *value;
    for (; i < count && strcmp(words[i], "--") != 0; i++) {
        if ((value = value_of(words[i], "env")))
            env[used++] = value;
        else if ((value = value_of(words[i], "workdir")))
            options->workdir = value;
        else if ((value = value_of(words[i], "user")))
            options->user = value;
        else if ((value = value_of(words[i], "stdin")))
            options->stdin_mode = HF_STDIN_PIPE;
        else if ((value = value_of(words[i], "merge")))
            options->merge = value[0] == '1';
        else if ((value = value_of(words[i], "timeout_ms")))
            options->timeout_ms = strtoll(value, NULL, 10);
        else if ((value = value_of(words[i], "grace_ms")))
            options->grace_ms = strtoll(value, NULL, 10);
        else if ((value = value_of(words[i], "drain_ms")))
            options->drain_ms = strtoll(value, NULL, 10);
        else if ((value = value_of(words[i], "output_limit")))
            options->output_limit = strtoull(value, NULL, 10);
        else if ((value = value_of(words[i], "kill_on_close")))
            options->kill_on_close = value[0] == '1';
        else
            fprintf(stderr, "unknown option '%s'\n", words[i]);
    }
    env[used] = NULL;
    options->env = env;
    options->argv = (const char *const *)&words[i < count ? i + 1 : i];
}

static const char *job_env[MAX_WORDS + 1];

static void do_start(void)
{
    hf_error *error = NULL;
    hf_job_options options = {.size = sizeof options};
    read_job(&options, job_env);
    hf_job_close(job);
    job = NULL;
    int r = hf_job_start(box, &options, &job, &error);
    if (r < 0)
        answer_error(error, r);
    else
        printf("{\"job\":%u}\n", hf_job_id(job));
}

static void do_read(void)
{
    static char buffer[1 << 20];
    hf_error *error = NULL;
    hf_stream stream = HF_STDIN;
    size_t size = strtoul(word(1), NULL, 10);
    ssize_t n = hf_job_read(job, &stream, buffer, size < sizeof buffer ? size : sizeof buffer,
                            strtoll(word(2), NULL, 10), &error);
    if (n < 0) {
        answer_error(error, (int)n);
        return;
    }
    printf("{\"stream\":%d,\"data\":\"", n ? (int)stream : 0);
    for (ssize_t i = 0; i < n; i++)
        printf("%02x", (unsigned char)buffer[i]);
    printf("\"}\n");
}

static void do_write(void)
{
    hf_error *error = NULL;
    ssize_t n = hf_job_write(job, word(1), sizes[1], &error);
    if (n < 0)
        answer_error(error, (int)n);
    else
        printf("{\"taken\":%zd}\n", n);
}

/* All of it and the end; a job that no longer reads is no mistake. */
static void do_feed(void)
{
    hf_error *error = NULL;
    for (size_t done = 0; done < sizes[1];) {
        ssize_t n = hf_job_write(job, words[1] + done, sizes[1] - done, &error);
        if (n < 0 && hf_error_errno(error) == EPIPE) {
            hf_error_free(error);
            answer_ok();
            return;
        }
        if (n < 0) {
            answer_error(error, (int)n);
            return;
        }
        done += (size_t)n;
    }
    int r = hf_job_close_stdin(job, &error);
    answer(r, error);
}

static void do_eof(void)
{
    hf_error *error = NULL;
    int r = hf_job_close_stdin(job, &error);
    answer(r, error);
}

static void do_signal(void)
{
    hf_error *error = NULL;
    int r = hf_job_signal(job, (int)strtol(word(1), NULL, 10), &error);
    answer(r, error);
}

static void do_cancel(void)
{
    hf_error *error = NULL;
    int r = hf_job_cancel(job, &error);
    answer(r, error);
}

static void print_result(const hf_result *result, bool base64)
{
    hf_error *error = NULL;
    char *json = NULL;
    int r = hf_result_json(result, base64, &json, &error);
    if (r < 0) {
        answer_error(error, r);
        return;
    }
    for (char *at = json; *at; at++)
        if (*at == '\n')
            *at = ' ';
    printf("{\"code\":%d,\"outcome\":\"%s\",\"result\":%s}\n", hf_result_exit_code(result),
           hf_outcome_name(hf_result_outcome(result)), json);
    free(json);
}

static void do_wait(void)
{
    hf_error *error = NULL;
    hf_result *result = NULL;
    int r = hf_job_wait(job, &result, &error);
    if (r < 0)
        answer_error(error, r);
    else
        print_result(result, strcmp(word(1), "base64") == 0);
    hf_result_free(result);
}

static void do_close(void)
{
    hf_job_close(job);
    job = NULL;
    answer_ok();
}

/* run [key=value of the spec]... -- command */
static void do_run(void)
{
    hf_error *error = NULL;
    hf_result *result = NULL;
    hf_spec *spec = NULL;
    unsigned flags = 0;
    size_t all = count, dashes = 1;
    while (dashes < count && strcmp(words[dashes], "--") != 0)
        dashes++;
    count = dashes;
    int r = make_spec(1, &spec, &flags, &error);
    hf_job_options options = {.size = sizeof options,
                              .argv = (const char *const *)&words[dashes < all ? dashes + 1 : all]};
    if (r == 0)
        r = hf_run(context, spec, &options, &result, &error);
    if (r < 0)
        answer_error(error, r);
    else
        print_result(result, false);
    hf_result_free(result);
    hf_spec_free(spec);
}

/* --- the loop ---------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    void (*run)(void);
} calls[] = {
    {"create", do_create}, {"attach", do_attach}, {"box-close", do_box_close}, {"list", do_list},
    {"remove", do_remove}, {"stop", do_stop},     {"sweep", do_sweep},         {"start", do_start},
    {"read", do_read},     {"write", do_write},   {"feed", do_feed},           {"eof", do_eof},
    {"signal", do_signal}, {"cancel", do_cancel}, {"wait", do_wait},           {"close", do_close},
    {"run", do_run},
};

static void dispatch(void)
{
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        if (strcmp(calls[i].name, word(0)) == 0) {
            calls[i].run();
            return;
        }
    }
    printf("{\"error\":{\"code\":\"client\",\"errno\":0,\"message\":\"no such call\"}}\n");
}

int main(void)
{
    hf_error *error = NULL;
    char *line = NULL;
    size_t capacity = 0;
    int r = hf_open(NULL, &context, &error);
    if (r < 0) {
        fprintf(stderr, "%s\n", hf_error_message(error));
        hf_error_free(error);
        return 1;
    }
    while (getline(&line, &capacity, stdin) > 0) {
        split(line);
        dispatch();
        fflush(stdout);
    }
    free(line);
    hf_job_close(job);
    hf_box_close(box);
    hf_close(context);
    return 0;
}
