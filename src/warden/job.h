/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs as the warden sees them: a stub, three pipes, two rings, an outcome.
 *
 *      RUNNING ──> DRAINING ──> OVER
 *         │                      ^
 *         ├──> ENDING (timeout, cancel, lost client: until the tree is empty)
 *         └──> OVER (could not be started)
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

enum job_state { JOB_RUNNING, JOB_ENDING, JOB_DRAINING, JOB_OVER };

struct stream {
    struct source pipe;
    struct ring ring;
    struct job *job;
    uint64_t sent;       /* position up to which the client has it */
    uint32_t window;     /* how much more the client will take */
    uint64_t must_reach; /* what was in the pipe when the main process ended */
    size_t chunk;        /* how much is read at once: more for a job that prints a lot */
};

struct job {
    struct job *next;
    uint32_t id, channel;
    struct client *client; /* NULL: nobody is listening */
    enum job_state state;
    struct stub *stub;      /* NULL once its tree is empty */
    volatile int32_t *main; /* its main process, written by the stub; 0 before it runs and after */
    int64_t announce_at;    /* when STARTED is sent by itself; 0 once it is on its way */
    struct stream out[2];

    struct source in;
    struct ring input;
    uint64_t input_written; /* position up to which the job has its stdin */
    uint32_t input_unacked; /* written and not granted again yet */
    bool input_eof;

    bool kill_on_detach, exit_known, exit_told;
    unsigned empty_looks;
    uint64_t grace_ns, drain_ns;
    int64_t deadline;   /* 0: none */
    int64_t timeout_at; /* 0: none */
    struct hf_msg_exit exit;
};

/* Before the first job. */
bool jobs_init(void);

/* The list of all jobs that have something left: a process, or an outcome not told yet. */
extern struct job *jobs;

/* Starts a job for a client. A failure is told to the client as NOT_STARTED. */
void job_start(struct client *client, const struct hf_frame *frame,
               const struct hf_msg_start *start, const struct hf_msg_config *config);

struct job *job_find(const struct client *client, uint32_t channel);

/* False: the client broke the agreement about the window. */
bool job_input(struct job *job, const void *data, size_t size);
void job_input_eof(struct job *job);
bool job_grant(struct job *job, uint8_t stream, uint32_t bytes);
int job_signal(struct job *job, int signal);
/* Ends the whole tree; `outcome` is what will be told. */
void job_end(struct job *job, uint8_t outcome);
/* The client is gone or no longer interested. */
void job_detach(struct job *job);

/* Called by the client when bytes of a stream have been sent, so that the pipe is read again. */
void job_sent(struct job *job, int stream, size_t size);
/* True once everything before the outcome has been sent. */
bool job_ready_to_tell(const struct job *job);

/* From its stub. */
void job_reported(struct job *job, const struct stub_report *report);
void job_stub_died(struct job *job, int status);

/* SIGCHLD: one child of the warden was reaped. */
void jobs_reaped(pid_t pid, int status);
/* Deadlines. Returns when to come back (ns), or 0. */
int64_t jobs_tick(int64_t now);
/* Frees what is over. */
void jobs_sweep(void);
void jobs_end_all(uint8_t outcome, uint64_t grace_ns);

#endif
