/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "wire/message.h"

#define YEAR_MS (UINT64_C(1000) * 3600 * 24 * 366)

/* The one frame in `out`. */
static struct hf_frame only_frame(const struct hf_buf *out, uint16_t type, uint32_t channel)
{
    struct hf_frame frame = {0};
    assert_false(out->failed);
    assert_int_equal(hf__frame_parse(out->data, out->size, &frame), out->size);
    assert_int_equal(frame.type, type);
    assert_int_equal(frame.channel, channel);
    return frame;
}

/* A frame with this payload, for decoders that only look at that. */
static struct hf_frame payload(const void *bytes, size_t size)
{
    return (struct hf_frame){.payload = bytes, .size = size};
}

static void test_hello(void **state)
{
    struct hf_buf out = HF_BUF(KIB(1));
    struct hf_msg_hello hello = {HF_WIRE_MAGIC, HF_WIRE_VERSION}, got = {0};
    hf__put_hello(&out, HF_MSG_HELLO, &hello);
    struct hf_frame frame = only_frame(&out, HF_MSG_HELLO, 0);
    assert_true(hf__get_hello(&frame, &got));
    assert_int_equal(got.version, HF_WIRE_VERSION);
    hf__buf_finish(&out);

    hello.magic++;
    hf__put_hello(&out, HF_MSG_HELLO, &hello);
    frame = only_frame(&out, HF_MSG_HELLO, 0);
    assert_false(hf__get_hello(&frame, &got));
    hf__buf_finish(&out);
}

static void put_start(struct hf_buf *out, const struct hf_msg_start *start, const char *word)
{
    const char *const argv[] = {"bash", "-c", NULL};
    const char *const env[] = {word, NULL};
    hf__put_start(out, 3, start, argv, env);
}

static void test_start(void **state)
{
    struct hf_buf out = HF_BUF(KIB(1));
    struct hf_msg_start start = {.flags = HF_START_STDIN | HF_START_MERGE,
                                 .timeout_ms = 1,
                                 .grace_ms = 2,
                                 .drain_ms = 3,
                                 .window = 4,
                                 .workdir = "/tmp",
                                 .user = "nobody"};
    struct hf_msg_start got;
    put_start(&out, &start, "A=b=c");
    struct hf_frame frame = only_frame(&out, HF_MSG_START, 3);
    assert_true(hf__get_start(&frame, &got));
    assert_int_equal(got.flags, start.flags);
    assert_int_equal(got.timeout_ms, 1);
    assert_int_equal(got.grace_ms, 2);
    assert_int_equal(got.drain_ms, 3);
    assert_int_equal(got.window, 4);
    assert_int_equal(got.argv.count, 2);
    assert_string_equal(got.argv.first, "bash");
    assert_string_equal(hf__words_next(got.argv.first), "-c");
    assert_string_equal(got.env.first, "A=b=c");
    assert_string_equal(got.workdir, "/tmp");
    assert_string_equal(got.user, "nobody");
    hf__buf_finish(&out);
}

static void check_start(const struct hf_msg_start *start, const char *word, bool good)
{
    struct hf_buf out = HF_BUF(KIB(64));
    struct hf_msg_start got;
    put_start(&out, start, word);
    struct hf_frame frame = only_frame(&out, HF_MSG_START, 3);
    assert_int_equal(hf__get_start(&frame, &got), good);
    hf__buf_finish(&out);
}

static void test_start_refuses(void **state)
{
    char path[HF_MAX_PATH + 1];
    struct hf_msg_start start = {0};
    check_start(&start, "A=", true);
    check_start(&start, "A", false);
    check_start(&start, "=b", false);
    check_start(&start, "", false);
    check_start(&(struct hf_msg_start){.timeout_ms = YEAR_MS}, "A=", true);
    check_start(&(struct hf_msg_start){.timeout_ms = YEAR_MS + 1}, "A=", false);
    check_start(&(struct hf_msg_start){.grace_ms = UINT64_MAX}, "A=", false);
    check_start(&(struct hf_msg_start){.drain_ms = UINT64_MAX}, "A=", false);
    memset(path, 'x', HF_MAX_PATH);
    path[HF_MAX_PATH] = '\0';
    check_start(&(struct hf_msg_start){.workdir = path}, "A=", false);
    check_start(&(struct hf_msg_start){.workdir = path + 1}, "A=", true);
}

static void test_start_without_a_command(void **state)
{
    struct hf_buf out = HF_BUF(KIB(1));
    struct hf_msg_start start = {0}, got;
    const char *const none[] = {NULL};
    hf__put_start(&out, 1, &start, none, none);
    struct hf_frame frame = only_frame(&out, HF_MSG_START, 1);
    assert_false(hf__get_start(&frame, &got));
    hf__buf_finish(&out);
}

static void test_window(void **state)
{
    struct hf_buf out = HF_BUF(KIB(1));
    struct hf_msg_window got;
    hf__put_window(&out, HF_MSG_WINDOW, 5, &(struct hf_msg_window){2, 4096});
    struct hf_frame frame = only_frame(&out, HF_MSG_WINDOW, 5);
    assert_true(hf__get_window(&frame, &got));
    assert_int_equal(got.stream, 2);
    assert_int_equal(got.bytes, 4096);
    hf__buf_finish(&out);
    frame = payload("\3\1\0\0\0", 5);
    assert_false(hf__get_window(&frame, &got));
}

static void test_signal_numbers(void **state)
{
    static const struct {
        uint32_t number;
        bool good;
    } cases[] = {{0, false}, {1, true}, {64, true}, {65, false}, {UINT32_MAX, false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct hf_buf out = HF_BUF(KIB(1));
        struct hf_msg_signal got;
        hf__put_signal(&out, 1, &(struct hf_msg_signal){cases[i].number});
        struct hf_frame frame = only_frame(&out, HF_MSG_SIGNAL, 1);
        assert_int_equal(hf__get_signal(&frame, &got), cases[i].good);
        hf__buf_finish(&out);
    }
}

static void test_stop(void **state)
{
    struct hf_buf out = HF_BUF(KIB(1));
    struct hf_msg_stop got;
    hf__put_stop(&out, &(struct hf_msg_stop){2000});
    struct hf_frame frame = only_frame(&out, HF_MSG_STOP, 0);
    assert_true(hf__get_stop(&frame, &got));
    assert_int_equal(got.grace_ms, 2000);
    frame = payload("\xff\xff\xff\xff\xff\xff\xff\x7f", 8);
    assert_false(hf__get_stop(&frame, &got));
    hf__buf_finish(&out);
}

static void test_started(void **state)
{
    struct hf_buf out = HF_BUF(KIB(1));
    struct hf_msg_started got;
    hf__put_started(&out, 2, &(struct hf_msg_started){7});
    struct hf_frame frame = only_frame(&out, HF_MSG_STARTED, 2);
    assert_true(hf__get_started(&frame, &got));
    assert_int_equal(got.job, 7);
    frame.size--;
    assert_false(hf__get_started(&frame, &got));
    hf__buf_finish(&out);
}

static void test_not_started_never_says_success(void **state)
{
    for (uint32_t code = 0; code < 300; code++) {
        struct hf_buf out = HF_BUF(KIB(1));
        struct hf_msg_not_started got;
        hf__put_not_started(&out, 2, &(struct hf_msg_not_started){code, 2, "why"});
        struct hf_frame frame = only_frame(&out, HF_MSG_NOT_STARTED, 2);
        assert_int_equal(hf__get_not_started(&frame, &got), code >= 125 && code <= 127);
        hf__buf_finish(&out);
    }
}

static void check_exit(uint8_t outcome, uint32_t code, bool good)
{
    struct hf_buf out = HF_BUF(KIB(1));
    struct hf_msg_exit end = {.outcome = outcome, .code = code, .wall_ns = 1, .cpu_ns = 2};
    struct hf_msg_exit got;
    end.max_rss = 3;
    end.total[0] = UINT64_MAX;
    end.total[1] = 5;
    hf__put_exit(&out, 6, &end);
    struct hf_frame frame = only_frame(&out, HF_MSG_EXIT, 6);
    assert_int_equal(hf__get_exit(&frame, &got), good);
    if (good) {
        assert_int_equal(got.outcome, outcome);
        assert_int_equal(got.code, code);
        assert_int_equal(got.wall_ns, 1);
        assert_int_equal(got.cpu_ns, 2);
        assert_int_equal(got.max_rss, 3);
        assert_true(got.total[0] == UINT64_MAX);
        assert_int_equal(got.total[1], 5);
    }
    hf__buf_finish(&out);
}

static void test_exit(void **state)
{
    check_exit(HF_WIRE_EXITED, 0, true);
    check_exit(HF_WIRE_EXITED, 255, true);
    check_exit(HF_WIRE_EXITED, 256, false);
    check_exit(HF_WIRE_SIGNALED, 9, true);
    check_exit(HF_WIRE_SIGNALED, 65, false);
    check_exit(HF_WIRE_TIMED_OUT, 15, true);
    check_exit(HF_WIRE_CANCELLED, 0, true);
    check_exit(HF_WIRE_OUTCOMES, 0, false);
    check_exit(255, 0, false);
}

static void test_refused(void **state)
{
    struct hf_buf out = HF_BUF(KIB(1));
    const char *reason = NULL;
    hf__put_refused(&out, "no");
    struct hf_frame frame = only_frame(&out, HF_MSG_REFUSED, 0);
    assert_true(hf__get_refused(&frame, &reason));
    assert_string_equal(reason, "no");
    frame = payload("", 0);
    assert_false(hf__get_refused(&frame, &reason));
    hf__buf_finish(&out);
}

static void test_config(void **state)
{
    struct hf_buf out = HF_BUF(KIB(1));
    struct hf_msg_config got;
    const char *const env[] = {"A=b", NULL}, *const bad[] = {"A", NULL};
    hf__put_config(&out, "hf-box", env, "/workspace", NULL);
    struct hf_frame frame = only_frame(&out, HF_MSG_CONFIG, 0);
    assert_true(hf__get_config(&frame, &got));
    assert_string_equal(got.box, "hf-box");
    assert_string_equal(got.env.first, "A=b");
    assert_string_equal(got.workdir, "/workspace");
    assert_string_equal(got.user, "");
    hf__buf_finish(&out);
    hf__put_config(&out, "hf-box", bad, "", "");
    frame = only_frame(&out, HF_MSG_CONFIG, 0);
    assert_false(hf__get_config(&frame, &got));
    hf__buf_finish(&out);
}

static void test_attach(void **state)
{
    struct hf_buf out = HF_BUF(KIB(1));
    struct hf_msg_attach attach = {.job = 7,
                                   .how = HF_WIRE_LOG,
                                   .with_stdin = true,
                                   .from = {1, UINT64_MAX},
                                   .tail = 3,
                                   .window = 4096};
    struct hf_msg_attach got;
    hf__put_attach(&out, 5, &attach);
    struct hf_frame frame = only_frame(&out, HF_MSG_ATTACH, 5);
    assert_true(hf__get_attach(&frame, &got));
    assert_int_equal(got.job, 7);
    assert_int_equal(got.how, HF_WIRE_LOG);
    assert_true(got.with_stdin);
    assert_true(got.from[0] == 1 && got.from[1] == UINT64_MAX);
    assert_int_equal(got.tail, 3);
    hf__buf_finish(&out);

    attach.how = HF_WIRE_HOWS;
    hf__put_attach(&out, 5, &attach);
    frame = only_frame(&out, HF_MSG_ATTACH, 5);
    assert_false(hf__get_attach(&frame, &got));
    hf__buf_finish(&out);
}

static void test_attached_room_is_bounded(void **state)
{
    struct hf_buf out = HF_BUF(KIB(1));
    struct hf_msg_attached attached = {.job = 7, .stdin_room = HF_STDIN_WINDOW}, got;
    hf__put_attached(&out, 5, &attached);
    struct hf_frame frame = only_frame(&out, HF_MSG_ATTACHED, 5);
    assert_true(hf__get_attached(&frame, &got));
    assert_int_equal(got.stdin_room, HF_STDIN_WINDOW);
    hf__buf_finish(&out);

    attached.stdin_room++;
    hf__put_attached(&out, 5, &attached);
    frame = only_frame(&out, HF_MSG_ATTACHED, 5);
    assert_false(hf__get_attached(&frame, &got));
    hf__buf_finish(&out);
}

static bool job_survives(const struct hf_msg_job *job, struct hf_msg_job *got)
{
    static struct hf_buf out; /* `got` points into it */
    hf__buf_finish(&out);
    out = HF_BUF(KIB(4));
    hf__put_job(&out, 2, job);
    struct hf_frame frame = only_frame(&out, HF_MSG_JOB, 2);
    bool good = hf__get_job(&frame, got);
    if (!good)
        hf__buf_finish(&out);
    return good;
}

static void test_job_row(void **state)
{
    struct hf_msg_job job = {.id = 9,
                             .state = HF_WIRE_BACKGROUND,
                             .pid = 17,
                             .exit = {.outcome = HF_WIRE_EXITED, .code = 3, .total = {10, 20}},
                             .pid_count = 2,
                             .pids = {17, 18},
                             .processes = 2,
                             .command = "sleep 1"};
    struct hf_msg_job got;
    assert_true(job_survives(&job, &got));
    assert_int_equal(got.exit.code, 3);
    assert_int_equal(got.exit.total[1], 20);
    assert_int_equal(got.pids[1], 18);
    assert_string_equal(got.command, "sleep 1");
    assert_string_equal(got.session, "");

    static char text[HF_MAX_USER + 2];
    memset(text, 'x', HF_MAX_COMMAND);
    job.command = text;
    assert_true(job_survives(&job, &got));
    text[HF_MAX_COMMAND] = 'x';
    assert_false(job_survives(&job, &got));
    job.command = "";
    memset(text, 'x', HF_MAX_USER);
    job.user = text;
    assert_true(job_survives(&job, &got));
    text[HF_MAX_USER] = 'x';
    assert_false(job_survives(&job, &got));
    job.user = "";

    job.state = HF_WIRE_STATES;
    assert_false(job_survives(&job, &got));
    job.state = HF_WIRE_RUNNING;
    job.id = 0;
    assert_false(job_survives(&job, &got));
}

/* A count that is larger than the array must be found before it is filled. */
static void test_job_row_with_too_many_pids(void **state)
{
    struct hf_buf out = HF_BUF(KIB(4));
    struct hf_msg_job job = {.id = 9, .pid_count = HF_JOB_PIDS}, got;
    hf__put_job(&out, 2, &job);
    struct hf_frame frame = only_frame(&out, HF_MSG_JOB, 2);
    assert_true(hf__get_job(&frame, &got));
    for (size_t at = HF_FRAME_HEADER; at + 4 < out.size; at++) {
        if ((unsigned char)out.data[at] != HF_JOB_PIDS || out.data[at + 1] != 0)
            continue;
        out.data[at] = HF_JOB_PIDS + 1;
        break;
    }
    frame = only_frame(&out, HF_MSG_JOB, 2);
    assert_false(hf__get_job(&frame, &got));
    hf__buf_finish(&out);
}

static void test_session_row(void **state)
{
    struct hf_buf out = HF_BUF(KIB(1));
    struct hf_msg_session got, session = {"build", "app", HF_SHELL_SH, 100, 3};
    hf__put_session(&out, 2, &session);
    struct hf_frame frame = only_frame(&out, HF_MSG_SESSION, 2);
    assert_true(hf__get_session(&frame, &got));
    assert_string_equal(got.name, "build");
    assert_string_equal(got.user, "app");
    assert_int_equal(got.shell, HF_SHELL_SH);
    hf__buf_finish(&out);
}

static void test_terminal_size(void **state)
{
    struct hf_buf out = HF_BUF(KIB(1));
    struct hf_msg_resize got;
    hf__put_resize(&out, 2, &(struct hf_msg_resize){65535, 1});
    struct hf_frame frame = only_frame(&out, HF_MSG_RESIZE, 2);
    assert_true(hf__get_resize(&frame, &got));
    assert_int_equal(got.rows, 65535);
    hf__buf_finish(&out);
    hf__put_resize(&out, 2, &(struct hf_msg_resize){65536, 1});
    frame = only_frame(&out, HF_MSG_RESIZE, 2);
    assert_false(hf__get_resize(&frame, &got));
    hf__buf_finish(&out);
}

static void test_empty(void **state)
{
    struct hf_buf out = HF_BUF(KIB(1));
    hf__put_empty(&out, HF_MSG_CANCEL, 8);
    assert_int_equal(only_frame(&out, HF_MSG_CANCEL, 8).size, 0);
    hf__buf_finish(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hello),
        cmocka_unit_test(test_start),
        cmocka_unit_test(test_start_refuses),
        cmocka_unit_test(test_start_without_a_command),
        cmocka_unit_test(test_window),
        cmocka_unit_test(test_signal_numbers),
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_started),
        cmocka_unit_test(test_not_started_never_says_success),
        cmocka_unit_test(test_exit),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_config),
        cmocka_unit_test(test_attach),
        cmocka_unit_test(test_attached_room_is_bounded),
        cmocka_unit_test(test_job_row),
        cmocka_unit_test(test_job_row_with_too_many_pids),
        cmocka_unit_test(test_session_row),
        cmocka_unit_test(test_terminal_size),
        cmocka_unit_test(test_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
