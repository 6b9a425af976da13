/* SPDX-License-Identifier: Apache-2.0 */
/* An array, searched from its end: at most HF_MAX_LINKS rows, and a row takes less time than the
 * system calls that a file costs anyway. */
#include "files/links.h"

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"

bool links_room(const struct links *links, const char *path)
{
    return links->count < HF_MAX_LINKS && strlen(path) <= HF_MAX_LINK_BYTES - links->bytes;
}

bool links_add(struct links *links, const char *path, const struct stat *st)
{
    if (!links_room(links, path))
        return false;
    if (links->count == links->capacity) {
        size_t capacity = links->capacity ? 2 * links->capacity : 64;
        struct links_row *rows = realloc(links->rows, capacity * sizeof *rows);
        if (!rows)
            return false;
        links->rows = rows;
        links->capacity = capacity;
    }
    char *copy = strdup(path);
    if (!copy)
        return false;
    links->rows[links->count++] =
        (struct links_row){.path = copy, .device = st->st_dev, .inode = st->st_ino};
    links->bytes += strlen(path);
    return true;
}

const struct links_row *links_find(const struct links *links, const char *path,
                                   const struct stat *st)
{
    for (size_t i = links->count; i > 0; i--) {
        const struct links_row *row = &links->rows[i - 1];
        if (path ? strcmp(row->path, path) == 0
                 : row->inode == st->st_ino && row->device == st->st_dev)
            return row;
    }
    return NULL;
}

void links_finish(struct links *links)
{
    while (links->count > 0)
        free(links->rows[--links->count].path);
    free(links->rows);
    *links = (struct links){0};
}
