/* SPDX-License-Identifier: Apache-2.0 */
#include "sample.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SETTLE_MS 30

extern char **environ;

static bool warming;

void die(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    exit(1);
}

uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void series_add(series *list, double value)
{
    if (warming)
        return;
    if (list->count == list->room) {
        list->room = list->room ? list->room * 2 : 256;
        list->values = realloc(list->values, list->room * sizeof *list->values);
        if (!list->values)
            die("out of memory");
    }
    list->values[list->count++] = value;
}

void series_print(FILE *out, series *const *lists, size_t count)
{
    fputc('{', out);
    for (size_t i = 0; i < count; i++) {
        fprintf(out, "%s\"%s\":[", i ? "," : "", lists[i]->name);
        for (size_t j = 0; j < lists[i]->count; j++)
            fprintf(out, "%s%.0f", j ? "," : "", lists[i]->values[j]);
        fputc(']', out);
    }
    fputc('}', out);
}

void run_rounds(unsigned rounds, unsigned warmup, const subject *subjects, size_t count)
{
    for (unsigned round = 0; round < warmup + rounds; round++) {
        warming = round < warmup;
        for (size_t i = 0; i < count; i++) {
            for (unsigned turn = 0; turn < subjects[i].per_round; turn++)
                subjects[i].once(subjects[i].data);
            if (subjects[i].settle_ms)
                usleep(subjects[i].settle_ms * 1000);
        }
    }
    warming = false;
}

pid_t spawn(char *const argv[], char *const env[], int in, int out, int err)
{
    static int null_fd = -1;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    pid_t pid;

    if (null_fd < 0)
        null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in < 0 ? null_fd : in, 0);
    posix_spawn_file_actions_adddup2(&actions, out < 0 ? null_fd : out, 1);
    posix_spawn_file_actions_adddup2(&actions, err < 0 ? null_fd : err, 2);
    posix_spawnattr_init(&attributes);
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    int error = posix_spawnp(&pid, argv[0], &actions, &attributes, argv, env ? env : environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (error)
        die("cannot start %s: %s", argv[0], strerror(error));
    return pid;
}

void reap(pid_t pid, const char *name)
{
    int status;

    if (waitpid(pid, &status, 0) != pid)
        die("cannot wait for %s", name);
    if (!WIFEXITED(status))
        die("%s was killed by signal %d", name, WTERMSIG(status));
    if (WEXITSTATUS(status))
        die("%s failed with exit code %d", name, WEXITSTATUS(status));
}

void process_once(void *data)
{
    process *self = data;
    uint64_t begin = now_ns();

    reap(spawn(self->argv, self->env, -1, -1, STDERR_FILENO), self->times.name);
    series_add(&self->times, (double)(now_ns() - begin));
}

unsigned parse_count(const char *text)
{
    char *end;
    unsigned long value = text ? strtoul(text, &end, 10) : 0;

    if (!text || !*text || *end || value < 1 || value > 1000000)
        die("not a count: %s", text ? text : "(missing)");
    return (unsigned)value;
}

size_t parse_sections(char **argv, process *processes, subject *subjects, size_t room)
{
    size_t count = 0;

    while (*argv) {
        if (strcmp(*argv, SECTION) != 0 || !argv[1] || !argv[2] || !argv[3])
            die("expected %s NAME COUNT ARGV..., found %s", SECTION, *argv);
        if (count == room)
            die("too many sections");
        process *p = &processes[count];
        *p = (process){.times.name = argv[1], .argv = argv + 3};
        subjects[count] = (subject){process_once, p, parse_count(argv[2]), SETTLE_MS};
        count++;
        *argv = NULL; /* ends the argv of the section before */
        for (argv += 3; *argv && strcmp(*argv, SECTION) != 0; argv++)
            ;
    }
    return count;
}
