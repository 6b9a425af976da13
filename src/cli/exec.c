/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/flags.h"
#include "cli/job.h"
#include "cli/output.h"
#include "cli/stream.h"
#include "cli/target.h"

static int run(struct request *request)
{
    CLEANUP(cleanup_context) hf_context *context = NULL;
    CLEANUP(cleanup_box) hf_box *box = NULL;
    int status = check_box_word(request);
    if (status != 0)
        return status;
    if (!request->text && !request->script && (!request->command || !request->command[0]))
        return usage_error(request->verb,
                           "no command for box '%s'; write it after the box, or a shell line with "
                           "-c, or a file with --script",
                           request->words[0]);
    status = prepare_job(request);
    if (status == 0)
        status = open_box(request, &context, &box);
    if (status == 0)
        status = stream_begin();
    return status != 0 ? status : run_job(request, box);
}

/* The library reads 0 as its default; who writes 0 means not at all. */
static int set_keep(struct request *request, const struct flag *flag, const char *value)
{
    int status = set_duration(request, flag, value);
    if (status == 0 && request->job.keep_ms == 0)
        request->job.keep_ms = -1;
    return status;
}

static const struct flag exec_flags[] = {
    {{.key = "detach",
      .letter = 'd',
      .help = "print the job's number and leave it running; see jobs, attach, logs, wait, kill"},
     set_true,
     FIELD(detach)},
    {{.key = "session",
      .argument = "NAME",
      .help = "start with the directory, variables and functions that the session's last command "
              "left, and leave yours"},
     set_text,
     FIELD(job.session)},
    {{.key = "keep",
      .argument = "DURATION",
      .help = "how long output and outcome can be read after the end; 0 for not at all",
      .fallback = "10m"},
     set_keep,
     FIELD(job.keep_ms)},
    END_OF_FLAGS,
};

const struct verb verb_exec = {
    .name = "exec",
    .usage = "[JOB FLAGS] BOX -- CMD... | BOX CMD... | BOX -c 'TEXT' | BOX --script FILE",
    .summary = "run one command in a box that lives",
    .details = "Passes the command's output on and exits with its exit code. Ctrl-C, a timeout or "
               "the end of holdfast itself end the command and everything it started, and nothing "
               "else in the box. With -t, Ctrl-C goes to the command, and the detach keys leave it "
               "running; with -d it runs from the start on its own.",
    .examples = "holdfast exec hf-issue-42-1f2e3d4c5b6a -- ls -l\n"
                "holdfast exec build -c 'cd src && make -j4 2>&1 | tail'\n"
                "holdfast exec -e DEBUG=1 -w /src --timeout 5m build -- make test\n"
                "holdfast exec --script ./setup.sh build -- --fast\n"
                "holdfast exec --session dev build -c 'cd /src; export CI=1'\n"
                "job=$(holdfast exec -d build -- make) && holdfast wait build $job\n"
                "tar c . | holdfast exec -i build -- tar x -C /workspace\n",
    .groups = (const struct flag_group[]){{"Job flags", exec_flags},
                                          {"", job_place_flags},
                                          {"", common_job_flags},
                                          {"", detach_keys_flags},
                                          {"", capture_flags},
                                          {0}},
    .max_words = 1,
    .takes_command = true,
    .command_from = 1,
    .completes_boxes = true,
    .run = run,
};
