/* SPDX-License-Identifier: Apache-2.0 */
#include "warden/pty.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"

#ifndef TIOCGPTPEER
#define TIOCGPTPEER 0x5441
#endif

#define DEFAULT_ROWS 24
#define DEFAULT_COLUMNS 80

void pty_resize(int master, uint32_t rows, uint32_t columns)
{
    struct winsize size = {.ws_row = (unsigned short)(rows ? rows : DEFAULT_ROWS),
                           .ws_col = (unsigned short)(columns ? columns : DEFAULT_COLUMNS)};
    (void)ioctl(master, TIOCSWINSZ, &size);
}

/* The slave comes from the master itself: a path in the box may lead anywhere. For the same reason
 * the master must be what a terminal is: the kernel tells by the first request. */
bool pty_open(uint32_t rows, uint32_t columns, int *ret_master, int *ret_slave)
{
    int unlock = 0;
    _cleanup_close_ int master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    if (master < 0 || ioctl(master, TIOCSPTLCK, &unlock) < 0)
        return false;
    int slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (slave < 0)
        return false;
    pty_resize(master, rows, columns);
    *ret_slave = slave;
    *ret_master = master;
    master = -1;
    return true;
}
