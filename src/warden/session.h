/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions: shell state carried from job to job. The state is a text that a shell has written and a
 * shell reads, in a sealed memory file that has no name in the box; the warden only looks whether it
 * is whole. A job gets the state there is when it starts, and a fresh file for the state it leaves;
 * when its main process is gone that file replaces the former one, if the shell came to the end of
 * writing it. So a state is never torn, whatever runs at the same time or is killed.
 *
 * A session belongs to the user that its jobs run as, by the name that was asked for: variables of
 * one user are no business of another.
 */
#ifndef HF_WARDEN_SESSION_H
#define HF_WARDEN_SESSION_H

#include <stdbool.h>

#include "wire/message.h"

struct session;

/* Finds or makes it. NULL with errno (ENOSPC: there are too many). */
struct session *session_get(const char *name, const char *user);
/* The state to start with, or -1 if this is its first job. Owned by the session. */
int session_state(const struct session *session);
/* A new file for a job to leave its state in, or -1. */
int session_new_state(void);
/* Takes the file that a job has left. */
void session_commit(struct session *session, int fd);
/* A job holds the session as long as it may leave a state. */
void session_hold(struct session *session);
void session_release(struct session *session);
/* Drops the state of that name, of all users. */
void session_forget(const char *name);
/* One after the other; NULL for the first. Returns NULL past the last. */
const struct session *session_next(const struct session *session);
void session_describe(const struct session *session, struct hf_msg_session *ret);

/* The text that the shell of a session job reads first, as a memory file, or -1. */
int session_text(int shell);

#endif
