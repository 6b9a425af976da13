/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/path.h"

/* --- a directory for each test ---------------------------------------------------------------- */

struct place {
    char path[64];
    int fd;
};

static int setup(void **state)
{
    struct place *place = calloc(1, sizeof *place);
    if (!place)
        return -1;
    snprintf(place->path, sizeof place->path, "/tmp/hf-path-XXXXXX");
    if (!mkdtemp(place->path))
        return -1;
    place->fd = open(place->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    *state = place;
    return place->fd < 0 ? -1 : 0;
}

static int teardown(void **state)
{
    struct place *place = *state;
    close(place->fd);
    int r = hf__remove_tree_at(AT_FDCWD, place->path);
    free(place);
    return r;
}

static void write_file(int dir, const char *name, const char *text)
{
    _cleanup_close_ int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(hf__write_all(fd, text, strlen(text)), 0);
}

static bool exists(int dir, const char *name)
{
    struct stat st;
    return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* --- text ------------------------------------------------------------------------------------- */

static void test_normalize(void **state)
{
    static const struct {
        const char *path, *want;
    } rows[] = {
        {"/", "/"},           {"///", "/"},           {"/a", "/a"},     {"/a/", "/a"},
        {"//a//b//", "/a/b"}, {"/./a/./b/.", "/a/b"}, {"/...", "/..."}, {"/a/..b/.c", "/a/..b/.c"},
        {"/.", "/"}};
    static const char *const wrong[] = {"", "a", "./a", "..", "/..", "/a/..", "/a/../b", "~/a"};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char *path = NULL;
        assert_int_equal(hf__path_normalize(rows[i].path, &path, NULL), 0);
        assert_string_equal(path, rows[i].want);
        free(path);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char *path = NULL;
        assert_int_equal(hf__path_normalize(wrong[i], &path, NULL), HF_E_INVALID);
    }
    char huge[HF_MAX_PATH + 1];
    char *path = NULL;
    memset(huge, '/', sizeof huge - 1);
    huge[sizeof huge - 1] = '\0';
    assert_int_equal(hf__path_normalize(huge, &path, NULL), HF_E_INVALID);
    assert_int_equal(hf__path_normalize(huge + 1, &path, NULL), 0);
    free(path);
}

static void test_beneath(void **state)
{
    assert_true(hf__path_beneath("/a", "/a"));
    assert_true(hf__path_beneath("/a/b", "/a"));
    assert_true(hf__path_beneath("/a", "/"));
    assert_true(hf__path_beneath("/", "/"));
    assert_false(hf__path_beneath("/ab", "/a"));
    assert_false(hf__path_beneath("/a", "/a/b"));
    assert_false(hf__path_beneath("/", "/a"));
}

/* --- opening ---------------------------------------------------------------------------------- */

static void make_escapes(int dir)
{
    assert_int_equal(mkdirat(dir, "root", 0755), 0);
    assert_int_equal(mkdirat(dir, "root/sub", 0755), 0);
    write_file(dir, "secret", "outside");
    write_file(dir, "root/secret", "inside");
    assert_int_equal(symlinkat("../secret", dir, "root/up"), 0);
    assert_int_equal(symlinkat("/secret", dir, "root/absolute"), 0);
    assert_int_equal(symlinkat("..", dir, "root/parent"), 0);
    assert_int_equal(symlinkat("sub", dir, "root/inner"), 0);
    assert_int_equal(symlinkat("loop", dir, "root/loop"), 0);
    assert_int_equal(symlinkat("/proc/self/root", dir, "root/magic"), 0);
}

static void assert_inside(int root, const char *path)
{
    char text[16] = "";
    _cleanup_close_ int fd = hf__open_in_root(root, path, O_RDONLY);
    assert_true(fd >= 0);
    assert_true(read(fd, text, sizeof text - 1) > 0);
    assert_string_equal(text, "inside");
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
}

/* Whatever a symlink says, it ends inside. */
static void test_open_in_root(void **state)
{
    struct place *place = *state;
    make_escapes(place->fd);
    _cleanup_close_ int root = openat(place->fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_inside(root, "secret");
    assert_inside(root, "/secret");
    assert_inside(root, "up");
    assert_inside(root, "absolute");
    assert_inside(root, "parent/secret");
    assert_inside(root, "../../../../secret");
    assert_inside(root, "inner/../secret");
    assert_true(hf__open_in_root(root, "loop", O_RDONLY) < 0);
    assert_int_equal(errno, ELOOP);
    assert_true(hf__open_in_root(root, "magic", O_RDONLY) < 0);
}

static void test_open_beneath(void **state)
{
    static const char *const ways_out[] = {"..",  "../secret", "sub/../../secret", "/secret",
                                           "up",  "absolute",  "parent/secret",    "inner",
                                           "loop"};
    struct place *place = *state;
    make_escapes(place->fd);
    _cleanup_close_ int root = openat(place->fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (size_t i = 0; i < sizeof ways_out / sizeof ways_out[0]; i++) {
        assert_true(hf__open_beneath(root, ways_out[i], O_RDONLY) < 0);
        assert_true(errno == EXDEV || errno == ELOOP);
    }
    _cleanup_close_ int fd = hf__open_beneath(root, "sub/../secret", O_RDONLY);
    assert_true(fd >= 0);
}

static void test_mkdirs(void **state)
{
    struct place *place = *state;
    make_escapes(place->fd);
    _cleanup_close_ int root = openat(place->fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
    _cleanup_close_ int made = hf__mkdirs_in_root(root, "/x//y/z/", 0700);
    assert_true(made >= 0);
    assert_true(exists(root, "x/y/z"));
    /* Through a symlink to the outside the directories land inside. */
    _cleanup_close_ int inside = hf__mkdirs_in_root(root, "parent/new", 0700);
    assert_true(inside >= 0);
    assert_true(exists(root, "new"));
    assert_false(exists(place->fd, "new"));
    assert_true(hf__mkdirs_in_root(root, "secret/x", 0700) < 0);
    _cleanup_close_ int same = hf__mkdirs_in_root(root, "/", 0700);
    assert_true(same >= 0);
    char long_name[300];
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    assert_true(hf__mkdirs_in_root(root, long_name, 0700) < 0);
    assert_int_equal(errno, ENAMETOOLONG);
}

/* --- removing --------------------------------------------------------------------------------- */

static void test_remove_follows_nothing(void **state)
{
    struct place *place = *state;
    assert_int_equal(mkdirat(place->fd, "precious", 0755), 0);
    write_file(place->fd, "precious/file", "x");
    assert_int_equal(mkdirat(place->fd, "tree", 0755), 0);
    assert_int_equal(symlinkat("../precious", place->fd, "tree/link"), 0);
    assert_int_equal(symlinkat("/", place->fd, "tree/root"), 0);
    assert_int_equal(symlinkat("nowhere", place->fd, "tree/dangling"), 0);
    assert_int_equal(mkfifoat(place->fd, "tree/fifo", 0600), 0);
    write_file(place->fd, "tree/-rf *\n", "x");
    assert_int_equal(hf__remove_tree_at(place->fd, "tree"), 0);
    assert_false(exists(place->fd, "tree"));
    assert_true(exists(place->fd, "precious/file"));
    /* A symlink by its own name: the link goes, what it names stays. */
    assert_int_equal(symlinkat("precious", place->fd, "link"), 0);
    assert_int_equal(hf__remove_tree_at(place->fd, "link"), 0);
    assert_false(exists(place->fd, "link"));
    assert_true(exists(place->fd, "precious/file"));
    write_file(place->fd, "file", "x");
    assert_int_equal(hf__remove_tree_at(place->fd, "file"), 0);
    assert_int_equal(hf__remove_tree_at(place->fd, "file"), 0);
}

/* Deeper than recursion goes, and with names that ours could meet. */
static void test_remove_deep(void **state)
{
    struct place *place = *state;
    assert_int_equal(mkdirat(place->fd, "deep", 0755), 0);
    assert_int_equal(mkdirat(place->fd, "deep/.deep-0", 0755), 0);
    write_file(place->fd, "deep/.deep-1", "x");
    int at = openat(place->fd, "deep", O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(mkdirat(at, "d", 0755), 0);
        int next = openat(at, "d", O_PATH | O_DIRECTORY | O_CLOEXEC);
        assert_true(next >= 0);
        close(at);
        at = next;
    }
    write_file(at, "bottom", "x");
    close(at);
    assert_int_equal(hf__remove_tree_at(place->fd, "deep"), 0);
    assert_false(exists(place->fd, "deep"));
}

/* As a user whom modes keep out; root would walk through them. */
static void test_remove_modes(void **state)
{
    struct place *place = *state;
    assert_int_equal(chmod(place->path, 0777), 0);
    pid_t pid = fork();
    if (pid == 0) {
        if (geteuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
            _exit(2);
        if (mkdirat(place->fd, "tree", 0755) < 0 || mkdirat(place->fd, "tree/a", 0755) < 0 ||
            mkdirat(place->fd, "tree/a/b", 0755) < 0 || mkdirat(place->fd, "tree/empty", 0) < 0)
            _exit(3);
        write_file(place->fd, "tree/a/b/file", "x");
        if (fchmodat(place->fd, "tree/a/b", 0, 0) < 0 ||
            fchmodat(place->fd, "tree/a", 0500, 0) < 0 || fchmodat(place->fd, "tree", 0, 0) < 0)
            _exit(4);
        _exit(hf__remove_tree_at(place->fd, "tree") == 0 ? 0 : 5);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_false(exists(place->fd, "tree"));
}

static int remove_around_mount(struct place *place)
{
    char tree[128], precious[128];
    snprintf(tree, sizeof tree, "%s/tree/mnt", place->path);
    snprintf(precious, sizeof precious, "%s/precious", place->path);
    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount(precious, tree, NULL, MS_BIND, NULL) < 0)
        return 77;
    /* Fails, for the mount point cannot go; and leaves what is mounted there alone. */
    if (hf__remove_tree_at(place->fd, "tree") == 0)
        return 1;
    return exists(place->fd, "precious/file") && !exists(place->fd, "tree/zzz") ? 0 : 2;
}

/* A bind mount of the same file system has the same device number. */
static void test_remove_stays_off_mounts(void **state)
{
    struct place *place = *state;
    assert_int_equal(mkdirat(place->fd, "precious", 0755), 0);
    write_file(place->fd, "precious/file", "x");
    assert_int_equal(mkdirat(place->fd, "tree", 0755), 0);
    assert_int_equal(mkdirat(place->fd, "tree/mnt", 0755), 0);
    write_file(place->fd, "tree/zzz", "x");
    pid_t pid = fork();
    if (pid == 0)
        _exit(remove_around_mount(place));
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* --- our own directories and files ------------------------------------------------------------ */

static void test_private_dir(void **state)
{
    struct place *place = *state;
    char path[128];
    int fd = -1;
    snprintf(path, sizeof path, "%s/a/b", place->path);
    assert_int_equal(hf__open_private_dir(path, false, &fd, NULL), HF_E_NOT_FOUND);
    assert_int_equal(hf__open_private_dir(path, true, &fd, NULL), 0);
    struct stat st;
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    close(fd);
    assert_int_equal(chmod(path, 0770), 0);
    hf_error *error = NULL;
    assert_int_equal(hf__open_private_dir(path, true, &fd, &error), HF_E_PERMISSION);
    assert_non_null(strstr(hf_error_message(error), "chmod 0700"));
    hf_error_free(error);
    /* A symlink to a good one is not a good one. */
    assert_int_equal(chmod(path, 0700), 0);
    assert_int_equal(symlinkat("a/b", place->fd, "link"), 0);
    snprintf(path, sizeof path, "%s/link", place->path);
    assert_true(hf__open_private_dir(path, true, &fd, NULL) < 0);
    if (geteuid() == 0) {
        snprintf(path, sizeof path, "%s/a/b", place->path);
        assert_int_equal(chown(path, 65534, 65534), 0);
        assert_int_equal(hf__open_private_dir(path, true, &fd, NULL), HF_E_PERMISSION);
    }
}

static void test_replace_file(void **state)
{
    struct place *place = *state;
    char *text = NULL;
    assert_int_equal(hf__replace_file_at(place->fd, "record", "one", 3, NULL), 0);
    assert_int_equal(hf__replace_file_at(place->fd, "record", "two", 3, NULL), 0);
    assert_int_equal(hf__read_file_at(place->fd, "record", 100, &text, NULL), 0);
    assert_string_equal(text, "two");
    free(text);
    /* The target is a directory: fails with its own reason and leaves no temporary file. */
    assert_int_equal(mkdirat(place->fd, "dir", 0755), 0);
    hf_error *error = NULL;
    int r = hf__replace_file_at(place->fd, "dir", "x", 1, &error);
    assert_true(r < 0);
    assert_int_equal(r, hf_error_code(error));
    assert_int_equal(hf_error_errno(error), EISDIR);
    hf_error_free(error);
    assert_int_equal(unlinkat(place->fd, "dir", AT_REMOVEDIR), 0);
    assert_int_equal(unlinkat(place->fd, "record", 0), 0);
    assert_int_equal(rmdir(place->path), 0);
    assert_int_equal(mkdir(place->path, 0700), 0);
}

#define PLACE_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_normalize),
        cmocka_unit_test(test_beneath),
        PLACE_TEST(test_open_in_root),
        PLACE_TEST(test_open_beneath),
        PLACE_TEST(test_mkdirs),
        PLACE_TEST(test_remove_follows_nothing),
        PLACE_TEST(test_remove_deep),
        PLACE_TEST(test_remove_modes),
        PLACE_TEST(test_remove_stays_off_mounts),
        PLACE_TEST(test_private_dir),
        PLACE_TEST(test_replace_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
