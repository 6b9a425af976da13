/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"

#define MAX_DEPTH 32

hf_json *hf__json_object(void)
{
    return json_object_new_object();
}

hf_json *hf__json_array(void)
{
    return json_object_new_array();
}

void hf__json_free(hf_json *json)
{
    json_object_put(json);
}

void hf__json_set(hf_json *object, const char *key, hf_json *value)
{
    if (!object || json_object_object_add(object, key, value) < 0)
        json_object_put(value);
}

void hf__json_append(hf_json *array, hf_json *value)
{
    if (!array || json_object_array_add(array, value) < 0)
        json_object_put(value);
}

static hf_json *string_value(const void *data, size_t size)
{
    char *clean = NULL;
    size_t clean_size = 0;
    if (hf__utf8_replace(data, size, &clean, &clean_size) < 0)
        return NULL;
    hf_json *value =
        clean_size <= INT_MAX ? json_object_new_string_len(clean, (int)clean_size) : NULL;
    free(clean);
    return value;
}

void hf__json_set_bytes(hf_json *object, const char *key, const void *data, size_t size)
{
    hf__json_set(object, key, string_value(data, size));
}

void hf__json_set_string(hf_json *object, const char *key, const char *value)
{
    hf__json_set(object, key, value ? string_value(value, strlen(value)) : NULL);
}

void hf__json_append_string(hf_json *array, const char *value)
{
    hf__json_append(array, string_value(value, strlen(value)));
}

void hf__json_append_int(hf_json *array, int64_t value)
{
    hf__json_append(array, json_object_new_int64(value));
}

void hf__json_set_int(hf_json *object, const char *key, int64_t value)
{
    hf__json_set(object, key, json_object_new_int64(value));
}

void hf__json_set_uint(hf_json *object, const char *key, uint64_t value)
{
    hf__json_set(object, key, json_object_new_uint64(value));
}

void hf__json_set_double(hf_json *object, const char *key, double value)
{
    char text[64];
    snprintf(text, sizeof text, "%.3f", value);
    hf__json_set(object, key, json_object_new_double_s(value, text));
}

void hf__json_set_bool(hf_json *object, const char *key, bool value)
{
    hf__json_set(object, key, json_object_new_boolean(value));
}

void hf__json_set_null(hf_json *object, const char *key)
{
    hf__json_set(object, key, NULL);
}

/*
 * json-c's strict mode still takes NaN, Infinity, single quotes and bare control characters, and
 * lets the last of two equal keys win: a record has none of it. Counts the members on the way: each
 * has one colon.
 */
static bool has_foreign_tokens(const char *text, size_t size, size_t *ret_members)
{
    bool in_string = false;
    size_t members = 0;
    for (size_t i = 0; i < size; i++) {
        char c = text[i];
        if (in_string) {
            if (c == '\\')
                i++;
            else if (c == '"')
                in_string = false;
            else if ((unsigned char)c < 0x20)
                return true;
        } else if (c == '"') {
            in_string = true;
        } else if (c == '\'' || c == 'N' || c == 'I' || c == '\0') {
            return true;
        } else if (c == ':') {
            members++;
        }
    }
    *ret_members = members;
    return false;
}

static size_t count_members(hf_json *json)
{
    size_t count = 0;
    if (json_object_is_type(json, json_type_object)) {
        json_object_object_foreach(json, key, value)
        {
            (void)key;
            count += 1 + count_members(value);
        }
    } else if (json_object_is_type(json, json_type_array)) {
        for (size_t i = 0; i < json_object_array_length(json); i++)
            count += count_members(json_object_array_get_idx(json, i));
    }
    return count;
}

/* Why a document that json-c took, or did not take, is none of ours; NULL where it is. */
static const char *complaint(enum json_tokener_error error, bool at_end, hf_json *json,
                             size_t members)
{
    if (error == json_tokener_continue)
        return "it ends too early";
    if (error != json_tokener_success)
        return json_tokener_error_desc(error);
    if (!at_end)
        return "something follows the document";
    return count_members(json) != members ? "a key stands twice" : NULL;
}

int hf__json_parse(const char *text, size_t size, hf_json **ret_json, hf_error **reterr)
{
    if (size > INT_MAX)
        return hf__error(reterr, HF_E_INVALID, "JSON document too large");
    size_t members = 0;
    if (has_foreign_tokens(text, size, &members))
        return hf__error(reterr, HF_E_INVALID,
                         "not JSON: quotes, words or control characters that JSON does not have");
    struct json_tokener *tokener = json_tokener_new_ex(MAX_DEPTH);
    if (!tokener)
        return hf__error(reterr, HF_E_NO_SPACE, "out of memory");
    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT);
    hf_json *json = json_tokener_parse_ex(tokener, text, (int)size);
    enum json_tokener_error error = json_tokener_get_error(tokener);
    size_t end = json_tokener_get_parse_end(tokener);
    json_tokener_free(tokener);
    while (end < size && strchr(" \t\r\n", text[end]))
        end++;
    const char *wrong = complaint(error, end >= size, json, members);
    if (wrong) {
        json_object_put(json);
        return hf__error(reterr, HF_E_INVALID, "not JSON: %s at byte %zu", wrong, end);
    }
    *ret_json = json;
    return 0;
}

hf_json *hf__json_get(const hf_json *object, const char *key)
{
    hf_json *value = NULL;
    if (!object || json_object_get_type(object) != json_type_object)
        return NULL;
    json_object_object_get_ex(object, key, &value);
    return value;
}

const char *hf__json_string(const hf_json *value)
{
    if (!value || json_object_get_type(value) != json_type_string)
        return NULL;
    const char *text = json_object_get_string((hf_json *)value);
    /* A NUL inside would show the reader less than was written. */
    return strlen(text) == (size_t)json_object_get_string_len(value) ? text : NULL;
}

const char *hf__json_get_string(const hf_json *object, const char *key)
{
    return hf__json_string(hf__json_get(object, key));
}

int64_t hf__json_get_int(const hf_json *object, const char *key, int64_t fallback)
{
    hf_json *value = hf__json_get(object, key);
    return value && json_object_get_type(value) == json_type_int ? json_object_get_int64(value)
                                                                 : fallback;
}

bool hf__json_get_bool(const hf_json *object, const char *key, bool fallback)
{
    hf_json *value = hf__json_get(object, key);
    return value && json_object_get_type(value) == json_type_boolean
               ? (bool)json_object_get_boolean(value)
               : fallback;
}

size_t hf__json_length(const hf_json *array)
{
    return array && json_object_get_type(array) == json_type_array ? json_object_array_length(array)
                                                                   : 0;
}

hf_json *hf__json_at(const hf_json *array, size_t index)
{
    return index < hf__json_length(array) ? json_object_array_get_idx(array, index) : NULL;
}

static void add_differences(struct hf_buf *out, const hf_json *a, const hf_json *b,
                            bool missing_only)
{
    json_object_object_foreach((hf_json *)a, key, value)
    {
        hf_json *other = NULL;
        bool there = json_object_object_get_ex(b, key, &other);
        if (there && (missing_only || json_object_equal(value, other)))
            continue;
        hf__buf_printf(out, "%s%s", out->size ? ", " : "", key);
    }
}

char *hf__json_differences(const hf_json *a, const hf_json *b)
{
    struct hf_buf out = HF_BUF(1024);
    if (json_object_get_type(a) != json_type_object || json_object_get_type(b) != json_type_object)
        return NULL;
    add_differences(&out, a, b, false);
    add_differences(&out, b, a, true);
    return out.data; /* what did not fit is left out */
}

/* json-c escapes what JSON demands; a terminal is also moved by C1 and bidirectional characters,
 * which stand in strings only and mean the same as \\uNNNN. */
static char *copy_for_terminals(const char *text)
{
    size_t size = strlen(text);
    struct hf_buf out = HF_BUF(SIZE_MAX / 4);
    size_t plain = 0;
    for (size_t i = 0; i < size;) {
        unsigned c;
        size_t length;
        if ((unsigned char)text[i] < 0x7f ||
            !hf__utf8_treacherous(text + i, size - i, &c, &length)) {
            i++;
            continue;
        }
        hf__buf_append(&out, text + plain, i - plain);
        if (c > 0xffff)
            hf__buf_printf(&out, "\\u%04x\\u%04x", 0xd7c0 + (c >> 10), 0xdc00 + (c & 0x3ff));
        else
            hf__buf_printf(&out, "\\u%04x", c);
        i += length;
        plain = i;
    }
    hf__buf_append(&out, text + plain, size - plain);
    if (out.failed)
        hf__buf_finish(&out);
    return out.data;
}

int hf__json_print(const hf_json *json, bool pretty, char **ret_text, hf_error **reterr)
{
    int flags = JSON_C_TO_STRING_NOSLASHESCAPE;
    flags |= pretty ? JSON_C_TO_STRING_PRETTY : JSON_C_TO_STRING_PLAIN;
    const char *text = json ? json_object_to_json_string_ext((hf_json *)json, flags) : NULL;
    char *copy = text ? copy_for_terminals(text) : NULL;
    if (!copy)
        return hf__error(reterr, HF_E_NO_SPACE, "out of memory");
    *ret_text = copy;
    return 0;
}
