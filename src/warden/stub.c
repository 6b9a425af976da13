/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two processes for each job:
 *
 *      warden ──fork──> stub (subreaper) ──clone──> main process ──> whatever it starts
 *
 * The stub is a fork, because it lives on beside the warden. The main process shares the stub's
 * memory until it execs, which costs nothing, and lets it leave the reason of a failure in a plain
 * variable. (clone and not vfork: on some architectures musl's vfork is a fork.) The stub holds no
 * descriptor but its socket to the warden, so the job's pipes end when the job's own processes close
 * them.
 *
 * A root job can kill its own stub (same uid, same box). Then the main process dies by its
 * parent-death signal, and what is left of the tree falls to the warden, which ends it. It has
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
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/fd.h"
#include "base/sys.h"
#include "warden/command.h"
#include "warden/environ.h"
#include "warden/files/agent.h"
#include "warden/job.h"
#include "warden/loop.h"
#include "warden/memfile.h"
#include "warden/user.h"

/* Raised so that the kernel's OOM killer takes a job and not the warden. */
#define JOB_OOM_SCORE "500"
/* Where a stub keeps its socket and /dev/null; everything above is closed. */
#define SOCKET_FD 3
#define NULL_FD 4
/* Above what a job's shell finds its files at; see command.h. */
#define FIRST_FILE_FD 20
/* A request up to this size goes in the packet itself, a larger one in a memory file. */
#define INLINE_MAX KIB(16)
/* More than a few idle stubs are of no use. */
#define IDLE_MAX 4

/* What comes with a job, by descriptor. All but the first three are optional. */
enum {
    FD_STDIN,
    FD_STDOUT,
    FD_STDERR,
    FD_REQUEST, /* a large START message */
    FD_SCRIPT,
    FD_STATE,
    FD_NEW_STATE,
    FD_TEXT_BASH,
    FD_TEXT_SH,
    FD_COUNT
};

/* From the warden to a stub, with the descriptors that `present` has a bit for. */
struct handover {
    uint64_t size;
    volatile int32_t *main_process; /* a stub is a fork of the warden: the address is the same */
    uint32_t present;
};

/* ---- in the stub ---------------------------------------------------------------------------- */

static struct stub_report report;

static void send_report(void)
{
    (void)send(SOCKET_FD, &report, sizeof report, MSG_NOSIGNAL);
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
        snprintf(report.reason + n, sizeof report.reason - (size_t)n, ": %s", strerror(sys_errno));
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

static void fail_script(int error, int script)
{
    char line[128] = "";
    (void)!pread(script, line, sizeof line - 1, 0);
    line[strcspn(line, "\r\n")] = '\0';
    fail(126, error, "the script cannot be executed by what its first line names, '%s'", line);
}

static void explain_exec(const struct command *command)
{
    int error = errno;
    const char *program = command->tries[0][0];
    struct stat st;
    if (command->shell)
        fail(127, error, "the box has neither bash nor sh to run it");
    else if (command->interpreted)
        fail_script(error, command->files.script);
    else if (error == ENOENT && strchr(program, '/') && stat(program, &st) == 0)
        fail(126, error, "'%.300s' cannot be executed, its interpreter is missing", program);
    else if (error == ENOENT || error == ENOTDIR)
        fail(127, error, "'%.300s' was not found in the box", program);
    else
        fail(126, error, "'%.300s' cannot be executed", program);
}

struct main_plan {
    const char *workdir;
    const struct user *user;
    const struct command *command;
    char *const *env;
    volatile int32_t *main_process;
    bool tty, files;
};

/* From here to execve it borrows the stub's memory, on a stack of its own. */
static int run_main(void *data)
{
    const struct main_plan *plan = data;
    reset_signals();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setsid();
    if (plan->tty)
        (void)ioctl(STDIN_FILENO, TIOCSCTTY, 0);
    if (!become(plan->user)) {
        fail(125, errno, "cannot become user %u:%u in the box", plan->user->uid, plan->user->gid);
        _exit(125);
    }
    /* The parent-death signal is cleared by a change of uid. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (plan->files) {
        *plan->main_process = getpid();
        agent_main(plan->command->tries[0], plan->workdir);
    }
    if (chdir(plan->workdir) < 0) {
        fail(126, errno, "working directory '%.300s' cannot be entered", plan->workdir);
        _exit(126);
    }
    umask(022);
    /* Before it can do anything to its stub. */
    *plan->main_process = getpid();
    for (int i = 0; i < 2 && plan->command->tries[i]; i++) {
        if (!command_place_descriptors(plan->command, i))
            break;
        exec_in_path(plan->command->tries[i], plan->env);
        if (errno != ENOENT)
            break;
    }
    *plan->main_process = 0;
    explain_exec(plan->command);
    _exit(126);
}

/* Returns once the child has execed or ended. The file agent never execs: it is a process of its own
 * from the beginning. */
static pid_t start_main(struct main_plan *plan)
{
    static char stack[32768] __attribute__((aligned(16)));
    if (plan->files) {
        pid_t agent = fork();
        if (agent == 0)
            run_main(plan);
        return agent;
    }
    pid_t pid = clone(run_main, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, plan);
    /* The child has written to our memory behind the compiler's back. */
    __asm__ volatile("" ::: "memory");
    return pid;
}

static uint64_t nanoseconds(struct timeval t)
{
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_usec * 1000;
}

/* Reaps until nothing of the tree is left; tells when the main process is among it. In most trees
 * it is the last one, and then one report says both. */
static void reap_all(pid_t main_process, int64_t started)
{
    bool told_empty = false;
    for (;;) {
        int status;
        struct rusage usage;
        pid_t pid = wait4(-1, &status, 0, &usage);
        if (pid < 0 && errno == EINTR)
            continue;
        if (pid < 0)
            break;
        if (pid != main_process)
            continue;
        report.event = STUB_ENDED;
        report.status = status;
        report.wall_ns = (uint64_t)(hf__now_ns() - started);
        report.cpu_ns = nanoseconds(usage.ru_utime) + nanoseconds(usage.ru_stime);
        report.max_rss = (uint64_t)usage.ru_maxrss * 1024;
        siginfo_t info;
        told_empty = waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD;
        report.empty = told_empty;
        send_report();
    }
    if (!told_empty) {
        report.event = STUB_EMPTY;
        send_report();
    }
}

static const char *choose(const char *wanted, const char *fallback)
{
    return wanted[0] ? wanted : fallback;
}

/* The places stay taken, so that the next job's descriptors arrive above them. */
static void let_go_of_pipes(void)
{
    for (int i = 0; i < 3; i++)
        dup3(NULL_FD, i, O_CLOEXEC);
}

/* FAILED is the whole report of a job that never ran. */
static void report_failure(void)
{
    let_go_of_pipes();
    send_report();
}

struct request {
    struct hf_msg_start start;
    const struct hf_msg_config *config;
    volatile int32_t *main_process;
    const int *fds;
};

static bool build(const struct request *request, const struct user *user, struct command *command,
                  struct environment *env)
{
    const struct hf_msg_start *start = &request->start;
    struct command_files files = {.script = request->fds[FD_SCRIPT],
                                  .state = request->fds[FD_STATE],
                                  .new_state = request->fds[FD_NEW_STATE],
                                  .texts = {request->fds[FD_TEXT_BASH], request->fds[FD_TEXT_SH]}};
    return command_build(command, start, &files) &&
           environ_build(env, request->config, start, user, command->hints);
}

static void run_job(const struct request *request)
{
    struct user user;
    const struct hf_msg_start *start = &request->start;
    const struct hf_msg_config *config = request->config;
    struct command command;
    struct environment env = {0};
    memset(&report, 0, sizeof report);
    if (!user_lookup(choose(start->user, config->user), &user, report.reason,
                     sizeof report.reason)) {
        report.event = STUB_FAILED;
        report.exit_code = 125;
        report_failure();
        return;
    }
    if (!build(request, &user, &command, &env))
        _exit(125);
    bool tty = start->flags & HF_START_TTY;
    if (tty)
        (void)!fchown(STDIN_FILENO, user.uid, (gid_t)-1); /* its own terminal, also by name */
    struct main_plan main_plan = {
        .workdir = choose(start->workdir, choose(config->workdir, "/")),
        .user = &user,
        .command = &command,
        .env = env.vector,
        .main_process = request->main_process,
        .tty = tty,
        .files = start->flags & HF_START_FILES,
    };
    int64_t started = hf__now_ns();
    pid_t main_process = start_main(&main_plan);
    if (main_process < 0)
        fail(125, errno, "cannot start another process in the box");
    command_finish(&command);
    environ_finish(&env);
    HF_FAULT("stub-started");
    if (report.event == STUB_FAILED) {
        if (main_process > 0)
            (void)waitpid(main_process, NULL, 0);
        report_failure();
        return;
    }
    let_go_of_pipes();
    if (start->flags & HF_START_CONFIRM) {
        report.event = STUB_RUNNING;
        send_report();
    }
    reap_all(main_process, started);
}

/* Each descriptor by what it is; -1 where there is none. The first three go where the job expects
 * them, the others above everything that a job's shell is given. */
static bool sort_descriptors(uint32_t present, const int *received, size_t count, int *ret_fds)
{
    size_t next = 0;
    for (int i = 0; i < FD_COUNT; i++) {
        ret_fds[i] = -1;
        if (!(present >> i & 1))
            continue;
        if (next == count)
            return false;
        int fd = received[next++];
        ret_fds[i] = i <= FD_STDERR ? dup2(fd, i) : fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FILE_FD);
        close(fd);
        if (ret_fds[i] < 0)
            return false;
    }
    return next == count && next >= 3;
}

static void close_files(int *fds)
{
    for (int i = FD_REQUEST; i < FD_COUNT; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

/* One job after the other, until the warden closes its end. */
static _Noreturn void stub_main(const struct hf_msg_config *config)
{
    static char packet[sizeof(struct handover) + INLINE_MAX];
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_NAME, "job");
    raise_oom_score(); /* inherited by the whole tree */
    for (;;) {
        struct handover head;
        struct hf_frame frame = {.type = HF_MSG_START};
        int received[FD_COUNT], fds[FD_COUNT];
        size_t count = FD_COUNT;
        char *large = NULL;
        ssize_t size = hf__recv_fds(SOCKET_FD, packet, sizeof packet, received, &count);
        if (size < (ssize_t)sizeof head)
            _exit(0);
        memcpy(&head, packet, sizeof head);
        if (!sort_descriptors(head.present, received, count, fds) ||
            (fds[FD_REQUEST] >= 0 && hf__read_fd(fds[FD_REQUEST], HF_MAX_FRAME, &large, NULL) < 0))
            _exit(125);
        frame.payload = (const uint8_t *)(large ? large : packet + sizeof head);
        frame.size = head.size;
        struct request request = {.config = config, .main_process = head.main_process, .fds = fds};
        if (!hf__get_start(&frame, &request.start))
            _exit(125);
        run_job(&request);
        close_files(fds);
        /* Nothing of a job stays where the next one's stub could be made to show it. */
        explicit_bzero(packet, (size_t)size);
        if (large)
            explicit_bzero(large, head.size);
        free(large);
    }
}

/* ---- in the warden -------------------------------------------------------------------------- */

struct stub {
    struct stub *next;
    pid_t pid;
    struct source socket;
    struct job *job; /* NULL: idle */
};

static struct stub *stubs;
static unsigned idle_count;

pid_t stub_pid(const struct stub *stub)
{
    return stub ? stub->pid : 0;
}

static struct stub *find(pid_t pid)
{
    struct stub *stub = stubs;
    while (stub && stub->pid != pid)
        stub = stub->next;
    return stub;
}

bool stub_is_one(pid_t pid)
{
    return find(pid) != NULL;
}

/* Its tree is empty: it may have another job, or go if there are enough. */
static void set_idle(struct stub *stub)
{
    stub->job = NULL;
    if (idle_count < IDLE_MAX)
        idle_count++;
    else
        loop_close(&stub->socket);
}

static bool read_report(struct stub *stub)
{
    struct stub_report message;
    ssize_t size = recv(stub->socket.fd, &message, sizeof message, MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (size != (ssize_t)sizeof message || !stub->job) {
        if (!stub->job)
            idle_count--;
        loop_close(&stub->socket);
        return false;
    }
    struct job *job = stub->job;
    message.reason[sizeof message.reason - 1] = '\0';
    if (message.event == STUB_FAILED || message.event == STUB_EMPTY || message.empty)
        set_idle(stub);
    job_reported(job, &message);
    return true;
}

static void socket_ready(void *owner, uint32_t events)
{
    (void)events;
    (void)read_report(owner);
}

bool stub_reaped(pid_t pid, int status)
{
    struct stub **link = &stubs;
    while (*link && (*link)->pid != pid)
        link = &(*link)->next;
    struct stub *stub = *link;
    if (!stub)
        return false;
    /* What it has said before it went counts. */
    while (stub->socket.fd >= 0 && read_report(stub))
        ;
    if (!stub->job && stub->socket.fd >= 0)
        idle_count--;
    loop_close(&stub->socket);
    *link = stub->next;
    if (stub->job)
        job_stub_died(stub->job, status);
    free(stub);
    return true;
}

static struct stub *stub_new(const struct hf_msg_config *config)
{
    int pair[2];
    struct stub *stub = calloc(1, sizeof *stub);
    if (!stub || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
        free(stub);
        return NULL;
    }
    pid_t pid = fork();
    if (pid == 0) {
        /* Everything else of the warden's is closed here, so that no job, not even through a bug,
         * holds a client's connection. */
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        if (null < 0 || (pair[1] != SOCKET_FD && dup3(pair[1], SOCKET_FD, O_CLOEXEC) < 0) ||
            (null != NULL_FD && dup3(null, NULL_FD, O_CLOEXEC) < 0) ||
            sys_close_range(NULL_FD + 1, ~0U, 0) < 0)
            _exit(125);
        let_go_of_pipes();
        stub_main(config);
    }
    int error = errno;
    close(pair[1]);
    if (pid < 0) {
        close(pair[0]);
        free(stub);
        errno = error;
        return NULL;
    }
    stub->pid = pid;
    stub->socket = (struct source){.fd = pair[0], .ready = socket_ready, .owner = stub};
    loop_want(&stub->socket, EPOLLIN);
    stub->next = stubs;
    stubs = stub;
    return stub;
}

static bool hand_over(struct stub *stub, const struct stub_plan *plan)
{
    char packet[sizeof(struct handover) + INLINE_MAX];
    const struct hf_frame *frame = plan->frame;
    struct handover head = {.size = frame->size, .main_process = plan->main_process};
    size_t count = 0, size = sizeof head;
    _cleanup_close_ int request = -1;
    if (frame->size > INLINE_MAX) {
        request = memfile_with("job", frame->payload, frame->size);
        if (request < 0)
            return false;
    } else {
        memcpy(packet + size, frame->payload, frame->size);
        size += frame->size;
    }
    const int all[FD_COUNT] = {plan->stdio[0],  plan->stdio[1], plan->stdio[2],
                               request,         plan->script,   plan->state,
                               plan->new_state, plan->texts[0], plan->texts[1]};
    int fds[FD_COUNT];
    for (int i = 0; i < FD_COUNT; i++) {
        if (all[i] < 0)
            continue;
        head.present |= 1U << i;
        fds[count++] = all[i];
    }
    memcpy(packet, &head, sizeof head);
    return hf__send_fds(stub->socket.fd, packet, size, fds, count) == 0;
}

struct stub *stub_start(const struct stub_plan *plan, struct job *job)
{
    for (struct stub *stub = stubs; stub; stub = stub->next) {
        if (stub->job || stub->socket.fd < 0)
            continue;
        idle_count--;
        if (hand_over(stub, plan)) {
            stub->job = job;
            return stub;
        }
        loop_close(&stub->socket); /* it is dying; SIGCHLD will tell */
    }
    struct stub *stub = stub_new(plan->config);
    if (!stub)
        return NULL;
    if (!hand_over(stub, plan)) {
        loop_close(&stub->socket);
        return NULL;
    }
    stub->job = job;
    return stub;
}
