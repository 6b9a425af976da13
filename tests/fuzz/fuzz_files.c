/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hostile sender against the receiver, with real files in a private directory. Every decoded record
 * is encoded again, too. After each run nothing may be outside of the target, and nothing temporary
 * in it.
 *
 * No fuzzer finds a right checksum. The first byte of the input says whether the sums of the stream
 * are put right before it is fed, so that what lies behind them is reached; the second, how it is
 * received.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "files/receive.h"
#include "files/stream.h"
#include "fuzz.h"

#define ENCODED HF_BUF(2 * HF_MAX_FRAME)

static void on_entry(const struct hf_frame *frame)
{
    struct files_entry entry;
    struct hf_buf again = ENCODED;
    if (!files_get_entry(frame, &entry))
        return;
    CHECK(entry.size <= INT64_MAX);
    fuzz_check_string(frame, entry.path);
    fuzz_check_string(frame, entry.link);
    files_put_entry(&again, &entry);
    fuzz_check_same(frame, &again);
}

static void on_xattr(const struct hf_frame *frame)
{
    struct files_xattr xattr;
    struct hf_buf again = ENCODED;
    if (!files_get_xattr(frame, &xattr))
        return;
    CHECK(strncmp(xattr.name, "user.", 5) == 0);
    fuzz_check_string(frame, xattr.name);
    CHECK(fuzz_inside(frame, xattr.value, xattr.size));
    files_put_xattr(&again, &xattr);
    fuzz_check_same(frame, &again);
}

static void on_problem(const struct hf_frame *frame)
{
    struct files_trouble trouble;
    struct hf_buf again = ENCODED;
    if (!files_get_problem(frame, &trouble))
        return;
    fuzz_check_string(frame, trouble.path);
    files_put_problem(&again, &trouble);
    fuzz_check_same(frame, &again);
}

static void on_frame(const struct hf_frame *frame)
{
    if (frame->channel != 0)
        return;
    if (frame->type == FILES_ENTRY)
        on_entry(frame);
    else if (frame->type == FILES_XATTR)
        on_xattr(frame);
    else if (frame->type == FILES_PROBLEM)
        on_problem(frame);
}

/* --- sums ------------------------------------------------------------------------------------- */

struct sums {
    struct hf_hash tree, file;
    struct files_tree_end end;
};

static void store_u64(uint8_t *to, uint64_t value)
{
    for (int i = 0; i < 8; i++)
        to[i] = (uint8_t)(value >> (8 * i));
}

/* `frame` lies in memory that is ours to change. */
static void put_right(struct sums *sums, const struct hf_frame *frame)
{
    uint8_t *payload = (uint8_t *)frame->payload;
    switch (frame->type) {
    case FILES_ENTRY:
        hf__hash_begin(&sums->file, 0);
        sums->end.entries++;
        __attribute__((fallthrough));
    case FILES_XATTR:
        files_sum_record(&sums->file, frame);
        __attribute__((fallthrough));
    case FILES_PROBLEM:
        files_sum_record(&sums->tree, frame);
        break;
    case FILES_DATA:
        hf__hash_add(&sums->file, payload, frame->size);
        sums->end.bytes += frame->size >= 8 ? frame->size - 8 : 0;
        break;
    case FILES_FILE_END:
        if (frame->size == 8)
            store_u64(payload, hf__hash_sum(&sums->file));
        break;
    case FILES_TREE_END:
        if (files_get_tree_end(frame, &(struct files_tree_end){0})) {
            uint32_t error = payload[24] | (uint32_t)payload[25] << 8;
            store_u64(payload, sums->end.entries);
            store_u64(payload + 8, sums->end.bytes);
            store_u64(payload + 16, hf__hash_sum(&sums->tree) + error);
        }
        break;
    default:
        break;
    }
}

static void put_sums_right(uint8_t *data, size_t size)
{
    struct sums sums = {0};
    struct hf_frame frame;
    hf__hash_begin(&sums.tree, 0);
    hf__hash_begin(&sums.file, 0);
    for (ssize_t length; (length = hf__frame_parse(data, size, &frame)) > 0;) {
        put_right(&sums, &frame);
        data += length;
        size -= (size_t)length;
    }
}

/* --- the place -------------------------------------------------------------------------------- */

static char place[64];
static int top = -1;

static void remove_place(void)
{
    (void)hf__remove_tree_at(AT_FDCWD, place);
}

/* In memory where there is such a file system: a run is mostly system calls. */
static void make_place(void)
{
    snprintf(place, sizeof place, "/dev/shm/hf-fuzz-XXXXXX");
    if (!mkdtemp(place)) {
        snprintf(place, sizeof place, "/tmp/hf-fuzz-XXXXXX");
        CHECK(mkdtemp(place) != NULL);
    }
    top = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK(top >= 0 && mkdirat(top, "outside", 0755) == 0);
    CHECK(atexit(remove_place) == 0);
}

/* Names in a directory; none may be a temporary one. */
static unsigned names_in(int dir, const char *name)
{
    unsigned count = 0;
    _cleanup_closedir_ DIR *stream = fdopendir(openat(dir, name, O_RDONLY | O_DIRECTORY));
    CHECK(stream != NULL);
    for (struct dirent *entry; (entry = readdir(stream));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            CHECK(strncmp(entry->d_name, ".hf-", 4) != 0);
            count++;
        }
    return count;
}

/* Traps: a symlink to the outside, a file, and a directory with something in it. */
static int make_target(void)
{
    CHECK(mkdirat(top, "target", 0755) == 0);
    int target = openat(top, "target", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK(target >= 0 && symlinkat("../outside", target, "l") == 0);
    CHECK(mkdirat(target, "d", 0755) == 0 && symlinkat("../../outside", target, "d/l") == 0);
    _cleanup_close_ int file = openat(target, "f", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    CHECK(file >= 0 && write(file, "0123456789", 10) == 10);
    return target;
}

static void run(const uint8_t *data, size_t size, uint8_t how)
{
    int target = make_target();
    struct files_receive_options options = {
        .dir = target,
        .no_tmpfile = how & 1,
        .keep_special = how & 2,
        .keep_existing_mode = how & 4,
        .fifos = how & 8,
        .top_name = how & 32 ? "l" : NULL,
        .max_bytes = MIB(1),
        .max_entries = 64,
    };
    size_t piece = how & 64 ? 1 : how & 128 ? 50 : size;
    struct files_receiver *r = files_receive_create(&options);
    CHECK(r != NULL);
    for (size_t at = 0; at < size; at += piece)
        if (files_receive_feed(r, data + at, size - at < piece ? size - at : piece) < 0)
            break;
    int end = files_receive_end(r);
    CHECK((end == 0) == files_receive_done(r));
    CHECK((end == 0) == (files_receive_result(r)->error.kind == FILES_OK));
    files_receive_destroy(r);
    close(target);
    CHECK(names_in(top, ".") == 2 && names_in(top, "outside") == 0);
    /* Unless the stream had the idea. */
    if (!memmem(data, size, ".hf-", 4))
        (void)names_in(top, "target");
    CHECK(hf__remove_tree_at(top, "target") == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (top < 0)
        make_place();
    if (size < 2)
        return 0;
    size_t length = size - 2;
    uint8_t *copy = malloc(length ? length : 1);
    CHECK(copy != NULL);
    memcpy(copy, data + 2, length);
    if (data[0] & 1)
        put_sums_right(copy, length);
    fuzz_stream(copy, length, on_frame);
    run(copy, length, data[1]);
    free(copy);
    return 0;
}
