/* SPDX-License-Identifier: Apache-2.0 */
#include "spec/env.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "spec/spec.h"

/* Printable and without spaces: shells take less, but npm_config_//host/:_authToken is real. */
static bool is_name(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if ((unsigned char)text[i] <= ' ' || text[i] == 0x7f)
            return false;
    return size > 0;
}

static char *join(const char *name, size_t name_size, const char *value)
{
    size_t size = name_size + 1 + strlen(value) + 1;
    char *text = malloc(size);
    if (text)
        snprintf(text, size, "%.*s=%s", (int)name_size, name, value);
    return text;
}

/* Puts `entry` in the place of an earlier one of the same name, or at the end. Takes it over on
 * success. */
static int list_put(char ***list, size_t *count, size_t max, const char *what, char *entry,
                    hf_error **reterr)
{
    size_t name_size = strcspn(entry, "=") + 1;
    for (size_t i = 0; i < *count; i++) {
        if (strncmp((*list)[i], entry, name_size) == 0) {
            free((*list)[i]);
            (*list)[i] = entry;
            return 0;
        }
    }
    if (*count >= max)
        return hf__error(reterr, HF_E_INVALID, "too many %s; a box takes %zu", what, max);
    char **larger = realloc(*list, (*count + 2) * sizeof *larger);
    if (!larger)
        return hf__error(reterr, HF_E_NO_SPACE, "out of memory");
    larger[(*count)++] = entry;
    larger[*count] = NULL;
    *list = larger;
    return 0;
}

int hf__env_add(hf_spec *spec, const char *text, hf_error **reterr)
{
    size_t name_size = strcspn(text, "=");
    if (!is_name(text, name_size))
        return hf__error(reterr, HF_E_INVALID,
                         "'%.*s' is not the name of a variable; write NAME=VALUE, or NAME to take "
                         "it from your environment",
                         (int)(name_size > 256 ? 256 : name_size), text);
    const char *value = text[name_size] ? text + name_size + 1 : getenv(text);
    if (!value)
        return hf__error(reterr, HF_E_INVALID,
                         "variable '%s' is not set in your environment; set it, or write %s=VALUE",
                         text, text);
    /* The kernel's ceiling for one word: a larger one would make every job of the box fail. */
    if (name_size + 1 + strlen(value) >= HF_MAX_VALUE)
        return hf__error(reterr, HF_E_INVALID,
                         "variable '%.*s' is larger than 128 KiB; pass it as a file",
                         (int)(name_size > 256 ? 256 : name_size), text);
    _cleanup_free_ char *entry = join(text, name_size, value);
    if (!entry)
        return hf__error(reterr, HF_E_NO_SPACE, "out of memory");
    int r = list_put(&spec->env, &spec->env_count, HF_MAX_ENV, "variables", entry, reterr);
    if (r < 0)
        return r;
    TAKE_PTR(entry);
    return 0;
}

int hf__label_add(hf_spec *spec, const char *text, hf_error **reterr)
{
    size_t key_size = strcspn(text, "=");
    if (!is_name(text, key_size) || key_size > 256)
        return hf__error(reterr, HF_E_INVALID,
                         "'%.*s' is not a label's key; write KEY=VALUE, the key without spaces and "
                         "of at most 256 bytes",
                         (int)(key_size > 256 ? 256 : key_size), text);
    if (strncmp(text, "holdfast.", 9) == 0)
        return hf__error(reterr, HF_E_INVALID,
                         "labels that start with 'holdfast.' are ours; choose another key than "
                         "'%.*s'",
                         (int)key_size, text);
    const char *value = text[key_size] ? text + key_size + 1 : "";
    if (strlen(value) > KIB(4))
        return hf__error(reterr, HF_E_INVALID, "the value of label '%.*s' is longer than 4 KiB",
                         (int)key_size, text);
    _cleanup_free_ char *entry = join(text, key_size, value);
    if (!entry)
        return hf__error(reterr, HF_E_NO_SPACE, "out of memory");
    int r = list_put(&spec->labels, &spec->label_count, HF_MAX_LABELS, "labels", entry, reterr);
    if (r < 0)
        return r;
    TAKE_PTR(entry);
    return 0;
}
