/* SPDX-License-Identifier: Apache-2.0 */
/* One line on a terminal that tells how far a copy is. Nothing at all where there is no terminal. */
#ifndef HF_CLI_PROGRESS_H
#define HF_CLI_PROGRESS_H

#include "cli/cli.h"

/* Takes stderr if it is a terminal and `wanted`. */
void progress_begin(bool wanted);
/* As of hf_copy_options; draws at most ten times a second. Stops the copy after a signal. */
int progress_show(void *data, const hf_copy_progress *progress);
/* Takes the line away; words may follow. Safe in a signal handler. */
void progress_end(void);

/* "12M of 40M, 3 files, 5.2M/s, 12.0s left: path", `columns` wide at most. NULL without memory. */
char *progress_text(const hf_copy_progress *progress, int64_t elapsed_ms, size_t columns);

#endif
