/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/flags.h"
#include "cli/output.h"
#include "cli/plan.h"

static int run(struct request *request)
{
    CLEANUP(cleanup_error) hf_error *error = NULL;
    CLEANUP(cleanup_context) hf_context *context = NULL;
    CLEANUP(cleanup_box) hf_box *box = NULL;
    int status = set_image(request);
    if (status == 0)
        status = open_context(request, &context);
    if (status != 0)
        return status;
    if (request->dry_run)
        return print_plan(request, context);
    if (hf_box_create(context, request->spec, 0, &box, &error) < 0)
        return library_failure(error);
    if (request->json) {
        fputs("{\"name\":", stdout);
        print_json_string(stdout, hf_box_name(box));
        printf(",\"created\":%s}\n", hf_box_created(box) ? "true" : "false");
    } else {
        puts(hf_box_name(box));
    }
    return EXIT_OK;
}

const struct verb verb_up = {
    .name = "up",
    .usage = "[BOX FLAGS] [IMAGE]",
    .summary = "make a box, or find it again; prints its name",
    .details = "A box lives until it is stopped or removed. With the same --name, or the same "
               "--task and --profile, a box that lives already is used again instead of making a "
               "second one.",
    .examples = "holdfast up --task issue-42\n"
                "box=$(holdfast up -m 1g --pids-limit 128)\n"
                "holdfast up --name build -v ./src:/workspace -e CI=1\n"
                "holdfast up --hardening strict --dry-run\n",
    .groups = (const struct flag_group[]){{"Box flags", NULL}, {"Other flags", dry_run_flags}, {0}},
    .max_words = 1,
    .run = run,
};
