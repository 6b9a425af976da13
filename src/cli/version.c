/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/output.h"

static int run(struct request *request)
{
    if (request->json)
        printf("{\"version\":\"%s\"}\n", hf_version());
    else
        printf("holdfast %s\n", hf_version());
    return EXIT_OK;
}

const struct verb verb_version = {
    .name = "version",
    .usage = "",
    .summary = "print the version",
    .examples = "holdfast version --json\n",
    .run = run,
};
