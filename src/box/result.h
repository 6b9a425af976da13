/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HF_BOX_RESULT_H
#define HF_BOX_RESULT_H

#include <holdfast.h>

struct hf_result {
    hf_outcome outcome;
    int code;   /* exit status, or 125 to 127 for NOT_STARTED */
    int signal; /* what ended the main process, or 0 */
    char *reason;
    char *text[2];
    size_t size[2];
    uint64_t total[2], input;
    bool truncated;
    uint64_t wall_ns, cpu_ns, max_rss;
    uint32_t job;
    char *box;
};

#endif
