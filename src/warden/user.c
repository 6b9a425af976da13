/* SPDX-License-Identifier: Apache-2.0 */
#include "warden/user.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/limits.h"

/* Strictly decimal and below 2^31: "0x0", "-1", "+0" and 2^32 must not become root. */
static bool parse_id(const char *text, uint32_t *ret_id)
{
    uint64_t value = 0;
    if (*text == '\0' || strlen(text) > 10)
        return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9')
            return false;
        value = value * 10 + (uint64_t)(*text - '0');
    }
    if (value > INT32_MAX)
        return false;
    *ret_id = (uint32_t)value;
    return true;
}

/* NULL where there is no such file; a FIFO or device in its place is not waited for. */
static char *read_text(const char *path)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;
    char *text = NULL;
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return NULL;
    return hf__read_fd(fd, HF_MAX_PASSWD, &text, NULL) < 0 ? NULL : text;
}

/* Splits the next line of *text at its colons into `count` fields, the last taking the rest. */
static bool next_line(char **text, char **fields, size_t count)
{
    if (!*text || **text == '\0')
        return false;
    char *line = *text;
    char *end = line + strcspn(line, "\n");
    *text = *end ? end + 1 : end;
    *end = '\0';
    for (size_t i = 0; i < count; i++) {
        fields[i] = line;
        if (i + 1 == count)
            break;
        char *colon = strchr(line, ':');
        line = colon ? colon + 1 : line + strlen(line);
        if (colon)
            *colon = '\0';
    }
    return true;
}

static void copy_text(char *to, size_t size, const char *from)
{
    snprintf(to, size, "%s", from);
}

/* name:password:uid:gid:gecos:home:shell */
static bool find_user(const char *wanted, bool by_id, uint32_t id, struct user *user)
{
    _cleanup_free_ char *text = read_text("/etc/passwd");
    char *at = text, *field[7];
    while (next_line(&at, field, 7)) {
        uint32_t uid, gid;
        if (!parse_id(field[2], &uid) || !parse_id(field[3], &gid))
            continue;
        if (by_id ? uid != id : strcmp(field[0], wanted) != 0)
            continue;
        user->uid = uid;
        user->gid = gid;
        copy_text(user->name, sizeof user->name, field[0]);
        copy_text(user->home, sizeof user->home, field[5]);
        return true;
    }
    return false;
}

/* name:password:gid:member,member */
static bool find_group(const char *wanted, gid_t *ret_gid)
{
    _cleanup_free_ char *text = read_text("/etc/group");
    char *at = text, *field[4];
    while (next_line(&at, field, 4)) {
        uint32_t gid;
        if (strcmp(field[0], wanted) == 0 && parse_id(field[2], &gid)) {
            *ret_gid = gid;
            return true;
        }
    }
    return false;
}

static bool is_member(const char *members, const char *name)
{
    size_t size = strlen(name);
    while (*members) {
        size_t length = strcspn(members, ",");
        if (length == size && strncmp(members, name, size) == 0)
            return true;
        members += length + (members[length] == ',');
    }
    return false;
}

static void find_memberships(struct user *user)
{
    _cleanup_free_ char *text = user->name[0] ? read_text("/etc/group") : NULL;
    char *at = text, *field[4];
    while (user->group_count < USER_MAX_GROUPS && next_line(&at, field, 4)) {
        uint32_t gid;
        if (parse_id(field[2], &gid) && gid != user->gid && is_member(field[3], user->name))
            user->groups[user->group_count++] = gid;
    }
}

bool user_lookup(const char *text, struct user *ret_user, char *reterr_reason, size_t reason_size)
{
    char name[256];
    struct user user = {.home = "/"};
    size_t length = strcspn(text, ":");
    const char *group = text[length] == ':' ? text + length + 1 : NULL;
    uint32_t id = geteuid();
    if (*text == '\0' && id == 0) {
        /* By far the most jobs; not worth reading two files for each. */
        *ret_user = (struct user){.home = "/root", .name = "root"};
        return true;
    }
    if (length >= sizeof name || (*text && length == 0) || (group && !*group)) {
        snprintf(reterr_reason, reason_size, "'%.100s' is not USER or USER:GROUP", text);
        return false;
    }
    memcpy(name, text, length);
    name[length] = '\0';

    bool numeric = length == 0 || parse_id(name, &id);
    if (!find_user(name, numeric, id, &user)) {
        if (!numeric) {
            snprintf(reterr_reason, reason_size, "no user '%s' in the box's /etc/passwd", name);
            return false;
        }
        user.uid = id;
        user.gid = id == 0 ? 0 : id;
        copy_text(user.home, sizeof user.home, id == 0 ? "/root" : "/");
    }
    if (group) {
        uint32_t gid;
        if (!parse_id(group, &gid) && !find_group(group, &gid)) {
            snprintf(reterr_reason, reason_size, "no group '%.200s' in the box's /etc/group",
                     group);
            return false;
        }
        user.gid = gid;
    } else {
        find_memberships(&user);
    }
    *ret_user = user;
    return true;
}
