/* SPDX-License-Identifier: Apache-2.0 */
#include "warden/client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "warden/job.h"
#include "warden/main.h"

/* Output up to this size is copied behind the small messages, so that a short job's output and its
 * outcome leave in one system call; larger output is sent from where it lies. */
#define COPY_BELOW 4096
/* A client with this much waiting for it is not listened to until it reads. */
#define DEAF_ABOVE KIB(64)
#define READ_SIZE KIB(64)

static struct client *clients;
static unsigned client_count;
static const struct hf_msg_config *config;

void client_touch(struct client *client)
{
    client->dirty = true;
}

/* ---- leaving -------------------------------------------------------------------------------- */

static void client_close(struct client *client)
{
    loop_close(&client->socket);
    client->closing = true;
    client->dirty = true;
    for (struct job *job = jobs; job; job = job->next)
        if (job->client == client)
            job_detach(job);
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

static void put_small_output(struct client *client, struct job *job, int stream,
                             const struct iovec *parts, int count)
{
    size_t mark = hf__frame_begin(&client->out, HF_MSG_OUTPUT, job->channel);
    hf__put_u8(&client->out, (uint8_t)(stream + 1));
    for (int i = 0; i < count; i++)
        hf__buf_append(&client->out, parts[i].iov_base, parts[i].iov_len);
    hf__frame_end(&client->out, mark);
}

/* Header, stream number and the ring's bytes in one call; what the socket did not take is copied,
 * because the ring may be overwritten once it counts as sent. */
static bool send_large_output(struct client *client, struct job *job, int stream, size_t size,
                              const struct iovec *data, int count)
{
    uint8_t head[HF_FRAME_HEADER + 1];
    struct iovec parts[3] = {{head, sizeof head}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = (size_t)count + 1};
    if (!send_out(client))
        return false;
    hf__frame_header(head, HF_MSG_OUTPUT, job->channel, size + 1);
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
static bool send_stream(struct client *client, struct job *job, int number)
{
    struct stream *stream = &job->out[number];
    struct iovec parts[2];
    uint64_t end = job->state == JOB_OVER ? job->exit.total[number] : stream->ring.head;
    uint64_t waiting = end > stream->sent ? end - stream->sent : 0;
    size_t size = waiting < HF_MAX_DATA ? (size_t)waiting : HF_MAX_DATA;
    if (size > stream->window)
        size = stream->window;
    if (size == 0)
        return false;
    int count = ring_view(&stream->ring, stream->sent, size, parts);
    if (size < COPY_BELOW && client->out.size < DEAF_ABOVE)
        put_small_output(client, job, number, parts, count);
    else if (!send_large_output(client, job, number, size, parts, count))
        return false;
    stream->window -= (uint32_t)size;
    job_sent(job, number, size);
    return true;
}

static bool send_job(struct client *client, struct job *job)
{
    bool sent = false;
    if (client->closing || job->exit_told)
        return false;
    for (int stream = 0; stream < 2 && !client->closing; stream++)
        sent |= send_stream(client, job, stream);
    if (!client->closing && job_ready_to_tell(job)) {
        hf__put_exit(&client->out, job->channel, &job->exit);
        job->exit_told = true;
        sent = true;
    }
    return sent;
}

static void client_flush(struct client *client)
{
    bool more = true;
    client->dirty = client->full = false;
    /* One frame of each job in turn, so that a loud job does not starve a quiet one. */
    while (more && !client->closing) {
        more = false;
        for (struct job *job = jobs; job; job = job->next)
            if (job->client == client)
                more |= send_job(client, job);
        if (client->out.size >= DEAF_ABOVE && !send_out(client))
            break;
    }
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
        hf__buf_finish(&client->in);
        hf__buf_finish(&client->out);
        free(client);
        client_count--;
    }
}

/* ---- listening ------------------------------------------------------------------------------ */

static void on_hello(struct client *client, const struct hf_frame *frame)
{
    struct hf_msg_hello hello, answer = {HF_WIRE_MAGIC, HF_WIRE_VERSION};
    if (!hf__get_hello(frame, &hello)) {
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

static void on_start(struct client *client, const struct hf_frame *frame)
{
    struct hf_msg_start start;
    if (!hf__get_start(frame, &start) || frame->channel == 0 || job_find(client, frame->channel)) {
        refuse(client, "malformed START");
        return;
    }
    job_start(client, frame, &start, config);
}

/* Messages about a job that is over are late, not wrong: the outcome may be on its way. */
static bool on_job_message(const struct hf_frame *frame, struct job *job)
{
    struct hf_msg_window window;
    struct hf_msg_signal signal;
    switch (frame->type) {
    case HF_MSG_STDIN:
        return frame->size <= HF_MAX_DATA && (!job || job_input(job, frame->payload, frame->size));
    case HF_MSG_STDIN_EOF:
        if (job)
            job_input_eof(job);
        return frame->size == 0;
    case HF_MSG_WINDOW:
        return hf__get_window(frame, &window) &&
               (!job || job_grant(job, window.stream, window.bytes));
    case HF_MSG_SIGNAL:
        if (!hf__get_signal(frame, &signal))
            return false;
        if (job)
            (void)job_signal(job, (int)signal.signal);
        return true;
    case HF_MSG_CANCEL:
        if (job)
            job_end(job, HF_WIRE_CANCELLED);
        return frame->size == 0;
    case HF_MSG_DETACH:
        if (job)
            job_detach(job);
        return frame->size == 0;
    default:
        return false;
    }
}

static void on_frame(struct client *client, const struct hf_frame *frame)
{
    struct hf_msg_stop stop;
    if (!client->greeted) {
        if (frame->type == HF_MSG_HELLO)
            on_hello(client, frame);
        else
            refuse(client, "say hello first");
    } else if (frame->type == HF_MSG_START) {
        on_start(client, frame);
    } else if (frame->type == HF_MSG_STOP) {
        if (hf__get_stop(frame, &stop))
            warden_stop(stop.grace_ms);
        else
            refuse(client, "malformed STOP");
    } else if (!on_job_message(frame, job_find(client, frame->channel))) {
        refuse(client, "malformed message");
    }
}

static void read_frames(struct client *client)
{
    size_t used = 0;
    while (!client->closing) {
        struct hf_frame frame;
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
    char *to = hf__buf_reserve(&client->in, READ_SIZE);
    ssize_t size = to ? recv(client->socket.fd, to, READ_SIZE, 0) : 0;
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (size <= 0) {
        client_close(client);
        return;
    }
    client->in.size += (size_t)size;
    read_frames(client);
    /* The buffer of a large request is not kept for the life of the connection. */
    if (!client->closing && client->in.size == 0 && client->in.capacity > 2 * READ_SIZE)
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
    client->in = HF_BUF(HF_MAX_FRAME + HF_FRAME_HEADER + READ_SIZE);
    client->out = HF_BUF(HF_MAX_UNSENT);
    client->next = clients;
    clients = client;
    client_count++;
    loop_want(&client->socket, EPOLLIN);
    /* The client usually has written before we accepted. */
    client_ready(client, EPOLLIN);
}
