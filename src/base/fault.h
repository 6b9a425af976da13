/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fault points: named places where a test build can be told to die, so that the crash tests reach
 * every step of create, job and destroy. HOLDFAST_FAULT=NAME kills the process that gets there.
 * In a release build they are nothing at all.
 */
#ifndef HF_BASE_FAULT_H
#define HF_BASE_FAULT_H

#include <stdbool.h>
#include <stddef.h>

#define HF_FAULT_VARIABLE 128

#ifdef HF_FAULTS
/* Dies if this is the fault that was asked for. */
void hf__fault(const char *name);
#define HF_FAULT(name) hf__fault(name)
/* True if it was asked for: for faults that are not a death. */
bool hf__fault_is(const char *name);
/* "HOLDFAST_FAULT=..." for the environment of the next program, or NULL. */
char *hf__fault_variable(char buffer[static HF_FAULT_VARIABLE]);
#else
#define HF_FAULT(name) ((void)0)
static inline bool hf__fault_is(const char *name)
{
    (void)name;
    return false;
}
static inline char *hf__fault_variable(char buffer[static HF_FAULT_VARIABLE])
{
    (void)buffer;
    return NULL;
}
#endif

#endif
