/* SPDX-License-Identifier: Apache-2.0 */
/* Scripts in place of a command: -c and --script. */
#ifndef HF_CLI_SCRIPT_H
#define HF_CLI_SCRIPT_H

#include "cli/cli.h"

/* Reads the script that the request names and puts it into its job, with its words. 0 or an exit
 * code. */
int load_script(struct request *request);

#endif
