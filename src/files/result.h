/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What came of sending or receiving a tree: counts, the error that stopped it, and problems that
 * did not.
 *
 * Paths are raw bytes as somebody else chose them, relative to where the tree begins. Whoever shows
 * one escapes it.
 */
#ifndef HF_FILES_RESULT_H
#define HF_FILES_RESULT_H

#include <stdint.h>

#include "base/limits.h"

/* One list makes the enum and the names. */
#define FILES_KINDS(X)                                                                             \
    X(OK, "ok")                                                                                    \
    X(NOT_FOUND, "not_found")                                                                      \
    X(PERMISSION_DENIED, "permission_denied")                                                      \
    X(IS_DIRECTORY, "is_directory")                                                                \
    X(NOT_DIRECTORY, "not_directory")                                                              \
    X(NO_SPACE, "no_space")                                                                        \
    X(READ_ONLY, "read_only")                                                                      \
    X(TOO_LARGE, "too_large")                                                                      \
    X(INVALID_PATH, "invalid_path")                                                                \
    X(EXISTS, "exists")                                                                            \
    X(LOOP, "loop")                                                                                \
    X(PROTOCOL, "protocol")                                                                        \
    X(CHECKSUM, "checksum")                                                                        \
    X(SYSTEM, "system")

enum files_kind {
#define FILES_KIND_ENUM(name, text) FILES_##name,
    FILES_KINDS(FILES_KIND_ENUM)
#undef FILES_KIND_ENUM
};

struct files_error {
    enum files_kind kind;
    int error;  /* errno, or 0 where no system call failed */
    char *path; /* NULL where it is about no path, or memory ran out */
};

struct files_result {
    uint64_t files, dirs, symlinks, hard_links;
    uint64_t bytes;           /* of the files, without holes */
    uint64_t skipped;         /* entries that are not there because of a problem */
    uint64_t xattrs_lost;     /* attributes that the receiving file system does not take */
    struct files_error error; /* what stopped it; kind FILES_OK if nothing */
    struct files_error problems[HF_MAX_PROBLEMS]; /* the first ones; it went on after them */
    uint64_t problem_count;                       /* all of them */
};

enum files_kind files_kind_of(int error);
const char *files_kind_name(enum files_kind kind);

/* Notes what stops it, unless something did before. Always -1. */
int files_fail(struct files_result *result, enum files_kind kind, int error, const char *path);
/* Notes what it goes on after. */
void files_problem(struct files_result *result, int error, const char *path);
void files_result_finish(struct files_result *result);

#endif
