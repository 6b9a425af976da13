/* SPDX-License-Identifier: Apache-2.0 */
#include "warden/input.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "warden/client.h"
#include "warden/viewer.h"

/* What a person types to end the input of a terminal. */
#define END_OF_INPUT "\x04"

void input_close(struct job *job)
{
    struct input *in = &job->in;
    if (in->pipe.fd < 0)
        return;
    loop_close(&in->pipe);
    ring_finish(&in->ring);
    if (in->owner && !in->eof)
        client_tell_stdin_closed(in->owner->client, in->owner->channel);
}

/* Not for every piece: what is not granted yet is always less than what the client still has. */
static void acknowledge(struct input *in, size_t size)
{
    in->unacked += (uint32_t)size;
    if (in->owner && !in->eof && in->unacked >= HF_STDIN_WINDOW / 4) {
        client_tell_stdin_window(in->owner->client, in->owner->channel, in->unacked);
        in->unacked = 0;
    }
}

static void input_ready(void *owner, uint32_t events)
{
    struct job *job = owner;
    struct input *in = &job->in;
    struct iovec parts[2];
    (void)events;
    size_t left = (size_t)(in->ring.head - in->written);
    int count = ring_view(&in->ring, in->written, left, parts);
    if (count > 0) {
        ssize_t size = writev(in->pipe.fd, parts, count);
        if (size < 0 && (errno == EAGAIN || errno == EINTR)) {
            loop_want(&in->pipe, EPOLLOUT);
            return;
        }
        if (size < 0) {
            input_close(job);
            return;
        }
        in->written += (uint64_t)size;
        acknowledge(in, (size_t)size);
    }
    bool more = in->written < in->ring.head;
    /* A terminal stays open: the job prints through it. Its end is a key. */
    if (!more && in->end_owed)
        in->end_owed = more = write(in->pipe.fd, END_OF_INPUT, 1) != 1 && errno == EAGAIN;
    if (!more && in->eof && !(job->flags & HF_START_TTY))
        input_close(job);
    else
        loop_want(&in->pipe, more ? EPOLLOUT : 0);
}

void input_init(struct job *job)
{
    job->in.pipe = (struct source){.fd = -1, .ready = input_ready, .owner = job};
    job->in.ring.max = HF_STDIN_WINDOW;
}

/* Most input goes into an empty pipe, and needs no ring. Returns how much of it; -1 if nobody reads
 * any more. */
static ssize_t put_directly(struct input *in, const void *data, size_t size)
{
    if (in->written < in->ring.head || in->pipe.events != 0)
        return 0;
    ssize_t written = write(in->pipe.fd, data, size);
    if (written < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -1;
    ring_commit(&in->ring, (size_t)written); /* it has been there, as far as positions go */
    in->written += (uint64_t)written;
    acknowledge(in, (size_t)written);
    return written;
}

static bool put(struct job *job, const char *data, size_t size)
{
    struct input *in = &job->in;
    struct iovec parts[2];
    ssize_t direct = put_directly(in, data, size);
    if (direct < 0)
        input_close(job);
    if (direct < 0 || (size_t)direct == size)
        return true;
    data += direct;
    size -= (size_t)direct;
    int count = ring_room(&in->ring, in->written, size, parts);
    size_t room = count == 0 ? 0 : parts[0].iov_len + (count == 2 ? parts[1].iov_len : 0);
    /* More than the client was granted; or there is no memory for what it was. */
    if (room < size && in->ring.capacity == in->ring.max)
        return false;
    if (room < size) {
        input_close(job);
        return true;
    }
    memcpy(parts[0].iov_base, data, parts[0].iov_len);
    if (count == 2)
        memcpy(parts[1].iov_base, data + parts[0].iov_len, parts[1].iov_len);
    ring_commit(&in->ring, size);
    if (in->pipe.events == 0)
        input_ready(job, 0);
    return true;
}

bool input_add(struct job *job, const void *data, size_t size)
{
    struct input *in = &job->in;
    if (in->pipe.fd < 0 || in->eof || size == 0)
        return true;
    in->total += size;
    return put(job, data, size);
}

void input_eof(struct job *job)
{
    struct input *in = &job->in;
    if (in->eof || in->pipe.fd < 0)
        return;
    in->eof = true;
    in->end_owed = job->flags & HF_START_TTY;
    if (in->pipe.events == 0)
        input_ready(job, 0);
}

uint32_t input_room(const struct job *job)
{
    return (uint32_t)(HF_STDIN_WINDOW - (job->in.ring.head - job->in.written));
}
