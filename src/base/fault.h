/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fault points: named places where a test build can be told to die, so that the crash tests reach
 * every step of create, job and destroy. HOLDFAST_FAULT=NAME kills the process that gets there.
 * In a release build they are nothing at all.
 */
#ifndef HF_BASE_FAULT_H
#define HF_BASE_FAULT_H

#ifdef HF_FAULTS
void hf__fault(const char *name);
#define HF_FAULT(name) hf__fault(name)
#else
#define HF_FAULT(name) ((void)0)
#endif

#endif
