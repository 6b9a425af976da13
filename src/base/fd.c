/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fd.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/sys.h"

int hf__write_all(int fd, const void *data, size_t size)
{
    const char *at = data;
    while (size > 0) {
        ssize_t n = write(fd, at, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        at += n;
        size -= (size_t)n;
    }
    return 0;
}

int hf__read_exact(int fd, void *data, size_t size)
{
    char *at = data;
    while (size > 0) {
        ssize_t n = read(fd, at, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            if (n == 0)
                errno = EPIPE;
            return -1;
        }
        at += n;
        size -= (size_t)n;
    }
    return 0;
}

int hf__read_fd(int fd, size_t max, char **ret_data, size_t *ret_size)
{
    size_t capacity = 4096, size = 0;
    _cleanup_free_ char *data = malloc(capacity);
    if (!data)
        return -1;
    for (;;) {
        ssize_t n = read(fd, data + size, capacity - size - 1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        size += (size_t)n;
        if (size > max) {
            errno = EFBIG;
            return -1;
        }
        if (capacity - size < 2) {
            char *larger = realloc(data, capacity * 2);
            if (!larger)
                return -1;
            data = larger;
            capacity *= 2;
        }
    }
    data[size] = '\0';
    *ret_data = TAKE_PTR(data);
    if (ret_size)
        *ret_size = size;
    return 0;
}

int hf__read_file_at(int dir, const char *name, size_t max, char **ret_data, size_t *ret_size)
{
    _cleanup_close_ int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    return fd < 0 ? -1 : hf__read_fd(fd, max, ret_data, ret_size);
}

int hf__write_kernel_file_at(int dir, const char *name, const char *text)
{
    _cleanup_close_ int fd = openat(dir, name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return -1;
    ssize_t n;
    do
        n = write(fd, text, strlen(text));
    while (n < 0 && errno == EINTR);
    return n < 0 ? -1 : 0;
}

int hf__sealed_memfd(const char *name, const void *data, size_t size, unsigned flags)
{
    unsigned base = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    _cleanup_close_ int fd = memfd_create(name, base | flags);
    /* MFD_EXEC and MFD_NOEXEC_SEAL came with kernel 6.3; before it every memfd is executable. */
    if (fd < 0 && errno == EINVAL)
        fd = memfd_create(name, base);
    if (fd < 0 || hf__write_all(fd, data, size) < 0)
        return -1;
    if (fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
        return -1;
    if (lseek(fd, 0, SEEK_SET) < 0)
        return -1;
    return TAKE_FD(fd);
}

int hf__send_fds(int socket, const void *data, size_t size, const int *fds, size_t count)
{
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(HF_MAX_FDS * sizeof(int))];
    } control;
    struct iovec iov = {(void *)data, size};
    struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};
    if (count > HF_MAX_FDS) {
        errno = EINVAL;
        return -1;
    }
    if (count > 0) {
        memset(&control, 0, sizeof control);
        message.msg_control = control.space;
        message.msg_controllen = CMSG_SPACE(count * sizeof(int));
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(count * sizeof(int));
        memcpy(CMSG_DATA(header), fds, count * sizeof(int));
    }
    ssize_t n;
    do
        n = sendmsg(socket, &message, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    if (n >= 0 && (size_t)n < size)
        return hf__write_all(socket, (const char *)data + n, size - (size_t)n);
    return n < 0 ? -1 : 0;
}

ssize_t hf__recv_fds(int socket, void *data, size_t size, int *fds, size_t *count)
{
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(HF_MAX_FDS * sizeof(int))];
    } control;
    struct iovec iov = {data, size};
    struct msghdr message = {.msg_iov = &iov,
                             .msg_iovlen = 1,
                             .msg_control = control.space,
                             .msg_controllen = sizeof control.space};
    size_t wanted = *count, got = 0;
    bool refused = false;
    ssize_t n;
    do
        n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return -1;
    for (struct cmsghdr *h = CMSG_FIRSTHDR(&message); h; h = CMSG_NXTHDR(&message, h)) {
        if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS)
            continue;
        size_t here = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < here; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(h) + i * sizeof fd, sizeof fd);
            if (got < wanted) {
                fds[got++] = fd;
            } else {
                close(fd);
                refused = true;
            }
        }
    }
    if (refused || (message.msg_flags & MSG_CTRUNC)) {
        while (got > 0)
            close(fds[--got]);
        errno = EBADMSG;
        return -1;
    }
    *count = got;
    return n;
}

int hf__set_nonblocking(int fd)
{
    int flags = fcntl(fd, F_GETFL);
    return flags < 0 ? -1 : fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

int hf__pidfd_open(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

int hf__pidfd_signal(int pidfd, int signal)
{
    return (int)syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0);
}
