/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Parts of a program, which is no library. */
#include "cli/flags.c"
#include "cli/output.c"

#include "spec/spec.h"

static const struct flag test_flags[] = {
    {{.key = "quiet", .letter = 'q', .help = "x"}, set_true, FIELD(quiet)},
    {{.key = "force", .letter = 'f', .help = "x"}, set_true, FIELD(force)},
    {{.key = "text", .letter = 't', .argument = "TEXT", .help = "x"}, set_text, FIELD(script)},
    {{.key = "grace", .argument = "DURATION", .help = "x"}, set_duration, FIELD(stop_grace_ms)},
    {{.key = "set", .letter = 's', .argument = "NAME", .help = "x"}, set_job_env},
    END_OF_FLAGS,
};

static const struct flag_group test_groups[] = {{"Flags", test_flags}, {0}};
static const struct flag_group box_groups[] = {
    {"Box", NULL}, {"Job", common_job_flags}, {"", capture_flags}, {0}};

static const struct verb plain = {.name = "plain", .groups = test_groups, .max_words = 2};
static const struct verb like_exec = {.name = "exec",
                                      .groups = test_groups,
                                      .max_words = 1,
                                      .takes_command = true,
                                      .command_from = 1};
static const struct verb like_run = {
    .name = "run", .groups = box_groups, .max_words = 1, .takes_command = true};

/* argv is reordered by the parser: each test gets one of its own. */
static char *line[32];
static struct request request;

static int parse(const struct verb *verb, ...)
{
    int count = 0;
    va_list words;
    request_finish(&request);
    request = (struct request){.verb = verb};
    va_start(words, verb);
    for (char *word; (word = va_arg(words, char *));)
        line[count++] = word;
    va_end(words);
    line[count] = NULL;
    return parse_flags(&request, count, line);
}

static int finish(void **state)
{
    request_finish(&request);
    request = (struct request){0};
    return 0;
}

static void test_long_and_short(void **state)
{
    assert_int_equal(parse(&plain, "--quiet", "--text", "a", "b", "-f", NULL), 0);
    assert_true(request.quiet && request.force);
    assert_string_equal(request.script, "a");
    assert_int_equal(request.word_count, 1);
    assert_string_equal(request.words[0], "b");
    assert_int_equal(parse(&plain, "--text=a=b", "--quiet=false", NULL), 0);
    assert_string_equal(request.script, "a=b");
    assert_false(request.quiet);
    assert_int_equal(parse(&plain, "--text=", NULL), 0);
    assert_string_equal(request.script, "");
}

static void test_clusters(void **state)
{
    assert_int_equal(parse(&plain, "-qf", NULL), 0);
    assert_true(request.quiet && request.force);
    assert_int_equal(parse(&plain, "-qta", NULL), 0);
    assert_string_equal(request.script, "a");
    assert_int_equal(parse(&plain, "-qt", "-f", NULL), 0);
    assert_string_equal(request.script, "-f");
    assert_false(request.force);
    assert_int_equal(parse(&plain, "-qz", NULL), EXIT_USAGE);
}

/* A single dash is a word; "--" ends the flags and is none. */
static void test_dashes(void **state)
{
    assert_int_equal(parse(&plain, "-", "--", "-q", NULL), 0);
    assert_false(request.quiet);
    assert_int_equal(request.word_count, 2);
    assert_string_equal(request.words[0], "-");
    assert_string_equal(request.words[1], "-q");
    assert_int_equal(parse(&plain, "--text", "--", "x", NULL), EXIT_USAGE);
    assert_int_equal(parse(&plain, "--text=--", NULL), 0);
    assert_string_equal(request.script, "--");
    assert_int_equal(parse(&plain, "-t", NULL), EXIT_USAGE);
}

static void test_mistakes(void **state)
{
    assert_int_equal(parse(&plain, "--quite", NULL), EXIT_USAGE);
    assert_int_equal(parse(&plain, "--", "a", "b", "c", NULL), EXIT_USAGE);
    assert_int_equal(parse(&plain, "--qui", NULL), EXIT_USAGE);
    assert_int_equal(parse(&plain, "--quiet=maybe", NULL), EXIT_USAGE);
    assert_int_equal(parse(&plain, "--grace", "soon", NULL), EXIT_USAGE);
    assert_int_equal(parse(&plain, "--grace", "-1", NULL), EXIT_USAGE);
    assert_int_equal(parse(&plain, "--engine", "dokcer", NULL), EXIT_USAGE);
    assert_int_equal(parse(&plain, "--color=red", NULL), EXIT_USAGE);
    assert_int_equal(parse(&plain, "--=x", NULL), EXIT_USAGE);
    /* Not a flag of this verb. */
    assert_int_equal(parse(&plain, "--memory", "1g", NULL), EXIT_USAGE);
}

static void test_exec_shapes(void **state)
{
    assert_int_equal(parse(&like_exec, "-q", "box", "--", "-x", "--quiet", NULL), 0);
    assert_string_equal(request.words[0], "box");
    assert_int_equal(request.word_count, 1);
    assert_string_equal(request.command[0], "-x");
    assert_string_equal(request.command[1], "--quiet");
    assert_null(request.command[2]);
    /* Without "--": the second word begins the command, flags of its own included. */
    assert_int_equal(parse(&like_exec, "box", "ls", "-q", "--", "x", NULL), 0);
    assert_false(request.quiet);
    assert_string_equal(request.command[0], "ls");
    assert_string_equal(request.command[2], "--");
    /* Flags between box and command are ours. */
    assert_int_equal(parse(&like_exec, "box", "-t", "script", NULL), 0);
    assert_string_equal(request.script, "script");
    assert_null(request.command);
    assert_int_equal(parse(&like_exec, "--", "ls", NULL), 0);
    assert_int_equal(request.word_count, 0);
    assert_string_equal(request.command[0], "ls");
}

static void test_run_shapes(void **state)
{
    assert_int_equal(parse(&like_run, "-m", "1g", "-e", "A=1", "-eB=2", "image", "--read-only",
                           "--timeout", "1.5s", "-i", "--", "cmd", "-m", NULL),
                     0);
    assert_int_equal(request.spec->memory, 1 << 30);
    assert_int_equal(request.spec->env_count, 2);
    assert_true(request.spec->read_only);
    assert_int_equal(request.job.timeout_ms, 1500);
    assert_true(request.interactive);
    assert_string_equal(request.words[0], "image");
    assert_string_equal(request.command[1], "-m");
    assert_int_equal(parse(&like_run, "--", NULL), 0);
    assert_non_null(request.spec);
    assert_non_null(request.command);
    assert_null(request.command[0]);
    assert_int_equal(parse(&like_run, "-m", "3", NULL), EXIT_USAGE);
    assert_int_equal(parse(&like_run, "--cpus", "-1", NULL), EXIT_USAGE);
    assert_int_equal(parse(&like_run, "--image", "x", NULL), EXIT_USAGE);
}

/* The library reads 0 as its default; a user who writes 0 does not mean that. */
static void test_zero_is_not_default(void **state)
{
    assert_int_equal(parse(&like_run, "--grace", "0", "--drain=0", NULL), 0);
    assert_int_equal(request.job.grace_ms, 1);
    assert_int_equal(request.job.drain_ms, 1);
    assert_int_equal(parse(&like_run, "--output-limit", "0", NULL), EXIT_USAGE);
    assert_int_equal(parse(&like_run, "--output-limit", "3g", NULL), EXIT_USAGE);
    assert_int_equal(parse(&like_run, "--output-limit", "64k", NULL), 0);
    assert_int_equal(request.job.output_limit, 65536);
}

static void test_job_env(void **state)
{
    setenv("HF_TEST_VARIABLE", "outside", 1);
    assert_int_equal(parse(&plain, "-s", "A=1", "-s", "HF_TEST_VARIABLE", "-sB=", NULL), 0);
    assert_string_equal(request.job.env[0], "A=1");
    assert_string_equal(request.job.env[1], "HF_TEST_VARIABLE=outside");
    assert_string_equal(request.job.env[2], "B=");
    assert_null(request.job.env[3]);
    unsetenv("HF_TEST_VARIABLE");
    assert_int_equal(parse(&plain, "-s", "HF_TEST_VARIABLE", NULL), EXIT_USAGE);
    assert_int_equal(parse(&plain, "-s", "=x", NULL), EXIT_USAGE);
    assert_int_equal(parse(&plain, "-s", "", NULL), EXIT_USAGE);
}

static void test_global(void **state)
{
    char *words[] = {(char *)"--engine", (char *)"native", (char *)"--json=true", (char *)"ps",
                     NULL};
    struct request early = {0};
    assert_int_equal(parse_global_flags(&early, 4, words), 3);
    assert_true(early.json);
    assert_string_equal(early.engine, "native");
    output_set_json(false);
    char *wrong[] = {(char *)"--memory", (char *)"1", NULL};
    assert_int_equal(parse_global_flags(&early, 2, wrong), -EXIT_USAGE);
    /* --help asks for words, not for a complete command line. */
    assert_int_equal(parse(&like_exec, "--help", NULL), 0);
    assert_true(request.help);
}

static void assert_pretty(const char *json, const char *want)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    assert_non_null(stream);
    print_json_pretty(stream, json);
    fclose(stream);
    assert_string_equal(text, want);
    free(text);
}

static void test_pretty_json(void **state)
{
    assert_pretty("{}", "{}\n");
    assert_pretty("[ ]", "[]\n");
    assert_pretty("{\"a\":[1,{\"b\":null}]}",
                  "{\n  \"a\": [\n    1,\n    {\n      \"b\": null\n    }\n  ]\n}\n");
    /* Braces and quotes in strings are text. */
    assert_pretty("\"{[,:\\\"\\\\\"", "\"{[,:\\\"\\\\\"\n");
    /* What would drive a terminal is written out, and the document stays JSON. */
    assert_pretty("\"\x7f\xc2\x9b\xe2\x80\xae\xf3\xa0\x81\x81\xe2\x82\xac\"",
                  "\"\\u007f\\u009b\\u202e\\udb40\\udc41\xe2\x82\xac\"\n");
    /* Broken documents end where they end. */
    assert_pretty("\"abc", "\"abc\n");
    assert_pretty("\"\\", "\"\\\n");
    assert_pretty("]}", "\n]\n}\n");
}

static void test_json_string(void **state)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    assert_non_null(stream);
    print_json_string(stream, "a\"b\\c\n\xff");
    fputc(' ', stream);
    print_json_string(stream, NULL);
    fclose(stream);
    assert_string_equal(text, "\"a\\\"b\\\\c\\\\x0a\\\\xff\" null");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_long_and_short, finish),
        cmocka_unit_test_teardown(test_clusters, finish),
        cmocka_unit_test_teardown(test_dashes, finish),
        cmocka_unit_test_teardown(test_mistakes, finish),
        cmocka_unit_test_teardown(test_exec_shapes, finish),
        cmocka_unit_test_teardown(test_run_shapes, finish),
        cmocka_unit_test_teardown(test_zero_is_not_default, finish),
        cmocka_unit_test_teardown(test_job_env, finish),
        cmocka_unit_test_teardown(test_global, finish),
        cmocka_unit_test(test_pretty_json),
        cmocka_unit_test(test_json_string),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
