/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *hf__buf_reserve(struct hf_buf *buf, size_t size)
{
    if (buf->failed || size > buf->max || buf->size > buf->max - size) {
        buf->failed = true;
        return NULL;
    }
    size_t need = buf->size + size + 1;
    if (need > buf->capacity) {
        size_t capacity = buf->capacity ? buf->capacity : 64;
        while (capacity < need)
            capacity *= 2;
        if (capacity > buf->max + 1)
            capacity = buf->max + 1;
        char *data = realloc(buf->data, capacity);
        if (!data) {
            buf->failed = true;
            return NULL;
        }
        buf->data = data;
        buf->capacity = capacity;
        buf->data[buf->size] = '\0';
    }
    return buf->data + buf->size;
}

void hf__buf_append(struct hf_buf *buf, const void *data, size_t size)
{
    char *to = hf__buf_reserve(buf, size);
    if (!to)
        return;
    if (size > 0)
        memcpy(to, data, size);
    buf->size += size;
    buf->data[buf->size] = '\0';
}

void hf__buf_string(struct hf_buf *buf, const char *text)
{
    hf__buf_append(buf, text, strlen(text));
}

void hf__buf_printf(struct hf_buf *buf, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int size = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (size < 0) {
        buf->failed = true;
        return;
    }
    char *to = hf__buf_reserve(buf, (size_t)size);
    if (!to)
        return;
    va_start(args, fmt);
    vsnprintf(to, (size_t)size + 1, fmt, args);
    va_end(args);
    buf->size += (size_t)size;
}

void hf__buf_consume(struct hf_buf *buf, size_t size)
{
    if (size >= buf->size) {
        buf->size = 0;
    } else {
        memmove(buf->data, buf->data + size, buf->size - size);
        buf->size -= size;
    }
    if (buf->data)
        buf->data[buf->size] = '\0';
}

void hf__buf_finish(struct hf_buf *buf)
{
    free(buf->data);
    *buf = HF_BUF(buf->max);
}
