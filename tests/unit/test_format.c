/* SPDX-License-Identifier: Apache-2.0 */
/* The vsnprintf() of the static programs against the C library's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define vsnprintf our_vsnprintf
int our_vsnprintf(char *restrict to, size_t size, const char *restrict format, va_list given);
#include "base/format.c"
#undef vsnprintf

/* Both into buffers of every size, and what lies behind them untouched. */
__attribute__((format(printf, 1, 2))) static void check(const char *format, ...)
{
    for (size_t size = 0; size <= 64; size++) {
        char wanted[80], got[80];
        va_list args;
        memset(wanted, '#', sizeof wanted);
        memset(got, '#', sizeof got);
        va_start(args, format);
        int n = vsnprintf(wanted, size, format, args);
        va_end(args);
        va_start(args, format);
        assert_int_equal(our_vsnprintf(got, size, format, args), n);
        va_end(args);
        assert_memory_equal(got, wanted, sizeof got);
    }
}

static void test_text(void **state)
{
    check("plain");
    check("%s", "");
    check("[%s] %%", "a b");
    check("[%8s][%-8s][%2s]", "abc", "abc", "abc");
    check("[%.2s][%.*s][%5.1s]", "abc", 2, "xyz", "q");
    check("[%c%c]", 'a', 'b');
}

static void test_numbers(void **state)
{
    static const int numbers[] = {0, 1, -1, 9, 10, -10, 12345, INT_MAX, INT_MIN};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        int n = numbers[i];
        check("%d %i %u %x %X %o", n, n, (unsigned)n, (unsigned)n, (unsigned)n, (unsigned)n);
        check("[%5d][%-5d][%05d][%.3d][%8.3d]", n, n, n, n, n);
        check("[%08x][%4o][%-12u]", (unsigned)n, (unsigned)n, (unsigned)n);
        check("%hhd %hd %ld %zd", (signed char)n, (short)n, (long)n, (ssize_t)n);
        check("%hhu %hu %lu %zu", (unsigned char)n, (unsigned short)n, (unsigned long)n, (size_t)n);
    }
    check("%lld %llu %llx", LLONG_MIN, ULLONG_MAX, ULLONG_MAX);
    check("%*d|%-*d|%.*d", 6, 42, 6, 42, 4, 42);
    check("%*d", -6, 42);
    check("%p", (void *)0x1234abcd);
}

static void test_random(void **state)
{
    srand(1);
    for (int i = 0; i < 3000; i++) {
        long long n = (long long)((unsigned long long)rand() << 33 ^ (unsigned)rand());
        int width = rand() % 30, precision = rand() % 25;
        check("%*.*lld,%0*llx,%-*llo", width, precision, n, width, (unsigned long long)n, width,
              (unsigned long long)n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
