/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of one tree that have more than one name. The sender looks them up by inode, the receiver
 * by path; both keep the same files under the same ceiling, so that neither has to remember what the
 * other one forgot.
 */
#ifndef HF_FILES_LINKS_H
#define HF_FILES_LINKS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

struct links_row {
    char *path;
    dev_t device;
    ino_t inode;
};

struct links {
    struct links_row *rows;
    size_t count, capacity;
    size_t bytes; /* of all paths */
};

/* Whether one more fits. */
bool links_room(const struct links *links, const char *path);
/* False when it does not fit or memory runs out. */
bool links_add(struct links *links, const char *path, const struct stat *st);
/* By path, or by inode if that is NULL. The one that was added last; NULL if there is none. */
const struct links_row *links_find(const struct links *links, const char *path,
                                   const struct stat *st);
void links_finish(struct links *links);

#endif
