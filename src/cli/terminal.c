/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All ways out lead through terminal_end(): the normal one, exit(), a signal that kills, a signal
 * that stops. It touches only what is safe in a signal handler, and the state that it needs is
 * complete before the first change of the terminal.
 */
#include "cli/terminal.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "cli/modes.h"
#include "cli/output.h"

static struct termios usual, raw;
static volatile sig_atomic_t taken;
static volatile sig_atomic_t lent; /* given back for the time of a stop */
static void (*on_change)(bool lost);
/* Only where our output is a terminal, too. */
static bool tracking;
static struct modes modes;

bool terminal_size(unsigned *ret_rows, unsigned *ret_columns)
{
    static const int places[] = {STDOUT_FILENO, STDIN_FILENO, STDERR_FILENO};
    struct winsize size;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        if (ioctl(places[i], TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0) {
            *ret_rows = size.ws_row;
            *ret_columns = size.ws_col;
            return true;
        }
    }
    return false;
}

/* The names that terminfo has; anything else would be a variable chosen by a stranger. */
const char *terminal_type(void)
{
    const char *type = getenv("TERM");
    size_t size = type ? strlen(type) : 0;
    if (size == 0 || size > 64)
        return NULL;
    for (size_t i = 0; i < size; i++)
        if (!isalnum((unsigned char)type[i]) && !strchr("+-._", type[i]))
            return NULL;
    return type;
}

/* --- giving it back --------------------------------------------------------------------------- */

/* A process in the background that changes the terminal is stopped; and it is not ours then. */
static bool in_background(void)
{
    pid_t front = tcgetpgrp(STDIN_FILENO);
    return front > 0 && front != getpgrp();
}

static void write_sequence(const char *sequence, size_t size)
{
    /* Nobody can be told that it failed. */
    ssize_t ignored = size > 0 ? write(STDOUT_FILENO, sequence, size) : 0;
    (void)ignored;
}

static bool give_back(void)
{
    char sequence[MODES_SEQUENCE];
    if (in_background())
        return false;
    if (tracking)
        write_sequence(sequence, modes_off(&modes, sequence));
    tcsetattr(STDIN_FILENO, TCSANOW, &usual);
    return true;
}

void terminal_end(void)
{
    int saved = errno;
    if (taken) {
        taken = 0;
        (void)give_back();
    }
    errno = saved;
}

/* After a stop. In the background tcsetattr() stops us again, until we are in front. */
static void take_again(void)
{
    char sequence[MODES_SEQUENCE];
    while (tcsetattr(STDIN_FILENO, TCSANOW, &raw) < 0 && errno == EINTR)
        ;
    if (tracking && lent)
        write_sequence(sequence, modes_on(&modes, sequence));
    lent = 0;
}

/* --- signals ---------------------------------------------------------------------------------- */

static void on_resize(int number)
{
    int saved = errno;
    (void)number;
    on_change(false);
    errno = saved;
}

/* What stopped us may have been SIGSTOP, of which nobody was told; a shell has used the terminal
 * since then. */
static void on_continue(int number)
{
    int saved = errno;
    (void)number;
    if (taken) {
        take_again();
        on_change(true);
    }
    errno = saved;
}

static void on_death(int number)
{
    terminal_end();
    /* Blocked until we return; then it does what it would have done. */
    signal(number, SIG_DFL);
    raise(number);
}

static void handle(int number, void (*handler)(int), int flags)
{
    struct sigaction old, action = {.sa_handler = handler, .sa_flags = flags};
    sigemptyset(&action.sa_mask);
    /* Ignored by whoever started us: so it stays. */
    if (sigaction(number, NULL, &old) == 0 && old.sa_handler != SIG_IGN)
        sigaction(number, &action, NULL);
}

/* Ctrl-Z is a byte for the box; this one comes from outside. */
static void on_stop(int number)
{
    int saved = errno;
    sigset_t set;
    lent = taken && give_back();
    signal(number, SIG_DFL);
    raise(number);
    sigemptyset(&set);
    sigaddset(&set, number);
    sigprocmask(SIG_UNBLOCK, &set, NULL); /* here we stand still */
    sigprocmask(SIG_BLOCK, &set, NULL);
    handle(number, on_stop, SA_RESTART);
    /* Where nobody could continue us the kernel does not stop us, and no SIGCONT comes either. */
    on_continue(number);
    errno = saved;
}

static void handle_signals(void)
{
    /* All that kill unless handled; SIGINT, SIGTERM and SIGHUP end the job first (stream.c). */
    static const int deadly[] = {SIGQUIT,   SIGILL,  SIGTRAP, SIGABRT, SIGBUS,   SIGFPE,
                                 SIGSEGV,   SIGSYS,  SIGXCPU, SIGUSR1, SIGUSR2,  SIGALRM,
                                 SIGVTALRM, SIGPROF, SIGIO,   SIGPWR,  SIGSTKFLT};
    for (size_t i = 0; i < sizeof deadly / sizeof deadly[0]; i++)
        handle(deadly[i], on_death, 0);
    handle(SIGTSTP, on_stop, SA_RESTART);
    handle(SIGCONT, on_continue, SA_RESTART);
    handle(SIGWINCH, on_resize, SA_RESTART);
}

/* --- taking it -------------------------------------------------------------------------------- */

int terminal_begin(void (*changed)(bool lost))
{
    if (tcgetattr(STDIN_FILENO, &usual) < 0)
        return failure(HF_E_SYSTEM, "cannot ask standard input about its terminal: %s",
                       strerror(errno));
    raw = usual;
    cfmakeraw(&raw);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    on_change = changed;
    tracking = isatty(STDOUT_FILENO);
    handle_signals();
    atexit(terminal_end);
    taken = 1;
    int r;
    while ((r = tcsetattr(STDIN_FILENO, TCSANOW, &raw)) < 0 && errno == EINTR)
        ;
    if (r == 0)
        return 0;
    int error = errno;
    terminal_end();
    return failure(HF_E_SYSTEM, "cannot make the terminal raw: %s", strerror(error));
}

const char *terminal_pass(const char *data, size_t *size)
{
    static char passed[TERMINAL_CHUNK + MODES_ROOM];
    if (!taken || !tracking || *size > TERMINAL_CHUNK)
        return data;
    *size = modes_pass(&modes, data, *size, passed);
    return passed;
}
