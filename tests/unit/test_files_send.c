/* SPDX-License-Identifier: Apache-2.0 */
/* Real trees, sent and received again. */
#include <sys/xattr.h>

#include "files_helper.h"

static void set_mtime(int dir, const char *name, int64_t sec, long nsec)
{
    const struct timespec times[2] = {{.tv_sec = 1}, {.tv_sec = sec, .tv_nsec = nsec}};
    assert_int_equal(utimensat(dir, name, times, AT_SYMLINK_NOFOLLOW), 0);
}

static void assert_same_content(int a, int b, const char *name)
{
    _cleanup_free_ char *one = NULL, *two = NULL;
    size_t one_size, two_size;
    assert_int_equal(hf__read_file_at(a, name, MIB(16), &one, &one_size), 0);
    assert_int_equal(hf__read_file_at(b, name, MIB(16), &two, &two_size), 0);
    assert_int_equal(one_size, two_size);
    assert_memory_equal(one, two, one_size);
}

static unsigned assert_same_tree(int a, int b);

static void assert_same(int a, int b, const char *name)
{
    struct stat one, two;
    assert_int_equal(fstatat(a, name, &one, AT_SYMLINK_NOFOLLOW), 0);
    assert_int_equal(fstatat(b, name, &two, AT_SYMLINK_NOFOLLOW), 0);
    assert_int_equal(one.st_mode, two.st_mode);
    assert_int_equal(one.st_mtim.tv_sec, two.st_mtim.tv_sec);
    assert_int_equal(one.st_mtim.tv_nsec, two.st_mtim.tv_nsec);
    if (S_ISLNK(one.st_mode)) {
        char text[2][256] = {"", ""};
        assert_true(readlinkat(a, name, text[0], 255) > 0);
        assert_true(readlinkat(b, name, text[1], 255) > 0);
        assert_string_equal(text[0], text[1]);
    } else if (S_ISREG(one.st_mode)) {
        assert_int_equal(one.st_size, two.st_size);
        assert_int_equal(one.st_nlink, two.st_nlink);
        if (one.st_size <= (off_t)MIB(16))
            assert_same_content(a, b, name);
    } else if (S_ISDIR(one.st_mode)) {
        _cleanup_close_ int sub_a = open_directory(a, name), sub_b = open_directory(b, name);
        assert_true(sub_a >= 0 && sub_b >= 0);
        assert_int_equal(assert_same_tree(sub_a, sub_b), count_names(sub_b));
    }
}

/* Everything in `a` is in `b`; returns how much that is. */
static unsigned assert_same_tree(int a, int b)
{
    unsigned count = 0;
    _cleanup_closedir_ DIR *stream = fdopendir(open_directory(a, "."));
    assert_non_null(stream);
    for (struct dirent *entry; (entry = readdir(stream));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            assert_same(a, b, entry->d_name);
            count++;
        }
    return count;
}

static void make_tree(int source)
{
    static const char *const odd[] = {"new\nline", "\x1b[31mred\x1b[0m", "\xff\xfe\x80", " ", "...",
                                      "-rf",       "back\\slash",        "\"'`$(x)",     "*?"};
    assert_int_equal(mkdirat(source, "tree", 0755), 0);
    _cleanup_close_ int tree = open_directory(source, "tree");
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++)
        write_text(tree, odd[i], odd[i]);
    write_text(tree, "empty", "");
    write_file(tree, "program", "#!/bin/sh\n", 10, 0755);
    write_file(tree, "private", "x", 1, 0400);
    write_text(tree, "old", "1960");
    set_mtime(tree, "old", -315619200, 5);
    write_text(tree, "future", "2200");
    set_mtime(tree, "future", 7258118400, 999999999);
    char *big = malloc(KIB(900));
    assert_non_null(big);
    for (size_t i = 0; i < KIB(900); i++)
        big[i] = (char)(i * 31 + i / 251);
    write_file(tree, "big", big, KIB(900), 0644);
    free(big);
    assert_int_equal(symlinkat("../nowhere", tree, "link"), 0);
    set_mtime(tree, "link", 1000, 7);
    assert_int_equal(mkdirat(tree, "closed", 0755), 0);
    write_text(tree, "closed/file", "in a directory that is read-only");
    write_text(tree, "one", "several names");
    assert_int_equal(linkat(tree, "one", tree, "two", 0), 0);
    assert_int_equal(linkat(tree, "one", tree, "closed/three", 0), 0);
    assert_int_equal(fchmodat(tree, "closed", 0555, 0), 0);
    set_mtime(tree, "closed", 12345, 678);
    assert_int_equal(mkdirat(tree, "void", 0711), 0);
    set_mtime(source, "tree", 99, 0);
}

/* In pieces of every kind, with and without O_TMPFILE. */
static void test_round_trip(void **state)
{
    static const size_t pieces[] = {MIB(64), 1, 7, 4096, 65536};
    struct place_for_test *place = *state;
    _cleanup_buf_ struct hf_buf stream = STREAM;
    make_tree(place->source);
    send_all(&stream, place->source, "tree");
    for (unsigned i = 0; i < 2 * sizeof pieces / sizeof pieces[0]; i++) {
        char name[16];
        snprintf(name, sizeof name, "%u", i);
        assert_int_equal(mkdirat(place->target, name, 0755), 0);
        _cleanup_close_ int to = open_directory(place->target, name);
        receive_all(&stream, pieces[i / 2],
                    (struct files_receive_options){.dir = to, .no_tmpfile = i % 2});
        assert_same(place->source, to, "tree");
        assert_clean(to);
        struct stat one, two;
        assert_int_equal(fstatat(to, "tree/one", &one, 0), 0);
        assert_int_equal(fstatat(to, "tree/closed/three", &two, 0), 0);
        assert_int_equal(one.st_ino, two.st_ino);
        assert_int_equal(one.st_nlink, 3);
        /* And again, over what is there: everything is replaced, and nothing is left beside it. */
        assert_int_equal(fchmodat(to, "tree/closed", 0755, 0), 0);
        receive_all(&stream, pieces[i / 2],
                    (struct files_receive_options){.dir = to, .no_tmpfile = i % 2});
        assert_clean(to);
        assert_int_equal(fchmodat(to, "tree/closed", 0555, 0), 0);
        set_mtime(to, "tree/closed", 12345, 678);
        set_mtime(to, "tree", 99, 0);
        assert_same(place->source, to, "tree");
    }
}

static void test_counts(void **state)
{
    struct place_for_test *place = *state;
    _cleanup_buf_ struct hf_buf stream = STREAM;
    struct files_result sent;
    make_tree(place->source);
    assert_int_equal(
        send_to(&stream, (struct files_send_options){.dir = place->source, .name = "tree"}, &sent),
        0);
    struct files_receiver *r =
        receive(&stream, 1000, (struct files_receive_options){.dir = place->target});
    const struct files_result *got = files_receive_result(r);
    assert_int_equal(got->error.kind, FILES_OK);
    assert_true(files_receive_done(r));
    assert_int_equal(got->files, 17);
    assert_int_equal(got->dirs, 3);
    assert_int_equal(got->symlinks, 1);
    assert_int_equal(got->hard_links, 2);
    assert_int_equal(got->skipped, 0);
    assert_int_equal(got->files, sent.files);
    assert_int_equal(got->dirs, sent.dirs);
    assert_int_equal(got->symlinks, sent.symlinks);
    assert_int_equal(got->hard_links, sent.hard_links);
    assert_int_equal(got->bytes, sent.bytes);
    files_receive_destroy(r);
    files_result_finish(&sent);
}

static void test_one_file_and_its_name(void **state)
{
    struct place_for_test *place = *state;
    _cleanup_buf_ struct hf_buf stream = STREAM;
    struct files_result result;
    write_text(place->source, "a", "hello");
    assert_int_equal(send_to(&stream,
                             (struct files_send_options){
                                 .dir = place->top, .name = "source/a", .top_name = "sent"},
                             &result),
                     0);
    files_result_finish(&result);
    receive_all(&stream, 3, (struct files_receive_options){.dir = place->target});
    assert_text(place->target, "sent", "hello");
    receive_all(&stream, 3,
                (struct files_receive_options){.dir = place->target, .top_name = "received"});
    assert_text(place->target, "received", "hello");
}

static void test_tree_with_another_name(void **state)
{
    struct place_for_test *place = *state;
    _cleanup_buf_ struct hf_buf stream = STREAM;
    make_tree(place->source);
    send_all(&stream, place->source, "tree");
    receive_all(&stream, 999,
                (struct files_receive_options){.dir = place->target, .top_name = "copy"});
    assert_false(exists(place->target, "tree"));
    assert_int_equal(renameat(place->target, "copy", place->target, "tree"), 0);
    assert_same(place->source, place->target, "tree");
}

static void test_sparse(void **state)
{
    struct place_for_test *place = *state;
    _cleanup_buf_ struct hf_buf stream = STREAM;
    struct stat one, two;
    {
        _cleanup_close_ int fd =
            openat(place->source, "sparse", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
        assert_int_equal(pwrite(fd, "middle", 6, (off_t)MIB(100)), 6);
        assert_int_equal(ftruncate(fd, (off_t)1 << 40), 0);
        assert_int_equal(fstat(fd, &one), 0);
    }
    if ((uint64_t)one.st_blocks * 512 > MIB(1)) {
        print_message("skip: machine: /tmp has no sparse files\n");
        skip();
    }
    send_all(&stream, place->source, "sparse");
    assert_true(stream.size < KIB(512));
    receive_all(&stream, 4000, (struct files_receive_options){.dir = place->target});
    assert_int_equal(fstatat(place->target, "sparse", &two, 0), 0);
    assert_int_equal(two.st_size, (off_t)1 << 40);
    assert_true((uint64_t)two.st_blocks * 512 <= MIB(1));
    char text[8] = "";
    _cleanup_close_ int fd = openat(place->target, "sparse", O_RDONLY | O_CLOEXEC);
    assert_int_equal(pread(fd, text, 6, (off_t)MIB(100)), 6);
    assert_string_equal(text, "middle");
}

static void test_xattrs(void **state)
{
    struct place_for_test *place = *state;
    _cleanup_buf_ struct hf_buf stream = STREAM;
    char value[8];
    write_text(place->source, "a", "x");
    int fd = openat(place->source, "a", O_RDONLY | O_CLOEXEC);
    int r = fsetxattr(fd, "user.color", "bl\0ue", 5, 0);
    close(fd);
    if (r < 0 && errno == ENOTSUP) {
        print_message("skip: machine: /tmp has no user attributes\n");
        skip();
    }
    assert_int_equal(r, 0);
    send_all(&stream, place->source, "a");
    receive_all(&stream, 1, (struct files_receive_options){.dir = place->target});
    fd = openat(place->target, "a", O_RDONLY | O_CLOEXEC);
    assert_int_equal(fgetxattr(fd, "user.color", value, sizeof value), 5);
    assert_memory_equal(value, "bl\0ue", 5);
    close(fd);
}

static void test_deep(void **state)
{
    struct place_for_test *place = *state;
    _cleanup_buf_ struct hf_buf stream = STREAM;
    struct files_result result;
    int at = dup(place->source);
    for (int i = 0; i < HF_MAX_DEPTH + 2; i++) {
        assert_int_equal(mkdirat(at, "d", 0755), 0);
        int next = open_directory(at, "d");
        close(at);
        at = next;
    }
    close(at);
    assert_int_equal(
        send_to(&stream, (struct files_send_options){.dir = place->source, .name = "d"}, &result),
        0);
    assert_int_equal(result.dirs, HF_MAX_DEPTH);
    assert_int_equal(result.problem_count, 1);
    assert_int_equal(result.problems[0].kind, FILES_LOOP);
    files_result_finish(&result);
    struct files_receiver *r =
        receive(&stream, 100, (struct files_receive_options){.dir = place->target});
    assert_int_equal(files_receive_result(r)->error.kind, FILES_OK);
    assert_int_equal(files_receive_result(r)->dirs, HF_MAX_DEPTH);
    assert_int_equal(files_receive_result(r)->problem_count, 1);
    files_receive_destroy(r);
}

static void test_symlinks_are_not_followed(void **state)
{
    struct place_for_test *place = *state;
    _cleanup_buf_ struct hf_buf stream = STREAM;
    struct stat st;
    write_text(place->outside, "secret", "x");
    assert_int_equal(symlinkat("../outside", place->source, "top"), 0);
    send_all(&stream, place->source, "top");
    receive_all(&stream, 100, (struct files_receive_options){.dir = place->target});
    assert_int_equal(fstatat(place->target, "top", &st, AT_SYMLINK_NOFOLLOW), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_null(memmem(stream.data, stream.size, "secret", 6));
    /* Only the top, and only when asked to. */
    stream.size = 0;
    struct files_result result;
    assert_int_equal(symlinkat("../outside", place->outside, "inner"), 0);
    assert_int_equal(send_to(&stream,
                             (struct files_send_options){
                                 .dir = place->source, .name = "top", .follow_top = true},
                             &result),
                     0);
    assert_int_equal(result.files, 1);
    assert_int_equal(result.symlinks, 1);
    files_result_finish(&result);
    /* The symlink that is there now gives way to the directory. */
    receive_all(&stream, 100, (struct files_receive_options){.dir = place->target});
    assert_text(place->target, "top/secret", "x");
    assert_int_equal(count_names(place->outside), 2);
}

static void test_problems(void **state)
{
    struct place_for_test *place = *state;
    _cleanup_buf_ struct hf_buf stream = STREAM;
    struct files_result result;
    struct files_send_options options = {.dir = place->source, .name = "missing"};
    assert_int_equal(send_to(&stream, options, &result), -1);
    assert_int_equal(result.error.kind, FILES_NOT_FOUND);
    files_result_finish(&result);
    struct files_receiver *r =
        receive(&stream, 5, (struct files_receive_options){.dir = place->target});
    assert_int_equal(files_receive_result(r)->error.kind, FILES_NOT_FOUND);
    assert_string_equal(files_receive_result(r)->error.path, "missing");
    files_receive_destroy(r);

    options.name = "..";
    stream.size = 0;
    assert_int_equal(send_to(&stream, options, &result), -1);
    assert_int_equal(result.error.kind, FILES_INVALID_PATH);
    files_result_finish(&result);
    r = receive(&stream, 5, (struct files_receive_options){.dir = place->target});
    assert_int_not_equal(files_receive_result(r)->error.kind, FILES_OK);
    files_receive_destroy(r);
    assert_int_equal(count_names(place->target), 0);
}

static void test_special_files(void **state)
{
    struct place_for_test *place = *state;
    _cleanup_buf_ struct hf_buf stream = STREAM;
    struct stat st;
    assert_int_equal(mkdirat(place->source, "d", 0755), 0);
    assert_int_equal(mkfifoat(place->source, "d/fifo", 0640), 0);
    assert_int_equal(mknodat(place->source, "d/socket", S_IFSOCK | 0600, 0), 0);
    send_all(&stream, place->source, "d");
    for (int fifos = 0; fifos < 2; fifos++) {
        struct files_receiver *r = receive(
            &stream, 9, (struct files_receive_options){.dir = place->target, .fifos = fifos});
        assert_int_equal(files_receive_result(r)->error.kind, FILES_OK);
        assert_int_equal(files_receive_result(r)->skipped, 2 - fifos);
        assert_int_equal(files_receive_result(r)->problem_count, 2 - fifos);
        assert_int_equal(files_receive_result(r)->problems[0].error, ENOTSUP);
        files_receive_destroy(r);
        assert_int_equal(exists(place->target, "d/fifo"), fifos);
        assert_false(exists(place->target, "d/socket"));
    }
    assert_int_equal(fstatat(place->target, "d/fifo", &st, AT_SYMLINK_NOFOLLOW), 0);
    assert_true(S_ISFIFO(st.st_mode));
}

static void test_limits(void **state)
{
    struct place_for_test *place = *state;
    make_tree(place->source);
    for (int bytes = 0; bytes < 2; bytes++) {
        _cleanup_buf_ struct hf_buf stream = STREAM;
        struct files_result result;
        struct files_send_options options = {.dir = place->source, .name = "tree"};
        if (bytes)
            options.max_bytes = KIB(700);
        else
            options.max_entries = 5;
        assert_int_equal(send_to(&stream, options, &result), -1);
        assert_int_equal(result.error.kind, FILES_TOO_LARGE);
        files_result_finish(&result);
        struct files_receiver *r =
            receive(&stream, 5000, (struct files_receive_options){.dir = place->target});
        assert_int_equal(files_receive_result(r)->error.kind, FILES_TOO_LARGE);
        files_receive_destroy(r);
        assert_false(exists(place->target, "tree/big") && bytes);
    }
}

static int refuse(void *data, const void *bytes, size_t size)
{
    return --*(int *)data < 0 ? -1 : 0;
}

static void test_the_other_side_is_gone(void **state)
{
    struct place_for_test *place = *state;
    make_tree(place->source);
    for (int writes = 0; writes < 3; writes++) {
        struct files_result result;
        int left = writes;
        assert_int_equal(files_send(&(struct files_send_options){.dir = place->source,
                                                                 .name = "tree",
                                                                 .write = refuse,
                                                                 .data = &left},
                                    &result),
                         -1);
        assert_int_equal(result.error.error, EPIPE);
        assert_int_equal(left, -1);
        files_result_finish(&result);
    }
}

/* --- a file that changes while it is read ----------------------------------------------------- */

struct cutter {
    struct hf_buf *stream;
    int dir;
};

static int cut_and_write(void *data, const void *bytes, size_t size)
{
    struct cutter *cutter = data;
    _cleanup_close_ int fd = openat(cutter->dir, "d/big", O_WRONLY | O_CLOEXEC);
    assert_int_equal(ftruncate(fd, (off_t)KIB(300)), 0);
    return write_to_buf(cutter->stream, bytes, size);
}

static void test_a_file_that_shrinks(void **state)
{
    struct place_for_test *place = *state;
    _cleanup_buf_ struct hf_buf stream = STREAM;
    struct cutter cutter = {.stream = &stream, .dir = place->source};
    struct files_result result;
    char *big = calloc(1, MIB(2));
    assert_non_null(big);
    memset(big, 'x', MIB(2));
    assert_int_equal(mkdirat(place->source, "d", 0755), 0);
    write_file(place->source, "d/big", big, MIB(2), 0644);
    free(big);
    assert_int_equal(files_send(&(struct files_send_options){.dir = place->source,
                                                             .name = "d",
                                                             .write = cut_and_write,
                                                             .data = &cutter},
                                &result),
                     0);
    assert_int_equal(result.problem_count, 1);
    assert_int_equal(result.problems[0].error, ESTALE);
    assert_string_equal(result.problems[0].path, "d/big");
    files_result_finish(&result);
    struct files_receiver *r =
        receive(&stream, 7000, (struct files_receive_options){.dir = place->target});
    assert_int_equal(files_receive_result(r)->error.kind, FILES_OK);
    assert_int_equal(files_receive_result(r)->skipped, 1);
    files_receive_destroy(r);
    assert_true(exists(place->target, "d"));
    assert_false(exists(place->target, "d/big"));
    assert_clean(place->target);
}

static void test_more_links_than_are_remembered(void **state)
{
    struct place_for_test *place = *state;
    _cleanup_buf_ struct hf_buf stream = STREAM;
    assert_int_equal(mkdirat(place->source, "d", 0755), 0);
    _cleanup_close_ int d = open_directory(place->source, "d");
    for (int i = 0; i < HF_MAX_LINKS + 10; i++) {
        char name[2][16];
        snprintf(name[0], sizeof name[0], "a%d", i);
        snprintf(name[1], sizeof name[1], "b%d", i);
        write_text(d, name[0], "x");
        assert_int_equal(linkat(d, name[0], d, name[1], 0), 0);
    }
    send_all(&stream, place->source, "d");
    struct files_receiver *r =
        receive(&stream, MIB(64), (struct files_receive_options){.dir = place->target});
    const struct files_result *result = files_receive_result(r);
    assert_int_equal(result->error.kind, FILES_OK);
    assert_int_equal(result->hard_links, HF_MAX_LINKS);
    assert_int_equal(result->files, HF_MAX_LINKS + 20);
    files_receive_destroy(r);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, files_setup, files_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_round_trip),
        TEST(test_counts),
        TEST(test_one_file_and_its_name),
        TEST(test_tree_with_another_name),
        TEST(test_sparse),
        TEST(test_xattrs),
        TEST(test_deep),
        TEST(test_symlinks_are_not_followed),
        TEST(test_problems),
        TEST(test_special_files),
        TEST(test_limits),
        TEST(test_the_other_side_is_gone),
        TEST(test_a_file_that_shrinks),
        TEST(test_more_links_than_are_remembered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
