/* SPDX-License-Identifier: Apache-2.0 */
/* A spec for each test, and one line to set something in it. */
#ifndef HF_TESTS_SPEC_HELPER_H
#define HF_TESTS_SPEC_HELPER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "spec/spec.h"

static inline int make_spec(void **state)
{
    hf_spec *spec = NULL;
    int r = hf_spec_new(&spec, NULL);
    *state = spec;
    return r;
}

static inline int free_spec(void **state)
{
    hf_spec_free(*state);
    return 0;
}

static inline void set_ok(hf_spec *spec, const char *key, const char *value)
{
    hf_error *error = NULL;
    if (hf_spec_set(spec, key, value, &error) < 0)
        fail_msg("%s", hf_error_message(error));
}

/* Refused, and the message has `words` in it. */
static inline void set_fails(hf_spec *spec, const char *key, const char *value, const char *words)
{
    hf_error *error = NULL;
    if (hf_spec_set(spec, key, value, &error) != HF_E_INVALID)
        fail_msg("'%s' was taken for '%s'", value ? value : "NULL", key);
    if (!strstr(hf_error_message(error), words))
        fail_msg("'%s' is not in: %s", words, hf_error_message(error));
    hf_error_free(error);
}

#define SPEC_TEST(function) cmocka_unit_test_setup_teardown(function, make_spec, free_spec)

#endif
