/* SPDX-License-Identifier: Apache-2.0 */
#include "warden/files/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/sys.h"
#include "files/answer.h"
#include "files/result.h"

/* What a pipe may hold at most without a privilege: fewer turns between us and the warden. */
#define PIPE_SIZE (1 << 20)

_Noreturn void agent_fail_kind(unsigned kind, int error, const char *path)
{
    struct hf_buf out = HF_BUF(KIB(16));
    struct files_failure failure = {(uint8_t)kind, (uint32_t)error, path};
    files_put_failure(&out, &failure);
    if (!out.failed)
        (void)hf__write_all(STDERR_FILENO, out.data, out.size);
    _exit(1);
}

_Noreturn void agent_fail_with(int error, const char *path)
{
    agent_fail_kind(files_kind_of(error), error, path);
}

_Noreturn void agent_fail(const char *path)
{
    agent_fail_with(errno, path);
}

_Noreturn void agent_done(void)
{
    _exit(0);
}

void agent_put(const void *data, size_t size)
{
    if (hf__write_all(STDOUT_FILENO, data, size) < 0)
        _exit(1); /* nobody is left to be told */
}

/* The way down is made as far as it is missing. */
static int make_directories(char *path)
{
    for (char *slash = path + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        int made = mkdir(path, 0777);
        if (made < 0 && errno != EEXIST && errno != EISDIR)
            agent_fail(path);
        *slash = '/';
    }
    if (mkdir(path, 0777) < 0 && errno != EEXIST)
        agent_fail(path);
    return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

int agent_open_parent(char *path, const char **ret_name, bool make)
{
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        path[--length] = '\0';
    char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    if (!name[0] || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        agent_fail_kind(FILES_INVALID_PATH, EINVAL, path);
    *ret_name = name;
    if (!slash)
        return open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (slash == path)
        return open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    *slash = '\0';
    int parent = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (parent < 0 && errno == ENOENT && make)
        parent = make_directories(path);
    if (parent < 0)
        agent_fail(path);
    return parent;
}

static const struct {
    const char *name;
    size_t words;
    void (*run)(char *const *words);
} operations[] = {
    {"stat", 2, agent_stat},     {"list", 2, agent_list},   {"read", 3, agent_read},
    {"write", 3, agent_write},   {"mkdir", 3, agent_mkdir}, {"move", 3, agent_move},
    {"remove", 2, agent_remove}, {"send", 2, agent_send},   {"receive", 5, agent_receive},
    {"watch", 2, agent_watch},   {"hash", 2, agent_hash},   {"times", 3, agent_times},
};

static size_t count(char *const *words)
{
    size_t n = 0;
    while (words[n])
        n++;
    return n;
}

/* Only what starts at the working directory needs it. */
static int no_workdir;
static const char *workdir_name;

void agent_check(const char *path)
{
    if (!path[0])
        agent_fail_kind(FILES_INVALID_PATH, ENOENT, "");
    if (path[0] != '/' && no_workdir)
        agent_fail_with(no_workdir, workdir_name);
}

_Noreturn void agent_main(char *const *words, const char *workdir)
{
    prctl(PR_SET_NAME, "files");
    signal(SIGPIPE, SIG_IGN);
    umask(022);
    sys_close_range(3, ~0U, 0);
    workdir_name = workdir;
    no_workdir = chdir(workdir) < 0 ? errno : 0;
    (void)fcntl(STDIN_FILENO, F_SETPIPE_SZ, PIPE_SIZE);
    (void)fcntl(STDOUT_FILENO, F_SETPIPE_SZ, PIPE_SIZE);
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) {
        if (strcmp(words[0], operations[i].name) != 0 || count(words + 1) != operations[i].words)
            continue;
        agent_check(words[1]);
        operations[i].run(words + 1);
        agent_done();
    }
    agent_fail_kind(FILES_PROTOCOL, EINVAL, words[0]);
}
