/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HF_BASE_UTF8_H
#define HF_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* The length of the valid UTF-8 character at the start of `text`, or 0 if there is none (a wrong
 * byte, a surrogate, an overlong form, or a character that is cut off by `size`). */
size_t hf__utf8_length(const char *text, size_t size);

/* A copy in which each byte that belongs to no valid character became U+FFFD. NUL-terminated. */
int hf__utf8_replace(const void *data, size_t size, char **ret_text, size_t *ret_size);

/* Steps back from `end` so that the cut falls between characters, by 3 bytes at most. */
size_t hf__utf8_cut_before(const char *text, size_t end);

/* Steps forward from the start of `text` past the rest of a character that began before it. */
size_t hf__utf8_cut_after(const char *text, size_t size);

/* True for characters that change the direction of text, are invisible, or control a terminal. */
bool hf__utf8_treacherous(const char *text, size_t size, unsigned *ret_char, size_t *ret_length);

/* A copy that is safe to show on a terminal: C0, C1, DEL and characters that change the direction
 * or are invisible are written as \xNN or \u{NNNN}. NULL when memory runs out. */
char *hf__utf8_escape(const char *text);

#endif
