/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"

static uint64_t sum_of(const void *data, size_t size, uint64_t seed)
{
    struct hf_hash hash;
    hf__hash_begin(&hash, seed);
    hf__hash_add(&hash, data, size);
    return hf__hash_sum(&hash);
}

/* The values of the reference implementation; its own self test uses these bytes and seeds. */
static void test_known_sums(void **state)
{
    const uint64_t prime32 = 2654435761U;
    uint64_t generator = prime32;
    uint8_t bytes[222];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)(generator >> 56);
        generator *= UINT64_C(11400714785074694797);
    }
    static const struct {
        size_t size;
        int seeded;
        uint64_t sum;
    } rows[] = {
        {0, 0, UINT64_C(0xEF46DB3751D8E999)},   {0, 1, UINT64_C(0xAC75FDA2929B17EF)},
        {1, 0, UINT64_C(0xE934A84ADB052768)},   {1, 1, UINT64_C(0x5014607643A9B4C3)},
        {4, 0, UINT64_C(0x9136A0DCA57457EE)},   {14, 0, UINT64_C(0x8282DCC4994E35C8)},
        {14, 1, UINT64_C(0xC3BD6BF63DEB6DF0)},  {222, 0, UINT64_C(0xB641AE8CB691C174)},
        {222, 1, UINT64_C(0x20CB8AB7AE10C14A)},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(sum_of(bytes, rows[i].size, rows[i].seeded ? prime32 : 0), rows[i].sum);
    assert_int_equal(sum_of("abc", 3, 0), UINT64_C(0x44BC2CF5AD770999));
}

static void test_pieces(void **state)
{
    uint8_t bytes[200];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 7);
    for (size_t size = 0; size <= sizeof bytes; size += 13)
        for (size_t a = 0; a <= size; a++) {
            size_t b = a + (size - a) / 3;
            struct hf_hash hash;
            hf__hash_begin(&hash, 5);
            hf__hash_add(&hash, bytes, a);
            hf__hash_add(&hash, bytes + a, b - a);
            hf__hash_add(&hash, bytes + b, size - b);
            assert_int_equal(hf__hash_sum(&hash), sum_of(bytes, size, 5));
        }
}

static void test_sum_does_not_end_it(void **state)
{
    struct hf_hash hash;
    hf__hash_begin(&hash, 0);
    hf__hash_add(&hash, "a", 1);
    assert_int_equal(hf__hash_sum(&hash), sum_of("a", 1, 0));
    hf__hash_add(&hash, "bc", 2);
    assert_int_equal(hf__hash_sum(&hash), sum_of("abc", 3, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_sums),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_sum_does_not_end_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
