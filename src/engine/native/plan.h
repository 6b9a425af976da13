/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan: everything that will be done to make a box, as a flat list of operations that can be
 * printed (`holdfast run --dry-run`) before any of them is carried out. The library compiles it from
 * a spec; the keeper, a small static program, carries it out and knows nothing of specs.
 *
 * Each operation has a kind, flags, two numbers and up to three strings; PLAN_OPS says what they
 * mean for which kind, and in which of the three processes of a creation it happens:
 *
 *      keeper  on the host, with the caller's rights
 *      share   in the keeper where the caller is root, because only the host's root may map ids of
 *              mounts; in the new box's first process where it is not
 *      setup   in the box's first process, inside all namespaces, before it becomes the warden
 */
#ifndef HF_NATIVE_PLAN_H
#define HF_NATIVE_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

#define PLAN_OPS(X)                                                                                \
    /* keeper */                                                                                   \
    X(CGROUP, "cgroup", "make cgroup {1}")                                                         \
    X(CGROUP_SET, "cgroup-set", "write '{3}' to {2} of cgroup {1}")                                \
    X(UID_MAP, "uid-map", "map users {a} (box) to {b} (host)")                                     \
    X(GID_MAP, "gid-map", "map groups {a} (box) to {b} (host)")                                    \
    /* share */                                                                                    \
    X(FILE, "file", "file {1} in the writable layer of the root")                                  \
    X(LAYERS, "layers", "writable layers in memory, {a} bytes at most")                            \
    X(OVERLAY, "overlay", "overlay on {1}: reads {2}, writes to layer '{3}'")                      \
    X(BIND, "bind", "volume on {1}: {2}")                                                          \
    /* setup */                                                                                    \
    X(TMPFS, "tmpfs", "tmpfs on {1}, {a} bytes, mode {b}")                                         \
    X(PROC, "proc", "private /proc")                                                               \
    X(SYSCTL, "sysctl", "set {1} to {2}")                                                          \
    X(MASK, "mask", "hide {1}")                                                                    \
    X(READ_ONLY, "read-only", "make {1} read-only")                                                \
    X(DEV, "dev", "minimal /dev")                                                                  \
    X(DEVICE, "device", "device {1}")                                                              \
    X(DEVPTS, "devpts", "private /dev/pts, {a} terminals")                                         \
    X(MQUEUE, "mqueue", "private message queues")                                                  \
    X(SYS, "sys", "small /sys")                                                                    \
    X(SYS_FILE, "sys-file", "copy of {1}")                                                         \
    X(CGROUP_VIEW, "cgroup-view", "read-only view of the box's cgroup on {1}: {2}")                \
    X(ROOT, "root", "change the root, leave the host's mounts behind")                             \
    X(DIRECTORY, "directory", "directory {1}, mode {b}")                                           \
    X(HOSTNAME, "hostname", "host name {1}")                                                       \
    X(LOOPBACK, "loopback", "loopback interface up")                                               \
    X(RLIMIT, "rlimit", "limit {1} (resource {a}) to {b}")                                         \
    X(KEYRING, "keyring", "empty session keyring")                                                 \
    X(USER, "user", "become user {a}, group {b}")                                                  \
    X(CAPS, "caps", "keep capabilities {a}, drop all others")                                      \
    X(LANDLOCK, "landlock", "Landlock: nothing above the root, no devices, no foreign signals")    \
    X(SECCOMP, "seccomp", "system call filter '{1}'")

enum plan_kind {
#define PLAN_ENUM(kind, name, text) OP_##kind,
    PLAN_OPS(PLAN_ENUM)
#undef PLAN_ENUM
        OP_COUNT
};

/* Flags of operations. */
enum {
    OPF_RDONLY = 1 << 0,
    OPF_NOEXEC = 1 << 1,
    OPF_OPTIONAL = 1 << 2,  /* a failure is a weaker default, not an error */
    OPF_DIRECTORY = 1 << 3, /* CGROUP: a parent shared by all boxes, never joined or removed */
    OPF_IDMAP = 1 << 4,     /* share: done by the keeper, with mapped ids */
    OPF_UNIFIED = 1 << 5,   /* CGROUP: of version 2, entered by being born in it */
};

struct plan_op {
    enum plan_kind kind;
    uint32_t flags;
    uint64_t a, b;
    const char *s[3]; /* never NULL */
};

/* Flags of the plan as a whole. */
enum {
    PLAN_ROOTFUL = 1 << 0,
    PLAN_NET = 1 << 1,    /* a network namespace of its own */
    PLAN_CGROUP = 1 << 2, /* there is a cgroup to hide behind a cgroup namespace */
};

struct chunk;

struct plan {
    uint32_t flags;
    const char *name;      /* of the box */
    const char *box_dir;   /* its runtime directory */
    const char *image_dir; /* a prepared layer, locked by the keeper for as long as it is used */
    uint32_t owner;        /* host uid that owns the user namespace: the start of its range */
    uint32_t volume_uid, volume_gid; /* the caller, as whom the box's root acts on volumes */
    const char *subid_tool;          /* rootless with ranges: "" or the directory of newuidmap */
    struct plan_op *ops;
    size_t count;
    struct chunk *strings; /* owned copies, while it is built */
    bool failed;           /* something could not be added */
};

/* Building. Strings are copied. A failed append marks plan->failed; check once. */
void plan_init(struct plan *plan);
struct plan_op *plan_add(struct plan *plan, enum plan_kind kind, const char *s1, const char *s2,
                         const char *s3);
char *plan_string(struct plan *plan, const char *text);
void plan_finish(struct plan *plan);

void plan_encode(const struct plan *plan, const void *seccomp, size_t seccomp_size,
                 struct hf_buf *out);
/* The decoded plan points into `data`. */
bool plan_decode(const void *data, size_t size, struct plan *ret_plan, const void **ret_seccomp,
                 size_t *ret_seccomp_size);

/* One line for each operation. */
void plan_print(const struct plan *plan, struct hf_buf *out);

#endif
