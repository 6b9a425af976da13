/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/flags.h"
#include "cli/output.h"
#include "cli/target.h"
#include "cli/terminal.h"
#include "cli/units.h"

/* All columns but the last one, the command, which gets what is left of the line. */
#define COLUMNS 9
static const char *const titles[COLUMNS] = {"JOB",     "STATE",    "OUTCOME", "PID",   "PROCS",
                                            "STARTED", "DURATION", "STDOUT",  "STDERR"};
/* Below this a command says nothing. */
#define LEAST_COMMAND 12

typedef char cells[COLUMNS][24];

static bool is_shown(const struct request *request, const hf_job_info *job)
{
    return !request->running || job->processes > 0;
}

static void format_outcome(const hf_job_info *job, char *text, size_t size)
{
    const char *name = hf_outcome_name(job->outcome);
    const char *signal_name = sigabbrev_np(job->signal);
    if (!job->over)
        snprintf(text, size, "-");
    else if (job->outcome == HF_EXITED || job->outcome == HF_NOT_STARTED)
        snprintf(text, size, "%s %d", name, job->exit_code);
    else if (job->outcome == HF_SIGNALED && signal_name)
        snprintf(text, size, "%s %s", name, signal_name);
    else
        snprintf(text, size, "%s", name);
}

static int64_t wall_clock_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void fill(const hf_job_info *job, cells row)
{
    int64_t end = job->ended_ms > 0 ? job->ended_ms : wall_clock_ms();
    snprintf(row[0], sizeof row[0], "%u", (unsigned)job->id);
    snprintf(row[1], sizeof row[1], "%s", job->state);
    format_outcome(job, row[2], sizeof row[2]);
    snprintf(row[3], sizeof row[3], job->pid > 0 ? "%d" : "-", (int)job->pid);
    snprintf(row[4], sizeof row[4], "%zu", job->processes);
    format_age(job->started_ms / 1000, row[5], sizeof row[5]);
    format_span(end - job->started_ms, row[6], sizeof row[6]);
    format_bytes(job->stdout_bytes, row[7], sizeof row[7]);
    format_bytes(job->stderr_bytes, row[8], sizeof row[8]);
}

static void measure(const struct request *request, const hf_jobs *jobs, size_t widths[COLUMNS])
{
    const hf_job_info *job;
    for (size_t c = 0; c < COLUMNS; c++)
        widths[c] = strlen(titles[c]);
    for (size_t i = 0; (job = hf_jobs_get(jobs, i)); i++) {
        cells row;
        if (!is_shown(request, job))
            continue;
        fill(job, row);
        for (size_t c = 0; c < COLUMNS; c++)
            if (strlen(row[c]) > widths[c])
                widths[c] = strlen(row[c]);
    }
}

/* What the command may take on our terminal; 0 for all of it. */
static size_t command_width(const size_t widths[COLUMNS])
{
    unsigned rows, columns;
    size_t used = 0;
    if (!isatty(STDOUT_FILENO) || !terminal_size(&rows, &columns))
        return 0;
    for (size_t c = 0; c < COLUMNS; c++)
        used += widths[c] + 2;
    return columns > used + LEAST_COMMAND ? columns - used : LEAST_COMMAND;
}

/* Who they are, for those who wonder what still runs. */
static void print_background(const hf_job_info *job)
{
    fputs("    in the background:", stdout);
    for (size_t i = 0; i < job->pid_count; i++)
        printf(" %d", (int)job->pids[i]);
    puts(job->pid_count < job->processes ? " ..." : "");
}

static void print_table(const struct request *request, const hf_jobs *jobs)
{
    size_t widths[COLUMNS];
    const hf_job_info *job;
    measure(request, jobs, widths);
    size_t command = command_width(widths);
    fputs(style(stdout, STYLE_BOLD), stdout);
    for (size_t c = 0; c < COLUMNS; c++)
        print_text(stdout, titles[c], widths[c] + 2);
    printf("COMMAND%s\n", style(stdout, STYLE_PLAIN));
    for (size_t i = 0; (job = hf_jobs_get(jobs, i)); i++) {
        cells row;
        if (!is_shown(request, job))
            continue;
        fill(job, row);
        for (size_t c = 0; c < COLUMNS; c++)
            print_text(stdout, row[c], widths[c] + 2);
        print_cut(stdout, job->command ? job->command : "", command);
        putchar('\n');
        if (strcmp(job->state, "background") == 0)
            print_background(job);
    }
}

static int print_jobs(const struct request *request, const hf_jobs *jobs)
{
    CLEANUP(cleanup_error) hf_error *error = NULL;
    CLEANUP(cleanup_text) char *json = NULL;
    const hf_job_info *job;
    if (request->json) {
        if (hf_jobs_json(jobs, &json, &error) < 0)
            return library_failure(error);
        puts(json);
    } else if (request->quiet) {
        for (size_t i = 0; (job = hf_jobs_get(jobs, i)); i++)
            if (is_shown(request, job))
                printf("%u\n", (unsigned)job->id);
    } else {
        print_table(request, jobs);
    }
    return EXIT_OK;
}

static int run(struct request *request)
{
    CLEANUP(cleanup_error) hf_error *error = NULL;
    CLEANUP(cleanup_context) hf_context *context = NULL;
    CLEANUP(cleanup_box) hf_box *box = NULL;
    CLEANUP(cleanup_jobs) hf_jobs *jobs = NULL;
    int status = check_box_word(request);
    if (status == 0 && request->running && request->json)
        status = usage_error(request->verb, "--running and --json: choose one; the document has "
                                            "all jobs, with the processes of each");
    if (status == 0)
        status = open_box(request, &context, &box);
    if (status != 0)
        return status;
    if (hf_job_list(box, &jobs, &error) < 0)
        return library_failure(error);
    return print_jobs(request, jobs);
}

static const struct flag flags[] = {
    {{.key = "running", .help = "only those that have processes"}, set_true, FIELD(running)},
    {{.key = "quiet", .letter = 'q', .help = "numbers only"}, set_true, FIELD(quiet)},
    END_OF_FLAGS,
};

const struct verb verb_jobs = {
    .name = "jobs",
    .usage = "[--running] [-q] BOX",
    .summary = "list the jobs of a box",
    .details = "Those that run, those that are over but left processes in the background, and "
               "finished ones that the box still keeps. Process ids are those in the box.",
    .examples = "holdfast jobs build\n"
                "holdfast jobs --json build\n"
                "holdfast jobs -q --running build | xargs -r holdfast kill build\n",
    .groups = (const struct flag_group[]){{"Flags", flags}, {0}},
    .max_words = 1,
    .completes_boxes = true,
    .run = run,
};
