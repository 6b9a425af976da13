/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HF_BOX_COPY_H
#define HF_BOX_COPY_H

#include "box/agent.h"
#include "files/answer.h"

/* One copy under way: the agent at the box's end of it. */
struct copying {
    hf_copy_options options;
    hf_copy_progress progress;
    struct agent agent;
    bool stopped; /* by the caller's callback */
    bool refused; /* the box takes no more; it will say why */
};

static inline void copying_cleanup(struct copying *copying)
{
    agent_close(&copying->agent);
}
#define _cleanup_copying_ __attribute__((cleanup(copying_cleanup)))

hf_copy_options copy_options(const hf_copy_options *options);
char *copy_name(const char *path);

/* Fills what the caller has room for; NULL is nobody. */
void copy_report(const struct files_done *done, hf_copy_result *ret_result);

/* The box receives: open, copy_give() the stream, close. `tops`: it brings its own names. */
int copy_open_receiver(struct copying *copying, hf_box *box, const char *path, const char *name,
                       bool tops, hf_error **reterr);
/* 0, or -1 when the receiver is gone; `data` is the copying. */
int copy_give(void *data, const void *bytes, size_t size);
int copy_close_receiver(struct copying *copying, const char *path, hf_copy_result *ret_result,
                        hf_error **reterr);

/* The box sends; what it prints is the stream. */
int copy_open_sender(struct copying *copying, hf_box *box, const char *path, hf_error **reterr);

/* Single files, going on where an earlier copy stopped. 1: it is none (out only). */
int copy_resume_in(hf_box *box, const char *host_path, const char *box_path,
                   struct copying *copying, hf_copy_result *ret_result, hf_error **reterr);
int copy_resume_out(hf_box *box, const char *box_path, int dir, const char *name,
                    struct copying *copying, hf_copy_result *ret_result, hf_error **reterr);

#endif
