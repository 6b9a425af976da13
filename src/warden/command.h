/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is executed for a job: its own words, or a shell that reads a script from a descriptor. The
 * script never stands in an argument, where it would have a size limit and every process of the box
 * could read it.
 */
#ifndef HF_WARDEN_COMMAND_H
#define HF_WARDEN_COMMAND_H

#include <stdbool.h>

#include "wire/message.h"

struct command_files {
    int script;           /* -1 for none */
    int state, new_state; /* of a session; new_state is -1 without one */
    int texts[2];         /* for a session's bash and sh */
};

struct command {
    char **tries[2];  /* argument vectors: the second one if the first program is not there */
    bool shell;       /* it is a shell of our choice */
    bool interpreted; /* it is a script that names its interpreter */
    char *hints;      /* for the shell of a session, or NULL */
    struct command_files files;
    bool own_script; /* files.script was made here */
};

/* False when memory runs out. `start` must live as long. */
bool command_build(struct command *command, const struct hf_msg_start *start,
                   const struct command_files *files);
/* In the new process: the files go where the shell of that try looks for them. */
bool command_place_descriptors(const struct command *command, int try);
void command_finish(struct command *command);

#endif
