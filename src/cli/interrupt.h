/* SPDX-License-Identifier: Apache-2.0 */
/* Ctrl-C, SIGTERM and SIGHUP while files are moved: exit code 130, and nothing left half done. */
#ifndef HF_CLI_INTERRUPT_H
#define HF_CLI_INTERRUPT_H

#include "cli/cli.h"

/* Where nothing has to be undone. */
#define INTERRUPT_AT_ONCE 0
/* Where the library is asked to stop, by a callback: how long it may take, in seconds. */
#define INTERRUPT_PATIENCE 2

/*
 * From here on a signal ends this process with 130: at once, or when `patience` is over and the
 * callbacks that look at interrupted() have not ended it before. A second signal does not wait.
 * `last_words`, if not NULL, is called before that, in a signal handler. A reader of ours that left
 * is an error code from now on, and no signal. Called after the box was opened.
 */
void interrupt_begin(unsigned patience, void (*last_words)(void));
bool interrupted(void);

#endif
