/* SPDX-License-Identifier: Apache-2.0 */
/* What run and up share: the spec's last piece, and printing a plan instead of acting on it. */
#ifndef HF_CLI_PLAN_H
#define HF_CLI_PLAN_H

#include "cli/cli.h"

/* Puts the first word, if there is one, into the spec as its image. 0 or an exit code. */
int set_image(struct request *request);

/* --dry-run. */
int print_plan(const struct request *request, hf_context *context);

#endif
