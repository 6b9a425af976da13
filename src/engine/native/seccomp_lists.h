/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system calls of a box. Allowed is what ordinary programs, compilers, package managers,
 * language runtimes and debuggers of their own children use. Refused is what reaches parts of the
 * kernel that no namespace divides, changes what only the host may change, or has been a way out
 * before. A call that stands in neither list is as if the kernel did not have it, so that programs
 * use what they used before it existed. clone, ioctl, socket, socketpair and personality are judged
 * by their arguments in seccomp_gen.c.
 */
#ifndef HF_NATIVE_SECCOMP_LISTS_H
#define HF_NATIVE_SECCOMP_LISTS_H

static const char *const allowed_calls[] = {
    "accept", "accept4", "access", "alarm", "arch_prctl", "bind", "brk", "cachestat", "capget",
    "capset", "chdir", "chmod", "chown", "clock_getres", "clock_gettime", "clock_nanosleep",
    "close", "close_range", "connect", "copy_file_range", "creat", "dup", "dup2", "dup3",
    "epoll_create", "epoll_create1", "epoll_ctl", "epoll_ctl_old", "epoll_pwait", "epoll_pwait2",
    "epoll_wait", "epoll_wait_old", "eventfd", "eventfd2", "execve", "execveat", "exit",
    "exit_group", "faccessat", "faccessat2", "fadvise64", "fallocate", "fchdir", "fchmod",
    "fchmodat", "fchmodat2", "fchown", "fchownat", "fcntl", "fdatasync", "fgetxattr", "flistxattr",
    "flock", "fork", "fremovexattr", "fsetxattr", "fstat", "fstatfs", "fsync", "ftruncate",
    "futex", "futex_requeue", "futex_wait", "futex_waitv", "futex_wake", "futimesat", "getcpu",
    "getcwd", "getdents", "getdents64", "getegid", "geteuid", "getgid", "getgroups", "getitimer",
    "getpeername", "getpgid", "getpgrp", "getpid", "getppid", "getpriority", "getrandom",
    "getresgid", "getresuid", "getrlimit", "get_robust_list", "getrusage", "getsid", "getsockname",
    "getsockopt", "get_thread_area", "gettid", "gettimeofday", "getuid", "getxattr",
    "inotify_add_watch", "inotify_init", "inotify_init1", "inotify_rm_watch", "io_cancel",
    "io_destroy", "io_getevents", "io_pgetevents", "io_setup", "io_submit", "ioprio_get",
    "ioprio_set", "kill", "landlock_add_rule", "landlock_create_ruleset", "landlock_restrict_self",
    "lchown", "lgetxattr", "link", "linkat", "listen", "listxattr", "llistxattr", "lremovexattr",
    "lseek", "lsetxattr", "lstat", "madvise", "map_shadow_stack", "membarrier", "memfd_create",
    "mincore", "mkdir", "mkdirat", "mknod", "mknodat", "mlock", "mlock2", "mlockall", "mmap",
    "modify_ldt", "mprotect", "mq_getsetattr", "mq_notify", "mq_open", "mq_timedreceive",
    "mq_timedsend", "mq_unlink", "mremap", "msgctl", "msgget", "msgrcv", "msgsnd", "msync",
    "munlock", "munlockall", "munmap", "nanosleep", "newfstatat", "open", "openat", "openat2",
    "pause", "pidfd_getfd", "pidfd_open", "pidfd_send_signal", "pipe", "pipe2", "pkey_alloc",
    "pkey_free", "pkey_mprotect", "poll", "ppoll", "prctl", "pread64", "preadv", "preadv2",
    "prlimit64", "process_madvise", "process_mrelease", "process_vm_readv", "process_vm_writev",
    "pselect6", "ptrace", "pwrite64", "pwritev", "pwritev2", "read", "readahead", "readlink",
    "readlinkat", "readv", "recvfrom", "recvmmsg", "recvmsg", "remap_file_pages", "removexattr",
    "rename", "renameat", "renameat2", "restart_syscall", "rmdir", "rseq", "rt_sigaction",
    "rt_sigpending", "rt_sigprocmask", "rt_sigqueueinfo", "rt_sigreturn", "rt_sigsuspend",
    "rt_sigtimedwait", "rt_tgsigqueueinfo", "sched_getaffinity", "sched_getattr", "sched_getparam",
    "sched_get_priority_max", "sched_get_priority_min", "sched_getscheduler",
    "sched_rr_get_interval", "sched_setaffinity", "sched_setattr", "sched_setparam",
    "sched_setscheduler", "sched_yield", "seccomp", "select", "semctl", "semget", "semop",
    "semtimedop", "sendfile", "sendmmsg", "sendmsg", "sendto", "setfsgid", "setfsuid", "setgid",
    "setgroups", "setitimer", "setpgid", "setpriority", "setregid", "setresgid", "setresuid",
    "setreuid", "setrlimit", "set_robust_list", "setsid", "setsockopt", "set_thread_area",
    "set_tid_address", "setuid", "setxattr", "shmat", "shmctl", "shmdt", "shmget", "shutdown",
    "sigaltstack", "signalfd", "signalfd4", "splice", "stat", "statfs", "statx", "symlink",
    "symlinkat", "sync", "sync_file_range", "syncfs", "sysinfo", "tee", "tgkill", "time",
    "timer_create", "timer_delete", "timer_getoverrun", "timer_gettime", "timer_settime",
    "timerfd_create", "timerfd_gettime", "timerfd_settime", "times", "tkill", "truncate", "umask",
    "uname", "unlink", "unlinkat", "utime", "utimensat", "utimes", "vfork", "vmsplice", "wait4",
    "waitid", "write", "writev", "chroot", 0};

/* In a strict box these too; they are for debuggers, tuning and old ways of talking. */
static const char *const strict_refuses[] = {
    "ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "process_madvise",
    "personality", "io_setup", "io_submit", "io_cancel", "io_destroy", "io_getevents",
    "io_pgetevents", "modify_ldt", "shmget", "shmat", "shmctl", "shmdt", "semget", "semop",
    "semctl", "semtimedop", "msgget", "msgsnd", "msgrcv", "msgctl", "chroot", "setxattr",
    "lsetxattr", "fsetxattr", "vmsplice", "remap_file_pages", "sched_setattr",
    "sched_setscheduler", "mknod", "mknodat", 0};

static const char *const refused_calls[] = {
    "acct", "add_key", "adjtimex", "afs_syscall", "bpf", "clock_adjtime", "clock_settime",
    "create_module", "delete_module", "fanotify_init", "fanotify_mark", "finit_module", "fsconfig",
    "fsmount", "fsopen", "fspick", "get_kernel_syms", "get_mempolicy", "init_module",
    "io_uring_enter", "io_uring_register", "io_uring_setup", "ioperm", "iopl", "kcmp",
    "kexec_file_load", "kexec_load", "keyctl", "lookup_dcookie", "mbind", "memfd_secret",
    "migrate_pages", "mount", "mount_setattr", "move_mount", "move_pages", "name_to_handle_at",
    "nfsservctl", "open_by_handle_at", "open_tree", "perf_event_open", "pivot_root", "query_module",
    "quotactl", "quotactl_fd", "reboot", "request_key", "set_mempolicy",
    "set_mempolicy_home_node", "setdomainname", "sethostname", "setns", "settimeofday", "stime",
    "swapoff", "swapon", "sysfs", "syslog", "_sysctl", "umount", "umount2", "unshare", "uselib",
    "userfaultfd", "ustat", "vhangup", "vm86", "vm86old", 0};

#endif
