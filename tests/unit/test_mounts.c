/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "spec_helper.h"

static const struct hf_volume *last_volume(const hf_spec *spec)
{
    return &spec->volumes[spec->volume_count - 1];
}

static void test_volume(void **state)
{
    hf_spec *spec = *state;
    set_ok(spec, "volume", "/a//b/./c/:/x//y/");
    assert_string_equal(last_volume(spec)->source, "/a/b/c");
    assert_string_equal(last_volume(spec)->target, "/x/y");
    assert_false(last_volume(spec)->read_only);
    assert_false(last_volume(spec)->noexec);
    set_ok(spec, "volume", "/:/host:ro,noexec,nosuid,nodev");
    assert_string_equal(last_volume(spec)->source, "/");
    assert_true(last_volume(spec)->read_only);
    assert_true(last_volume(spec)->noexec);
    set_ok(spec, "volume", "/a:/rw:rw,exec");
    assert_false(last_volume(spec)->read_only);
}

/* ".." behind a symlink leads elsewhere than its text says: the kernel resolves it, not we. */
static void test_volume_keeps_dotdot(void **state)
{
    hf_spec *spec = *state;
    set_ok(spec, "volume", "/a/link/../b:/x");
    assert_string_equal(last_volume(spec)->source, "/a/link/../b");
}

static void test_volume_relative(void **state)
{
    hf_spec *spec = *state;
    char old[4096], base[] = "/tmp/hf-mounts-XXXXXX", real[4096], want[5000];
    assert_non_null(getcwd(old, sizeof old));
    assert_non_null(mkdtemp(base));
    assert_non_null(realpath(base, real));
    assert_int_equal(chdir(base), 0);
    set_ok(spec, "volume", "./data:/a");
    snprintf(want, sizeof want, "%s/data", real);
    assert_string_equal(last_volume(spec)->source, want);
    set_ok(spec, "volume", ".:/b");
    assert_string_equal(last_volume(spec)->source, real);
    set_ok(spec, "volume", "..:/c");
    assert_string_equal(last_volume(spec)->source, "/tmp");
    set_ok(spec, "volume", "../../../../x/y:/d");
    assert_string_equal(last_volume(spec)->source, "/x/y");
    set_ok(spec, "volume", "./.hidden:/e");
    snprintf(want, sizeof want, "%s/.hidden", real);
    assert_string_equal(last_volume(spec)->source, want);
    set_ok(spec, "volume", "./../z/../w:/f");
    assert_string_equal(last_volume(spec)->source, "/tmp/z/../w");
    assert_int_equal(chdir(old), 0);
    rmdir(base);
}

static void test_volume_home(void **state)
{
    hf_spec *spec = *state;
    setenv("HOME", "/home/someone", 1);
    set_ok(spec, "volume", "~/src:/a");
    assert_string_equal(last_volume(spec)->source, "/home/someone/src");
    set_ok(spec, "volume", "~:/b");
    assert_string_equal(last_volume(spec)->source, "/home/someone");
    set_fails(spec, "volume", "~other/x:/c", "not an absolute path");
    setenv("HOME", "relative", 1);
    set_fails(spec, "volume", "~/x:/c", "HOME");
    unsetenv("HOME");
    set_fails(spec, "volume", "~/x:/c", "HOME");
}

static void test_volume_refused(void **state)
{
    hf_spec *spec = *state;
    set_fails(spec, "volume", "", "SRC:DST");
    set_fails(spec, "volume", "/a", "no target");
    set_fails(spec, "volume", "/a:", "not an absolute path");
    set_fails(spec, "volume", ":/a", "source is empty");
    set_fails(spec, "volume", "/a:b", "not an absolute path");
    set_fails(spec, "volume", "/a:/b/../c", "'..'");
    set_fails(spec, "volume", "data:/a", "named volumes are not supported");
    set_fails(spec, "volume", "a/b:/a", "./a/b");
    set_fails(spec, "volume", "/a:/b:", "not an option");
    set_fails(spec, "volume", "/a:/b:ro,", "not an option");
    set_fails(spec, "volume", "/a:/b:ro,rw", "both given");
    set_fails(spec, "volume", "/a:/b:exec,noexec", "both given");
    set_fails(spec, "volume", "/a:/b:ro:rw", "not an option");
    set_fails(spec, "volume", "/a:/b:suid", "not an option");
    set_fails(spec, "volume", "/a:/b:size=1m", "not an option");
    assert_int_equal(spec->volume_count, 0);
}

static void test_forbidden_targets(void **state)
{
    static const char *const targets[] = {"/",         "//",         "/./",       "/proc",
                                          "/proc/sys", "/sys",       "/sys/fs/x", "/dev",
                                          "/dev/shm",  "//dev//pts", "/./sys"};
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        char text[64];
        snprintf(text, sizeof text, "/a:%s", targets[i]);
        set_fails(*state, "volume", text, "mounted on");
        set_fails(*state, "tmpfs", targets[i], "mounted on");
    }
    /* Neighbours by name only. */
    set_ok(*state, "volume", "/a:/developer");
    set_ok(*state, "tmpfs", "/system");
    set_ok(*state, "tmpfs", "/a/proc");
}

static void test_duplicates(void **state)
{
    set_ok(*state, "volume", "/a:/x");
    set_fails(*state, "volume", "/b:/x/", "already");
    set_fails(*state, "tmpfs", "//x", "already");
    set_ok(*state, "tmpfs", "/x/inner");
    set_fails(*state, "volume", "/b:/x/inner", "already");
}

static void test_tmpfs(void **state)
{
    hf_spec *spec = *state;
    set_ok(spec, "tmpfs", "/a");
    assert_true(spec->tmpfs[0].size == UINT64_C(512) << 20);
    assert_int_equal(spec->tmpfs[0].mode, 01777);
    assert_true(spec->tmpfs[0].noexec);
    assert_false(spec->tmpfs[0].read_only);
    set_ok(spec, "tmpfs", "/b:size=1.5m,mode=750,exec,ro,nosuid");
    assert_true(spec->tmpfs[1].size == 1572864);
    assert_int_equal(spec->tmpfs[1].mode, 0750);
    assert_false(spec->tmpfs[1].noexec);
    assert_true(spec->tmpfs[1].read_only);
}

static void test_tmpfs_refused(void **state)
{
    /* The kernel reads a size of 0 as "no limit". */
    set_fails(*state, "tmpfs", "/a:size=0", "too small");
    set_fails(*state, "tmpfs", "/a:size=-1", "not a size");
    set_fails(*state, "tmpfs", "/a:size=50%", "not a size");
    set_fails(*state, "tmpfs", "/a:size=", "not a size");
    set_fails(*state, "tmpfs", "/a:mode=4755", "not a mode");
    set_fails(*state, "tmpfs", "/a:mode=8", "not a mode");
    set_fails(*state, "tmpfs", "/a:mode=", "not a mode");
    set_fails(*state, "tmpfs", "/a:mode=07777777777777", "not a mode");
    set_fails(*state, "tmpfs", "/a:huge=always", "not an option");
    set_fails(*state, "tmpfs", "a", "not an absolute path");
    set_fails(*state, "tmpfs", "", "not an absolute path");
}

static void test_ceilings(void **state)
{
    char text[64];
    for (int i = 0; i < 256; i++) {
        snprintf(text, sizeof text, i % 2 ? "/m%d" : "/a:/m%d", i);
        set_ok(*state, i % 2 ? "tmpfs" : "volume", text);
    }
    set_fails(*state, "volume", "/a:/one-more", "too many");
    set_fails(*state, "tmpfs", "/one-more", "too many");
    char *huge = malloc(10000);
    assert_non_null(huge);
    memset(huge, 'x', 9999);
    huge[9999] = '\0';
    huge[0] = '/';
    set_fails(*state, "tmpfs", huge, "too long");
    memcpy(huge + 9000, ":/y", 4);
    set_fails(*state, "volume", huge, "too");
    free(huge);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SPEC_TEST(test_volume),          SPEC_TEST(test_volume_keeps_dotdot),
        SPEC_TEST(test_volume_relative), SPEC_TEST(test_volume_home),
        SPEC_TEST(test_volume_refused),  SPEC_TEST(test_forbidden_targets),
        SPEC_TEST(test_duplicates),      SPEC_TEST(test_tmpfs),
        SPEC_TEST(test_tmpfs_refused),   SPEC_TEST(test_ceilings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
