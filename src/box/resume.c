/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of one large file that can go on where an earlier one stopped. The bytes gather in a file
 * beside the place, which stays when the copy is interrupted; when it is whole and its checksum is
 * that of the source, it gets the name. What is there already is believed only if its checksum is
 * that of the beginning of the source.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/hash.h"
#include "box/copy.h"
#include "files/result.h"

#define CHUNK KIB(256)

static int from_errno(const char *what, const char *path, hf_error **reterr)
{
    return hf__error_file(reterr, (hf_file_error)files_kind_of(errno), errno, "cannot %s '%s': %s",
                          what, path, strerror(errno));
}

/* The sum of the first `length` bytes; of fewer if there are not as many. */
static int hash_here(int fd, uint64_t length, const char *path, struct files_have *ret,
                     hf_error **reterr)
{
    _cleanup_free_ char *buffer = malloc(CHUNK);
    struct hf_hash hash;
    hf__hash_begin(&hash, 0);
    while (buffer && hash.total < length) {
        uint64_t left = length - hash.total;
        ssize_t size = pread(fd, buffer, left < CHUNK ? (size_t)left : CHUNK, (off_t)hash.total);
        if (size < 0 && errno == EINTR)
            continue;
        if (size < 0)
            return from_errno("read", path, reterr);
        if (size == 0)
            break;
        hf__hash_add(&hash, buffer, (size_t)size);
    }
    *ret = (struct files_have){hash.total, hf__hash_sum(&hash)};
    return buffer ? 0 : hf__error(reterr, HF_E_NO_SPACE, "out of memory");
}

static int hash_there(hf_box *box, const char *user, const char *path, uint64_t length,
                      struct files_have *ret, hf_error **reterr)
{
    _cleanup_agent_ struct agent agent = {0};
    _cleanup_buf_ struct hf_buf answer = HF_BUF(KIB(4));
    struct hf_frame frame;
    char most[24];
    const char *const words[] = {"hash", path, most, NULL};
    snprintf(most, sizeof most, "%" PRIu64, length);
    int result = agent_start(box, user, words, false, &agent, reterr);
    if (result == 0)
        result = agent_take(&agent, true, agent_keep, &answer, reterr);
    if (result == 0)
        result = agent_end(&agent, path, reterr);
    if (result < 0)
        return result;
    if (hf__frame_parse(answer.data, answer.size, &frame) != (ssize_t)answer.size ||
        !files_get_have(&frame, ret))
        return hf__error(reterr, HF_E_PROTOCOL, "the box sent a checksum that makes no sense");
    return 0;
}

static bool same(const struct files_have *a, const struct files_have *b)
{
    return a->size == b->size && a->hash == b->hash;
}

static int wrong_sum(const char *path, hf_error **reterr)
{
    return hf__error_file(
        reterr, HF_FILE_CHECKSUM, 0,
        "%s: the copy is not what the source is, which may have changed meanwhile; "
        "try again",
        path);
}

/* False: the caller has had enough. */
static bool show(struct copying *copying, uint64_t bytes)
{
    copying->progress.bytes = bytes;
    return !copying->options.progress ||
           copying->options.progress(copying->options.progress_data, &copying->progress) >= 0;
}

/* ---- into a box ----------------------------------------------------------------------------- */

struct going_in {
    hf_box *box;
    struct copying *copying;
    hf_file_options options;
    int fd;
    struct timespec mtime;
    uint64_t size, at;
    char *place, *partial;
};

static ssize_t give(void *data, void *buffer, size_t size)
{
    struct going_in *in = data;
    ssize_t got;
    do
        got = pread(in->fd, buffer, size, (off_t)in->at);
    while (got < 0 && errno == EINTR);
    if (got > 0) {
        in->at += (uint64_t)got;
        if (!show(in->copying, in->at))
            return -1;
    }
    return got;
}

/* A directory is gone into. */
static int find_there(struct going_in *in, const char *box_path, const char *name,
                      hf_error **reterr)
{
    _cleanup_free_ char *inside = NULL;
    hf_files *found = NULL;
    if (asprintf(&inside, "%s/.", box_path) < 0)
        inside = NULL;
    bool into = inside && !in->copying->options.exact &&
                hf_file_stat(in->box, inside, &in->options, &found, NULL) == 0;
    hf_files_free(found);
    if (asprintf(&in->place, "%s%s%s", box_path, into ? "/" : "", into ? name : "") < 0)
        in->place = NULL;
    const char *slash = in->place ? strrchr(in->place, '/') : NULL;
    size_t directory = slash ? (size_t)(slash - in->place) + 1 : 0;
    if (!inside || !in->place ||
        asprintf(&in->partial, "%.*s.%s.hf-part", (int)directory, in->place,
                 in->place + directory) < 0) {
        in->partial = NULL;
        return hf__error(reterr, HF_E_NO_SPACE, "out of memory");
    }
    return 0;
}

/* How much of it is there already. */
static int look_there(struct going_in *in, const char *host_path, hf_error **reterr)
{
    struct files_have there, here;
    _cleanup_error_ hf_error *error = NULL;
    if (hash_there(in->box, in->options.user, in->partial, 0, &there, &error) < 0)
        return hf_error_file(error) == HF_FILE_NOT_FOUND
                   ? 0
                   : hf__error_file(reterr, hf_error_file(error), hf_error_errno(error), "%s",
                                    hf_error_message(error));
    int result = hash_here(in->fd, there.size, host_path, &here, reterr);
    if (result == 0 && same(&there, &here))
        in->at = there.size;
    else if (result == 0)
        result = hf_file_remove(in->box, in->partial, &in->options, reterr);
    return result;
}

static int set_date(struct going_in *in, hf_error **reterr)
{
    _cleanup_agent_ struct agent agent = {0};
    char seconds[24], nanoseconds[24];
    const char *const words[] = {"times", in->partial, seconds, nanoseconds, NULL};
    snprintf(seconds, sizeof seconds, "%lld", (long long)in->mtime.tv_sec);
    snprintf(nanoseconds, sizeof nanoseconds, "%ld", in->mtime.tv_nsec);
    int result = agent_start(in->box, in->options.user, words, false, &agent, reterr);
    return result < 0 ? result : agent_end(&agent, in->partial, reterr);
}

static int run_in(struct going_in *in, const char *host_path, hf_error **reterr)
{
    struct files_have there, here;
    int result = look_there(in, host_path, reterr);
    hf_file_options append = in->options;
    append.append = true;
    if (result == 0)
        result = hf_file_write(in->box, in->partial, &append, give, in, reterr);
    if (result == 0)
        result = hash_here(in->fd, UINT64_MAX, host_path, &here, reterr);
    if (result == 0)
        result = hash_there(in->box, in->options.user, in->partial, 0, &there, reterr);
    if (result < 0)
        return result;
    if (!same(&there, &here)) {
        (void)hf_file_remove(in->box, in->partial, &in->options, NULL);
        return wrong_sum(host_path, reterr);
    }
    result = set_date(in, reterr);
    return result < 0 ? result
                      : hf_file_move(in->box, in->partial, in->place, &in->options, reterr);
}

int copy_resume_in(hf_box *box, const char *host_path, const char *box_path,
                   struct copying *copying, hf_copy_result *ret_result, hf_error **reterr)
{
    struct stat st;
    _cleanup_free_ char *name = copy_name(host_path);
    _cleanup_close_ int fd = open(host_path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0 || fstat(fd, &st) < 0)
        return from_errno("open", host_path, reterr);
    if (copying->options.max_bytes && (uint64_t)st.st_size > copying->options.max_bytes)
        return hf__error_file(reterr, HF_FILE_TOO_LARGE, 0, "%s: more than the limit that was set",
                              host_path);
    struct going_in in = {
        .box = box,
        .copying = copying,
        .options = {.size = sizeof in.options,
                    .user = copying->options.user,
                    .mode = st.st_mode & 0777},
        .fd = fd,
        .mtime = st.st_mtim,
        .size = (uint64_t)st.st_size,
    };
    copying->progress.total_bytes = in.size;
    copying->progress.path = host_path;
    int result = name ? find_there(&in, box_path, name, reterr)
                      : hf__error(reterr, HF_E_NO_SPACE, "out of memory");
    if (result == 0)
        result = run_in(&in, host_path, reterr);
    if (result == 0)
        copy_report(&(struct files_done){.files = 1, .bytes = in.at}, ret_result);
    free(in.place);
    free(in.partial);
    return result;
}

/* ---- out of a box --------------------------------------------------------------------------- */

struct going_out {
    struct copying *copying;
    int fd;
    uint64_t at, most;
    int error;
};

static int take(void *data, const void *bytes, size_t size)
{
    struct going_out *out = data;
    if (size > out->most - out->at) {
        out->error = EFBIG;
        return -1;
    }
    if (hf__write_all(out->fd, bytes, size) < 0) {
        out->error = errno;
        return -1;
    }
    out->at += size;
    return show(out->copying, out->at) ? 0 : -1;
}

struct source {
    mode_t mode;
    struct timespec mtime;
};

/* Whether it is a file at all, and what of it is kept. 1: it is none. */
static int look_out(hf_box *box, const char *box_path, const hf_file_options *options,
                    struct source *ret_source, hf_error **reterr)
{
    hf_files *found = NULL;
    int result = hf_file_stat(box, box_path, options, &found, reterr);
    if (result < 0)
        return result;
    const hf_file_info *info = hf_files_get(found, 0);
    bool file = info->type == 'f';
    ret_source->mode = info->mode & 0777;
    ret_source->mtime = (struct timespec){info->mtime, info->mtime_ns};
    hf_files_free(found);
    return file ? 0 : 1;
}

/* The gathering file of the host; nobody else's, and no link. */
static int open_partial(int dir, const char *partial, hf_error **reterr)
{
    struct stat st;
    int fd = openat(dir, partial, O_RDWR | O_CREAT | O_NOFOLLOW | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0 || fstat(fd, &st) < 0)
        return from_errno("open", partial, reterr);
    if (S_ISREG(st.st_mode) && st.st_uid == geteuid() && st.st_nlink == 1)
        return fd;
    close(fd);
    return hf__error_file(reterr, HF_FILE_EXISTS, EEXIST, "'%s' is in the way; remove it", partial);
}

static int run_out(hf_box *box, const char *box_path, struct going_out *out,
                   hf_file_options *options, hf_error **reterr)
{
    struct files_have there = {0}, here;
    int result = hash_here(out->fd, UINT64_MAX, box_path, &here, reterr);
    if (result == 0 && here.size > 0)
        result = hash_there(box, options->user, box_path, here.size, &there, reterr);
    if (result < 0)
        return result;
    if (here.size > 0 && same(&there, &here))
        out->at = here.size;
    else if (ftruncate(out->fd, 0) < 0)
        return from_errno("empty", "the file of an earlier copy", reterr);
    options->offset = out->at;
    result = hf_file_read(box, box_path, options, take, out, reterr);
    if (result < 0 && out->error) {
        if (reterr) {
            hf_error_free(*reterr);
            *reterr = NULL;
        }
        errno = out->error;
        return out->error == EFBIG
                   ? hf__error_file(reterr, HF_FILE_TOO_LARGE, 0,
                                    "%s: more than the limit that was set", box_path)
                   : from_errno("write the copy of", box_path, reterr);
    }
    if (result == 0)
        result = hash_here(out->fd, UINT64_MAX, box_path, &here, reterr);
    if (result == 0)
        result = hash_there(box, options->user, box_path, 0, &there, reterr);
    if (result == 0 && !same(&there, &here)) {
        (void)!ftruncate(out->fd, 0);
        result = wrong_sum(box_path, reterr);
    }
    return result;
}

int copy_resume_out(hf_box *box, const char *box_path, int dir, const char *name,
                    struct copying *copying, hf_copy_result *ret_result, hf_error **reterr)
{
    hf_file_options options = {.size = sizeof options, .user = copying->options.user};
    _cleanup_free_ char *partial = NULL;
    struct source source;
    int result = look_out(box, box_path, &options, &source, reterr);
    if (result != 0)
        return result;
    if (asprintf(&partial, ".%s.hf-part", name) < 0) {
        partial = NULL;
        return hf__error(reterr, HF_E_NO_SPACE, "out of memory");
    }
    _cleanup_close_ int fd = open_partial(dir, partial, reterr);
    if (fd < 0)
        return fd;
    struct going_out out = {.copying = copying,
                            .fd = fd,
                            .most = copying->options.max_bytes ? copying->options.max_bytes
                                                               : UINT64_MAX};
    result = run_out(box, box_path, &out, &options, reterr);
    struct stat st;
    if (result < 0) {
        /* What holds nothing is of no use to the next one. */
        if (fstat(fd, &st) == 0 && st.st_size == 0)
            (void)unlinkat(dir, partial, 0);
        return result;
    }
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, source.mtime};
    if (fchmod(fd, source.mode) < 0 || futimens(fd, times) < 0 ||
        renameat(dir, partial, dir, name) < 0)
        return from_errno("name", name, reterr);
    copy_report(&(struct files_done){.files = 1, .bytes = out.at}, ret_result);
    return 0;
}
