/* SPDX-License-Identifier: Apache-2.0 */
/* The jobs of a box, as a list. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "box/box.h"
#include "box/job.h"
#include "box/list.h"

struct row {
    hf_job_info info;
    uint64_t tag;
    pid_t pids[HF_JOB_PIDS];
    char *session, *user, *command;
};

struct hf_jobs {
    struct row *rows;
    size_t count;
};

struct job_listing {
    struct listing base;
    struct hf_jobs *jobs;
};

static bool copy_text(const char *text, char **ret)
{
    *ret = text[0] ? strdup(text) : NULL;
    return *ret || !text[0];
}

static void fill(struct row *row, const struct hf_msg_job *message)
{
    static const char *const states[HF_WIRE_STATES] = {
        [HF_WIRE_RUNNING] = "running",
        [HF_WIRE_ENDING] = "ending",
        [HF_WIRE_BACKGROUND] = "background",
        [HF_WIRE_FINISHED] = "finished",
    };
    const struct hf_msg_exit *exit = &message->exit;
    hf_result result = {.outcome = job_outcome(exit->outcome)};
    result.code = result.outcome == HF_EXITED ? (int)exit->code : 0;
    result.signal = result.outcome == HF_EXITED ? 0 : (int)exit->code;
    bool over = message->state == HF_WIRE_BACKGROUND || message->state == HF_WIRE_FINISHED;
    row->tag = message->tag;
    for (uint32_t i = 0; i < message->pid_count; i++)
        row->pids[i] = (pid_t)message->pids[i];
    row->info = (hf_job_info){
        .id = message->id,
        .state = states[message->state],
        .outcome = result.outcome,
        .over = over,
        .exit_code = over ? hf_result_exit_code(&result) : 0,
        .signal = over ? result.signal : 0,
        .pid = (pid_t)message->pid,
        .pid_count = message->pid_count,
        .processes = message->processes,
        .started_ms = (int64_t)message->started_ms,
        .ended_ms = (int64_t)message->ended_ms,
        .cpu_ms = (double)exit->cpu_ns / 1e6,
        .max_rss = exit->max_rss,
        .stdin_bytes = exit->input,
        .stdout_bytes = exit->total[0],
        .stderr_bytes = exit->total[1],
        .stdout_from = message->kept_from[0],
        .stderr_from = message->kept_from[1],
        .clients = message->clients,
        .tty = message->flags & HF_JOB_TTY,
        .merged = message->flags & HF_JOB_MERGED,
    };
}

static bool on_row(struct listing *listing, const struct hf_frame *frame)
{
    struct hf_jobs *jobs = ((struct job_listing *)listing)->jobs;
    struct hf_msg_job message;
    if (frame->type != HF_MSG_JOB || !hf__get_job(frame, &message) ||
        jobs->count >= HF_MAX_JOBS + HF_MAX_KEPT)
        return false;
    if (jobs->count % 64 == 0) {
        struct row *larger = realloc(jobs->rows, (jobs->count + 64) * sizeof *larger);
        if (!larger)
            return false;
        jobs->rows = larger;
    }
    struct row *row = &jobs->rows[jobs->count++];
    memset(row, 0, sizeof *row);
    fill(row, &message);
    return copy_text(message.session, &row->session) && copy_text(message.user, &row->user) &&
           copy_text(message.command, &row->command);
}

static int by_id(const void *a, const void *b)
{
    const struct row *left = a, *right = b;
    return (left->info.id > right->info.id) - (left->info.id < right->info.id);
}

/* Pointers into the rows, once the rows stay where they are. */
static void finish(struct hf_jobs *jobs, const struct hf_box *box)
{
    if (jobs->count)
        qsort(jobs->rows, jobs->count, sizeof *jobs->rows, by_id);
    for (size_t i = 0; i < jobs->count; i++) {
        struct row *row = &jobs->rows[i];
        hf_job_info *info = &row->info;
        info->pids = row->pids;
        info->session = row->session;
        info->user = row->user;
        info->command = row->command ? row->command : "";
        if (info->over && info->outcome == HF_SIGNALED && info->signal == SIGKILL &&
            job_oom_since(box, row->tag))
            info->outcome = HF_OOM_KILLED;
    }
}

int hf_job_list(hf_box *box, hf_jobs **ret_jobs, hf_error **reterr)
{
    struct hf_jobs *jobs = calloc(1, sizeof *jobs);
    struct job_listing listing = {.base = {.on_row = on_row}, .jobs = jobs};
    if (!jobs)
        return hf__error(reterr, HF_E_NO_SPACE, "out of memory");
    int result = hf__list(box, HF_LIST_JOBS, &listing.base, reterr);
    if (result < 0) {
        hf_jobs_free(jobs);
        return result;
    }
    finish(jobs, box);
    *ret_jobs = jobs;
    return 0;
}

const hf_job_info *hf_jobs_get(const hf_jobs *jobs, size_t index)
{
    return index < jobs->count ? &jobs->rows[index].info : NULL;
}

void hf_jobs_free(hf_jobs *jobs)
{
    if (!jobs)
        return;
    for (size_t i = 0; i < jobs->count; i++) {
        free(jobs->rows[i].session);
        free(jobs->rows[i].user);
        free(jobs->rows[i].command);
    }
    free(jobs->rows);
    free(jobs);
}

/* ---- as JSON -------------------------------------------------------------------------------- */

static void set_text(hf_json *object, const char *key, const char *text)
{
    if (text)
        hf__json_set_bytes(object, key, text, strlen(text));
    else
        hf__json_set_null(object, key);
}

static void set_outcome(hf_json *object, const hf_job_info *info)
{
    const char *abbreviation = info->over && info->signal ? sigabbrev_np(info->signal) : NULL;
    char name[24];
    snprintf(name, sizeof name, "SIG%s", abbreviation ? abbreviation : "");
    hf__json_set_string(object, "outcome", info->over ? hf_outcome_name(info->outcome) : NULL);
    if (info->over && info->outcome != HF_LOST)
        hf__json_set_int(object, "exit_code", info->exit_code);
    else
        hf__json_set_null(object, "exit_code");
    hf__json_set_string(object, "signal", abbreviation ? name : NULL);
}

static void set_time(hf_json *object, const char *key, int64_t value)
{
    if (value)
        hf__json_set_int(object, key, value);
    else
        hf__json_set_null(object, key);
}

static hf_json *row_json(const hf_job_info *info)
{
    hf_json *object = hf__json_object(), *pids = hf__json_array();
    char number[16];
    snprintf(number, sizeof number, "%u", info->id);
    hf__json_set_string(object, "job", number);
    hf__json_set_string(object, "state", info->state);
    set_outcome(object, info);
    set_time(object, "pid", info->pid);
    for (size_t i = 0; i < info->pid_count; i++)
        hf__json_append_int(pids, info->pids[i]);
    hf__json_set(object, "pids", pids);
    hf__json_set_uint(object, "processes", info->processes);
    set_time(object, "started_ms", info->started_ms);
    set_time(object, "ended_ms", info->ended_ms);
    hf__json_set_double(object, "cpu_ms", info->cpu_ms);
    hf__json_set_uint(object, "max_rss_bytes", info->max_rss);
    hf__json_set_uint(object, "stdin_bytes", info->stdin_bytes);
    hf__json_set_uint(object, "stdout_bytes", info->stdout_bytes);
    hf__json_set_uint(object, "stderr_bytes", info->stderr_bytes);
    hf__json_set_uint(object, "stdout_from", info->stdout_from);
    hf__json_set_uint(object, "stderr_from", info->stderr_from);
    hf__json_set_uint(object, "clients", info->clients);
    hf__json_set_bool(object, "tty", info->tty);
    hf__json_set_bool(object, "merged", info->merged);
    set_text(object, "session", info->session);
    set_text(object, "user", info->user);
    set_text(object, "command", info->command);
    return object;
}

int hf_jobs_json(const hf_jobs *jobs, char **ret_json, hf_error **reterr)
{
    _cleanup_json_ hf_json *list = hf__json_array();
    for (size_t i = 0; i < jobs->count; i++)
        hf__json_append(list, row_json(&jobs->rows[i].info));
    return hf__json_print(list, false, ret_json, reterr);
}
