/* SPDX-License-Identifier: Apache-2.0 */
/* What run and exec share: one job from start to exit code. */
#ifndef HF_CLI_JOB_H
#define HF_CLI_JOB_H

#include "cli/cli.h"

/* Checks that job flags go together. 0 or an exit code. */
int check_job_flags(const struct request *request);

/*
 * Runs the job in `box`, streams or captures it, says on stderr how it ended where the exit code
 * alone does not, and returns the exit code. With `ret_not_found` a command that is not there is
 * reported there instead, so that the caller can try another.
 */
int run_job(struct request *request, hf_box *box, const char *const *argv, bool *ret_not_found);

#endif
