/* SPDX-License-Identifier: Apache-2.0 */
/* The keys that leave a job without ending it: found among the bytes that are typed. */
#ifndef HF_CLI_DETACH_H
#define HF_CLI_DETACH_H

#include <stdbool.h>
#include <stddef.h>

#define DETACH_DEFAULT "ctrl-]"
#define DETACH_MAX 16

struct detach {
    char keys[DETACH_MAX];
    size_t count;   /* 0: there are none */
    size_t matched; /* of the keys, so far; held back until it is known what they are */
};

/* "ctrl-p,ctrl-q", "ctrl-]", "a,b"; empty for none. False for anything else. */
bool detach_parse(const char *text, struct detach *ret);

/*
 * Copies to `out` (room for size + DETACH_MAX) what goes on to the job, and tells how much in
 * *ret_size. True once the keys are complete; what was typed after them is dropped.
 */
bool detach_feed(struct detach *detach, const char *in, size_t size, char *out, size_t *ret_size);

#endif
