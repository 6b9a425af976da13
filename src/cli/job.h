/* SPDX-License-Identifier: Apache-2.0 */
/* What run, exec and sh share: one job from start to exit code; and how attached ones end. */
#ifndef HF_CLI_JOB_H
#define HF_CLI_JOB_H

#include <stdio.h>

#include "cli/cli.h"
#include "cli/detach.h"

/* Checks that job flags go together and fills in request->job what to run: the command, or a script.
 * 0 or an exit code. */
int prepare_job(struct request *request);

/*
 * Runs the prepared job in `box`, streams or captures it, says on stderr how it ended where the exit
 * code alone does not, and returns the exit code. With --detach it prints the job's number as soon
 * as the command runs.
 */
int run_job(struct request *request, hf_box *box);

/* --output-limit and --base64: that something is captured. 0 or an exit code. */
int check_capture_flags(const struct request *request);

/* For a job that is over: waits for its result, says how it ended, prints it with --json, returns
 * its exit code. */
int finish_job(const struct request *request, hf_job *job);

/* How it ended, on stderr. */
void say_outcome(const hf_result *result);
/* The document of a result. 0 or an exit code. */
int print_result(FILE *stream, const struct request *request, const hf_result *result);

/* --detach-keys: its row, and what was given or the default. */
extern const struct flag detach_keys_flags[];
struct detach detach_keys(const struct request *request);
/* The job was left; returns `status`. */
int say_left(const struct request *request, const hf_job *job, int status);

#endif
