/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "cli/files.h"
#include "cli/flags.h"
#include "cli/output.h"
#include "cli/target.h"
#include "cli/units.h"

struct widths {
    int uid, gid, size;
};

static void widen(int *width, uint64_t number)
{
    int digits = 1;
    for (; number >= 10; number /= 10)
        digits++;
    if (digits > *width)
        *width = digits;
}

static struct widths measure(const hf_files *files)
{
    struct widths widths = {1, 1, 1};
    const hf_file_info *file;
    for (size_t i = 0; (file = hf_files_get(files, i)); i++) {
        widen(&widths.uid, file->uid);
        widen(&widths.gid, file->gid);
        widen(&widths.size, file->size);
    }
    return widths;
}

static void print_long(const hf_file_info *file, const struct widths *widths)
{
    char mode[MODE_SIZE], date[48];
    format_mode(file->type, file->mode, mode);
    format_date(file->mtime, date, sizeof date);
    printf("%s %*" PRIu32 " %*" PRIu32 " %*" PRIu64 " %s ", mode, widths->uid, file->uid,
           widths->gid, file->gid, widths->size, file->size, date);
}

static void print_files(const struct request *request, const hf_files *files)
{
    struct widths widths = request->long_format ? measure(files) : (struct widths){0};
    const hf_file_info *file;
    for (size_t i = 0; (file = hf_files_get(files, i)); i++) {
        if (request->long_format)
            print_long(file, &widths);
        print_text(stdout, file->path, 0);
        if (request->long_format && file->target) {
            fputs(" -> ", stdout);
            print_text(stdout, file->target, 0);
        }
        putchar('\n');
    }
}

/* A file is a list of one, as everybody expects of ls. */
static int list(struct request *request, hf_box *box, const char *path, hf_files **ret_files,
                hf_error **reterr)
{
    hf_error *error = NULL;
    int r = hf_file_list(box, path, file_options(request), ret_files, &error);
    if (r < 0 && hf_error_file(error) == HF_FILE_NOT_DIRECTORY) {
        hf_error_free(error);
        return hf_file_stat(box, path, file_options(request), ret_files, reterr);
    }
    if (r < 0)
        *reterr = error;
    return r;
}

static int run(struct request *request)
{
    CLEANUP(cleanup_error) hf_error *error = NULL;
    CLEANUP(cleanup_context) hf_context *context = NULL;
    CLEANUP(cleanup_box) hf_box *box = NULL;
    CLEANUP(cleanup_place) struct place place = {0};
    CLEANUP(cleanup_files) hf_files *files = NULL;
    CLEANUP(cleanup_text) char *json = NULL;
    int status = take_place(request, ".", &place);
    if (status == 0)
        status = open_box_named(request, place.box, &context, &box);
    if (status != 0)
        return status;
    if (list(request, box, place.path, &files, &error) < 0)
        return library_failure(error);
    if (!request->json) {
        print_files(request, files);
        return EXIT_OK;
    }
    if (hf_files_json(files, &json, &error) < 0)
        return library_failure(error);
    puts(json);
    return EXIT_OK;
}

static const struct flag flags[] = {
    {{.key = "recursive", .letter = 'R', .help = "all that is below, by their paths from PATH on"},
     set_true,
     FIELD(file.recursive)},
    {{.key = "long", .letter = 'l', .help = "type and mode, user, group, size and date as well"},
     set_true,
     FIELD(long_format)},
    /* Fingers write -la. */
    {{.key = "all", .letter = 'a', .help = "changes nothing: names with a dot are never hidden"},
     set_true,
     FIELD(all)},
    END_OF_FLAGS,
};

const struct verb verb_ls = {
    .name = "ls",
    .usage = "[-R] [-l] [-u USER] BOX [PATH]",
    .summary = "list files of a box",
    .details = "One name a line, by name, nothing hidden; what could drive a terminal is written "
               "out, and --json has the names as they are. Without PATH it is the box's working "
               "directory; BOX:PATH in one word is the same as BOX PATH. Users and groups are "
               "numbers, as the box knows them.",
    .examples = "holdfast ls build\n"
                "holdfast ls -l build /var/log\n"
                "holdfast ls -R --json build:src | jq -r '.[].name'\n",
    .groups = (const struct flag_group[]){{"Flags", flags}, {"", file_user_flags}, {0}},
    .max_words = 2,
    .completes_boxes = true,
    .takes_files = true,
    .run = run,
};
