/* SPDX-License-Identifier: Apache-2.0 */
/* One file of a box at a time. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "box/agent.h"

#define CHUNK KIB(64)

/* An operation that says nothing but how it ended. */
static int run(hf_box *box, const char *user, const char *const *words, hf_error **reterr)
{
    _cleanup_agent_ struct agent agent = {0};
    int result = agent_start(box, user, words, false, &agent, reterr);
    return result < 0 ? result : agent_end(&agent, words[1], reterr);
}

/* ---- reading -------------------------------------------------------------------------------- */

struct reading {
    hf_sink sink;
    void *data;
    uint64_t left; /* what a box that keeps to what it was asked may still send */
};

static int pass_on(void *data, const void *bytes, size_t size, hf_error **reterr)
{
    struct reading *reading = data;
    if (size > reading->left)
        return hf__error_file(reterr, HF_FILE_PROTOCOL, 0, "the box sent more than was asked for");
    reading->left -= size;
    int result = reading->sink(reading->data, bytes, size);
    return result < 0 ? hf__error(reterr, HF_E_INVALID, "stopped by the caller") : 0;
}

int hf_file_read(hf_box *box, const char *path, const hf_file_options *options, hf_sink sink,
                 void *data, hf_error **reterr)
{
    _cleanup_agent_ struct agent agent = {0};
    hf_file_options own = agent_options(options);
    char offset[24], length[24];
    const char *const words[] = {"read", path, offset, length, NULL};
    struct reading reading = {sink, data, own.length ? own.length : UINT64_MAX};
    snprintf(offset, sizeof offset, "%" PRIu64, own.offset);
    snprintf(length, sizeof length, "%" PRIu64, own.length);
    int result = agent_start(box, own.user, words, false, &agent, reterr);
    if (result == 0)
        result = agent_take(&agent, true, pass_on, &reading, reterr);
    return result < 0 ? result : agent_end(&agent, path, reterr);
}

/* ---- writing -------------------------------------------------------------------------------- */

/* In pieces, each after its length; nothing is changed before the empty piece at the end. */
static bool give_piece(struct agent *agent, char *piece, size_t size)
{
    for (int i = 0; i < 4; i++)
        piece[i] = (char)(size >> (8 * i));
    return agent_give(agent, piece, size + 4);
}

static int feed(struct agent *agent, hf_source source, void *data, hf_error **reterr)
{
    _cleanup_free_ char *piece = malloc(4 + CHUNK);
    if (!piece)
        return hf__error(reterr, HF_E_NO_SPACE, "out of memory");
    for (;;) {
        ssize_t size = source(data, piece + 4, CHUNK);
        if (size < 0 || size > (ssize_t)CHUNK)
            return hf__error(reterr, HF_E_INVALID, "stopped by the caller; nothing was changed");
        /* An agent that takes no more has failed, and will say why. */
        if (!give_piece(agent, piece, (size_t)size) || size == 0)
            return 0;
    }
}

int hf_file_write(hf_box *box, const char *path, const hf_file_options *options, hf_source source,
                  void *data, hf_error **reterr)
{
    _cleanup_agent_ struct agent agent = {0};
    hf_file_options own = agent_options(options);
    char mode[16];
    snprintf(mode, sizeof mode, "%o", own.mode ? own.mode & 07777 : 0644);
    const char *flags = own.append ? (own.no_clobber ? "an" : "a") : own.no_clobber ? "n" : "-";
    const char *const words[] = {"write", path, mode, flags, NULL};
    int result = agent_start(box, own.user, words, true, &agent, reterr);
    if (result == 0)
        result = feed(&agent, source, data, reterr);
    return result < 0 ? result : agent_end(&agent, path, reterr);
}

/* ---- the rest ------------------------------------------------------------------------------- */

int hf_file_mkdir(hf_box *box, const char *path, const hf_file_options *options, hf_error **reterr)
{
    hf_file_options own = agent_options(options);
    char mode[16];
    snprintf(mode, sizeof mode, "%o", own.mode ? own.mode & 07777 : 0755);
    const char *const words[] = {"mkdir", path, mode, own.parents ? "p" : "-", NULL};
    return run(box, own.user, words, reterr);
}

int hf_file_move(hf_box *box, const char *from, const char *to, const hf_file_options *options,
                 hf_error **reterr)
{
    hf_file_options own = agent_options(options);
    const char *const words[] = {"move", from, to, own.no_clobber ? "n" : "-", NULL};
    return run(box, own.user, words, reterr);
}

int hf_file_remove(hf_box *box, const char *path, const hf_file_options *options, hf_error **reterr)
{
    hf_file_options own = agent_options(options);
    const char *const words[] = {"remove", path, own.recursive ? "r" : "-", NULL};
    return run(box, own.user, words, reterr);
}
