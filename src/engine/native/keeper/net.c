/* SPDX-License-Identifier: Apache-2.0 */
/* The network of a box without one: a loopback interface, up. */
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "engine/native/keeper/keeper.h"

int net_loopback(struct making *making, const struct plan_op *op, hf_error **reterr)
{
    struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
    (void)making;
    (void)op;
    _cleanup_close_ int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &request) < 0)
        return hf__error_sys(reterr, "cannot bring the loopback interface up");
    return 0;
}
