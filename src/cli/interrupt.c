/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A flag alone would not do. Whoever looks at it and then reads may miss a signal in between, and a
 * box that is stuck calls nobody back. So the first signal also sets an alarm, and the alarm ends
 * the process. A box undoes what was not finished when its client is gone.
 */
#include "cli/interrupt.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t seen;
static unsigned patience_s;
static void (*last)(void);

static void leave(void)
{
    if (last)
        last();
    _exit(EXIT_INTERRUPTED);
}

static void on_alarm(int number)
{
    (void)number;
    leave();
}

static void on_signal(int number)
{
    (void)number;
    if (seen || patience_s == INTERRUPT_AT_ONCE)
        leave();
    seen = 1;
    alarm(patience_s);
}

void interrupt_begin(unsigned patience, void (*last_words)(void))
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
    patience_s = patience;
    last = last_words;
    /* No SA_RESTART: a read from a terminal must come back. */
    struct sigaction action = {.sa_handler = on_alarm};
    sigemptyset(&action.sa_mask);
    sigaction(SIGALRM, &action, NULL);
    action.sa_handler = on_signal;
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        struct sigaction old;
        /* Ignored by whoever started us (nohup): so it stays. */
        if (sigaction(ends[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(ends[i], &action, NULL);
    }
    signal(SIGPIPE, SIG_IGN);
}

bool interrupted(void)
{
    return seen != 0;
}
