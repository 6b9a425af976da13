/* SPDX-License-Identifier: Apache-2.0 */
/* A handle to a job that runs already, or has run. */
#include <string.h>

#include "box/box.h"
#include "box/job.h"

static int ask(struct hf_job *job, struct hf_buf *out, const hf_attach_options *options,
               hf_error **reterr)
{
    struct hf_msg_attach message = {
        .job = job->id,
        .how = (uint8_t)options->mode,
        .with_stdin = options->with_stdin,
        .from = {options->from_stdout, options->from_stderr},
        .tail = options->tail_lines,
        .window = HF_CLIENT_WINDOW,
    };
    hf__put_attach(out, job->channel, &message);
    int result = link_send(&job->box->link, out, reterr);
    if (result == 0)
        result = job_await_answer(job, reterr);
    if (result < 0 || job->attached)
        return result;
    if (job->not_attached)
        return hf__error(reterr, HF_E_NOT_FOUND,
                         "box '%s' has no job %u; 'holdfast jobs %s' lists them", job->box->name,
                         job->id, job->box->name);
    return hf__error(reterr, HF_E_LOST, "%s",
                     job->result.reason ? job->result.reason : "the box ended");
}

int hf_job_attach(hf_box *box, uint32_t id, const hf_attach_options *options, hf_job **ret_job,
                  hf_error **reterr)
{
    _cleanup_buf_ struct hf_buf out = HF_BUF(KIB(1));
    hf_attach_options own = {0};
    if (options)
        memcpy(&own, options, options->size < sizeof own ? options->size : sizeof own);
    if (id == 0 || (unsigned)own.mode > HF_ATTACH_TREE)
        return hf__error(reterr, HF_E_INVALID, "jobs have numbers from 1");
    int result = hf__box_link(box, &out, reterr);
    if (result < 0)
        return result;
    struct hf_job *job = job_new(box, own.output_limit);
    if (!job)
        return hf__error(reterr, HF_E_NO_SPACE, "out of memory");
    job->channel = ++box->link.last_channel;
    job->id = job->result.job = id;
    job->attaching = true;
    job->told_all = own.mode == HF_ATTACH_FOLLOW;
    result = ask(job, &out, &own, reterr);
    if (result < 0) {
        job->over = true;
        hf_job_close(job);
        return result;
    }
    *ret_job = job;
    return 0;
}
