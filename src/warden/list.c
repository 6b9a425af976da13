/* SPDX-License-Identifier: Apache-2.0 */
#include "warden/list.h"

#include "warden/job.h"
#include "warden/session.h"
#include "warden/shelf.h"
#include "warden/tree.h"
#include "warden/viewer.h"

static uint8_t state_of(const struct job *job)
{
    if (job->state == JOB_OVER || job->exit_known)
        return job->stub ? HF_WIRE_BACKGROUND : HF_WIRE_FINISHED;
    return job->state == JOB_ENDING ? HF_WIRE_ENDING : HF_WIRE_RUNNING;
}

static void put_row(struct hf_buf *out, uint32_t channel, const struct job *job,
                    const struct tree_look *look)
{
    struct hf_msg_job row = {
        .id = job->id,
        .state = state_of(job),
        .flags = (job->flags & HF_START_TTY ? HF_JOB_TTY : 0) |
                 (job->in.pipe.fd >= 0 ? HF_JOB_STDIN : 0) |
                 (job->flags & HF_START_MERGE ? HF_JOB_MERGED : 0),
        .pid = (uint32_t)*job->main,
        .started_ms = job->started_ms,
        .ended_ms = job->ended_ms,
        .timeout_ms = job->timeout_ms,
        .tag = job->tag,
        .exit = job->exit,
        .kept_from = {job->out[0].ring.tail, job->out[1].ring.tail},
        .session = job->session_name,
        .user = job->user,
        .command = job->command,
    };
    row.exit.total[0] = job->out[0].ring.head;
    row.exit.total[1] = job->out[1].ring.head;
    row.exit.input = job->in.total;
    for (const struct viewer *viewer = job->viewers; viewer; viewer = viewer->next_of_job)
        row.clients++;
    if (job->stub && look) {
        size_t filled;
        row.processes =
            (uint32_t)tree_members(look, stub_pid(job->stub), row.pids, HF_JOB_PIDS, &filled);
        row.pid_count = (uint32_t)filled;
    }
    hf__put_job(out, channel, &row);
}

void list_jobs(struct hf_buf *out, uint32_t channel)
{
    struct tree_look *look = jobs ? tree_look() : NULL;
    for (const struct job *job = shelf_first(); job; job = job->next)
        put_row(out, channel, job, NULL);
    for (const struct job *job = jobs; job; job = job->next)
        put_row(out, channel, job, look);
    tree_look_free(look);
    hf__put_empty(out, HF_MSG_LIST_END, channel);
}

void list_sessions(struct hf_buf *out, uint32_t channel)
{
    const struct session *session = NULL;
    while ((session = session_next(session))) {
        struct hf_msg_session row;
        session_describe(session, &row);
        hf__put_session(out, channel, &row);
    }
    hf__put_empty(out, HF_MSG_LIST_END, channel);
}
