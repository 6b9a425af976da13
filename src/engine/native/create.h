/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HF_NATIVE_CREATE_H
#define HF_NATIVE_CREATE_H

#include "engine/native/state.h"

int create_box(struct native *native, const hf_spec *spec, unsigned flags,
               struct hf_engine_box *ret_box, hf_error **reterr);

int create_plan_text(struct native *native, const hf_spec *spec, char **ret_text,
                     hf_error **reterr);

#endif
