/* SPDX-License-Identifier: Apache-2.0 */
#include "spec/spec.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "spec/caps.h"
#include "spec/identity.h"
#include "spec/option.h"

static void cleanup_spec(hf_spec **spec)
{
    hf_spec_free(*spec);
}
#define _cleanup_spec_ __attribute__((cleanup(cleanup_spec)))

int hf_spec_new(hf_spec **ret_spec, hf_error **reterr)
{
    hf_spec *spec = calloc(1, sizeof *spec);
    if (!spec)
        return hf__error(reterr, HF_E_NO_SPACE, "out of memory");
    spec->pids_limit = 256;
    spec->shm_size = MIB(64);
    *ret_spec = spec;
    return 0;
}

static void free_strings(char **list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(list[i]);
    free(list);
}

void hf_spec_free(hf_spec *spec)
{
    if (!spec)
        return;
    for (size_t i = 0; i < spec->volume_count; i++) {
        free(spec->volumes[i].source);
        free(spec->volumes[i].target);
    }
    for (size_t i = 0; i < spec->tmpfs_count; i++)
        free(spec->tmpfs[i].target);
    free(spec->volumes);
    free(spec->tmpfs);
    free_strings(spec->env, spec->env_count);
    free_strings(spec->labels, spec->label_count);
    free(spec->name);
    free(spec->task);
    free(spec->profile);
    free(spec->image);
    free(spec->user);
    free(spec->workdir);
    free(spec->hostname);
    free(spec);
}

int hf_spec_set(hf_spec *spec, const char *key, const char *value, hf_error **reterr)
{
    const struct hf_option *option = NULL;
    int r = hf__option_find(key, &option, reterr);
    if (r < 0)
        return r;
    if (!value)
        return hf__error(reterr, HF_E_INVALID, "option '%s' needs a value: %s", key,
                         option->info.argument ? option->info.argument : "true or false");
    r = option->set(spec, option, value, reterr);
    if (r < 0)
        hf__error_wrap(reterr, "option '%s'", key);
    return r;
}

/* --- copying ---------------------------------------------------------------------------------- */

/* All of these leave a false in `ok` once memory runs out, so that a copy checks once. */
static char *copy_string(const char *text, bool *ok)
{
    char *copy = text && *ok ? strdup(text) : NULL;
    *ok = *ok && (!text || copy);
    return copy;
}

static char **copy_strings(char *const *list, size_t count, size_t *ret_count, bool *ok)
{
    char **copy = count > 0 && *ok ? calloc(count + 1, sizeof *copy) : NULL;
    *ok = *ok && (count == 0 || copy);
    for (size_t i = 0; i < count && *ok; i++, *ret_count = i)
        copy[i] = copy_string(list[i], ok);
    return copy;
}

static void copy_mounts(hf_spec *to, const hf_spec *from, bool *ok)
{
    to->volumes = from->volume_count ? calloc(from->volume_count, sizeof *to->volumes) : NULL;
    to->tmpfs = from->tmpfs_count ? calloc(from->tmpfs_count, sizeof *to->tmpfs) : NULL;
    if ((from->volume_count && !to->volumes) || (from->tmpfs_count && !to->tmpfs)) {
        *ok = false;
        return;
    }
    for (size_t i = 0; i < from->volume_count; i++) {
        to->volumes[i] = from->volumes[i];
        to->volumes[i].source = copy_string(from->volumes[i].source, ok);
        to->volumes[i].target = copy_string(from->volumes[i].target, ok);
    }
    to->volume_count = from->volume_count;
    for (size_t i = 0; i < from->tmpfs_count; i++) {
        to->tmpfs[i] = from->tmpfs[i];
        to->tmpfs[i].target = copy_string(from->tmpfs[i].target, ok);
    }
    to->tmpfs_count = from->tmpfs_count;
}

int hf__spec_copy(const hf_spec *spec, hf_spec **ret_spec, hf_error **reterr)
{
    _cleanup_spec_ hf_spec *copy = malloc(sizeof *copy);
    bool ok = copy != NULL;
    if (ok) {
        /* Plain members first; no pointer of the original may stay where freeing would find it. */
        *copy = *spec;
        copy->volumes = NULL;
        copy->tmpfs = NULL;
        copy->env = copy->labels = NULL;
        copy->volume_count = copy->tmpfs_count = copy->env_count = copy->label_count = 0;
        copy->name = copy_string(spec->name, &ok);
        copy->task = copy_string(spec->task, &ok);
        copy->profile = copy_string(spec->profile, &ok);
        copy->image = copy_string(spec->image, &ok);
        copy->user = copy_string(spec->user, &ok);
        copy->workdir = copy_string(spec->workdir, &ok);
        copy->hostname = copy_string(spec->hostname, &ok);
        copy->env = copy_strings(spec->env, spec->env_count, &copy->env_count, &ok);
        copy->labels = copy_strings(spec->labels, spec->label_count, &copy->label_count, &ok);
        copy_mounts(copy, spec, &ok);
    }
    if (!ok)
        return hf__error(reterr, HF_E_NO_SPACE, "out of memory");
    *ret_spec = TAKE_PTR(copy);
    return 0;
}

/* --- the whole -------------------------------------------------------------------------------- */

/* ALL gives way to names: "--cap-drop ALL --cap-add X" is X, "--cap-add ALL --cap-drop X" is all
 * but X. What is left to an engine is (default & ~cap_drop) | cap_add. */
static int finish_caps(hf_spec *spec, hf_error **reterr)
{
    uint64_t both = spec->cap_add & spec->cap_drop;
    if (spec->cap_add && spec->hardening == HARDENING_STRICT)
        return hf__error(reterr, HF_E_INVALID,
                         "hardening 'strict' adds no capability; leave out cap-add, or use "
                         "hardening 'standard'");
    if (both == 0 || (spec->cap_drop == HF_CAP_ALL && spec->cap_add != HF_CAP_ALL))
        return 0;
    if (spec->cap_add == HF_CAP_ALL && spec->cap_drop != HF_CAP_ALL) {
        spec->cap_add &= ~spec->cap_drop;
        return 0;
    }
    if (both == HF_CAP_ALL)
        return hf__error(reterr, HF_E_INVALID,
                         "capabilities: ALL is both added and dropped; leave one of them out");
    return hf__error(reterr, HF_E_INVALID,
                     "capability '%s' is both added and dropped; leave one of them out",
                     hf__cap_name(__builtin_ctzll(both)));
}

static int finish_name(hf_spec *spec, hf_error **reterr)
{
    if (spec->name)
        return 0;
    if (spec->task)
        return hf__spec_box_name(spec->profile, spec->task, &spec->name, reterr);
    return hf__random_box_name(&spec->name, reterr);
}

int hf__spec_finish(const hf_spec *spec, hf_spec **ret_spec, hf_error **reterr)
{
    _cleanup_spec_ hf_spec *whole = NULL;
    int r = spec ? hf__spec_copy(spec, &whole, reterr) : hf_spec_new(&whole, reterr);
    if (r < 0)
        return r;
    if (!whole->profile && !(whole->profile = strdup("default")))
        return hf__error(reterr, HF_E_NO_SPACE, "out of memory");
    if (whole->hardening == HARDENING_STRICT)
        whole->read_only = true;
    r = finish_caps(whole, reterr);
    if (r == 0)
        r = finish_name(whole, reterr);
    if (r < 0)
        return r;
    *ret_spec = TAKE_PTR(whole);
    return 0;
}
