/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scope-bound cleanup. A resource is released where its scope ends unless it was handed on with
 * TAKE_*; cleanup never changes errno.
 */
#ifndef HF_BASE_CLEANUP_H
#define HF_BASE_CLEANUP_H

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define CLEANUP(fn) __attribute__((cleanup(fn)))

static inline void hf__cleanup_free(void *p)
{
    int saved = errno;
    free(*(void **)p);
    errno = saved;
}

static inline void hf__cleanup_close(int *fd)
{
    int saved = errno;
    if (*fd >= 0)
        close(*fd);
    errno = saved;
}

static inline void hf__cleanup_closedir(DIR **dir)
{
    int saved = errno;
    if (*dir)
        closedir(*dir);
    errno = saved;
}

#define _cleanup_free_ CLEANUP(hf__cleanup_free)
#define _cleanup_close_ CLEANUP(hf__cleanup_close)
#define _cleanup_closedir_ CLEANUP(hf__cleanup_closedir)

#define TAKE_FD(fd)                                                                                \
    ({                                                                                             \
        int *take_from = &(fd);                                                                    \
        int taken = *take_from;                                                                    \
        *take_from = -EBADF;                                                                       \
        taken;                                                                                     \
    })

#define TAKE_PTR(p)                                                                                \
    ({                                                                                             \
        __typeof__(p) *take_from = &(p);                                                           \
        __typeof__(p) taken = *take_from;                                                          \
        *take_from = NULL;                                                                         \
        taken;                                                                                     \
    })

#endif
