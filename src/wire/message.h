/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages between the host and the warden. Each has a struct, an encoder and a decoder; a decoded
 * message points into its frame and lives as long as that.
 *
 * A CONVERSATION
 *
 *      host                                          warden
 *      HELLO(version), START(ch 1, argv...)    ->
 *                                              <-    HELLO_OK(version), STARTED(ch 1, job)
 *      STDIN(ch 1, bytes) ... STDIN_EOF        ->
 *                                              <-    STDIN_WINDOW(ch 1, n)
 *                                              <-    OUTPUT(ch 1, stream, bytes) ...
 *      WINDOW(ch 1, stream, n)                 ->
 *                                              <-    EXIT(ch 1, outcome, rusage, totals)
 *
 * The host does not wait for HELLO_OK: a job costs one round trip. Channels are numbered by the
 * host. Bytes in flight are bounded by windows in both directions, so a reader that stops reading
 * stops its own job and nothing else, and neither side ever queues more than it agreed to.
 */
#ifndef HF_WIRE_MESSAGE_H
#define HF_WIRE_MESSAGE_H

#include "wire/frame.h"

#define HF_WIRE_MAGIC 0x7466646cU
#define HF_WIRE_VERSION 1

enum hf_message {
    /* host to warden */
    HF_MSG_HELLO = 1,
    HF_MSG_START = 2,
    HF_MSG_STDIN = 3,     /* payload: raw bytes */
    HF_MSG_STDIN_EOF = 4, /* no payload */
    HF_MSG_WINDOW = 5,
    HF_MSG_SIGNAL = 6,
    HF_MSG_CANCEL = 7, /* no payload */
    HF_MSG_STOP = 8,   /* channel 0: end the box */
    HF_MSG_DETACH = 9, /* no payload: the job goes on, this connection is no longer interested */
    /* warden to host */
    HF_MSG_HELLO_OK = 65,
    HF_MSG_STARTED = 66,
    HF_MSG_NOT_STARTED = 67,
    HF_MSG_OUTPUT = 68, /* payload: one byte stream number, then raw bytes */
    HF_MSG_STDIN_WINDOW = 69,
    HF_MSG_STDIN_CLOSED = 70, /* no payload: nobody reads it any more */
    HF_MSG_EXIT = 71,
    HF_MSG_REFUSED = 72, /* channel 0: why the connection is about to be closed */
    /* keeper to warden, by descriptor and not by socket */
    HF_MSG_CONFIG = 100,
};

struct hf_msg_hello {
    uint32_t magic;
    uint32_t version;
};

enum { HF_START_STDIN = 1 << 0, HF_START_MERGE = 1 << 1, HF_START_KILL_ON_DETACH = 1 << 2 };

struct hf_msg_start {
    uint32_t flags;
    uint64_t timeout_ms, grace_ms, drain_ms;
    uint32_t window; /* initial, for each output stream */
    struct hf_words argv, env;
    const char *workdir, *user; /* "" for the box's own */
};

struct hf_msg_window {
    uint8_t stream;
    uint32_t bytes;
};

struct hf_msg_signal {
    uint32_t signal;
};

struct hf_msg_stop {
    uint64_t grace_ms;
};

struct hf_msg_started {
    uint32_t job; /* its number in the box */
};

/* Why a job could not be started, as the exit code that the shell world has for it. */
struct hf_msg_not_started {
    uint32_t exit_code; /* 125, 126 or 127 */
    uint32_t sys_errno;
    const char *reason;
};

enum hf_wire_outcome {
    HF_WIRE_EXITED = 0,
    HF_WIRE_SIGNALED = 1,
    HF_WIRE_TIMED_OUT = 2,
    HF_WIRE_CANCELLED = 3,
    HF_WIRE_LOST = 4, /* the job killed its own supervisor, and nobody knows how it ended */
    HF_WIRE_OUTCOMES
};

struct hf_msg_exit {
    uint8_t outcome;
    uint32_t code; /* exit status when exited, signal number otherwise */
    uint64_t wall_ns, cpu_ns, max_rss;
    uint64_t total[2]; /* bytes of stdout and stderr */
};

/* What the warden is told once, by whoever starts it. */
struct hf_msg_config {
    const char *box; /* its name */
    struct hf_words env;
    const char *workdir, *user;
};

void hf__put_hello(struct hf_buf *out, uint16_t type, const struct hf_msg_hello *message);
bool hf__get_hello(const struct hf_frame *frame, struct hf_msg_hello *ret);

/* `argv` and `env` are given as vectors, the struct's own words are not read. */
void hf__put_start(struct hf_buf *out, uint32_t channel, const struct hf_msg_start *message,
                   const char *const *argv, const char *const *env);
bool hf__get_start(const struct hf_frame *frame, struct hf_msg_start *ret);

void hf__put_window(struct hf_buf *out, uint16_t type, uint32_t channel,
                    const struct hf_msg_window *message);
bool hf__get_window(const struct hf_frame *frame, struct hf_msg_window *ret);

void hf__put_signal(struct hf_buf *out, uint32_t channel, const struct hf_msg_signal *message);
bool hf__get_signal(const struct hf_frame *frame, struct hf_msg_signal *ret);

void hf__put_stop(struct hf_buf *out, const struct hf_msg_stop *message);
bool hf__get_stop(const struct hf_frame *frame, struct hf_msg_stop *ret);

void hf__put_started(struct hf_buf *out, uint32_t channel, const struct hf_msg_started *message);
bool hf__get_started(const struct hf_frame *frame, struct hf_msg_started *ret);

void hf__put_not_started(struct hf_buf *out, uint32_t channel,
                         const struct hf_msg_not_started *message);
bool hf__get_not_started(const struct hf_frame *frame, struct hf_msg_not_started *ret);

void hf__put_exit(struct hf_buf *out, uint32_t channel, const struct hf_msg_exit *message);
bool hf__get_exit(const struct hf_frame *frame, struct hf_msg_exit *ret);

void hf__put_refused(struct hf_buf *out, const char *reason);
bool hf__get_refused(const struct hf_frame *frame, const char **ret_reason);

void hf__put_config(struct hf_buf *out, const char *box, const char *const *env,
                    const char *workdir, const char *user);
bool hf__get_config(const struct hf_frame *frame, struct hf_msg_config *ret);

/* A message that is nothing but its type. */
void hf__put_empty(struct hf_buf *out, uint16_t type, uint32_t channel);

#endif
