/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fault.h"

#ifdef HF_FAULTS
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool hf__fault_is(const char *name)
{
    const char *wanted = getenv("HOLDFAST_FAULT");
    return wanted && strcmp(wanted, name) == 0;
}

void hf__fault(const char *name)
{
    if (!hf__fault_is(name))
        return;
    /* A PID 1 cannot be killed from inside its own namespace, not even by itself. */
    kill(getpid(), SIGKILL);
    _exit(137);
}

char *hf__fault_variable(char buffer[static HF_FAULT_VARIABLE])
{
    const char *wanted = getenv("HOLDFAST_FAULT");
    if (!wanted)
        return NULL;
    snprintf(buffer, HF_FAULT_VARIABLE, "HOLDFAST_FAULT=%s", wanted);
    return buffer;
}
#else
/* ISO C wants something in every file. */
typedef int hf__no_faults;
#endif
