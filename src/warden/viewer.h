/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Viewers: which client is told what about which job. The client that started a job is its first
 * viewer; others attach. Each has a channel of its own on its connection, and positions in the job's
 * streams. As long as it is there, bytes that it has not been sent are not overwritten: a viewer that
 * does not read holds the job back, as a pipe would.
 */
#ifndef HF_WARDEN_VIEWER_H
#define HF_WARDEN_VIEWER_H

#include "warden/job.h"

enum { VIEW_START = HF_WIRE_HOWS }; /* how the client that started it views it */

struct viewer {
    struct viewer *next_of_job, *next_of_client;
    struct job *job;
    struct client *client;
    uint32_t channel;
    uint8_t how; /* HF_WIRE_FOLLOW..., VIEW_START */
    uint64_t sent[2];
    uint32_t window[2]; /* how much more the client will take */
    uint64_t log_end[2];
};

/* NULL when memory runs out, or the client has too many. */
struct viewer *viewer_new(struct job *job, struct client *client, uint32_t channel, uint8_t how,
                          uint32_t window);
struct viewer *viewer_find(const struct client *client, uint32_t channel);
/* As ATTACH asks for it; answers. */
void viewer_attach(struct client *client, uint32_t channel, const struct hf_msg_attach *message);
/* Takes it away. The job goes on. */
void viewer_free(struct viewer *viewer);
/* Its client is gone without a word. */
void viewer_lost(struct viewer *viewer);
/* Its client said that it is no longer interested. */
void viewer_detach(struct viewer *viewer);

/* False: the client broke the agreement. */
bool viewer_grant(struct viewer *viewer, uint8_t stream, uint32_t bytes);

/* How far a stream may be sent now, whatever the window. */
uint64_t viewer_limit(const struct viewer *viewer, int stream);
/* So many bytes have been sent. */
void viewer_sent(struct viewer *viewer, int stream, size_t size);
/* Tells the end and frees the viewer, if it is at its end. */
bool viewer_finish(struct viewer *viewer);

/* The first byte of a stream that some viewer still has to be sent. */
uint64_t viewers_hold(const struct job *job, int stream);
/* There is news of the job. */
void viewers_touch(const struct job *job);

#endif
