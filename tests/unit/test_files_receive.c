/* SPDX-License-Identifier: Apache-2.0 */
/* A hostile sender, a damaged stream, a directory that changes underneath. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/sys.h"
#include "files_helper.h"

#ifndef RENAME_EXCHANGE
#define RENAME_EXCHANGE (1 << 1)
#endif

/* Feeds it with and without O_TMPFILE; it must end so, and leave nothing temporary. */
static void assert_refused_with(struct place_for_test *place, struct maker *m, enum files_kind kind,
                                struct files_receive_options options)
{
    for (int i = 0; i < 4; i++) {
        options.dir = place->target;
        options.no_tmpfile = i & 1;
        struct files_receiver *r = receive(&m->out, i & 2 ? 1 : MIB(64), options);
        assert_int_equal(files_receive_result(r)->error.kind, kind);
        assert_false(files_receive_done(r));
        /* It stays so. */
        assert_int_equal(files_receive_feed(r, "x", 1), -1);
        assert_int_equal(files_receive_end(r), -1);
        files_receive_destroy(r);
        assert_clean(place->target);
        assert_int_equal(count_names(place->outside), 0);
        assert_int_equal(count_names(place->top), 3);
    }
    hf__buf_finish(&m->out);
}

static void assert_refused(struct place_for_test *place, struct maker *m, enum files_kind kind)
{
    make_tree_end(m);
    assert_refused_with(place, m, kind, (struct files_receive_options){0});
}

/* --- paths ------------------------------------------------------------------------------------ */

static void test_paths_that_lead_out(void **state)
{
    static const char *const paths[] = {
        "/etc/passwd", "../outside/x", "..",   ".", "",    "d/../../outside/x",
        "d/./x",       "d//x",         "d/x/", "/", "//x", "d/..",
    };
    static const enum files_type types[] = {FILES_REGULAR, FILES_DIRECTORY, FILES_FIFO};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        for (size_t j = 0; j < sizeof types / sizeof types[0]; j++) {
            struct maker m = make_stream();
            make_dir(&m, "d", 0755);
            make_entry(&m, (struct files_entry){.type = types[j], .mode = 0644, .path = paths[i]});
            assert_refused(*state, &m, FILES_INVALID_PATH);
        }
}

static void test_names_that_are_too_long_or_deep(void **state)
{
    char path[4 * HF_MAX_DEPTH] = "";
    struct maker m = make_stream();
    memset(path, 'n', 256);
    make_file(&m, path, "x");
    assert_refused(*state, &m, FILES_INVALID_PATH);

    m = make_stream();
    memset(path, 0, sizeof path);
    for (size_t i = 0; i <= HF_MAX_DEPTH; i++) {
        memcpy(path + 2 * i, "d", 2);
        make_dir(&m, path, 0755);
        path[2 * i + 1] = '/';
    }
    assert_refused(*state, &m, FILES_INVALID_PATH);
}

static void test_a_parent_that_is_none(void **state)
{
    struct place_for_test *place = *state;
    struct maker m = make_stream();
    make_file(&m, "d/x", "x");
    assert_refused(place, &m, FILES_PROTOCOL);
    /* There, but not sent. */
    assert_int_equal(mkdirat(place->target, "there", 0755), 0);
    m = make_stream();
    make_file(&m, "there/x", "x");
    assert_refused(place, &m, FILES_PROTOCOL);
    /* A file, a symlink, and a directory that was left before. */
    m = make_stream();
    make_file(&m, "f", "x");
    make_file(&m, "f/x", "x");
    assert_refused(place, &m, FILES_PROTOCOL);
    m = make_stream();
    make_entry(&m,
               (struct files_entry){.type = FILES_SYMLINK, .path = "out", .link = "../outside"});
    make_file(&m, "out/x", "x");
    assert_refused(place, &m, FILES_PROTOCOL);
    m = make_stream();
    make_dir(&m, "a", 0755);
    make_dir(&m, "b", 0755);
    make_file(&m, "a/x", "x");
    assert_refused(place, &m, FILES_PROTOCOL);
    m = make_stream();
    make_dir(&m, "ab", 0755);
    make_file(&m, "a/x", "x");
    assert_refused(place, &m, FILES_PROTOCOL);
}

/* What is at the place already. */
static void test_symlinks_at_the_place(void **state)
{
    struct place_for_test *place = *state;
    struct stat st;
    assert_int_equal(symlinkat("../outside", place->target, "d"), 0);
    assert_int_equal(symlinkat("../outside/made", place->target, "f"), 0);
    assert_int_equal(symlinkat("../outside/made", place->target, "l"), 0);
    struct maker m = make_stream();
    make_dir(&m, "d", 0755);
    make_file(&m, "d/x", "x");
    make_file(&m, "f", "file");
    make_entry(&m, (struct files_entry){.type = FILES_SYMLINK, .path = "l", .link = "new"});
    make_tree_end(&m);
    receive_all(&m.out, 10, (struct files_receive_options){.dir = place->target});
    hf__buf_finish(&m.out);
    assert_int_equal(count_names(place->outside), 0);
    assert_int_equal(fstatat(place->target, "d", &st, AT_SYMLINK_NOFOLLOW), 0);
    assert_true(S_ISDIR(st.st_mode));
    assert_text(place->target, "d/x", "x");
    assert_text(place->target, "f", "file");
    char text[16] = "";
    assert_int_equal(readlinkat(place->target, "l", text, sizeof text), 3);
    assert_string_equal(text, "new");
    assert_clean(place->target);
}

static void test_directories_are_not_replaced(void **state)
{
    struct place_for_test *place = *state;
    assert_int_equal(mkdirat(place->target, "d", 0750), 0);
    write_text(place->target, "d/mine", "mine");
    write_text(place->target, "f", "mine");
    struct maker m = make_stream();
    make_file(&m, "d", "x");
    assert_refused(place, &m, FILES_IS_DIRECTORY);
    m = make_stream();
    make_entry(&m, (struct files_entry){.type = FILES_SYMLINK, .path = "d", .link = "x"});
    assert_refused(place, &m, FILES_IS_DIRECTORY);
    m = make_stream();
    make_dir(&m, "f", 0755);
    assert_refused(place, &m, FILES_NOT_DIRECTORY);
    assert_text(place->target, "f", "mine");
    /* Merged into, and keeps its mode. */
    struct stat st;
    m = make_stream();
    make_dir(&m, "d", 0777);
    make_file(&m, "d/x", "x");
    make_tree_end(&m);
    receive_all(&m.out, 10, (struct files_receive_options){.dir = place->target});
    hf__buf_finish(&m.out);
    assert_text(place->target, "d/mine", "mine");
    assert_text(place->target, "d/x", "x");
    assert_int_equal(fstatat(place->target, "d", &st, 0), 0);
    assert_int_equal(st.st_mode & 07777, 0750);
}

/* --- data ------------------------------------------------------------------------------------- */

static struct maker begin(uint64_t size)
{
    struct maker m = make_stream();
    make_entry(
        &m, (struct files_entry){.type = FILES_REGULAR, .mode = 0644, .path = "f", .size = size});
    return m;
}

static void test_data_at_the_wrong_place(void **state)
{
    static const struct {
        uint64_t size, first, second;
    } rows[] = {
        {4, 0, 1},          {4, 0, 3},         {8, 4, 0},         {8, 0, 7},
        {8, 0, UINT64_MAX}, {8, 8, 8},         {3, 0, 4},         {8, UINT64_MAX - 3, 0},
        {8, 0, 3},          {8, INT64_MAX, 0}, {INT64_MAX, 0, 3},
    };
    struct place_for_test *place = *state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct maker m = begin(rows[i].size);
        make_data(&m, rows[i].first, "abcd", 4);
        make_data(&m, rows[i].second, "efgh", 4);
        make_file_end(&m);
        assert_refused(place, &m, FILES_PROTOCOL);
        assert_false(exists(place->target, "f"));
    }
}

static void test_records_out_of_order(void **state)
{
    struct place_for_test *place = *state;
    struct maker m = make_stream();
    make_data(&m, 0, "x", 1);
    assert_refused(place, &m, FILES_PROTOCOL);
    m = make_stream();
    hf__hash_begin(&m.file, 0);
    make_file_end(&m);
    assert_refused(place, &m, FILES_PROTOCOL);
    m = begin(4);
    make_file(&m, "g", "x");
    assert_refused(place, &m, FILES_PROTOCOL);
    m = begin(4);
    assert_refused(place, &m, FILES_PROTOCOL);
    m = begin(4);
    make_data(&m, 0, "abcd", 4);
    make_xattr(&m, "user.a", "b", 1);
    assert_refused(place, &m, FILES_PROTOCOL);
    m = make_stream();
    make_xattr(&m, "user.a", "b", 1);
    assert_refused(place, &m, FILES_PROTOCOL);
    m = make_stream();
    make_entry(&m, (struct files_entry){.type = FILES_SYMLINK, .path = "l", .link = "x"});
    make_xattr(&m, "user.a", "b", 1);
    assert_refused(place, &m, FILES_PROTOCOL);
    m = begin(0);
    make_xattr(&m, "security.capability", "b", 1);
    assert_refused(place, &m, FILES_PROTOCOL);
    m = begin(0);
    make_file_end(&m);
    make_tree_end(&m);
    assert_refused(place, &m, FILES_PROTOCOL); /* two ends */
}

static void test_wrong_sums(void **state)
{
    struct place_for_test *place = *state;
    struct maker m = begin(4);
    make_data(&m, 0, "abcd", 4);
    files_put_file_end(&m.out, hf__hash_sum(&m.file) ^ 1);
    assert_refused(place, &m, FILES_CHECKSUM);
    assert_false(exists(place->target, "f"));
    m = make_stream();
    make_file(&m, "f", "x");
    m.entries++;
    assert_refused(place, &m, FILES_CHECKSUM);
    m = make_stream();
    make_file(&m, "f", "x");
    m.bytes++;
    assert_refused(place, &m, FILES_CHECKSUM);
    m = make_stream();
    make_file(&m, "f", "x");
    hf__hash_add(&m.tree, "x", 1);
    assert_refused(place, &m, FILES_CHECKSUM);
}

static void test_a_dropped_file(void **state)
{
    struct place_for_test *place = *state;
    struct maker m = begin(4);
    make_data(&m, 0, "ab", 2);
    make_problem(&m, "f", EIO);
    make_file(&m, "g", "x");
    make_tree_end(&m);
    struct files_receiver *r =
        receive(&m.out, 3, (struct files_receive_options){.dir = place->target});
    const struct files_result *result = files_receive_result(r);
    assert_int_equal(result->error.kind, FILES_OK);
    assert_int_equal(result->problem_count, 1);
    assert_int_equal(result->problems[0].error, EIO);
    assert_string_equal(result->problems[0].path, "f");
    assert_int_equal(result->skipped, 1);
    assert_int_equal(result->files, 1);
    assert_int_equal(result->bytes, 1);
    files_receive_destroy(r);
    hf__buf_finish(&m.out);
    assert_int_equal(count_names(place->target), 1);
}

static void test_many_problems(void **state)
{
    struct place_for_test *place = *state;
    struct maker m = make_stream();
    for (int i = 0; i < 1000; i++)
        make_problem(&m, "p", EACCES);
    make_tree_end(&m);
    struct files_receiver *r =
        receive(&m.out, 100, (struct files_receive_options){.dir = place->target});
    assert_int_equal(files_receive_result(r)->problem_count, 1000);
    assert_int_equal(files_receive_result(r)->error.kind, FILES_OK);
    files_receive_destroy(r);
    assert_refused_with(place, &m, FILES_TOO_LARGE,
                        (struct files_receive_options){.max_entries = 999});
}

/* --- limits ----------------------------------------------------------------------------------- */

static void test_limits(void **state)
{
    struct place_for_test *place = *state;
    struct maker m = make_stream();
    make_file(&m, "a", "12345");
    make_file(&m, "b", "12345");
    make_tree_end(&m);
    receive_all(
        &m.out, 10,
        (struct files_receive_options){.dir = place->target, .max_entries = 2, .max_bytes = 10});
    struct hf_buf copy = STREAM;
    hf__buf_append(&copy, m.out.data, m.out.size);
    assert_refused_with(place, &m, FILES_TOO_LARGE, (struct files_receive_options){.max_bytes = 9});
    m.out = copy;
    assert_refused_with(place, &m, FILES_TOO_LARGE,
                        (struct files_receive_options){.max_entries = 1});
    /* A size alone costs nothing, but a file system has its own idea of what is too large. */
    m = begin(INT64_MAX);
    make_data(&m, 0, "x", 1);
    make_file_end(&m);
    make_tree_end(&m);
    struct files_receiver *r =
        receive(&m.out, 10, (struct files_receive_options){.dir = place->target});
    enum files_kind kind = files_receive_result(r)->error.kind;
    assert_true(kind == FILES_OK || kind == FILES_TOO_LARGE || kind == FILES_SYSTEM);
    files_receive_destroy(r);
    hf__buf_finish(&m.out);
}

static void test_a_full_file_system(void **state)
{
    struct place_for_test *place = *state;
    pid_t child = fork();
    if (child == 0) {
        /* EFBIG stands for all that write() may say. */
        signal(SIGXFSZ, SIG_IGN);
        const struct rlimit limit = {2, 2};
        setrlimit(RLIMIT_FSIZE, &limit);
        struct maker m = make_stream();
        make_file(&m, "f", "12345");
        make_tree_end(&m);
        struct files_receiver *r =
            receive(&m.out, 10, (struct files_receive_options){.dir = place->target});
        bool good = files_receive_result(r)->error.kind == FILES_TOO_LARGE &&
                    files_receive_result(r)->error.error == EFBIG;
        _exit(good ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(count_names(place->target), 0);
    assert_int_equal(files_kind_of(ENOSPC), FILES_NO_SPACE);
    assert_int_equal(files_kind_of(EDQUOT), FILES_NO_SPACE);
    assert_int_equal(files_kind_of(EROFS), FILES_READ_ONLY);
    assert_int_equal(files_kind_of(EACCES), FILES_PERMISSION_DENIED);
    assert_string_equal(files_kind_name(FILES_NO_SPACE), "no_space");
    assert_string_equal(files_kind_name(FILES_SYSTEM), "system");
}

/* --- links, modes, nodes ---------------------------------------------------------------------- */

static void test_hard_links_to_what_was_not_sent(void **state)
{
    static const char *const targets[] = {"mine", "sent", "d", "l", "d/none"};
    struct place_for_test *place = *state;
    struct stat st;
    write_text(place->target, "mine", "not sent");
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        struct maker m = make_stream();
        make_file(&m, "sent", "but not marked as shared");
        make_entry(&m, (struct files_entry){.type = FILES_SYMLINK, .path = "l", .link = "mine"});
        make_dir(&m, "d", 0755);
        make_entry(
            &m, (struct files_entry){.type = FILES_HARD_LINK, .path = "d/h", .link = targets[i]});
        assert_refused(place, &m, FILES_PROTOCOL);
        assert_false(exists(place->target, "d/h"));
    }
    assert_int_equal(fstatat(place->target, "mine", &st, 0), 0);
    assert_int_equal(st.st_nlink, 1);
    static const char *const out[] = {"../outside/x", "/etc/passwd"};
    for (size_t i = 0; i < 2; i++) {
        struct maker m = make_stream();
        make_entry(&m, (struct files_entry){.type = FILES_HARD_LINK, .path = "h", .link = out[i]});
        assert_refused(place, &m, FILES_INVALID_PATH);
    }
}

/* The first name was sent, and is something else by now. */
static void test_a_hard_link_to_what_was_exchanged(void **state)
{
    struct place_for_test *place = *state;
    struct stat st;
    struct maker m = make_stream();
    make_dir(&m, "d", 0755);
    make_entry(&m,
               (struct files_entry){
                   .type = FILES_REGULAR, .shared = true, .mode = 0644, .size = 1, .path = "d/a"});
    make_data(&m, 0, "x", 1);
    make_file_end(&m);
    size_t first = m.out.size;
    make_entry(&m, (struct files_entry){.type = FILES_HARD_LINK, .path = "h", .link = "d/a"});
    make_tree_end(&m);
    write_text(place->outside, "a", "secret");
    for (int how = 0; how < 3; how++) {
        struct files_receiver *r =
            files_receive_create(&(struct files_receive_options){.dir = place->target});
        assert_int_equal(files_receive_feed(r, m.out.data, first), 0);
        assert_int_equal(unlinkat(place->target, "d/a", 0), 0);
        if (how == 0) {
            assert_int_equal(linkat(place->outside, "a", place->target, "d/a", 0), 0);
        } else if (how == 1) {
            assert_int_equal(symlinkat("../../outside/a", place->target, "d/a"), 0);
        } else {
            assert_int_equal(renameat(place->target, "d", place->target, "e"), 0);
            assert_int_equal(symlinkat("../outside", place->target, "d"), 0);
        }
        assert_int_equal(files_receive_feed(r, m.out.data + first, m.out.size - first), 0);
        assert_int_equal(files_receive_end(r), 0);
        assert_int_equal(files_receive_result(r)->problem_count, 1);
        assert_int_equal(files_receive_result(r)->hard_links, 0);
        files_receive_destroy(r);
        assert_false(exists(place->target, "h"));
        (void)unlinkat(place->target, "d/a", 0);
    }
    hf__buf_finish(&m.out);
    assert_int_equal(fstatat(place->outside, "a", &st, 0), -1); /* the last one, by way of "d" */
}

static mode_t mode_of(int dir, const char *name)
{
    struct stat st;
    assert_int_equal(fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW), 0);
    return st.st_mode & 07777;
}

static void test_special_bits(void **state)
{
    struct place_for_test *place = *state;
    struct maker m = make_stream();
    make_dir(&m, "d", 07777);
    make_entry(&m, (struct files_entry){.type = FILES_REGULAR, .mode = 07755, .path = "d/f"});
    make_file_end(&m);
    make_tree_end(&m);
    receive_all(&m.out, 10, (struct files_receive_options){.dir = place->target});
    assert_int_equal(mode_of(place->target, "d"), 01777);
    assert_int_equal(mode_of(place->target, "d/f"), 0755);
    receive_all(&m.out, 10,
                (struct files_receive_options){
                    .dir = place->target, .keep_special = true, .top_name = "e"});
    assert_int_equal(mode_of(place->target, "e"), 07777);
    assert_int_equal(mode_of(place->target, "e/f"), 07755);
    hf__buf_finish(&m.out);
}

static void test_the_mode_that_was_there(void **state)
{
    struct place_for_test *place = *state;
    struct maker m = make_stream();
    make_file(&m, "f", "new");
    make_tree_end(&m);
    for (int i = 0; i < 2; i++) {
        write_file(place->target, "f", "old", 3, 0751);
        receive_all(&m.out, 10,
                    (struct files_receive_options){
                        .dir = place->target, .keep_existing_mode = true, .no_tmpfile = i});
        assert_text(place->target, "f", "new");
        assert_int_equal(mode_of(place->target, "f"), 0751);
    }
    receive_all(&m.out, 10, (struct files_receive_options){.dir = place->target});
    assert_int_equal(mode_of(place->target, "f"), 0644);
    hf__buf_finish(&m.out);
}

static void test_owners(void **state)
{
    struct place_for_test *place = *state;
    struct stat st;
    if (geteuid() != 0) {
        print_message("skip: machine: only root gives files away\n");
        skip();
    }
    struct maker m = make_stream();
    make_entry(&m, (struct files_entry){
                       .type = FILES_DIRECTORY, .mode = 0755, .uid = 7, .gid = 8, .path = "d"});
    make_entry(&m, (struct files_entry){
                       .type = FILES_REGULAR, .mode = 04755, .uid = 5, .gid = 6, .path = "d/f"});
    make_file_end(&m);
    make_entry(&m, (struct files_entry){
                       .type = FILES_SYMLINK, .uid = 3, .gid = 4, .path = "d/l", .link = "f"});
    make_tree_end(&m);
    receive_all(
        &m.out, 10,
        (struct files_receive_options){.dir = place->target, .owners = true, .keep_special = true});
    assert_int_equal(fstatat(place->target, "d", &st, 0), 0);
    assert_int_equal(st.st_uid, 7);
    assert_int_equal(st.st_gid, 8);
    assert_int_equal(fstatat(place->target, "d/f", &st, 0), 0);
    assert_int_equal(st.st_uid, 5);
    assert_int_equal(st.st_mode & 07777, 04755);
    assert_int_equal(fstatat(place->target, "d/l", &st, AT_SYMLINK_NOFOLLOW), 0);
    assert_int_equal(st.st_gid, 4);
    receive_all(&m.out, 10, (struct files_receive_options){.dir = place->target, .top_name = "e"});
    assert_int_equal(fstatat(place->target, "e/f", &st, 0), 0);
    assert_int_equal(st.st_uid, 0);
    hf__buf_finish(&m.out);
}

static void test_nodes(void **state)
{
    static const enum files_type types[] = {FILES_FIFO, FILES_CHARACTER, FILES_BLOCK, FILES_SOCKET};
    struct place_for_test *place = *state;
    for (size_t i = 0; i < 4; i++) {
        struct maker m = make_stream();
        make_entry(&m, (struct files_entry){.type = types[i], .mode = 0666, .path = "n"});
        make_tree_end(&m);
        struct files_receiver *r = receive(
            &m.out, 10, (struct files_receive_options){.dir = place->target, .fifos = i > 0});
        assert_int_equal(files_receive_result(r)->error.kind, FILES_OK);
        assert_int_equal(files_receive_result(r)->skipped, 1);
        files_receive_destroy(r);
        hf__buf_finish(&m.out);
        assert_int_equal(count_names(place->target), 0);
    }
}

static void test_top_name(void **state)
{
    struct place_for_test *place = *state;
    struct maker m = make_stream();
    make_file(&m, "a", "x");
    make_file(&m, "b", "x");
    make_tree_end(&m);
    struct hf_buf copy = STREAM;
    hf__buf_append(&copy, m.out.data, m.out.size);
    assert_refused_with(place, &m, FILES_PROTOCOL,
                        (struct files_receive_options){.top_name = "one"});
    m.out = copy;
    assert_refused_with(place, &m, FILES_INVALID_PATH,
                        (struct files_receive_options){.top_name = "../outside/x"});
}

/* --- damage ----------------------------------------------------------------------------------- */

static struct maker small_tree(void)
{
    struct maker m = make_stream();
    make_dir(&m, "d", 0755);
    make_file(&m, "d/a", "first");
    make_entry(&m,
               (struct files_entry){
                   .type = FILES_REGULAR, .shared = true, .mode = 0600, .size = 20, .path = "d/b"});
    make_data(&m, 3, "second", 6);
    make_data(&m, 11, "third", 5);
    make_file_end(&m);
    make_entry(&m, (struct files_entry){.type = FILES_SYMLINK, .path = "d/l", .link = "a"});
    make_entry(&m, (struct files_entry){.type = FILES_HARD_LINK, .path = "d/h", .link = "d/b"});
    make_problem(&m, "d/p", EACCES);
    make_tree_end(&m);
    return m;
}

static const char second[] = "\0\0\0second\0\0third\0\0\0\0";

/* If it is there under its name, it is whole. */
static void assert_whole(int target, const char *name, const void *want, size_t size)
{
    _cleanup_free_ char *data = NULL;
    size_t got;
    if (hf__read_file_at(target, name, KIB(4), &data, &got) < 0)
        return;
    assert_int_equal(got, size);
    assert_memory_equal(data, want, size);
}

static void empty_target(struct place_for_test *place)
{
    assert_int_equal(hf__remove_tree_at(place->top, "target"), 0);
    close(place->target);
    assert_int_equal(mkdirat(place->top, "target", 0755), 0);
    place->target = open_directory(place->top, "target");
}

static void test_truncated_everywhere(void **state)
{
    struct place_for_test *place = *state;
    struct maker m = small_tree();
    size_t whole = m.out.size;
    for (size_t cut = 0; cut <= whole; cut++) {
        m.out.size = cut;
        struct files_receiver *r =
            receive(&m.out, 50,
                    (struct files_receive_options){.dir = place->target, .no_tmpfile = cut & 1});
        assert_int_equal(files_receive_result(r)->error.kind,
                         cut == whole ? FILES_OK : FILES_PROTOCOL);
        files_receive_destroy(r);
        assert_clean(place->target);
        assert_whole(place->target, "d/a", "first", 5);
        assert_whole(place->target, "d/b", second, 20);
        assert_whole(place->target, "d/h", second, 20);
        empty_target(place);
    }
    hf__buf_finish(&m.out);
}

/* Of every bit of the stream: either it is noticed, or it made no difference. */
static void test_every_bit_flipped(void **state)
{
    struct place_for_test *place = *state;
    struct maker m = small_tree();
    for (size_t bit = 0; bit < 8 * m.out.size; bit++) {
        m.out.data[bit / 8] ^= (char)(1 << bit % 8);
        struct files_receiver *r =
            receive(&m.out, MIB(1), (struct files_receive_options){.dir = place->target});
        if (files_receive_result(r)->error.kind == FILES_OK)
            fail_msg("bit %zu went unnoticed", bit);
        files_receive_destroy(r);
        m.out.data[bit / 8] ^= (char)(1 << bit % 8);
        assert_whole(place->target, "d/a", "first", 5);
        assert_whole(place->target, "d/b", second, 20);
        assert_int_equal(count_names(place->outside), 0);
        assert_int_equal(count_names(place->top), 3);
        empty_target(place);
    }
    hf__buf_finish(&m.out);
}

/* Killed with SIGKILL at any moment: a file is there whole, or it is not. */
static void test_killed(void **state)
{
    struct place_for_test *place = *state;
    char text[4096];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    struct maker m = make_stream();
    make_dir(&m, "d", 0755);
    for (int i = 0; i < 2000; i++) {
        char path[32];
        snprintf(path, sizeof path, "d/%d", i);
        make_file(&m, path, text);
    }
    make_tree_end(&m);
    for (int round = 0; round < 12; round++) {
        pid_t child = fork();
        if (child == 0) {
            struct files_receiver *r = receive(
                &m.out, 3000,
                (struct files_receive_options){.dir = place->target, .no_tmpfile = round & 1});
            _exit(files_receive_result(r)->error.kind);
        }
        usleep((useconds_t)(round / 2) * 4000 + 500);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        for (int i = 0; i < 2000; i++) {
            char path[32];
            snprintf(path, sizeof path, "d/%d", i);
            assert_whole(place->target, path, text, sizeof text - 1);
        }
        if (round >= 6)
            empty_target(place); /* before, over what is there */
    }
    hf__buf_finish(&m.out);
}

/* --- a directory that is exchanged for a symlink ---------------------------------------------- */

struct exchanger {
    int dir;
    atomic_bool stop;
    unsigned long count;
};

static void *exchange(void *data)
{
    struct exchanger *exchanger = data;
    while (!atomic_load(&exchanger->stop)) {
        if (sys_renameat2(exchanger->dir, "d", exchanger->dir, "evil", RENAME_EXCHANGE) == 0)
            exchanger->count++;
    }
    return NULL;
}

/* Each directory entry is looked up again, in the middle of the exchange; whatever is found there,
 * nothing may come to be where the symlink leads. */
static void test_race(void **state)
{
    struct place_for_test *place = *state;
    struct exchanger exchanger = {.dir = place->target};
    pthread_t thread;
    assert_int_equal(mkdirat(place->target, "d", 0755), 0);
    assert_int_equal(symlinkat("../outside", place->target, "evil"), 0);
    assert_int_equal(pthread_create(&thread, NULL, exchange, &exchanger), 0);
    struct maker m = make_stream();
    for (int i = 0; i < 10000; i++) {
        char path[32];
        if (i % 10 == 0)
            make_dir(&m, "d", 0755);
        if (i % 100 == 0)
            make_dir(&m, "d/sub", 0755);
        snprintf(path, sizeof path, i % 100 < 10 ? "d/sub/%d" : "d/%d", i);
        make_file(&m, path, "x");
    }
    make_tree_end(&m);
    struct files_receiver *r =
        receive(&m.out, 500, (struct files_receive_options){.dir = place->target});
    enum files_kind kind = files_receive_result(r)->error.kind;
    files_receive_destroy(r);
    atomic_store(&exchanger.stop, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    hf__buf_finish(&m.out);
    assert_int_equal(count_names(place->outside), 0);
    assert_int_equal(count_names(place->top), 3);
    assert_true(kind == FILES_OK || kind == FILES_LOOP);
    assert_true(exchanger.count > 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, files_setup, files_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_paths_that_lead_out),
        TEST(test_names_that_are_too_long_or_deep),
        TEST(test_a_parent_that_is_none),
        TEST(test_symlinks_at_the_place),
        TEST(test_directories_are_not_replaced),
        TEST(test_data_at_the_wrong_place),
        TEST(test_records_out_of_order),
        TEST(test_wrong_sums),
        TEST(test_a_dropped_file),
        TEST(test_many_problems),
        TEST(test_limits),
        TEST(test_a_full_file_system),
        TEST(test_hard_links_to_what_was_not_sent),
        TEST(test_a_hard_link_to_what_was_exchanged),
        TEST(test_special_bits),
        TEST(test_the_mode_that_was_there),
        TEST(test_owners),
        TEST(test_nodes),
        TEST(test_top_name),
        TEST(test_truncated_everywhere),
        TEST(test_every_bit_flipped),
        TEST(test_killed),
        TEST(test_race),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
