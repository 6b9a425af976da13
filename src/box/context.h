/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HF_BOX_CONTEXT_H
#define HF_BOX_CONTEXT_H

#include "engine/engine.h"

struct hf_context {
    const struct hf_engine *engine;
    void *state;
    char *runtime_dir, *data_dir;
    hf_log_fn log;
    void *log_data;
};

#endif
