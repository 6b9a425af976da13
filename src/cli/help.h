/* SPDX-License-Identifier: Apache-2.0 */
/* Help texts, from the tables. */
#ifndef HF_CLI_HELP_H
#define HF_CLI_HELP_H

#include <stdio.h>

#include "cli/cli.h"

void print_overview(FILE *stream);
void print_verb_help(FILE *stream, const struct verb *verb);
/* The manual page in roff, all verbs in one. */
void print_man(FILE *stream);

#endif
