/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/target.h"

#include <inttypes.h>
#include <string.h>

#include "cli/flags.h"
#include "cli/output.h"
#include "cli/units.h"

/* --- words ------------------------------------------------------------------------------------ */

int check_box_word(const struct request *request)
{
    if (request->word_count == 0)
        return usage_error(request->verb, "which box? `holdfast ps` lists them");
    return 0;
}

int parse_job(const struct request *request, const char *word, uint32_t *ret_id)
{
    uint64_t number;
    if (!parse_number(word, strlen(word), UINT32_MAX, &number) || number == 0)
        return usage_error(request->verb,
                           "'%s' is no job; jobs are numbers, `holdfast jobs %s` "
                           "lists them",
                           word, request->words[0]);
    *ret_id = (uint32_t)number;
    return 0;
}

int check_box_and_job(const struct request *request, uint32_t *ret_id)
{
    int status = check_box_word(request);
    if (status != 0)
        return status;
    if (request->word_count < 2)
        return usage_error(request->verb, "which job? `holdfast jobs %s` lists them",
                           request->words[0]);
    return parse_job(request, request->words[1], ret_id);
}

int open_box(const struct request *request, hf_context **ret_context, hf_box **ret_box)
{
    return open_box_named(request, request->words[0], ret_context, ret_box);
}

int open_box_named(const struct request *request, const char *name, hf_context **ret_context,
                   hf_box **ret_box)
{
    CLEANUP(cleanup_error) hf_error *error = NULL;
    int status = open_context(request, ret_context);
    if (status != 0)
        return status;
    return hf_box_open(*ret_context, name, ret_box, &error) < 0 ? library_failure(error) : 0;
}

/* --- positions -------------------------------------------------------------------------------- */

static bool parse_position(const char *text, size_t size, uint64_t *ret)
{
    if (size == 3 && strncmp(text, "end", 3) == 0) {
        *ret = HF_POSITION_END;
        return true;
    }
    return parse_number(text, size, HF_POSITION_END - 1, ret);
}

static int set_from(struct request *request, const struct flag *flag, const char *value)
{
    size_t size = strcspn(value, ",");
    bool good = parse_position(value, size, &request->from_stdout);
    /* The end of one stream says nothing about a byte of the other, but of its end. */
    request->from_stderr = request->from_stdout == HF_POSITION_END ? HF_POSITION_END : 0;
    if (good && value[size] == ',')
        good = parse_position(value + size + 1, strlen(value + size + 1), &request->from_stderr);
    if (!good)
        return usage_error(
            request->verb,
            "flag --%s: '%s' is no position; write bytes like 4096 or 4096,0, or end",
            flag->info.key, value);
    request->from_given = true;
    return 0;
}

static int set_tail(struct request *request, const struct flag *flag, const char *value)
{
    if (!parse_number(value, strlen(value), UINT32_MAX, &request->tail))
        return usage_error(request->verb, "flag --%s: '%s' is not a number of lines",
                           flag->info.key, value);
    request->tail_given = true;
    return 0;
}

const struct flag position_flags[] = {
    {{.key = "from",
      .argument = "OUT[,ERR]",
      .help = "at which byte of stdout, and of stderr, to begin; end for what is new",
      .fallback = "0,0"},
     set_from},
    {{.key = "tail", .argument = "N", .help = "begin N lines before the end"}, set_tail},
    END_OF_FLAGS,
};

int check_position_flags(const struct request *request)
{
    if (request->from_given && request->tail_given)
        return usage_error(request->verb, "--from and --tail: choose one");
    return 0;
}

hf_attach_options attach_options(const struct request *request, hf_attach_mode mode)
{
    bool none = request->tail_given && request->tail == 0;
    return (hf_attach_options){
        .size = sizeof(hf_attach_options),
        .mode = mode,
        .from_stdout = none ? HF_POSITION_END : request->from_stdout,
        .from_stderr = none ? HF_POSITION_END : request->from_stderr,
        .tail_lines = request->tail,
        .output_limit = request->job.output_limit,
    };
}

static void say_missing_of(const hf_job *job, hf_stream stream, const char *name, uint64_t from)
{
    uint64_t at = hf_job_position(job, stream);
    if (from != HF_POSITION_END && at > from)
        say("%" PRIu64 " bytes of %s are no longer kept; it begins at byte %" PRIu64, at - from,
            name, at);
}

void say_missing(const struct request *request, const hf_job *job)
{
    if (request->tail_given)
        return;
    say_missing_of(job, HF_STDOUT, "stdout", request->from_stdout);
    say_missing_of(job, HF_STDERR, "stderr", request->from_stderr);
}
