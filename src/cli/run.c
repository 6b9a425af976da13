/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/flags.h"
#include "cli/job.h"
#include "cli/output.h"
#include "cli/plan.h"
#include "cli/stream.h"

static int run(struct request *request)
{
    CLEANUP(cleanup_error) hf_error *error = NULL;
    CLEANUP(cleanup_context) hf_context *context = NULL;
    CLEANUP(cleanup_box) hf_box *box = NULL;
    if (!request->text && !request->script && (!request->command || !request->command[0]))
        return usage_error(request->verb,
                           "no command; write it after --, like: holdfast run -- %s%s",
                           request->word_count > 0 ? request->words[0] : "uname -a",
                           request->word_count > 1 ? " ..." : "");
    if (request->word_count > 1)
        return usage_error(request->verb, "'%s' is one word too many: only IMAGE stands before --",
                           request->words[1]);
    /* The box goes with us: there is nothing to come back to. */
    request->detach_keys = "";
    int status = prepare_job(request);
    if (status == 0)
        status = set_image(request);
    if (status == 0)
        status = open_context(request, &context);
    if (status != 0)
        return status;
    if (request->dry_run)
        return print_plan(request, context);
    if (hf_box_create(context, request->spec, HF_BOX_EPHEMERAL | HF_BOX_EXCLUSIVE, &box, &error) <
        0)
        return library_failure(error);
    status = stream_begin();
    return status != 0 ? status : run_job(request, box);
}

const struct verb verb_run = {
    .name = "run",
    .usage = "[BOX FLAGS] [JOB FLAGS] [IMAGE] -- CMD... | -c 'TEXT' | --script FILE",
    .summary = "run one command in a fresh box, then remove the box",
    .details = "Makes a box, runs CMD in it, passes its output on and exits with its exit code. "
               "Nothing of the box is left when holdfast returns, nor if holdfast is killed. "
               "Without IMAGE the box stands on the host image: the host's programs, read-only, "
               "and nothing else of the host.",
    .examples = "holdfast run -- uname -a\n"
                "holdfast run -m 512m --cpus 1 --timeout 30s -- python3 script.py\n"
                "holdfast run -v ./src:/src:ro -w /src -- make test\n"
                "echo 2+2 | holdfast run -i -- bc\n"
                "holdfast run -t -- bash\n"
                "holdfast run --script ./untrusted.sh -- first second\n"
                "holdfast run --json -- sh -c 'echo out; exit 3'\n",
    .groups = (const struct flag_group[]){{"Box flags", NULL},
                                          {"Job flags", common_job_flags},
                                          {"", capture_flags},
                                          {"Other flags", dry_run_flags},
                                          {0}},
    .max_words = SIZE_MAX,
    .takes_command = true,
    .run = run,
};
