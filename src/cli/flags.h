/* SPDX-License-Identifier: Apache-2.0 */
/* The table-driven parser of the command line. */
#ifndef HF_CLI_FLAGS_H
#define HF_CLI_FLAGS_H

#include "cli/cli.h"

/*
 * Parses argv[0..argc) for request->verb; argv must be NULL-terminated and is reordered. Returns 0,
 * or an exit code once the mistake has been reported. request_finish() in either case.
 */
int parse_flags(struct request *request, int argc, char **argv);

/*
 * Parses the global flags at the front of argv and returns how many words they took, or minus an
 * exit code.
 */
int parse_global_flags(struct request *request, int argc, char **argv);

void request_finish(struct request *request);

/* The info at `index` of a group, or NULL past the last: the one way to walk over flags. */
const hf_option_info *group_info(const struct flag_group *group, size_t index);

/* Flag groups that several verbs share. */
extern const struct flag_group global_group;
extern const struct flag common_job_flags[]; /* of jobs that are started in front of us */
extern const struct flag job_place_flags[];  /* where, with what and as whom one runs */
extern const struct flag capture_flags[];    /* of what is captured for --json */
extern const struct flag dry_run_flags[];

/* Setters for rows of flag tables. */
int set_true(struct request *request, const struct flag *flag, const char *value);
int set_text(struct request *request, const struct flag *flag, const char *value);
int set_duration(struct request *request, const struct flag *flag, const char *value);
int set_job_env(struct request *request, const struct flag *flag, const char *value);

#define FIELD(field) .offset = offsetof(struct request, field)

#endif
