/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The option table: every option of a box stands in it once. Flag parsers, help texts, man pages,
 * completions and hf_spec_set() are all made from its rows.
 */
#ifndef HF_SPEC_OPTION_H
#define HF_SPEC_OPTION_H

#include "base/error.h"

struct hf_option {
    hf_option_info info; /* what front ends see */
    /* Checks the value and stores it; on failure the spec is as it was. */
    int (*set)(hf_spec *spec, const struct hf_option *option, const char *value, hf_error **reterr);
    size_t offset; /* of the member, for the setters that serve many options */
    bool hidden;   /* set through something else than a flag */
};

/* The row of a key; an unknown key is an error that names the nearest one. */
int hf__option_find(const char *key, const struct hf_option **ret_option, hf_error **reterr);

#endif
