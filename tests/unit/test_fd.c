/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd.h"

static int count_fds(void)
{
    int count = 0;
    _cleanup_closedir_ DIR *dir = opendir("/proc/self/fd");
    assert_non_null(dir);
    while (readdir(dir))
        count++;
    return count;
}

static void make_pair(int pair[2])
{
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
}

static void test_read_write(void **state)
{
    int pipe_fds[2];
    char text[8] = "";
    assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
    assert_int_equal(hf__write_all(pipe_fds[1], "hello", 5), 0);
    assert_int_equal(hf__write_all(pipe_fds[1], "", 0), 0);
    assert_int_equal(hf__read_exact(pipe_fds[0], text, 2), 0);
    assert_string_equal(text, "he");
    close(pipe_fds[1]);
    /* The other side ended early. */
    assert_int_equal(hf__read_exact(pipe_fds[0], text, 4), -1);
    assert_int_equal(errno, EPIPE);
    close(pipe_fds[0]);
    assert_int_equal(hf__read_exact(-1, text, 1), -1);
    assert_int_equal(errno, EBADF);
}

/* More than a pipe holds, in pieces, with signals in between. */
static void on_alarm(int number)
{
    (void)number;
}

static void test_interrupted(void **state)
{
    enum { SIZE = 1 << 20 };
    int pipe_fds[2];
    assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        char *data = calloc(1, SIZE);
        close(pipe_fds[1]);
        for (int i = 0; i < 50; i++) {
            usleep(1000);
            kill(getppid(), SIGUSR1);
        }
        _exit(data && hf__read_exact(pipe_fds[0], data, SIZE) == 0 && data[SIZE - 1] == 'z' ? 0
                                                                                            : 1);
    }
    struct sigaction action = {.sa_handler = on_alarm}, old;
    sigaction(SIGUSR1, &action, &old);
    char *data = malloc(SIZE);
    assert_non_null(data);
    memset(data, 'z', SIZE);
    close(pipe_fds[0]);
    assert_int_equal(hf__write_all(pipe_fds[1], data, SIZE), 0);
    close(pipe_fds[1]);
    free(data);
    int status = 0;
    while (waitpid(pid, &status, 0) < 0)
        assert_int_equal(errno, EINTR);
    sigaction(SIGUSR1, &old, NULL);
    assert_int_equal(status, 0);
}

static void test_read_fd_ceiling(void **state)
{
    for (size_t size = 4090; size < 4100; size++) {
        char *data = calloc(1, size + 1), *text = NULL;
        size_t got = 0;
        assert_non_null(data);
        memset(data, 'x', size);
        _cleanup_close_ int fd = hf__sealed_memfd("t", data, size, 0);
        assert_true(fd >= 0);
        assert_int_equal(hf__read_fd(fd, size - 1, &text, &got), -1);
        assert_int_equal(errno, EFBIG);
        assert_null(text);
        assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
        assert_int_equal(hf__read_fd(fd, size, &text, &got), 0);
        assert_int_equal(got, size);
        assert_string_equal(text, data);
        free(text);
        free(data);
    }
    char *text = NULL;
    /* Endless: comes back all the same. */
    assert_int_equal(hf__read_file_at(AT_FDCWD, "/dev/zero", 100000, &text, NULL), -1);
    assert_int_equal(errno, EFBIG);
    assert_int_equal(hf__read_file_at(AT_FDCWD, "/nonexistent", 100, &text, NULL), -1);
    assert_int_equal(errno, ENOENT);
}

static void test_sealed(void **state)
{
    char text[4] = "";
    _cleanup_close_ int fd = hf__sealed_memfd("t", "abc", 3, 0);
    assert_true(fd >= 0);
    assert_int_equal(read(fd, text, 3), 3);
    assert_string_equal(text, "abc");
    assert_int_equal(pwrite(fd, "X", 1, 0), -1);
    assert_int_equal(errno, EPERM);
    assert_int_equal(ftruncate(fd, 0), -1);
    assert_int_equal(ftruncate(fd, 10), -1);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE), -1);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
}

static void test_pass_fds(void **state)
{
    int before = count_fds(), pair[2], got[4] = {-1, -1, -1, -1};
    char data[8] = "";
    size_t count = 4;
    make_pair(pair);
    int sent[2] = {pair[0], pair[1]};
    assert_int_equal(hf__send_fds(pair[0], "hi", 2, sent, 2), 0);
    assert_int_equal(hf__recv_fds(pair[1], data, sizeof data, got, &count), 2);
    assert_int_equal(count, 2);
    assert_string_equal(data, "hi");
    assert_true(fcntl(got[0], F_GETFD) & FD_CLOEXEC);
    assert_true(fcntl(got[1], F_GETFD) & FD_CLOEXEC);
    close(got[0]);
    close(got[1]);
    /* None at all. */
    assert_int_equal(hf__send_fds(pair[0], "x", 1, NULL, 0), 0);
    count = 4;
    assert_int_equal(hf__recv_fds(pair[1], data, sizeof data, got, &count), 1);
    assert_int_equal(count, 0);
    close(pair[0]);
    assert_int_equal(hf__recv_fds(pair[1], data, sizeof data, got, &count), 0);
    close(pair[1]);
    assert_int_equal(count_fds(), before);
}

/* Descriptors that nobody asked for are refused, and none of them stays open. */
static void test_extra_fds(void **state)
{
    int before = count_fds(), pair[2], got[4] = {-1, -1, -1, -1};
    int many[HF_MAX_FDS];
    char data[8];
    make_pair(pair);
    for (size_t i = 0; i < HF_MAX_FDS; i++)
        many[i] = pair[0];
    for (size_t wanted = 0; wanted < 4; wanted++) {
        size_t count = wanted;
        assert_int_equal(hf__send_fds(pair[0], "x", 1, many, wanted + 1), 0);
        assert_int_equal(hf__recv_fds(pair[1], data, sizeof data, got, &count), -1);
        assert_int_equal(errno, EBADMSG);
        assert_int_equal(count_fds(), before + 2);
    }
    size_t count = 4;
    assert_int_equal(hf__send_fds(pair[0], "x", 1, many, HF_MAX_FDS), 0);
    assert_int_equal(hf__recv_fds(pair[1], data, sizeof data, got, &count), -1);
    assert_int_equal(count_fds(), before + 2);
    assert_int_equal(hf__send_fds(pair[0], "x", 1, many, HF_MAX_FDS + 1), -1);
    close(pair[0]);
    close(pair[1]);
}

/* More than our control buffer holds: the kernel cuts, and the message is refused. */
static void test_cut_control_message(void **state)
{
    enum { MANY = 200 };
    int before = count_fds(), pair[2], got[HF_MAX_FDS];
    size_t count = HF_MAX_FDS;
    char data[8];
    static union {
        struct cmsghdr header;
        char space[CMSG_SPACE(MANY * sizeof(int))];
    } control;
    make_pair(pair);
    struct iovec iov = {data, 1};
    struct msghdr message = {.msg_iov = &iov,
                             .msg_iovlen = 1,
                             .msg_control = control.space,
                             .msg_controllen = sizeof control.space};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(MANY * sizeof(int));
    for (size_t i = 0; i < MANY; i++)
        memcpy(CMSG_DATA(header) + i * sizeof(int), &pair[0], sizeof(int));
    assert_int_equal(sendmsg(pair[0], &message, 0), 1);
    assert_int_equal(hf__recv_fds(pair[1], data, sizeof data, got, &count), -1);
    assert_int_equal(errno, EBADMSG);
    assert_int_equal(count_fds(), before + 2);
    close(pair[0]);
    close(pair[1]);
}

static void test_send_to_nobody(void **state)
{
    int pair[2];
    make_pair(pair);
    close(pair[1]);
    /* An error, not a signal. */
    assert_int_equal(hf__send_fds(pair[0], "x", 1, NULL, 0), -1);
    assert_int_equal(errno, EPIPE);
    close(pair[0]);
}

static void test_take(void **state)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int mine = TAKE_FD(fd);
    assert_int_equal(fd, -EBADF);
    assert_true(mine >= 0);
    errno = ENOTTY;
    {
        _cleanup_close_ int scoped = mine;
        _cleanup_close_ int none = -EBADF;
        assert_true(scoped >= 0);
        assert_true(none < 0);
    }
    assert_int_equal(errno, ENOTTY);
    assert_int_equal(fcntl(mine, F_GETFD), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read_write),
        cmocka_unit_test(test_interrupted),
        cmocka_unit_test(test_read_fd_ceiling),
        cmocka_unit_test(test_sealed),
        cmocka_unit_test(test_pass_fds),
        cmocka_unit_test(test_extra_fds),
        cmocka_unit_test(test_cut_control_message),
        cmocka_unit_test(test_send_to_nobody),
        cmocka_unit_test(test_take),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
