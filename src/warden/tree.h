/* SPDX-License-Identifier: Apache-2.0 */
/* Signals to a whole process tree, found through /proc, without needing a new process. */
#ifndef HF_WARDEN_TREE_H
#define HF_WARDEN_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Sends `signal` to every living descendant of `root`, not to `root` itself. With SIGKILL the tree
 * is stopped first, so that a fork bomb cannot outrun the scan. Returns how many living ones were
 * seen, zombies not counted; 0 means the tree is empty. Children of `root` for which `spare` is true
 * are left alone with all that is beneath them; NULL spares none.
 */
size_t tree_signal(pid_t root, int signal, bool (*spare)(pid_t pid));

/* One process; takes the target's effective uid for the moment of the kill where that is needed,
 * because the warden has no CAP_KILL. */
int tree_signal_one(pid_t pid, int signal);

#endif
