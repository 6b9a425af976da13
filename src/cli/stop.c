/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/end.h"
#include "cli/flags.h"
#include "cli/output.h"

static int stop(void *context, const struct request *request, const char *name, hf_error **reterr)
{
    return hf_box_stop(context, name, request->stop_grace_ms, reterr);
}

static int run(struct request *request)
{
    CLEANUP(cleanup_context) hf_context *context = NULL;
    if (request->word_count == 0)
        return usage_error(request->verb, "which box? `holdfast ps` lists them");
    int status = open_context(request, &context);
    if (status != 0)
        return status;
    return end_each(context, request, request->words, request->word_count, "stopped", stop);
}

static const struct flag flags[] = {
    {{.key = "grace",
      .argument = "DURATION",
      .help = "how long jobs may take to go before they are killed",
      .fallback = "2s"},
     set_duration,
     FIELD(stop_grace_ms)},
    END_OF_FLAGS,
};

const struct verb verb_stop = {
    .name = "stop",
    .usage = "[--grace DURATION] BOX...",
    .summary = "end boxes: SIGTERM to their jobs, then SIGKILL",
    .details = "Returns when no process, mount or cgroup of the box is left.",
    .examples = "holdfast stop build\n"
                "holdfast stop --grace 0 build test\n",
    .groups = (const struct flag_group[]){{"Flags", flags}, {0}},
    .max_words = SIZE_MAX,
    .completes_boxes = true,
    .run = run,
};
