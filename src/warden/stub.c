/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two processes for each job:
 *
 *      warden ──fork──> stub (subreaper) ──clone──> main process ──> whatever it starts
 *
 * The stub is a fork, because it lives on beside the warden. The main process shares the stub's
 * memory until it execs, which costs nothing, and lets it leave the reason of a failure in a plain
 * variable. (clone and not vfork: on some architectures musl's vfork is a fork.) The stub holds no descriptor but its status pipe, so the
 * job's pipes end when the job's own processes close them.
 *
 * A root job can kill its own stub (same uid, same box). Then the main process dies by its
 * parent-death signal, and what is left of the tree falls to the warden, which reaps it. It has
 * harmed itself only.
 */
#include "warden/stub.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/fd.h"
#include "base/sys.h"
#include "warden/environ.h"
#include "warden/user.h"

/* Raised so that the kernel's OOM killer takes a job and not the warden. */
#define JOB_OOM_SCORE "500"
/* Where the stub keeps its status pipe; everything above is closed. */
#define STATUS_FD 3

static struct stub_report report;

static void send_report(void)
{
    (void)hf__write_all(STATUS_FD, &report, sizeof report);
}

static void fail(int exit_code, int sys_errno, const char *fmt, ...) HF_PRINTF(3, 4);

static void fail(int exit_code, int sys_errno, const char *fmt, ...)
{
    va_list args;
    report.event = STUB_FAILED;
    report.exit_code = exit_code;
    report.sys_errno = sys_errno;
    va_start(args, fmt);
    int n = vsnprintf(report.reason, sizeof report.reason, fmt, args);
    va_end(args);
    if (sys_errno && n > 0 && (size_t)n < sizeof report.reason)
        snprintf(report.reason + n, sizeof report.reason - (size_t)n, ": %s",
                 strerror(sys_errno));
}

/* The descriptors go where the job expects them; everything else of the warden's is closed here, so
 * that no job, not even through a bug, holds a client's connection. */
static bool arrange_descriptors(const struct stub_plan *plan)
{
    int from[4] = {plan->stdio[0], plan->stdio[1], plan->stdio[2], plan->status};
    /* Out of the way first: a source may have a number that another one is going to. */
    for (int i = 0; i < 4; i++) {
        from[i] = fcntl(from[i], F_DUPFD_CLOEXEC, 16);
        if (from[i] < 0)
            return false;
    }
    for (int i = 0; i < 3; i++)
        if (dup2(from[i], i) < 0)
            return false;
    if (dup3(from[3], STATUS_FD, O_CLOEXEC) < 0)
        return false;
    return sys_close_range(STATUS_FD + 1, ~0U, 0) == 0;
}

/* Handlers end with exec, but what is ignored stays ignored, and the warden ignores SIGPIPE. */
static void reset_signals(void)
{
    sigset_t none;
    sigemptyset(&none);
    signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void raise_oom_score(void)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    (void)!write(fd, JOB_OOM_SCORE, sizeof JOB_OOM_SCORE - 1);
    close(fd);
}

/* Raw system calls: the C library's wrappers would have to care for threads that do not exist. */
static bool become(const struct user *user)
{
    if (user->uid == geteuid() && user->gid == getegid() && user->group_count == 0)
        return true;
    if (syscall(SYS_setgroups, user->group_count, user->groups) < 0 && user->uid != 0)
        return false;
    if (syscall(SYS_setresgid, user->gid, user->gid, user->gid) < 0)
        return false;
    return syscall(SYS_setresuid, user->uid, user->uid, user->uid) == 0;
}

static void exec_in_path(char *const *argv, char *const *env)
{
    char path[HF_MAX_PATH];
    const char *dirs = environ_get(env, "PATH");
    int error = ENOENT;
    if (strchr(argv[0], '/') || argv[0][0] == '\0' || !dirs) {
        execve(argv[0], argv, env);
        return;
    }
    while (*dirs) {
        size_t length = strcspn(dirs, ":");
        int n = snprintf(path, sizeof path, "%.*s/%s", length ? (int)length : 1,
                         length ? dirs : ".", argv[0]);
        if (n > 0 && (size_t)n < sizeof path) {
            execve(path, argv, env);
            if (errno != ENOENT && errno != ENOTDIR)
                error = errno;
            if (error != ENOENT && error != EACCES)
                break;
        }
        dirs += length + (dirs[length] == ':');
    }
    errno = error;
}

static void explain_exec(const char *program)
{
    int error = errno;
    struct stat st;
    if (error == ENOENT && strchr(program, '/') && stat(program, &st) == 0)
        fail(126, error, "'%.300s' cannot be executed, its interpreter is missing", program);
    else if (error == ENOENT || error == ENOTDIR)
        fail(127, error, "'%.300s' was not found in the box", program);
    else
        fail(126, error, "'%.300s' cannot be executed", program);
}

struct main_plan {
    const char *workdir;
    const struct user *user;
    char *const *argv, *const *env;
};

/* From here to execve it borrows the stub's memory, on a stack of its own. */
static int run_main(void *data)
{
    const struct main_plan *plan = data;
    reset_signals();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setsid();
    raise_oom_score();
    if (!become(plan->user)) {
        fail(125, errno, "cannot become user '%s' in the box", plan->user->name);
        _exit(125);
    }
    /* The parent-death signal is cleared by a change of uid. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (chdir(plan->workdir) < 0) {
        fail(126, errno, "working directory '%.300s' cannot be entered", plan->workdir);
        _exit(126);
    }
    umask(022);
    exec_in_path(plan->argv, plan->env);
    explain_exec(plan->argv[0]);
    _exit(126);
}

/* Returns once the child has execed or ended. */
static pid_t start_main(struct main_plan *plan)
{
    static char stack[32768] __attribute__((aligned(16)));
    pid_t pid = clone(run_main, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, plan);
    /* The child has written to our memory behind the compiler's back. */
    __asm__ volatile("" ::: "memory");
    return pid;
}

static uint64_t nanoseconds(struct timeval t)
{
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_usec * 1000;
}

/* Reaps until nothing of the tree is left; tells when the main process is among it. */
static void reap_all(pid_t main_process, int64_t started)
{
    for (;;) {
        int status;
        struct rusage usage;
        pid_t pid = wait4(-1, &status, 0, &usage);
        if (pid < 0 && errno == EINTR)
            continue;
        if (pid < 0)
            return;
        if (pid != main_process)
            continue;
        report.event = STUB_ENDED;
        report.status = status;
        report.wall_ns = (uint64_t)(hf__now_ns() - started);
        report.cpu_ns = nanoseconds(usage.ru_utime) + nanoseconds(usage.ru_stime);
        report.max_rss = (uint64_t)usage.ru_maxrss * 1024;
        send_report();
    }
}

static const char *choose(const char *wanted, const char *fallback)
{
    return wanted[0] ? wanted : fallback;
}

static _Noreturn void stub_main(const struct stub_plan *plan)
{
    struct user user;
    const struct hf_msg_start *start = plan->start;
    const char *workdir = choose(start->workdir, choose(plan->config->workdir, "/"));
    if (!arrange_descriptors(plan))
        _exit(125);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_NAME, "job");
    if (!user_lookup(choose(start->user, plan->config->user), &user, report.reason,
                     sizeof report.reason)) {
        report.event = STUB_FAILED;
        report.exit_code = 125;
        send_report();
        _exit(125);
    }
    char **argv = hf__words_vector(start->argv);
    char **env = environ_build(plan->config, start, &user);
    if (!argv || !env)
        _exit(125);
    int64_t started = hf__now_ns();
    struct main_plan main_plan = {workdir, &user, argv, env};
    pid_t main_process = start_main(&main_plan);
    if (main_process < 0)
        fail(125, errno, "cannot start another process in the box");
    sys_close_range(0, 2, 0);
    HF_FAULT("stub-started");
    if (report.event != STUB_FAILED) {
        *plan->main_process = main_process;
        reap_all(main_process, started);
    } else {
        send_report();
        if (main_process > 0)
            (void)waitpid(main_process, NULL, 0);
    }
    _exit(0);
}

pid_t stub_spawn(const struct stub_plan *plan)
{
    pid_t pid = fork();
    if (pid == 0)
        stub_main(plan);
    return pid;
}
