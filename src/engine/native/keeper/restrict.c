/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the box's first process gives up for good before it becomes the warden. Every job is a
 * descendant and inherits it, so there is no second place that could forget something.
 */
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/keyctl.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/native/keeper/keeper.h"

int restrict_hostname(struct making *making, const struct plan_op *op, hf_error **reterr)
{
    (void)making;
    if (sethostname(op->s[0], strlen(op->s[0])) < 0 || setdomainname("(none)", 6) < 0)
        return hf__error_sys(reterr, "cannot set the host name '%s'", op->s[0]);
    return 0;
}

/* Hard limits can only be lowered here: without CAP_SYS_RESOURCE on the host, what the caller has is
 * the most that a box can have. */
int restrict_rlimit(struct making *making, const struct plan_op *op, hf_error **reterr)
{
    struct rlimit limit, wanted;
    (void)making;
    if (getrlimit((int)op->a, &limit) < 0)
        return hf__error_sys(reterr, "cannot read limit %s", op->s[0]);
    wanted.rlim_max = op->b < limit.rlim_max ? op->b : limit.rlim_max;
    wanted.rlim_cur = wanted.rlim_max;
    if (setrlimit((int)op->a, &wanted) < 0)
        return hf__error_sys(reterr, "cannot set limit %s", op->s[0]);
    return 0;
}

int restrict_keyring(struct making *making, const struct plan_op *op, hf_error **reterr)
{
    (void)making;
    (void)op;
    long result = syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);
    if (result < 0 && errno != ENOSYS && errno != EDQUOT && errno != EPERM)
        return hf__error_sys(reterr, "cannot leave the caller's keyring");
    return 0;
}

int restrict_user(struct making *making, const struct plan_op *op, hf_error **reterr)
{
    gid_t gid = (gid_t)op->b;
    uid_t uid = (uid_t)op->a;
    (void)making;
    if (setgroups(0, NULL) < 0 || setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0)
        return hf__error_sys(reterr, "cannot become user %u:%u in the box", uid, gid);
    return 0;
}

int restrict_caps(struct making *making, const struct plan_op *op, hf_error **reterr)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2] = {{0}};
    (void)making;
    for (int cap = 0; cap < 64; cap++) {
        if (op->a >> cap & 1)
            continue;
        if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0)
            continue;
        if (errno == EINVAL)
            break; /* past the last one that this kernel knows */
        return hf__error_sys(reterr, "cannot drop capability %d", cap);
    }
    if (op->a == 0) {
        /* Nothing can give root its powers back: not a uid of 0, not a set-user-ID file. */
        int bits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
                   SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
                   SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
        if (prctl(PR_SET_SECUREBITS, bits, 0, 0, 0) < 0)
            return hf__error_sys(reterr, "cannot lock the privileges of root");
    }
    (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    for (int i = 0; i < 2; i++)
        data[i].effective = data[i].permitted = (uint32_t)(op->a >> (32 * i));
    if (syscall(SYS_capset, &header, data) < 0)
        return hf__error_sys(reterr, "cannot give up capabilities");
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return hf__error_sys(reterr, "cannot set no_new_privs");
    return 0;
}

int restrict_seccomp(struct making *making, const struct plan_op *op, hf_error **reterr)
{
    struct sock_fprog program = {
        .len = (unsigned short)(making->seccomp_size / sizeof(struct sock_filter)),
        .filter = (struct sock_filter *)making->seccomp,
    };
    if (making->seccomp_size == 0 || making->seccomp_size % sizeof(struct sock_filter) != 0)
        return hf__error(reterr, HF_E_SYSTEM, "the system call filter '%s' is empty", op->s[0]);
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
        return hf__error_sys(reterr, "cannot install the system call filter '%s'", op->s[0]);
    return 0;
}
