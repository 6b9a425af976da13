/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a tree from the stream of stream.h, below one directory. Nothing in the stream is trusted:
 * a box may have written it, and may be changing the directory at the same time.
 *
 *      struct files_receiver *r = files_receive_create(&options);
 *      while ((size = read(fd, bytes, sizeof bytes)) > 0 && files_receive_feed(r, bytes, size) == 0)
 *              ;
 *      if (files_receive_end(r) < 0)
 *              ... files_receive_result(r)->error ...
 *      files_receive_destroy(r);
 *
 * - A file appears under its name when it is complete and its sum is right, in one step, also when
 *   this process is killed. A file or symlink of that name is replaced; a directory never is.
 * - A directory that is there already is merged into, and keeps its mode, owner and attributes. New
 *   ones are 0700 until all that belongs into them is there.
 * - The first error ends it: temporary files are removed, completed ones stay. Problems (nodes that
 *   are not made, what the sender could not read, owners and attributes that cannot be set) do not
 *   end it.
 * - Symlinks are made as they were sent, wherever they lead; they are not followed here.
 */
#ifndef HF_FILES_RECEIVE_H
#define HF_FILES_RECEIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "files/result.h"

struct files_receive_options {
    int dir;                 /* where the tree goes; must stay open */
    const char *top_name;    /* what the top entry is called here; NULL: as it was sent */
    uint64_t max_bytes;      /* of data and attributes; 0: no limit */
    uint64_t max_entries;    /* 0: no limit */
    bool owners;             /* user and group as sent */
    bool keep_special;       /* set-id bits, and the sticky bit of files; for use in a box only */
    bool keep_existing_mode; /* a file that replaces one has its mode */
    bool fifos;              /* are made, instead of skipped */
    bool no_tmpfile;         /* as on a file system without O_TMPFILE; for tests */
};

struct files_receiver;

/* NULL when memory runs out. The options are copied. */
struct files_receiver *files_receive_create(const struct files_receive_options *options);
/* The next bytes of the stream, cut anywhere. 0, or -1 once there is an error. */
int files_receive_feed(struct files_receiver *r, const void *bytes, size_t size);
/* True when the stream has come to its end: no byte may follow. */
bool files_receive_done(const struct files_receiver *r);
/* There are no more bytes. 0 if the tree is whole, else -1. */
int files_receive_end(struct files_receiver *r);
/* Lives as long as the receiver. */
const struct files_result *files_receive_result(const struct files_receiver *r);
void files_receive_destroy(struct files_receiver *r);

#endif
