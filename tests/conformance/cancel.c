/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hf_job_cancel() where nothing else would be allowed: in signal handlers, in the middle of whatever
 * the interrupted thread does, and in other threads. Prints how often each outcome came.
 *
 *      cancel handler|thread|storm ROUNDS
 */
#include <holdfast.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static hf_job *_Atomic current;
static atomic_bool stop;

static void die(const char *what, const hf_error *error)
{
    fprintf(stderr, "%s: %s\n", what, error ? hf_error_message(error) : "");
    exit(1);
}

static void on_alarm(int number)
{
    (void)number;
    hf_job *job = atomic_load(&current);
    if (job)
        hf_job_cancel(job, NULL);
}

/* A new alarm every few hundred microseconds, wherever the program is by then. */
static void start_alarms(long microseconds)
{
    struct sigaction action = {.sa_handler = on_alarm};
    struct itimerval timer = {{0, microseconds}, {0, microseconds}};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
}

static void *cancel_at_once(void *data)
{
    struct timespec pause = {0, 2000000};
    (void)data;
    nanosleep(&pause, NULL);
    hf_error *error = NULL;
    if (hf_job_cancel(atomic_load(&current), &error) < 0)
        die("cancel", error);
    return NULL;
}

static void *cancel_on(void *data)
{
    struct timespec pause = {0, 200000};
    (void)data;
    while (!atomic_load(&stop)) {
        /* The job is not closed while it is shown here. */
        hf_job *job = atomic_exchange(&current, NULL);
        if (job)
            hf_job_cancel(job, NULL);
        if (job)
            atomic_store(&current, job);
        nanosleep(&pause, NULL);
    }
    return NULL;
}

/* Takes the job back from whoever may be using it. */
static void hide(hf_job *job)
{
    hf_job *shown = job;
    while (!atomic_compare_exchange_weak(&current, &shown, NULL)) {
        shown = job;
        sched_yield();
    }
}

int main(int argc, char **argv)
{
    hf_context *context = NULL;
    hf_box *box = NULL;
    hf_error *error = NULL;
    unsigned counts[HF_LOST + 1] = {0};
    pthread_t thread;
    if (argc != 3)
        return 2;
    bool handler = strcmp(argv[1], "handler") == 0, storm = strcmp(argv[1], "storm") == 0;
    int rounds = (int)strtol(argv[2], NULL, 10);
    if (hf_open(NULL, &context, &error) < 0 ||
        hf_box_create(context, NULL, HF_BOX_EPHEMERAL, &box, &error) < 0)
        die("box", error);
    if (handler)
        start_alarms(700);
    if (storm)
        pthread_create(&thread, NULL, cancel_on, NULL);
    for (int i = 0; i < rounds; i++) {
        /* One that prints without end: the handler meets reading and granting as well as waiting. */
        const char *words[] = {"yes", NULL};
        hf_job_options options = {.size = sizeof options, .argv = words, .output_limit = 100};
        hf_job *job = NULL;
        hf_result *result = NULL;
        if (hf_job_start(box, &options, &job, &error) < 0)
            die("start", error);
        atomic_store(&current, job);
        if (!handler && !storm)
            pthread_create(&thread, NULL, cancel_at_once, NULL);
        if (hf_job_wait(job, &result, &error) < 0)
            die("wait", error);
        if (!handler && !storm)
            pthread_join(thread, NULL);
        counts[hf_result_outcome(result)]++;
        hide(job);
        hf_result_free(result);
        hf_job_close(job);
    }
    atomic_store(&stop, true);
    if (storm)
        pthread_join(thread, NULL);
    struct itimerval none = {0};
    setitimer(ITIMER_REAL, &none, NULL);
    for (int i = 0; i <= HF_LOST; i++)
        if (counts[i])
            printf("%s %u\n", hf_outcome_name((hf_outcome)i), counts[i]);
    hf_box_close(box);
    hf_close(context);
    return 0;
}
