/* SPDX-License-Identifier: Apache-2.0 */
/* Whole trees: out, in, and from one place of the box to another. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/sys.h"
#include "files/answer.h"
#include "files/receive.h"
#include "files/send.h"
#include "warden/files/agent.h"

#define CHUNK KIB(256)

static _Noreturn void fail_as(const struct files_result *result, const char *path)
{
    const struct files_error *error = &result->error;
    agent_fail_kind(error->kind, error->error, error->path ? error->path : path);
}

static int put(void *data, const void *bytes, size_t size)
{
    (void)data;
    agent_put(bytes, size);
    return 0;
}

/* A path that names a directory by what lies in it ("/", "a/.") has no name of its own. */
static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    return name[0] && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 ? NULL : "files";
}

/* words: path, flags "x" attributes */
void agent_send(char *const *words)
{
    struct files_result result;
    struct files_send_options options = {
        .dir = AT_FDCWD,
        .name = words[0],
        .top_name = name_of(words[0]),
        .follow_top = true,
        .xattrs = strchr(words[1], 'x'),
        .write = put,
    };
    if (files_send(&options, &result) < 0)
        fail_as(&result, words[0]);
}

/* ---- in ------------------------------------------------------------------------------------- */

static bool is_directory(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Where a copy goes: into a directory under its own name, or to the very place. */
static int find_place(const char *path, const char *own_name, bool exact, const char **ret_name)
{
    size_t length = strlen(path);
    bool into = !exact && (is_directory(path) || path[length - 1] == '/');
    char *whole = NULL;
    if (asprintf(&whole, "%s%s%s", path, into ? "/" : "", into ? own_name : "") < 0)
        agent_fail_with(ENOMEM, path);
    return agent_open_parent(whole, ret_name, true);
}

/* The directory itself, made if it is missing: the names come with the stream. */
static int open_directory(const char *path)
{
    const char *name;
    char *below = NULL;
    if (asprintf(&below, "%s/.x", path) < 0)
        agent_fail_with(ENOMEM, path);
    return agent_open_parent(below, &name, true);
}

static void answer(const struct files_result *result)
{
    struct hf_buf out = HF_BUF(KIB(1));
    struct files_done done = {result->files + result->hard_links, result->dirs, result->symlinks,
                              result->bytes, result->skipped};
    files_put_done(&out, &done);
    agent_put(out.data, out.size);
}

/* words: path, name of what comes, flags "e" exactly there, "o" owners, "t" many tops, most bytes,
 * most entries */
void agent_receive(char *const *words)
{
    static char buffer[CHUNK];
    bool tops = strchr(words[2], 't');
    struct files_receive_options options = {
        .owners = strchr(words[2], 'o'),
        .keep_special = true,
        .keep_existing_mode = true,
        .fifos = true,
        .max_bytes = strtoull(words[3], NULL, 10),
        .max_entries = strtoull(words[4], NULL, 10),
    };
    options.dir = tops ? open_directory(words[0])
                       : find_place(words[0], words[1], strchr(words[2], 'e'), &options.top_name);
    struct files_receiver *receiver = files_receive_create(&options);
    if (!receiver)
        agent_fail_with(ENOMEM, words[0]);
    const struct files_result *result = files_receive_result(receiver);
    ssize_t size;
    while ((size = read(STDIN_FILENO, buffer, CHUNK)) != 0) {
        if (size < 0 && errno == EINTR)
            continue;
        if (size < 0)
            agent_fail(words[0]);
        if (files_receive_feed(receiver, buffer, (size_t)size) < 0)
            fail_as(result, words[0]);
    }
    if (files_receive_end(receiver) < 0)
        fail_as(result, words[0]);
    answer(result);
}

/* ---- from here to there --------------------------------------------------------------------- */

static int pass_on(void *data, const void *bytes, size_t size)
{
    return files_receive_feed(data, bytes, size);
}

/* Another file system: copied, then removed. */
static void copy_and_remove(const char *from, const char *to, int to_parent, const char *to_name)
{
    struct files_result sent;
    struct files_receive_options target = {
        .dir = to_parent, .top_name = to_name, .owners = true, .keep_special = true, .fifos = true};
    struct files_receiver *receiver = files_receive_create(&target);
    struct files_send_options source = {
        .dir = AT_FDCWD, .name = from, .xattrs = true, .write = pass_on, .data = receiver};
    if (!receiver)
        agent_fail_with(ENOMEM, from);
    int result = files_send(&source, &sent);
    const struct files_result *received = files_receive_result(receiver);
    if (received->error.kind != FILES_OK)
        agent_fail_kind(received->error.kind, received->error.error, to);
    if (result < 0)
        fail_as(&sent, from);
    if (files_receive_end(receiver) < 0)
        agent_fail_kind(received->error.kind, received->error.error, to);
    /* What could not be copied must not be removed. */
    if (sent.problem_count > 0)
        agent_fail_with(sent.problems[0].error,
                        sent.problems[0].path ? sent.problems[0].path : from);
    if (received->skipped > 0)
        agent_fail_with(EXDEV, from);
    const char *name;
    char *path = strdup(from);
    if (!path)
        agent_fail_with(ENOMEM, from);
    _cleanup_close_ int parent = agent_open_parent(path, &name, false);
    if (hf__remove_tree_at(parent, name) < 0)
        agent_fail(from);
}

/* words: from, to, flags "n" no clobber */
void agent_move(char *const *words)
{
    const char *from = words[0], *name;
    bool no_clobber = strchr(words[2], 'n');
    struct stat st;
    agent_check(words[1]);
    if (lstat(from, &st) < 0)
        agent_fail(from);
    const char *slash = strrchr(from, '/');
    const char *own = slash && slash[1] ? slash + 1 : from;
    _cleanup_close_ int parent = find_place(words[1], own, false, &name);
    if (sys_renameat2(AT_FDCWD, from, parent, name, no_clobber ? RENAME_NOREPLACE : 0) == 0)
        return;
    if (errno != EXDEV)
        agent_fail_with(errno, errno == EEXIST || errno == ENOTEMPTY || errno == EROFS ||
                                       errno == EISDIR || errno == ENOTDIR
                                   ? words[1]
                                   : from);
    if (no_clobber && fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        agent_fail_with(EEXIST, words[1]);
    copy_and_remove(from, words[1], parent, name);
}
