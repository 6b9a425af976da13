/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Parts of a program, which is no library. */
#include "cli/flags.c"
#include "cli/output.c"
#include "cli/place.c"
#include "cli/target.c"
#include "cli/units.c"

/* No test gets as far as opening something. */
int open_context(const struct request *request, hf_context **ret_context)
{
    fail();
    (void)ret_context;
    return request ? EXIT_FAILED : EXIT_OK;
}

static const struct verb verb = {.name = "test"};

static void test_split(void **state)
{
    static const struct {
        const char *word, *box, *path;
    } cases[] = {
        {"box:path", "box", "path"}, {"box:", "box", ""},  {"box:/a:b", "box", "/a:b"},
        {"box::x", "box", ":x"},     {"box", NULL, NULL},  {"", NULL, NULL},
        {"./a:b", NULL, NULL},       {"/a:b", NULL, NULL}, {"dir/a:b", NULL, NULL},
        {":x", NULL, NULL},          {":", NULL, NULL},    {"-", NULL, NULL},
        {"a b:c", "a b", "c"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct place place = {0};
        assert_int_equal(parse_place(cases[i].word, &place), cases[i].box != NULL);
        if (cases[i].box) {
            assert_string_equal(place.box, cases[i].box);
            assert_string_equal(place.path, cases[i].path);
        }
        cleanup_place(&place);
    }
}

static struct request words(const char *const *list)
{
    struct request request = {.verb = &verb, .words = list};
    while (list[request.word_count])
        request.word_count++;
    return request;
}

static int take(const char *first, const char *second, const char *fallback, struct place *place)
{
    const char *const list[] = {first, first ? second : NULL, NULL};
    struct request request = words(list);
    *place = (struct place){0};
    return take_place(&request, fallback, place);
}

static void assert_taken(const char *first, const char *second, const char *fallback,
                         const char *path)
{
    struct place place;
    assert_int_equal(take(first, second, fallback, &place), 0);
    assert_string_equal(place.box, "box");
    assert_string_equal(place.path, path);
    cleanup_place(&place);
}

static void test_take(void **state)
{
    struct place place;
    assert_taken("box", "path", NULL, "path");
    assert_taken("box", "a:b", NULL, "a:b");
    assert_taken("box:a:b", NULL, NULL, "a:b");
    assert_taken("box", NULL, ".", ".");
    assert_taken("box:", NULL, ".", ".");
    assert_taken("box", "", ".", ".");
    assert_int_equal(take(NULL, NULL, ".", &place), EXIT_USAGE);
    assert_int_equal(take("box", NULL, NULL, &place), EXIT_USAGE);
    assert_int_equal(take("box:", NULL, NULL, &place), EXIT_USAGE);
    assert_int_equal(take("box", "", NULL, &place), EXIT_USAGE);
    assert_int_equal(take("box:a", "b", NULL, &place), EXIT_USAGE);
    assert_int_equal(take(":a", NULL, NULL, &place), EXIT_USAGE);
}

static int check(size_t *first, const char *const *list)
{
    struct request request = words(list);
    return check_batch_words(&request, first);
}

static void test_batch_words(void **state)
{
    size_t first;
    assert_int_equal(check(&first, (const char *const[]){"box", "a", "b:c", NULL}), 0);
    assert_int_equal(first, 1);
    assert_int_equal(check(&first, (const char *const[]){"box:a", "other:b", NULL}), 0);
    assert_int_equal(first, 0);
    static const char *const wrong[][4] = {{NULL},
                                           {"box", NULL},
                                           {"box:", NULL},
                                           {"box", "a", "", NULL},
                                           {"box:a", "b", NULL},
                                           {"box:a", "./b:c", NULL}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_int_equal(check(&first, wrong[i]), EXIT_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_split),
        cmocka_unit_test(test_take),
        cmocka_unit_test(test_batch_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
