/* SPDX-License-Identifier: Apache-2.0 */
#include "files_helper.h"

static struct hf_frame frame_of(const struct hf_buf *buf)
{
    struct hf_frame frame;
    assert_false(buf->failed);
    assert_int_equal(hf__frame_parse(buf->data, buf->size, &frame), buf->size);
    return frame;
}

static const struct files_entry plain = {
    .type = FILES_REGULAR, .mode = 0644, .size = 10, .path = "a/b", .link = ""};

static bool entry_round(struct files_entry entry, struct files_entry *ret)
{
    _cleanup_buf_ struct hf_buf buf = HF_BUF(MIB(1));
    static char copy[FILES_MAX_RECORD];
    files_put_entry(&buf, &entry);
    struct hf_frame frame = frame_of(&buf);
    memcpy(copy, frame.payload, frame.size);
    frame.payload = (uint8_t *)copy;
    return files_get_entry(&frame, ret);
}

static void test_entry(void **state)
{
    struct files_entry entry = {.type = FILES_REGULAR,
                                .shared = true,
                                .mode = 07755,
                                .uid = 0xfffffffe,
                                .gid = 7,
                                .mtime = -315619200,
                                .mtime_ns = 999999999,
                                .size = INT64_MAX,
                                .path = "a\n\x1b[1m/\xff",
                                .link = ""},
                       got;
    assert_true(entry_round(entry, &got));
    assert_int_equal(got.type, FILES_REGULAR);
    assert_true(got.shared);
    assert_int_equal(got.mode, 07755);
    assert_int_equal(got.uid, 0xfffffffe);
    assert_int_equal(got.gid, 7);
    assert_int_equal(got.mtime, -315619200);
    assert_int_equal(got.mtime_ns, 999999999);
    assert_int_equal(got.size, INT64_MAX);
    assert_string_equal(got.path, entry.path);
    assert_string_equal(got.link, "");
    assert_true(
        entry_round((struct files_entry){.type = FILES_SYMLINK, .path = "l", .link = "/x"}, &got));
    assert_string_equal(got.link, "/x");
}

static void test_entry_that_does_not_fit(void **state)
{
    struct files_entry got, e;
    char *path = malloc(HF_MAX_PATH + 1);
    assert_non_null(path);
    memset(path, 'a', HF_MAX_PATH);
    path[HF_MAX_PATH] = '\0';
    assert_true(entry_round(plain, &got));
    e = plain, e.type = 0, assert_false(entry_round(e, &got));
    e = plain, e.type = 9, assert_false(entry_round(e, &got));
    e = plain, e.mode = 010000, assert_false(entry_round(e, &got));
    e = plain, e.mtime_ns = 1000000000, assert_false(entry_round(e, &got));
    e = plain, e.size = (uint64_t)INT64_MAX + 1, assert_false(entry_round(e, &got));
    e = plain, e.size = UINT64_MAX, assert_false(entry_round(e, &got));
    e = plain, e.link = "x", assert_false(entry_round(e, &got));
    e = plain, e.type = FILES_DIRECTORY, assert_false(entry_round(e, &got));
    e.size = 0, assert_true(entry_round(e, &got));
    e.shared = true, assert_false(entry_round(e, &got));
    e.shared = false, e.type = FILES_SYMLINK, assert_false(entry_round(e, &got));
    e = plain, e.path = path, assert_false(entry_round(e, &got));
    path[HF_MAX_PATH - 1] = '\0', assert_true(entry_round(e, &got));
    free(path);
}

/* No byte may be missing or left over. */
static void test_cut_and_left_over(void **state)
{
    _cleanup_buf_ struct hf_buf buf = HF_BUF(KIB(4));
    struct files_entry entry;
    files_put_entry(&buf, &plain);
    struct hf_frame frame = frame_of(&buf);
    size_t whole = frame.size;
    for (frame.size = 0; frame.size < whole; frame.size++)
        assert_false(files_get_entry(&frame, &entry));
    assert_true(files_get_entry(&frame, &entry));
    frame.size++; /* the buffer's NUL */
    assert_false(files_get_entry(&frame, &entry));
}

static void test_xattr(void **state)
{
    static const char *const wrong[] = {"",
                                        "user",
                                        "user.",
                                        "trusted.overlay.opaque",
                                        "security.capability",
                                        "system.posix_acl_access",
                                        "User.a"};
    _cleanup_buf_ struct hf_buf buf = HF_BUF(MIB(1));
    struct files_xattr got;
    files_put_xattr(&buf, &(struct files_xattr){.name = "user.a", .value = "x\0y", .size = 3});
    struct hf_frame frame = frame_of(&buf);
    assert_true(files_get_xattr(&frame, &got));
    assert_string_equal(got.name, "user.a");
    assert_int_equal(got.size, 3);
    assert_memory_equal(got.value, "x\0y", 3);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        buf.size = 0;
        files_put_xattr(&buf, &(struct files_xattr){.name = wrong[i]});
        frame = frame_of(&buf);
        assert_false(files_get_xattr(&frame, &got));
    }
    static char name[NAME_MAX + 2] = "user.";
    memset(name + 5, 'a', NAME_MAX - 4);
    buf.size = 0;
    files_put_xattr(&buf, &(struct files_xattr){.name = name});
    frame = frame_of(&buf);
    assert_false(files_get_xattr(&frame, &got));
}

static void test_small_records(void **state)
{
    _cleanup_buf_ struct hf_buf buf = HF_BUF(KIB(64));
    struct files_trouble trouble;
    struct files_tree_end end;
    uint64_t sum;
    files_put_file_end(&buf, UINT64_MAX - 1);
    struct hf_frame frame = frame_of(&buf);
    assert_true(files_get_file_end(&frame, &sum));
    assert_int_equal(sum, UINT64_MAX - 1);
    buf.size = 0;
    files_put_problem(&buf, &(struct files_trouble){.error = EACCES, .path = "a"});
    frame = frame_of(&buf);
    assert_true(files_get_problem(&frame, &trouble));
    assert_int_equal(trouble.error, EACCES);
    assert_string_equal(trouble.path, "a");
    for (uint32_t error = 0; error <= 4096; error += 4096) {
        buf.size = 0;
        files_put_problem(&buf, &(struct files_trouble){.error = error, .path = "a"});
        frame = frame_of(&buf);
        assert_false(files_get_problem(&frame, &trouble));
    }
    buf.size = 0;
    files_put_tree_end(&buf,
                       &(struct files_tree_end){.entries = 1, .bytes = 2, .sum = 3, .error = 4});
    frame = frame_of(&buf);
    assert_true(files_get_tree_end(&frame, &end));
    assert_int_equal(end.entries, 1);
    assert_int_equal(end.bytes, 2);
    assert_int_equal(end.sum, 3);
    assert_int_equal(end.error, 4);
}

static void test_peek(void **state)
{
    static const struct {
        uint32_t length;
        uint16_t type;
        uint8_t zero;
        uint32_t channel;
        int want;
    } rows[] = {
        {0, FILES_ENTRY, 0, 0, 1},
        {0, FILES_ENTRY - 1, 0, 0, -1},
        {0, FILES_TREE_END + 1, 0, 0, -1},
        {0, FILES_ENTRY, 1, 0, -1},
        {0, FILES_ENTRY, 0, 1, -1},
        {FILES_MAX_RECORD - HF_FRAME_HEADER, FILES_XATTR, 0, 0, 1},
        {FILES_MAX_RECORD - HF_FRAME_HEADER + 1, FILES_XATTR, 0, 0, -1},
        {8, FILES_DATA, 0, 0, -1}, /* an empty one would be a way to send nothing for ever */
        {9, FILES_DATA, 0, 0, 1},
        {8 + HF_MAX_FILE_DATA, FILES_DATA, 0, 0, 1},
        {9 + HF_MAX_FILE_DATA, FILES_DATA, 0, 0, -1},
        {UINT32_MAX, FILES_DATA, 0, 0, -1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint8_t header[HF_FRAME_HEADER];
        uint16_t type;
        size_t length;
        hf__frame_header(header, rows[i].type, rows[i].channel, rows[i].length);
        header[6] = rows[i].zero;
        assert_int_equal(files_peek(header, 11, &type, &length), 0);
        assert_int_equal(files_peek(header, 12, &type, &length), rows[i].want);
        if (rows[i].want == 1) {
            assert_int_equal(type, rows[i].type);
            assert_int_equal(length, rows[i].length);
        }
    }
}

static void test_path_parts(void **state)
{
    static const struct {
        const char *path;
        unsigned parts;
    } rows[] = {{"a", 1},  {"a/b", 2}, {"...", 1},  {"..a/.b", 2}, {"a\n", 1},  {"\xff\xfe", 1},
                {"", 0},   {"/", 0},   {"/a", 0},   {"a/", 0},     {"a//b", 0}, {".", 0},
                {"..", 0}, {"a/.", 0}, {"a/..", 0}, {"../a", 0},   {"./a", 0},  {"a/../b", 0}};
    char name[NAME_MAX + 2] = "";
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(files_path_parts(rows[i].path), rows[i].parts);
    memset(name, 'a', NAME_MAX);
    assert_int_equal(files_path_parts(name), 1);
    name[NAME_MAX] = 'a';
    assert_int_equal(files_path_parts(name), 0);
    char deep[2 * HF_MAX_DEPTH + 3] = "";
    for (size_t i = 0; i <= HF_MAX_DEPTH; i++)
        memcpy(deep + 2 * i, "a/", 2);
    deep[2 * HF_MAX_DEPTH - 1] = '\0';
    assert_int_equal(files_path_parts(deep), HF_MAX_DEPTH);
    deep[2 * HF_MAX_DEPTH - 1] = '/';
    deep[2 * HF_MAX_DEPTH + 1] = '\0';
    assert_int_equal(files_path_parts(deep), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_entry),
        cmocka_unit_test(test_entry_that_does_not_fit),
        cmocka_unit_test(test_cut_and_left_over),
        cmocka_unit_test(test_xattr),
        cmocka_unit_test(test_small_records),
        cmocka_unit_test(test_peek),
        cmocka_unit_test(test_path_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
