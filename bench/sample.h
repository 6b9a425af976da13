/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample.h - timing several subjects in turn.
 *
 * A machine is never equally busy twice. Whatever is compared is therefore measured in rounds: each
 * round runs every subject a few times, so that a slow second hits all of them. The first rounds
 * warm caches up and are thrown away.
 *
 * A series is a list of figures under a name; a subject is something done once or more per round
 * that adds figures to series. On any failure the program says why and exits with 1: a benchmark
 * that goes on after a failed call measures the failure.
 */
#ifndef BENCH_SAMPLE_H
#define BENCH_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* Where a series of processes begins on the command line: ::: NAME COUNT ARGV... */
#define SECTION ":::"

typedef struct series {
    const char *name;
    double *values;
    size_t count, room;
} series;

typedef struct subject {
    void (*once)(void *data);
    void *data;
    unsigned per_round;
    unsigned settle_ms; /* slept after its turn: daemons tidy up after they have answered */
} subject;

/* A whole process, from its start until it was waited for. */
typedef struct process {
    char **argv;
    char **env;
    series times;
} process;

__attribute__((noreturn, format(printf, 1, 2))) void die(const char *format, ...);

/* Nanoseconds of the monotonic clock. */
uint64_t now_ns(void);

/* Adds a figure, unless a warm-up is going on. */
void series_add(series *list, double value);

/* {"name":[figures],...} on `out`. */
void series_print(FILE *out, series *const *lists, size_t count);

void run_rounds(unsigned rounds, unsigned warmup, const subject *subjects, size_t count);

/*
 * Starts argv[0], found by PATH, with stdin and stderr as given or /dev/null where negative. The
 * descriptor `out` becomes its stdout. posix_spawn, so the size of this process does not matter.
 */
pid_t spawn(char *const argv[], char *const env[], int in, int out, int err);

/* Waits for it; anything but exit code 0 is fatal. */
void reap(pid_t pid, const char *name);

/* A subject: starts the process at `data`, waits for it, adds the time in ns. */
void process_once(void *data);

/*
 * Reads the sections of a command line into subjects and their series. `argv` is cut at the
 * separators. Returns how many there are; both arrays must have room for `room` of them.
 */
size_t parse_sections(char **argv, process *processes, subject *subjects, size_t room);

/* A number of at least 1, or death. */
unsigned parse_count(const char *text);

#endif
