/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tries things from inside a box, one a sub-command. Prints "ok", what it found, or the name of the
 * errno, one line; the exit code says only whether the probe itself could be run. Static, so that it
 * needs nothing of the box.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/keyctl.h>
#include <linux/netlink.h>
#include <linux/vm_sockets.h>
#include <poll.h>
#include <pty.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#define HIGH_BITS (UINT64_C(0xdead) << 32)

/* The result of one try: negative with errno is a refusal. */
static void tell(long result)
{
    if (result >= 0) {
        printf("ok\n");
        return;
    }
    const char *name = strerrorname_np(errno);
    printf("%s\n", name ? name : "errno?");
}

static const char *word(char **argv, int index)
{
    for (int i = 0; i < index; i++)
        if (!argv[i])
            return "";
    return argv[index] ? argv[index] : "";
}

static long number(const char *text)
{
    return strtol(text, NULL, 0);
}

/* --- system calls ------------------------------------------------------------------------------ */

struct call {
    const char *name;
    long nr;
    unsigned long args[6];
};

#define NONE (-1UL)
#define PATH(text) ((unsigned long)(uintptr_t)(text))

static char scratch[4096];
#define SCRATCH PATH(scratch)

static const struct call calls[] = {
    {"mount", SYS_mount, {PATH("none"), PATH("/tmp"), PATH("tmpfs"), 0, 0}},
    {"mount-bind", SYS_mount, {PATH("/etc"), PATH("/tmp"), 0, MS_BIND, 0}},
    {"mount-remount", SYS_mount, {0, PATH("/"), 0, MS_REMOUNT | MS_BIND, 0}},
    {"mount-proc", SYS_mount, {PATH("proc"), PATH("/tmp"), PATH("proc"), 0, 0}},
    {"mount-cgroup", SYS_mount, {PATH("none"), PATH("/tmp"), PATH("cgroup"), 0, PATH("memory")}},
    {"umount2", SYS_umount2, {PATH("/proc"), MNT_DETACH}},
    {"pivot_root", SYS_pivot_root, {PATH("."), PATH(".")}},
    {"fsopen", 430, {PATH("tmpfs"), 0}},
    {"fsmount", 432, {0, 0, 0}},
    {"fspick", 433, {(unsigned long)AT_FDCWD, PATH("/"), 0}},
    {"open_tree", 428, {(unsigned long)AT_FDCWD, PATH("/"), 1}},
    {"move_mount",
     429,
     {(unsigned long)AT_FDCWD, PATH("/tmp"), (unsigned long)AT_FDCWD, PATH("/run"), 0}},
    {"mount_setattr", 442, {(unsigned long)AT_FDCWD, PATH("/"), 0, SCRATCH, 32}},
    {"setns", SYS_setns, {0, 0}},
    {"unshare-mount", SYS_unshare, {CLONE_NEWNS}},
    {"unshare-user", SYS_unshare, {CLONE_NEWUSER}},
    {"unshare-net", SYS_unshare, {CLONE_NEWNET}},
    {"unshare-pid", SYS_unshare, {CLONE_NEWPID}},
    {"unshare-cgroup", SYS_unshare, {CLONE_NEWCGROUP}},
    {"bpf", SYS_bpf, {0, SCRATCH, 64}},
    {"bpf-prog", SYS_bpf, {5, SCRATCH, 64}},
    {"perf_event_open", SYS_perf_event_open, {SCRATCH, 0, NONE, NONE, 0}},
    {"io_uring_setup", 425, {4, SCRATCH}},
    {"io_uring_enter", 426, {0, 0, 0, 0, 0, 0}},
    {"io_uring_register", 427, {0, 0, 0, 0}},
    {"userfaultfd", SYS_userfaultfd, {1}},
    {"keyctl", SYS_keyctl, {KEYCTL_GET_KEYRING_ID, (unsigned long)KEY_SPEC_USER_KEYRING, 1}},
    {"keyctl-session",
     SYS_keyctl,
     {KEYCTL_GET_KEYRING_ID, (unsigned long)KEY_SPEC_SESSION_KEYRING, 0}},
    {"add_key",
     SYS_add_key,
     {PATH("user"), PATH("x"), SCRATCH, 1, (unsigned long)KEY_SPEC_USER_KEYRING}},
    {"request_key",
     SYS_request_key,
     {PATH("user"), PATH("x"), 0, (unsigned long)KEY_SPEC_USER_KEYRING}},
    {"kexec_load", SYS_kexec_load, {0, 0, 0, 0}},
    {"init_module", SYS_init_module, {SCRATCH, 16, PATH("")}},
    {"finit_module", SYS_finit_module, {0, PATH(""), 0}},
    {"delete_module", SYS_delete_module, {PATH("nosuch"), O_NONBLOCK}},
    {"open_by_handle_at", SYS_open_by_handle_at, {(unsigned long)AT_FDCWD, SCRATCH, 0}},
    {"acct", SYS_acct, {PATH("/tmp/acct")}},
    {"swapon", SYS_swapon, {PATH("/tmp/swap"), 0}},
    {"swapoff", SYS_swapoff, {PATH("/tmp/swap")}},
    {"reboot", SYS_reboot, {0xfee1deadU, 672274793, 0, 0}}, /* CAD_OFF: harmless */
    {"settimeofday", SYS_settimeofday, {SCRATCH, 0}},
    {"clock_settime", SYS_clock_settime, {0, SCRATCH}},
    {"sethostname", SYS_sethostname, {PATH("evil"), 4}},
    {"setdomainname", SYS_setdomainname, {PATH("evil"), 4}},
    {"syslog", SYS_syslog, {3, SCRATCH, 100}},
    {"quotactl", SYS_quotactl, {0, 0, 0, 0}},
    {"fanotify_init", SYS_fanotify_init, {0, 0}},
    {"lookup_dcookie", SYS_lookup_dcookie, {0, SCRATCH, 10}},
    {"kcmp", SYS_kcmp, {1, 1, 0, 0, 0}},
    {"vhangup", SYS_vhangup, {0}},
    {"nfsservctl", 42, {0, 0, 0}},
#ifdef __x86_64__
    {"iopl", SYS_iopl, {3}},
    {"ioperm", SYS_ioperm, {0, 1, 1}},
    {"uselib", SYS_uselib, {PATH("/bin/true")}},
    {"ustat", SYS_ustat, {0, SCRATCH}},
    {"sysfs", SYS_sysfs, {1, PATH("proc")}},
    {"create_module", SYS_create_module, {PATH("x"), 1}},
#endif
};

static void try_syscall(char **argv)
{
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        const struct call *c = &calls[i];
        if (strcmp(c->name, word(argv, 0)) != 0)
            continue;
#if !defined(__aarch64__)
        if (strcmp(c->name, "nfsservctl") == 0) {
            printf("ENOSYS\n");
            return;
        }
#endif
        tell(
            syscall(c->nr, c->args[0], c->args[1], c->args[2], c->args[3], c->args[4], c->args[5]));
        return;
    }
    printf("unknown\n");
}

static void list_syscalls(char **argv)
{
    (void)argv;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        printf("%s\n", calls[i].name);
}

/* --- namespaces -------------------------------------------------------------------------------- */

static void child_or_tell(long pid)
{
    if (pid == 0)
        _exit(0);
    if (pid > 0)
        (void)waitpid((pid_t)pid, NULL, 0);
    tell(pid);
}

static uint64_t namespace_flag(const char *name)
{
    static const struct {
        const char *name;
        uint64_t flag;
    } flags[] = {{"user", CLONE_NEWUSER},     {"mnt", CLONE_NEWNS},  {"pid", CLONE_NEWPID},
                 {"net", CLONE_NEWNET},       {"ipc", CLONE_NEWIPC}, {"uts", CLONE_NEWUTS},
                 {"cgroup", CLONE_NEWCGROUP}, {"time", 0x80}};
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        if (strcmp(flags[i].name, name) == 0)
            return flags[i].flag;
    exit(2);
}

/* namespace HOW KIND */
static void try_namespace(char **argv)
{
    const char *how = word(argv, 0);
    uint64_t flag = namespace_flag(word(argv, 1));
    if (strcmp(how, "unshare") == 0) {
        tell(syscall(SYS_unshare, flag));
    } else if (strcmp(how, "unshare-high") == 0) {
        tell(syscall(SYS_unshare, flag | HIGH_BITS));
    } else if (strcmp(how, "clone") == 0) {
        child_or_tell(syscall(SYS_clone, flag | SIGCHLD, 0, 0, 0, 0));
    } else if (strcmp(how, "clone-high") == 0) {
        child_or_tell(syscall(SYS_clone, flag | SIGCHLD | HIGH_BITS, 0, 0, 0, 0));
    } else if (strcmp(how, "clone3") == 0) {
        struct {
            uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
        } args = {.flags = flag, .exit_signal = SIGCHLD};
        child_or_tell(syscall(SYS_clone3, &args, sizeof args));
    } else if (strcmp(how, "setns-1") == 0) {
        char path[64];
        snprintf(path, sizeof path, "/proc/1/ns/%s", word(argv, 1));
        int fd = open(path, O_RDONLY);
        tell(fd < 0 ? -1 : setns(fd, 0));
    } else {
        printf("unknown\n");
    }
}

/* --- files ------------------------------------------------------------------------------------- */

static void try_read(char **argv)
{
    char buffer[64];
    int fd = open(word(argv, 0), O_RDONLY | O_NONBLOCK);
    if (fd < 0) {
        tell(-1);
        return;
    }
    ssize_t n = read(fd, buffer, sizeof buffer);
    if (n < 0)
        tell(-1);
    else
        printf(n > 0 ? "ok\n" : "empty\n");
}

static void try_write(char **argv)
{
    int fd = open(word(argv, 0), O_WRONLY | O_NONBLOCK);
    const char *data = word(argv, 1);
    tell(fd < 0 ? -1 : write(fd, data, strlen(data)));
}

static void try_open_for_writing(char **argv)
{
    tell(open(word(argv, 0), O_RDWR));
}

static void try_list(char **argv)
{
    DIR *dir = opendir(word(argv, 0));
    int entries = 0;
    if (!dir) {
        tell(-1);
        return;
    }
    errno = 0;
    while (readdir(dir))
        entries++;
    if (errno)
        tell(-1);
    else
        printf("ok %d\n", entries - 2);
}

static void try_readlink(char **argv)
{
    char buffer[4096];
    ssize_t n = readlink(word(argv, 0), buffer, sizeof buffer - 1);
    if (n < 0) {
        tell(-1);
        return;
    }
    buffer[n] = '\0';
    printf("ok %s\n", buffer);
}

/* mknod PATH c|b MAJOR MINOR; a node that can be made must not be one that can be opened. */
static void try_mknod(char **argv)
{
    mode_t kind = word(argv, 1)[0] == 'b' ? S_IFBLK : S_IFCHR;
    dev_t dev = makedev((unsigned)number(word(argv, 2)), (unsigned)number(word(argv, 3)));
    if (mknod(word(argv, 0), kind | 0666, dev) < 0) {
        tell(-1);
        return;
    }
    int fd = open(word(argv, 0), O_RDWR);
    printf("made, open: ");
    tell(fd);
}

static void try_setxattr(char **argv)
{
    tell(setxattr(word(argv, 0), word(argv, 1), "y", 1, 0));
}

/* A handle to inode 2, the root of most file systems. */
static void try_shocker(char **argv)
{
    struct {
        struct file_handle handle;
        unsigned char bytes[128];
    } h = {.handle = {.handle_bytes = 8, .handle_type = 1}};
    int mount_id;
    static const unsigned char inode2[8] = {2};
    const char *paths[] = {"/", "/etc/hosts", "/usr", word(argv, 0)};
    int opened = -1;
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        int fd = open(paths[i], O_RDONLY);
        if (fd < 0)
            continue;
        memcpy(h.handle.f_handle, inode2, sizeof inode2);
        opened = (int)syscall(SYS_open_by_handle_at, fd, &h, O_RDONLY);
        if (opened >= 0)
            break;
        h.handle.handle_bytes = 128;
        if (syscall(SYS_name_to_handle_at, fd, "", &h, &mount_id, AT_EMPTY_PATH) == 0 &&
            (opened = (int)syscall(SYS_open_by_handle_at, fd, &h, O_RDONLY)) >= 0)
            break;
        h.handle.handle_bytes = 8;
        h.handle.handle_type = 1;
    }
    tell(opened);
}

/* Out of a chroot in a chroot: works wherever CAP_SYS_CHROOT and a second root are. */
static void try_chroot(char **argv)
{
    (void)argv;
    mkdir("/tmp/jail", 0755);
    int fd = open("/", O_RDONLY | O_DIRECTORY);
    if (chroot("/tmp/jail") < 0) {
        tell(-1);
        return;
    }
    if (fchdir(fd) < 0)
        exit(3);
    for (int i = 0; i < 64; i++)
        if (chdir("..") < 0)
            break;
    if (chroot(".") < 0)
        exit(3);
    struct stat here, proc;
    /* Still the box, where /proc/1 is the warden. */
    printf("ok %d %d\n", stat("/tmp/jail", &here), stat("/proc/1/comm", &proc));
}

/* --- processes --------------------------------------------------------------------------------- */

static pid_t target(const char *text)
{
    return strcmp(text, "parent") == 0 ? getppid() : (pid_t)number(text);
}

static void try_ptrace(char **argv)
{
    pid_t pid = target(word(argv, 0));
    long r = ptrace(PTRACE_ATTACH, pid, 0, 0);
    if (r < 0 && errno == EPERM)
        r = ptrace(0x4206, pid, 0, 0); /* PTRACE_SEIZE */
    tell(r);
}

/* Attaches to its parent and stays. */
static void hold_parent(char **argv)
{
    (void)argv;
    long r = ptrace(PTRACE_ATTACH, getppid(), 0, 0);
    tell(r);
    fflush(stdout);
    if (r >= 0)
        pause();
}

static void try_kill(char **argv)
{
    tell(kill(target(word(argv, 0)), (int)number(word(argv, 1))));
}

static void try_kill_all(char **argv)
{
    signal((int)number(word(argv, 0)), SIG_IGN);
    tell(kill(-1, (int)number(word(argv, 0))));
}

/* Descriptors that are open, as one line. */
static void list_fds(char **argv)
{
    (void)argv;
    for (int fd = 0; fd < 4096; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            printf("%d ", fd);
    printf("\n");
}

static void try_pidfd_getfd(char **argv)
{
    pid_t pid = target(word(argv, 0));
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (pidfd < 0) {
        tell(-1);
        return;
    }
    for (int fd = 0; fd < 16; fd++) {
        if (syscall(SYS_pidfd_getfd, pidfd, fd, 0) >= 0) {
            printf("ok\n");
            return;
        }
    }
    tell(-1);
}

static void try_read_memory(char **argv)
{
    char buffer[16];
    struct iovec local = {buffer, sizeof buffer}, remote = {(void *)0x400000, sizeof buffer};
    tell(process_vm_readv(target(word(argv, 0)), &local, 1, &remote, 1, 0));
}

static void get_dumpable(char **argv)
{
    (void)argv;
    printf("%d\n", prctl(PR_GET_DUMPABLE));
}

static void try_priority(char **argv)
{
    struct sched_param param = {.sched_priority = 10};
    if (strcmp(word(argv, 0), "nice") == 0)
        tell(setpriority(PRIO_PROCESS, 0, -10));
    else
        tell(sched_setscheduler(0, SCHED_FIFO, &param));
}

static void try_raise_limit(char **argv)
{
    struct rlimit limit;
    int resource = (int)number(word(argv, 0));
    getrlimit((unsigned)resource, &limit);
    if (limit.rlim_max == RLIM_INFINITY) {
        printf("unlimited\n");
        return;
    }
    limit.rlim_max++;
    tell(setrlimit((unsigned)resource, &limit));
}

/* --- sockets and terminals --------------------------------------------------------------------- */

static void try_socket(char **argv)
{
    long family = number(word(argv, 0)), type = number(word(argv, 1)),
         proto = number(word(argv, 2));
    tell(syscall(SYS_socket, family, type, proto));
}

static void try_socket_high(char **argv)
{
    unsigned long family = (unsigned long)number(word(argv, 0)) | HIGH_BITS;
    tell(syscall(SYS_socket, family, number(word(argv, 1)), number(word(argv, 2))));
}

static void try_abstract(char **argv)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t size = strlen(word(argv, 0));
    memcpy(address.sun_path + 1, word(argv, 0), size < 100 ? size : 100);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + size);
    tell(connect(fd, (struct sockaddr *)&address, length));
}

/* ioctl NAME[-high] on a terminal of its own, which is its controlling one. */
static void try_terminal(char **argv)
{
    const char *name = word(argv, 0);
    unsigned long request = strncmp(name, "TIOCSTI", 7) == 0 ? TIOCSTI : TIOCLINUX;
    int master, slave;
    char byte = 'x';
    if (strstr(name, "-high"))
        request |= HIGH_BITS;
    if (openpty(&master, &slave, NULL, NULL, NULL) < 0) {
        printf("no terminal: ");
        tell(-1);
        return;
    }
    pid_t pid = fork();
    if (pid == 0) {
        setsid();
        ioctl(slave, TIOCSCTTY, 0);
        tell(syscall(SYS_ioctl, slave, request, &byte));
        fflush(stdout);
        _exit(0);
    }
    (void)waitpid(pid, NULL, 0);
}

static void try_shm(char **argv)
{
    long key = number(word(argv, 1));
    if (strcmp(word(argv, 0), "make") == 0)
        tell(shmget((key_t)key, 4096, IPC_CREAT | 0666));
    else
        tell(shmget((key_t)key, 4096, 0));
}

/* --- greed ------------------------------------------------------------------------------------- */

static void fork_bomb(char **argv)
{
    (void)argv;
    for (int i = 1; i < 32; i++)
        signal(i, SIG_IGN);
    signal(SIGCHLD, SIG_DFL);
    printf("started\n");
    fflush(stdout);
    for (;;) {
        pid_t pid = fork();
        if (pid == 0)
            setsid();
    }
}

static void open_many(char **argv)
{
    const char *kind = word(argv, 0);
    long count = 0;
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    for (; count < 1000000; count++) {
        int fd = strcmp(kind, "inotify") == 0 ? inotify_init1(0) : open("/dev/null", O_RDONLY);
        if (fd < 0)
            break;
    }
    int error = errno;
    printf("%ld %s\n", count, strerrorname_np(error));
    fflush(stdout);
    pause();
}

static void use_memory(char **argv)
{
    size_t size = (size_t)number(word(argv, 0)) << 20;
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        tell(-1);
        return;
    }
    memset(memory, 1, size);
    printf("ok\n");
}

static void dump_core(char **argv)
{
    (void)argv;
    struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
    setrlimit(RLIMIT_CORE, &all);
    abort();
}

/* --- other instruction sets -------------------------------------------------------------------- */

static void try_foreign(char **argv)
{
#ifdef __x86_64__
    if (strcmp(word(argv, 0), "x32") == 0) {
        tell(syscall(0x40000000 | SYS_getpid));
        return;
    }
    /* getpid by the 32-bit door; a kernel without it kills just the same. */
    long result;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(20) : "memory");
    errno = result < 0 ? (int)-result : 0;
    tell(result < 0 ? -1 : 0);
#else
    (void)argv;
    printf("none\n");
#endif
}

/* --- the table --------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    void (*run)(char **argv);
} probes[] = {
    {"syscall", try_syscall},
    {"syscalls", list_syscalls},
    {"namespace", try_namespace},
    {"read", try_read},
    {"write", try_write},
    {"open-rw", try_open_for_writing},
    {"list", try_list},
    {"readlink", try_readlink},
    {"mknod", try_mknod},
    {"setxattr", try_setxattr},
    {"shocker", try_shocker},
    {"chroot", try_chroot},
    {"ptrace", try_ptrace},
    {"hold-parent", hold_parent},
    {"kill", try_kill},
    {"kill-all", try_kill_all},
    {"fds", list_fds},
    {"pidfd-getfd", try_pidfd_getfd},
    {"read-memory", try_read_memory},
    {"dumpable", get_dumpable},
    {"priority", try_priority},
    {"raise-limit", try_raise_limit},
    {"socket", try_socket},
    {"socket-high", try_socket_high},
    {"abstract", try_abstract},
    {"terminal", try_terminal},
    {"shm", try_shm},
    {"fork-bomb", fork_bomb},
    {"open-many", open_many},
    {"use-memory", use_memory},
    {"dump-core", dump_core},
    {"foreign", try_foreign},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof probes / sizeof probes[0]; i++) {
        if (strcmp(probes[i].name, argv[1]) == 0) {
            probes[i].run(argv + 2);
            return 0;
        }
    }
    fprintf(stderr, "probe: no such probe\n");
    return 2;
}
