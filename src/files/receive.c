/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records in, files out. What is kept of the stream is bounded: one record that is not complete
 * (the bytes of files go to the file as they come, and are never gathered), a line of open
 * directories, the paths of files that have more names, and the first problems.
 *
 * The line of directories is where everything happens. An entry must lie in one of them; those
 * behind that one are complete and get their final mode and time, which may be read-only. So nothing
 * is ever looked up by a path that a stranger may have changed since, except the first name of a hard
 * link: that is opened part by part and must still be the inode that was received.
 */
#include "files/receive.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "files/links.h"
#include "files/place.h"
#include "files/stream.h"

struct level {
    int fd;
    size_t path_size;
    bool made; /* by us: mode, owner and time are ours to set */
    struct files_meta meta;
};

enum state { BETWEEN, IN_FILE, DONE, FAILED };

struct files_receiver {
    struct files_receive_options options;
    struct files_result result;
    enum state state;
    struct hf_buf held; /* the beginning of a record */
    size_t data_left;   /* of the DATA record that is being read */
    struct hf_hash tree, file_sum;
    uint64_t entries, bytes, problems; /* received */
    uint64_t stored;                   /* counts against max_bytes */
    struct links links;
    struct place place;

    struct new_file file;
    struct files_meta meta;
    bool shared;
    uint64_t size, next; /* of the file; where the next byte may be */
    uint64_t before;     /* `bytes` when it began */

    int xattr_fd;     /* of the entry before, for its attributes; negative: they are not wanted */
    bool xattrs_due;  /* only right after their entry */
    bool has_top;     /* a top entry was received */
    char *top_name;   /* options.top_name, ours */
    const char *name; /* the last part of `path` */
    char path[HF_MAX_PATH];      /* of the entry */
    char line_path[HF_MAX_PATH]; /* of the last of the line of directories, as it was sent */
    int dir;                     /* the last of the line */
    size_t depth;
    struct level levels[HF_MAX_DEPTH + 1]; /* the line; the first is options.dir */
};

/* --- errors and the end ----------------------------------------------------------------------- */

static void leave(struct files_receiver *r)
{
    struct level *level = &r->levels[r->depth--];
    if (level->made) {
        if (place_set_meta(level->fd, &level->meta, r->options.owners) < 0) {
            r->line_path[level->path_size] = '\0';
            files_problem(&r->result, errno, r->line_path);
        }
    }
    close(level->fd);
    r->dir = level[-1].fd;
}

/* Nothing temporary stays, and directories get the mode they were to have. */
static void wind_up(struct files_receiver *r, enum state state)
{
    place_drop_file(r->dir, &r->file);
    while (r->depth > 0)
        leave(r);
    r->state = state;
}

static int fail(struct files_receiver *r, enum files_kind kind, int error)
{
    (void)files_fail(&r->result, kind, error, r->path[0] ? r->path : NULL);
    wind_up(r, FAILED);
    return -1;
}

static int fail_sys(struct files_receiver *r)
{
    return fail(r, files_kind_of(errno), errno);
}

static int protocol(struct files_receiver *r)
{
    return fail(r, FILES_PROTOCOL, 0);
}

static int skip(struct files_receiver *r, int error)
{
    files_problem(&r->result, error, r->path);
    r->result.skipped++;
    return 0;
}

/* False if this is more than was allowed. */
static bool account(struct files_receiver *r, uint64_t size)
{
    if (r->options.max_bytes > 0 && size > r->options.max_bytes - r->stored)
        return false;
    r->stored += size;
    return true;
}

static bool too_many(const struct files_receiver *r)
{
    return r->options.max_entries > 0 && r->entries + r->problems > r->options.max_entries;
}

/* --- regular files ---------------------------------------------------------------------------- */

static int begin_file(struct files_receiver *r, const struct files_entry *entry)
{
    if (entry->shared && !links_room(&r->links, r->path))
        return protocol(r);
    if (place_open_file(&r->place, r->dir, &r->file) < 0)
        return fail_sys(r);
    r->shared = entry->shared;
    r->size = entry->size;
    r->next = 0;
    r->before = r->bytes;
    r->xattr_fd = r->file.fd;
    r->state = IN_FILE;
    return 0;
}

static int begin_data(struct files_receiver *r, const uint8_t *record, size_t size)
{
    struct hf_cursor in = hf__cursor(record + HF_FRAME_HEADER, 8);
    uint64_t offset = hf__get_u64(&in);
    if (r->state != IN_FILE || offset < r->next || offset > r->size || size > r->size - offset)
        return protocol(r);
    if (!account(r, size))
        return fail(r, FILES_TOO_LARGE, EFBIG);
    hf__hash_add(&r->file_sum, record + HF_FRAME_HEADER, 8);
    r->next = offset;
    r->data_left = size;
    r->bytes += size;
    r->xattrs_due = false;
    return 0;
}

static int on_data(struct files_receiver *r, const uint8_t *bytes, size_t size)
{
    hf__hash_add(&r->file_sum, bytes, size);
    r->data_left -= size;
    while (size > 0) {
        ssize_t n = pwrite(r->file.fd, bytes, size, (off_t)r->next);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail_sys(r);
        bytes += n;
        size -= (size_t)n;
        r->next += (uint64_t)n;
    }
    return 0;
}

static void adopt_mode(struct files_receiver *r)
{
    struct stat st;
    if (fstatat(r->dir, r->name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
        r->meta.mode = st.st_mode & (r->options.keep_special ? 07777 : 0777);
}

static int on_file_end(struct files_receiver *r, const struct hf_frame *frame)
{
    uint64_t sum;
    struct stat st;
    if (r->state != IN_FILE || !files_get_file_end(frame, &sum))
        return protocol(r);
    if (sum != hf__hash_sum(&r->file_sum))
        return fail(r, FILES_CHECKSUM, 0);
    if (r->next < r->size && ftruncate(r->file.fd, (off_t)r->size) < 0)
        return fail_sys(r);
    if (r->options.keep_existing_mode)
        adopt_mode(r);
    if (place_set_meta(r->file.fd, &r->meta, r->options.owners) < 0)
        files_problem(&r->result, errno, r->path);
    if (place_file(&r->place, r->dir, &r->file, r->name) < 0)
        return fail_sys(r);
    if (r->shared && (fstat(r->file.fd, &st) < 0 || !links_add(&r->links, r->path, &st)))
        return fail(r, FILES_SYSTEM, ENOMEM);
    place_drop_file(r->dir, &r->file);
    r->result.files++;
    r->result.bytes += r->bytes - r->before;
    r->state = BETWEEN;
    return 0;
}

/* --- everything else -------------------------------------------------------------------------- */

static int on_directory(struct files_receiver *r, const struct files_entry *entry)
{
    struct level *level = &r->levels[r->depth + 1];
    bool made;
    int fd = place_dir(r->dir, r->name, &made);
    if (fd < 0)
        return fail_sys(r);
    *level =
        (struct level){.fd = fd, .path_size = strlen(entry->path), .made = made, .meta = r->meta};
    /* The path as it was sent: that is what its entries will say. */
    memcpy(r->line_path, entry->path, level->path_size + 1);
    r->depth++;
    r->dir = fd;
    r->xattr_fd = made ? fd : -EBADF;
    r->result.dirs++;
    return 0;
}

static int on_hard_link(struct files_receiver *r, const struct files_entry *entry)
{
    const struct links_row *row = links_find(&r->links, entry->link, NULL);
    struct stat st;
    if (!row)
        return protocol(r);
    _cleanup_close_ int fd = place_find(r->levels[0].fd, entry->link, r->top_name);
    if (fd >= 0 && fstat(fd, &st) == 0) {
        /* Somebody has put something else there, perhaps with the number of what was freed. */
        if (!S_ISREG(st.st_mode) || st.st_dev != row->device || st.st_ino != row->inode)
            return skip(r, ESTALE);
        if (place_thing(&r->place, r->dir, &(struct thing){.fd = fd}, r->name) == 0) {
            r->result.hard_links++;
            return 0;
        }
        if (errno == EISDIR || files_kind_of(errno) == FILES_NO_SPACE)
            return fail_sys(r);
    }
    return skip(r, errno);
}

/* What has the symlink's name now may be something else. It must be a symlink to be given away. */
static int chown_symlink(struct files_receiver *r)
{
    struct stat st;
    _cleanup_close_ int fd = openat(r->dir, r->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISLNK(st.st_mode))
        return 0;
    return fchownat(fd, "", r->meta.uid, r->meta.gid, AT_EMPTY_PATH);
}

static int on_symlink(struct files_receiver *r, const struct files_entry *entry)
{
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, r->meta.mtime};
    if (place_thing(&r->place, r->dir, &(struct thing){.text = entry->link}, r->name) < 0)
        return fail_sys(r);
    r->result.symlinks++;
    if (r->options.owners && chown_symlink(r) < 0)
        files_problem(&r->result, errno, r->path);
    (void)utimensat(r->dir, r->name, times, AT_SYMLINK_NOFOLLOW);
    return 0;
}

static int on_node(struct files_receiver *r, const struct files_entry *entry)
{
    const struct thing fifo = {.fd = -EBADF, .fifo = r->meta.mode & 0777};
    if (entry->type != FILES_FIFO || !r->options.fifos)
        return skip(r, ENOTSUP);
    if (place_thing(&r->place, r->dir, &fifo, r->name) < 0)
        return fail_sys(r);
    /* Opened for reading a fifo waits for nobody; and if it is none any more, it is left alone. */
    struct stat st;
    _cleanup_close_ int fd =
        openat(r->dir, r->name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISFIFO(st.st_mode) ||
        place_set_meta(fd, &r->meta, r->options.owners) < 0)
        files_problem(&r->result, errno, r->path);
    return 0;
}

/* Goes back along the line to the directory that the entry is in. False if it is not there. */
static bool find_parent(struct files_receiver *r, const struct files_entry *entry)
{
    const char *slash = strrchr(entry->path, '/');
    size_t size = slash ? (size_t)(slash - entry->path) : 0;
    while (r->depth > 0 &&
           (r->levels[r->depth].path_size != size || memcmp(r->line_path, entry->path, size) != 0))
        leave(r);
    return r->depth > 0 || size == 0;
}

/* What the entry is about: r->path, r->name and r->meta. */
static int look_at(struct files_receiver *r, const struct files_entry *entry)
{
    memcpy(r->path, entry->path, strlen(entry->path) + 1);
    if (files_path_parts(r->path) == 0 ||
        (entry->type == FILES_HARD_LINK && files_path_parts(entry->link) == 0))
        return fail(r, FILES_INVALID_PATH, 0);
    if (too_many(r))
        return fail(r, FILES_TOO_LARGE, EFBIG);
    if (!find_parent(r, entry))
        return protocol(r);
    const char *slash = strrchr(r->path, '/');
    r->name = slash ? slash + 1 : r->path;
    if (!slash && r->top_name) {
        if (r->has_top)
            return protocol(r); /* two cannot have the one name */
        r->name = r->top_name;
    }
    r->has_top = true;
    mode_t kept = r->options.keep_special ? 07777 : entry->type == FILES_DIRECTORY ? 01777 : 0777;
    r->meta = (struct files_meta){
        .mode = entry->mode & kept,
        .uid = entry->uid,
        .gid = entry->gid,
        .mtime = {.tv_sec = entry->mtime, .tv_nsec = entry->mtime_ns},
    };
    return 0;
}

static int on_entry(struct files_receiver *r, const struct hf_frame *frame)
{
    struct files_entry entry;
    if (r->state != BETWEEN || !files_get_entry(frame, &entry))
        return protocol(r);
    r->entries++;
    if (look_at(r, &entry) < 0)
        return -1;
    hf__hash_begin(&r->file_sum, 0);
    files_sum_record(&r->file_sum, frame);
    files_sum_record(&r->tree, frame);
    r->xattr_fd = -EBADF;
    r->xattrs_due = entry.type == FILES_REGULAR || entry.type == FILES_DIRECTORY;
    switch (entry.type) {
    case FILES_REGULAR:
        return begin_file(r, &entry);
    case FILES_DIRECTORY:
        return on_directory(r, &entry);
    case FILES_SYMLINK:
        return on_symlink(r, &entry);
    case FILES_HARD_LINK:
        return on_hard_link(r, &entry);
    default:
        return on_node(r, &entry);
    }
}

static int on_xattr(struct files_receiver *r, const struct hf_frame *frame)
{
    struct files_xattr xattr;
    if (!r->xattrs_due || !files_get_xattr(frame, &xattr))
        return protocol(r);
    if (!account(r, frame->size))
        return fail(r, FILES_TOO_LARGE, EFBIG);
    files_sum_record(&r->file_sum, frame);
    files_sum_record(&r->tree, frame);
    if (r->xattr_fd >= 0 && fsetxattr(r->xattr_fd, xattr.name, xattr.value, xattr.size, 0) < 0)
        r->result.xattrs_lost++;
    return 0;
}

static int on_problem(struct files_receiver *r, const struct hf_frame *frame)
{
    struct files_trouble trouble;
    if (!files_get_problem(frame, &trouble))
        return protocol(r);
    r->problems++;
    if (too_many(r))
        return fail(r, FILES_TOO_LARGE, EFBIG);
    files_sum_record(&r->tree, frame);
    files_problem(&r->result, (int)trouble.error, trouble.path);
    r->result.skipped++;
    place_drop_file(r->dir, &r->file);
    r->xattrs_due = false;
    r->state = BETWEEN;
    return 0;
}

static int on_tree_end(struct files_receiver *r, const struct hf_frame *frame)
{
    struct files_tree_end end;
    if (r->state != BETWEEN || !files_get_tree_end(frame, &end))
        return protocol(r);
    r->path[0] = '\0';
    if (end.entries != r->entries || end.bytes != r->bytes ||
        end.sum != hf__hash_sum(&r->tree) + end.error)
        return fail(r, FILES_CHECKSUM, 0);
    if (end.error) {
        /* Its last problem tells where, if there were not too many to keep it. */
        uint64_t last = r->result.problem_count;
        const char *path =
            last > 0 && last <= HF_MAX_PROBLEMS ? r->result.problems[last - 1].path : NULL;
        (void)files_fail(&r->result, files_kind_of((int)end.error), (int)end.error, path);
        wind_up(r, FAILED);
        return -1;
    }
    wind_up(r, DONE);
    return 0;
}

/* --- bytes into records ----------------------------------------------------------------------- */

static int on_record(struct files_receiver *r, const struct hf_frame *frame)
{
    switch (frame->type) {
    case FILES_ENTRY:
        return on_entry(r, frame);
    case FILES_XATTR:
        return on_xattr(r, frame);
    case FILES_FILE_END:
        r->xattrs_due = false;
        return on_file_end(r, frame);
    case FILES_PROBLEM:
        return on_problem(r, frame);
    default:
        return on_tree_end(r, frame);
    }
}

/* What is at the start of `bytes`: how much of it was used, 0 with how much is needed while that is
 * more, -1 on errors. */
static ssize_t take_record(struct files_receiver *r, const uint8_t *bytes, size_t size,
                           size_t *ret_needed)
{
    struct hf_frame frame;
    uint16_t type;
    size_t length;
    int peeked = files_peek(bytes, size, &type, &length);
    if (peeked < 0)
        return protocol(r);
    *ret_needed = peeked == 0          ? HF_FRAME_HEADER
                  : type == FILES_DATA ? FILES_DATA_HEADER
                                       : HF_FRAME_HEADER + length;
    if (size < *ret_needed || peeked == 0)
        return 0;
    if (type == FILES_DATA)
        return begin_data(r, bytes, length - 8) < 0 ? -1 : FILES_DATA_HEADER;
    ssize_t used = hf__frame_parse(bytes, size, &frame);
    if (used <= 0)
        return protocol(r);
    return on_record(r, &frame) < 0 ? -1 : used;
}

/* The same where the beginning of the record is held: adds to it what is missing. */
static ssize_t take_held(struct files_receiver *r, const uint8_t *bytes, size_t size)
{
    size_t needed, added = 0;
    for (;;) {
        ssize_t used = take_record(r, (uint8_t *)r->held.data, r->held.size, &needed);
        if (used < 0)
            return -1;
        if (used > 0) {
            r->held.size = 0;
            return (ssize_t)added;
        }
        size_t take = needed - r->held.size;
        if (take > size - added)
            take = size - added;
        if (take == 0)
            return (ssize_t)added;
        hf__buf_append(&r->held, bytes + added, take);
        if (r->held.failed)
            return fail(r, FILES_SYSTEM, ENOMEM);
        added += take;
    }
}

int files_receive_feed(struct files_receiver *r, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    while (size > 0) {
        size_t needed;
        ssize_t used;
        if (r->state == DONE)
            return protocol(r);
        if (r->state == FAILED)
            return -1;
        if (r->data_left > 0) {
            used = (ssize_t)(size < r->data_left ? size : r->data_left);
            if (on_data(r, at, (size_t)used) < 0)
                return -1;
        } else if (r->held.size > 0) {
            used = take_held(r, at, size);
        } else {
            used = take_record(r, at, size, &needed);
            if (used == 0) {
                hf__buf_append(&r->held, at, size);
                used = r->held.failed ? fail(r, FILES_SYSTEM, ENOMEM) : (ssize_t)size;
            }
        }
        if (used < 0)
            return -1;
        at += used;
        size -= (size_t)used;
    }
    return r->state == FAILED ? -1 : 0;
}

/* --- the outside ------------------------------------------------------------------------------ */

struct files_receiver *files_receive_create(const struct files_receive_options *options)
{
    struct files_receiver *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    r->options = *options;
    r->file.fd = -EBADF;
    r->xattr_fd = -EBADF;
    r->held = HF_BUF(FILES_MAX_RECORD);
    r->levels[0].fd = r->dir = options->dir;
    place_init(&r->place, options->no_tmpfile);
    hf__hash_begin(&r->tree, 0);
    if (options->top_name && !(r->top_name = strdup(options->top_name))) {
        free(r);
        return NULL;
    }
    if (r->top_name && files_path_parts(r->top_name) != 1) {
        (void)files_fail(&r->result, FILES_INVALID_PATH, 0, r->top_name);
        r->state = FAILED;
    }
    return r;
}

bool files_receive_done(const struct files_receiver *r)
{
    return r->state == DONE;
}

int files_receive_end(struct files_receiver *r)
{
    if (r->state == DONE)
        return 0;
    return r->state == FAILED ? -1 : fail(r, FILES_PROTOCOL, EPIPE);
}

const struct files_result *files_receive_result(const struct files_receiver *r)
{
    return &r->result;
}

void files_receive_destroy(struct files_receiver *r)
{
    if (!r)
        return;
    wind_up(r, FAILED);
    files_result_finish(&r->result);
    links_finish(&r->links);
    hf__buf_finish(&r->held);
    free(r->top_name);
    free(r);
}
