/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Archives to and from a box. libarchive reads and writes them, in whatever format and compression it
 * knows; between here and the box goes the same stream as for every other copy, so an archive has no
 * rights that a tree would not have. It is loaded when it is first needed: it brings ten libraries
 * with it, which no other command shall pay for.
 */
#include <archive.h>
#include <archive_entry.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "box/copy.h"
#include "files/result.h"
#include "files/stream.h"

#define LIBRARY "libarchive.so.13"
#define CHUNK KIB(64)
/* Directories of an archive whose attributes are remembered. */
#define MAX_DIRECTORIES 8192

#define FUNCTIONS(X)                                                                               \
    X(archive_read_new)                                                                            \
    X(archive_read_support_format_all)                                                             \
    X(archive_read_support_filter_all)                                                             \
    X(archive_read_open_fd)                                                                        \
    X(archive_read_next_header)                                                                    \
    X(archive_read_data)                                                                           \
    X(archive_read_free)                                                                           \
    X(archive_write_new)                                                                           \
    X(archive_write_set_format_pax_restricted)                                                     \
    X(archive_write_set_bytes_in_last_block)                                                       \
    X(archive_write_open_fd)                                                                       \
    X(archive_write_header)                                                                        \
    X(archive_write_data)                                                                          \
    X(archive_write_close)                                                                         \
    X(archive_write_free)                                                                          \
    X(archive_error_string)                                                                        \
    X(archive_errno)                                                                               \
    X(archive_entry_new)                                                                           \
    X(archive_entry_clear)                                                                         \
    X(archive_entry_free)                                                                          \
    X(archive_entry_pathname)                                                                      \
    X(archive_entry_hardlink)                                                                      \
    X(archive_entry_symlink)                                                                       \
    X(archive_entry_filetype)                                                                      \
    X(archive_entry_perm)                                                                          \
    X(archive_entry_uid)                                                                           \
    X(archive_entry_gid)                                                                           \
    X(archive_entry_mtime)                                                                         \
    X(archive_entry_mtime_nsec)                                                                    \
    X(archive_entry_size)                                                                          \
    X(archive_entry_size_is_set)                                                                   \
    X(archive_entry_set_pathname)                                                                  \
    X(archive_entry_set_hardlink)                                                                  \
    X(archive_entry_set_symlink)                                                                   \
    X(archive_entry_set_filetype)                                                                  \
    X(archive_entry_set_perm)                                                                      \
    X(archive_entry_set_uid)                                                                       \
    X(archive_entry_set_gid)                                                                       \
    X(archive_entry_set_mtime)                                                                     \
    X(archive_entry_set_size)

static struct {
#define MEMBER(name) __typeof__(name) *name;
    FUNCTIONS(MEMBER)
#undef MEMBER
} lib;

static int load(hf_error **reterr)
{
    if (lib.archive_read_new)
        return 0;
    void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return hf__error(reterr, HF_E_UNSUPPORTED,
                         "archives need " LIBRARY ", which is not installed; on Debian: apt-get "
                         "install libarchive13");
    bool all = true;
#define FIND(name)                                                                                 \
    *(void **)&lib.name = dlsym(handle, #name);                                                    \
    all = all && lib.name;
    FUNCTIONS(FIND)
#undef FIND
    if (all)
        return 0;
    lib.archive_read_new = NULL;
    dlclose(handle);
    return hf__error(reterr, HF_E_UNSUPPORTED, LIBRARY " is too old");
}

static int archive_failure(struct archive *archive, const char *what, hf_error **reterr)
{
    const char *why = lib.archive_error_string(archive);
    return hf__error_file(reterr, HF_FILE_SYSTEM, lib.archive_errno(archive), "cannot %s: %s", what,
                          why ? why : "unknown reason");
}

/* ---- an archive into a box ------------------------------------------------------------------ */

/* A directory that the archive has told about. */
struct directory {
    char *path;
    struct files_entry entry;
};

struct packing {
    struct copying *copying;
    struct archive *archive;
    struct hf_buf out;
    struct hf_hash tree, file;
    struct files_tree_end end;
    char line[HF_MAX_PATH]; /* the directory that the stream is in */
    struct directory *directories;
    size_t directory_count, room;
    char *buffer;
};

static int flush(struct packing *packing)
{
    int result =
        packing->out.failed || copy_give(packing->copying, packing->out.data, packing->out.size)
            ? -1
            : 0;
    hf__buf_consume(&packing->out, packing->out.size);
    return result;
}

/* The frame that was put last, for the sums. */
static struct hf_frame last_frame(const struct packing *packing, size_t mark)
{
    struct hf_frame frame = {0};
    (void)hf__frame_parse(packing->out.data + mark, packing->out.size - mark, &frame);
    return frame;
}

static void put_entry(struct packing *packing, const struct files_entry *entry)
{
    size_t mark = packing->out.size;
    files_put_entry(&packing->out, entry);
    struct hf_frame frame = last_frame(packing, mark);
    files_sum_record(&packing->tree, &frame);
    hf__hash_begin(&packing->file, 0);
    files_sum_record(&packing->file, &frame);
    packing->end.entries++;
}

static const struct directory *find_directory(const struct packing *packing, const char *path)
{
    for (size_t i = 0; i < packing->directory_count; i++)
        if (strcmp(packing->directories[i].path, path) == 0)
            return &packing->directories[i];
    return NULL;
}

static void remember(struct packing *packing, const struct files_entry *entry)
{
    if (packing->directory_count == MAX_DIRECTORIES || find_directory(packing, entry->path))
        return;
    if (packing->directory_count == packing->room) {
        size_t room = packing->room ? packing->room * 2 : 64;
        struct directory *larger = realloc(packing->directories, room * sizeof *larger);
        if (!larger)
            return;
        packing->directories = larger;
        packing->room = room;
    }
    char *path = strdup(entry->path);
    if (path)
        packing->directories[packing->directory_count++] = (struct directory){path, *entry};
}

/* An archive may come in any order and leave directories out; the stream may not. */
static void enter(struct packing *packing, const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) : 0;
    size_t common = 0;
    /* As far as the directory that the stream is in goes the same way. */
    for (size_t i = 0; i <= length; i++) {
        bool ends = (i == length || path[i] == '/') &&
                    (packing->line[i] == '/' || packing->line[i] == '\0');
        if (ends && strncmp(path, packing->line, i) == 0)
            common = i;
        if (packing->line[i] == '\0')
            break;
    }
    for (size_t i = common + (common > 0); length > 0 && i <= length; i++) {
        if (i < length && path[i] != '/')
            continue;
        char part[HF_MAX_PATH];
        memcpy(part, path, i);
        part[i] = '\0';
        const struct directory *known = find_directory(packing, part);
        struct files_entry entry = {.type = FILES_DIRECTORY, .mode = 0755};
        if (known)
            entry = known->entry;
        entry.path = part;
        entry.link = "";
        put_entry(packing, &entry);
    }
    memcpy(packing->line, path, length);
    packing->line[length] = '\0';
}

static int refuse(const char *path, const char *why, hf_error **reterr)
{
    return hf__error_file(reterr, HF_FILE_INVALID_PATH, 0,
                          "an entry of the archive is called '%s': %s", path, why);
}

/* "./a//b/" and "/a/b" are a/b; what leads out is refused, not mended. */
static int clean_path(const char *path, char *ret, hf_error **reterr)
{
    size_t used = 0;
    if (!path)
        return refuse("", "it has no name", reterr);
    for (const char *at = path; *at;) {
        size_t length = strcspn(at, "/");
        bool skip = length == 0 || (length == 1 && at[0] == '.');
        if (length == 2 && strncmp(at, "..", 2) == 0)
            return refuse(path, "it leads out of the directory", reterr);
        if (!skip) {
            if (used + length + 2 > HF_MAX_PATH || length > 255)
                return refuse(path, "it is too long", reterr);
            if (used > 0)
                ret[used++] = '/';
            memcpy(ret + used, at, length);
            used += length;
        }
        at += length + (at[length] == '/');
    }
    ret[used] = '\0';
    return 0;
}

static void put_data(struct packing *packing, uint64_t offset, const char *data, size_t size)
{
    uint8_t header[FILES_DATA_HEADER];
    size_t mark = packing->out.size;
    files_data_header(header, offset, size);
    hf__buf_append(&packing->out, header, sizeof header);
    hf__buf_append(&packing->out, data, size);
    struct hf_frame frame = last_frame(packing, mark);
    hf__hash_add(&packing->file, frame.payload, frame.size);
    packing->end.bytes += size;
}

static int pack_data(struct packing *packing, uint64_t size, hf_error **reterr)
{
    uint64_t at = 0;
    for (;;) {
        ssize_t got = lib.archive_read_data(packing->archive, packing->buffer, CHUNK);
        if (got < 0)
            return archive_failure(packing->archive, "read the archive", reterr);
        if (got == 0)
            break;
        if ((uint64_t)got > size - at)
            return hf__error_file(reterr, HF_FILE_PROTOCOL, 0,
                                  "a file of the archive is longer than it says");
        put_data(packing, at, packing->buffer, (size_t)got);
        at += (uint64_t)got;
        if (packing->out.size >= MIB(1) && flush(packing) < 0)
            return 1;
    }
    files_put_file_end(&packing->out, hf__hash_sum(&packing->file));
    return 0;
}

/* 1: the receiver is gone. */
static int pack(struct packing *packing, struct archive_entry *from, hf_error **reterr)
{
    char path[HF_MAX_PATH], target[HF_MAX_PATH] = "";
    const char *hard = lib.archive_entry_hardlink(from), *soft = lib.archive_entry_symlink(from);
    int result = clean_path(lib.archive_entry_pathname(from), path, reterr);
    if (result == 0 && hard)
        result = clean_path(hard, target, reterr);
    if (result < 0 || !path[0])
        return result; /* the directory itself */
    struct files_entry entry = {
        .type = hard ? FILES_HARD_LINK : files_type_of(lib.archive_entry_filetype(from)),
        .shared = true, /* an archive does not say which of its files have more names */
        .mode = lib.archive_entry_perm(from) & 07777,
        .uid = (uint32_t)lib.archive_entry_uid(from),
        .gid = (uint32_t)lib.archive_entry_gid(from),
        .mtime = lib.archive_entry_mtime(from),
        .mtime_ns = (uint32_t)lib.archive_entry_mtime_nsec(from) % 1000000000,
        .path = path,
        .link = hard   ? target
                : soft ? soft
                       : "",
    };
    if (entry.type == 0)
        return refuse(path, "it is neither a file nor anything else", reterr);
    if (entry.type != FILES_REGULAR)
        entry.shared = false;
    else if (!lib.archive_entry_size_is_set(from) || lib.archive_entry_size(from) < 0)
        return hf__error_file(reterr, HF_FILE_PROTOCOL, 0, "'%s' in the archive has no size", path);
    else
        entry.size = (uint64_t)lib.archive_entry_size(from);
    enter(packing, path);
    put_entry(packing, &entry);
    if (entry.type == FILES_DIRECTORY) {
        remember(packing, &entry);
        memcpy(packing->line, path, strlen(path) + 1);
    }
    if (entry.type == FILES_REGULAR)
        result = pack_data(packing, entry.size, reterr);
    if (result == 0 && packing->out.size >= HF_FILES_BATCH && flush(packing) < 0)
        return 1;
    return result;
}

static int pack_all(struct packing *packing, hf_error **reterr)
{
    for (;;) {
        struct archive_entry *entry = NULL;
        int found = lib.archive_read_next_header(packing->archive, &entry);
        if (found == ARCHIVE_EOF)
            break;
        if (found != ARCHIVE_OK && found != ARCHIVE_WARN)
            return archive_failure(packing->archive, "read the archive", reterr);
        int result = pack(packing, entry, reterr);
        if (result != 0)
            return result;
    }
    packing->end.sum = hf__hash_sum(&packing->tree);
    files_put_tree_end(&packing->out, &packing->end);
    return flush(packing) < 0 ? 1 : 0;
}

int hf_copy_tar_in(hf_box *box, int fd, const char *box_path, const hf_copy_options *options,
                   hf_copy_result *ret_result, hf_error **reterr)
{
    _cleanup_copying_ struct copying copying = {.options = copy_options(options)};
    copying.progress.path = box_path;
    struct packing packing = {.copying = &copying, .out = HF_BUF(MIB(4)), .buffer = malloc(CHUNK)};
    int result = packing.buffer ? load(reterr) : hf__error(reterr, HF_E_NO_SPACE, "out of memory");
    if (result == 0) {
        packing.archive = lib.archive_read_new();
        lib.archive_read_support_format_all(packing.archive);
        lib.archive_read_support_filter_all(packing.archive);
        hf__hash_begin(&packing.tree, 0);
        if (lib.archive_read_open_fd(packing.archive, fd, CHUNK) != ARCHIVE_OK)
            result = archive_failure(packing.archive, "read the archive", reterr);
    }
    if (result == 0)
        result = copy_open_receiver(&copying, box, box_path, "files", true, reterr);
    if (result == 0)
        result = pack_all(&packing, reterr);
    if (result > 0 && copying.stopped)
        result = hf__error(reterr, HF_E_INVALID, "stopped by the caller");
    if (result >= 0)
        result = copy_close_receiver(&copying, box_path, ret_result, reterr);
    if (packing.archive)
        lib.archive_read_free(packing.archive);
    for (size_t i = 0; i < packing.directory_count; i++)
        free(packing.directories[i].path);
    free(packing.directories);
    free(packing.buffer);
    hf__buf_finish(&packing.out);
    return result;
}

/* ---- out of a box into an archive ----------------------------------------------------------- */

struct unpacking {
    struct copying *copying;
    struct archive *archive;
    struct archive_entry *entry;
    struct hf_buf in;
    struct hf_hash tree, file;
    char line[HF_MAX_PATH]; /* the directory that the stream is in */
    bool in_file, ended;
    uint64_t size, at;                /* of the file that is being written */
    uint64_t entries, records, bytes; /* as the stream counts them */
    struct files_done done;
};

static int nonsense(hf_error **reterr)
{
    return hf__error_file(reterr, HF_FILE_PROTOCOL, 0, "the stream of files makes no sense");
}

static int write_bytes(struct unpacking *un, const void *data, size_t size, hf_error **reterr)
{
    for (const char *at = data; size > 0;) {
        ssize_t written = lib.archive_write_data(un->archive, at, size);
        if (written <= 0)
            return archive_failure(un->archive, "write the archive", reterr);
        at += written;
        size -= (size_t)written;
        un->at += (uint64_t)written;
    }
    return 0;
}

/* An archive has no holes. */
static int write_zeros(struct unpacking *un, uint64_t until, hf_error **reterr)
{
    static const char zeros[CHUNK];
    int result = 0;
    while (result == 0 && un->at < until) {
        uint64_t left = until - un->at;
        result = write_bytes(un, zeros, left < CHUNK ? (size_t)left : CHUNK, reterr);
    }
    return result;
}

/* The same order as the receiver asks for: what lies in a directory comes after it, and before
 * anything else. So nothing can lie below a symlink, or above the top. */
static bool fits(struct unpacking *un, const struct files_entry *entry)
{
    const char *slash = strrchr(entry->path, '/');
    size_t parent = slash ? (size_t)(slash - entry->path) : 0;
    if (files_path_parts(entry->path) == 0 || strlen(entry->path) >= sizeof un->line ||
        (entry->type == FILES_HARD_LINK && files_path_parts(entry->link) == 0))
        return false;
    bool below = strncmp(un->line, entry->path, parent) == 0 &&
                 (un->line[parent] == '/' || un->line[parent] == '\0' || parent == 0);
    if (!below)
        return false;
    if (entry->type == FILES_DIRECTORY)
        memcpy(un->line, entry->path, strlen(entry->path) + 1);
    else
        un->line[parent] = '\0';
    return true;
}

static int check_limits(struct unpacking *un, uint64_t size, hf_error **reterr)
{
    const hf_copy_options *options = &un->copying->options;
    if ((options->max_files && un->records >= options->max_files) ||
        (options->max_bytes && size > options->max_bytes - un->done.bytes))
        return hf__error_file(reterr, HF_FILE_TOO_LARGE, 0, "more than the limit that was set");
    un->records++;
    return 0;
}

static int on_entry(struct unpacking *un, const struct hf_frame *frame, hf_error **reterr)
{
    static const unsigned types[] = {
        [FILES_REGULAR] = S_IFREG,   [FILES_DIRECTORY] = S_IFDIR, [FILES_SYMLINK] = S_IFLNK,
        [FILES_HARD_LINK] = S_IFREG, [FILES_FIFO] = S_IFIFO,
    };
    struct files_entry entry;
    if (un->in_file || !files_get_entry(frame, &entry) || !fits(un, &entry))
        return nonsense(reterr);
    int result = check_limits(un, entry.size, reterr);
    if (result < 0)
        return result;
    un->entries++;
    files_sum_record(&un->tree, frame);
    if ((size_t)entry.type >= sizeof types / sizeof types[0] || types[entry.type] == 0) {
        un->done.skipped++; /* devices and sockets */
        return 0;
    }
    lib.archive_entry_clear(un->entry);
    lib.archive_entry_set_pathname(un->entry, entry.path);
    lib.archive_entry_set_filetype(un->entry, types[entry.type]);
    lib.archive_entry_set_perm(un->entry, entry.mode);
    lib.archive_entry_set_uid(un->entry, entry.uid);
    lib.archive_entry_set_gid(un->entry, entry.gid);
    lib.archive_entry_set_mtime(un->entry, entry.mtime, entry.mtime_ns);
    lib.archive_entry_set_size(un->entry, (int64_t)entry.size);
    if (entry.type == FILES_SYMLINK)
        lib.archive_entry_set_symlink(un->entry, entry.link);
    if (entry.type == FILES_HARD_LINK)
        lib.archive_entry_set_hardlink(un->entry, entry.link);
    int written = lib.archive_write_header(un->archive, un->entry);
    if (written != ARCHIVE_OK && written != ARCHIVE_WARN)
        return archive_failure(un->archive, "write the archive", reterr);
    un->in_file = entry.type == FILES_REGULAR;
    un->size = entry.size;
    un->at = 0;
    un->done.bytes += entry.size;
    un->done.directories += entry.type == FILES_DIRECTORY;
    un->done.symlinks += entry.type == FILES_SYMLINK;
    un->done.files += entry.type != FILES_DIRECTORY && entry.type != FILES_SYMLINK;
    hf__hash_begin(&un->file, 0);
    files_sum_record(&un->file, frame);
    return 0;
}

static int on_data(struct unpacking *un, const struct hf_frame *frame, hf_error **reterr)
{
    struct hf_cursor in = hf__cursor(frame->payload, frame->size);
    uint64_t offset = hf__get_u64(&in);
    if (!un->in_file || in.bad || in.left == 0 || offset < un->at || offset > un->size ||
        in.left > un->size - offset)
        return nonsense(reterr);
    hf__hash_add(&un->file, frame->payload, frame->size);
    un->bytes += in.left;
    int result = write_zeros(un, offset, reterr);
    return result < 0 ? result : write_bytes(un, in.at, in.left, reterr);
}

static int on_file_end(struct unpacking *un, const struct hf_frame *frame, hf_error **reterr)
{
    uint64_t sum;
    if (!un->in_file || !files_get_file_end(frame, &sum))
        return nonsense(reterr);
    if (sum != hf__hash_sum(&un->file))
        return hf__error_file(reterr, HF_FILE_CHECKSUM, 0, "the checksum is wrong");
    un->in_file = false;
    return write_zeros(un, un->size, reterr);
}

/* A header that was written cannot be taken back: a file that breaks off breaks the archive. */
static int on_problem(struct unpacking *un, const struct hf_frame *frame, hf_error **reterr)
{
    struct files_trouble trouble;
    if (!files_get_problem(frame, &trouble))
        return nonsense(reterr);
    if (un->in_file)
        return hf__error_file(reterr, (hf_file_error)files_kind_of((int)trouble.error),
                              (int)trouble.error, "a file of the box changed or broke off: %s",
                              strerror((int)trouble.error));
    un->done.skipped++;
    files_sum_record(&un->tree, frame);
    return check_limits(un, 0, reterr);
}

static int on_tree_end(struct unpacking *un, const struct hf_frame *frame, hf_error **reterr)
{
    struct files_tree_end end;
    if (un->in_file || !files_get_tree_end(frame, &end) || end.entries != un->entries ||
        end.bytes != un->bytes)
        return nonsense(reterr);
    if (end.sum != hf__hash_sum(&un->tree) + end.error)
        return hf__error_file(reterr, HF_FILE_CHECKSUM, 0, "the checksum is wrong");
    un->ended = true;
    if (end.error)
        return hf__error_file(reterr, (hf_file_error)files_kind_of((int)end.error), (int)end.error,
                              "the box could not go on: %s", strerror((int)end.error));
    return 0;
}

static int on_record(struct unpacking *un, const struct hf_frame *frame, hf_error **reterr)
{
    if (un->ended)
        return nonsense(reterr);
    switch (frame->type) {
    case FILES_ENTRY:
        return on_entry(un, frame, reterr);
    case FILES_XATTR:
        files_sum_record(&un->file, frame);
        files_sum_record(&un->tree, frame);
        return 0;
    case FILES_DATA:
        return on_data(un, frame, reterr);
    case FILES_FILE_END:
        return on_file_end(un, frame, reterr);
    case FILES_PROBLEM:
        return on_problem(un, frame, reterr);
    case FILES_TREE_END:
        return on_tree_end(un, frame, reterr);
    default:
        return nonsense(reterr);
    }
}

static int unpack(void *data, const void *bytes, size_t size, hf_error **reterr)
{
    struct unpacking *un = data;
    hf_copy_progress *progress = &un->copying->progress;
    size_t used = 0;
    hf__buf_append(&un->in, bytes, size);
    while (!un->in.failed) {
        struct hf_frame frame;
        ssize_t length = hf__frame_parse(un->in.data + used, un->in.size - used, &frame);
        if (length == 0)
            break;
        int result = length < 0 ? nonsense(reterr) : on_record(un, &frame, reterr);
        if (result < 0)
            return result;
        used += (size_t)length;
    }
    if (un->in.failed)
        return hf__error(reterr, HF_E_NO_SPACE, "out of memory");
    hf__buf_consume(&un->in, used);
    progress->bytes += size;
    progress->files = un->done.files;
    if (un->copying->options.progress &&
        un->copying->options.progress(un->copying->options.progress_data, progress) < 0)
        return hf__error(reterr, HF_E_INVALID, "stopped by the caller");
    return 0;
}

static int unpack_all(struct unpacking *un, hf_box *box, const char *box_path, int fd,
                      hf_error **reterr)
{
    lib.archive_write_set_format_pax_restricted(un->archive);
    /* A pipe is not a tape: no padding to a block of ten kilobytes. */
    lib.archive_write_set_bytes_in_last_block(un->archive, 1);
    if (lib.archive_write_open_fd(un->archive, fd) != ARCHIVE_OK)
        return archive_failure(un->archive, "write the archive", reterr);
    int result = copy_open_sender(un->copying, box, box_path, reterr);
    if (result == 0)
        result = agent_take(&un->copying->agent, true, unpack, un, reterr);
    if (result == 0)
        result = agent_end(&un->copying->agent, box_path, reterr);
    if (result == 0 && (!un->ended || un->in.size > 0))
        result = nonsense(reterr);
    if (result == 0 && lib.archive_write_close(un->archive) != ARCHIVE_OK)
        result = archive_failure(un->archive, "write the archive", reterr);
    return result;
}

int hf_copy_tar_out(hf_box *box, const char *box_path, int fd, const hf_copy_options *options,
                    hf_copy_result *ret_result, hf_error **reterr)
{
    _cleanup_copying_ struct copying copying = {.options = copy_options(options)};
    struct unpacking un = {.copying = &copying, .in = HF_BUF(HF_MAX_FRAME + MIB(1))};
    int result = load(reterr);
    if (result < 0)
        return result;
    copying.progress.path = box_path;
    hf__hash_begin(&un.tree, 0);
    un.archive = lib.archive_write_new();
    un.entry = lib.archive_entry_new();
    result = un.archive && un.entry ? unpack_all(&un, box, box_path, fd, reterr)
                                    : hf__error(reterr, HF_E_NO_SPACE, "out of memory");
    if (result == 0)
        copy_report(&un.done, ret_result);
    if (un.entry)
        lib.archive_entry_free(un.entry);
    if (un.archive)
        lib.archive_write_free(un.archive);
    hf__buf_finish(&un.in);
    return result;
}
