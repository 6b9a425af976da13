/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trees between the host and boxes: a sender on one side, a receiver on the other, the same code in
 * both places (src/files). Here the host's own files are reached, and nothing that a box says decides
 * where.
 */
#include "box/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "files/receive.h"
#include "files/send.h"

hf_copy_options copy_options(const hf_copy_options *options)
{
    hf_copy_options own = {0};
    if (options)
        memcpy(&own, options, options->size < sizeof own ? options->size : sizeof own);
    return own;
}

static void cleanup_result(struct files_result *result)
{
    files_result_finish(result);
}
#define _cleanup_result_ __attribute__((cleanup(cleanup_result)))

static void cleanup_receiver(struct files_receiver **receiver)
{
    files_receive_destroy(*receiver);
}
#define _cleanup_receiver_ __attribute__((cleanup(cleanup_receiver)))

/* ---- names ---------------------------------------------------------------------------------- */

/* The last part of a path; "files" for one that has no name of its own. The caller frees it. */
char *copy_name(const char *path)
{
    size_t end = strlen(path);
    while (end > 0 && path[end - 1] == '/')
        end--;
    size_t start = end;
    while (start > 0 && path[start - 1] != '/')
        start--;
    size_t length = end - start;
    bool named = length > 0 && !(length == 1 && path[start] == '.') &&
                 !(length == 2 && strncmp(path + start, "..", 2) == 0);
    return named ? strndup(path + start, length) : strdup("files");
}

static int no_file(const char *path, int error, hf_error **reterr)
{
    _cleanup_free_ char *shown = hf__utf8_escape(path);
    return hf__error_file(reterr, (hf_file_error)files_kind_of(error), error, "%s: %s",
                          shown ? shown : "file", strerror(error));
}

/* What the code of both sides says, as an error of ours. */
static int tell(const struct files_result *result, const char *path, hf_error **reterr)
{
    const struct files_error *error = &result->error;
    const char *where = error->path ? error->path : path;
    _cleanup_free_ char *shown = hf__utf8_escape(where);
    const char *what = error->kind == FILES_PROTOCOL   ? "the stream of files makes no sense"
                       : error->kind == FILES_CHECKSUM ? "the checksum is wrong"
                       : error->kind == FILES_TOO_LARGE && !error->error
                           ? "more than the limit that was set"
                           : strerror(error->error);
    return hf__error_file(reterr, (hf_file_error)error->kind, error->error, "%s: %s",
                          shown ? shown : "file", what);
}

/* ---- progress ------------------------------------------------------------------------------- */

/* False: the caller has had enough. */
static bool show(struct copying *copying, size_t size)
{
    copying->progress.bytes += size;
    if (copying->options.progress && !copying->stopped)
        copying->stopped =
            copying->options.progress(copying->options.progress_data, &copying->progress) < 0;
    return !copying->stopped;
}

static int stopped(hf_error **reterr)
{
    return hf__error(reterr, HF_E_INVALID, "stopped by the caller");
}

void copy_report(const struct files_done *done, hf_copy_result *ret_result)
{
    hf_copy_result all = {.files = done->files,
                          .directories = done->directories,
                          .symlinks = done->symlinks,
                          .bytes = done->bytes,
                          .skipped = done->skipped};
    if (!ret_result)
        return;
    all.size = ret_result->size;
    memcpy(ret_result, &all, all.size < sizeof all ? all.size : sizeof all);
}

/* ---- into a box ----------------------------------------------------------------------------- */

int copy_open_receiver(struct copying *copying, hf_box *box, const char *path, const char *name,
                       bool tops, hf_error **reterr)
{
    char flags[8], bytes[24], entries[24];
    const hf_copy_options *options = &copying->options;
    snprintf(flags, sizeof flags, "-%s%s%s", options->exact ? "e" : "", options->archive ? "o" : "",
             tops ? "t" : "");
    snprintf(bytes, sizeof bytes, "%" PRIu64, options->max_bytes);
    snprintf(entries, sizeof entries, "%" PRIu64, options->max_files);
    const char *const words[] = {"receive", path, name, flags, bytes, entries, NULL};
    return agent_start(box, options->user, words, true, &copying->agent, reterr);
}

int copy_close_receiver(struct copying *copying, const char *path, hf_copy_result *ret_result,
                        hf_error **reterr)
{
    _cleanup_buf_ struct hf_buf answer = HF_BUF(KIB(4));
    struct hf_frame frame;
    struct files_done done;
    (void)hf_job_close_stdin(copying->agent.job, NULL);
    int result = agent_take(&copying->agent, true, agent_keep, &answer, reterr);
    if (result == 0)
        result = agent_end(&copying->agent, path, reterr);
    if (result < 0)
        return result;
    if (hf__frame_parse(answer.data, answer.size, &frame) != (ssize_t)answer.size ||
        !files_get_done(&frame, &done))
        return hf__error(reterr, HF_E_PROTOCOL, "the box did not say what it received");
    copy_report(&done, ret_result);
    return 0;
}

int copy_give(void *data, const void *bytes, size_t size)
{
    struct copying *copying = data;
    copying->refused = !agent_give(&copying->agent, bytes, size);
    return !copying->refused && show(copying, size) ? 0 : -1;
}

int hf_copy_in(hf_box *box, const char *host_path, const char *box_path,
               const hf_copy_options *options, hf_copy_result *ret_result, hf_error **reterr)
{
    _cleanup_result_ struct files_result sent = {0};
    _cleanup_copying_ struct copying copying = {.options = copy_options(options)};
    _cleanup_free_ char *name = copy_name(host_path);
    struct stat st;
    if (!name)
        return hf__error(reterr, HF_E_NO_SPACE, "out of memory");
    if (stat(host_path, &st) < 0)
        return no_file(host_path, errno, reterr);
    if (copying.options.resume && S_ISREG(st.st_mode))
        return copy_resume_in(box, host_path, box_path, &copying, ret_result, reterr);
    copying.progress.total_bytes = S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
    copying.progress.path = host_path;
    int result = copy_open_receiver(&copying, box, box_path, name, false, reterr);
    if (result < 0)
        return result;
    struct files_send_options send = {
        .dir = AT_FDCWD,
        .name = host_path,
        .top_name = name,
        .follow_top = true,
        .xattrs = copying.options.archive,
        .write = copy_give,
        .data = &copying,
    };
    /* A receiver that is gone says itself why. */
    if (files_send(&send, &sent) < 0 && copying.stopped)
        return stopped(reterr);
    if (sent.error.kind != FILES_OK && !copying.refused)
        return tell(&sent, host_path, reterr);
    return copy_close_receiver(&copying, box_path, ret_result, reterr);
}

/* ---- out of a box --------------------------------------------------------------------------- */

/* The directory of the host that it goes to, and its name there. The box has no say in either. */
static int find_place(const char *host_path, const char *own_name, bool exact, int *ret_dir,
                      char **ret_name, hf_error **reterr)
{
    int dir = exact ? -1 : open(host_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    size_t length = strlen(host_path);
    if (dir >= 0) {
        *ret_name = strdup(own_name);
    } else if (length == 0 || host_path[length - 1] == '/') {
        return no_file(host_path, ENOENT, reterr);
    } else {
        const char *slash = strrchr(host_path, '/');
        _cleanup_free_ char *parent =
            !slash ? strdup(".")
                   : strndup(host_path, slash == host_path ? 1 : (size_t)(slash - host_path));
        dir = parent ? open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
        if (dir < 0)
            return no_file(parent ? parent : host_path, errno, reterr);
        *ret_name = strdup(slash ? slash + 1 : host_path);
    }
    *ret_dir = dir;
    return *ret_name ? 0 : hf__error(reterr, HF_E_NO_SPACE, "out of memory");
}

struct landing {
    struct copying *copying;
    struct files_receiver *receiver;
    const char *path;
};

static int land(void *data, const void *bytes, size_t size, hf_error **reterr)
{
    struct landing *landing = data;
    if (files_receive_feed(landing->receiver, bytes, size) < 0)
        return tell(files_receive_result(landing->receiver), landing->path, reterr);
    landing->copying->progress.files = files_receive_result(landing->receiver)->files;
    return show(landing->copying, size) ? 0 : stopped(reterr);
}

static int receive_here(struct copying *copying, const char *box_path, int dir, const char *name,
                        hf_copy_result *ret_result, hf_error **reterr)
{
    const hf_copy_options *options = &copying->options;
    struct files_receive_options receive = {
        .dir = dir,
        .top_name = name,
        .max_bytes = options->max_bytes,
        .max_entries = options->max_files,
        .owners = options->archive && geteuid() == 0,
        .keep_existing_mode = true,
    };
    _cleanup_receiver_ struct files_receiver *receiver = files_receive_create(&receive);
    if (!receiver)
        return hf__error(reterr, HF_E_NO_SPACE, "out of memory");
    struct landing landing = {copying, receiver, name};
    int result = agent_take(&copying->agent, true, land, &landing, reterr);
    /* Why the box stopped says more than that it did. */
    if (result == 0)
        result = agent_end(&copying->agent, box_path, reterr);
    if (result < 0)
        return result;
    const struct files_result *received = files_receive_result(receiver);
    if (files_receive_end(receiver) < 0)
        return tell(received, name, reterr);
    struct files_done done = {received->files + received->hard_links, received->dirs,
                              received->symlinks, received->bytes, received->skipped};
    copy_report(&done, ret_result);
    return 0;
}

int copy_open_sender(struct copying *copying, hf_box *box, const char *path, hf_error **reterr)
{
    const char *const words[] = {"send", path, copying->options.archive ? "x" : "-", NULL};
    return agent_start(box, copying->options.user, words, false, &copying->agent, reterr);
}

int hf_copy_out(hf_box *box, const char *box_path, const char *host_path,
                const hf_copy_options *options, hf_copy_result *ret_result, hf_error **reterr)
{
    _cleanup_copying_ struct copying copying = {.options = copy_options(options)};
    _cleanup_free_ char *own_name = copy_name(box_path), *name = NULL;
    _cleanup_close_ int dir = -1;
    if (!own_name)
        return hf__error(reterr, HF_E_NO_SPACE, "out of memory");
    int result = find_place(host_path, own_name, copying.options.exact, &dir, &name, reterr);
    if (result < 0)
        return result;
    copying.progress.path = box_path;
    if (copying.options.resume) {
        result = copy_resume_out(box, box_path, dir, name, &copying, ret_result, reterr);
        if (result <= 0)
            return result; /* 1: it is no single file */
    }
    result = copy_open_sender(&copying, box, box_path, reterr);
    return result < 0 ? result : receive_here(&copying, box_path, dir, name, ret_result, reterr);
}

/* ---- from box to box ------------------------------------------------------------------------ */

static int hand_over(void *data, const void *bytes, size_t size, hf_error **reterr)
{
    struct copying *to = data;
    if (copy_give(to, bytes, size) == 0)
        return 0;
    return to->stopped ? stopped(reterr) : HF_E_LOST;
}

int hf_copy_across(hf_box *from, const char *from_path, hf_box *to, const char *to_path,
                   const hf_copy_options *options, hf_copy_result *ret_result, hf_error **reterr)
{
    _cleanup_copying_ struct copying sender = {.options = copy_options(options)};
    _cleanup_copying_ struct copying receiver = {.options = copy_options(options)};
    _cleanup_free_ char *name = copy_name(from_path);
    if (!name)
        return hf__error(reterr, HF_E_NO_SPACE, "out of memory");
    receiver.progress.path = from_path;
    int result = copy_open_sender(&sender, from, from_path, reterr);
    if (result == 0)
        result = copy_open_receiver(&receiver, to, to_path, name, false, reterr);
    if (result < 0)
        return result;
    result = agent_take(&sender.agent, true, hand_over, &receiver, reterr);
    if (result == 0)
        result = agent_end(&sender.agent, from_path, reterr);
    if (result < 0 && !receiver.refused)
        return result;
    return copy_close_receiver(&receiver, to_path, ret_result, reterr);
}
