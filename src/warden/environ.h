/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HF_WARDEN_ENVIRON_H
#define HF_WARDEN_ENVIRON_H

#include "warden/user.h"
#include "wire/message.h"

#define ENVIRON_OWN 9

struct environment {
    char **vector;          /* for execve */
    char *own[ENVIRON_OWN]; /* the strings that are ours; the others belong to the messages */
};

/* The environment of a job: built-in values, then the box's own, then the job's; the later wins.
 * `hints` are for the shell of a session, which takes them out again; NULL for none. False when
 * memory runs out; it is to be finished all the same. */
bool environ_build(struct environment *env, const struct hf_msg_config *config,
                   const struct hf_msg_start *start, const struct user *user, const char *hints);
void environ_finish(struct environment *env);

/* The value of `name`, or NULL. */
const char *environ_get(char *const *vector, const char *name);

#endif
