/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of "NAME=value" in which the last of a name wins: the environment and the labels. */
#ifndef HF_SPEC_ENV_H
#define HF_SPEC_ENV_H

#include "base/error.h"

/* Adds "NAME=value"; NAME alone takes its value from the caller's environment. */
int hf__env_add(hf_spec *spec, const char *text, hf_error **reterr);

/* Adds "key=value"; a key alone has an empty value. */
int hf__label_add(hf_spec *spec, const char *text, hf_error **reterr);

#endif
