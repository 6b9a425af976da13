/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "cli/flags.h"
#include "cli/job.h"
#include "cli/output.h"
#include "cli/stream.h"
#include "cli/target.h"

struct text {
    char *data;
    size_t size;
    FILE *stream;
    uint64_t from, next;
};

static void cleanup_text_stream(struct text *text)
{
    if (text->stream)
        fclose(text->stream);
    free(text->data);
}

/* All that the box keeps; it bounds that itself. */
static int collect(hf_job *job, struct text *out, struct text *err)
{
    CLEANUP(cleanup_error) hf_error *error = NULL;
    static char buffer[65536];
    hf_stream stream;
    ssize_t n;
    while ((n = hf_job_read(job, &stream, buffer, sizeof buffer, -1, &error)) > 0)
        fwrite(buffer, 1, (size_t)n, stream == HF_STDERR ? err->stream : out->stream);
    if (n < 0)
        return library_failure(error);
    out->next = hf_job_position(job, HF_STDOUT);
    err->next = hf_job_position(job, HF_STDERR);
    return fflush(out->stream) == 0 && fflush(err->stream) == 0
               ? 0
               : failure(HF_E_NO_SPACE, "out of memory");
}

static void print_stream(const char *name, const struct text *text)
{
    printf(",\"%s\":", name);
    print_json_bytes(stdout, text->data, text->size);
    printf(",\"%s_from\":%" PRIu64 ",\"%s_next\":%" PRIu64, name, text->from, name, text->next);
}

static int print_document(const struct request *request, hf_job *job)
{
    CLEANUP(cleanup_text_stream) struct text out = {0}, err = {0};
    out.from = hf_job_position(job, HF_STDOUT);
    err.from = hf_job_position(job, HF_STDERR);
    out.stream = open_memstream(&out.data, &out.size);
    err.stream = open_memstream(&err.data, &err.size);
    if (!out.stream || !err.stream)
        return failure(HF_E_NO_SPACE, "out of memory");
    int status = collect(job, &out, &err);
    if (status != 0)
        return status;
    printf("{\"job\":\"%s\",\"box\":", request->words[1]);
    print_json_string(stdout, request->words[0]);
    print_stream("stdout", &out);
    print_stream("stderr", &err);
    puts("}");
    return EXIT_OK;
}

/* A log that breaks off with its box must not look like one that is complete. */
static int check_end(hf_job *job)
{
    CLEANUP(cleanup_error) hf_error *error = NULL;
    CLEANUP(cleanup_result) hf_result *result = NULL;
    if (hf_job_wait(job, &result, &error) < 0)
        return hf_error_code(error) == HF_E_BUSY ? EXIT_OK : library_failure(error);
    if (hf_result_outcome(result) != HF_LOST)
        return EXIT_OK;
    say_outcome(result);
    return EXIT_FAILED;
}

static int print_log(const struct request *request, hf_box *box, uint32_t id)
{
    CLEANUP(cleanup_error) hf_error *error = NULL;
    CLEANUP(cleanup_job) hf_job *job = NULL;
    hf_attach_options options =
        attach_options(request, request->follow ? HF_ATTACH_FOLLOW : HF_ATTACH_LOG);
    if (hf_job_attach(box, id, &options, &job, &error) < 0)
        return library_failure(error);
    say_missing(request, job);
    if (request->json)
        return print_document(request, job);
    struct stream_options stream = {.attached = true};
    int status = stream_pump(job, &stream);
    if (status == STREAM_INTERRUPTED)
        return EXIT_INTERRUPTED;
    return status != 0 ? status : check_end(job);
}

static int run(struct request *request)
{
    CLEANUP(cleanup_context) hf_context *context = NULL;
    CLEANUP(cleanup_box) hf_box *box = NULL;
    uint32_t id;
    int status = check_box_and_job(request, &id);
    if (status == 0)
        status = check_position_flags(request);
    if (status == 0 && request->follow && request->json)
        status = usage_error(request->verb, "--follow and --json: choose one; `holdfast attach "
                                            "--json` waits for the end and prints one document");
    if (status == 0)
        status = open_box(request, &context, &box);
    if (status == 0)
        status = stream_begin();
    return status != 0 ? status : print_log(request, box, id);
}

static const struct flag flags[] = {
    {{.key = "follow", .letter = 'f', .help = "go on with what the job prints, until its end"},
     set_true,
     FIELD(follow)},
    END_OF_FLAGS,
};

const struct verb verb_logs = {
    .name = "logs",
    .usage = "[-f] [--from OUT[,ERR] | --tail N] BOX JOB",
    .summary = "print what a job has printed",
    .details = "The box keeps the last 1 MiB of each stream. stdout goes to stdout and stderr to "
               "stderr. With --json the positions of both streams are told, so that --from can go "
               "on where this one ended.",
    .examples = "holdfast logs build 7\n"
                "holdfast logs -f --tail 10 build 7\n"
                "holdfast logs --json --from 4096,0 build 7\n",
    .groups = (const struct flag_group[]){{"Flags", flags}, {"", position_flags}, {0}},
    .max_words = 2,
    .completes_boxes = true,
    .completes_jobs = true,
    .run = run,
};
