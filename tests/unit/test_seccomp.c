/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system call filters, run by a small simulator over every number and over the arguments that
 * have been ways around such filters before: high bits that the kernel ignores.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "seccomp_programs.h"

#if defined(__x86_64__)
#define OUR_ARCH AUDIT_ARCH_X86_64
#else
#define OUR_ARCH AUDIT_ARCH_AARCH64
#endif
#define HIGH (UINT64_C(1) << 32)
#define REFUSED(error) (SECCOMP_RET_ERRNO | (error))

struct filter {
    const struct sock_filter *code;
    size_t length;
};
#define FILTER(array) ((struct filter){array, sizeof array / sizeof array[0]})

static uint32_t load(const struct seccomp_data *data, uint32_t offset)
{
    uint32_t value;
    assert_true(offset % 4 == 0 && offset + 4 <= sizeof *data);
    memcpy(&value, (const char *)data + offset, sizeof value);
    return value;
}

/* Only what the generator emits; anything else, or a jump out of the program, fails the test. */
static uint32_t run(struct filter filter, const struct seccomp_data *data)
{
    uint32_t a = 0;
    for (size_t at = 0; at < filter.length; at++) {
        const struct sock_filter *op = &filter.code[at];
        bool taken;
        switch (op->code) {
        case BPF_LD | BPF_W | BPF_ABS:
            a = load(data, op->k);
            continue;
        case BPF_RET | BPF_K:
            return op->k;
        case BPF_JMP | BPF_JEQ | BPF_K:
            taken = a == op->k;
            break;
        case BPF_JMP | BPF_JGT | BPF_K:
            taken = a > op->k;
            break;
        case BPF_JMP | BPF_JGE | BPF_K:
            taken = a >= op->k;
            break;
        case BPF_JMP | BPF_JSET | BPF_K:
            taken = (a & op->k) != 0;
            break;
        default:
            fail_msg("instruction %#x at %zu", op->code, at);
            return 0;
        }
        at += taken ? op->jt : op->jf;
    }
    fail_msg("ran off the end");
    return 0;
}

static uint32_t call(struct filter filter, int number, uint64_t a, uint64_t b, uint64_t c)
{
    struct seccomp_data data = {.nr = number, .arch = OUR_ARCH, .args = {a, b, c}};
    return run(filter, &data);
}

static void test_foreign_architectures_are_killed(void **state)
{
    (void)state;
    static const uint32_t arches[] = {AUDIT_ARCH_I386, AUDIT_ARCH_ARM, AUDIT_ARCH_PPC64, 0};
    for (size_t i = 0; i < sizeof arches / sizeof arches[0]; i++) {
        struct seccomp_data data = {.nr = SYS_read, .arch = arches[i]};
        assert_int_equal(run(FILTER(seccomp_standard), &data), SECCOMP_RET_KILL_PROCESS);
    }
}

static void test_every_number_has_one_of_three_answers(void **state)
{
    (void)state;
    const struct filter filters[] = {FILTER(seccomp_standard), FILTER(seccomp_standard_volumes),
                                     FILTER(seccomp_strict), FILTER(seccomp_strict_volumes)};
    for (size_t f = 0; f < sizeof filters / sizeof filters[0]; f++) {
        for (int number = -1; number < 2048; number++) {
            uint32_t answer = call(filters[f], number, 0, 0, 0);
            bool known = answer == SECCOMP_RET_ALLOW || answer == REFUSED(EPERM) ||
                         answer == REFUSED(ENOSYS) || answer == REFUSED(EAFNOSUPPORT);
            assert_true(known);
        }
        assert_int_equal(call(filters[f], 1999, 0, 0, 0), REFUSED(ENOSYS));
        assert_int_equal(call(filters[f], SYS_read, 0, 0, 0), SECCOMP_RET_ALLOW);
        assert_int_equal(call(filters[f], SYS_execveat, 0, 0, 0), SECCOMP_RET_ALLOW);
        assert_int_equal(call(filters[f], SYS_mount, 0, 0, 0), REFUSED(EPERM));
        assert_int_equal(call(filters[f], SYS_bpf, 0, 0, 0), REFUSED(EPERM));
        assert_int_equal(call(filters[f], SYS_setns, 0, 0, 0), REFUSED(EPERM));
        assert_int_equal(call(filters[f], SYS_clone3, 0, 0, 0), REFUSED(ENOSYS));
        assert_int_equal(call(filters[f], 0x40000000, 0, 0, 0), REFUSED(ENOSYS));
    }
}

static void test_namespaces_by_clone(void **state)
{
    (void)state;
    static const uint64_t flags[] = {CLONE_NEWNS,  CLONE_NEWUTS, CLONE_NEWIPC,   CLONE_NEWUSER,
                                     CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWCGROUP};
    struct filter filter = FILTER(seccomp_standard);
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        assert_int_equal(call(filter, SYS_clone, flags[i], 0, 0), REFUSED(EPERM));
        assert_int_equal(call(filter, SYS_clone, flags[i] | HIGH | 17, 0, 0), REFUSED(EPERM));
    }
    assert_int_equal(call(filter, SYS_clone, CLONE_VM | CLONE_THREAD, 0, 0), SECCOMP_RET_ALLOW);
}

static void test_high_bits_do_not_hide_an_ioctl(void **state)
{
    (void)state;
    struct filter filter = FILTER(seccomp_standard);
    assert_int_equal(call(filter, SYS_ioctl, 0, 0x5412, 0), REFUSED(EPERM));
    assert_int_equal(call(filter, SYS_ioctl, 0, 0x5412 | HIGH, 0), REFUSED(EPERM));
    assert_int_equal(call(filter, SYS_ioctl, 0, 0x541c | HIGH << 7, 0), REFUSED(EPERM));
    assert_int_equal(call(filter, SYS_ioctl, 0, 0x5413, 0), SECCOMP_RET_ALLOW);
}

static void test_socket_families(void **state)
{
    (void)state;
    struct filter filter = FILTER(seccomp_standard), strict = FILTER(seccomp_strict);
    static const uint64_t allowed[] = {AF_UNIX, AF_INET, AF_INET6};
    for (uint64_t family = 0; family < 64; family++) {
        bool listed = false;
        for (size_t i = 0; i < sizeof allowed / sizeof allowed[0]; i++)
            listed |= allowed[i] == family;
        uint32_t wanted = listed ? SECCOMP_RET_ALLOW : REFUSED(EAFNOSUPPORT);
        if (family != AF_NETLINK)
            assert_int_equal(call(filter, SYS_socket, family | HIGH, 1, 0), wanted);
    }
    assert_int_equal(call(filter, SYS_socket, AF_NETLINK, 3, 0), SECCOMP_RET_ALLOW);
    assert_int_equal(call(filter, SYS_socket, AF_NETLINK, 3, 9), REFUSED(EAFNOSUPPORT));
    assert_int_equal(call(strict, SYS_socket, AF_NETLINK, 3, 0), REFUSED(EAFNOSUPPORT));
}

static void test_set_user_id_modes(void **state)
{
    (void)state;
    struct filter with = FILTER(seccomp_standard_volumes), without = FILTER(seccomp_standard);
    assert_int_equal(call(with, SYS_fchmod, 0, 04755, 0), REFUSED(EPERM));
    assert_int_equal(call(with, SYS_fchmod, 0, 02755 | HIGH, 0), REFUSED(EPERM));
    assert_int_equal(call(with, SYS_fchmod, 0, 0755, 0), SECCOMP_RET_ALLOW);
    assert_int_equal(call(with, SYS_fchmodat, 0, 0, 06000), REFUSED(EPERM));
    assert_int_equal(call(with, SYS_openat2, 0, 0, 0), REFUSED(ENOSYS));
    assert_int_equal(call(without, SYS_fchmod, 0, 04755, 0), SECCOMP_RET_ALLOW);
    struct seccomp_data data = {.nr = SYS_openat, .arch = OUR_ARCH, .args = {0, 0, 0100, 04755}};
    assert_int_equal(run(with, &data), REFUSED(EPERM));
    data.args[2] = 0; /* not creating: the mode is whatever was in the register */
    assert_int_equal(run(with, &data), SECCOMP_RET_ALLOW);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_foreign_architectures_are_killed),
        cmocka_unit_test(test_every_number_has_one_of_three_answers),
        cmocka_unit_test(test_namespaces_by_clone),
        cmocka_unit_test(test_high_bits_do_not_hide_an_ioctl),
        cmocka_unit_test(test_socket_families),
        cmocka_unit_test(test_set_user_id_modes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
