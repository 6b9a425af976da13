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
#define HF_WIRE_VERSION 2

enum hf_message {
    /* host to warden */
    HF_MSG_HELLO = 1,
    HF_MSG_START = 2,
    HF_MSG_STDIN = 3,     /* payload: raw bytes */
    HF_MSG_STDIN_EOF = 4, /* no payload */
    HF_MSG_WINDOW = 5,
    HF_MSG_SIGNAL = 6,
    HF_MSG_CANCEL = 7,  /* no payload */
    HF_MSG_STOP = 8,    /* channel 0: end the box */
    HF_MSG_DETACH = 9,  /* no payload: the job goes on, this connection is no longer interested */
    HF_MSG_SCRIPT = 10, /* payload: raw bytes, for the START that follows */
    HF_MSG_ATTACH = 11,
    HF_MSG_RESIZE = 12,
    HF_MSG_LIST = 13,
    HF_MSG_FORGET = 14, /* channel 0: drop a session */
    HF_MSG_END = 15,    /* channel 0: CANCEL of a job by its number, whoever views it */
    /* warden to host */
    HF_MSG_HELLO_OK = 65,
    HF_MSG_STARTED = 66,
    HF_MSG_NOT_STARTED = 67,
    HF_MSG_OUTPUT = 68, /* payload: one byte stream number, then raw bytes */
    HF_MSG_STDIN_WINDOW = 69,
    HF_MSG_STDIN_CLOSED = 70, /* no payload: nobody reads it any more */
    HF_MSG_EXIT = 71,
    HF_MSG_REFUSED = 72, /* channel 0: why the connection is about to be closed */
    HF_MSG_ATTACHED = 73,
    HF_MSG_NOT_ATTACHED = 74, /* no payload: there is no such job */
    HF_MSG_LOG_END = 75,      /* no payload: the end of what there is; the job goes on */
    HF_MSG_JOB = 76,
    HF_MSG_SESSION = 77,
    HF_MSG_LIST_END = 78, /* no payload */
    /* keeper to warden, by descriptor and not by socket */
    HF_MSG_CONFIG = 100,
};

struct hf_msg_hello {
    uint32_t magic;
    uint32_t version;
};

enum {
    HF_START_STDIN = 1 << 0,
    HF_START_MERGE = 1 << 1,
    HF_START_KILL_ON_DETACH = 1 << 2,
    HF_START_SCRIPT = 1 << 3,  /* SCRIPT messages came before; argv is $0, $1... */
    HF_START_SHELL = 1 << 4,   /* argv[0] is the box's shell, whatever it says */
    HF_START_TTY = 1 << 5,     /* a terminal for all three */
    HF_START_CONFIRM = 1 << 6, /* STARTED means that the command runs */
    HF_START_FORGET = 1 << 7,  /* do not keep it when it is finished */
    HF_START_FILES = 1 << 8,   /* argv is for the file agent, not for a program of the box */
};

struct hf_msg_start {
    uint32_t flags;
    uint64_t timeout_ms, grace_ms, drain_ms, keep_ms; /* 0 for the defaults */
    uint64_t tag;                                     /* the host's own, told to whoever attaches */
    uint32_t window;                                  /* initial, for each output stream */
    uint32_t rows, columns;
    struct hf_words argv, env;
    const char *workdir, *user; /* "" for the box's own */
    const char *session;        /* "" for none */
};

enum hf_attach_how {
    HF_WIRE_FOLLOW = 0,  /* until nothing is left that could print */
    HF_WIRE_LOG = 1,     /* what there is */
    HF_WIRE_OUTCOME = 2, /* EXIT alone */
    HF_WIRE_TREE = 3,    /* EXIT alone, when the tree is empty */
    HF_WIRE_HOWS
};

struct hf_msg_attach {
    uint32_t job;
    uint8_t how;
    bool with_stdin;
    uint64_t from[2];
    uint64_t tail; /* lines; 0: begin at `from` */
    uint32_t window;
};

enum { HF_JOB_TTY = 1 << 0, HF_JOB_STDIN = 1 << 1, HF_JOB_MERGED = 1 << 2 };

struct hf_msg_attached {
    uint32_t job;
    uint32_t flags;       /* HF_JOB_*; STDIN: it is this client's */
    uint64_t from[2];     /* where the output begins */
    uint64_t stdin_bytes; /* taken so far */
    uint32_t stdin_room;  /* what may be sent at once */
    uint64_t timeout_ms, grace_ms, tag;
};

struct hf_msg_resize {
    uint32_t rows, columns;
};

enum { HF_LIST_JOBS = 1, HF_LIST_SESSIONS = 2 };

/* Past this the list of a job's processes is cut. */
#define HF_JOB_PIDS 64

struct hf_msg_window {
    uint8_t stream;
    uint32_t bytes;
};

struct hf_msg_signal {
    uint32_t signal;
    bool tree; /* to every process of the job, not only to the main one */
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
    uint64_t input;    /* bytes of stdin */
};

enum hf_wire_state {
    HF_WIRE_RUNNING = 0,
    HF_WIRE_ENDING = 1,
    HF_WIRE_BACKGROUND = 2, /* over, but its children live */
    HF_WIRE_FINISHED = 3,
    HF_WIRE_STATES
};

/* One row of the list of jobs. */
struct hf_msg_job {
    uint32_t id;
    uint8_t state;
    uint32_t flags; /* HF_JOB_* */
    uint32_t pid;
    uint64_t started_ms, ended_ms; /* since 1970 */
    uint64_t timeout_ms, tag;
    struct hf_msg_exit exit; /* outcome and code once it is over; totals at any time */
    uint64_t kept_from[2];
    uint32_t clients;
    uint32_t processes;
    uint32_t pid_count, pids[HF_JOB_PIDS];
    const char *session, *user, *command;
};

enum { HF_SHELL_BASH = 1, HF_SHELL_SH = 2 };

struct hf_msg_session {
    const char *name;
    const char *user; /* as it was asked for; "" for the box's own */
    uint8_t shell;    /* HF_SHELL_*; 0 until its first job has ended */
    uint64_t bytes;
    uint64_t jobs; /* that have left their state in it */
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

/* In place of a grace time: the job's own. */
#define HF_GRACE_OWN UINT64_MAX

/* The frame that cancels a job, by number if it has one, without a buffer: for signal handlers.
 * Returns its length. */
#define HF_END_FRAME (HF_FRAME_HEADER + 4)
size_t hf__cancel_frame(uint8_t frame[static HF_END_FRAME], uint32_t channel, uint32_t job);
void hf__put_end(struct hf_buf *out, uint32_t job, uint64_t ms);
bool hf__get_end(const struct hf_frame *frame, uint32_t *ret_job, uint64_t *ret_ms);

void hf__put_cancel(struct hf_buf *out, uint32_t channel, uint64_t ms);
bool hf__get_cancel(const struct hf_frame *frame, uint64_t *ret_ms);

void hf__put_stop(struct hf_buf *out, const struct hf_msg_stop *message);
bool hf__get_stop(const struct hf_frame *frame, struct hf_msg_stop *ret);

void hf__put_started(struct hf_buf *out, uint32_t channel, const struct hf_msg_started *message);
bool hf__get_started(const struct hf_frame *frame, struct hf_msg_started *ret);

void hf__put_not_started(struct hf_buf *out, uint32_t channel,
                         const struct hf_msg_not_started *message);
bool hf__get_not_started(const struct hf_frame *frame, struct hf_msg_not_started *ret);

void hf__put_exit(struct hf_buf *out, uint32_t channel, const struct hf_msg_exit *message);
bool hf__get_exit(const struct hf_frame *frame, struct hf_msg_exit *ret);

void hf__put_attach(struct hf_buf *out, uint32_t channel, const struct hf_msg_attach *message);
bool hf__get_attach(const struct hf_frame *frame, struct hf_msg_attach *ret);

void hf__put_attached(struct hf_buf *out, uint32_t channel, const struct hf_msg_attached *message);
bool hf__get_attached(const struct hf_frame *frame, struct hf_msg_attached *ret);

void hf__put_resize(struct hf_buf *out, uint32_t channel, const struct hf_msg_resize *message);
bool hf__get_resize(const struct hf_frame *frame, struct hf_msg_resize *ret);

/* `what` is HF_LIST_JOBS, HF_LIST_SESSIONS. */
void hf__put_list(struct hf_buf *out, uint32_t channel, uint8_t what);
bool hf__get_list(const struct hf_frame *frame, uint8_t *ret_what);

void hf__put_job(struct hf_buf *out, uint32_t channel, const struct hf_msg_job *message);
bool hf__get_job(const struct hf_frame *frame, struct hf_msg_job *ret);

void hf__put_session(struct hf_buf *out, uint32_t channel, const struct hf_msg_session *message);
bool hf__get_session(const struct hf_frame *frame, struct hf_msg_session *ret);

void hf__put_forget(struct hf_buf *out, const char *session);
bool hf__get_forget(const struct hf_frame *frame, const char **ret_session);

void hf__put_refused(struct hf_buf *out, const char *reason);
bool hf__get_refused(const struct hf_frame *frame, const char **ret_reason);

void hf__put_config(struct hf_buf *out, const char *box, const char *const *env,
                    const char *workdir, const char *user);
bool hf__get_config(const struct hf_frame *frame, struct hf_msg_config *ret);

/* A message that is nothing but its type. */
void hf__put_empty(struct hf_buf *out, uint16_t type, uint32_t channel);

#endif
