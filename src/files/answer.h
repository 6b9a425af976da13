/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the file agent of a box says besides the bytes it was asked for: how it failed, what it
 * received, what it has seen. Frames as on the wire, from a process that the host does not trust.
 */
#ifndef HF_FILES_ANSWER_H
#define HF_FILES_ANSWER_H

#include "wire/frame.h"

enum { HF_FILES_ERROR = 230, HF_FILES_DONE = 231, HF_FILES_EVENT = 232, HF_FILES_HAVE = 233 };

struct files_failure {
    uint8_t kind; /* enum files_error */
    uint32_t sys_errno;
    const char *path;
};

/* Of a tree that was received. */
struct files_done {
    uint64_t files, directories, symlinks, bytes, skipped;
};

enum { FILES_CREATE, FILES_WRITE, FILES_REMOVE, FILES_RENAME, FILES_OVERFLOW, FILES_EVENTS };

struct files_event {
    uint8_t kind;
    bool directory;
    const char *path, *to;
};

/* What is there already of a file that an earlier copy did not finish. */
struct files_have {
    uint64_t size, hash;
};

void files_put_failure(struct hf_buf *out, const struct files_failure *failure);
bool files_get_failure(const struct hf_frame *frame, struct files_failure *ret);

void files_put_done(struct hf_buf *out, const struct files_done *done);
bool files_get_done(const struct hf_frame *frame, struct files_done *ret);

void files_put_event(struct hf_buf *out, const struct files_event *event);
bool files_get_event(const struct hf_frame *frame, struct files_event *ret);

void files_put_have(struct hf_buf *out, const struct files_have *have);
bool files_get_have(const struct hf_frame *frame, struct files_have *ret);

#endif
