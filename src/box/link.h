/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host's side of one connection to a warden. Jobs of a box share it; each has a channel. What
 * arrives is checked against what was agreed (windows, order, channels), for a box may be hostile:
 * the first violation ends the connection, and all its jobs are lost.
 */
#ifndef HF_BOX_LINK_H
#define HF_BOX_LINK_H

#include <pthread.h>

#include "base/buf.h"
#include "wire/message.h"

struct hf_job;

struct link {
    int fd;
    struct hf_buf in;
    size_t in_used;
    bool greeted;
    char *dead; /* why it ended; NULL while it lives */
    hf_code dead_code;
    struct hf_job *jobs;
    uint32_t last_channel;
    pthread_mutex_t sending; /* a frame is sent whole, also when another thread sends a signal */
};

void link_init(struct link *link, int socket);
void link_finish(struct link *link);

/* Sends whole frames. Takes in what arrives while the socket is full, so that two full sides cannot
 * wait for each other. */
int link_send(struct link *link, const struct hf_buf *frames, hf_error **reterr);
/* The same for another thread than the one that reads: it only waits. */
int link_send_aside(struct link *link, const struct hf_buf *frames, hf_error **reterr);

/* Takes in what has arrived, waiting for at most `timeout_ms` (negative: for ever). Returns 1 if
 * something came, 0 on timeout or a signal; the end of the connection is something, and marks the link. */
int link_receive(struct link *link, int64_t timeout_ms, hf_error **reterr);

#endif
