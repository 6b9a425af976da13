/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

#include <errno.h>
#include <holdfast.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Decodes one character; see hf__utf8_length() for what counts as one. */
static size_t decode(const unsigned char *s, size_t size, uint32_t *ret_char)
{
    static const uint32_t smallest[5] = {0, 0, 0x80, 0x800, 0x10000};
    if (size == 0)
        return 0;
    if (s[0] < 0x80) {
        *ret_char = s[0];
        return 1;
    }
    size_t length = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    if (s[0] < 0xc2 || s[0] > 0xf4 || size < length)
        return 0;
    uint32_t c = s[0] & (0xffU >> (length + 1));
    for (size_t i = 1; i < length; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (s[i] & 0x3f);
    }
    if (c < smallest[length] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
        return 0;
    *ret_char = c;
    return length;
}

size_t hf__utf8_length(const char *text, size_t size)
{
    uint32_t c;
    return decode((const unsigned char *)text, size, &c);
}

int hf__utf8_replace(const void *data, size_t size, char **ret_text, size_t *ret_size)
{
    const char *in = data;
    /* Each wrong byte becomes three. */
    char *out = size <= SIZE_MAX / 3 - 1 ? malloc(3 * size + 1) : NULL;
    if (!out)
        return -ENOMEM;
    size_t used = 0;
    for (size_t i = 0; i < size;) {
        size_t length = hf__utf8_length(in + i, size - i);
        if (length > 0) {
            memcpy(out + used, in + i, length);
            used += length;
            i += length;
        } else {
            memcpy(out + used, "\xef\xbf\xbd", 3);
            used += 3;
            i++;
        }
    }
    out[used] = '\0';
    *ret_text = out;
    *ret_size = used;
    return 0;
}

static bool is_continuation(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

size_t hf__utf8_cut_before(const char *text, size_t end)
{
    size_t start = end;
    while (start > 0 && end - start < 3 && is_continuation(text[start - 1]))
        start--;
    if (start == 0)
        return end;
    unsigned char lead = (unsigned char)text[start - 1];
    size_t need = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
    size_t have = end - start + 1;
    return need > have ? start - 1 : end;
}

size_t hf__utf8_cut_after(const char *text, size_t size)
{
    size_t skip = 0;
    while (skip < size && skip < 3 && is_continuation(text[skip]))
        skip++;
    return skip;
}

static bool is_treacherous(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x61c || c == 0x180e ||
           (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
           (c >= 0x2060 && c <= 0x206f) || c == 0xfeff || (c >= 0xfff9 && c <= 0xfffb) ||
           (c >= 0xe0000 && c <= 0xe007f);
}

bool hf__utf8_treacherous(const char *text, size_t size, unsigned *ret_char, size_t *ret_length)
{
    uint32_t c = 0;
    *ret_length = decode((const unsigned char *)text, size, &c);
    *ret_char = c;
    return *ret_length > 0 && is_treacherous(c);
}

char *hf__utf8_escape(const char *text)
{
    size_t size = strlen(text);
    /* The longest replacement, \u{NNNNN}, is 9 bytes for at least two, \xNN 4 bytes for one. */
    char *out = size <= SIZE_MAX / 8 - 1 ? malloc(8 * size + 1) : NULL;
    if (!out)
        return NULL;
    size_t used = 0;
    for (size_t i = 0; i < size;) {
        uint32_t c = 0;
        size_t length = decode((const unsigned char *)text + i, size - i, &c);
        if (length == 0 || (length == 1 && is_treacherous(c))) {
            used += (size_t)snprintf(out + used, 8, "\\x%02x", (unsigned char)text[i]);
            i++;
        } else if (is_treacherous(c)) {
            used += (size_t)snprintf(out + used, 10, "\\u{%04x}", (unsigned)c);
            i += length;
        } else {
            memcpy(out + used, text + i, length);
            used += length;
            i += length;
        }
    }
    out[used] = '\0';
    return out;
}

char *hf_escape(const char *text)
{
    return hf__utf8_escape(text);
}
