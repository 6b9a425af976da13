/* SPDX-License-Identifier: Apache-2.0 */
#include "warden/output.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <sys/uio.h>

#include "warden/viewer.h"

#define SMALL_READ 4096

static void stream_ready(void *owner, uint32_t events)
{
    struct stream *stream = owner;
    struct iovec parts[2];
    ssize_t size = 0;
    if (events & EPOLLIN) {
        uint64_t keep = viewers_hold(stream->job, (int)(stream - stream->job->out));
        int count = ring_room(&stream->ring, keep, stream->chunk, parts);
        if (count == 0) {
            loop_want(&stream->pipe, 0);
            return;
        }
        size = readv(stream->pipe.fd, parts, count);
        if (size < 0 && (errno == EAGAIN || errno == EINTR))
            return;
    }
    if (size <= 0) {
        loop_close(&stream->pipe);
        viewers_touch(stream->job);
        job_drained(stream->job);
        return;
    }
    ring_commit(&stream->ring, (size_t)size);
    if ((size_t)size == stream->chunk && stream->chunk < HF_STREAM_WINDOW)
        stream->chunk *= 4;
    viewers_touch(stream->job);
}

void output_init(struct stream *stream, struct job *job)
{
    stream->pipe = (struct source){.fd = -1, .ready = stream_ready, .owner = stream};
    stream->ring.max = HF_JOB_LOG;
    stream->ring.is_log = true;
    stream->chunk = SMALL_READ;
    stream->job = job;
}

void output_resume(struct job *job)
{
    for (int i = 0; i < 2; i++)
        loop_want(&job->out[i].pipe, EPOLLIN);
}

void output_mark_end(struct job *job)
{
    for (int i = 0; i < 2; i++) {
        int waiting = 0;
        if (job->out[i].pipe.fd >= 0 && ioctl(job->out[i].pipe.fd, FIONREAD, &waiting) == 0)
            job->out[i].must_reach = job->out[i].ring.head + (uint64_t)waiting;
    }
}

bool output_reached_end(const struct job *job)
{
    for (int i = 0; i < 2; i++)
        if (job->out[i].pipe.fd >= 0 && job->out[i].ring.head < job->out[i].must_reach)
            return false;
    return true;
}

bool output_closed(const struct job *job)
{
    return job->out[0].pipe.fd < 0 && job->out[1].pipe.fd < 0;
}

void output_close(struct job *job)
{
    for (int i = 0; i < 2; i++)
        loop_close(&job->out[i].pipe);
}
