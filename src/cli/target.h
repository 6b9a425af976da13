/* SPDX-License-Identifier: Apache-2.0 */
/* What the verbs share that work on a living box and its jobs: BOX and JOB words, where to begin. */
#ifndef HF_CLI_TARGET_H
#define HF_CLI_TARGET_H

#include "cli/cli.h"

/* That there is a first word. 0 or an exit code. */
int check_box_word(const struct request *request);
/* That the words are BOX and one JOB; the job's number in *ret_id. */
int check_box_and_job(const struct request *request, uint32_t *ret_id);
/* A job's number: a plain positive one. 0 or an exit code. */
int parse_job(const struct request *request, const char *word, uint32_t *ret_id);

/* Opens the context and the box of the first word, reporting what fails. 0 or an exit code. */
int open_box(const struct request *request, hf_context **ret_context, hf_box **ret_box);
/* The same, of any box. */
int open_box_named(const struct request *request, const char *name, hf_context **ret_context,
                   hf_box **ret_box);

/* --from and --tail. */
extern const struct flag position_flags[];
int check_position_flags(const struct request *request);
hf_attach_options attach_options(const struct request *request, hf_attach_mode mode);
/* Says how many of the bytes that were asked for the box no longer has. */
void say_missing(const struct request *request, const hf_job *job);

#endif
