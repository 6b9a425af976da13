/* SPDX-License-Identifier: Apache-2.0 */
/* What the file verbs share: their flags, and how one file is opened, found or told about. */
#ifndef HF_CLI_FILES_H
#define HF_CLI_FILES_H

#include "cli/place.h"

/* -u; of cp it is another member. */
extern const struct flag file_user_flags[];

/* Setters for rows of flag tables. */
int set_mode(struct request *request, const struct flag *flag, const char *value);
int set_range(struct request *request, const struct flag *flag, const char *value);

/* "0-99", "100-", "-100": bytes as in HTTP, both ends included. */
bool parse_range(const char *text, struct range *ret_range);
/* An octal mode from 1 to 07777: 0 is the library's word for its default. */
bool parse_mode(const char *text, unsigned *ret_mode);

/* The options for the library. */
const hf_file_options *file_options(struct request *request);

/* Where a symlink leads: `target` as seen from the directory that `path` is in. NULL when memory
 * runs out; free() it. */
char *join_target(const char *path, const char *target);

/* The one document in a JSON array of one. */
void print_only_element(const char *json);

#endif
