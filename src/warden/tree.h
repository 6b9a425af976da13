/* SPDX-License-Identifier: Apache-2.0 */
/* Signals to a whole process tree, found through /proc, without needing a new process. */
#ifndef HF_WARDEN_TREE_H
#define HF_WARDEN_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Sends `signal` to every living descendant of `root`, not to `root` itself. With SIGKILL the tree
 * is stopped first, so that a fork bomb cannot outrun the scan. Returns how many living ones were
 * seen, zombies not counted; 0 means the tree is empty. Children of `root` for which `spare` is true
 * are left alone with all that is beneath them; NULL spares none.
 */
size_t tree_signal(pid_t root, int signal, bool (*spare)(pid_t pid));

/* One look at all processes of the box, for many questions. */
struct tree_look;
struct tree_look *tree_look(void);
void tree_look_free(struct tree_look *look);
/* The living descendants of `root`: how many there are, and the first `max` of their pids. */
size_t tree_members(const struct tree_look *look, pid_t root, uint32_t *ret_pids, size_t max,
                    size_t *ret_filled);

/* One process; takes the target's effective uid for the moment of the kill where that is needed,
 * because the warden has no CAP_KILL. */
int tree_signal_one(pid_t pid, int signal);

#endif
