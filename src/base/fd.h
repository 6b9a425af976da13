/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors: whole reads and writes, small files, descriptors passed between processes. */
#ifndef HF_BASE_FD_H
#define HF_BASE_FD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"

/* All of it, through EINTR and short writes; blocking descriptors only. 0, or -1 with errno. */
int hf__write_all(int fd, const void *data, size_t size);
/* Exactly `size` bytes; -1 with errno, EPIPE where the other side ended early. */
int hf__read_exact(int fd, void *data, size_t size);

/* A small file, read whole, NUL-terminated in *ret_data (caller frees). Fails with EFBIG past
 * `max`, so that a file an attacker may grow never fills memory. */
int hf__read_fd(int fd, size_t max, char **ret_data, size_t *ret_size);
int hf__read_file_at(int dir, const char *name, size_t max, char **ret_data, size_t *ret_size);

/* For kernel files (cgroup, sysctl, uid_map): one write(2), no O_CREAT, no O_TRUNC. */
int hf__write_kernel_file_at(int dir, const char *name, const char *text);

/* A sealed anonymous file with this content: nobody can ever change what it says. */
int hf__sealed_memfd(const char *name, const void *data, size_t size, unsigned flags);

/* Sends and receives descriptors with `size` bytes (at least one) over a unix socket. Receiving
 * takes at most `*count`; unexpected ones are closed and make it fail with EBADMSG. */
#define HF_MAX_FDS 64
int hf__send_fds(int socket, const void *data, size_t size, const int *fds, size_t count);
ssize_t hf__recv_fds(int socket, void *data, size_t size, int *fds, size_t *count);

int hf__set_nonblocking(int fd);
int hf__pidfd_open(pid_t pid);
int hf__pidfd_signal(int pidfd, int signal);

#endif
