/* SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "cli/flags.h"
#include "cli/job.h"
#include "cli/output.h"
#include "cli/stream.h"
#include "cli/target.h"

static struct stream_options how(const struct request *request, const hf_job *job)
{
    bool typed = isatty(STDIN_FILENO);
    /* What the job draws needs the whole screen, whoever types to it: raw, so that nothing is echoed
     * into it. */
    bool terminal = typed && hf_job_has_tty(job) && isatty(STDOUT_FILENO) && !request->json;
    return (struct stream_options){
        .interactive = hf_job_has_stdin(job) || terminal,
        .watching = !hf_job_has_stdin(job),
        .capture = request->json,
        .terminal = terminal,
        .attached = true,
        /* Bytes of a file or a pipe are data, whatever they look like. */
        .keys = typed ? detach_keys(request) : (struct detach){.count = 0},
    };
}

static int follow(const struct request *request, hf_box *box, uint32_t id)
{
    CLEANUP(cleanup_error) hf_error *error = NULL;
    CLEANUP(cleanup_job) hf_job *job = NULL;
    hf_attach_options options = attach_options(request, HF_ATTACH_FOLLOW);
    options.with_stdin = !request->no_stdin;
    if (hf_job_attach(box, id, &options, &job, &error) < 0)
        return library_failure(error);
    say_missing(request, job);
    if (options.with_stdin && hf_job_has_tty(job) && !hf_job_has_stdin(job) && !hf_job_over(job))
        say("somebody else types to job %u; you can only watch", (unsigned)id);
    struct stream_options stream = how(request, job);
    int status = stream_pump(job, &stream);
    if (status == STREAM_LEFT)
        return say_left(request, job, EXIT_OK);
    if (status == STREAM_INTERRUPTED)
        return say_left(request, job, EXIT_INTERRUPTED);
    return status != 0 ? status : finish_job(request, job);
}

static int run(struct request *request)
{
    CLEANUP(cleanup_context) hf_context *context = NULL;
    CLEANUP(cleanup_box) hf_box *box = NULL;
    uint32_t id;
    int status = check_box_and_job(request, &id);
    if (status == 0)
        status = check_position_flags(request);
    if (status == 0)
        status = check_capture_flags(request);
    if (status == 0)
        status = open_box(request, &context, &box);
    if (status == 0)
        status = stream_begin();
    return status != 0 ? status : follow(request, box, id);
}

static const struct flag flags[] = {
    {{.key = "no-stdin", .help = "watch only: pass nothing on that is typed"},
     set_true,
     FIELD(no_stdin)},
    END_OF_FLAGS,
};

const struct verb verb_attach = {
    .name = "attach",
    .usage = "[FLAGS] BOX JOB",
    .summary = "be in front of a job again: its output, your input",
    .details = "Prints what the job has printed, as far as the box keeps it, then what it prints, "
               "and exits with its exit code. Ctrl-C and the detach keys leave the job running; to "
               "end it there is `holdfast kill`. In front of a job with a terminal Ctrl-C goes to "
               "the job. Where the output was cut by a lost connection, --from goes on at that "
               "byte.",
    .examples = "holdfast attach build 7\n"
                "holdfast attach --tail 20 --no-stdin build 7\n"
                "holdfast attach --from 1048576 build 7 >> log\n",
    .groups = (const struct flag_group[]){{"Flags", position_flags},
                                          {"", flags},
                                          {"", detach_keys_flags},
                                          {"", capture_flags},
                                          {0}},
    .max_words = 2,
    .completes_boxes = true,
    .completes_jobs = true,
    .run = run,
};
