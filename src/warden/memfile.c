/* SPDX-License-Identifier: Apache-2.0 */
#include "warden/memfile.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/sys.h"

/* Executable, for scripts that name their interpreter: kernels may be set to make memory files that
 * are not, and older ones do not know the flag. */
int memfile_new(const char *name)
{
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);
    if (fd < 0 && errno == EINVAL)
        fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    return fd;
}

int memfile_with(const char *name, const void *data, size_t size)
{
    int fd = memfile_new(name);
    if (fd >= 0 && hf__write_all(fd, data, size) == 0 && lseek(fd, 0, SEEK_SET) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

bool memfile_seal(int fd)
{
    return fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0;
}
