/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/native/subids.h"

#include <fcntl.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/limits.h"

/* "name-or-uid:first:count" */
static bool find_range(const char *file, const char *name, uid_t uid, struct subid_range *ret)
{
    _cleanup_free_ char *text = NULL;
    char number[16];
    snprintf(number, sizeof number, "%u", (unsigned)uid);
    if (hf__read_file_at(AT_FDCWD, file, HF_MAX_PASSWD, &text, NULL) < 0)
        return false;
    for (char *line = text, *next; line && *line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        char *first = strchr(line, ':');
        char *count = first ? strchr(first + 1, ':') : NULL;
        if (!count)
            continue;
        *first++ = *count++ = '\0';
        if (strcmp(line, number) != 0 && (!name || strcmp(line, name) != 0))
            continue;
        unsigned long from = strtoul(first, NULL, 10), many = strtoul(count, NULL, 10);
        if (from == 0 || many == 0 || from > INT32_MAX || many > INT32_MAX)
            continue;
        *ret = (struct subid_range){(uint32_t)from, many > 65535 ? 65535 : (uint32_t)many};
        return true;
    }
    return false;
}

static bool is_helper(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && st.st_uid == 0 && access(path, X_OK) == 0;
}

const char *subids_find(struct subid_range *ret_uids, struct subid_range *ret_gids)
{
    const struct passwd *user = getpwuid(geteuid());
    const char *name = user ? user->pw_name : NULL;
    if (!is_helper("/usr/bin/newuidmap") || !is_helper("/usr/bin/newgidmap"))
        return NULL;
    if (!find_range("/etc/subuid", name, geteuid(), ret_uids) ||
        !find_range("/etc/subgid", name, geteuid(), ret_gids))
        return NULL;
    return "/usr/bin";
}
