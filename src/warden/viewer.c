/* SPDX-License-Identifier: Apache-2.0 */
#include "warden/viewer.h"

#include <stdlib.h>

#include "base/clock.h"
#include "warden/client.h"
#include "warden/input.h"
#include "warden/output.h"

struct viewer *viewer_new(struct job *job, struct client *client, uint32_t channel, uint8_t how,
                          uint32_t window)
{
    struct viewer *viewer = client->viewer_count < HF_MAX_JOBS ? calloc(1, sizeof *viewer) : NULL;
    if (!viewer)
        return NULL;
    client->viewer_count++;
    viewer->job = job;
    viewer->client = client;
    viewer->channel = channel;
    viewer->how = how;
    viewer->window[0] = viewer->window[1] = window;
    viewer->next_of_job = job->viewers;
    job->viewers = viewer;
    viewer->next_of_client = client->viewers;
    client->viewers = viewer;
    return viewer;
}

struct viewer *viewer_find(const struct client *client, uint32_t channel)
{
    struct viewer *viewer = client->viewers;
    while (viewer && viewer->channel != channel)
        viewer = viewer->next_of_client;
    return viewer;
}

/* ---- coming --------------------------------------------------------------------------------- */

static uint64_t clamp(uint64_t value, uint64_t low, uint64_t high)
{
    return value < low ? low : value > high ? high : value;
}

static void choose_positions(struct viewer *viewer, const struct hf_msg_attach *message)
{
    for (int i = 0; i < 2; i++) {
        const struct ring *ring = &viewer->job->out[i].ring;
        uint64_t tail = ring->tail;
        viewer->sent[i] = message->tail ? ring_lines_back(ring, tail, message->tail)
                                        : clamp(message->from[i], tail, ring->head);
        viewer->log_end[i] = ring->head;
    }
}

void viewer_attach(struct client *client, uint32_t channel, const struct hf_msg_attach *message)
{
    struct job *job = job_by_id(message->job);
    struct viewer *viewer =
        job ? viewer_new(job, client, channel, message->how, message->window) : NULL;
    if (!viewer) {
        client_tell_not_attached(client, channel);
        return;
    }
    choose_positions(viewer, message);
    struct input *in = &job->in;
    if (message->with_stdin && in->pipe.fd >= 0 && !in->owner && !in->eof) {
        in->owner = viewer;
        in->unacked = 0;
    }
    struct hf_msg_attached answer = {
        .job = job->id,
        .flags = (job->flags & HF_START_TTY ? HF_JOB_TTY : 0) |
                 (in->owner == viewer ? HF_JOB_STDIN : 0) |
                 (job->flags & HF_START_MERGE ? HF_JOB_MERGED : 0),
        .from = {viewer->sent[0], viewer->sent[1]},
        .stdin_bytes = in->total,
        .stdin_room = in->owner == viewer ? input_room(job) : 0,
        .timeout_ms = job->timeout_ms,
        .grace_ms = job->grace_ns / HF_MS_NS,
        .tag = job->tag,
    };
    client_tell_attached(client, channel, &answer);
}

/* ---- going ---------------------------------------------------------------------------------- */

void viewer_free(struct viewer *viewer)
{
    struct job *job = viewer->job;
    struct viewer **link = &job->viewers;
    while (*link != viewer)
        link = &(*link)->next_of_job;
    *link = viewer->next_of_job;
    for (link = &viewer->client->viewers; *link != viewer;)
        link = &(*link)->next_of_client;
    *link = viewer->next_of_client;
    viewer->client->viewer_count--;
    if (job->in.owner == viewer)
        job->in.owner = NULL;
    free(viewer);
    /* It may have been the one that held the job back. */
    output_resume(job);
}

/* Its stdin stays open: to end it here would tell the job that it has got everything. */
void viewer_lost(struct viewer *viewer)
{
    struct job *job = viewer->job;
    bool starter = viewer->how == VIEW_START;
    viewer_free(viewer);
    if (starter && job->kill_on_detach)
        job_end(job, HF_WIRE_CANCELLED);
}

void viewer_detach(struct viewer *viewer)
{
    struct job *job = viewer->job;
    if (job->in.owner == viewer && !(job->flags & HF_START_TTY))
        input_eof(job);
    viewer_free(viewer);
}

/* ---- what it is sent ------------------------------------------------------------------------ */

bool viewer_grant(struct viewer *viewer, uint8_t stream, uint32_t bytes)
{
    if (stream < 1 || stream > 2 || bytes > UINT32_MAX - viewer->window[stream - 1])
        return false;
    viewer->window[stream - 1] += bytes;
    client_touch(viewer->client);
    return true;
}

uint64_t viewer_limit(const struct viewer *viewer, int stream)
{
    const struct job *job = viewer->job;
    switch (viewer->how) {
    case VIEW_START:
        return job->state == JOB_OVER ? job->exit.total[stream] : job->out[stream].ring.head;
    case HF_WIRE_FOLLOW:
        return job->out[stream].ring.head;
    case HF_WIRE_LOG:
        return viewer->log_end[stream];
    default:
        return viewer->sent[stream];
    }
}

void viewer_sent(struct viewer *viewer, int stream, size_t size)
{
    viewer->sent[stream] += size;
    loop_want(&viewer->job->out[stream].pipe, EPOLLIN);
}

uint64_t viewers_hold(const struct job *job, int stream)
{
    uint64_t hold = job->out[stream].ring.head;
    for (const struct viewer *viewer = job->viewers; viewer; viewer = viewer->next_of_job)
        if (viewer->sent[stream] < viewer_limit(viewer, stream) && viewer->sent[stream] < hold)
            hold = viewer->sent[stream];
    return hold;
}

void viewers_touch(const struct job *job)
{
    for (const struct viewer *viewer = job->viewers; viewer; viewer = viewer->next_of_job)
        client_touch(viewer->client);
}

static bool has_everything(const struct viewer *viewer)
{
    return viewer->sent[0] >= viewer_limit(viewer, 0) && viewer->sent[1] >= viewer_limit(viewer, 1);
}

static bool is_at_end(const struct viewer *viewer)
{
    const struct job *job = viewer->job;
    bool over = job->state == JOB_OVER;
    switch (viewer->how) {
    case HF_WIRE_FOLLOW:
        return over && output_closed(job) && has_everything(viewer);
    case HF_WIRE_LOG:
        return has_everything(viewer);
    /* Who takes no output does not wait for those who do. */
    case HF_WIRE_TREE:
        return job->exit_known && !job->stub && job->state != JOB_ENDING;
    case HF_WIRE_OUTCOME:
        return over || job->state == JOB_DRAINING;
    default:
        return over && has_everything(viewer);
    }
}

bool viewer_finish(struct viewer *viewer)
{
    const struct job *job = viewer->job;
    if (!is_at_end(viewer))
        return false;
    struct hf_msg_exit message = job->exit;
    /* Who started it gets what the job itself has printed, the others all there is. */
    for (int i = 0; i < 2 && viewer->how != VIEW_START; i++)
        message.total[i] = job->out[i].ring.head;
    message.input = job->in.total;
    if (job->state == JOB_OVER || viewer->how != HF_WIRE_LOG)
        client_tell_exit(viewer->client, viewer->channel, &message);
    else
        client_tell_log_end(viewer->client, viewer->channel);
    viewer_free(viewer);
    return true;
}
