/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host's end of the file agent: one operation is one job in the box. What it prints is its
 * answer, what it says on stderr is how it failed; neither is trusted.
 */
#ifndef HF_BOX_AGENT_H
#define HF_BOX_AGENT_H

#include "box/box.h"
#include "box/job.h"

struct agent {
    struct hf_job *job;
    struct hf_buf errors; /* of its stderr, bounded */
};

/* What the caller of another version has of them; NULL is none. */
hf_file_options agent_options(const hf_file_options *options);

/* `words` end with NULL. */
int agent_start(struct hf_box *box, const char *user, const char *const *words, bool with_stdin,
                struct agent *ret_agent, hf_error **reterr);

/* Takes what the agent prints; negative with an error set to stop, 1 to stop for now. */
typedef int (*agent_output)(void *data, const void *bytes, size_t size, hf_error **reterr);

/* Until it has printed all, or for what is there now (`wait` false). 1: there is more to come. */
int agent_take(struct agent *agent, bool wait, agent_output output, void *data, hf_error **reterr);

/* An output that gathers all in a struct hf_buf, up to its ceiling. */
int agent_keep(void *data, const void *bytes, size_t size, hf_error **reterr);

/* Gives it bytes. An agent that is gone is no error here: agent_end() tells why. False then. */
bool agent_give(struct agent *agent, const void *bytes, size_t size);

/* Waits for its end; `path` stands in the error. It is closed by agent_close(). */
int agent_end(struct agent *agent, const char *path, hf_error **reterr);
/* An agent that has not ended is ended now, with nothing changed by it that was not complete. */
void agent_close(struct agent *agent);

static inline void agent_cleanup(struct agent *agent)
{
    agent_close(agent);
}
#define _cleanup_agent_ __attribute__((cleanup(agent_cleanup)))

#endif
