/* SPDX-License-Identifier: Apache-2.0 */
/* How words name a file of a box: BOX PATH, or BOX:PATH in one word. */
#ifndef HF_CLI_PLACE_H
#define HF_CLI_PLACE_H

#include "cli/cli.h"

struct place {
    char *box;        /* ours */
    const char *path; /* of argv, or static */
};

static inline void cleanup_place(struct place *place)
{
    free(place->box);
}

/*
 * Whether a word is BOX:PATH: as with scp, a colon is in it, neither at its front nor after a slash,
 * so "./a:b" is a file of this machine. The length of BOX in *ret_size; PATH follows the colon.
 */
bool split_place(const char *word, size_t *ret_size);

/* The place that one word names; false if it is none, or memory runs out. */
bool parse_place(const char *word, struct place *ret_place);

/*
 * The place that all the words name. A path that is missing or empty is `fallback`; a usage error
 * where that is NULL. 0 or an exit code.
 */
int take_place(const struct request *request, const char *fallback, struct place *ret_place);

/* Many files, of one box or of several: the box of the last one stays open for the next. */
struct batch {
    hf_context *context;
    const char *fixed; /* the box of all of them; NULL: each word is BOX:PATH */
    hf_box *box;
};

void cleanup_batch(struct batch *batch);

/* The open box of a word, and the path in it; the box belongs to the batch. */
int batch_find(struct batch *batch, const char *word, hf_box **ret_box, const char **ret_path,
               hf_error **reterr);

/* That the words are either BOX PATH... or all BOX:PATH, with no path empty; tells where the first
 * of them is. 0 or an exit code. */
int check_batch_words(const struct request *request, size_t *ret_first);

#endif
