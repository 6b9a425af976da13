/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A loop over a line of open directories: the one at its end is read, a directory in it makes the
 * line longer. So depth costs neither stack nor a search, nothing is looked up by a path of several
 * parts, and no more than HF_MAX_DEPTH descriptors are open.
 *
 * Records are built in one buffer and written when it is full. The bytes of a file are read to where
 * they stand in their record: they are copied by read() and by write() and not in between, and a
 * thousand small files are a few writes.
 */
#include "files/send.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "base/cleanup.h"
#include "base/sys.h"
#include "files/links.h"
#include "files/stream.h"

/* A file of this size or less is read in one piece. */
#define SMALL_FILE KIB(32)
_Static_assert(HF_FILES_BATCH >= 2 * FILES_MAX_RECORD, "every record fits an empty buffer");

struct level {
    int fd;
    size_t path_size;
    size_t at, end; /* in names */
    _Alignas(struct dirent) char names[KIB(8)];
};

struct sender {
    const struct files_send_options *options;
    struct files_result *result;
    struct hf_buf out;
    struct hf_hash tree, file; /* sums */
    uint64_t entries, bytes;   /* sent */
    struct links links;
    bool gone;      /* the other side: there is nobody to tell anything */
    bool no_xattrs; /* the file system `xattr_device` has none */
    dev_t xattr_device;
    char path[HF_MAX_PATH];
    size_t path_size;
    size_t depth;
    struct level *levels[HF_MAX_DEPTH];
    char scratch[KIB(64)]; /* the text of a symlink, or names of attributes */
};

static int flush(struct sender *s)
{
    if (s->gone)
        return -1;
    if (s->out.failed)
        return files_fail(s->result, FILES_SYSTEM, ENOMEM, NULL);
    if (s->out.size > 0 && s->options->write(s->options->data, s->out.data, s->out.size) < 0) {
        s->gone = true;
        return files_fail(s->result, FILES_SYSTEM, EPIPE, NULL);
    }
    s->out.size = 0;
    return 0;
}

static int make_room(struct sender *s, size_t size)
{
    return HF_FILES_BATCH - s->out.size < size ? flush(s) : 0;
}

/* Adds the record that begins at `mark` to the sums. */
static void sum_up(struct sender *s, size_t mark)
{
    if (s->out.failed)
        return;
    hf__hash_add(&s->tree, s->out.data + mark, s->out.size - mark);
    hf__hash_add(&s->file, s->out.data + mark, s->out.size - mark);
}

/* What is at s->path cannot be sent, and the rest goes on. */
static int problem(struct sender *s, int error)
{
    files_problem(s->result, error, s->path);
    s->result->skipped++;
    if (make_room(s, FILES_MAX_RECORD) < 0)
        return -1;
    size_t mark = s->out.size;
    files_put_problem(&s->out, &(struct files_trouble){.error = (uint32_t)error, .path = s->path});
    sum_up(s, mark);
    return 0;
}

static int put_entry(struct sender *s, const struct stat *st, struct files_entry *entry)
{
    if (s->options->max_entries > 0 && s->entries >= s->options->max_entries)
        return files_fail(s->result, FILES_TOO_LARGE, EFBIG, s->path);
    if (make_room(s, FILES_MAX_RECORD) < 0)
        return -1;
    entry->mode = st->st_mode & 07777;
    entry->uid = st->st_uid;
    entry->gid = st->st_gid;
    entry->mtime = st->st_mtim.tv_sec;
    entry->mtime_ns = (uint32_t)st->st_mtim.tv_nsec;
    entry->path = s->path;
    size_t mark = s->out.size;
    hf__hash_begin(&s->file, 0);
    files_put_entry(&s->out, entry);
    sum_up(s, mark);
    s->entries++;
    return 0;
}

/* --- attributes ------------------------------------------------------------------------------- */

static int put_xattr(struct sender *s, int fd, const char *name)
{
    if (make_room(s, FILES_MAX_RECORD) < 0)
        return -1;
    size_t mark = s->out.size;
    files_put_xattr(&s->out, &(struct files_xattr){.name = name});
    char *value = hf__buf_reserve(&s->out, HF_MAX_XATTR);
    ssize_t size = value ? fgetxattr(fd, name, value, HF_MAX_XATTR) : -1;
    if (size < 0) {
        /* Gone since it was listed. */
        s->out.size = mark;
        return 0;
    }
    s->out.size += (size_t)size;
    hf__frame_end(&s->out, mark);
    sum_up(s, mark);
    return 0;
}

static int put_xattrs(struct sender *s, int fd, dev_t device)
{
    if (!s->options->xattrs || (s->no_xattrs && s->xattr_device == device))
        return 0;
    ssize_t size = flistxattr(fd, s->scratch, sizeof s->scratch);
    s->no_xattrs = size < 0 && errno == ENOTSUP;
    s->xattr_device = device;
    for (ssize_t at = 0; at < size; at += (ssize_t)strlen(s->scratch + at) + 1) {
        const char *name = s->scratch + at;
        if (strncmp(name, "user.", 5) == 0 && name[5] != '\0' && put_xattr(s, fd, name) < 0)
            return -1;
    }
    return 0;
}

/* --- regular files ---------------------------------------------------------------------------- */

/* One DATA record with what is at [from, to) of the file, or a part of it. Returns how much, 0 with
 * errno where it cannot be read, -1 to stop. */
static ssize_t put_data(struct sender *s, int fd, uint64_t from, uint64_t to)
{
    uint64_t left = to - from;
    size_t wanted = left < SMALL_FILE ? (size_t)left : SMALL_FILE;
    if (make_room(s, FILES_DATA_HEADER + wanted) < 0)
        return -1;
    size_t room = HF_FILES_BATCH - s->out.size - FILES_DATA_HEADER;
    if (room > HF_MAX_FILE_DATA)
        room = HF_MAX_FILE_DATA;
    uint8_t *record = (uint8_t *)s->out.data + s->out.size;
    ssize_t size;
    do
        size = pread(fd, record + FILES_DATA_HEADER, left < room ? left : room, (off_t)from);
    while (size < 0 && errno == EINTR);
    if (size <= 0) {
        if (size == 0)
            errno = ESTALE; /* it was longer when it was opened */
        return 0;
    }
    if (s->options->max_bytes > 0 && (uint64_t)size > s->options->max_bytes - s->bytes)
        return files_fail(s->result, FILES_TOO_LARGE, EFBIG, s->path);
    files_data_header(record, from, (size_t)size);
    /* The header's length is left out: the receiver adds raw bytes as they come. */
    hf__hash_add(&s->file, record + HF_FRAME_HEADER, (size_t)size + 8);
    s->out.size += FILES_DATA_HEADER + (size_t)size;
    s->bytes += (uint64_t)size;
    return size;
}

/* The next part of the file that is no hole; false at its end. */
static bool next_extent(int fd, const struct stat *st, uint64_t at, uint64_t *from, uint64_t *to)
{
    uint64_t size = (uint64_t)st->st_size;
    *from = at;
    *to = size;
    if (at >= size)
        return false;
    if ((uint64_t)st->st_blocks >= size / 512)
        return true;
    off_t data = lseek(fd, (off_t)at, SEEK_DATA);
    if (data < 0)
        return errno != ENXIO; /* a file system that does not know: all of it is data */
    off_t hole = lseek(fd, data, SEEK_HOLE);
    *from = (uint64_t)data;
    if (hole > data && (uint64_t)hole < size)
        *to = (uint64_t)hole;
    return *from < size;
}

/* 1 if all was sent, 0 with errno where it cannot be read, -1 to stop. */
static int put_content(struct sender *s, int fd, const struct stat *st)
{
    uint64_t at = 0, from, to;
    while (next_extent(fd, st, at, &from, &to)) {
        for (at = from; at < to;) {
            ssize_t size = put_data(s, fd, at, to);
            if (size <= 0)
                return (int)size;
            at += (uint64_t)size;
        }
    }
    return 1;
}

/* Files of the kernel say that they are empty, and are not. Counted, with an end: some never end. */
static void find_size(int fd, struct stat *st)
{
    char piece[4096];
    uint64_t size = 0;
    ssize_t got;
    while (size < HF_MAX_KERNEL_FILE && (got = pread(fd, piece, sizeof piece, (off_t)size)) > 0)
        size += (uint64_t)got;
    st->st_size = (off_t)size;
    st->st_blocks = (blkcnt_t)(size / 512 + 1);
}

static int send_regular(struct sender *s, int fd, struct stat *st)
{
    const struct links_row *first = NULL;
    if (st->st_size == 0)
        find_size(fd, st);
    struct files_entry entry = {.type = FILES_REGULAR, .size = (uint64_t)st->st_size};
    if (st->st_nlink > 1)
        first = links_find(&s->links, NULL, st);
    if (first) {
        entry = (struct files_entry){.type = FILES_HARD_LINK, .link = first->path};
        s->result->hard_links++;
        return put_entry(s, st, &entry);
    }
    entry.shared = st->st_nlink > 1 && links_room(&s->links, s->path);
    if (put_entry(s, st, &entry) < 0 || put_xattrs(s, fd, st->st_dev) < 0)
        return -1;
    uint64_t before = s->bytes;
    int r = put_content(s, fd, st);
    if (r <= 0)
        return r < 0 ? -1 : problem(s, errno);
    if (make_room(s, FILES_MAX_RECORD) < 0)
        return -1;
    files_put_file_end(&s->out, hf__hash_sum(&s->file));
    if (entry.shared)
        (void)links_add(&s->links, s->path, st);
    s->result->files++;
    s->result->bytes += s->bytes - before;
    return 0;
}

/* --- everything else -------------------------------------------------------------------------- */

/* Takes the descriptor over. */
static int enter(struct sender *s, int fd, const struct stat *st)
{
    _cleanup_close_ int dir = fd;
    if (s->depth == HF_MAX_DEPTH)
        return problem(s, ELOOP);
    if (put_entry(s, st, &(struct files_entry){.type = FILES_DIRECTORY}) < 0 ||
        put_xattrs(s, dir, st->st_dev) < 0)
        return -1;
    s->result->dirs++;
    struct level *level = malloc(sizeof *level);
    if (!level)
        return files_fail(s->result, FILES_SYSTEM, ENOMEM, s->path);
    level->fd = TAKE_FD(dir);
    level->path_size = s->path_size;
    level->at = level->end = 0;
    s->levels[s->depth++] = level;
    return 0;
}

static void leave(struct sender *s)
{
    struct level *level = s->levels[--s->depth];
    close(level->fd);
    free(level);
}

static int send_symlink(struct sender *s, int dir, const char *name, const struct stat *st)
{
    ssize_t size = readlinkat(dir, name, s->scratch, HF_MAX_PATH);
    if (size <= 0 || size >= HF_MAX_PATH)
        return problem(s, size < 0 ? errno : ENAMETOOLONG);
    s->scratch[size] = '\0';
    s->result->symlinks++;
    return put_entry(s, st, &(struct files_entry){.type = FILES_SYMLINK, .link = s->scratch});
}

/* What is named so in `dir`, of which the path is in s->path. `type` is what the directory says. */
static int send_one(struct sender *s, int dir, const char *name, unsigned char type, bool follow)
{
    struct stat st;
    if (type != DT_REG && type != DT_DIR) {
        /* Nothing else is opened: for a device or a fifo that alone may do something. */
        if (fstatat(dir, name, &st, follow ? 0 : AT_SYMLINK_NOFOLLOW) < 0)
            return problem(s, errno);
        if (S_ISLNK(st.st_mode))
            return send_symlink(s, dir, name, &st);
        if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
            return put_entry(s, &st, &(struct files_entry){.type = files_type_of(st.st_mode)});
        type = S_ISREG(st.st_mode) ? DT_REG : DT_DIR;
    }
    int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW);
    _cleanup_close_ int fd = openat(dir, name, flags | (type == DT_DIR ? O_DIRECTORY : 0));
    if (fd < 0 || fstat(fd, &st) < 0)
        return problem(s, errno);
    if (type == DT_DIR)
        return enter(s, TAKE_FD(fd), &st);
    /* It may have been exchanged since the directory was read. */
    return S_ISREG(st.st_mode) ? send_regular(s, fd, &st) : problem(s, ESTALE);
}

static int send_next(struct sender *s, struct level *level)
{
    if (level->at == level->end) {
        long size = sys_getdents(level->fd, level->names, sizeof level->names);
        if (size <= 0) {
            s->path[level->path_size] = '\0';
            int error = errno;
            leave(s);
            return size == 0 ? 0 : problem(s, error);
        }
        level->at = 0;
        level->end = (size_t)size;
    }
    const struct dirent *entry = (const void *)(level->names + level->at);
    level->at += entry->d_reclen;
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
        return 0;
    size_t size = strlen(entry->d_name);
    if (size >= sizeof s->path - level->path_size - 1) {
        s->path[level->path_size] = '\0';
        return problem(s, ENAMETOOLONG);
    }
    s->path[level->path_size] = '/';
    memcpy(s->path + level->path_size + 1, entry->d_name, size + 1);
    s->path_size = level->path_size + 1 + size;
    return send_one(s, level->fd, entry->d_name, entry->d_type, false);
}

static int send_tree(struct sender *s)
{
    const char *slash = strrchr(s->options->name, '/');
    const char *top = s->options->top_name ? s->options->top_name
                      : slash              ? slash + 1
                                           : s->options->name;
    if (files_path_parts(top) != 1)
        return files_fail(s->result, FILES_INVALID_PATH, 0, s->options->name);
    s->path_size = strlen(top);
    memcpy(s->path, top, s->path_size + 1);
    if (send_one(s, s->options->dir, s->options->name, DT_UNKNOWN, s->options->follow_top) < 0)
        return -1;
    while (s->depth > 0)
        if (send_next(s, s->levels[s->depth - 1]) < 0)
            return -1;
    /* There was nothing but a problem: that is what came of it. */
    if (s->entries == 0) {
        const struct files_error *why = &s->result->problems[0];
        return files_fail(s->result, why->kind, why->error, s->path);
    }
    return 0;
}

/* The last record says so if this was not all. */
static void send_end(struct sender *s)
{
    const struct files_error *why = &s->result->error;
    if (make_room(s, FILES_MAX_RECORD) < 0)
        return;
    /* The receiver may be in the middle of a file. */
    if (why->kind != FILES_OK && s->entries > 0)
        (void)problem(s, why->error ? why->error : EINVAL);
    struct files_tree_end end = {.entries = s->entries, .bytes = s->bytes};
    if (why->kind != FILES_OK)
        end.error = why->error ? (uint32_t)why->error : EINVAL;
    end.sum = hf__hash_sum(&s->tree) + end.error;
    files_put_tree_end(&s->out, &end);
    (void)flush(s);
}

int files_send(const struct files_send_options *options, struct files_result *ret_result)
{
    *ret_result = (struct files_result){0};
    _cleanup_free_ struct sender *s = calloc(1, sizeof *s);
    if (!s)
        return files_fail(ret_result, FILES_SYSTEM, ENOMEM, NULL);
    s->options = options;
    s->result = ret_result;
    s->out = HF_BUF(HF_FILES_BATCH);
    hf__hash_begin(&s->tree, 0);
    if (!hf__buf_reserve(&s->out, HF_FILES_BATCH) || send_tree(s) < 0)
        (void)files_fail(ret_result, FILES_SYSTEM, ENOMEM, NULL);
    send_end(s);
    while (s->depth > 0)
        leave(s);
    links_finish(&s->links);
    hf__buf_finish(&s->out);
    return ret_result->error.kind == FILES_OK ? 0 : -1;
}
