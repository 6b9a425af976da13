/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shelf: finished jobs, readable for a while. Bounded in age by what each job asked for, and in
 * number and bytes for the box as a whole; the oldest go first. A job that somebody views stays.
 */
#ifndef HF_WARDEN_SHELF_H
#define HF_WARDEN_SHELF_H

#include "warden/job.h"

/* Takes a finished job that is in no list any more. */
void shelf_put(struct job *job, int64_t now);
struct job *shelf_find(uint32_t id);
/* The jobs on it, the oldest first. */
const struct job *shelf_first(void);
/* How many there are beyond what it holds, because somebody views them. */
size_t shelf_excess(void);
/* Forgets what is due; returns when to come back (ns), or 0. */
int64_t shelf_tick(int64_t now);

#endif
