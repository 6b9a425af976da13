/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One loop over three descriptors: our stdin, the box, and a pipe that the signal handler fills.
 *
 * Output is written with blocking writes: a reader that is slow slows the job down, through the
 * window of the connection, and nothing is queued here. Input is read only when the job has room
 * for it, so a job that waits for its output to be read never meets us waiting for it to read.
 */
#include "cli/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "cli/output.h"

#define CHUNK 65536

static int signal_pipe[2] = {-1, -1};
static volatile sig_atomic_t interrupted;

struct pump {
    hf_job *job;
    const struct stream_options *options;
    bool stdin_open; /* ours, and the job still wants it */
    bool cancelled;
    bool broken[3]; /* a stream of ours that nobody reads any more */
    int status;
    char buffer[CHUNK];
};

static void on_signal(int number)
{
    int saved = errno;
    interrupted = number;
    /* Full means that the loop has been woken already. */
    ssize_t ignored = write(signal_pipe[1], "", 1);
    (void)ignored;
    errno = saved;
}

int stream_begin(void)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
    if (pipe2(signal_pipe, O_CLOEXEC | O_NONBLOCK) < 0)
        return failure(HF_E_SYSTEM, "cannot make a pipe: %s", strerror(errno));
    /* No SA_RESTART: a write to a reader that is stuck must come back. SA_RESETHAND: the second
     * signal ends this process at once, and the box ends the job when the connection closes. */
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        struct sigaction old;
        /* Ignored by whoever started us (nohup): so it stays. */
        if (sigaction(ends[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(ends[i], &action, NULL);
    }
    signal(SIGPIPE, SIG_IGN);
    return 0;
}

static void cancel(struct pump *pump)
{
    if (pump->cancelled)
        return;
    pump->cancelled = true;
    /* A job that cannot be told any more is over, or its box is: the loop will hear of it. */
    hf_job_cancel(pump->job, NULL);
}

/* --- output ----------------------------------------------------------------------------------- */

static void wait_writable(int fd)
{
    struct pollfd set = {.fd = fd, .events = POLLOUT};
    poll(&set, 1, -1);
}

static void write_out(struct pump *pump, int fd, const char *data, size_t size)
{
    while (size > 0 && !pump->broken[fd]) {
        ssize_t n = write(fd, data, size);
        if (n >= 0) {
            data += n;
            size -= (size_t)n;
        } else if (errno == EINTR) {
            if (interrupted)
                cancel(pump);
        } else if (errno == EAGAIN) {
            /* Somebody left the terminal or the pipe non-blocking. */
            wait_writable(fd);
        } else {
            pump->broken[fd] = true;
            if (errno == EPIPE) {
                pump->status = 128 + SIGPIPE;
            } else {
                say("cannot write the command's output: %s", strerror(errno));
                pump->status = EXIT_FAILED;
            }
            cancel(pump);
        }
    }
}

/* Takes in all that is there. 1 while the job runs, 0 once it is over, negative on failure. */
static int take_output(struct pump *pump, hf_error **reterr)
{
    if (pump->options->capture)
        return hf_job_collect(pump->job, 0, reterr);
    for (;;) {
        hf_stream stream = HF_STDOUT;
        hf_error *error = NULL;
        ssize_t n = hf_job_read(pump->job, &stream, pump->buffer, sizeof pump->buffer, 0, &error);
        if (n == 0)
            return 0;
        if (n < 0) {
            bool nothing = hf_error_code(error) == HF_E_TIMEOUT;
            if (nothing)
                hf_error_free(error);
            else
                *reterr = error;
            return nothing ? 1 : (int)n;
        }
        write_out(pump, stream == HF_STDERR ? STDERR_FILENO : STDOUT_FILENO, pump->buffer,
                  (size_t)n);
    }
}

/* --- input ------------------------------------------------------------------------------------ */

static void end_input(struct pump *pump)
{
    pump->stdin_open = false;
    hf_job_close_stdin(pump->job, NULL);
}

/* The job has room for `room` bytes, so writing them does not block. */
static void pass_input(struct pump *pump, size_t room)
{
    ssize_t n = read(STDIN_FILENO, pump->buffer, room < CHUNK ? room : CHUNK);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    /* A terminal that is gone (EIO) has no more to say than one at its end. */
    if (n <= 0) {
        end_input(pump);
        return;
    }
    for (ssize_t done = 0; done < n;) {
        ssize_t taken = hf_job_write(pump->job, pump->buffer + done, (size_t)(n - done), NULL);
        if (taken < 0) {
            /* The job does not read it; that is its business. */
            pump->stdin_open = false;
            return;
        }
        done += taken;
    }
}

/* --- the loop --------------------------------------------------------------------------------- */

static void wait_for_news(struct pump *pump)
{
    ssize_t room = pump->stdin_open ? hf_job_stdin_room(pump->job) : 0;
    if (room < 0)
        pump->stdin_open = false;
    struct pollfd set[3] = {
        {.fd = hf_job_poll_fd(pump->job), .events = POLLIN},
        {.fd = signal_pipe[0], .events = POLLIN},
        {.fd = room > 0 ? STDIN_FILENO : -1, .events = POLLIN},
    };
    if (poll(set, 3, -1) < 0)
        return; /* EINTR: the signal is in the pipe */
    if (set[1].revents) {
        char drain[16];
        ssize_t ignored = read(signal_pipe[0], drain, sizeof drain);
        (void)ignored;
        cancel(pump);
    }
    if (set[2].revents & POLLNVAL)
        end_input(pump);
    else if (set[2].revents)
        pass_input(pump, (size_t)room);
}

int stream_pump(hf_job *job, const struct stream_options *options)
{
    struct pump pump = {.job = job, .options = options, .stdin_open = options->interactive};
    for (;;) {
        CLEANUP(cleanup_error) hf_error *error = NULL;
        int r = take_output(&pump, &error);
        if (r < 0)
            return library_failure(error);
        if (r == 0)
            return pump.status;
        if (interrupted)
            cancel(&pump);
        wait_for_news(&pump);
    }
}
