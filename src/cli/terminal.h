/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our terminal while a job with a terminal of its own is in front: raw, every byte goes through. Of
 * the box nothing but bytes ever reaches it. It is given back as it was however this process ends,
 * SIGKILL aside, and while it is stopped.
 */
#ifndef HF_CLI_TERMINAL_H
#define HF_CLI_TERMINAL_H

#include "cli/cli.h"

/* The size of our terminal, if standard output, input or error is one. */
bool terminal_size(unsigned *ret_rows, unsigned *ret_columns);

/* TERM of the environment if a box may see it, or NULL. */
const char *terminal_type(void);

/*
 * Makes standard input raw, once in a process. `changed` is called from a signal handler when the
 * size may be another one, and with `lost` when the picture is lost, too. 0 or an exit code.
 */
int terminal_begin(void (*changed)(bool lost));

/* Gives the terminal back; does nothing if it is not taken. Safe in a signal handler. */
void terminal_end(void);

/* What to write instead of these bytes of the job: the same, and what terminal_end() needs. At most
 * TERMINAL_CHUNK at a time; the result lives until the next call. */
#define TERMINAL_CHUNK 65536
const char *terminal_pass(const char *data, size_t *size);

#endif
