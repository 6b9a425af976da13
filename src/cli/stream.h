/* SPDX-License-Identifier: Apache-2.0 */
/* A job and this process: its output to ours, our input to it, our signals to its end. */
#ifndef HF_CLI_STREAM_H
#define HF_CLI_STREAM_H

#include "cli/cli.h"
#include "cli/detach.h"

struct stream_options {
    bool interactive; /* standard input goes to the job */
    bool watching;    /* it does not: keys are heard, but only those that leave the job */
    bool capture;     /* output is kept for hf_job_wait() instead of printed */
    bool terminal;    /* our terminal is the job's: raw, with its size */
    /* The job is somebody else's: a signal ends the watching, and never the job. */
    bool attached;
    struct detach keys; /* what leaves the job */
    int64_t timeout_ms; /* of the watching; 0 for none */
};

/* How a pump may end while the job goes on. */
enum { STREAM_LEFT = -1, STREAM_INTERRUPTED = -2, STREAM_TIMED_OUT = -3 };

/*
 * From here on SIGINT, SIGTERM and SIGHUP end the job and not this process, and a closed stdout is
 * an error code instead of a signal. Called after the box was made: what the library starts for it
 * must not inherit this.
 */
int stream_begin(void);

/*
 * Pumps until the job is over. Returns 0, one of the above, or an exit code if this process could
 * not do its part; a job that is ours was then told to end.
 */
int stream_pump(hf_job *job, const struct stream_options *options);

#endif
