/* SPDX-License-Identifier: Apache-2.0 */
/* What a job reads: from the viewer that feeds it, through a ring, into its pipe or its terminal. */
#ifndef HF_WARDEN_INPUT_H
#define HF_WARDEN_INPUT_H

#include "warden/job.h"

void input_init(struct job *job);
/* False: the client broke the agreement about the window. */
bool input_add(struct job *job, const void *data, size_t size);
void input_eof(struct job *job);
/* How much a new owner may send. */
uint32_t input_room(const struct job *job);
void input_close(struct job *job);

#endif
