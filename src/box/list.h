/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HF_BOX_LIST_H
#define HF_BOX_LIST_H

#include "base/json.h"
#include "box/box.h"

/* Asks the box for a list; `listing` gets the rows. Bounded in time. */
int hf__list(struct hf_box *box, uint8_t what, struct listing *listing, hf_error **reterr);

/* The box's sessions as a JSON array, or NULL if it does not tell. */
hf_json *hf__sessions_json(struct hf_box *box);

#endif
