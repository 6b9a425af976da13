/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HF_BOX_BOX_H
#define HF_BOX_BOX_H

#include "box/context.h"
#include "box/link.h"

struct hf_box {
    hf_context *context;
    char *name;
    bool created;
    int lifeline; /* -1 unless the box ends with this handle */
    struct link link;
    bool linked;
    uint64_t oom_kills; /* of the box, as far as they were told to a job */
};

/* The connection to the warden, made when it is first needed. The greeting is put into `out`, to go
 * with whatever is sent first. */
int hf__box_link(struct hf_box *box, struct hf_buf *out, hf_error **reterr);

#endif
