/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removing what a box was made of. Used by its keeper when it ends, and by whoever finds a box whose
 * keeper is gone. Every step is safe to repeat, and goes on when one fails.
 */
#ifndef HF_NATIVE_CLEAN_H
#define HF_NATIVE_CLEAN_H

#include <stdbool.h>

/* Kills what is still in the cgroup, waits until it is empty, and removes it with its children.
 * 0 if it is gone, -1 with errno. A directory that is not there is gone. */
int clean_cgroup(const char *path);

/* Removes the box's directory `name` from the directory of boxes. The caller holds the flock of the
 * box's directory. It is renamed first, so that the name is free at one instant. */
int clean_box_dir(int boxes, const char *name);

/* Gives the lock on a uid range back, and removes the lock file when it was the last. */
void clean_ids(int fd);

#endif
