/* SPDX-License-Identifier: Apache-2.0 */
#include "spec/option.h"

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/path.h"
#include "spec/caps.h"
#include "spec/env.h"
#include "spec/identity.h"
#include "spec/mounts.h"
#include "spec/size.h"
#include "spec/spec.h"

/* --- setters ---------------------------------------------------------------------------------- */

static void *member(hf_spec *spec, const struct hf_option *option)
{
    return (char *)spec + option->offset;
}

/* Replaces an earlier value: the last one given wins. Takes `value` over. */
static int store(hf_spec *spec, const struct hf_option *option, char *value, hf_error **reterr)
{
    char **at = member(spec, option);
    if (!value)
        return hf__error(reterr, HF_E_NO_SPACE, "out of memory");
    free(*at);
    *at = value;
    return 0;
}

#define CHECKED_STRING_SETTER(function, check)                                                     \
    static int function(hf_spec *spec, const struct hf_option *option, const char *value,          \
                        hf_error **reterr)                                                         \
    {                                                                                              \
        int r = check(value, reterr);                                                              \
        return r < 0 ? r : store(spec, option, strdup(value), reterr);                             \
    }

CHECKED_STRING_SETTER(set_name, hf__name_check)
CHECKED_STRING_SETTER(set_tenant, hf__tenant_check)
CHECKED_STRING_SETTER(set_user, hf__user_check)
CHECKED_STRING_SETTER(set_hostname, hf__hostname_check)

#define LIST_SETTER(function, add)                                                                 \
    static int function(hf_spec *spec, const struct hf_option *option, const char *value,          \
                        hf_error **reterr)                                                         \
    {                                                                                              \
        (void)option;                                                                              \
        return add(spec, value, reterr);                                                           \
    }

LIST_SETTER(set_volume, hf__volume_add)
LIST_SETTER(set_tmpfs, hf__tmpfs_add)
LIST_SETTER(set_env, hf__env_add)
LIST_SETTER(set_label, hf__label_add)

static int set_image(hf_spec *spec, const struct hf_option *option, const char *value,
                     hf_error **reterr)
{
    (void)option;
    size_t size = strlen(value);
    if (size == 0 || size > 512)
        return hf__error(reterr, HF_E_INVALID,
                         "an image's name has 1 to 512 bytes; leave it out for the host image");
    for (size_t i = 0; i < size; i++)
        if ((unsigned char)value[i] <= ' ' || value[i] == 0x7f)
            return hf__error(reterr, HF_E_INVALID, "'%s' is not an image's name: it has spaces",
                             value);
    /* The default by its name is the default: one spec, one digest. */
    char *copy = strcmp(value, "host") == 0 ? NULL : strdup(value);
    if (!copy && strcmp(value, "host") != 0)
        return hf__error(reterr, HF_E_NO_SPACE, "out of memory");
    free(spec->image);
    spec->image = copy;
    return 0;
}

static int set_workdir(hf_spec *spec, const struct hf_option *option, const char *value,
                       hf_error **reterr)
{
    char *path = NULL;
    int r = hf__path_normalize(value, &path, reterr);
    return r < 0 ? r : store(spec, option, path, reterr);
}

/* The value's place in "a|b|c", which is also its number in the enum. */
static int set_choice(hf_spec *spec, const struct hf_option *option, const char *value,
                      hf_error **reterr)
{
    int index = 0;
    size_t size = strlen(value);
    for (const char *at = option->info.choices; *at; index++) {
        size_t here = strcspn(at, "|");
        if (here == size && strncmp(at, value, size) == 0) {
            *(int *)member(spec, option) = index;
            return 0;
        }
        at += here + (at[here] == '|');
    }
    return hf__error(reterr, HF_E_INVALID, "'%s' is not one of %s", value, option->info.choices);
}

static int set_switch(hf_spec *spec, const struct hf_option *option, const char *value,
                      hf_error **reterr)
{
    bool on = strcmp(value, "true") == 0;
    if (!on && strcmp(value, "false") != 0)
        return hf__error(reterr, HF_E_INVALID, "'%s' is not true or false", value);
    *(bool *)member(spec, option) = on;
    return 0;
}

static int set_caps(hf_spec *spec, const struct hf_option *option, const char *value,
                    hf_error **reterr)
{
    return hf__cap_mask_add(member(spec, option), value, reterr);
}

static int set_cpus(hf_spec *spec, const struct hf_option *option, const char *value,
                    hf_error **reterr)
{
    return hf__parse_cpus(value, member(spec, option), reterr);
}

static int set_memory(hf_spec *spec, const struct hf_option *option, const char *value,
                      hf_error **reterr)
{
    uint64_t size = 0;
    (void)option;
    int r = hf_parse_size(value, &size, reterr);
    if (r < 0)
        return r;
    if (size < MIB(4))
        return hf__error(reterr, HF_E_INVALID,
                         "'%s' is too small for any box; the smallest is 4m, and without the "
                         "option there is no limit",
                         value);
    spec->memory = size;
    return 0;
}

static int set_shm_size(hf_spec *spec, const struct hf_option *option, const char *value,
                        hf_error **reterr)
{
    uint64_t size = 0;
    (void)option;
    int r = hf_parse_size(value, &size, reterr);
    if (r < 0)
        return r;
    /* The kernel reads 0 as "no limit". */
    if (size < KIB(4))
        return hf__error(reterr, HF_E_INVALID, "'%s' is too small; the smallest is 4k", value);
    spec->shm_size = size;
    return 0;
}

static int set_pids_limit(hf_spec *spec, const struct hf_option *option, const char *value,
                          hf_error **reterr)
{
    (void)option;
    /* PID_MAX_LIMIT of 64-bit kernels. */
    int r = hf__parse_count(value, 4194304, &spec->pids_limit, reterr);
    if (r == 0)
        spec->pids_limit_asked = spec->pids_limit > 0;
    return r;
}

/* --- the table -------------------------------------------------------------------------------- */

#define AT(field) .offset = offsetof(struct hf_spec, field)

static const struct hf_option options[] = {
    {
        .info = {.key = "name",
                 .argument = "NAME",
                 .help = "the box's name",
                 .fallback = "made from profile and task, or random"},
        .set = set_name,
        AT(name),
    },
    {
        .info = {.key = "task",
                 .argument = "TEXT",
                 .help = "what the box is for; with the profile it finds the box again"},
        .set = set_tenant,
        AT(task),
    },
    {
        .info = {.key = "profile",
                 .argument = "TEXT",
                 .help = "whom the box belongs to",
                 .fallback = "default"},
        .set = set_tenant,
        AT(profile),
    },
    {
        .info = {.key = "hardening",
                 .argument = "SET",
                 .help = "the set of restrictions",
                 .fallback = "standard",
                 .choices = "standard|strict"},
        .set = set_choice,
        AT(hardening),
    },
    {
        .info = {.key = "volume",
                 .letter = 'v',
                 .argument = "SRC:DST[:OPTIONS]",
                 .help = "mount a host directory or file in the box; options: ro, rw, exec, noexec",
                 .fallback = "rw,exec",
                 .repeats = true},
        .set = set_volume,
    },
    {
        .info = {.key = "tmpfs",
                 .argument = "DST[:OPTIONS]",
                 .help =
                     "mount an empty tmpfs; options: size=SIZE, mode=MODE, exec, noexec, ro, rw",
                 .fallback = "size=512m,mode=1777,noexec,rw",
                 .repeats = true},
        .set = set_tmpfs,
    },
    {
        .info = {.key = "env",
                 .letter = 'e',
                 .argument = "NAME[=VALUE]",
                 .help =
                     "set a variable for all jobs; without VALUE it is taken from your environment",
                 .repeats = true},
        .set = set_env,
    },
    {
        .info = {.key = "label",
                 .letter = 'l',
                 .argument = "KEY[=VALUE]",
                 .help = "attach a label to the box",
                 .repeats = true},
        .set = set_label,
    },
    {
        .info = {.key = "cpus",
                 .argument = "NUMBER",
                 .help = "CPU time the box may use, in CPUs: 0.5, 2",
                 .fallback = "no limit"},
        .set = set_cpus,
        AT(nano_cpus),
    },
    {
        .info = {.key = "memory",
                 .letter = 'm',
                 .argument = "SIZE",
                 .help = "memory the box may use, at least 4m",
                 .fallback = "no limit"},
        .set = set_memory,
        AT(memory),
    },
    {
        .info = {.key = "pids-limit",
                 .argument = "NUMBER",
                 .help = "processes and threads the box may have; 0 for no limit",
                 .fallback = "256"},
        .set = set_pids_limit,
        AT(pids_limit),
    },
    {
        .info =
            {.key = "shm-size", .argument = "SIZE", .help = "size of /dev/shm", .fallback = "64m"},
        .set = set_shm_size,
        AT(shm_size),
    },
    {
        .info = {.key = "network",
                 .argument = "MODE",
                 .help = "none: no network; host: the host's own, unrestricted",
                 .fallback = "none",
                 .choices = "none|host"},
        .set = set_choice,
        AT(network),
    },
    {
        .info = {.key = "user",
                 .letter = 'u',
                 .argument = "USER[:GROUP]",
                 .help = "who jobs run as, by name or number",
                 .fallback = "root of the box"},
        .set = set_user,
        AT(user),
    },
    {
        .info = {.key = "workdir",
                 .letter = 'w',
                 .argument = "DIR",
                 .help = "where jobs start",
                 .fallback = "/workspace"},
        .set = set_workdir,
        AT(workdir),
    },
    {
        .info = {.key = "hostname",
                 .argument = "NAME",
                 .help = "the box's host name",
                 .fallback = "the box's name"},
        .set = set_hostname,
        AT(hostname),
    },
    {
        .info = {.key = "cap-add",
                 .argument = "CAP",
                 .help = "add a capability, or ALL",
                 .repeats = true},
        .set = set_caps,
        AT(cap_add),
    },
    {
        .info = {.key = "cap-drop",
                 .argument = "CAP",
                 .help = "drop a capability, or ALL",
                 .repeats = true},
        .set = set_caps,
        AT(cap_drop),
    },
    {
        .info = {.key = "read-only",
                 .help = "make the root file system read-only",
                 .fallback = "false"},
        .set = set_switch,
        AT(read_only),
    },
    {
        .info = {.key = "allow-weaker",
                 .help = "go on with a warning where this machine cannot put up one of the walls",
                 .fallback = "false"},
        .set = set_switch,
        AT(allow_weaker),
    },
    /* Hidden rows last: hf_spec_option() ends at the first of them. */
    {
        .info = {.key = "image",
                 .argument = "IMAGE",
                 .help = "what the box stands on",
                 .fallback = "host"},
        .set = set_image,
        AT(image),
        .hidden = true,
    },
};

_Static_assert(sizeof(enum hf_hardening) == sizeof(int) && sizeof(enum hf_network) == sizeof(int),
               "set_choice() writes enums as int");

#define OPTION_COUNT (sizeof options / sizeof options[0])

const hf_option_info *hf_spec_option(size_t index)
{
    return index < OPTION_COUNT && !options[index].hidden ? &options[index].info : NULL;
}

int hf__option_find(const char *key, const struct hf_option **ret_option, hf_error **reterr)
{
    const char *keys[OPTION_COUNT + 1];
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        if (strcmp(options[i].info.key, key) == 0) {
            *ret_option = &options[i];
            return 0;
        }
        keys[i] = options[i].info.key;
    }
    keys[OPTION_COUNT] = NULL;
    const char *near = hf_nearest(key, keys);
    if (near)
        return hf__error(reterr, HF_E_INVALID, "unknown option '%.100s'; did you mean '%s'?", key,
                         near);
    return hf__error(reterr, HF_E_INVALID,
                     "unknown option '%.100s'; `holdfast help run` lists the known ones", key);
}
