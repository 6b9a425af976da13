/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "cli/files.h"
#include "cli/flags.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/target.h"

static void cleanup_watch(hf_watch **watch)
{
    hf_watch_close(*watch);
}

static const char *kind_name(hf_watch_kind kind)
{
    switch (kind) {
    case HF_WATCH_CREATE:
        return "create";
    case HF_WATCH_WRITE:
        return "write";
    case HF_WATCH_REMOVE:
        return "remove";
    case HF_WATCH_RENAME:
        return "rename";
    case HF_WATCH_OVERFLOW:
        return "overflow";
    }
    return "unknown"; /* of a library that is newer than we are */
}

static void print_path(const char *path)
{
    if (path)
        print_json_bytes(stdout, path, strlen(path));
    else
        fputs("null", stdout);
}

/* A line at a time: who reads along acts on it now. 0 or an exit code. */
static int print_event(const hf_watch_event *event)
{
    printf("{\"event\":\"%s\",\"path\":", kind_name(event->kind));
    print_path(event->path);
    fputs(",\"to\":", stdout);
    print_path(event->to);
    printf(",\"directory\":%s}\n", event->directory ? "true" : "false");
    if (fflush(stdout) == 0)
        return 0;
    /* finish_output() says what else may be wrong with it. */
    return errno == EPIPE ? EXIT_READER_GONE : EXIT_FAILED;
}

static int follow(hf_watch *watch)
{
    for (;;) {
        CLEANUP(cleanup_error) hf_error *error = NULL;
        hf_watch_event event = {0};
        int r = hf_watch_next(watch, -1, &event, &error);
        if (r < 0)
            return library_failure(error);
        int status = r > 0 ? print_event(&event) : 0;
        if (status != 0)
            return status;
    }
}

static int run(struct request *request)
{
    CLEANUP(cleanup_error) hf_error *error = NULL;
    CLEANUP(cleanup_context) hf_context *context = NULL;
    CLEANUP(cleanup_box) hf_box *box = NULL;
    CLEANUP(cleanup_place) struct place place = {0};
    CLEANUP(cleanup_watch) hf_watch *watch = NULL;
    int status = take_place(request, NULL, &place);
    if (status == 0)
        status = open_box_named(request, place.box, &context, &box);
    if (status != 0)
        return status;
    /* Every line is out when it is made; nothing is lost by leaving in between. */
    interrupt_begin(INTERRUPT_AT_ONCE, NULL);
    if (hf_watch_open(box, place.path, file_options(request), &watch, &error) < 0)
        return library_failure(error);
    return follow(watch);
}

static const struct flag flags[] = {
    {{.key = "recursive", .letter = 'R', .help = "all that is below, also what is made later"},
     set_true,
     FIELD(file.recursive)},
    END_OF_FLAGS,
};

const struct verb verb_watch = {
    .name = "watch",
    .usage = "[-R] [-u USER] BOX PATH",
    .summary = "tell what happens to files of a box, as it happens",
    .details =
        "Prints a line of JSON for each event, with or without --json: event (create, write, "
        "remove, rename, overflow), path, to (of rename, null otherwise) and directory (true "
        "or false). overflow: more happened than could be told; look anew. Goes on until "
        "Ctrl-C. BOX:PATH in one word is the same as BOX PATH.",
    .examples = "holdfast watch -R build src\n"
                "holdfast watch build:/var/log | jq -r .path\n",
    .groups = (const struct flag_group[]){{"Flags", flags}, {"", file_user_flags}, {0}},
    .max_words = 2,
    .completes_boxes = true,
    .takes_files = true,
    .run = run,
};
