/* SPDX-License-Identifier: Apache-2.0 */
/* Sends a file or a tree of files as the stream of stream.h. */
#ifndef HF_FILES_SEND_H
#define HF_FILES_SEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "files/result.h"

struct files_send_options {
    int dir;              /* `name` is relative to it */
    const char *name;     /* what to send */
    const char *top_name; /* its name in the stream; NULL: the last part of `name` */
    bool follow_top;      /* if `name` is a symlink, send what it leads to */
    bool xattrs;          /* user.* attributes as well: one system call more for each file */
    uint64_t max_bytes;   /* 0: no limit */
    uint64_t max_entries; /* 0: no limit */
    /* Writes all bytes and returns 0, or -1: nobody wants the rest. */
    int (*write)(void *data, const void *bytes, size_t size);
    void *data;
};

/*
 * Symlinks are sent as they are, never followed. What cannot be read is a problem that is counted
 * here and told to the receiver; the rest is sent all the same.
 *
 * Returns 0, or -1 with the reason in ret_result->error: the top cannot be read, a limit is reached,
 * or the other side is gone. Either way the caller finishes *ret_result.
 */
int files_send(const struct files_send_options *options, struct files_result *ret_result);

#endif
