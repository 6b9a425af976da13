/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stub: the subreaper at the root of one job's process tree. A fork of the warden that starts
 * the job's main process, tells how that ended, and stays until the last descendant is gone.
 */
#ifndef HF_WARDEN_STUB_H
#define HF_WARDEN_STUB_H

#include <stdint.h>
#include <sys/types.h>

#include "wire/message.h"

enum stub_event { STUB_FAILED = 1, STUB_ENDED = 2 };

/* What the stub writes to its status pipe; smaller than PIPE_BUF, so it arrives whole. */
struct stub_report {
    uint32_t event;
    int32_t exit_code; /* FAILED: 125, 126 or 127 */
    int32_t sys_errno;
    int32_t status; /* ENDED: as from wait(2) */
    uint64_t wall_ns, cpu_ns, max_rss;
    char reason[512];
};

/* What a job runs with; `stdio` are the job's ends of its pipes. */
struct stub_plan {
    const struct hf_msg_start *start;
    const struct hf_msg_config *config;
    int stdio[3];
    int status;
    volatile int32_t *main_process; /* shared memory: where the stub leaves its pid */
};

/* Forks the stub. Returns its pid, or -1. The caller keeps its own copies of the descriptors. */
pid_t stub_spawn(const struct stub_plan *plan);

#endif
