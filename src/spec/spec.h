/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The full description of a box. Every front end makes one (hf_spec_set), every engine reads one.
 * A spec that exists is valid: each value was checked when it was set, and spec_finish() checked
 * what can only be seen with all of them together.
 */
#ifndef HF_SPEC_SPEC_H
#define HF_SPEC_SPEC_H

#include <holdfast.h>

#include "base/error.h"
#include "base/json.h"

enum hf_hardening { HARDENING_STANDARD, HARDENING_STRICT };
enum hf_network { NETWORK_NONE, NETWORK_HOST };

struct hf_volume {
    char *source; /* absolute host path */
    char *target; /* absolute, normalised path in the box */
    bool read_only;
    bool noexec;
};

struct hf_tmpfs {
    char *target;
    uint64_t size; /* bytes */
    uint32_t mode; /* permission bits */
    bool noexec;
    bool read_only;
};

struct hf_spec {
    char *name;    /* NULL: made from profile and task, or random */
    char *task;    /* NULL: none */
    char *profile; /* never NULL after spec_finish(): "default" */
    char *image;   /* NULL: the host image, also when asked for as "host" */
    enum hf_hardening hardening;
    enum hf_network network;

    struct hf_volume *volumes;
    size_t volume_count;
    struct hf_tmpfs *tmpfs; /* the caller's own; the hardening's set is added by the engine */
    size_t tmpfs_count;

    char **env; /* "NAME=value", the last of a name wins, NULL-terminated */
    size_t env_count;
    char **labels; /* "key=value" */
    size_t label_count;

    uint64_t nano_cpus;    /* cpus * 1e9; 0: no limit */
    uint64_t memory;       /* bytes; 0: no limit */
    uint64_t pids_limit;   /* default 256; 0: no limit */
    bool pids_limit_asked; /* by name, so that a host which cannot enforce it is an error */
    uint64_t shm_size;     /* default 64 MiB */

    char *user;     /* user[:group] for jobs; NULL: root */
    char *workdir;  /* NULL: /workspace */
    char *hostname; /* NULL: the box's name */
    /* Bit masks over CAP_* numbers; once finished the box has (default & ~cap_drop) | cap_add. */
    uint64_t cap_add;
    uint64_t cap_drop;
    bool read_only;    /* root file system */
    bool allow_weaker; /* a wall that this host cannot put up is a warning, not an error */
};

/* Limits of what a box's name may be: [a-zA-Z0-9_][a-zA-Z0-9_.-]{0,63}. */
#define HF_NAME_MAX 64
int hf__name_check(const char *name, hf_error **reterr);

int hf__spec_copy(const hf_spec *spec, hf_spec **ret_spec, hf_error **reterr);

/* A deep copy with defaults filled in and cross-field rules checked; its name is never NULL. `spec`
 * may be NULL for all defaults. Hardening "strict" implies read_only. */
int hf__spec_finish(const hf_spec *spec, hf_spec **ret_spec, hf_error **reterr);

/* "hf-" + readable stem + "-" + 12 hex digits of SHA-256 over the exact bytes of both. */
int hf__spec_box_name(const char *profile, const char *task, char **ret_name, hf_error **reterr);

/* The spec as a JSON object; environment values are left out, their names are not. */
int hf__spec_to_json(const hf_spec *spec, hf_json **ret_json, hf_error **reterr);

/* 64 hex digits over all that makes two boxes different, environment values included. */
int hf__spec_digest(const hf_spec *spec, char ret_digest[static 65], hf_error **reterr);

/* Capability names, with or without CAP_, any case; -1 for an unknown one. The name of a number is
 * without CAP_, in upper case; NULL for an unknown one. */
int hf__cap_number(const char *name);
const char *hf__cap_name(int number);

#endif
