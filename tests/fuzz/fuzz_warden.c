/* SPDX-License-Identifier: Apache-2.0 */
/* A hostile client: bytes against every decoder that the warden uses on them. */
#include "fuzz.h"

#define ENCODED HF_BUF(2 * HF_MAX_FRAME)
#define YEAR_MS (UINT64_C(1000) * 3600 * 24 * 366)

static void check_assignments(struct hf_words env)
{
    char **vector = hf__words_vector(env);
    CHECK(vector != NULL);
    for (uint32_t i = 0; i < env.count; i++) {
        CHECK(strchr(vector[i], '=') != NULL);
        CHECK(vector[i][0] != '=');
    }
    free(vector);
}

static void on_hello(const struct hf_frame *frame)
{
    struct hf_msg_hello hello;
    struct hf_buf again = ENCODED;
    if (!hf__get_hello(frame, &hello))
        return;
    CHECK(hello.magic == HF_WIRE_MAGIC);
    hf__put_hello(&again, frame->type, &hello);
    fuzz_check_same(frame, &again);
}

static void on_start(const struct hf_frame *frame)
{
    struct hf_msg_start start;
    struct hf_buf again = ENCODED;
    if (!hf__get_start(frame, &start))
        return;
    CHECK(start.argv.count > 0);
    /* Deadlines are added to a clock in nanoseconds. */
    CHECK(start.timeout_ms <= YEAR_MS && start.grace_ms <= YEAR_MS && start.drain_ms <= YEAR_MS);
    fuzz_check_words(frame, start.argv);
    fuzz_check_words(frame, start.env);
    fuzz_check_string(frame, start.workdir);
    fuzz_check_string(frame, start.user);
    fuzz_check_string(frame, start.session);
    CHECK(start.keep_ms <= YEAR_MS && start.rows <= UINT16_MAX && start.columns <= UINT16_MAX);
    CHECK(strlen(start.session) <= HF_MAX_SESSION_NAME);
    CHECK(strlen(start.workdir) < HF_MAX_PATH);
    check_assignments(start.env);
    char **argv = hf__words_vector(start.argv), **env = hf__words_vector(start.env);
    CHECK(argv && env);
    hf__put_start(&again, frame->channel, &start, (const char *const *)argv,
                  (const char *const *)env);
    free(argv);
    free(env);
    fuzz_check_same(frame, &again);
}

static void on_window(const struct hf_frame *frame)
{
    struct hf_msg_window window;
    struct hf_buf again = ENCODED;
    if (!hf__get_window(frame, &window))
        return;
    CHECK(window.stream <= 2);
    hf__put_window(&again, frame->type, frame->channel, &window);
    fuzz_check_same(frame, &again);
}

static void on_signal(const struct hf_frame *frame)
{
    struct hf_msg_signal signal;
    struct hf_buf again = ENCODED;
    if (!hf__get_signal(frame, &signal))
        return;
    CHECK(signal.signal >= 1 && signal.signal <= 64);
    hf__put_signal(&again, frame->channel, &signal);
    fuzz_check_same(frame, &again);
}

static void on_stop(const struct hf_frame *frame)
{
    struct hf_msg_stop stop;
    struct hf_buf again = ENCODED;
    if (!hf__get_stop(frame, &stop))
        return;
    CHECK(stop.grace_ms <= YEAR_MS);
    hf__put_stop(&again, &stop);
    fuzz_check_same(frame, &again);
}

static void on_attach(const struct hf_frame *frame)
{
    struct hf_msg_attach attach;
    struct hf_buf again = ENCODED;
    if (!hf__get_attach(frame, &attach))
        return;
    CHECK(attach.how < HF_WIRE_HOWS);
    hf__put_attach(&again, frame->channel, &attach);
    fuzz_check_same(frame, &again);
}

static void on_cancel(const struct hf_frame *frame)
{
    uint64_t ms;
    struct hf_buf again = ENCODED;
    if (!hf__get_cancel(frame, &ms))
        return;
    CHECK(ms <= YEAR_MS || ms == HF_GRACE_OWN);
    hf__put_cancel(&again, frame->channel, ms);
    fuzz_check_same(frame, &again);
}

static void on_end(const struct hf_frame *frame)
{
    uint32_t job;
    uint64_t ms;
    struct hf_buf again = ENCODED;
    if (!hf__get_end(frame, &job, &ms))
        return;
    CHECK(ms <= YEAR_MS || ms == HF_GRACE_OWN);
    hf__put_end(&again, job, ms);
    if (frame->channel == 0)
        fuzz_check_same(frame, &again);
    hf__buf_finish(&again);
}

static void on_resize(const struct hf_frame *frame)
{
    struct hf_msg_resize resize;
    struct hf_buf again = ENCODED;
    if (!hf__get_resize(frame, &resize))
        return;
    CHECK(resize.rows <= UINT16_MAX && resize.columns <= UINT16_MAX);
    hf__put_resize(&again, frame->channel, &resize);
    fuzz_check_same(frame, &again);
}

static void on_list(const struct hf_frame *frame)
{
    uint8_t what;
    struct hf_buf again = ENCODED;
    if (!hf__get_list(frame, &what))
        return;
    hf__put_list(&again, frame->channel, what);
    fuzz_check_same(frame, &again);
}

static void on_forget(const struct hf_frame *frame)
{
    const char *session;
    struct hf_buf again = ENCODED;
    if (!hf__get_forget(frame, &session))
        return;
    fuzz_check_string(frame, session);
    hf__put_forget(&again, session);
    fuzz_check_same(frame, &again);
}

static void on_config(const struct hf_frame *frame)
{
    struct hf_msg_config config;
    struct hf_buf again = ENCODED;
    if (!hf__get_config(frame, &config))
        return;
    fuzz_check_string(frame, config.box);
    fuzz_check_words(frame, config.env);
    fuzz_check_string(frame, config.workdir);
    fuzz_check_string(frame, config.user);
    check_assignments(config.env);
    char **env = hf__words_vector(config.env);
    CHECK(env != NULL);
    hf__put_config(&again, config.box, (const char *const *)env, config.workdir, config.user);
    free(env);
    fuzz_check_same(frame, &again);
}

static void on_frame(const struct hf_frame *frame)
{
    switch (frame->type) {
    case HF_MSG_HELLO:
        on_hello(frame);
        break;
    case HF_MSG_START:
        on_start(frame);
        break;
    case HF_MSG_WINDOW:
        on_window(frame);
        break;
    case HF_MSG_SIGNAL:
        on_signal(frame);
        break;
    case HF_MSG_STOP:
        on_stop(frame);
        break;
    case HF_MSG_ATTACH:
        on_attach(frame);
        break;
    case HF_MSG_CANCEL:
        on_cancel(frame);
        break;
    case HF_MSG_END:
        on_end(frame);
        break;
    case HF_MSG_RESIZE:
        on_resize(frame);
        break;
    case HF_MSG_LIST:
        on_list(frame);
        break;
    case HF_MSG_FORGET:
        on_forget(frame);
        break;
    case HF_MSG_CONFIG:
        on_config(frame);
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
