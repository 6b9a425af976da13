/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of files, as a list. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "box/agent.h"
#include "files/stream.h"

/* A box may have more files than anybody can hold. */
#define MAX_ROWS 1000000
#define MAX_TEXT MIB(128)
#define FIRST_ROOM 64

struct row {
    hf_file_info info;
    char *path, *target;
};

struct hf_files {
    struct row *rows;
    size_t count, room;
    size_t text;      /* bytes of all names */
    struct hf_buf in; /* an entry that has not come whole */
    const char *only; /* the path of the one that was asked for */
};

static bool add_row(hf_files *files, const struct files_entry *entry)
{
    static const char types[] = {
        [FILES_REGULAR] = 'f',   [FILES_DIRECTORY] = 'd', [FILES_SYMLINK] = 'l',
        [FILES_HARD_LINK] = 'f', [FILES_FIFO] = 'p',      [FILES_CHARACTER] = 'c',
        [FILES_BLOCK] = 'b',     [FILES_SOCKET] = 's',
    };
    if (files->count == files->room) {
        size_t room = files->room ? files->room * 2 : FIRST_ROOM;
        struct row *larger = realloc(files->rows, room * sizeof *larger);
        if (!larger)
            return false;
        files->rows = larger;
        files->room = room;
    }
    struct row *row = &files->rows[files->count++];
    *row = (struct row){.path = strdup(files->only ? files->only : entry->path)};
    row->target = entry->type == FILES_SYMLINK ? strdup(entry->link) : NULL;
    row->info = (hf_file_info){
        .path = row->path,
        .type = types[entry->type],
        .mode = entry->mode,
        .uid = entry->uid,
        .gid = entry->gid,
        .size = entry->size,
        .mtime = entry->mtime,
        .mtime_ns = entry->mtime_ns,
        .target = row->target,
    };
    return row->path && (row->target || entry->type != FILES_SYMLINK);
}

static int take_entries(void *data, const void *bytes, size_t size, hf_error **reterr)
{
    hf_files *files = data;
    size_t used = 0;
    hf__buf_append(&files->in, bytes, size);
    if (files->in.failed)
        return hf__error(reterr, HF_E_PROTOCOL, "the box sent a list that makes no sense");
    for (;;) {
        struct hf_frame frame;
        struct files_entry entry;
        ssize_t length = hf__frame_parse(files->in.data + used, files->in.size - used, &frame);
        if (length == 0)
            break;
        if (length < 0 || !files_get_entry(&frame, &entry) || (files->only && files->count > 0))
            return hf__error(reterr, HF_E_PROTOCOL, "the box sent a list that makes no sense");
        files->text += strlen(entry.path) + strlen(entry.link);
        if (files->count == MAX_ROWS || files->text > MAX_TEXT)
            return hf__error_file(reterr, HF_FILE_TOO_LARGE, 0,
                                  "more files than one list can have; ask for a part of them");
        if (!add_row(files, &entry))
            return hf__error(reterr, HF_E_NO_SPACE, "out of memory");
        used += (size_t)length;
    }
    hf__buf_consume(&files->in, used);
    return 0;
}

static int by_path(const void *a, const void *b)
{
    const struct row *left = a, *right = b;
    return strcmp(left->path, right->path);
}

static int ask(hf_box *box, const char *user, const char *const *words, const char *only,
               hf_files **ret_files, hf_error **reterr)
{
    _cleanup_agent_ struct agent agent = {0};
    hf_files *files = calloc(1, sizeof *files);
    if (!files)
        return hf__error(reterr, HF_E_NO_SPACE, "out of memory");
    files->in = HF_BUF(HF_MAX_FRAME + MIB(1));
    files->only = only;
    int result = agent_start(box, user, words, false, &agent, reterr);
    if (result == 0)
        result = agent_take(&agent, true, take_entries, files, reterr);
    if (result == 0)
        result = agent_end(&agent, words[1], reterr);
    if (result == 0 && (files->in.size > 0 || (only && files->count != 1)))
        result = hf__error(reterr, HF_E_PROTOCOL, "the box sent a list that makes no sense");
    hf__buf_finish(&files->in);
    if (result < 0) {
        hf_files_free(files);
        return result;
    }
    if (files->count)
        qsort(files->rows, files->count, sizeof *files->rows, by_path);
    *ret_files = files;
    return 0;
}

int hf_file_stat(hf_box *box, const char *path, const hf_file_options *options,
                 hf_files **ret_files, hf_error **reterr)
{
    hf_file_options own = agent_options(options);
    const char *const words[] = {"stat", path, own.follow ? "f" : "-", NULL};
    return ask(box, own.user, words, path, ret_files, reterr);
}

int hf_file_list(hf_box *box, const char *path, const hf_file_options *options,
                 hf_files **ret_files, hf_error **reterr)
{
    hf_file_options own = agent_options(options);
    const char *const words[] = {"list", path, own.recursive ? "r" : "-", NULL};
    return ask(box, own.user, words, NULL, ret_files, reterr);
}

const hf_file_info *hf_files_get(const hf_files *files, size_t index)
{
    return index < files->count ? &files->rows[index].info : NULL;
}

void hf_files_free(hf_files *files)
{
    if (!files)
        return;
    for (size_t i = 0; i < files->count; i++) {
        free(files->rows[i].path);
        free(files->rows[i].target);
    }
    free(files->rows);
    hf__buf_finish(&files->in);
    free(files);
}

/* ---- as JSON -------------------------------------------------------------------------------- */

static hf_json *row_json(const hf_file_info *info)
{
    static const struct {
        char letter;
        const char *name;
    } types[] = {{'f', "file"},   {'d', "directory"}, {'l', "symlink"}, {'p', "fifo"},
                 {'s', "socket"}, {'c', "character"}, {'b', "block"}};
    hf_json *object = hf__json_object();
    char mode[16];
    hf__json_set_bytes(object, "name", info->path, strlen(info->path));
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (types[i].letter == info->type)
            hf__json_set_string(object, "type", types[i].name);
    hf__json_set_uint(object, "size", info->size);
    snprintf(mode, sizeof mode, "%04o", info->mode);
    hf__json_set_string(object, "mode", mode);
    hf__json_set_uint(object, "uid", info->uid);
    hf__json_set_uint(object, "gid", info->gid);
    hf__json_set_double(object, "mtime", (double)info->mtime + info->mtime_ns / 1e9);
    if (info->target)
        hf__json_set_bytes(object, "target", info->target, strlen(info->target));
    else
        hf__json_set_null(object, "target");
    return object;
}

int hf_files_json(const hf_files *files, char **ret_json, hf_error **reterr)
{
    _cleanup_json_ hf_json *list = hf__json_array();
    for (size_t i = 0; i < files->count; i++)
        hf__json_append(list, row_json(&files->rows[i].info));
    return hf__json_print(list, false, ret_json, reterr);
}
