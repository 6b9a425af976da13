/* SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "cli/flags.h"
#include "cli/job.h"
#include "cli/output.h"
#include "cli/stream.h"
#include "cli/target.h"

/* A login shell, so that what the box has set up for people is there. */
static int set_shell(struct request *request)
{
    size_t count = 0;
    while (request->command && request->command[count])
        count++;
    request->argv = malloc((count + 3) * sizeof *request->argv);
    if (!request->argv)
        return failure(HF_E_NO_SPACE, "out of memory");
    request->argv[0] = "sh";
    request->argv[1] = "-l";
    for (size_t i = 0; i < count; i++)
        request->argv[i + 2] = request->command[i];
    request->argv[count + 2] = NULL;
    request->job.argv = request->argv;
    request->job.shell = true;
    return 0;
}

static int run(struct request *request)
{
    CLEANUP(cleanup_context) hf_context *context = NULL;
    CLEANUP(cleanup_box) hf_box *box = NULL;
    request->interactive = true;
    request->tty = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && !request->json;
    int status = check_box_word(request);
    if (status == 0)
        status = set_shell(request);
    if (status == 0)
        status = prepare_job(request);
    if (status == 0)
        status = open_box(request, &context, &box);
    if (status == 0)
        status = stream_begin();
    return status != 0 ? status : run_job(request, box);
}

const struct verb verb_sh = {
    .name = "sh",
    .usage = "[FLAGS] BOX [-- ARGS]",
    .summary = "an interactive shell in a box",
    .details =
        "A login shell: bash, or sh where the box has no bash. It gets a terminal if standard "
        "input and output are one; otherwise it reads commands from standard input. Exits "
        "with the shell's exit code. The detach keys leave it running, and `holdfast attach` "
        "comes back to it.",
    .examples = "holdfast sh build\n"
                "holdfast sh -u nobody -w /tmp build\n"
                "echo 'cd /src && make' | holdfast sh build\n",
    .groups = (const struct flag_group[]){{"Flags", job_place_flags}, {"", detach_keys_flags}, {0}},
    .max_words = 1,
    .takes_command = true,
    .completes_boxes = true,
    .run = run,
};
