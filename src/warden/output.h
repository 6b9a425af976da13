/* SPDX-License-Identifier: Apache-2.0 */
/* What a job prints: from its pipes or its terminal into its rings. */
#ifndef HF_WARDEN_OUTPUT_H
#define HF_WARDEN_OUTPUT_H

#include "warden/job.h"

void output_init(struct stream *stream, struct job *job);
/* Reads on: there may be room again. */
void output_resume(struct job *job);
/* Notes what the job has printed itself; what comes later is from children that it left behind. */
void output_mark_end(struct job *job);
/* True if all of that has been read. */
bool output_reached_end(const struct job *job);
/* True if nothing can come any more. */
bool output_closed(const struct job *job);
void output_close(struct job *job);

#endif
