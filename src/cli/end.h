/* SPDX-License-Identifier: Apache-2.0 */
/* What stop and rm share: the same call for many boxes, going on after a failure. */
#ifndef HF_CLI_END_H
#define HF_CLI_END_H

#include "cli/cli.h"

/* Ends one box; negative with an error. */
typedef int (*end_fn)(hf_context *context, const struct request *request, const char *name,
                      hf_error **reterr);

/*
 * Calls `end` for each name and prints the names of those that ended; with --json
 * {"<done>":[names],"failed":[{"name","code","message"}]}. EXIT_FAILED if one of them failed.
 */
int end_boxes(hf_context *context, const struct request *request, const char *const *names,
              size_t count, const char *done, end_fn end);

#endif
