/* SPDX-License-Identifier: Apache-2.0 */
/* Who a box is and who acts in it: names, users, host names. */
#ifndef HF_SPEC_IDENTITY_H
#define HF_SPEC_IDENTITY_H

#include "base/error.h"

/* "hf-box-" and 12 random hex digits, for a box that nobody asks for by name again. */
int hf__random_box_name(char **ret_name, hf_error **reterr);

/* Task and profile: any bytes, but some. */
int hf__tenant_check(const char *value, hf_error **reterr);
/* user[:group], by name or number. Whether they exist is for the box to say. */
int hf__user_check(const char *value, hf_error **reterr);
int hf__hostname_check(const char *value, hf_error **reterr);

#endif
