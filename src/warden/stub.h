/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stubs: the subreapers at the roots of the jobs' process trees. A stub is a fork of the warden that
 * starts a job's main process, tells how that ended, and stays until the last descendant is gone.
 * Then it takes the next job: most jobs cost no fork and no exit of a stub at all.
 */
#ifndef HF_WARDEN_STUB_H
#define HF_WARDEN_STUB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "wire/message.h"

struct job;
struct stub;

enum stub_event {
    STUB_FAILED = 1,  /* the main process could not be started; the tree is empty */
    STUB_ENDED = 2,   /* the main process ended */
    STUB_EMPTY = 3,   /* the tree is empty */
    STUB_RUNNING = 4, /* the main process runs; told if the job asked for it */
};

/* What a stub tells the warden, in one packet. */
struct stub_report {
    uint32_t event;
    uint32_t empty;    /* ENDED: the tree is empty, too */
    int32_t exit_code; /* FAILED: 125, 126 or 127 */
    int32_t sys_errno;
    int32_t status; /* ENDED: as from wait(2) */
    uint64_t wall_ns, cpu_ns, max_rss;
    char reason[512];
};

/* What a job runs with. The caller keeps its copies of all descriptors. */
struct stub_plan {
    const struct hf_frame *frame; /* the START message as it came */
    const struct hf_msg_config *config;
    int stdio[3];                   /* the job's ends of its pipes */
    volatile int32_t *main_process; /* shared memory: where the stub leaves the pid */
    /* Memory files, or -1: */
    int script;
    int state, new_state; /* of the session */
    int texts[2];         /* what a session's bash and sh read first */
};

/* Gives the job to an idle stub, or to a new one. NULL with errno. */
struct stub *stub_start(const struct stub_plan *plan, struct job *job);
pid_t stub_pid(const struct stub *stub);
bool stub_is_one(pid_t pid);
/* SIGCHLD: true if it was a stub. Its job is told. */
bool stub_reaped(pid_t pid, int status);

#endif
