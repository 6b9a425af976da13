/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tree of files as a stream of records. A record is a frame of wire/frame.h on channel 0; what is
 * decoded points into its frame and lives as long as that.
 *
 *      ENTRY dir    "a"
 *        XATTR ...                       attributes of the entry before
 *      ENTRY regular "a/b"  size 5
 *        XATTR ...
 *        DATA 0 "hello"                  in rising order; what is not sent is a hole
 *        FILE_END sum                    over ENTRY, XATTR and DATA
 *      ENTRY regular "a/c"
 *        PROBLEM "a/c" EIO               instead of FILE_END: forget this file
 *      PROBLEM "a/d" EACCES              something that could not be read
 *      TREE_END entries bytes sum error  over all ENTRY, XATTR and PROBLEM, plus the error
 *
 * A directory comes before what is in it, and everything in it before anything else: the receiver
 * keeps one line of open directories and never has to look for a parent.
 *
 * The sums find damage. Who writes the stream can make them fit anything, so nothing else relies on
 * them.
 */
#ifndef HF_FILES_STREAM_H
#define HF_FILES_STREAM_H

#include <sys/types.h>

#include "base/hash.h"
#include "wire/frame.h"

enum files_record {
    FILES_ENTRY = 200,
    FILES_XATTR = 201,
    FILES_DATA = 202, /* payload: u64 offset, then raw bytes, at least one */
    FILES_FILE_END = 203,
    FILES_PROBLEM = 204,
    FILES_TREE_END = 205,
};

/* The numbers of d_type, which are those of st_mode >> 12. */
/* The numbers that stat(2) has for them, and one more. */
enum files_type {
    FILES_FIFO = 1,
    FILES_CHARACTER = 2,
    FILES_DIRECTORY = 4,
    FILES_BLOCK = 6,
    FILES_REGULAR = 8,
    FILES_SYMLINK = 10,
    FILES_SOCKET = 12,
    FILES_HARD_LINK = 15, /* one more name of a regular file that was sent before */
};

/* Of what stat(2) says. */
enum files_type files_type_of(mode_t mode);

struct files_entry {
    enum files_type type;
    bool shared;   /* regular: a hard link to it may follow */
    uint32_t mode; /* 07777 at most */
    uint32_t uid, gid;
    int64_t mtime;
    uint32_t mtime_ns;
    uint64_t size;    /* regular: of the whole file */
    const char *path; /* relative to where the tree begins */
    const char *link; /* symlink: its text; hard link: the path of the file */
};

struct files_xattr {
    const char *name; /* user.* */
    const void *value;
    size_t size;
};

struct files_trouble {
    uint32_t error; /* an errno; 1 to 4095 */
    const char *path;
};

struct files_tree_end {
    uint64_t entries, bytes, sum;
    uint32_t error; /* an errno: the sender could not go on; 0 if this was all */
};

/* What comes before the raw bytes of a DATA record, and the largest record that is none. */
#define FILES_DATA_HEADER (HF_FRAME_HEADER + 8)
#define FILES_MAX_RECORD (HF_FRAME_HEADER + KIB(1) + HF_MAX_XATTR)

/* Getters return false if the frame is not exactly such a record; what they set is then worthless. */

/* The header at the start of `data`: its type and the length of its payload. 1, 0 while it is not
 * complete, -1 if no record begins so. */
int files_peek(const void *data, size_t size, uint16_t *ret_type, size_t *ret_length);

void files_put_entry(struct hf_buf *out, const struct files_entry *entry);
bool files_get_entry(const struct hf_frame *frame, struct files_entry *entry);
void files_put_xattr(struct hf_buf *out, const struct files_xattr *xattr);
bool files_get_xattr(const struct hf_frame *frame, struct files_xattr *xattr);
/* The header of a record with `size` raw bytes, which follow. */
void files_data_header(uint8_t header[static FILES_DATA_HEADER], uint64_t offset, size_t size);
void files_put_file_end(struct hf_buf *out, uint64_t sum);
bool files_get_file_end(const struct hf_frame *frame, uint64_t *ret_sum);
void files_put_problem(struct hf_buf *out, const struct files_trouble *trouble);
bool files_get_problem(const struct hf_frame *frame, struct files_trouble *trouble);
void files_put_tree_end(struct hf_buf *out, const struct files_tree_end *end);
bool files_get_tree_end(const struct hf_frame *frame, struct files_tree_end *end);

/* Adds a whole record, its header included: a changed type changes the sum. */
void files_sum_record(struct hf_hash *hash, const struct hf_frame *frame);

/* Relative, and each part is a name: not empty, not "." or "..", 255 bytes at most. Returns how many
 * parts it has, 0 if it is not such a path or has more than HF_MAX_DEPTH. */
unsigned files_path_parts(const char *path);

#endif
