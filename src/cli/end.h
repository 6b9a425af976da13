/* SPDX-License-Identifier: Apache-2.0 */
/* What stop, rm, kill and mkdir share: the same call for many things, going on after a failure. */
#ifndef HF_CLI_END_H
#define HF_CLI_END_H

#include "cli/cli.h"

/* Ends the one with that name; negative with an error. `subject` is what the verb works on. */
typedef int (*end_fn)(void *subject, const struct request *request, const char *name,
                      hf_error **reterr);

/*
 * Calls `end` for each name, in order, and prints the names of those that ended unless
 * request->quiet; with --json {"<done>":[names],"failed":[{"name","code","message"}]}, with a "kind"
 * where a file is to blame. EXIT_FAILED if one of them failed, EXIT_FILE if only files were to blame.
 */
int end_each(void *subject, const struct request *request, const char *const *names, size_t count,
             const char *done, end_fn end);

#endif
