/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

/* Part of the warden alone, which is no library. */
#include "warden/ring.c"

/* The byte at each position says where it is. */
static char byte_at(uint64_t position)
{
    return (char)(position * 31 + position / 251);
}

/* Writes up to `size` bytes that must not overwrite anything from `keep` on. */
static size_t fill(struct ring *ring, uint64_t keep, size_t size)
{
    struct iovec parts[2];
    size_t done = 0;
    int count = ring_room(ring, keep, size, parts);
    for (int i = 0; i < count; i++)
        for (size_t k = 0; k < parts[i].iov_len; k++)
            ((char *)parts[i].iov_base)[k] = byte_at(ring->head + done++);
    ring_commit(ring, done);
    return done;
}

static void check(const struct ring *ring, uint64_t from)
{
    struct iovec parts[2];
    uint64_t at = from;
    int count = ring_view(ring, from, (size_t)(ring->head - from), parts);
    for (int i = 0; i < count; i++)
        for (size_t k = 0; k < parts[i].iov_len; k++)
            assert_int_equal(((char *)parts[i].iov_base)[k], byte_at(at++));
    assert_int_equal(at, ring->head);
}

static void test_an_empty_ring_holds_no_memory(void **state)
{
    struct ring ring = {.max = 65536};
    struct iovec parts[2];
    assert_null(ring.data);
    assert_int_equal(ring_view(&ring, 0, 0, parts), 0);
    assert_int_equal(ring.tail, 0);
    ring_finish(&ring);
}

static void test_grows_to_its_limit_and_no_further(void **state)
{
    struct ring ring = {.max = 16384};
    assert_int_equal(fill(&ring, 0, 100), 100);
    assert_int_equal(ring.capacity, 4096);
    assert_int_equal(fill(&ring, 0, 100000), 16284);
    assert_int_equal(ring.capacity, 16384);
    assert_int_equal(fill(&ring, 0, 1), 0);
    check(&ring, 0);
    ring_finish(&ring);
}

static void test_kept_bytes_are_never_overwritten(void **state)
{
    struct ring ring = {.max = 8192};
    uint64_t keep = 0;
    for (int i = 0; i < 200; i++) {
        fill(&ring, keep, 1000);
        check(&ring, keep);
        keep += (ring.head - keep) / 3;
        assert_true(keep >= ring.tail);
    }
    ring_finish(&ring);
}

static void test_growing_keeps_positions(void **state)
{
    struct ring ring = {.max = 1 << 20};
    /* Wrap in the smallest ring first, then grow twice. */
    fill(&ring, 0, 4096);
    fill(&ring, 3000, 3000);
    check(&ring, 3000);
    fill(&ring, 3000, 5000);
    check(&ring, 3000);
    fill(&ring, 3000, 100000);
    check(&ring, 3000);
    ring_finish(&ring);
}

static void test_the_log_keeps_the_last_part(void **state)
{
    struct ring ring = {.max = 8192};
    for (int i = 0; i < 50; i++)
        fill(&ring, ring.head, 1500);
    assert_int_equal(ring.head, 75000);
    assert_int_equal(ring.tail, 75000 - ring.capacity);
    check(&ring, ring.tail);
    ring_finish(&ring);
}

static void test_a_keep_from_the_future_is_the_head(void **state)
{
    struct ring ring = {.max = 4096};
    fill(&ring, 0, 4096);
    assert_int_equal(fill(&ring, UINT64_MAX, 4096), 4096);
    check(&ring, 4096);
    ring_finish(&ring);
}

static void test_finish_keeps_the_limit(void **state)
{
    struct ring ring = {.max = 4096};
    fill(&ring, 0, 10);
    ring_finish(&ring);
    assert_null(ring.data);
    assert_int_equal(ring.max, 4096);
    assert_int_equal(ring.head, 0);
}

static void test_nothing_is_forgotten_before_it_is_full(void **state)
{
    struct ring ring = {.max = 65536};
    for (int i = 0; i < 65; i++)
        fill(&ring, ring.head, 1000);
    assert_int_equal(ring.tail, 0);
    check(&ring, 0);
    fill(&ring, ring.head, 1000);
    assert_int_equal(ring.tail, 66000 - 65536);
    ring_finish(&ring);
}

static void test_trim_keeps_every_byte(void **state)
{
    static const size_t sizes[] = {1, 63, 64, 65, 1000, 4096, 5000, 16384, 20000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct ring ring = {.max = 16384};
        fill(&ring, ring.head, sizes[i] > 16384 ? 16384 : sizes[i]);
        if (sizes[i] > 16384)
            fill(&ring, ring.head, sizes[i] - 16384);
        uint64_t tail = ring.tail;
        ring_trim(&ring);
        assert_int_equal(ring.tail, tail);
        assert_int_equal(ring.head, sizes[i]);
        assert_true(ring.capacity < 2 * (sizes[i] < 64 ? 64 : sizes[i]));
        check(&ring, tail);
        ring_finish(&ring);
    }
}

static void test_trim_of_nothing(void **state)
{
    struct ring ring = {.max = 4096};
    ring_trim(&ring);
    assert_null(ring.data);
}

static void write_text(struct ring *ring, const char *text)
{
    struct iovec parts[2];
    size_t size = strlen(text);
    int count = ring_room(ring, ring->head, size, parts);
    assert_true(count > 0 && parts[0].iov_len + (count == 2 ? parts[1].iov_len : 0) == size);
    memcpy(parts[0].iov_base, text, parts[0].iov_len);
    if (count == 2)
        memcpy(parts[1].iov_base, text + parts[0].iov_len, parts[1].iov_len);
    ring_commit(ring, size);
}

static void test_lines_back(void **state)
{
    struct ring ring = {.max = 4096};
    assert_int_equal(ring_lines_back(&ring, 0, 3), 0);
    write_text(&ring, "a\nbb\nccc\n");
    assert_int_equal(ring_lines_back(&ring, 0, 1), 5);
    assert_int_equal(ring_lines_back(&ring, 0, 2), 2);
    assert_int_equal(ring_lines_back(&ring, 0, 3), 0);
    assert_int_equal(ring_lines_back(&ring, 0, 99), 0);
    assert_int_equal(ring_lines_back(&ring, 4, 99), 4);
    write_text(&ring, "dd"); /* an unfinished line is one */
    assert_int_equal(ring_lines_back(&ring, 0, 1), 9);
    assert_int_equal(ring_lines_back(&ring, 0, 2), 5);
    ring_finish(&ring);
}

static void test_lines_back_through_the_wrap(void **state)
{
    struct ring ring = {.max = 4096};
    for (int i = 0; i < 1500; i++)
        write_text(&ring, "12345\n");
    for (uint64_t lines = 1; lines < 600; lines++)
        assert_int_equal(ring_lines_back(&ring, ring.tail, lines), 9000 - 6 * lines);
    ring_finish(&ring);
}

/* Many jobs at once have short logs, and no job has none. */
static void test_all_rings_together_are_bounded(void **state)
{
    static struct ring rings[200];
    size_t total = 0;
    for (size_t i = 0; i < 200; i++) {
        rings[i].max = MIB(1);
        rings[i].is_log = true;
        for (int k = 0; k < 300; k++)
            assert_int_equal(fill(&rings[i], rings[i].head, 4096), 4096);
        total += rings[i].capacity;
    }
    assert_true(total <= HF_MAX_RINGS + 200 * 4096);
    for (size_t i = 0; i < 200; i++) {
        assert_true(rings[i].capacity >= 4096);
        check(&rings[i], rings[i].tail);
        ring_finish(&rings[i]);
    }
    assert_int_equal(in_use, 0);
}

/* A log that was short for want of room, and may grow later, has not more in it than before. */
static void test_growing_after_forgetting_invents_nothing(void **state)
{
    struct ring hog = {.max = HF_MAX_RINGS, .is_log = true}, ring = {.max = 65536, .is_log = true};
    fill(&hog, hog.head, HF_MAX_RINGS);
    for (int i = 0; i < 20; i++)
        fill(&ring, ring.head, 1000);
    assert_int_equal(ring.capacity, 4096);
    uint64_t tail = ring.tail;
    assert_int_equal(tail, 20000 - 4096);
    ring_finish(&hog);
    fill(&ring, ring.head, 1000);
    assert_true(ring.capacity > 4096);
    assert_int_equal(ring.tail, tail);
    check(&ring, ring.tail);
    ring_finish(&ring);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_empty_ring_holds_no_memory),
        cmocka_unit_test(test_grows_to_its_limit_and_no_further),
        cmocka_unit_test(test_kept_bytes_are_never_overwritten),
        cmocka_unit_test(test_growing_keeps_positions),
        cmocka_unit_test(test_the_log_keeps_the_last_part),
        cmocka_unit_test(test_a_keep_from_the_future_is_the_head),
        cmocka_unit_test(test_finish_keeps_the_limit),
        cmocka_unit_test(test_nothing_is_forgotten_before_it_is_full),
        cmocka_unit_test(test_trim_keeps_every_byte),
        cmocka_unit_test(test_trim_of_nothing),
        cmocka_unit_test(test_all_rings_together_are_bounded),
        cmocka_unit_test(test_growing_after_forgetting_invents_nothing),
        cmocka_unit_test(test_lines_back),
        cmocka_unit_test(test_lines_back_through_the_wrap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
