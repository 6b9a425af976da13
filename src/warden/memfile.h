/* SPDX-License-Identifier: Apache-2.0 */
/* Files in memory, without a name: scripts and session states on their way to a shell. */
#ifndef HF_WARDEN_MEMFILE_H
#define HF_WARDEN_MEMFILE_H

#include <stdbool.h>
#include <stddef.h>

/* An empty one that can be sealed, or -1. */
int memfile_new(const char *name);
/* One with these bytes at its beginning, or -1. */
int memfile_with(const char *name, const void *data, size_t size);
/* From here on nobody changes it, whoever has it open. */
bool memfile_seal(int fd);

#endif
