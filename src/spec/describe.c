/* SPDX-License-Identifier: Apache-2.0 */
/* A spec for people and records (JSON), and for comparing (the digest). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/digest.h"
#include "base/limits.h"
#include "spec/caps.h"
#include "spec/spec.h"

static const char *const hardening_names[] = {"standard", "strict"};
static const char *const network_names[] = {"none", "host"};

/* --- JSON ------------------------------------------------------------------------------------- */

static hf_json *volumes_json(const hf_spec *spec)
{
    hf_json *list = hf__json_array();
    for (size_t i = 0; i < spec->volume_count; i++) {
        const struct hf_volume *volume = &spec->volumes[i];
        hf_json *item = hf__json_object();
        hf__json_set_string(item, "source", volume->source);
        hf__json_set_string(item, "target", volume->target);
        hf__json_set_bool(item, "read_only", volume->read_only);
        hf__json_set_bool(item, "noexec", volume->noexec);
        hf__json_append(list, item);
    }
    return list;
}

static hf_json *tmpfs_json(const hf_spec *spec)
{
    hf_json *list = hf__json_array();
    for (size_t i = 0; i < spec->tmpfs_count; i++) {
        const struct hf_tmpfs *tmpfs = &spec->tmpfs[i];
        char mode[8];
        snprintf(mode, sizeof mode, "%04o", (unsigned)tmpfs->mode & 07777);
        hf_json *item = hf__json_object();
        hf__json_set_string(item, "target", tmpfs->target);
        hf__json_set_uint(item, "size", tmpfs->size);
        hf__json_set_string(item, "mode", mode);
        hf__json_set_bool(item, "noexec", tmpfs->noexec);
        hf__json_set_bool(item, "read_only", tmpfs->read_only);
        hf__json_append(list, item);
    }
    return list;
}

/* Names only: values may be secrets. */
static hf_json *env_json(const hf_spec *spec)
{
    hf_json *list = hf__json_array();
    for (size_t i = 0; i < spec->env_count; i++) {
        char *name = strndup(spec->env[i], strcspn(spec->env[i], "="));
        hf__json_append_string(list, name ? name : "");
        free(name);
    }
    return list;
}

static hf_json *labels_json(const hf_spec *spec)
{
    hf_json *object = hf__json_object();
    for (size_t i = 0; i < spec->label_count; i++) {
        size_t size = strcspn(spec->labels[i], "=");
        char *key = strndup(spec->labels[i], size);
        if (key)
            hf__json_set_string(object, key, spec->labels[i] + size + 1);
        free(key);
    }
    return object;
}

static hf_json *caps_json(uint64_t mask)
{
    hf_json *list = hf__json_array();
    if (mask == HF_CAP_ALL) {
        hf__json_append_string(list, "ALL");
        return list;
    }
    for (int i = 0; i < HF_CAP_COUNT; i++)
        if (mask >> i & 1)
            hf__json_append_string(list, hf__cap_name(i));
    return list;
}

/* No limit is null, not a number that looks like one. */
static void set_limit(hf_json *json, const char *key, uint64_t value)
{
    if (value > 0)
        hf__json_set_uint(json, key, value);
    else
        hf__json_set_null(json, key);
}

int hf__spec_to_json(const hf_spec *spec, hf_json **ret_json, hf_error **reterr)
{
    hf_json *json = hf__json_object();
    if (!json)
        return hf__error(reterr, HF_E_NO_SPACE, "out of memory");
    hf__json_set_string(json, "name", spec->name);
    hf__json_set_string(json, "task", spec->task);
    hf__json_set_string(json, "profile", spec->profile);
    hf__json_set_string(json, "image", spec->image ? spec->image : "host");
    hf__json_set_string(json, "hardening", hardening_names[spec->hardening]);
    hf__json_set_string(json, "network", network_names[spec->network]);
    hf__json_set(json, "volumes", volumes_json(spec));
    hf__json_set(json, "tmpfs", tmpfs_json(spec));
    hf__json_set(json, "env", env_json(spec));
    hf__json_set(json, "labels", labels_json(spec));
    if (spec->nano_cpus > 0)
        hf__json_set_double(json, "cpus", (double)spec->nano_cpus / 1e9);
    else
        hf__json_set_null(json, "cpus");
    set_limit(json, "memory", spec->memory);
    set_limit(json, "pids_limit", spec->pids_limit);
    set_limit(json, "shm_size", spec->shm_size);
    hf__json_set_string(json, "user", spec->user);
    hf__json_set_string(json, "workdir", spec->workdir);
    hf__json_set_string(json, "hostname", spec->hostname);
    hf__json_set(json, "cap_add", caps_json(spec->cap_add));
    hf__json_set(json, "cap_drop", caps_json(spec->cap_drop));
    hf__json_set_bool(json, "read_only", spec->read_only);
    hf__json_set_bool(json, "allow_weaker", spec->allow_weaker);
    *ret_json = json;
    return 0;
}

int hf_spec_describe(const hf_spec *spec, char **ret_json, hf_error **reterr)
{
    _cleanup_json_ hf_json *json = NULL;
    int r = hf__spec_to_json(spec, &json, reterr);
    return r < 0 ? r : hf__json_print(json, true, ret_json, reterr);
}

/* --- digest ----------------------------------------------------------------------------------- */

/*
 * A list of NUL-terminated words, key before value, a missing value marked: no value can hold a
 * NUL, so no two specs give the same list. The name is left out: it says which box, not how it is.
 */
static void put(struct hf_buf *buf, const char *key, const char *value)
{
    hf__buf_string(buf, key);
    hf__buf_append(buf, value ? "\0=" : "\0-", 2);
    hf__buf_append(buf, value ? value : "", (value ? strlen(value) : 0) + 1);
}

static void put_number(struct hf_buf *buf, const char *key, uint64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64, value);
    put(buf, key, text);
}

static int compare_strings(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* In the order of the words, not of the flags: the same set is the same box. */
static void put_sorted(struct hf_buf *buf, const char *key, char *const *list, size_t count)
{
    if (count == 0)
        return;
    _cleanup_free_ char **sorted = malloc(count * sizeof *sorted);
    if (!sorted) {
        buf->failed = true;
        return;
    }
    memcpy(sorted, list, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare_strings);
    for (size_t i = 0; i < count; i++)
        put(buf, key, sorted[i]);
}

static int compare_volumes(const void *a, const void *b)
{
    const struct hf_volume *left = a, *right = b;
    return strcmp(left->target, right->target);
}

static int compare_tmpfs(const void *a, const void *b)
{
    const struct hf_tmpfs *left = a, *right = b;
    return strcmp(left->target, right->target);
}

static void put_volumes(struct hf_buf *buf, const hf_spec *spec)
{
    size_t count = spec->volume_count;
    if (count == 0)
        return;
    _cleanup_free_ struct hf_volume *sorted = malloc(count * sizeof *sorted);
    if (!sorted) {
        buf->failed = true;
        return;
    }
    memcpy(sorted, spec->volumes, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare_volumes);
    for (size_t i = 0; i < count; i++) {
        put(buf, "volume", sorted[i].target);
        put(buf, "source", sorted[i].source);
        put_number(buf, "flags", (uint64_t)sorted[i].read_only | (uint64_t)sorted[i].noexec << 1);
    }
}

static void put_tmpfs(struct hf_buf *buf, const hf_spec *spec)
{
    size_t count = spec->tmpfs_count;
    if (count == 0)
        return;
    _cleanup_free_ struct hf_tmpfs *sorted = malloc(count * sizeof *sorted);
    if (!sorted) {
        buf->failed = true;
        return;
    }
    memcpy(sorted, spec->tmpfs, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare_tmpfs);
    for (size_t i = 0; i < count; i++) {
        put(buf, "tmpfs", sorted[i].target);
        put_number(buf, "size", sorted[i].size);
        put_number(buf, "mode", sorted[i].mode);
        put_number(buf, "flags", (uint64_t)sorted[i].read_only | (uint64_t)sorted[i].noexec << 1);
    }
}

int hf__spec_digest(const hf_spec *spec, char ret_digest[static 65], hf_error **reterr)
{
    /* Every value at its own ceiling, and some. */
    _cleanup_buf_ struct hf_buf buf = HF_BUF(HF_MAX_ENV * HF_MAX_VALUE + MIB(64));
    put(&buf, "task", spec->task);
    put(&buf, "profile", spec->profile);
    put(&buf, "image", spec->image);
    put(&buf, "hardening", hardening_names[spec->hardening]);
    put(&buf, "network", network_names[spec->network]);
    put_volumes(&buf, spec);
    put_tmpfs(&buf, spec);
    put_sorted(&buf, "env", spec->env, spec->env_count);
    put_sorted(&buf, "label", spec->labels, spec->label_count);
    put_number(&buf, "cpus", spec->nano_cpus);
    put_number(&buf, "memory", spec->memory);
    put_number(&buf, "pids-limit", spec->pids_limit);
    put_number(&buf, "shm-size", spec->shm_size);
    put(&buf, "user", spec->user);
    put(&buf, "workdir", spec->workdir);
    put(&buf, "hostname", spec->hostname);
    put_number(&buf, "cap-add", spec->cap_add);
    put_number(&buf, "cap-drop", spec->cap_drop);
    put_number(&buf, "read-only", spec->read_only);
    put_number(&buf, "allow-weaker", spec->allow_weaker);
    if (buf.failed)
        return hf__error(reterr, HF_E_NO_SPACE, "out of memory");
    struct hf_bytes whole = {buf.data, buf.size};
    return hf__sha256_parts(&whole, 1, ret_digest, reterr);
}
