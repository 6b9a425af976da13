/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HF_BOX_JOB_H
#define HF_BOX_JOB_H

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
    struct inbox in[2];
    /* Where hf_job_read() wants bytes directly, past the inbox; size 0 when nobody reads. */
    char *sink;
    size_t sink_size, sink_used;
    int sink_stream;

    bool has_stdin, stdin_closed, over, kill_on_close;
    uint32_t stdin_window;
    size_t output_limit;
    int64_t timeout_ms;
    struct capture captures[2];
    char *scratch; /* where hf_job_collect() reads to */
    struct hf_result result;
};

/* A frame for one of the link's jobs. False if it breaks the rules. */
bool job_on_frame(struct link *link, const struct hf_frame *frame);

#endif
