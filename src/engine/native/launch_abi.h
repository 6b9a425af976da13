/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between the library and the keeper it starts: descriptor numbers and the few messages. Both come
 * from the same build, so there is no version.
 */
#ifndef HF_NATIVE_LAUNCH_ABI_H
#define HF_NATIVE_LAUNCH_ABI_H

#include <stdint.h>

enum {
    KEEPER_PLAN_FD = 3,    /* sealed: the plan */
    KEEPER_CONTROL_FD = 4, /* SEQPACKET to the client that asked for the box */
    KEEPER_WARDEN_FD = 5,  /* sealed: the warden's program */
    KEEPER_CONFIG_FD = 6,  /* sealed: the warden's configuration */
    KEEPER_LISTEN_FD = 7,  /* the listening socket */
    KEEPER_DIR_FD = 8,     /* the box's runtime directory */
    KEEPER_IDS_FD = 9,     /* holds the lock on the box's uid range; or nothing */
    KEEPER_FIRST_FREE_FD = 10,
};

/* keeper to client, once */
enum { KEEPER_READY = 1, KEEPER_FAILED = 2 };

struct keeper_report {
    uint32_t kind;
    int32_t code, sys_errno; /* FAILED: as in hf_error */
    int32_t warden;          /* READY: its pid */
    char message[768];
};

/* client to keeper: the box stays when the client is gone. Without it, it goes with the client. */
#define KEEPER_KEEP 'k'
/* keeper to client: the box has ended, and its directory's lock is wanted to remove it. */
#define KEEPER_ENDING 'e'

/* In the box's runtime directory. */
#define BOX_LOCK "keeper.lock" /* a POSIX lock on it is held by the living keeper */
#define BOX_KEPT "kept"        /* there once the box stays without its maker */
#define BOX_SOCKET "warden.sock"
#define BOX_RECORD "record.json"
#define BOX_MEMORY "memory" /* a link to its memory cgroup, where it has one */

/* In the host: /run/holdfast/ids, one locked byte for each range in use. */
#define IDS_DIR "/run/holdfast"
#define IDS_FILE "ids"

#endif
