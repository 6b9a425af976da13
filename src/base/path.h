/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paths, by descriptors. A path string is used once, to open something; from then on only the
 * descriptor counts, so nobody can exchange what it names.
 */
#ifndef HF_BASE_PATH_H
#define HF_BASE_PATH_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

/* Lexically clean: absolute, no "//", "." or ".." parts, no trailing slash (but "/"). The caller
 * frees the result. A path that climbs above the root, is relative, empty or too long is an error.
 */
int hf__path_normalize(const char *path, char **ret_path, hf_error **reterr);

/* True if `path` is `parent` or lies beneath it; both normalised. */
bool hf__path_beneath(const char *path, const char *parent);

/* Opens beneath `dir` and nowhere else: symlinks are resolved as if `dir` were the root. */
int hf__open_in_root(int dir, const char *path, int flags);
/* Opens beneath `dir`; a symlink in any part is ELOOP, a way out is EXDEV. */
int hf__open_beneath(int dir, const char *path, int flags);

/* Makes the directories of `path` beneath `dir` that are missing, part by part through descriptors,
 * following symlinks inside `dir` only. Returns an O_PATH descriptor of the last, or -1. */
int hf__mkdirs_in_root(int dir, const char *path, mode_t mode);

/* Removes the directory `name` in `dir` and all that is in it, never following a symlink and never
 * leaving the file system it started on. Goes on after failures; returns -1 with the first errno. */
int hf__remove_tree_at(int dir, const char *name);

/* Opens a directory that must be ours alone: made with 0700 when missing (parents 0755), refused
 * when it is a symlink, belongs to someone else, or others may write to it. */
int hf__open_private_dir(const char *path, bool create, int *ret_fd, hf_error **reterr);

/* Replaces a file in one step: temporary file, rename. Mode 0600. Not forced to the disk: nothing
 * that is written so means anything after the host has crashed. */
int hf__replace_file_at(int dir, const char *name, const void *data, size_t size,
                        hf_error **reterr);

#endif
