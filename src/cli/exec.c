/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/flags.h"
#include "cli/job.h"
#include "cli/output.h"
#include "cli/stream.h"

/* Chooses the shell inside the box, before anything has read our input. "$@" is the script and what
 * follows it. */
#define EITHER_SHELL                                                                               \
    "if command -v bash >/dev/null 2>&1; then exec bash -c \"$@\"; else exec sh -c \"$@\"; fi"

/* argv for a shell that runs the script: `head`, the script, the words after it, NULL. */
static const char **shell_argv(const struct request *request, const char *const *head)
{
    size_t used = 0, extra = 0;
    while (head[used])
        used++;
    while (request->command && request->command[extra])
        extra++;
    const char **argv = malloc((used + 1 + extra + 1) * sizeof *argv);
    if (!argv)
        return NULL;
    memcpy(argv, head, used * sizeof *argv);
    argv[used++] = request->script;
    for (size_t i = 0; i < extra; i++)
        argv[used++] = request->command[i];
    argv[used] = NULL;
    return argv;
}

static int run_in_shell(struct request *request, hf_box *box, const char *const *head,
                        bool *ret_not_found)
{
    const char **argv = shell_argv(request, head);
    if (!argv)
        return failure(HF_E_NO_SPACE, "out of memory");
    int status = run_job(request, box, argv, ret_not_found);
    free(argv);
    return status;
}

/*
 * bash where the box has it, sh where not. Asking first would cost every command a shell; so bash
 * is tried, and its absence costs a second job. With input that is no way: the first try may have
 * taken some of it.
 */
static int run_script(struct request *request, hf_box *box)
{
    static const char *const bash[] = {"bash", "-c", NULL};
    static const char *const sh[] = {"sh", "-c", NULL};
    static const char *const either[] = {"sh", "-c", EITHER_SHELL, "sh", NULL};
    if (request->interactive)
        return run_in_shell(request, box, either, NULL);
    bool not_found = false;
    int status = run_in_shell(request, box, bash, &not_found);
    return not_found ? run_in_shell(request, box, sh, NULL) : status;
}

static int run(struct request *request)
{
    CLEANUP(cleanup_error) hf_error *error = NULL;
    CLEANUP(cleanup_context) hf_context *context = NULL;
    CLEANUP(cleanup_box) hf_box *box = NULL;
    if (request->word_count == 0)
        return usage_error(request->verb, "which box? `holdfast ps` lists them");
    if (!request->script && (!request->command || !request->command[0]))
        return usage_error(request->verb,
                           "no command for box '%s'; write it after the box, or a "
                           "shell line with -c",
                           request->words[0]);
    int status = check_job_flags(request);
    if (status == 0)
        status = open_context(request, &context);
    if (status != 0)
        return status;
    if (hf_box_open(context, request->words[0], &box, &error) < 0)
        return library_failure(error);
    status = stream_begin();
    if (status != 0)
        return status;
    return request->script ? run_script(request, box)
                           : run_job(request, box, request->command, NULL);
}

/* The same names as the box's flags have: here they are for this one job. */
static const struct flag exec_flags[] = {
    {{.key = "command",
      .letter = 'c',
      .argument = "TEXT",
      .help = "run TEXT with bash -c, or sh -c where the box has no bash"},
     set_text,
     FIELD(script)},
    {{.key = "workdir",
      .letter = 'w',
      .argument = "DIR",
      .help = "where the command starts",
      .fallback = "the box's"},
     set_text,
     FIELD(job.workdir)},
    {{.key = "env",
      .letter = 'e',
      .argument = "NAME[=VALUE]",
      .help = "set a variable; without VALUE it is taken from your environment",
      .repeats = true},
     set_job_env},
    {{.key = "user",
      .letter = 'u',
      .argument = "USER[:GROUP]",
      .help = "who the command runs as, by name or number",
      .fallback = "the box's"},
     set_text,
     FIELD(job.user)},
    END_OF_FLAGS,
};

const struct verb verb_exec = {
    .name = "exec",
    .usage = "[JOB FLAGS] BOX -- CMD... | BOX CMD... | BOX -c 'TEXT'",
    .summary = "run one command in a box that lives",
    .details = "Passes the command's output on and exits with its exit code. Ctrl-C, a timeout or "
               "the end of holdfast itself end the command and everything it started, and nothing "
               "else in the box.",
    .examples = "holdfast exec hf-issue-42-1f2e3d4c5b6a -- ls -l\n"
                "holdfast exec build -c 'cd src && make -j4 2>&1 | tail'\n"
                "holdfast exec -e DEBUG=1 -w /src --timeout 5m build -- make test\n"
                "tar c . | holdfast exec -i build -- tar x -C /workspace\n",
    .groups = (const struct flag_group[]){{"Job flags", exec_flags}, {"", common_job_flags}, {0}},
    .max_words = 1,
    .takes_command = true,
    .command_from = 1,
    .completes_boxes = true,
    .run = run,
};
