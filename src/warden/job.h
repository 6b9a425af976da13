/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs as the warden sees them: a stub, pipes or a terminal, rings, viewers, an outcome.
 *
 *      RUNNING ──> DRAINING ──> OVER ──> kept on the shelf, once its tree is empty
 *         │            ^
 *         └──> ENDING ─┘ (timeout, cancel, lost client: until the tree is empty)
 *
 * job.c says how a job begins and ends, output.c and input.c move its bytes, viewer.c knows who is
 * told about them, shelf.c remembers it afterwards.
 */
#ifndef HF_WARDEN_JOB_H
#define HF_WARDEN_JOB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "warden/loop.h"
#include "warden/ring.h"
#include "warden/stub.h"
#include "wire/message.h"

struct client;
struct session;
struct viewer;

enum job_state { JOB_RUNNING, JOB_ENDING, JOB_DRAINING, JOB_OVER };

struct stream {
    struct source pipe;
    struct ring ring;
    struct job *job;
    uint64_t must_reach; /* what was in the pipe when the main process ended */
    size_t chunk;        /* how much is read at once: more for a job that prints a lot */
};

struct input {
    struct source pipe;
    struct ring ring;
    uint64_t total;       /* bytes that clients have sent */
    uint64_t written;     /* position up to which the job has them */
    uint32_t unacked;     /* written and not granted again yet */
    struct viewer *owner; /* who feeds it; NULL for nobody, now */
    bool eof;
    bool end_owed; /* a terminal has not been told of it yet */
};

struct job {
    struct job *next;
    uint32_t id, flags; /* HF_START_* */
    enum job_state state;
    struct stub *stub;      /* NULL once its tree is empty */
    volatile int32_t *main; /* its main process, written by the stub; 0 before it runs and after */
    struct viewer *viewers;
    struct stream out[2];
    struct input in;
    struct session *session; /* NULL for none */
    int state_fd;            /* where its shell leaves the session's new state, or -1 */

    bool kill_on_detach, exit_known, started;
    unsigned empty_looks;
    uint64_t grace_ns, drain_ns, keep_ns;
    int64_t announce_at; /* when STARTED is sent by itself; 0 once it is on its way */
    int64_t deadline;    /* of the drain time; 0: none */
    int64_t timeout_at;  /* 0: none */
    int64_t term_at;     /* when SIGTERM is tried again: there was nobody yet to get it; 0: never */
    int64_t kill_at;     /* when what is left of the tree is killed; 0: it is not being ended */
    int64_t forget_at;   /* on the shelf */
    struct hf_msg_exit exit;

    /* For the list. */
    uint64_t started_ms, ended_ms, timeout_ms, tag;
    char *user, *session_name;
    char command[HF_MAX_COMMAND + 1];
};

/* Before the first job. */
bool jobs_init(void);

/* The list of all jobs that have something left: a process, or an outcome not told yet. */
extern struct job *jobs;

/* Starts a job for a client, with the script that it sent before, or -1. A failure is told to the
 * client as NOT_STARTED. */
void job_start(struct client *client, const struct hf_frame *frame,
               const struct hf_msg_start *start, int script, const struct hf_msg_config *config);

/* Any job, the finished ones included. */
struct job *job_by_id(uint32_t id);

int job_signal(struct job *job, int signal, bool tree);
void job_resize(struct job *job, uint32_t rows, uint32_t columns);
/* Ends the whole tree; `outcome` is what will be told, if none is settled yet. */
void job_end(struct job *job, uint8_t outcome);

/* The bytes of a stream came to their end, or the drain time to its. */
void job_drained(struct job *job);

/* From its stub. */
void job_reported(struct job *job, const struct stub_report *report);
void job_stub_died(struct job *job, int status);

/* SIGCHLD: one child of the warden was reaped. */
void jobs_reaped(pid_t pid, int status);
/* Deadlines. Returns when to come back (ns), or 0. */
int64_t jobs_tick(int64_t now);
/* Puts what is finished on the shelf, or frees it. */
void jobs_sweep(void);
void jobs_end_all(uint8_t outcome, uint64_t grace_ns);
void job_free(struct job *job);

#endif
