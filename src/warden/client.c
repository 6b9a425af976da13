/* SPDX-License-Identifier: Apache-2.0 */
#include "warden/client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "warden/input.h"
#include "warden/job.h"
#include "warden/list.h"
#include "warden/main.h"
#include "warden/memfile.h"
#include "warden/session.h"
#include "warden/viewer.h"

/* Output up to this size is copied behind the small messages, so that a short job's output and its
 * outcome leave in one system call; larger output is sent from where it lies. */
#define COPY_BELOW 4096
/* A client with this much waiting for it is not listened to until it reads. */
#define DEAF_ABOVE KIB(64)
/* What is read at once: more from a client that sends a lot. */
#define READ_SIZE KIB(64)
#define LARGE_READ_SIZE KIB(256)

static struct client *clients;
static unsigned client_count;
static const struct hf_msg_config *config;

void client_touch(struct client *client)
{
    client->dirty = true;
}

static void drop_script(struct client *client)
{
    if (client->script >= 0)
        close(client->script);
    client->script = -1;
    client->script_size = 0;
}

/* ---- leaving -------------------------------------------------------------------------------- */

static void client_close(struct client *client)
{
    loop_close(&client->socket);
    client->closing = true;
    client->dirty = true;
    while (client->viewers)
        viewer_lost(client->viewers);
}

static void refuse(struct client *client, const char *reason)
{
    hf__put_refused(&client->out, reason);
    if (client->socket.fd >= 0 && !client->out.failed)
        (void)!send(client->socket.fd, client->out.data, client->out.size,
                    MSG_NOSIGNAL | MSG_DONTWAIT);
    client_close(client);
}

/* ---- sending -------------------------------------------------------------------------------- */

void client_tell_started(struct client *client, uint32_t channel,
                         const struct hf_msg_started *message)
{
    hf__put_started(&client->out, channel, message); /* goes with what is sent next */
}

void client_tell_not_started(struct client *client, uint32_t channel,
                             const struct hf_msg_not_started *message)
{
    hf__put_not_started(&client->out, channel, message);
    client_touch(client);
}

void client_tell_stdin_window(struct client *client, uint32_t channel, uint32_t bytes)
{
    struct hf_msg_window message = {0, bytes};
    hf__put_window(&client->out, HF_MSG_STDIN_WINDOW, channel, &message);
    client_touch(client);
}

void client_tell_stdin_closed(struct client *client, uint32_t channel)
{
    hf__put_empty(&client->out, HF_MSG_STDIN_CLOSED, channel);
    client_touch(client);
}

void client_tell_exit(struct client *client, uint32_t channel, const struct hf_msg_exit *message)
{
    hf__put_exit(&client->out, channel, message);
}

void client_tell_log_end(struct client *client, uint32_t channel)
{
    hf__put_empty(&client->out, HF_MSG_LOG_END, channel);
}

void client_tell_attached(struct client *client, uint32_t channel,
                          const struct hf_msg_attached *message)
{
    hf__put_attached(&client->out, channel, message);
    client_touch(client);
}

void client_tell_not_attached(struct client *client, uint32_t channel)
{
    hf__put_empty(&client->out, HF_MSG_NOT_ATTACHED, channel);
    client_touch(client);
}

/* False: the socket takes no more for now, or is dead. */
static bool send_out(struct client *client)
{
    while (client->out.size > 0) {
        ssize_t size = send(client->socket.fd, client->out.data, client->out.size, MSG_NOSIGNAL);
        if (size < 0 && errno == EINTR)
            continue;
        if (size < 0 && errno == EAGAIN)
            return false;
        if (size < 0) {
            client_close(client);
            return false;
        }
        hf__buf_consume(&client->out, (size_t)size);
    }
    return true;
}

static void put_small_output(struct client *client, uint32_t channel, int stream,
                             const struct iovec *parts, int count)
{
    size_t mark = hf__frame_begin(&client->out, HF_MSG_OUTPUT, channel);
    hf__put_u8(&client->out, (uint8_t)(stream + 1));
    for (int i = 0; i < count; i++)
        hf__buf_append(&client->out, parts[i].iov_base, parts[i].iov_len);
    hf__frame_end(&client->out, mark);
}

/* Header, stream number and the ring's bytes in one call; what the socket did not take is copied,
 * because the ring may be overwritten once it counts as sent. */
static bool send_large_output(struct client *client, uint32_t channel, int stream, size_t size,
                              const struct iovec *data, int count)
{
    uint8_t head[HF_FRAME_HEADER + 1];
    struct iovec parts[3] = {{head, sizeof head}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = (size_t)count + 1};
    if (!send_out(client))
        return false;
    hf__frame_header(head, HF_MSG_OUTPUT, channel, size + 1);
    head[HF_FRAME_HEADER] = (uint8_t)(stream + 1);
    memcpy(parts + 1, data, (size_t)count * sizeof *data);
    ssize_t sent = sendmsg(client->socket.fd, &message, MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) {
        client->full = true;
        return false;
    }
    if (sent < 0) {
        client_close(client);
        return false;
    }
    for (size_t i = 0, skip = (size_t)sent; i <= (size_t)count; i++) {
        size_t here = skip < parts[i].iov_len ? skip : parts[i].iov_len;
        hf__buf_append(&client->out, (char *)parts[i].iov_base + here, parts[i].iov_len - here);
        skip -= here;
    }
    return true;
}

/* One data frame of a stream, if there is one to send and the client will take it. */
static bool send_stream(struct client *client, struct viewer *viewer, int number)
{
    struct iovec parts[2];
    uint64_t at = viewer->sent[number], limit = viewer_limit(viewer, number);
    uint64_t waiting = limit > at ? limit - at : 0;
    size_t size = waiting < HF_MAX_DATA ? (size_t)waiting : HF_MAX_DATA;
    if (size > viewer->window[number])
        size = viewer->window[number];
    if (size == 0)
        return false;
    int count = ring_view(&viewer->job->out[number].ring, at, size, parts);
    if (size < COPY_BELOW && client->out.size < DEAF_ABOVE)
        put_small_output(client, viewer->channel, number, parts, count);
    else if (!send_large_output(client, viewer->channel, number, size, parts, count))
        return false;
    viewer->window[number] -= (uint32_t)size;
    viewer_sent(viewer, number, size);
    return true;
}

/* One frame of each stream of each job in turn, so that a loud job does not starve a quiet one.
 * False: there is nothing to send, or the connection ended, and the viewers with it. */
static bool send_round(struct client *client)
{
    bool sent = false;
    for (struct viewer *viewer = client->viewers, *next; viewer; viewer = next) {
        next = viewer->next_of_client;
        for (int stream = 0; stream < 2; stream++) {
            sent |= send_stream(client, viewer, stream);
            if (client->closing)
                return false;
        }
        sent |= viewer_finish(viewer);
    }
    return sent;
}

static void read_frames(struct client *client);

static void client_flush(struct client *client)
{
    client->dirty = client->full = false;
    while (send_round(client))
        if (client->out.size >= DEAF_ABOVE && !send_out(client))
            break;
    if (client->closing)
        return;
    bool blocked = !send_out(client) || client->full;
    if (client->closing)
        return;
    if (client->out.failed) {
        client_close(client);
        return;
    }
    uint32_t events = client->out.size < DEAF_ABOVE ? EPOLLIN : 0;
    loop_want(&client->socket, events | (blocked ? EPOLLOUT : 0));
    if (client->held && client->out.size < DEAF_ABOVE)
        read_frames(client);
}

void clients_flush(void)
{
    for (struct client **link = &clients; *link;) {
        struct client *client = *link;
        if (client->dirty && !client->closing)
            client_flush(client);
        if (!client->closing) {
            link = &client->next;
            continue;
        }
        *link = client->next;
        drop_script(client);
        hf__buf_finish(&client->in);
        hf__buf_finish(&client->out);
        free(client);
        client_count--;
    }
}

bool clients_served(void)
{
    for (const struct client *client = clients; client; client = client->next)
        if (client->viewers || client->out.size > 0)
            return false;
    return true;
}

/* ---- listening ------------------------------------------------------------------------------ */

static void on_hello(struct client *client, const struct hf_frame *frame)
{
    struct hf_msg_hello hello, answer = {HF_WIRE_MAGIC, HF_WIRE_VERSION};
    if (client->greeted || !hf__get_hello(frame, &hello)) {
        refuse(client, "this is not a holdfast client");
        return;
    }
    if (hello.version != HF_WIRE_VERSION) {
        refuse(client, "the box was made by another version of holdfast; make it anew");
        return;
    }
    client->greeted = true;
    hf__put_hello(&client->out, HF_MSG_HELLO_OK, &answer);
    client_touch(client);
}

static bool channel_is_free(const struct client *client, uint32_t channel)
{
    return channel != 0 && !viewer_find(client, channel);
}

/* Pieces of the script that the next START is about. */
static void on_script(struct client *client, const struct hf_frame *frame)
{
    if (client->script < 0)
        client->script = memfile_new("script");
    if (frame->size > HF_MAX_SCRIPT - client->script_size)
        refuse(client, "the script is larger than 256 MiB");
    else if (client->script < 0 || hf__write_all(client->script, frame->payload, frame->size) < 0)
        refuse(client, "the box has no memory left for the script");
    client->script_size += frame->size;
}

static void on_start(struct client *client, const struct hf_frame *frame)
{
    struct hf_msg_start start;
    if (!hf__get_start(frame, &start) || !channel_is_free(client, frame->channel) ||
        !(start.flags & HF_START_SCRIPT) != (client->script < 0))
        refuse(client, "malformed START");
    else
        job_start(client, frame, &start, client->script, config);
    drop_script(client);
}

static void on_attach(struct client *client, const struct hf_frame *frame)
{
    struct hf_msg_attach attach;
    if (!hf__get_attach(frame, &attach) || !channel_is_free(client, frame->channel))
        refuse(client, "malformed ATTACH");
    else
        viewer_attach(client, frame->channel, &attach);
}

static void on_list(struct client *client, const struct hf_frame *frame)
{
    uint8_t what;
    if (!hf__get_list(frame, &what) || frame->channel == 0) {
        refuse(client, "malformed LIST");
        return;
    }
    if (what == HF_LIST_JOBS)
        list_jobs(&client->out, frame->channel);
    else
        list_sessions(&client->out, frame->channel);
    client_touch(client);
}

static void on_stop(struct client *client, const struct hf_frame *frame)
{
    struct hf_msg_stop stop;
    if (hf__get_stop(frame, &stop))
        warden_stop(stop.grace_ms);
    else
        refuse(client, "malformed STOP");
}

static void on_forget(struct client *client, const struct hf_frame *frame)
{
    const char *session;
    if (hf__get_forget(frame, &session))
        session_forget(session);
    else
        refuse(client, "malformed FORGET");
}

static bool on_signal(const struct hf_frame *frame, struct job *job)
{
    struct hf_msg_signal signal;
    if (!hf__get_signal(frame, &signal))
        return false;
    if (job)
        (void)job_signal(job, (int)signal.signal, signal.tree);
    return true;
}

static void cancel(struct job *job, uint64_t grace_ms)
{
    if (job && grace_ms != HF_GRACE_OWN)
        job->grace_ns = grace_ms * HF_MS_NS;
    if (job)
        job_end(job, HF_WIRE_CANCELLED);
}

static bool on_cancel(const struct hf_frame *frame, struct job *job)
{
    uint64_t grace_ms;
    if (!hf__get_cancel(frame, &grace_ms))
        return false;
    cancel(job, grace_ms);
    return true;
}

static void on_end(struct client *client, const struct hf_frame *frame)
{
    uint32_t job;
    uint64_t grace_ms;
    if (hf__get_end(frame, &job, &grace_ms))
        cancel(job_by_id(job), grace_ms);
    else
        refuse(client, "malformed END");
}

static bool on_resize(const struct hf_frame *frame, struct job *job)
{
    struct hf_msg_resize resize;
    if (!hf__get_resize(frame, &resize))
        return false;
    if (job)
        job_resize(job, resize.rows, resize.columns);
    return true;
}

static bool on_window(const struct hf_frame *frame, struct viewer *viewer)
{
    struct hf_msg_window window;
    return hf__get_window(frame, &window) &&
           (!viewer || viewer_grant(viewer, window.stream, window.bytes));
}

/* Messages about a job that is over are late, not wrong: the outcome may be on its way. The same is
 * true of input from a viewer that does not feed the job. */
static bool on_job_message(const struct hf_frame *frame, struct viewer *viewer)
{
    struct job *job = viewer ? viewer->job : NULL;
    bool feeds = job && job->in.owner == viewer;
    switch (frame->type) {
    case HF_MSG_STDIN:
        return frame->size <= HF_MAX_DATA &&
               (!feeds || input_add(job, frame->payload, frame->size));
    case HF_MSG_STDIN_EOF:
        if (feeds)
            input_eof(job);
        return frame->size == 0;
    case HF_MSG_WINDOW:
        return on_window(frame, viewer);
    case HF_MSG_SIGNAL:
        return on_signal(frame, job);
    case HF_MSG_RESIZE:
        return on_resize(frame, job);
    case HF_MSG_CANCEL:
        return on_cancel(frame, job);
    case HF_MSG_DETACH:
        if (viewer)
            viewer_detach(viewer);
        return frame->size == 0;
    default:
        return false;
    }
}

static void on_frame(struct client *client, const struct hf_frame *frame)
{
    if (!client->greeted && frame->type != HF_MSG_HELLO) {
        refuse(client, "say hello first");
        return;
    }
    switch (frame->type) {
    case HF_MSG_HELLO:
        on_hello(client, frame);
        break;
    case HF_MSG_SCRIPT:
        on_script(client, frame);
        break;
    case HF_MSG_START:
        on_start(client, frame);
        break;
    case HF_MSG_ATTACH:
        on_attach(client, frame);
        break;
    case HF_MSG_LIST:
        on_list(client, frame);
        break;
    case HF_MSG_FORGET:
        on_forget(client, frame);
        break;
    case HF_MSG_STOP:
        on_stop(client, frame);
        break;
    case HF_MSG_END:
        on_end(client, frame);
        break;
    default:
        if (!on_job_message(frame, viewer_find(client, frame->channel)))
            refuse(client, "malformed message");
    }
}

static void read_frames(struct client *client)
{
    size_t used = 0;
    client->held = false;
    while (!client->closing) {
        struct hf_frame frame;
        /* Answers may be long; who asks on without reading them waits. */
        client->held = client->out.failed || client->out.size >= DEAF_ABOVE;
        if (client->held)
            break;
        ssize_t size = hf__frame_parse(client->in.data + used, client->in.size - used, &frame);
        if (size < 0)
            refuse(client, "malformed frame");
        if (size <= 0)
            break;
        on_frame(client, &frame);
        used += (size_t)size;
    }
    if (!client->closing)
        hf__buf_consume(&client->in, used);
}

static void client_ready(void *owner, uint32_t events)
{
    struct client *client = owner;
    if (events & EPOLLOUT)
        client_touch(client);
    if (!(events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
        return;
    size_t chunk = client->loud ? LARGE_READ_SIZE : READ_SIZE;
    char *to = hf__buf_reserve(&client->in, chunk);
    ssize_t size = to ? recv(client->socket.fd, to, chunk, 0) : 0;
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (size <= 0) {
        client_close(client);
        return;
    }
    client->loud = (size_t)size >= READ_SIZE;
    client->in.size += (size_t)size;
    read_frames(client);
    /* The buffer of a large request is not kept for the life of the connection. */
    if (!client->closing && client->in.size == 0 && client->in.capacity > 2 * LARGE_READ_SIZE)
        hf__buf_finish(&client->in);
}

void client_accept(int socket, const struct hf_msg_config *box_config)
{
    struct client *client = client_count < HF_MAX_CLIENTS ? calloc(1, sizeof *client) : NULL;
    if (!client) {
        close(socket);
        return;
    }
    config = box_config;
    client->socket = (struct source){.fd = socket, .ready = client_ready, .owner = client};
    client->script = -1;
    client->in = HF_BUF(HF_MAX_FRAME + HF_FRAME_HEADER + LARGE_READ_SIZE);
    client->out = HF_BUF(HF_MAX_UNSENT);
    client->next = clients;
    clients = client;
    client_count++;
    loop_want(&client->socket, EPOLLIN);
    /* The client usually has written before we accepted. */
    client_ready(client, EPOLLIN);
}
