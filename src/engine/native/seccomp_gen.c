/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs during the build and writes the system call filters as C arrays, so that making a box costs
 * no compilation and no cache that someone could have written to.
 *
 * libseccomp knows the numbers of the calls on each architecture. The program itself is laid out
 * here, for two things it cannot say: "this argument's low 32 bits are not X" (the kernel looks at
 * 32 bits of an int, a filter that compares 64 is passed by setting a high bit), and "a number that
 * is newer than the list is ENOSYS, one that is known and refused is EPERM".
 *
 *      arch is not ours          -> kill
 *      x32 numbers               -> ENOSYS
 *      clone, ioctl, socket, ... -> by their arguments
 *      in the list of allowed    -> allow      (the kernel caches this answer by number)
 *      in the list of refused    -> EPERM
 *      anything else             -> ENOSYS
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "engine/native/seccomp_lists.h"

#if defined(__x86_64__)
#define OUR_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OUR_ARCH AUDIT_ARCH_AARCH64
#else
#error "no system call filter for this architecture yet"
#endif

#define MAX_PROGRAM 4096
#define MAX_CALLS 1024
#define X32_BIT 0x40000000U

enum { STRICT = 1 << 0, NO_SETUID_FILES = 1 << 1 };

static struct sock_filter program[MAX_PROGRAM];
static unsigned length;

static void emit(unsigned short code, unsigned k, unsigned char jt, unsigned char jf)
{
    if (length == MAX_PROGRAM) {
        fprintf(stderr, "seccomp-gen: program too long\n");
        exit(1);
    }
    program[length++] = (struct sock_filter){code, jt, jf, k};
}

static void load(size_t offset)
{
    emit(BPF_LD | BPF_W | BPF_ABS, (unsigned)offset, 0, 0);
}

static void load_number(void)
{
    load(offsetof(struct seccomp_data, nr));
}

/* The low 32 bits, which is where they are on the little-endian machines we know. */
static void load_argument(unsigned n)
{
    load(offsetof(struct seccomp_data, args) + 8 * n);
}

static void answer(unsigned action)
{
    emit(BPF_RET | BPF_K, action, 0, 0);
}

static void refuse(int error)
{
    answer(SECCOMP_RET_ERRNO | (unsigned)error);
}

/* Begins what happens for one call; end_call() closes it. A call this architecture lacks gives -1. */
static int begin_call(const char *name)
{
    int number = seccomp_syscall_resolve_name(name);
    if (number < 0)
        return -1;
    emit(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 0);
    return (int)length - 1;
}

static void end_call(int at)
{
    unsigned skip = length - (unsigned)at - 1;
    if (skip > 255) {
        fprintf(stderr, "seccomp-gen: block too long\n");
        exit(1);
    }
    program[at].jf = (unsigned char)skip;
}

static void refuse_if_bits(unsigned argument, unsigned bits, int error)
{
    load_argument(argument);
    emit(BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1);
    refuse(error);
}

static void refuse_if_equal(unsigned argument, unsigned value, int error)
{
    load_argument(argument);
    emit(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
    refuse(error);
}

static void allow_if_equal(unsigned argument, unsigned value)
{
    load_argument(argument);
    emit(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
    answer(SECCOMP_RET_ALLOW);
}

/* ---- calls that are judged by their arguments ------------------------------------------------ */

static void judge_clone(void)
{
    const unsigned namespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
                                CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;
    int at = begin_call("clone");
    refuse_if_bits(0, namespaces, EPERM);
    answer(SECCOMP_RET_ALLOW);
    end_call(at);
}

static void judge_ioctl(void)
{
    const unsigned tiocsti = 0x5412, tioclinux = 0x541c;
    int at = begin_call("ioctl");
    refuse_if_equal(1, tiocsti, EPERM);
    refuse_if_equal(1, tioclinux, EPERM);
    answer(SECCOMP_RET_ALLOW);
    end_call(at);
}

static void judge_socket(const char *name, unsigned flags)
{
    int at = begin_call(name);
    allow_if_equal(0, AF_UNIX);
    allow_if_equal(0, AF_INET);
    allow_if_equal(0, AF_INET6);
    if (!(flags & STRICT)) {
        /* Routing only: getifaddrs(3) needs it. */
        load_argument(0);
        emit(BPF_JMP | BPF_JEQ | BPF_K, AF_NETLINK, 0, 3);
        load_argument(2);
        emit(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1);
        answer(SECCOMP_RET_ALLOW);
    }
    refuse(EAFNOSUPPORT);
    end_call(at);
}

static void judge_personality(void)
{
    /* Linux, Linux with 32-bit numbers, "tell me", and a debugger's "same addresses each time". */
    static const unsigned allowed[] = {0x0, 0x8, 0x20000, 0x20008, 0xffffffff, 0x40000};
    int at = begin_call("personality");
    for (size_t i = 0; i < sizeof allowed / sizeof allowed[0]; i++)
        allow_if_equal(0, allowed[i]);
    refuse(EPERM);
    end_call(at);
}

/* On a volume the box's root may be the host's root; a set-user-ID file left there would be a way
 * out for whoever runs it on the host. */
static void judge_modes(void)
{
    static const struct {
        const char *name;
        unsigned mode;
    } calls[] = {{"chmod", 1},   {"fchmod", 1}, {"fchmodat", 2}, {"fchmodat2", 2}, {"mkdir", 1},
                 {"mkdirat", 2}, {"mknod", 1},  {"mknodat", 2},  {"creat", 1}};
    static const struct {
        const char *name;
        unsigned flags, mode;
    } opens[] = {{"open", 1, 2}, {"openat", 2, 3}};
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        int at = begin_call(calls[i].name);
        if (at < 0)
            continue;
        refuse_if_bits(calls[i].mode, 06000, EPERM);
        answer(SECCOMP_RET_ALLOW);
        end_call(at);
    }
    for (size_t i = 0; i < sizeof opens / sizeof opens[0]; i++) {
        int at = begin_call(opens[i].name);
        if (at < 0)
            continue;
        load_argument(opens[i].flags);
        /* O_CREAT, or the bit of O_TMPFILE; otherwise the mode is whatever was in the register. */
        emit(BPF_JMP | BPF_JSET | BPF_K, 0100 | 020000000, 0, 3);
        refuse_if_bits(opens[i].mode, 06000, EPERM);
        answer(SECCOMP_RET_ALLOW);
        end_call(at);
    }
    /* Its mode lies in memory, where a filter cannot look. Callers fall back to openat. */
    int at = begin_call("openat2");
    if (at >= 0) {
        refuse(ENOSYS);
        end_call(at);
    }
}

/* ---- lists ---------------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static size_t resolve(const char *const *names, const char *const *without, int *numbers)
{
    size_t count = 0;
    for (; *names; names++) {
        bool left_out = false;
        for (const char *const *w = without; w && *w; w++)
            left_out |= strcmp(*w, *names) == 0;
        int number = seccomp_syscall_resolve_name(*names);
        if (number == __NR_SCMP_ERROR)
            fprintf(stderr, "seccomp-gen: libseccomp does not know '%s'\n", *names);
        if (number >= 0 && !left_out && count < MAX_CALLS)
            numbers[count++] = number;
    }
    qsort(numbers, count, sizeof *numbers, by_number);
    return count;
}

/* Neighbouring numbers become one comparison of a range. */
static void answer_list(const char *const *names, const char *const *without, unsigned action)
{
    int numbers[MAX_CALLS];
    size_t count = resolve(names, without, numbers);
    for (size_t i = 0; i < count;) {
        size_t last = i;
        while (last + 1 < count && numbers[last + 1] <= numbers[last] + 1)
            last++;
        emit(BPF_JMP | BPF_JGT | BPF_K, (unsigned)numbers[last], 2, 0);
        emit(BPF_JMP | BPF_JGE | BPF_K, (unsigned)numbers[i], 0, 1);
        answer(action);
        i = last + 1;
    }
}

static void generate(unsigned flags)
{
    length = 0;
    load(offsetof(struct seccomp_data, arch));
    emit(BPF_JMP | BPF_JEQ | BPF_K, OUR_ARCH, 1, 0);
    answer(SECCOMP_RET_KILL_PROCESS);
    load_number();
    if (OUR_ARCH == AUDIT_ARCH_X86_64) {
        emit(BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1);
        refuse(ENOSYS);
    }
    judge_clone();
    judge_ioctl();
    judge_socket("socket", flags);
    judge_socket("socketpair", flags);
    if (!(flags & STRICT))
        judge_personality();
    if (flags & NO_SETUID_FILES)
        judge_modes();
    answer_list(allowed_calls, flags & STRICT ? strict_refuses : NULL, SECCOMP_RET_ALLOW);
    if (flags & STRICT)
        answer_list(strict_refuses, NULL, SECCOMP_RET_ERRNO | EPERM);
    answer_list(refused_calls, NULL, SECCOMP_RET_ERRNO | EPERM);
    refuse(ENOSYS);
}

static void write_program(FILE *out, const char *name)
{
    fprintf(out, "static const struct sock_filter %s[] = {\n", name);
    for (unsigned i = 0; i < length; i++)
        fprintf(out, "    {0x%04x, %u, %u, 0x%08x},\n", program[i].code, program[i].jt,
                program[i].jf, program[i].k);
    fprintf(out, "};\n\n");
}

int main(int argc, char **argv)
{
    FILE *out = argc == 2 ? fopen(argv[1], "w") : NULL;
    if (!out) {
        fprintf(stderr, "usage: seccomp-gen OUTPUT\n");
        return 2;
    }
    fprintf(out, "/* Made by seccomp-gen from seccomp_lists.h. */\n#include <linux/filter.h>\n\n");
    generate(0);
    write_program(out, "seccomp_standard");
    generate(NO_SETUID_FILES);
    write_program(out, "seccomp_standard_volumes");
    generate(STRICT);
    write_program(out, "seccomp_strict");
    generate(STRICT | NO_SETUID_FILES);
    write_program(out, "seccomp_strict_volumes");
    return fclose(out) == 0 ? 0 : 1;
}
