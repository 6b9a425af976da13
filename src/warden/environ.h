/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HF_WARDEN_ENVIRON_H
#define HF_WARDEN_ENVIRON_H

#include "warden/user.h"
#include "wire/message.h"

/* The environment of a job: built-in values, then the box's own, then the job's; the later wins.
 * NULL when memory runs out. The strings belong to the messages or are never freed: the caller is
 * about to exec. */
char **environ_build(const struct hf_msg_config *config, const struct hf_msg_start *start,
                     const struct user *user);

/* The value of `name`, or NULL. */
const char *environ_get(char *const *env, const char *name);

#endif
