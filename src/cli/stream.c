/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One loop over three descriptors: our stdin, the box, and a pipe that the signal handlers fill.
 *
 * Output is written with blocking writes: a reader that is slow slows the job down, through the
 * window of the connection, and nothing is queued here. Input is read only when the job has room
 * for it, so a job that waits for its output to be read never meets us waiting for it to read.
 *
 * A job that is ours ends with us: signals and a stdout that is gone cancel it. One that we are only
 * attached to goes on.
 */
#include "cli/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "cli/output.h"
#include "cli/terminal.h"
#include "cli/units.h"

#define CHUNK TERMINAL_CHUNK
#define CTRL_C 3

static int signal_pipe[2] = {-1, -1};
static volatile sig_atomic_t interrupted;
static volatile sig_atomic_t resized, redraw;

struct pump {
    hf_job *job;
    const struct stream_options *options;
    struct detach keys;
    int64_t deadline; /* 0 for none */
    bool stdin_open;  /* ours, and the job still wants it */
    bool cancelled;
    bool broken[3]; /* a stream of ours that nobody reads any more */
    int status;
    int left; /* not 0: we leave the job, with this */
};

/* Not in the pump: most jobs never touch most of it, and a page that is not touched costs nothing. */
static char buffer[CHUNK];
static char typed[CHUNK + DETACH_MAX];

/* --- signals ---------------------------------------------------------------------------------- */

static void wake(void)
{
    /* Full means that the loop has been woken already. */
    ssize_t ignored = write(signal_pipe[1], "", 1);
    (void)ignored;
}

static void on_signal(int number)
{
    static volatile sig_atomic_t seen[NSIG];
    int saved = errno;
    if (seen[number]) {
        /* The second one ends this process at once, and the box ends the job when the connection
         * closes. */
        terminal_end();
        signal(number, SIG_DFL);
        raise(number);
    }
    seen[number] = 1;
    interrupted = number;
    wake();
    errno = saved;
}

static void on_terminal_change(bool lost)
{
    resized = 1;
    if (lost)
        redraw = 1;
    wake();
}

int stream_begin(void)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
    if (pipe2(signal_pipe, O_CLOEXEC | O_NONBLOCK) < 0)
        return failure(HF_E_SYSTEM, "cannot make a pipe: %s", strerror(errno));
    /* No SA_RESTART: a write to a reader that is stuck must come back. */
    struct sigaction action = {.sa_handler = on_signal};
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

/* We cannot or shall not go on: what is ours ends, what is not is left as it is. */
static void stop(struct pump *pump, int reason)
{
    if (pump->options->attached)
        pump->left = reason;
    else
        cancel(pump);
}

static void heed_signals(struct pump *pump)
{
    if (interrupted)
        stop(pump, STREAM_INTERRUPTED);
    if (!resized)
        return;
    unsigned rows, columns;
    bool lost = redraw;
    resized = redraw = 0;
    if (!terminal_size(&rows, &columns))
        return;
    /* A terminal whose size is the same tells its programs nothing; another size for a moment makes
     * them draw the picture anew. */
    if (lost)
        hf_job_resize(pump->job, rows + 1, columns, NULL);
    hf_job_resize(pump->job, rows, columns, NULL);
}

/* --- output ----------------------------------------------------------------------------------- */

static void wait_writable(int fd)
{
    struct pollfd set = {.fd = fd, .events = POLLOUT};
    poll(&set, 1, -1);
}

static void break_output(struct pump *pump, int fd, int error)
{
    pump->broken[fd] = true;
    if (error == EPIPE) {
        pump->status = 128 + SIGPIPE;
    } else {
        terminal_end(); /* words need lines */
        say("cannot write the command's output: %s", strerror(error));
        pump->status = EXIT_FAILED;
    }
    stop(pump, pump->status);
}

static void write_out(struct pump *pump, int fd, const char *data, size_t size)
{
    while (size > 0 && !pump->broken[fd] && !pump->left) {
        ssize_t n = write(fd, data, size);
        if (n >= 0) {
            data += n;
            size -= (size_t)n;
        } else if (errno == EINTR) {
            heed_signals(pump);
        } else if (errno == EAGAIN) {
            /* Somebody left the terminal or the pipe non-blocking. */
            wait_writable(fd);
        } else {
            break_output(pump, fd, errno);
        }
    }
}

/* Takes in all that is there. 1 while the job runs, 0 once it is over, negative on failure. */
static int take_output(struct pump *pump, hf_error **reterr)
{
    if (pump->options->capture)
        return hf_job_collect(pump->job, 0, reterr);
    while (!pump->left) {
        hf_stream stream = HF_STDOUT;
        hf_error *error = NULL;
        ssize_t n = hf_job_read(pump->job, &stream, buffer, sizeof buffer, 0, &error);
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
        size_t size = (size_t)n;
        const char *data = terminal_pass(buffer, &size);
        write_out(pump, stream == HF_STDERR ? STDERR_FILENO : STDOUT_FILENO, data, size);
    }
    return 1;
}

/* --- input ------------------------------------------------------------------------------------ */

static void end_input(struct pump *pump)
{
    pump->stdin_open = false;
    /* A raw terminal has no end; it is gone, and so is whoever sat there. */
    if (pump->options->terminal)
        stop(pump, STREAM_INTERRUPTED);
    /* The job's terminal is not closed by an input that ends: others may type. */
    else if (!hf_job_has_tty(pump->job))
        hf_job_close_stdin(pump->job, NULL);
}

static void send_input(struct pump *pump, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t taken = hf_job_write(pump->job, data, size, NULL);
        if (taken < 0) {
            /* The job does not read it; that is its business. */
            pump->stdin_open = false;
            return;
        }
        data += taken;
        size -= (size_t)taken;
    }
}

/* In front of a raw terminal nobody else hears Ctrl-C. */
static void watch_keys(struct pump *pump, size_t size)
{
    size_t passed;
    if (memchr(buffer, CTRL_C, size))
        pump->left = STREAM_INTERRUPTED;
    else if (pump->keys.count > 0 && detach_feed(&pump->keys, buffer, size, typed, &passed))
        pump->left = STREAM_LEFT;
}

/* The job has room for `room` bytes, so writing them does not block. */
static void pass_input(struct pump *pump, size_t room)
{
    ssize_t n = read(STDIN_FILENO, buffer, room < CHUNK ? room : CHUNK);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    /* A terminal that is gone (EIO) has no more to say than one at its end. */
    if (n <= 0) {
        end_input(pump);
        return;
    }
    size_t size = (size_t)n;
    if (pump->options->watching) {
        watch_keys(pump, size);
        return;
    }
    if (pump->keys.count == 0) {
        send_input(pump, buffer, size);
        return;
    }
    if (detach_feed(&pump->keys, buffer, size, typed, &size))
        pump->left = STREAM_LEFT;
    send_input(pump, typed, size);
}

/* How much may be read of our input now; what is held back of it needs room as well. */
static size_t input_room(struct pump *pump)
{
    if (pump->options->watching)
        return pump->stdin_open ? CHUNK : 0;
    ssize_t room = pump->stdin_open ? hf_job_stdin_room(pump->job) : 0;
    if (room < 0)
        pump->stdin_open = false;
    return room > (ssize_t)pump->keys.matched ? (size_t)room - pump->keys.matched : 0;
}

/* --- the loop --------------------------------------------------------------------------------- */

/* Until our deadline or the library's, for poll(); longer ones in pieces. */
static int time_left(const struct pump *pump)
{
    int most = hf_job_poll_timeout(pump->job);
    if (pump->deadline == 0)
        return most;
    int64_t left = pump->deadline - now_ms();
    if (most < 0 || most > left)
        most = left < 0 ? 0 : left > 3600000 ? 3600000 : (int)left;
    return most;
}

static void wait_for_news(struct pump *pump)
{
    size_t room = input_room(pump);
    struct pollfd set[3] = {
        {.fd = hf_job_poll_fd(pump->job), .events = POLLIN},
        {.fd = signal_pipe[0], .events = POLLIN},
        {.fd = room > 0 ? STDIN_FILENO : -1, .events = POLLIN},
    };
    int ready = poll(set, 3, time_left(pump));
    if (ready < 0)
        return; /* EINTR: the signal is in the pipe */
    if (ready == 0 && pump->deadline && now_ms() >= pump->deadline)
        pump->left = STREAM_TIMED_OUT;
    if (set[1].revents) {
        char drain[16];
        ssize_t ignored = read(signal_pipe[0], drain, sizeof drain);
        (void)ignored;
    }
    if (set[2].revents & POLLNVAL)
        end_input(pump);
    else if (set[2].revents)
        pass_input(pump, room);
}

static int loop(struct pump *pump)
{
    for (;;) {
        CLEANUP(cleanup_error) hf_error *error = NULL;
        int r = take_output(pump, &error);
        if (r < 0) {
            terminal_end();
            return library_failure(error);
        }
        if (r == 0)
            return pump->status;
        heed_signals(pump);
        if (pump->left)
            return pump->left;
        wait_for_news(pump);
    }
}

int stream_pump(hf_job *job, const struct stream_options *options)
{
    struct pump pump = {
        .job = job,
        .options = options,
        .keys = options->keys,
        .stdin_open = options->interactive,
        .deadline = options->timeout_ms > 0 ? now_ms() + options->timeout_ms : 0,
    };
    if (options->terminal) {
        int status = terminal_begin(on_terminal_change);
        if (status != 0) {
            stop(&pump, status);
            return status;
        }
        /* The size may have changed since the job was told, or was never told. */
        on_terminal_change(options->attached);
    }
    int status = loop(&pump);
    terminal_end();
    return status;
}
