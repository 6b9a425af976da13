/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file agent: what runs in a box when files are asked for. It is the main process of a job like
 * any other, with that user's rights, streams, time and end, only that it is a fork of the warden and
 * no program of the box: images without a shell have it, too, and nothing of the box is executed.
 *
 * Its words are an operation and its arguments; bytes go through stdin and stdout; a failure is one
 * frame on stderr and exit code 1 (files/answer.h).
 */
#ifndef HF_WARDEN_FILES_AGENT_H
#define HF_WARDEN_FILES_AGENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Relative paths start at `workdir`. */
_Noreturn void agent_main(char *const *words, const char *workdir);

/* ---- for the operations ---------------------------------------------------------------------- */

/* Tells why, with errno, and ends. */
_Noreturn void agent_fail(const char *path);
_Noreturn void agent_fail_with(int error, const char *path);
_Noreturn void agent_fail_kind(unsigned kind, int error, const char *path);
/* Ends well, after what it has to say on stdout. */
_Noreturn void agent_done(void);

/* Ends if nothing can be found by that path. For all paths but the first, which is checked. */
void agent_check(const char *path);

/* All of it to stdout; a reader that is gone ends the agent. */
void agent_put(const void *data, size_t size);

/* A directory of the path and the name in it; the path is cut in place. Ends where there is none. */
int agent_open_parent(char *path, const char **ret_name, bool make);

/* The operations; `words` are their arguments, as many as the table in agent.c says. */
void agent_stat(char *const *words);
void agent_list(char *const *words);
void agent_read(char *const *words);
void agent_write(char *const *words);
void agent_mkdir(char *const *words);
void agent_move(char *const *words);
void agent_remove(char *const *words);
void agent_send(char *const *words);
void agent_receive(char *const *words);
void agent_watch(char *const *words);
void agent_hash(char *const *words);
void agent_times(char *const *words);

#endif
