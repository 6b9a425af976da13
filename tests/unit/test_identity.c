/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "spec_helper.h"

static char *box_name(const char *profile, const char *task)
{
    char *name = NULL;
    assert_int_equal(hf__spec_box_name(profile, task, &name, NULL), 0);
    return name;
}

static void assert_different(const char *p1, const char *t1, const char *p2, const char *t2)
{
    char *a = box_name(p1, t1), *b = box_name(p2, t2);
    assert_string_not_equal(a, b);
    free(a);
    free(b);
}

static void test_name_is_stable(void **state)
{
    /* A name that changes between versions loses every box. The digits were computed elsewhere:
     * SHA-256 over le64(7) "default" le64(4) "demo". */
    char *name = box_name("default", "demo");
    assert_string_equal(name, "hf-demo-af5b494137da");
    free(name);
}

static void test_exact_bytes(void **state)
{
    assert_different("p", "a/b", "p", "a_b");
    assert_different("p", "a/b", "p", "a-b");
    assert_different("p", "a", "p", "a ");
    assert_different("p", "a", "p", "A");
    assert_different("p", "\xff", "p", "\xfe");
    /* Where one ends and the other begins counts. */
    assert_different("ab", "c", "a", "bc");
}

static void test_stem(void **state)
{
    static const struct {
        const char *task, *stem;
    } rows[] = {
        {"issue-42", "issue-42"},
        {"a/b c", "a-b-c"},
        {"///", "box"},
        {"", "box"},
        {"--x--", "x"},
        {"..", "box"},
        {".hidden", "hidden"},
        {"h\xc3\xa9llo", "h-llo"},
        {"a\n\tb", "a-b"},
        {"0123456789012345678901234567890123456789TOO LONG",
         "0123456789012345678901234567890123456789"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char *name = box_name("default", rows[i].task);
        size_t size = strlen(rows[i].stem);
        assert_memory_equal(name, "hf-", 3);
        assert_memory_equal(name + 3, rows[i].stem, size);
        assert_int_equal(strlen(name), 3 + size + 1 + 12);
        assert_int_equal(strspn(name + 3 + size + 1, "0123456789abcdef"), 12);
        assert_int_equal(hf__name_check(name, NULL), 0);
        free(name);
    }
}

static void test_finish_names(void **state)
{
    hf_spec *one = NULL, *two = NULL;
    /* With neither name nor task each box is its own. */
    assert_int_equal(hf__spec_finish(*state, &one, NULL), 0);
    assert_int_equal(hf__spec_finish(NULL, &two, NULL), 0);
    assert_memory_equal(one->name, "hf-box-", 7);
    assert_int_equal(strlen(one->name), 7 + 12);
    assert_string_not_equal(one->name, two->name);
    assert_string_equal(one->profile, "default");
    hf_spec_free(one);
    hf_spec_free(two);
    /* A task finds the same box again; a name wins over it. */
    set_ok(*state, "task", "demo");
    assert_int_equal(hf__spec_finish(*state, &one, NULL), 0);
    assert_string_equal(one->name, "hf-demo-af5b494137da");
    hf_spec_free(one);
    set_ok(*state, "name", "mine");
    assert_int_equal(hf__spec_finish(*state, &one, NULL), 0);
    assert_string_equal(one->name, "mine");
    hf_spec_free(one);
}

static void test_name_check(void **state)
{
    static const char *const good[] = {
        "a",    "_",       "0",
        "hf-x", "A.b_c-9", "0123456789012345678901234567890123456789012345678901234567890123"};
    static const char *const bad[] = {
        "",
        ".",
        "..",
        ".a",
        "-a",
        "a/b",
        "/a",
        "a b",
        "a\n",
        "a\x1b",
        "\xc3\xa9",
        "a:b",
        "a=b",
        "a,b",
        "a\\b",
        "a%b",
        "~a",
        "a*",
        "01234567890123456789012345678901234567890123456789012345678901234"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        assert_int_equal(hf__name_check(good[i], NULL), 0);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(hf__name_check(bad[i], NULL), HF_E_INVALID);
    set_fails(*state, "name", "../etc", "not a box's name");
    set_fails(*state, "task", "", "empty");
    set_fails(*state, "profile", "", "empty");
}

static void test_users(void **state)
{
    static const char *const good[] = {
        "root", "0", "1000:1000", "a.b-c_d", "www-data:www-data", "4294967294", "0:root", "0x0"};
    static const char *const bad[] = {"",      ":",          "a:",          ":a",
                                      "-1",    "0:-1",       "a:b:c",       "a b",
                                      "a/b",   "4294967295", "99999999999", "1000:4294967295",
                                      "-root", "a\n"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        set_ok(*state, "user", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        set_fails(*state, "user", bad[i], "not a user");
}

static void test_hostnames(void **state)
{
    set_ok(*state, "hostname", "a");
    set_ok(*state, "hostname", "build-1.example.org");
    set_fails(*state, "hostname", "", "not a host name");
    set_fails(*state, "hostname", "-a", "not a host name");
    set_fails(*state, "hostname", "a-", "not a host name");
    set_fails(*state, "hostname", "a_b", "not a host name");
    set_fails(*state, "hostname", "a\nb", "not a host name");
    set_fails(*state, "hostname",
              "0123456789012345678901234567890123456789012345678901234567890123",
              "not a host name");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_name_is_stable),
        cmocka_unit_test(test_exact_bytes),
        cmocka_unit_test(test_stem),
        SPEC_TEST(test_finish_names),
        SPEC_TEST(test_name_check),
        SPEC_TEST(test_users),
        SPEC_TEST(test_hostnames),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
