/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <holdfast.h>

static const char *const words[] = {"run", "up", "exec", "ps", "inspect", "stop", "memory", NULL};

static void assert_near(const char *word, const char *want)
{
    const char *near = hf_nearest(word, words);
    assert_non_null(near);
    assert_string_equal(near, want);
}

static void test_near(void **state)
{
    assert_near("rnu", "run");
    assert_near("rum", "run");
    assert_near("exce", "exec");
    assert_near("inpsect", "inspect");
    assert_near("memroy", "memory");
    assert_near("mem", "memory");
    assert_near("stpo", "stop");
    assert_near("memory", "memory");
}

static void test_far(void **state)
{
    static const char *const none[] = {NULL};
    char huge[300];
    memset(huge, 'r', sizeof huge - 1);
    huge[sizeof huge - 1] = '\0';
    assert_null(hf_nearest("", words));
    assert_null(hf_nearest("frobnicate", words));
    assert_null(hf_nearest("xy", words));
    assert_null(hf_nearest("q", words));
    assert_null(hf_nearest(huge, words));
    assert_null(hf_nearest("run", none));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_near),
        cmocka_unit_test(test_far),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
