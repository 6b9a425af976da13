/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "wire/frame.h"

static void put_word_frame(struct hf_buf *out, const char *text)
{
    size_t mark = hf__frame_begin(out, 7, 9);
    hf__put_string(out, text);
    hf__frame_end(out, mark);
}

static void test_header_is_little_endian(void **state)
{
    static const uint8_t wanted[] = {0x04, 0x03, 0, 0, 0x02, 0x01, 0, 0, 0x78, 0x56, 0x34, 0x12};
    uint8_t header[HF_FRAME_HEADER];
    hf__frame_header(header, 0x0102, 0x12345678, 0x0304);
    assert_memory_equal(header, wanted, sizeof wanted);
}

static void test_round_trip(void **state)
{
    struct hf_buf out = HF_BUF(KIB(4));
    struct hf_frame frame;
    put_word_frame(&out, "text");
    put_word_frame(&out, "more");
    assert_false(out.failed);
    ssize_t first = hf__frame_parse(out.data, out.size, &frame);
    assert_int_equal(first, HF_FRAME_HEADER + 4 + 4 + 1);
    assert_int_equal(frame.type, 7);
    assert_int_equal(frame.channel, 9);
    struct hf_cursor in = hf__cursor(frame.payload, frame.size);
    assert_string_equal(hf__get_string(&in), "text");
    assert_true(hf__cursor_done(&in));
    assert_int_equal(hf__frame_parse(out.data + first, out.size - (size_t)first, &frame), first);
    hf__buf_finish(&out);
}

static void test_every_prefix_is_incomplete(void **state)
{
    struct hf_buf out = HF_BUF(KIB(4));
    struct hf_frame frame;
    put_word_frame(&out, "text");
    for (size_t size = 0; size < out.size; size++)
        assert_int_equal(hf__frame_parse(out.data, size, &frame), 0);
    assert_int_equal(hf__frame_parse(out.data, out.size, &frame), out.size);
    hf__buf_finish(&out);
}

static void test_length_is_checked_before_the_payload_is_there(void **state)
{
    uint8_t header[HF_FRAME_HEADER];
    struct hf_frame frame;
    hf__frame_header(header, 1, 1, HF_MAX_FRAME);
    assert_int_equal(hf__frame_parse(header, sizeof header, &frame), 0);
    hf__frame_header(header, 1, 1, HF_MAX_FRAME + 1);
    assert_int_equal(hf__frame_parse(header, sizeof header, &frame), -1);
    hf__frame_header(header, 1, 1, UINT32_MAX);
    assert_int_equal(hf__frame_parse(header, sizeof header, &frame), -1);
}

static void test_reserved_bytes_must_be_zero(void **state)
{
    struct hf_frame frame;
    for (int at = 6; at < 8; at++) {
        uint8_t header[HF_FRAME_HEADER];
        hf__frame_header(header, 1, 1, 0);
        header[at] = 1;
        assert_int_equal(hf__frame_parse(header, sizeof header, &frame), -1);
    }
}

static void test_a_frame_over_the_limit_is_not_written(void **state)
{
    struct hf_buf out = HF_BUF(4 * HF_MAX_FRAME);
    char *large = malloc(HF_MAX_FRAME + 1);
    assert_non_null(large);
    memset(large, 'x', HF_MAX_FRAME);
    large[HF_MAX_FRAME] = '\0';
    put_word_frame(&out, large);
    assert_true(out.failed);
    free(large);
    hf__buf_finish(&out);
}

static void test_cursor_turns_bad_once_and_stays_so(void **state)
{
    static const uint8_t bytes[] = {1, 2, 3, 4, 5};
    struct hf_cursor in = hf__cursor(bytes, sizeof bytes);
    assert_int_equal(hf__get_u32(&in), 0x04030201);
    assert_int_equal(hf__get_u32(&in), 0);
    assert_true(in.bad);
    /* One byte is left, and still nothing is given out. */
    assert_int_equal(hf__get_u8(&in), 0);
    assert_string_equal(hf__get_string(&in), "");
    assert_int_equal(hf__get_words(&in).count, 0);
    assert_false(hf__cursor_done(&in));
}

static void test_leftover_bytes_are_not_done(void **state)
{
    static const uint8_t bytes[] = {1, 2};
    struct hf_cursor in = hf__cursor(bytes, sizeof bytes);
    (void)hf__get_u8(&in);
    assert_false(hf__cursor_done(&in));
    (void)hf__get_u8(&in);
    assert_true(hf__cursor_done(&in));
}

static void test_u64(void **state)
{
    struct hf_buf out = HF_BUF(64);
    hf__put_u64(&out, UINT64_C(0xfedcba9876543210));
    struct hf_cursor in = hf__cursor(out.data, out.size);
    assert_true(hf__get_u64(&in) == UINT64_C(0xfedcba9876543210));
    assert_true(hf__cursor_done(&in));
    hf__buf_finish(&out);
}

static void test_strings_end_where_they_say(void **state)
{
    static const struct {
        const char *bytes;
        size_t size;
        bool good;
    } cases[] = {
        {"\0\0\0\0\0", 5, true},      /* "" */
        {"\1\0\0\0a\0", 6, true},     /* "a" */
        {"\1\0\0\0ab", 6, false},     /* no NUL */
        {"\3\0\0\0a\0b\0", 8, false}, /* a NUL inside */
        {"\2\0\0\0a\0", 6, false},    /* cut off */
        {"\xff\xff\xff\xff"
         "a\0",
         6, false},             /* a length that wraps around */
        {"\0\0\0\0", 4, false}, /* not even the NUL */
        {"\0\0\0", 3, false},   /* not even the length */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct hf_cursor in = hf__cursor(cases[i].bytes, cases[i].size);
        (void)hf__get_string(&in);
        assert_int_equal(hf__cursor_done(&in), cases[i].good);
    }
}

static void test_null_string_is_the_empty_one(void **state)
{
    struct hf_buf out = HF_BUF(64);
    hf__put_string(&out, NULL);
    struct hf_cursor in = hf__cursor(out.data, out.size);
    assert_string_equal(hf__get_string(&in), "");
    assert_true(hf__cursor_done(&in));
    hf__buf_finish(&out);
}

static void test_words_round_trip(void **state)
{
    const char *const words[] = {"first", "", "third", NULL};
    struct hf_buf out = HF_BUF(KIB(1));
    hf__put_words(&out, words);
    hf__put_words(&out, NULL);
    struct hf_cursor in = hf__cursor(out.data, out.size);
    struct hf_words got = hf__get_words(&in), none = hf__get_words(&in);
    assert_true(hf__cursor_done(&in));
    assert_int_equal(got.count, 3);
    assert_int_equal(none.count, 0);
    char **vector = hf__words_vector(got);
    assert_non_null(vector);
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(vector[i], words[i]);
    assert_null(vector[3]);
    free(vector);
    vector = hf__words_vector(none);
    assert_non_null(vector);
    assert_null(vector[0]);
    free(vector);
    hf__buf_finish(&out);
}

static void test_word_count_is_bounded(void **state)
{
    struct hf_buf out = HF_BUF(KIB(1));
    hf__put_u32(&out, HF_MAX_WORDS + 1);
    struct hf_cursor in = hf__cursor(out.data, out.size);
    assert_int_equal(hf__get_words(&in).count, 0);
    assert_true(in.bad);
    hf__buf_finish(&out);
}

static void test_words_that_are_not_there(void **state)
{
    struct hf_buf out = HF_BUF(KIB(1));
    hf__put_u32(&out, 2);
    hf__put_string(&out, "one");
    struct hf_cursor in = hf__cursor(out.data, out.size);
    assert_int_equal(hf__get_words(&in).count, 0);
    assert_true(in.bad);
    hf__buf_finish(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_header_is_little_endian),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_every_prefix_is_incomplete),
        cmocka_unit_test(test_length_is_checked_before_the_payload_is_there),
        cmocka_unit_test(test_reserved_bytes_must_be_zero),
        cmocka_unit_test(test_a_frame_over_the_limit_is_not_written),
        cmocka_unit_test(test_cursor_turns_bad_once_and_stays_so),
        cmocka_unit_test(test_leftover_bytes_are_not_done),
        cmocka_unit_test(test_u64),
        cmocka_unit_test(test_strings_end_where_they_say),
        cmocka_unit_test(test_null_string_is_the_empty_one),
        cmocka_unit_test(test_words_round_trip),
        cmocka_unit_test(test_word_count_is_bounded),
        cmocka_unit_test(test_words_that_are_not_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
