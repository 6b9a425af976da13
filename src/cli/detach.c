/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/detach.h"

#include <string.h>
#include <strings.h>

/* One key of the list, `size` characters long. */
static bool parse_key(const char *text, size_t size, char *ret)
{
    static const char controls[] = "@abcdefghijklmnopqrstuvwxyz[\\]^_";
    static const size_t prefix = sizeof "ctrl-" - 1;
    if (size == 1) {
        *ret = text[0];
        return text[0] >= ' ' && text[0] <= '~';
    }
    if (size != prefix + 1 || strncasecmp(text, "ctrl-", prefix) != 0)
        return false;
    char letter = text[prefix];
    if (letter >= 'A' && letter <= 'Z')
        letter = (char)(letter - 'A' + 'a');
    const char *found = letter ? strchr(controls, letter) : NULL;
    if (found)
        *ret = (char)(found - controls);
    return found != NULL;
}

bool detach_parse(const char *text, struct detach *ret)
{
    struct detach parsed = {0};
    while (*text) {
        size_t size = strcspn(text, ",");
        if (parsed.count == DETACH_MAX || !parse_key(text, size, &parsed.keys[parsed.count]))
            return false;
        parsed.count++;
        text += size;
        /* A comma at the end announces a key that is not there. */
        if (*text == ',' && *++text == '\0')
            return false;
    }
    *ret = parsed;
    return true;
}

/*
 * What was held back and `key` are not the keys. Their longest end that may still become them stays
 * held back ("aab" is in "aaab"), the rest goes on. Returns how much that was.
 */
static size_t release(struct detach *detach, char key, char *out)
{
    char held[DETACH_MAX + 1];
    size_t size = detach->matched + 1;
    memcpy(held, detach->keys, detach->matched);
    held[size - 1] = key;
    size_t gone = 1;
    while (gone < size && memcmp(held + gone, detach->keys, size - gone) != 0)
        gone++;
    memcpy(out, held, gone);
    detach->matched = size - gone;
    return gone;
}

bool detach_feed(struct detach *detach, const char *in, size_t size, char *out, size_t *ret_size)
{
    size_t used = 0;
    for (size_t i = 0; i < size; i++) {
        if (detach->count == 0)
            out[used++] = in[i];
        else if (in[i] != detach->keys[detach->matched])
            used += release(detach, in[i], out + used);
        else if (++detach->matched == detach->count) {
            detach->matched = 0;
            *ret_size = used;
            return true;
        }
    }
    *ret_size = used;
    return false;
}
