/* SPDX-License-Identifier: Apache-2.0 */
#include "box/link.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/utf8.h"
#include "box/job.h"

#define READ_SIZE KIB(256)
/* A box that takes nothing for so long does not read any more. */
#define SEND_WITHIN_MS 30000

void link_init(struct link *link, int socket)
{
    *link = (struct link){.fd = socket};
    link->in = HF_BUF(HF_MAX_FRAME + HF_FRAME_HEADER + READ_SIZE);
}

void link_finish(struct link *link)
{
    if (link->fd >= 0)
        close(link->fd);
    hf__buf_finish(&link->in);
    free(link->dead);
    *link = (struct link){.fd = -1};
}

void link_die(struct link *link, hf_code code, const char *why)
{
    if (link->dead)
        return;
    link->dead_code = code;
    link->dead = hf__utf8_escape(why);
    if (!link->dead)
        link->dead = strdup("the connection ended");
    shutdown(link->fd, SHUT_RDWR);
}

/* ---- cancelling ----------------------------------------------------------------------------- */

/*
 * A cancel may come from a signal handler, in the middle of whatever this thread does: no lock may
 * be waited for and nothing be allocated. Who finds the sending side taken puts the job into a queue,
 * and whoever lets go of it looks there afterwards. The queue is only ever pushed to, or taken whole.
 */
static bool try_lock(struct link *link)
{
    bool taken = false;
    return atomic_compare_exchange_strong(&link->sending, &taken, true);
}

static void unlock(struct link *link)
{
    atomic_store(&link->sending, false);
}

static void push_cancel(struct link *link, struct hf_job *job)
{
    job->next_cancel = atomic_load(&link->cancels);
    while (!atomic_compare_exchange_weak(&link->cancels, &job->next_cancel, job))
        ;
}

/* So few bytes go whole or not at all. By its number, if that is known: the channel ends with the
 * outcome, what the job left in the background does not. False: the socket is full. */
static bool send_cancel(struct link *link, const struct hf_job *job)
{
    uint8_t frame[HF_END_FRAME];
    size_t length = hf__cancel_frame(frame, job->channel, job->id);
    ssize_t size;
    do
        size = send(link->fd, frame, length, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (size < 0 && errno == EINTR);
    return size >= 0 || errno != EAGAIN;
}

static void send_cancels(struct link *link)
{
    while (atomic_load(&link->cancels) && try_lock(link)) {
        struct hf_job *job = atomic_exchange(&link->cancels, NULL);
        bool full = false;
        while (job) {
            struct hf_job *next = job->next_cancel;
            full = full || !send_cancel(link, job);
            if (full)
                push_cancel(link, job);
            else
                atomic_store(&job->cancel_queued, false);
            job = next;
        }
        unlock(link);
        if (full)
            return; /* tried again when the box has read something */
    }
}

void link_cancel(struct link *link, struct hf_job *job)
{
    int saved = errno;
    if (!atomic_exchange(&job->cancel_queued, true))
        push_cancel(link, job);
    send_cancels(link);
    errno = saved;
}

void link_forget(struct link *link, struct hf_job *gone)
{
    /* Another thread may be at it. */
    while (!try_lock(link))
        (void)poll(NULL, 0, 1);
    struct hf_job *job = atomic_exchange(&link->cancels, NULL);
    while (job) {
        struct hf_job *next = job->next_cancel;
        if (job != gone)
            push_cancel(link, job);
        job = next;
    }
    unlock(link);
    send_cancels(link);
}

/* ---- receiving ------------------------------------------------------------------------------ */

static void on_hello(struct link *link, const struct hf_frame *frame)
{
    struct hf_msg_hello hello;
    if (link->greeted || !hf__get_hello(frame, &hello) || hello.version != HF_WIRE_VERSION)
        link_die(link, HF_E_PROTOCOL, "the box sent a wrong greeting");
    link->greeted = true;
}

static void on_refused(struct link *link, const struct hf_frame *frame)
{
    const char *reason;
    if (hf__get_refused(frame, &reason))
        link_die(link, HF_E_PROTOCOL, reason);
    else
        link_die(link, HF_E_PROTOCOL, "the box sent a malformed refusal");
}

static void on_listing(struct link *link, const struct hf_frame *frame)
{
    struct listing *listing = link->listing;
    if (listing->done || (frame->type == HF_MSG_LIST_END && frame->size > 0))
        link_die(link, HF_E_PROTOCOL, "the box sent a malformed list");
    else if (frame->type == HF_MSG_LIST_END)
        listing->done = true;
    else if (!listing->on_row(listing, frame))
        link_die(link, HF_E_PROTOCOL, "the box sent a malformed list");
}

static void on_frame(struct link *link, const struct hf_frame *frame)
{
    if (frame->type == HF_MSG_REFUSED)
        on_refused(link, frame);
    else if (frame->type == HF_MSG_HELLO_OK)
        on_hello(link, frame);
    else if (!link->greeted)
        link_die(link, HF_E_PROTOCOL, "the box did not greet first");
    else if (link->listing && frame->channel == link->listing->channel)
        on_listing(link, frame);
    else if (!job_on_frame(link, frame))
        link_die(link, HF_E_PROTOCOL, "the box sent something that makes no sense");
}

static void take_frames(struct link *link)
{
    while (!link->dead) {
        struct hf_frame frame;
        ssize_t size =
            hf__frame_parse(link->in.data + link->in_used, link->in.size - link->in_used, &frame);
        if (size < 0)
            link_die(link, HF_E_PROTOCOL, "the box sent a malformed frame");
        if (size <= 0)
            break;
        link->in_used += (size_t)size;
        on_frame(link, &frame);
    }
    if (link->in_used == link->in.size) {
        link->in.size = link->in_used = 0;
    } else if (link->in_used > READ_SIZE / 2) {
        hf__buf_consume(&link->in, link->in_used);
        link->in_used = 0;
    }
}

/* Reads once. False: nothing was there. */
static bool take_bytes(struct link *link, int flags)
{
    char *to = hf__buf_reserve(&link->in, READ_SIZE);
    if (!to) {
        link_die(link, HF_E_NO_SPACE, "out of memory");
        return true;
    }
    ssize_t size = recv(link->fd, to, READ_SIZE, flags);
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (size <= 0) {
        link_die(link, HF_E_LOST, "the box ended");
        return true;
    }
    link->in.size += (size_t)size;
    take_frames(link);
    send_cancels(link);
    return true;
}

int link_receive(struct link *link, int64_t timeout_ms, hf_error **reterr)
{
    struct pollfd polled = {link->fd, POLLIN, 0};
    if (link->dead)
        return 1;
    /* One system call in the two cases that matter for speed. */
    if (timeout_ms <= 0)
        return take_bytes(link, timeout_ms < 0 ? 0 : MSG_DONTWAIT);
    int ready = poll(&polled, 1, timeout_ms > 3600000 ? 3600000 : (int)timeout_ms);
    if (ready < 0 && errno != EINTR)
        return hf__error_sys(reterr, "cannot wait for the box");
    return ready > 0 && take_bytes(link, MSG_DONTWAIT);
}

/* ---- sending -------------------------------------------------------------------------------- */

/* Until when a box may leave what it is sent unread: its promises about time, or long enough. */
static int64_t patience(const struct link *link)
{
    int64_t until = hf__now_ns() + SEND_WITHIN_MS * HF_MS_NS;
    for (const struct hf_job *job = link->jobs; job; job = job->next)
        if (job->give_up_at && job->give_up_at < until)
            until = job->give_up_at;
    return until;
}

/* The socket is full, or dead. 0 if it is worth another try. */
static int wait_to_send(struct link *link, bool take, int64_t until, hf_error **reterr)
{
    if (errno == EINTR)
        return 0;
    if (errno != EAGAIN) {
        /* Why it ended may already have arrived, and says more than EPIPE. */
        for (int i = 0; i < 16 && take && !link->dead; i++)
            (void)take_bytes(link, MSG_DONTWAIT);
        return hf__error(reterr, HF_E_LOST, "the box ended");
    }
    struct pollfd polled = {link->fd, (short)(take ? POLLIN | POLLOUT : POLLOUT), 0};
    int ready = poll(&polled, 1, hf__poll_timeout(until));
    if (ready == 0 && hf__now_ns() >= until) {
        /* Part of a frame may be on its way: nothing can follow it. */
        link_die(link, HF_E_TIMEOUT, "the box does not answer any more");
        return hf__error(reterr, HF_E_TIMEOUT, "the box does not answer any more");
    }
    if (take && ready > 0 && (polled.revents & POLLIN))
        (void)take_bytes(link, MSG_DONTWAIT);
    if (take && link->dead)
        return hf__error(reterr, link->dead_code, "%s", link->dead);
    return 0;
}

static void skip(struct iovec *parts, size_t count, size_t size)
{
    for (size_t i = 0; i < count; i++) {
        size_t here = size < parts[i].iov_len ? size : parts[i].iov_len;
        parts[i].iov_base = (char *)parts[i].iov_base + here;
        parts[i].iov_len -= here;
        size -= here;
    }
}

static int send_whole(struct link *link, struct iovec *parts, size_t count, bool take,
                      hf_error **reterr)
{
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = count};
    int64_t until = 0;
    while (parts[count - 1].iov_len > 0) {
        ssize_t size = sendmsg(link->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (size >= 0) {
            skip(parts, count, (size_t)size);
            until = 0;
            continue;
        }
        if (until == 0)
            until = patience(link);
        int result = wait_to_send(link, take, until, reterr);
        if (result < 0)
            return result;
    }
    return 0;
}

static int send_locked(struct link *link, struct iovec *parts, size_t count, bool take,
                       hf_error **reterr)
{
    /* Another thread sends a signal, which is soon done, or waits for a box that does not read. */
    while (!try_lock(link))
        (void)poll(NULL, 0, 1);
    int result = send_whole(link, parts, count, take, reterr);
    if (result == 0)
        link->hello_sent = true; /* it goes with whatever is sent first */
    unlock(link);
    send_cancels(link);
    return result;
}

static int send_frames(struct link *link, const struct hf_buf *frames, bool take, hf_error **reterr)
{
    struct iovec part = {frames->data, frames->size};
    if (frames->failed)
        return hf__error(reterr, HF_E_INVALID,
                         "the request is larger than the 1 MiB that one message may have");
    return send_locked(link, &part, 1, take, reterr);
}

int link_send(struct link *link, const struct hf_buf *frames, hf_error **reterr)
{
    if (link->dead)
        return hf__error(reterr, link->dead_code, "%s", link->dead);
    return send_frames(link, frames, true, reterr);
}

int link_send_aside(struct link *link, const struct hf_buf *frames, hf_error **reterr)
{
    return send_frames(link, frames, false, reterr);
}

int link_send_data(struct link *link, uint16_t type, uint32_t channel, const void *data,
                   size_t size, hf_error **reterr)
{
    uint8_t header[HF_FRAME_HEADER];
    struct iovec parts[2] = {{header, sizeof header}, {(void *)data, size}};
    if (link->dead)
        return hf__error(reterr, link->dead_code, "%s", link->dead);
    /* Who sends this much sends more: fewer turns between here and the box. */
    if (!link->wide && size == HF_MAX_DATA) {
        int room = HF_STDIN_WINDOW;
        (void)setsockopt(link->fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
        link->wide = true;
    }
    hf__frame_header(header, type, channel, size);
    return send_locked(link, parts, 2, true, reterr);
}
