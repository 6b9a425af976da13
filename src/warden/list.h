/* SPDX-License-Identifier: Apache-2.0 */
/* Answers to LIST: a message for each, then LIST_END. */
#ifndef HF_WARDEN_LIST_H
#define HF_WARDEN_LIST_H

#include "wire/message.h"

void list_jobs(struct hf_buf *out, uint32_t channel);
void list_sessions(struct hf_buf *out, uint32_t channel);

#endif
