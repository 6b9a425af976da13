/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HF_BOX_JOB_H
#define HF_BOX_JOB_H

#include <stdatomic.h>

#include "box/capture.h"
#include "box/link.h"
#include "box/result.h"

/* What has arrived and was not read yet; never more than the window. */
struct inbox {
    struct hf_buf data;
    size_t used;
    uint32_t window;    /* what the box may still send */
    uint32_t ungranted; /* read, and not granted again yet */
};

struct hf_job {
    struct hf_job *next;
    struct hf_box *box;
    uint32_t channel, id;
    struct hf_job *next_cancel; /* in the link's queue */
    atomic_bool cancel_queued;
    struct inbox in[2];
    /* Where hf_job_read() wants bytes directly, past the inbox; size 0 when nobody reads. */
    char *sink;
    size_t sink_size, sink_used;
    int sink_stream;

    bool has_stdin, has_tty, stdin_closed, over, kill_on_close;
    bool attaching;    /* to a job that was started already */
    bool attached;     /* the box has said yes */
    bool not_attached; /* there is no such job */
    bool log_ended;    /* over, but only what was to be read; the job goes on */
    uint32_t stdin_window;
    size_t output_limit;
    int64_t timeout_ms, grace_ms, drain_ms;
    int64_t
        give_up_at; /* ns; a box that has not told the outcome by then is not going to; 0: never */
    uint64_t position[2]; /* of the caller */
    uint64_t received[2]; /* the same for what has come from the box */
    bool told_all;        /* it gets all that the job prints, from there on */
    uint64_t oom_base;    /* kills for want of memory before this job */
    struct capture captures[2];
    char *scratch; /* where hf_job_collect() reads to */
    struct hf_result result;
};

/* hf_job_start() with HF_START_* that callers have no option for. */
int job_start(struct hf_box *box, const hf_job_options *options, uint32_t flags,
              struct hf_job **ret_job, hf_error **reterr);

/* A handle in the link's list, with a channel of its own. NULL when memory runs out. */
struct hf_job *job_new(struct hf_box *box, size_t output_limit);
/* Waits until the box has answered, in bounded time: the job runs, is over, or is attached. */
int job_await_answer(struct hf_job *job, hf_error **reterr);
/* Takes in news for at most that long (negative: for ever); the box may turn out to be dead, or to
 * have been silent for too long, which ends the job. 0, or a failure of this side. */
int job_receive(struct hf_job *job, int64_t timeout_ms, hf_error **reterr);

/* How long a box may take to answer a question, and beyond its promises about time. */
#define HF_ANSWER_MS 10000

int hf__check_session_name(const char *name, hf_error **reterr);

/* True if the box's memory limit has killed something since `base`. */
bool job_oom_since(const struct hf_box *box, uint64_t base);
hf_outcome job_outcome(uint8_t wire_outcome);

/* A frame for one of the link's jobs. False if it breaks the rules. */
bool job_on_frame(struct link *link, const struct hf_frame *frame);

#endif
