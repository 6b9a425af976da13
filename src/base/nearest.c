/* SPDX-License-Identifier: Apache-2.0 */
#include <holdfast.h>
#include <string.h>

/* Longer words are not typing mistakes of anything we know; also what bounds the rows below. */
#define MAX_WORD 64

static size_t min2(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Insertions, deletions, replacements and swaps of neighbours (optimal string alignment). */
static size_t distance(const char *a, size_t a_size, const char *b, size_t b_size)
{
    size_t rows[3][MAX_WORD + 1];
    size_t *before = rows[0], *last = rows[1], *now = rows[2];
    for (size_t j = 0; j <= b_size; j++)
        last[j] = j;
    for (size_t i = 1; i <= a_size; i++) {
        now[0] = i;
        for (size_t j = 1; j <= b_size; j++) {
            size_t cost = a[i - 1] == b[j - 1] ? 0 : 1;
            now[j] = min2(min2(last[j] + 1, now[j - 1] + 1), last[j - 1] + cost);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = min2(now[j], before[j - 2] + 1);
        }
        size_t *oldest = before;
        before = last;
        last = now;
        now = oldest;
    }
    return last[b_size];
}

const char *hf_nearest(const char *word, const char *const *candidates)
{
    size_t size = strlen(word);
    if (size == 0 || size > MAX_WORD)
        return NULL;
    /* A guess that changes more than a third of the word helps nobody. */
    size_t best_distance = 1 + size / 3 + 1;
    const char *best = NULL;
    for (; *candidates; candidates++) {
        size_t other = strlen(*candidates);
        if (other > MAX_WORD)
            continue;
        size_t d = distance(word, size, *candidates, other);
        /* A word that was cut short: "mem" for "memory". */
        if (size >= 3 && other > size && strncmp(word, *candidates, size) == 0)
            d = min2(d, 1);
        /* Nothing in common is no neighbour, however short the words are. */
        if (d < best_distance && d < min2(size, other)) {
            best_distance = d;
            best = *candidates;
        }
    }
    return best;
}
