/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/flags.h"
#include "cli/output.h"
#include "cli/units.h"

static void cleanup_boxes(hf_boxes **boxes)
{
    hf_boxes_free(*boxes);
}

static size_t widest_name(const hf_boxes *boxes)
{
    size_t width = strlen("NAME");
    const hf_box_info *box;
    for (size_t i = 0; (box = hf_boxes_get(boxes, i)); i++)
        if (strlen(box->name) > width)
            width = strlen(box->name);
    return width;
}

static void print_table(const hf_boxes *boxes)
{
    size_t width = widest_name(boxes);
    const hf_box_info *box;
    printf("%s%-*s  %-8s  %-12s  %-9s  PID%s\n", style(stdout, STYLE_BOLD), (int)width, "NAME",
           "STATE", "IMAGE", "CREATED", style(stdout, STYLE_PLAIN));
    for (size_t i = 0; (box = hf_boxes_get(boxes, i)); i++) {
        char age[32];
        format_age(box->created, age, sizeof age);
        print_text(stdout, box->name, width + 2);
        print_text(stdout, box->state, 10);
        print_text(stdout, box->image ? box->image : "host", 14);
        print_text(stdout, age, 11);
        if (box->pid > 0)
            printf("%d\n", (int)box->pid);
        else
            puts("-");
    }
}

static int run(struct request *request)
{
    CLEANUP(cleanup_error) hf_error *error = NULL;
    CLEANUP(cleanup_context) hf_context *context = NULL;
    CLEANUP(cleanup_boxes) hf_boxes *boxes = NULL;
    int status = open_context(request, &context);
    if (status != 0)
        return status;
    if (hf_box_list(context, &boxes, &error) < 0)
        return library_failure(error);
    if (request->json) {
        CLEANUP(cleanup_text) char *json = NULL;
        if (hf_boxes_json(boxes, &json, &error) < 0)
            return library_failure(error);
        puts(json);
    } else if (request->quiet) {
        const hf_box_info *box;
        for (size_t i = 0; (box = hf_boxes_get(boxes, i)); i++)
            puts(box->name);
    } else {
        print_table(boxes);
    }
    return EXIT_OK;
}

static const struct flag flags[] = {
    {{.key = "quiet", .letter = 'q', .help = "names only"}, set_true, FIELD(quiet)},
    END_OF_FLAGS,
};

const struct verb verb_ps = {
    .name = "ps",
    .usage = "[-q]",
    .summary = "list the boxes",
    .examples = "holdfast ps\n"
                "holdfast ps --json\n"
                "holdfast ps -q | xargs -r holdfast stop\n",
    .groups = (const struct flag_group[]){{"Flags", flags}, {0}},
    .run = run,
};
