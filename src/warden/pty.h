/* SPDX-License-Identifier: Apache-2.0 */
/* Terminals of the box's own devpts; the caller's terminal never comes near a box. */
#ifndef HF_WARDEN_PTY_H
#define HF_WARDEN_PTY_H

#include <stdbool.h>
#include <stdint.h>

/* Both ends of a new terminal, close-on-exec. */
bool pty_open(uint32_t rows, uint32_t columns, int *ret_master, int *ret_slave);
void pty_resize(int master, uint32_t rows, uint32_t columns);

#endif
