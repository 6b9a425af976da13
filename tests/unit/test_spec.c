/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "spec_helper.h"

static void test_defaults(void **state)
{
    hf_spec *spec = NULL;
    assert_int_equal(hf__spec_finish(NULL, &spec, NULL), 0);
    assert_int_equal(spec->hardening, HARDENING_STANDARD);
    assert_int_equal(spec->network, NETWORK_NONE);
    assert_int_equal(spec->pids_limit, 256);
    assert_false(spec->pids_limit_asked);
    assert_int_equal(spec->shm_size, 64 << 20);
    assert_int_equal(spec->memory, 0);
    assert_null(spec->image);
    assert_false(spec->read_only);
    hf_spec_free(spec);
    hf_spec_free(NULL);
}

static void test_unknown_keys(void **state)
{
    set_fails(*state, "memroy", "1", "did you mean 'memory'?");
    set_fails(*state, "mem", "1", "did you mean 'memory'?");
    set_fails(*state, "pid-limit", "1", "did you mean 'pids-limit'?");
    set_fails(*state, "capadd", "1", "did you mean 'cap-add'?");
    set_fails(*state, "", "1", "unknown option");
    set_fails(*state, "zzzzzzzz", "1", "holdfast help run");
    set_fails(*state, "--memory", "1", "did you mean 'memory'?");
    set_fails(*state, "memory", NULL, "needs a value");
    set_fails(*state, "read-only", NULL, "true or false");
}

static void test_limits(void **state)
{
    hf_spec *spec = *state;
    set_ok(spec, "memory", "4m");
    assert_int_equal(spec->memory, 4 << 20);
    set_fails(spec, "memory", "4194303", "the smallest is 4m");
    set_fails(spec, "memory", "0", "the smallest is 4m");
    set_fails(spec, "memory", "-1", "not a size");
    set_fails(spec, "memory", "16e", "not a size");
    set_fails(spec, "memory", "9000000t", "too large");
    assert_int_equal(spec->memory, 4 << 20);
    set_ok(spec, "pids-limit", "0");
    assert_false(spec->pids_limit_asked);
    set_ok(spec, "pids-limit", "12");
    assert_true(spec->pids_limit_asked);
    set_fails(spec, "pids-limit", "-1", "0 means no limit");
    set_fails(spec, "pids-limit", "4194305", "0 to 4194304");
    assert_int_equal(spec->pids_limit, 12);
    set_fails(spec, "shm-size", "0", "smallest is 4k");
    set_fails(spec, "cpus", "-1", "0.01 to 1024");
}

static void test_choices(void **state)
{
    hf_spec *spec = *state;
    set_ok(spec, "network", "host");
    assert_int_equal(spec->network, NETWORK_HOST);
    set_fails(spec, "network", "hos", "none|host");
    set_fails(spec, "network", "none|host", "none|host");
    set_fails(spec, "network", "", "none|host");
    set_ok(spec, "network", "none");
    assert_int_equal(spec->network, NETWORK_NONE);
    set_ok(spec, "read-only", "true");
    assert_true(spec->read_only);
    set_ok(spec, "read-only", "false");
    assert_false(spec->read_only);
    set_fails(spec, "read-only", "yes", "true or false");
    set_fails(spec, "workdir", "relative", "not an absolute path");
    set_fails(spec, "workdir", "/a/../b", "'..'");
    set_ok(spec, "workdir", "/a//b/");
    assert_string_equal(spec->workdir, "/a/b");
}

static void test_strict_is_read_only(void **state)
{
    hf_spec *spec = NULL;
    set_ok(*state, "hardening", "strict");
    assert_int_equal(hf__spec_finish(*state, &spec, NULL), 0);
    assert_true(spec->read_only);
    hf_spec_free(spec);
}

static void test_env(void **state)
{
    hf_spec *spec = *state;
    set_ok(spec, "env", "A=1");
    set_ok(spec, "env", "B=");
    set_ok(spec, "env", "AB=x=y=z");
    set_ok(spec, "env", "A=2");
    assert_int_equal(spec->env_count, 3);
    assert_string_equal(spec->env[0], "A=2");
    assert_string_equal(spec->env[1], "B=");
    assert_string_equal(spec->env[2], "AB=x=y=z");
    assert_null(spec->env[3]);
    setenv("HF_TEST_VARIABLE", "from outside", 1);
    set_ok(spec, "env", "HF_TEST_VARIABLE");
    assert_string_equal(spec->env[3], "HF_TEST_VARIABLE=from outside");
    unsetenv("HF_TEST_VARIABLE");
    set_fails(spec, "env", "HF_TEST_VARIABLE", "not set in your environment");
    set_fails(spec, "env", "", "not the name");
    set_fails(spec, "env", "=x", "not the name");
    set_fails(spec, "env", "A B=x", "not the name");
    set_fails(spec, "env", "A\n=x", "not the name");
    /* What is wrong with a secret is never shown with the secret. */
    hf_error *error = NULL;
    assert_int_equal(hf_spec_set(spec, "env", "BAD NAME=hunter2", &error), HF_E_INVALID);
    assert_null(strstr(hf_error_message(error), "hunter2"));
    hf_error_free(error);
}

static void test_env_ceilings(void **state)
{
    char *value = malloc(131073);
    assert_non_null(value);
    memset(value, 'x', 131072);
    value[131072] = '\0';
    value[1] = '=';
    set_fails(*state, "env", value, "128 KiB");
    value[131071] = '\0';
    set_ok(*state, "env", value);
    free(value);
    for (int i = 1; i < 4096; i++) {
        char text[32];
        snprintf(text, sizeof text, "V%d=1", i);
        set_ok(*state, "env", text);
    }
    set_fails(*state, "env", "ONE_MORE=1", "too many");
    set_ok(*state, "env", "V7=again");
}

static void test_labels(void **state)
{
    hf_spec *spec = *state;
    set_ok(spec, "label", "team=a=b");
    set_ok(spec, "label", "bare");
    set_ok(spec, "label", "team=c");
    assert_int_equal(spec->label_count, 2);
    assert_string_equal(spec->labels[0], "team=c");
    assert_string_equal(spec->labels[1], "bare=");
    set_fails(spec, "label", "holdfast.digest=x", "ours");
    set_fails(spec, "label", "=x", "not a label's key");
    set_fails(spec, "label", "", "not a label's key");
}

static void test_image(void **state)
{
    hf_spec *spec = *state;
    set_ok(spec, "image", "debian:12");
    assert_string_equal(spec->image, "debian:12");
    set_ok(spec, "image", "host");
    assert_null(spec->image);
    set_fails(spec, "image", "", "image");
    set_fails(spec, "image", "a b", "spaces");
}

/* The table is what help, man page and completions are made of: it must be whole. */
static void test_table(void **state)
{
    const hf_option_info *info;
    size_t count = 0;
    for (; (info = hf_spec_option(count)); count++) {
        assert_non_null(info->key);
        assert_non_null(info->help);
        assert_string_not_equal(info->key, "image");
        assert_int_equal(strspn(info->key, "abcdefghijklmnopqrstuvwxyz-"), strlen(info->key));
        for (size_t i = 0; i < count; i++) {
            const hf_option_info *other = hf_spec_option(i);
            assert_string_not_equal(info->key, other->key);
            assert_false(info->letter && info->letter == other->letter);
        }
    }
    assert_true(count >= 20);
    assert_null(hf_spec_option(count));
    assert_null(hf_spec_option(SIZE_MAX));
}

static void digest_of(const hf_spec *spec, char digest[static 65])
{
    hf_spec *whole = NULL;
    assert_int_equal(hf__spec_finish(spec, &whole, NULL), 0);
    assert_int_equal(hf__spec_digest(whole, digest, NULL), 0);
    hf_spec_free(whole);
}

static void test_digest_order(void **state)
{
    hf_spec *other = NULL;
    char one[65], two[65];
    assert_int_equal(hf_spec_new(&other, NULL), 0);
    set_ok(*state, "env", "A=1");
    set_ok(*state, "env", "B=2");
    set_ok(*state, "volume", "/a:/x");
    set_ok(*state, "volume", "/b:/y:ro");
    set_ok(*state, "label", "k=v");
    set_ok(*state, "label", "l=w");
    set_ok(other, "volume", "/b:/y:ro");
    set_ok(other, "volume", "/a:/x");
    set_ok(other, "label", "l=w");
    set_ok(other, "label", "k=v");
    set_ok(other, "env", "B=2");
    set_ok(other, "env", "A=0");
    set_ok(other, "env", "A=1");
    set_ok(other, "image", "host");
    digest_of(*state, one);
    digest_of(other, two);
    assert_string_equal(one, two);
    hf_spec_free(other);
}

/* Whatever can be set makes another box. */
static void test_digest_differs(void **state)
{
    static const char *const changes[][2] = {
        {"task", "t"},
        {"profile", "p"},
        {"image", "x"},
        {"hardening", "strict"},
        {"network", "host"},
        {"volume", "/a:/x"},
        {"tmpfs", "/x"},
        {"tmpfs", "/x:ro"},
        {"tmpfs", "/x:mode=700"},
        {"tmpfs", "/x:size=1m"},
        {"volume", "/a:/x:ro"},
        {"volume", "/b:/x"},
        {"volume", "/a:/x:noexec"},
        {"env", "A=1"},
        {"env", "A=2"},
        {"label", "A=1"},
        {"cpus", "1"},
        {"memory", "1g"},
        {"pids-limit", "9"},
        {"shm-size", "1m"},
        {"user", "1"},
        {"workdir", "/x"},
        {"hostname", "x"},
        {"cap-add", "KILL"},
        {"cap-drop", "KILL"},
        {"read-only", "true"},
        {"allow-weaker", "true"},
        {"user", "workdir"},
    };
    enum { COUNT = sizeof changes / sizeof changes[0] };
    char digests[COUNT + 1][65];
    digest_of(*state, digests[COUNT]);
    for (size_t i = 0; i < COUNT; i++) {
        hf_spec *spec = NULL;
        assert_int_equal(hf_spec_new(&spec, NULL), 0);
        set_ok(spec, changes[i][0], changes[i][1]);
        digest_of(spec, digests[i]);
        hf_spec_free(spec);
        assert_string_not_equal(digests[i], digests[COUNT]);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(digests[i], digests[k]);
    }
    /* The name says which box, not how it is. */
    char named[65];
    set_ok(*state, "name", "x");
    digest_of(*state, named);
    assert_string_equal(named, digests[COUNT]);
}

static void test_describe(void **state)
{
    char *json = NULL;
    hf_json *parsed = NULL;
    set_ok(*state, "env", "TOKEN=hunter2");
    set_ok(*state, "label", "k=v \"q\"");
    set_ok(*state, "task", "\xff\xfe not UTF-8");
    set_ok(*state, "cpus", "1.5");
    assert_int_equal(hf_spec_describe(*state, &json, NULL), 0);
    assert_null(strstr(json, "hunter2"));
    assert_non_null(strstr(json, "TOKEN"));
    assert_int_equal(hf__json_parse(json, strlen(json), &parsed, NULL), 0);
    assert_string_equal(hf__json_get_string(parsed, "image"), "host");
    assert_string_equal(hf__json_get_string(hf__json_get(parsed, "labels"), "k"), "v \"q\"");
    assert_int_equal(hf__json_get_int(parsed, "pids_limit", 0), 256);
    assert_null(hf__json_get(parsed, "memory"));
    hf__json_free(parsed);
    free(json);
}

static void test_copy_is_deep(void **state)
{
    hf_spec *copy = NULL;
    set_ok(*state, "env", "A=1");
    set_ok(*state, "volume", "/a:/x");
    set_ok(*state, "tmpfs", "/t");
    set_ok(*state, "label", "k=v");
    assert_int_equal(hf__spec_copy(*state, &copy, NULL), 0);
    set_ok(*state, "env", "A=2");
    set_ok(*state, "volume", "/b:/y");
    assert_string_equal(copy->env[0], "A=1");
    assert_null(copy->env[1]);
    assert_int_equal(copy->volume_count, 1);
    assert_ptr_not_equal(copy->volumes[0].source, ((hf_spec *)*state)->volumes[0].source);
    hf_spec_free(copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SPEC_TEST(test_defaults),
        SPEC_TEST(test_unknown_keys),
        SPEC_TEST(test_limits),
        SPEC_TEST(test_choices),
        SPEC_TEST(test_strict_is_read_only),
        SPEC_TEST(test_env),
        SPEC_TEST(test_env_ceilings),
        SPEC_TEST(test_labels),
        SPEC_TEST(test_image),
        SPEC_TEST(test_table),
        SPEC_TEST(test_digest_order),
        SPEC_TEST(test_digest_differs),
        SPEC_TEST(test_describe),
        SPEC_TEST(test_copy_is_deep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
