/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of src/files share: a place with three directories, streams made by hand, and a
 * receiver that is fed from memory. */
#ifndef HF_UNIT_FILES_HELPER_H
#define HF_UNIT_FILES_HELPER_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "files/receive.h"
#include "files/send.h"
#include "files/stream.h"

struct place_for_test {
    char path[64];
    int top, source, target, outside;
};

static inline int open_directory(int dir, const char *name)
{
    return openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static inline int files_setup(void **state)
{
    struct place_for_test *place = calloc(1, sizeof *place);
    if (!place)
        return -1;
    snprintf(place->path, sizeof place->path, "/tmp/hf-files-test-XXXXXX");
    if (!mkdtemp(place->path))
        return -1;
    place->top = open_directory(AT_FDCWD, place->path);
    if (mkdirat(place->top, "source", 0755) < 0 || mkdirat(place->top, "target", 0755) < 0 ||
        mkdirat(place->top, "outside", 0755) < 0)
        return -1;
    place->source = open_directory(place->top, "source");
    place->target = open_directory(place->top, "target");
    place->outside = open_directory(place->top, "outside");
    *state = place;
    return place->outside < 0 ? -1 : 0;
}

static inline int files_teardown(void **state)
{
    struct place_for_test *place = *state;
    close(place->source);
    close(place->target);
    close(place->outside);
    close(place->top);
    int r = hf__remove_tree_at(AT_FDCWD, place->path);
    free(place);
    return r;
}

static inline void write_file(int dir, const char *name, const void *data, size_t size, mode_t mode)
{
    _cleanup_close_ int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(hf__write_all(fd, data, size), 0);
    assert_int_equal(fchmod(fd, mode), 0);
}

static inline void write_text(int dir, const char *name, const char *text)
{
    write_file(dir, name, text, strlen(text), 0644);
}

static inline void assert_text(int dir, const char *name, const char *text)
{
    _cleanup_free_ char *data = NULL;
    size_t size;
    assert_int_equal(hf__read_file_at(dir, name, MIB(1), &data, &size), 0);
    assert_int_equal(size, strlen(text));
    assert_memory_equal(data, text, size);
}

static inline bool exists(int dir, const char *name)
{
    struct stat st;
    return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static inline unsigned count_names(int dir)
{
    unsigned count = 0;
    _cleanup_closedir_ DIR *stream = fdopendir(open_directory(dir, "."));
    assert_non_null(stream);
    for (struct dirent *entry; (entry = readdir(stream));)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    return count;
}

/* Nothing but what a test put there itself, and no temporary names. */
static inline void assert_clean(int dir)
{
    _cleanup_closedir_ DIR *stream = fdopendir(open_directory(dir, "."));
    assert_non_null(stream);
    for (struct dirent *entry; (entry = readdir(stream));) {
        assert_int_not_equal(strncmp(entry->d_name, ".hf-", 4), 0);
        if (entry->d_type == DT_DIR && entry->d_name[0] != '.') {
            _cleanup_close_ int child = open_directory(dir, entry->d_name);
            if (child >= 0)
                assert_clean(child);
        }
    }
}

/* --- sending to memory ------------------------------------------------------------------------ */

#define STREAM HF_BUF(MIB(64))

static inline int write_to_buf(void *data, const void *bytes, size_t size)
{
    struct hf_buf *buf = data;
    hf__buf_append(buf, bytes, size);
    return buf->failed ? -1 : 0;
}

static inline int send_to(struct hf_buf *stream, struct files_send_options options,
                          struct files_result *ret_result)
{
    options.write = write_to_buf;
    options.data = stream;
    return files_send(&options, ret_result);
}

static inline void send_all(struct hf_buf *stream, int dir, const char *name)
{
    struct files_result result;
    assert_int_equal(send_to(stream,
                             (struct files_send_options){.dir = dir, .name = name, .xattrs = true},
                             &result),
                     0);
    assert_int_equal(result.problem_count, 0);
    files_result_finish(&result);
}

/* --- receiving from memory -------------------------------------------------------------------- */

/* The caller destroys the receiver. `piece` bytes at a time. */
static inline struct files_receiver *receive(const struct hf_buf *stream, size_t piece,
                                             struct files_receive_options options)
{
    struct files_receiver *r = files_receive_create(&options);
    assert_non_null(r);
    for (size_t at = 0; at < stream->size; at += piece) {
        size_t size = stream->size - at < piece ? stream->size - at : piece;
        /* A copy of exactly this size: the sanitizer sees the first byte past it. */
        char *copy = malloc(size);
        assert_non_null(copy);
        memcpy(copy, stream->data + at, size);
        int stop = files_receive_feed(r, copy, size);
        free(copy);
        if (stop < 0)
            break;
    }
    (void)files_receive_end(r);
    return r;
}

static inline void receive_all(const struct hf_buf *stream, size_t piece,
                               struct files_receive_options options)
{
    struct files_receiver *r = receive(stream, piece, options);
    const struct files_result *result = files_receive_result(r);
    if (result->error.kind != FILES_OK)
        print_message("%s %d %s\n", files_kind_name(result->error.kind), result->error.error,
                      result->error.path ? result->error.path : "");
    assert_int_equal(result->error.kind, FILES_OK);
    files_receive_destroy(r);
}

/* --- streams by hand -------------------------------------------------------------------------- */

struct maker {
    struct hf_buf out;
    struct hf_hash tree, file;
    uint64_t entries, bytes;
};

static inline struct maker make_stream(void)
{
    struct maker m = {.out = STREAM};
    hf__hash_begin(&m.tree, 0);
    return m;
}

static inline void make_entry(struct maker *m, struct files_entry entry)
{
    size_t mark = m->out.size;
    if (!entry.link)
        entry.link = "";
    files_put_entry(&m->out, &entry);
    hf__hash_begin(&m->file, 0);
    hf__hash_add(&m->file, m->out.data + mark, m->out.size - mark);
    hf__hash_add(&m->tree, m->out.data + mark, m->out.size - mark);
    m->entries++;
}

static inline void make_xattr(struct maker *m, const char *name, const void *value, size_t size)
{
    size_t mark = m->out.size;
    files_put_xattr(&m->out, &(struct files_xattr){.name = name, .value = value, .size = size});
    hf__hash_add(&m->file, m->out.data + mark, m->out.size - mark);
    hf__hash_add(&m->tree, m->out.data + mark, m->out.size - mark);
}

static inline void make_data(struct maker *m, uint64_t offset, const void *data, size_t size)
{
    uint8_t header[FILES_DATA_HEADER];
    files_data_header(header, offset, size);
    hf__buf_append(&m->out, header, sizeof header);
    hf__buf_append(&m->out, data, size);
    hf__hash_add(&m->file, header + HF_FRAME_HEADER, 8);
    hf__hash_add(&m->file, data, size);
    m->bytes += size;
}

static inline void make_file_end(struct maker *m)
{
    files_put_file_end(&m->out, hf__hash_sum(&m->file));
}

static inline void make_problem(struct maker *m, const char *path, uint32_t error)
{
    size_t mark = m->out.size;
    files_put_problem(&m->out, &(struct files_trouble){.error = error, .path = path});
    hf__hash_add(&m->tree, m->out.data + mark, m->out.size - mark);
}

static inline void make_tree_end(struct maker *m)
{
    files_put_tree_end(&m->out, &(struct files_tree_end){.entries = m->entries,
                                                         .bytes = m->bytes,
                                                         .sum = hf__hash_sum(&m->tree)});
}

static inline void make_dir(struct maker *m, const char *path, uint32_t mode)
{
    make_entry(m, (struct files_entry){.type = FILES_DIRECTORY, .mode = mode, .path = path});
}

static inline void make_file(struct maker *m, const char *path, const char *text)
{
    size_t size = strlen(text);
    make_entry(
        m, (struct files_entry){.type = FILES_REGULAR, .mode = 0644, .path = path, .size = size});
    if (size > 0)
        make_data(m, 0, text, size);
    make_file_end(m);
}

#endif
