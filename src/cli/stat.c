/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "cli/files.h"
#include "cli/flags.h"
#include "cli/output.h"
#include "cli/target.h"
#include "cli/units.h"

static const char *type_name(char type)
{
    switch (type) {
    case 'f':
        return "file";
    case 'd':
        return "directory";
    case 'l':
        return "symlink";
    case 'p':
        return "pipe";
    case 's':
        return "socket";
    case 'c':
        return "character device";
    case 'b':
        return "block device";
    default:
        return "unknown";
    }
}

static void print_lines(const hf_file_info *file)
{
    char mode[MODE_SIZE], date[80];
    format_mode(file->type, file->mode, mode);
    format_moment(file->mtime, file->mtime_ns, date, sizeof date);
    fputs("path: ", stdout);
    print_text(stdout, file->path, 0);
    printf("\ntype: %s\nmode: %04o (%s)\nuid: %" PRIu32 "\ngid: %" PRIu32 "\nsize: %" PRIu64
           "\nmodified: %s\n",
           type_name(file->type), file->mode, mode, file->uid, file->gid, file->size, date);
    if (file->target) {
        fputs("target: ", stdout);
        print_text(stdout, file->target, 0);
        putchar('\n');
    }
}

static int run(struct request *request)
{
    CLEANUP(cleanup_error) hf_error *error = NULL;
    CLEANUP(cleanup_context) hf_context *context = NULL;
    CLEANUP(cleanup_box) hf_box *box = NULL;
    CLEANUP(cleanup_place) struct place place = {0};
    CLEANUP(cleanup_files) hf_files *files = NULL;
    CLEANUP(cleanup_text) char *json = NULL;
    int status = take_place(request, NULL, &place);
    if (status == 0)
        status = open_box_named(request, place.box, &context, &box);
    if (status != 0)
        return status;
    if (hf_file_stat(box, place.path, file_options(request), &files, &error) < 0)
        return library_failure(error);
    const hf_file_info *file = hf_files_get(files, 0);
    if (!file)
        return failure(HF_E_PROTOCOL, "box '%s' told nothing about the file", place.box);
    if (!request->json) {
        print_lines(file);
        return EXIT_OK;
    }
    if (hf_files_json(files, &json, &error) < 0)
        return library_failure(error);
    print_only_element(json);
    return EXIT_OK;
}

const struct verb verb_stat = {
    .name = "stat",
    .usage = "[-u USER] BOX PATH",
    .summary = "show what is known about a file of a box",
    .details = "Of a symlink it is the link itself. A relative PATH starts at the box's working "
               "directory; BOX:PATH in one word is the same.",
    .examples = "holdfast stat build /etc/passwd\n"
                "holdfast stat --json build:out.tar | jq .size\n",
    .groups = (const struct flag_group[]){{"Flags", file_user_flags}, {0}},
    .max_words = 2,
    .completes_boxes = true,
    .takes_files = true,
    .run = run,
};
