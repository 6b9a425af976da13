/* SPDX-License-Identifier: Apache-2.0 */
#include "box/box.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fault.h"
#include "box/list.h"

/* What a command that is about something else gives to the sweep. */
#define PASSING_SWEEP (INT64_C(300) * 1000)
#define DEFAULT_GRACE_MS 2000
/* The box itself ends what does not go in time; this is for a warden that does not answer. */
#define STOP_MARGIN_MS 1000
#define GONE_WITHIN_MS 10000

static void cleanup_spec(hf_spec **spec)
{
    hf_spec_free(*spec);
}
#define _cleanup_spec_ __attribute__((cleanup(cleanup_spec)))

static int finish_spec(const hf_spec *spec, hf_spec **ret_spec, hf_error **reterr)
{
    _cleanup_spec_ hf_spec *own = NULL;
    if (!spec) {
        int result = hf_spec_new(&own, reterr);
        if (result < 0)
            return result;
        spec = own;
    }
    return hf__spec_finish(spec, ret_spec, reterr);
}

static hf_box *box_new(hf_context *context, const char *name)
{
    hf_box *box = calloc(1, sizeof *box);
    if (!box)
        return NULL;
    box->context = context;
    box->lifeline = -1;
    box->link.fd = -1;
    box->name = strdup(name);
    if (!box->name) {
        free(box);
        return NULL;
    }
    return box;
}

int hf_plan(hf_context *context, const hf_spec *spec, char **ret_text, hf_error **reterr)
{
    _cleanup_spec_ hf_spec *finished = NULL;
    int result = finish_spec(spec, &finished, reterr);
    if (result < 0)
        return result;
    return context->engine->plan(context->state, finished, ret_text, reterr);
}

int hf_box_create(hf_context *context, const hf_spec *spec, unsigned flags, hf_box **ret_box,
                  hf_error **reterr)
{
    _cleanup_spec_ hf_spec *finished = NULL;
    struct hf_engine_box made = {.lifeline = -1};
    int result = finish_spec(spec, &finished, reterr);
    if (result < 0)
        return result;
    (void)context->engine->sweep(context->state, PASSING_SWEEP, NULL);
    hf_box *box = box_new(context, finished->name);
    if (!box)
        return hf__error(reterr, HF_E_NO_SPACE, "out of memory");
    result = context->engine->create(context->state, finished, flags, &made, reterr);
    box->lifeline = made.lifeline;
    box->created = made.created;
    if (result < 0)
        hf_box_close(box);
    else
        *ret_box = box;
    return result;
}

int hf_box_open(hf_context *context, const char *name, hf_box **ret_box, hf_error **reterr)
{
    int socket = -1;
    int result = context->engine->connect(context->state, name, &socket, reterr);
    (void)context->engine->sweep(context->state, PASSING_SWEEP, NULL);
    if (result < 0)
        return result;
    hf_box *box = box_new(context, name);
    if (!box) {
        close(socket);
        return hf__error(reterr, HF_E_NO_SPACE, "out of memory");
    }
    link_init(&box->link, socket);
    *ret_box = box;
    return 0;
}

int hf__box_link(struct hf_box *box, struct hf_buf *out, hf_error **reterr)
{
    struct hf_msg_hello hello = {HF_WIRE_MAGIC, HF_WIRE_VERSION};
    /* A connection that broke is not mended under running jobs: they are lost, and know it. */
    if (box->linked && box->link.dead && !box->link.jobs) {
        link_finish(&box->link);
        box->linked = false;
    }
    if (box->linked) {
        if (!box->link.hello_sent)
            hf__put_hello(out, HF_MSG_HELLO, &hello);
        return 0;
    }
    if (box->link.fd < 0) {
        int socket = -1;
        int result = box->context->engine->connect(box->context->state, box->name, &socket, reterr);
        if (result < 0)
            return result;
        link_init(&box->link, socket);
    }
    hf__put_hello(out, HF_MSG_HELLO, &hello);
    box->linked = true;
    box->oom_kills = box->context->engine->oom_kills(box->context->state, box->name);
    return 0;
}

const char *hf_box_name(const hf_box *box)
{
    return box->name;
}

bool hf_box_reachable(const hf_box *box)
{
    return !box->linked || !box->link.dead;
}

bool hf_box_created(const hf_box *box)
{
    return box->created;
}

/* An ephemeral box's maker says goodbye and waits until nothing of the box is left. */
static void end_lifeline(int lifeline)
{
    int64_t deadline = hf__now_ns() + GONE_WITHIN_MS * HF_MS_NS;
    struct pollfd polled = {lifeline, POLLIN, 0};
    char byte;
    shutdown(lifeline, SHUT_WR);
    while (hf__now_ns() < deadline) {
        if (poll(&polled, 1, hf__poll_timeout(deadline)) > 0 &&
            recv(lifeline, &byte, 1, MSG_DONTWAIT) <= 0)
            break;
    }
    close(lifeline);
}

void hf_box_close(hf_box *box)
{
    if (!box)
        return;
    if (box->link.fd >= 0)
        link_finish(&box->link);
    if (box->lifeline >= 0)
        end_lifeline(box->lifeline);
    free(box->name);
    free(box);
}

int hf_box_list(hf_context *context, hf_boxes **ret_boxes, hf_error **reterr)
{
    hf_boxes *boxes = NULL;
    (void)context->engine->sweep(context->state, 0, NULL);
    int result = hf__boxes_new(&boxes, reterr);
    if (result == 0)
        result = context->engine->list(context->state, boxes, reterr);
    if (result < 0)
        hf_boxes_free(boxes);
    else
        *ret_boxes = boxes;
    return result;
}

/* What only the warden knows. */
static void add_sessions(hf_context *context, const char *name, hf_json *json)
{
    hf_box *box = NULL;
    hf_json *sessions = NULL;
    if (hf_box_open(context, name, &box, NULL) == 0)
        sessions = hf__sessions_json(box);
    if (sessions)
        hf__json_set(json, "sessions", sessions);
    else
        hf__json_set_null(json, "sessions");
    hf_box_close(box);
}

int hf_box_inspect(hf_context *context, const char *name, char **ret_json, hf_error **reterr)
{
    _cleanup_json_ hf_json *json = NULL;
    (void)context->engine->sweep(context->state, PASSING_SWEEP, NULL);
    int result = context->engine->inspect(context->state, name, &json, reterr);
    if (result < 0)
        return result;
    add_sessions(context, name, json);
    return hf__json_print(json, true, ret_json, reterr);
}

int hf_box_stats(hf_context *context, const char *name, hf_stats *ret_stats, hf_error **reterr)
{
    hf_stats stats = {0};
    (void)context->engine->sweep(context->state, PASSING_SWEEP, NULL);
    int result = context->engine->stats(context->state, name, &stats, reterr);
    if (result < 0)
        return result;
    /* No more than the caller has room for; `size` stays what he made it. */
    stats.size = ret_stats->size;
    memcpy(ret_stats, &stats, stats.size < sizeof stats ? stats.size : sizeof stats);
    return 0;
}

/* Asks the warden to end its jobs; it ends itself, and the connection with it. */
static void ask_to_stop(int socket, int64_t grace_ms)
{
    _cleanup_buf_ struct hf_buf out = HF_BUF(HF_MAX_FRAME);
    struct hf_msg_hello hello = {HF_WIRE_MAGIC, HF_WIRE_VERSION};
    struct hf_msg_stop stop = {(uint64_t)grace_ms};
    struct link link;
    link_init(&link, socket);
    hf__put_hello(&out, HF_MSG_HELLO, &hello);
    hf__put_stop(&out, &stop);
    int64_t deadline = hf__now_ns() + (grace_ms + STOP_MARGIN_MS) * HF_MS_NS;
    if (link_send(&link, &out, NULL) == 0)
        while (!link.dead && hf__now_ns() < deadline)
            (void)link_receive(&link, hf__poll_timeout(deadline), NULL);
    link_finish(&link);
}

int hf_box_stop(hf_context *context, const char *name, int64_t grace_ms, hf_error **reterr)
{
    int socket = -1;
    _cleanup_error_ hf_error *error = NULL;
    (void)context->engine->sweep(context->state, PASSING_SWEEP, NULL);
    int result = context->engine->connect(context->state, name, &socket, &error);
    if (result == 0)
        ask_to_stop(socket, grace_ms < 0 ? DEFAULT_GRACE_MS : grace_ms);
    else if (result != HF_E_NOT_RUNNING)
        return hf__error_make(reterr, (hf_code)result, 0, hf_error_message(error));
    result = context->engine->remove(context->state, name, &error);
    /* Its own end may have removed it in the meantime. */
    if (result == 0 || result == HF_E_NOT_FOUND)
        return 0;
    return hf__error_make(reterr, (hf_code)result, hf_error_errno(error), hf_error_message(error));
}

int hf_box_remove(hf_context *context, const char *name, unsigned flags, hf_error **reterr)
{
    int socket = -1;
    (void)context->engine->sweep(context->state, PASSING_SWEEP, NULL);
    if (!(flags & HF_REMOVE_FORCE)) {
        int result = context->engine->connect(context->state, name, &socket, reterr);
        if (result == 0) {
            close(socket);
            return hf__error(reterr, HF_E_BUSY,
                             "box '%s' is running; stop it first, or remove it with --force", name);
        }
        if (result != HF_E_NOT_RUNNING)
            return result;
    }
    return context->engine->remove(context->state, name, reterr);
}
