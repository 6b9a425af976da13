/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/place.h"

#include <string.h>

#include "cli/output.h"
#include "cli/target.h"

bool split_place(const char *word, size_t *ret_size)
{
    size_t size = strcspn(word, ":/");
    *ret_size = size;
    return size > 0 && word[size] == ':';
}

bool parse_place(const char *word, struct place *ret_place)
{
    size_t size;
    if (!split_place(word, &size))
        return false;
    ret_place->box = strndup(word, size);
    ret_place->path = word + size + 1;
    return ret_place->box != NULL;
}

/* --- one file --------------------------------------------------------------------------------- */

int take_place(const struct request *request, const char *fallback, struct place *ret_place)
{
    size_t size;
    int status = check_box_word(request);
    if (status != 0)
        return status;
    bool in_one = split_place(request->words[0], &size);
    if (!in_one)
        size = strlen(request->words[0]);
    if (in_one && request->word_count > 1)
        return usage_error(request->verb, "'%s' is one word too many: '%s' names box and path",
                           request->words[1], request->words[0]);
    const char *path = in_one                    ? request->words[0] + size + 1
                       : request->word_count > 1 ? request->words[1]
                                                 : "";
    if (!*path && !fallback)
        return usage_error(request->verb, "which file of box '%.*s'? `holdfast ls %.*s` lists them",
                           (int)size, request->words[0], (int)size, request->words[0]);
    ret_place->box = strndup(request->words[0], size);
    ret_place->path = *path ? path : fallback;
    return ret_place->box ? 0 : failure(HF_E_NO_SPACE, "out of memory");
}

/* --- many files ------------------------------------------------------------------------------- */

void cleanup_batch(struct batch *batch)
{
    hf_box_close(batch->box);
    hf_close(batch->context);
}

int batch_find(struct batch *batch, const char *word, hf_box **ret_box, const char **ret_path,
               hf_error **reterr)
{
    char *copy = NULL;
    const char *name = batch->fixed;
    *ret_path = word;
    if (!name) {
        size_t size;
        (void)split_place(word, &size);
        name = copy = strndup(word, size);
        *ret_path = word + size + 1;
    }
    int r = HF_OK;
    if (!batch->box || !name || strcmp(hf_box_name(batch->box), name) != 0) {
        hf_box_close(batch->box);
        batch->box = NULL;
        /* Without memory the library is asked for a box without a name, and says what is wrong. */
        r = hf_box_open(batch->context, name ? name : "", &batch->box, reterr);
    }
    free(copy);
    *ret_box = batch->box;
    return r;
}

int check_batch_words(const struct request *request, size_t *ret_first)
{
    size_t size;
    int status = check_box_word(request);
    if (status != 0)
        return status;
    bool in_one = split_place(request->words[0], &size);
    *ret_first = in_one ? 0 : 1;
    if (request->word_count == *ret_first)
        return usage_error(request->verb, "which path in box '%s'?", request->words[0]);
    for (size_t i = *ret_first; i < request->word_count; i++) {
        const char *word = request->words[i];
        bool is_place = split_place(word, &size);
        if (in_one && !is_place)
            return usage_error(request->verb,
                               "'%s' names no box; write BOX:PATH for every file, or BOX PATH... "
                               "for many of one box",
                               word);
        if (!*(in_one ? word + size + 1 : word))
            return usage_error(request->verb, "'%s' has no path", word);
    }
    return 0;
}
