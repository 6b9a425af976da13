/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Users as the box itself knows them: /etc/passwd and /etc/group, read as plain text with bounds.
 * No NSS: a library of the image would run with the warden's rights.
 */
#ifndef HF_WARDEN_USER_H
#define HF_WARDEN_USER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define USER_MAX_GROUPS 64

struct user {
    uid_t uid;
    gid_t gid;
    gid_t groups[USER_MAX_GROUPS];
    size_t group_count;
    char home[256];
    char name[64]; /* "" where the box has none for that uid */
};

/* Looks up "user", "user:group", "uid", "uid:gid". False with a reason if there is no such one; a
 * number needs no entry. "" is whoever the warden is: root, but for a strict box with a user. */
bool user_lookup(const char *text, struct user *ret_user, char *reterr_reason, size_t reason_size);

#endif
