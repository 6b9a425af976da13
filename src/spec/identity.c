/* SPDX-License-Identifier: Apache-2.0 */
#include "spec/identity.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/digest.h"
#include "spec/spec.h"

#define LETTERS_DIGITS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
#define NAME_CHARS LETTERS_DIGITS "_.-"

#define STEM_MAX 40
#define HASH_DIGITS 12
#define TENANT_MAX 4096

int hf__name_check(const char *name, hf_error **reterr)
{
    size_t size = strlen(name);
    /* A name becomes a directory: it must never be "." or "..", an option, or hidden. */
    if (size > 0 && size <= HF_NAME_MAX && strspn(name, NAME_CHARS) == size &&
        strchr(LETTERS_DIGITS "_", name[0]))
        return 0;
    return hf__error(reterr, HF_E_INVALID,
                     "'%.*s%s' is not a box's name; use 1 to %d of the characters a-z A-Z 0-9 _ . "
                     "- and start with a letter, a digit or _",
                     80, name, size > 80 ? "..." : "", HF_NAME_MAX);
}

/* What a person can read of a task: runs of other characters become one '-'. */
static void make_stem(const char *task, char stem[static STEM_MAX + 1])
{
    size_t used = 0;
    for (; *task && used < STEM_MAX; task++) {
        bool readable = strchr(NAME_CHARS, *task) && *task != '-' && (used > 0 || *task != '.');
        if (readable)
            stem[used++] = *task;
        else if (used > 0 && stem[used - 1] != '-')
            stem[used++] = '-';
    }
    while (used > 0 && strchr("-.", stem[used - 1]))
        used--;
    stem[used] = '\0';
}

int hf__spec_box_name(const char *profile, const char *task, char **ret_name, hf_error **reterr)
{
    struct hf_bytes parts[] = {{profile, strlen(profile)}, {task, strlen(task)}};
    char hex[65], stem[STEM_MAX + 1];
    int r = hf__sha256_parts(parts, 2, hex, reterr);
    if (r < 0)
        return r;
    make_stem(task, stem);
    char *name = NULL;
    if (asprintf(&name, "hf-%s-%.*s", stem[0] ? stem : "box", HASH_DIGITS, hex) < 0)
        return hf__error(reterr, HF_E_NO_SPACE, "out of memory");
    *ret_name = name;
    return 0;
}

int hf__random_box_name(char **ret_name, hf_error **reterr)
{
    uint8_t raw[HASH_DIGITS / 2];
    ssize_t n;
    do
        n = getrandom(raw, sizeof raw, 0);
    while (n < 0 && errno == EINTR);
    if (n != (ssize_t)sizeof raw)
        return hf__error_sys(reterr, "cannot get random bytes for a box's name");
    char *name = NULL;
    if (asprintf(&name, "hf-box-%02x%02x%02x%02x%02x%02x", raw[0], raw[1], raw[2], raw[3], raw[4],
                 raw[5]) < 0)
        return hf__error(reterr, HF_E_NO_SPACE, "out of memory");
    *ret_name = name;
    return 0;
}

int hf__tenant_check(const char *value, hf_error **reterr)
{
    size_t size = strlen(value);
    if (size == 0)
        return hf__error(reterr, HF_E_INVALID, "it is empty; leave it out or give it a value");
    if (size > TENANT_MAX)
        return hf__error(reterr, HF_E_INVALID, "it has %zu bytes; the longest has %d", size,
                         TENANT_MAX);
    return 0;
}

/* A number must be an id the kernel has; (uid_t)-1 means "leave it" to several system calls. */
static bool is_id_or_name(const char *text, size_t size)
{
    if (size == 0 || size > 64 || text[0] == '-')
        return false;
    size_t digits = strspn(text, "0123456789");
    if (digits >= size)
        return size <= 10 && strtoull(text, NULL, 10) < UINT32_MAX;
    return strspn(text, NAME_CHARS) >= size;
}

int hf__user_check(const char *value, hf_error **reterr)
{
    size_t user_size = strcspn(value, ":");
    const char *group = value[user_size] ? value + user_size + 1 : NULL;
    if (is_id_or_name(value, user_size) && (!group || is_id_or_name(group, strlen(group))))
        return 0;
    return hf__error(reterr, HF_E_INVALID,
                     "'%.100s' is not a user; write USER or USER:GROUP, by name or number "
                     "(0 to 4294967294)",
                     value);
}

int hf__hostname_check(const char *value, hf_error **reterr)
{
    size_t size = strlen(value);
    if (size > 0 && size <= 63 && strspn(value, LETTERS_DIGITS ".-") == size &&
        strchr(LETTERS_DIGITS, value[0]) && strchr(LETTERS_DIGITS, value[size - 1]))
        return 0;
    return hf__error(reterr, HF_E_INVALID,
                     "'%.100s' is not a host name; use 1 to 63 letters, digits, dots and dashes, "
                     "a letter or digit first and last",
                     value);
}
