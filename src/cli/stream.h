/* SPDX-License-Identifier: Apache-2.0 */
/* A job and this process: its output to ours, our input to it, our signals to its end. */
#ifndef HF_CLI_STREAM_H
#define HF_CLI_STREAM_H

#include "cli/cli.h"

struct stream_options {
    bool interactive; /* standard input goes to the job */
    bool capture;     /* output is kept for hf_job_wait() instead of printed */
};

/*
 * From here on SIGINT, SIGTERM and SIGHUP end the job and not this process, and a closed stdout is
 * an error code instead of a signal. Called after the box was made: what the library starts for it
 * must not inherit this.
 */
int stream_begin(void);

/*
 * Pumps until the job is over. Returns 0, or an exit code if this process could not do its part;
 * the job was then told to end.
 */
int stream_pump(hf_job *job, const struct stream_options *options);

#endif
