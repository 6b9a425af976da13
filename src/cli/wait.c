/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/flags.h"
#include "cli/job.h"
#include "cli/output.h"
#include "cli/stream.h"
#include "cli/target.h"
#include "cli/units.h"

/* All handles are there before the first wait: a job that ends meanwhile may be forgotten. */
struct waiting {
    const struct request *request;
    uint32_t *ids;
    hf_job **jobs; /* NULL where there is no such job */
    size_t count;
    bool failed, unhappy;
    int64_t deadline; /* ms, 0 for none */
    FILE *documents;  /* with --json */
};

static void cleanup_waiting(struct waiting *waiting)
{
    for (size_t i = 0; waiting->jobs && i < waiting->count; i++)
        hf_job_close(waiting->jobs[i]);
    free(waiting->jobs);
    free(waiting->ids);
}

/* --- which jobs ------------------------------------------------------------------------------- */

static int make_room(struct waiting *waiting, size_t count)
{
    waiting->ids = calloc(count + 1, sizeof *waiting->ids);
    waiting->jobs = calloc(count + 1, sizeof *waiting->jobs);
    return waiting->ids && waiting->jobs ? 0 : failure(HF_E_NO_SPACE, "out of memory");
}

static int take_words(struct waiting *waiting)
{
    const struct request *request = waiting->request;
    int status = make_room(waiting, request->word_count - 1);
    for (size_t i = 1; status == 0 && i < request->word_count; i++)
        status = parse_job(request, request->words[i], &waiting->ids[waiting->count++]);
    return status;
}

static int take_running(struct waiting *waiting, hf_box *box)
{
    CLEANUP(cleanup_error) hf_error *error = NULL;
    CLEANUP(cleanup_jobs) hf_jobs *jobs = NULL;
    const hf_job_info *job;
    size_t count = 0;
    if (hf_job_list(box, &jobs, &error) < 0)
        return library_failure(error);
    while (hf_jobs_get(jobs, count))
        count++;
    free(waiting->ids);
    free(waiting->jobs);
    int status = make_room(waiting, count);
    for (size_t i = 0; status == 0 && (job = hf_jobs_get(jobs, i)); i++)
        if (!job->over)
            waiting->ids[waiting->count++] = job->id;
    return status;
}

static void attach_all(struct waiting *waiting, hf_box *box, bool named)
{
    hf_attach_options options = {.size = sizeof options, .mode = HF_ATTACH_OUTCOME};
    for (size_t i = 0; i < waiting->count; i++) {
        CLEANUP(cleanup_error) hf_error *error = NULL;
        int r = hf_job_attach(box, waiting->ids[i], &options, &waiting->jobs[i], &error);
        /* One that nobody named may have ended and gone since it was listed. */
        if (r == 0 || (r == HF_E_NOT_FOUND && !named))
            continue;
        (void)library_failure(error);
        waiting->failed = true;
    }
}

/* --- waiting ---------------------------------------------------------------------------------- */

/* 0 once the job is over, or an exit code. */
static int wait_for(const struct waiting *waiting, hf_job *job)
{
    struct stream_options options = {.capture = true, .attached = true};
    if (waiting->deadline) {
        int64_t left = waiting->deadline - now_ms();
        options.timeout_ms = left > 0 ? left : 1;
    }
    int status = stream_pump(job, &options);
    if (status == STREAM_INTERRUPTED)
        return EXIT_INTERRUPTED;
    if (status == STREAM_TIMED_OUT) {
        (void)failure(HF_E_TIMEOUT, "job %u is not over in time; it goes on",
                      (unsigned)hf_job_id(job));
        return EXIT_TIMED_OUT;
    }
    return status;
}

static int note_result(struct waiting *waiting, hf_job *job)
{
    CLEANUP(cleanup_error) hf_error *error = NULL;
    CLEANUP(cleanup_result) hf_result *result = NULL;
    if (hf_job_wait(job, &result, &error) < 0)
        return library_failure(error);
    int code = hf_result_exit_code(result);
    hf_outcome outcome = hf_result_outcome(result);
    waiting->unhappy |= outcome != HF_EXITED || code != 0;
    if (waiting->documents) {
        fputs(ftell(waiting->documents) > 0 ? "," : "", waiting->documents);
        return print_result(waiting->documents, waiting->request, result);
    }
    printf("%u %s %d\n", (unsigned)hf_job_id(job), hf_outcome_name(outcome), code);
    /* Who reads along learns of each as it ends. */
    fflush(stdout);
    return 0;
}

static int wait_for_each(struct waiting *waiting)
{
    for (size_t i = 0; i < waiting->count; i++) {
        if (!waiting->jobs[i])
            continue;
        int status = wait_for(waiting, waiting->jobs[i]);
        if (status == 0)
            status = note_result(waiting, waiting->jobs[i]);
        if (status != 0)
            return status;
    }
    return waiting->failed ? EXIT_FAILED : waiting->unhappy ? EXIT_FAILURE : EXIT_OK;
}

/* A document is printed whole or not at all; what failed before has printed its own. */
static int wait_for_many(struct waiting *waiting)
{
    CLEANUP(cleanup_text) char *text = NULL;
    size_t size = 0;
    if (!waiting->request->json)
        return wait_for_each(waiting);
    waiting->documents = open_memstream(&text, &size);
    if (!waiting->documents)
        return failure(HF_E_NO_SPACE, "out of memory");
    int status = wait_for_each(waiting);
    bool whole = fclose(waiting->documents) == 0;
    if (status == EXIT_OK || status == EXIT_FAILURE) {
        if (!whole)
            return failure(HF_E_NO_SPACE, "out of memory");
        printf("[%s]\n", text);
    }
    return status;
}

static int run(struct request *request)
{
    CLEANUP(cleanup_context) hf_context *context = NULL;
    CLEANUP(cleanup_box) hf_box *box = NULL;
    CLEANUP(cleanup_waiting) struct waiting waiting = {.request = request};
    int status = check_box_word(request);
    bool named = request->word_count > 1;
    if (status == 0)
        status = take_words(&waiting);
    if (status == 0)
        status = open_box(request, &context, &box);
    if (status == 0)
        status = stream_begin();
    if (status == 0 && !named)
        status = take_running(&waiting, box);
    if (status != 0)
        return status;
    if (request->job.timeout_ms > 0)
        waiting.deadline = now_ms() + request->job.timeout_ms;
    /* Not the job's own, which say_outcome() would tell. */
    request->job.timeout_ms = 0;
    attach_all(&waiting, box, named);
    if (!named || waiting.count > 1)
        return wait_for_many(&waiting);
    if (waiting.failed)
        return EXIT_FAILED;
    status = wait_for(&waiting, waiting.jobs[0]);
    return status != 0 ? status : finish_job(request, waiting.jobs[0]);
}

static const struct flag flags[] = {
    {{.key = "timeout",
      .argument = "DURATION",
      .help = "how long to wait, exit code 124; the jobs go on; 0 for ever",
      .fallback = "0"},
     set_duration,
     FIELD(job.timeout_ms)},
    END_OF_FLAGS,
};

const struct verb verb_wait = {
    .name = "wait",
    .usage = "[--timeout DURATION] BOX [JOB...]",
    .summary = "wait until jobs are over",
    .details = "With one JOB it exits with the job's exit code. With several, or none for all that "
               "run, it prints JOB, OUTCOME and exit code of each, and exits with 0 if all of them "
               "did, with 1 otherwise. Ctrl-C ends the waiting only.",
    .examples = "holdfast wait build 7\n"
                "holdfast wait --timeout 5m build 7 8 9\n"
                "holdfast wait --json build\n",
    .groups = (const struct flag_group[]){{"Flags", flags}, {0}},
    .max_words = SIZE_MAX,
    .completes_boxes = true,
    .completes_jobs = true,
    .run = run,
};
