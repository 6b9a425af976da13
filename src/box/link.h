/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host's side of one connection to a warden. Jobs of a box share it; each has a channel. What
 * arrives is checked against what was agreed (windows, order, channels), for a box may be hostile:
 * the first violation ends the connection, and all its jobs are lost.
 */
#ifndef HF_BOX_LINK_H
#define HF_BOX_LINK_H

#include <stdatomic.h>

#include "base/buf.h"
#include "wire/message.h"

struct hf_job;

/* Who wants to know what comes on a channel that is no job's: an answer of many messages. */
struct listing {
    uint32_t channel;
    /* False if the message breaks the rules. */
    bool (*on_row)(struct listing *listing, const struct hf_frame *frame);
    bool done;
};

struct link {
    int fd;
    struct hf_buf in;
    size_t in_used;
    bool greeted;    /* by the box */
    bool hello_sent; /* by us */
    bool wide;       /* the socket has room for a lot under way */
    char *dead;      /* why it ended; NULL while it lives */
    hf_code dead_code;
    struct hf_job *jobs;
    struct listing *listing; /* NULL for none */
    uint32_t last_channel;
    atomic_bool sending; /* held while frames are sent: each goes whole, whoever sends */
    /* Jobs that are to be cancelled when the one that is sending now has finished. */
    _Atomic(struct hf_job *) cancels;
};

void link_init(struct link *link, int socket);
void link_finish(struct link *link);

/* Sends whole frames. Takes in what arrives while the socket is full, so that two full sides cannot
 * wait for each other. */
int link_send(struct link *link, const struct hf_buf *frames, hf_error **reterr);
/* One frame with these bytes, sent from where they lie. */
int link_send_data(struct link *link, uint16_t type, uint32_t channel, const void *data,
                   size_t size, hf_error **reterr);
/* The same for another thread than the one that reads: it only waits. */
int link_send_aside(struct link *link, const struct hf_buf *frames, hf_error **reterr);

/* CANCEL for a job, now or as soon as the socket takes it. Safe in a signal handler. */
void link_cancel(struct link *link, struct hf_job *job);
/* Before a job's memory goes: it is in no queue any more. */
void link_forget(struct link *link, struct hf_job *job);

/* Takes in what has arrived, waiting for at most `timeout_ms` (negative: for ever). Returns 1 if
 * something came, 0 on timeout or a signal; the end of the connection is something, and marks the link. */
int link_receive(struct link *link, int64_t timeout_ms, hf_error **reterr);

/* The connection is of no use any more; all its jobs are lost. */
void link_die(struct link *link, hf_code code, const char *why);

#endif
