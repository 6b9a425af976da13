/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the keeper share. See main.c for the theory of operation. */
#ifndef HF_KEEPER_KEEPER_H
#define HF_KEEPER_KEEPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "engine/native/launch_abi.h"
#include "engine/native/plan.h"

/* The work of making one box. */
struct making {
    struct plan plan;
    const void *seccomp; /* struct sock_filter[] */
    size_t seccomp_size;
    int cgroup_tasks[16]; /* the entrances of version 1, opened with the host's rights */
    size_t cgroup_count;
    int cgroup_unified; /* the directory of version 2, or -1 */
    pid_t pid;
    int pidfd;
    int userns;  /* the box's user namespace */
    int layers;  /* a detached tmpfs with the writable layers, while overlays are made */
    bool staged; /* it was attached, for a kernel that takes layers by path only */
    unsigned staged_count;
    int held[48]; /* layers under the overlays */
    size_t held_count;
    int sync[2];     /* keeper and setup process, during the setup only */
    int lifeline[2]; /* [0] stays with the keeper, [1] goes to the warden */
    int root;        /* setup: the new root's mount */
    int null, empty; /* setup: what files and directories are covered with */
    int proc_sys;    /* setup: the box's /proc/sys while it could still be written to */
};

/* userns.c */
int userns_clone(struct making *making, hf_error **reterr); /* 0 in the child, 1 in the keeper */
int userns_map(struct making *making, hf_error **reterr);
int userns_become_root(hf_error **reterr);
/* A user namespace that maps one outer id to the start of the box's range, for volumes. */
int userns_for_volumes(const struct plan *plan, int *ret_fd, hf_error **reterr);

/* cgroup.c */
int cgroup_make(struct making *making, hf_error **reterr);
int cgroup_join(struct making *making, hf_error **reterr);

/* share.c: mounts that only the host's root can make with mapped ids. */
int share_layers(struct making *making, const struct plan_op *op, hf_error **reterr);
/* Takes away what staging has put into the keeper's own mount namespace. */
void share_unstage(struct making *making);
/* Lets go of everything that only the making needed. */
void share_finish(struct making *making);
int share_make(struct making *making, const struct plan_op *op, int volume_userns, int *ret_mount,
               hf_error **reterr);

/* setup.c: never returns; becomes the warden or dies with a report. */
_Noreturn void setup_run(struct making *making);

/* mounts.c: operations in the box's mount namespace. */
int mounts_attach(int root, int mount, const char *target, bool is_file, hf_error **reterr);
int mounts_tmpfs(struct making *making, const struct plan_op *op, hf_error **reterr);
int mounts_proc(struct making *making, const struct plan_op *op, hf_error **reterr);
int mounts_sysctl(struct making *making, const struct plan_op *op, hf_error **reterr);
int mounts_mask(struct making *making, const struct plan_op *op, hf_error **reterr);
int mounts_read_only(struct making *making, const struct plan_op *op, hf_error **reterr);
int mounts_mqueue(struct making *making, const struct plan_op *op, hf_error **reterr);
int mounts_directory(struct making *making, const struct plan_op *op, hf_error **reterr);
int mounts_change_root(struct making *making, const struct plan_op *op, hf_error **reterr);
int mounts_layers(struct making *making, const struct plan_op *op, hf_error **reterr);
int mounts_share(struct making *making, const struct plan_op *op, hf_error **reterr);

/* dev.c */
int dev_make(struct making *making, const struct plan_op *op, hf_error **reterr);
int dev_device(struct making *making, const struct plan_op *op, hf_error **reterr);
int dev_pts(struct making *making, const struct plan_op *op, hf_error **reterr);

/* sysfs.c */
int sysfs_make(struct making *making, const struct plan_op *op, hf_error **reterr);
int sysfs_file(struct making *making, const struct plan_op *op, hf_error **reterr);
int sysfs_cgroup(struct making *making, const struct plan_op *op, hf_error **reterr);

/* net.c */
int net_loopback(struct making *making, const struct plan_op *op, hf_error **reterr);

/* restrict.c: what a process gives up for good. */
int restrict_hostname(struct making *making, const struct plan_op *op, hf_error **reterr);
int restrict_rlimit(struct making *making, const struct plan_op *op, hf_error **reterr);
int restrict_keyring(struct making *making, const struct plan_op *op, hf_error **reterr);
int restrict_user(struct making *making, const struct plan_op *op, hf_error **reterr);
int restrict_caps(struct making *making, const struct plan_op *op, hf_error **reterr);
int restrict_seccomp(struct making *making, const struct plan_op *op, hf_error **reterr);

/* landlock.c */
int landlock_apply(struct making *making, const struct plan_op *op, hf_error **reterr);

#endif
