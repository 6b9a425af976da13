/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thin, strict face over json-c. Builders never fail visibly: running out of memory aborts the
 * document, and hf__json_print() then reports it. Readers are typed: a member of the wrong kind is
 * an error that names it, a missing one gives the fallback.
 */
#ifndef HF_BASE_JSON_H
#define HF_BASE_JSON_H

#include "base/error.h"

typedef struct json_object hf_json;

hf_json *hf__json_object(void);
hf_json *hf__json_array(void);
void hf__json_free(hf_json *json);

/* Bytes that are not UTF-8 are replaced by U+FFFD; NULL becomes null. */
void hf__json_set_string(hf_json *object, const char *key, const char *value);
void hf__json_set_bytes(hf_json *object, const char *key, const void *data, size_t size);
void hf__json_set_int(hf_json *object, const char *key, int64_t value);
void hf__json_set_uint(hf_json *object, const char *key, uint64_t value);
void hf__json_set_double(hf_json *object, const char *key, double value); /* three decimals */
void hf__json_set_bool(hf_json *object, const char *key, bool value);
void hf__json_set_null(hf_json *object, const char *key);
/* Takes the value over. */
void hf__json_set(hf_json *object, const char *key, hf_json *value);
void hf__json_append(hf_json *array, hf_json *value);
void hf__json_append_string(hf_json *array, const char *value);
void hf__json_append_int(hf_json *array, int64_t value);

/* Strict: one document, nothing after it, no duplicate keys, depth 32. */
int hf__json_parse(const char *text, size_t size, hf_json **ret_json, hf_error **reterr);

const char *hf__json_get_string(const hf_json *object, const char *key); /* NULL if not a string */
int64_t hf__json_get_int(const hf_json *object, const char *key, int64_t fallback);
bool hf__json_get_bool(const hf_json *object, const char *key, bool fallback);
hf_json *hf__json_get(const hf_json *object, const char *key); /* borrowed, NULL if missing */
size_t hf__json_length(const hf_json *array);
hf_json *hf__json_at(const hf_json *array, size_t index); /* borrowed */
const char *hf__json_string(const hf_json *value);        /* NULL if not a string */

/* The keys whose values differ, "a, b, c", as a fresh string; NULL if none does. */
char *hf__json_differences(const hf_json *a, const hf_json *b);

/* One line, or indented for people. The caller frees the text. */
int hf__json_print(const hf_json *json, bool pretty, char **ret_text, hf_error **reterr);

static inline void hf__cleanup_json(hf_json **json)
{
    hf__json_free(*json);
}
#define _cleanup_json_ __attribute__((cleanup(hf__cleanup_json)))

#endif
