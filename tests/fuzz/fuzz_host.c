/* SPDX-License-Identifier: Apache-2.0 */
/* A hostile box: bytes of a warden against every decoder that the host uses on them. */
#include "fuzz.h"

#define ENCODED HF_BUF(2 * HF_MAX_FRAME)

static void on_hello_ok(const struct hf_frame *frame)
{
    struct hf_msg_hello hello;
    struct hf_buf again = ENCODED;
    if (!hf__get_hello(frame, &hello))
        return;
    CHECK(hello.magic == HF_WIRE_MAGIC);
    hf__put_hello(&again, frame->type, &hello);
    fuzz_check_same(frame, &again);
}

static void on_started(const struct hf_frame *frame)
{
    struct hf_msg_started started;
    struct hf_buf again = ENCODED;
    if (!hf__get_started(frame, &started))
        return;
    hf__put_started(&again, frame->channel, &started);
    fuzz_check_same(frame, &again);
}

static void on_not_started(const struct hf_frame *frame)
{
    struct hf_msg_not_started why;
    struct hf_buf again = ENCODED;
    if (!hf__get_not_started(frame, &why))
        return;
    /* It becomes an exit code: nothing else may come out of here. */
    CHECK(why.exit_code >= 125 && why.exit_code <= 127);
    fuzz_check_string(frame, why.reason);
    hf__put_not_started(&again, frame->channel, &why);
    fuzz_check_same(frame, &again);
}

static void on_stdin_window(const struct hf_frame *frame)
{
    struct hf_msg_window window;
    struct hf_buf again = ENCODED;
    if (!hf__get_window(frame, &window))
        return;
    CHECK(window.stream <= 2);
    hf__put_window(&again, frame->type, frame->channel, &window);
    fuzz_check_same(frame, &again);
}

static void on_exit_message(const struct hf_frame *frame)
{
    struct hf_msg_exit end;
    struct hf_buf again = ENCODED;
    if (!hf__get_exit(frame, &end))
        return;
    /* A code of 256 would read as success where only eight bits are kept. */
    CHECK(end.outcome < HF_WIRE_OUTCOMES);
    CHECK(end.code <= (end.outcome == HF_WIRE_EXITED ? 255U : 64U));
    hf__put_exit(&again, frame->channel, &end);
    fuzz_check_same(frame, &again);
}

static void on_refused(const struct hf_frame *frame)
{
    const char *reason;
    struct hf_buf again = ENCODED;
    if (!hf__get_refused(frame, &reason))
        return;
    fuzz_check_string(frame, reason);
    hf__put_refused(&again, reason);
    fuzz_check_same(frame, &again);
}

static void on_attached(const struct hf_frame *frame)
{
    struct hf_msg_attached attached;
    struct hf_buf again = ENCODED;
    if (!hf__get_attached(frame, &attached))
        return;
    CHECK(attached.stdin_room <= HF_STDIN_WINDOW);
    hf__put_attached(&again, frame->channel, &attached);
    fuzz_check_same(frame, &again);
}

static void on_job(const struct hf_frame *frame)
{
    struct hf_msg_job job;
    struct hf_buf again = ENCODED;
    if (!hf__get_job(frame, &job))
        return;
    CHECK(job.pid_count <= HF_JOB_PIDS && job.state < HF_WIRE_STATES);
    fuzz_check_string(frame, job.session);
    fuzz_check_string(frame, job.user);
    fuzz_check_string(frame, job.command);
    hf__put_job(&again, frame->channel, &job);
    fuzz_check_same(frame, &again);
}

static void on_session(const struct hf_frame *frame)
{
    struct hf_msg_session session;
    struct hf_buf again = ENCODED;
    if (!hf__get_session(frame, &session))
        return;
    fuzz_check_string(frame, session.name);
    fuzz_check_string(frame, session.user);
    CHECK(session.shell <= HF_SHELL_SH);
    hf__put_session(&again, frame->channel, &session);
    fuzz_check_same(frame, &again);
}

static void on_frame(const struct hf_frame *frame)
{
    switch (frame->type) {
    case HF_MSG_HELLO_OK:
        on_hello_ok(frame);
        break;
    case HF_MSG_STARTED:
        on_started(frame);
        break;
    case HF_MSG_NOT_STARTED:
        on_not_started(frame);
        break;
    case HF_MSG_STDIN_WINDOW:
        on_stdin_window(frame);
        break;
    case HF_MSG_EXIT:
        on_exit_message(frame);
        break;
    case HF_MSG_REFUSED:
        on_refused(frame);
        break;
    case HF_MSG_ATTACHED:
        on_attached(frame);
        break;
    case HF_MSG_JOB:
        on_job(frame);
        break;
    case HF_MSG_SESSION:
        on_session(frame);
        break;
    default:
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_stream(data, size, on_frame);
    return 0;
}
