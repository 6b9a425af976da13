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
    assert_int_equal(ring_tail(&ring), 0);
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
        assert_true(keep >= ring_tail(&ring));
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
    assert_int_equal(ring_tail(&ring), 75000 - ring.capacity);
    check(&ring, ring_tail(&ring));
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
