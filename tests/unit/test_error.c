/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"

static void test_nothing(void **state)
{
    assert_int_equal(hf_error_code(NULL), HF_OK);
    assert_int_equal(hf_error_errno(NULL), 0);
    assert_non_null(hf_error_message(NULL));
    hf_error_free(NULL);
    /* A caller that does not want to know. */
    assert_int_equal(hf__error(NULL, HF_E_BUSY, "x"), HF_E_BUSY);
    errno = ENOENT;
    assert_int_equal(hf__error_sys(NULL, "x"), HF_E_NOT_FOUND);
    assert_int_equal(errno, ENOENT);
}

static void test_make_wrap_hint(void **state)
{
    hf_error *error = NULL;
    assert_int_equal(hf__error(&error, HF_E_INVALID, "bad %d", 7), HF_E_INVALID);
    hf__error_wrap(&error, "cannot %s", "x");
    assert_int_equal(hf_error_code(error), HF_E_INVALID);
    assert_int_equal(hf__error_hint(&error, "try %s", "y"), HF_E_INVALID);
    assert_string_equal(hf_error_message(error), "cannot x: bad 7; try y");
    /* A second failure in the same slot replaces the first. */
    assert_int_equal(hf__error(&error, HF_E_LOST, "%%s"), HF_E_LOST);
    assert_string_equal(hf_error_message(error), "%s");
    hf_error_free(error);
}

static void test_errno(void **state)
{
    hf_error *error = NULL;
    errno = EACCES;
    assert_int_equal(hf__error_sys(&error, "open '%s'", "f"), HF_E_PERMISSION);
    assert_int_equal(errno, EACCES);
    assert_int_equal(hf_error_errno(error), EACCES);
    assert_string_equal(hf_error_message(error), "open 'f': Permission denied");
    hf_error_free(error);
    assert_int_equal(hf__code_of_errno(EIO), HF_E_SYSTEM);
    assert_int_equal(hf__code_of_errno(EMFILE), HF_E_NO_SPACE);
    assert_int_equal(hf__code_of_errno(ENOSYS), HF_E_UNSUPPORTED);
}

/* Messages have a ceiling; what does not fit is cut, never written past it. */
static void test_long_messages(void **state)
{
    char *text = malloc(5000);
    hf_error *error = NULL;
    assert_non_null(text);
    memset(text, 'x', 4999);
    text[4999] = '\0';
    hf__error(&error, HF_E_INVALID, "%s", text);
    size_t size = strlen(hf_error_message(error));
    assert_true(size > 500 && size < 5000);
    hf__error_wrap(&error, "%s", text);
    hf__error_wrap(&error, "%s", text);
    hf__error_hint(&error, "%s", text);
    assert_int_equal(strlen(hf_error_message(error)), size);
    errno = ENOENT;
    hf__error_sys(&error, "%s", text);
    assert_int_equal(hf_error_code(error), HF_E_NOT_FOUND);
    hf_error_free(error);
    free(text);
}

static void test_code_names(void **state)
{
    assert_string_equal(hf_code_name(HF_OK), "ok");
    assert_string_equal(hf_code_name(HF_E_NOT_FOUND), "not_found");
    assert_string_equal(hf_code_name(HF_E_NOT_RUNNING), "not_running");
    assert_string_equal(hf_code_name((hf_code)-999), "unknown");
    assert_string_equal(hf_code_name((hf_code)1), "unknown");
#define UNIQUE(name, number, text)                                                                 \
    assert_string_not_equal(hf_code_name(HF_E_##name), "unknown");                                 \
    assert_int_equal(HF_E_##name, -(number));
    HF_CODE_LIST(UNIQUE)
#undef UNIQUE
}

static void test_made_from_parts(void **state)
{
    hf_error *error = NULL;
    /* From another process: a message is text, not a format. */
    assert_int_equal(hf__error_make(&error, HF_E_SYSTEM, EIO, "100%s %n"), HF_E_SYSTEM);
    assert_string_equal(hf_error_message(error), "100%s %n");
    assert_int_equal(hf_error_errno(error), EIO);
    hf_error_free(error);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing),    cmocka_unit_test(test_make_wrap_hint),
        cmocka_unit_test(test_errno),      cmocka_unit_test(test_long_messages),
        cmocka_unit_test(test_code_names), cmocka_unit_test(test_made_from_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
