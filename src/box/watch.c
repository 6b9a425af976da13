/* SPDX-License-Identifier: Apache-2.0 */
/* Watching files of a box: an agent that tells events until it is closed. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "box/agent.h"
#include "files/answer.h"

/* An event that has not come whole, and one read. */
#define MAX_WAITING (2 * HF_MAX_FRAME)

struct hf_watch {
    struct agent agent;
    char *path;
    struct hf_buf in;
    size_t used;
    bool ready; /* the box has said that it watches */
};

static int keep(void *data, const void *bytes, size_t size, hf_error **reterr)
{
    struct hf_watch *watch = data;
    if (watch->used > 0) {
        hf__buf_consume(&watch->in, watch->used);
        watch->used = 0;
    }
    hf__buf_append(&watch->in, bytes, size);
    if (watch->in.failed)
        return hf__error(reterr, HF_E_PROTOCOL, "the box told an event that makes no sense");
    /* One read is enough for now: who does not take events holds the box back, and what it cannot
     * keep any more it tells as an overflow. */
    return 1;
}

/* More of what the agent says. 0: nothing came in time. */
static int receive(struct hf_watch *watch, int64_t timeout_ms, hf_error **reterr)
{
    size_t before = watch->in.size - watch->used;
    int64_t deadline = timeout_ms < 0 ? 0 : hf__now_ns() + timeout_ms * HF_MS_NS;
    for (;;) {
        int more = agent_take(&watch->agent, false, keep, watch, reterr);
        if (more < 0)
            return more;
        if (watch->in.size - watch->used > before)
            return 1;
        if (more == 0) {
            int result = agent_end(&watch->agent, watch->path, reterr);
            return result < 0 ? result : hf__error(reterr, HF_E_LOST, "the watching has ended");
        }
        if (timeout_ms >= 0 && hf__now_ns() >= deadline)
            return 0;
        int result =
            job_receive(watch->agent.job, timeout_ms < 0 ? -1 : hf__poll_timeout(deadline), reterr);
        if (result < 0)
            return result;
    }
}

int hf_watch_open(hf_box *box, const char *path, const hf_file_options *options,
                  hf_watch **ret_watch, hf_error **reterr)
{
    hf_file_options own = agent_options(options);
    const char *const words[] = {"watch", path, own.recursive ? "r" : "-", NULL};
    hf_watch *watch = calloc(1, sizeof *watch);
    if (!watch || !(watch->path = strdup(path))) {
        free(watch);
        return hf__error(reterr, HF_E_NO_SPACE, "out of memory");
    }
    watch->in = HF_BUF(MAX_WAITING);
    int result = agent_start(box, own.user, words, false, &watch->agent, reterr);
    /* From the first byte on nothing is missed. */
    if (result == 0)
        result = receive(watch, -1, reterr);
    if (result < 0) {
        hf_watch_close(watch);
        return result;
    }
    watch->used = 1;
    *ret_watch = watch;
    return 0;
}

static int next_waiting(struct hf_watch *watch, hf_watch_event *ret_event, hf_error **reterr)
{
    static const hf_watch_kind kinds[FILES_EVENTS] = {
        [FILES_CREATE] = HF_WATCH_CREATE,     [FILES_WRITE] = HF_WATCH_WRITE,
        [FILES_REMOVE] = HF_WATCH_REMOVE,     [FILES_RENAME] = HF_WATCH_RENAME,
        [FILES_OVERFLOW] = HF_WATCH_OVERFLOW,
    };
    struct hf_frame frame;
    struct files_event event;
    ssize_t size =
        hf__frame_parse(watch->in.data + watch->used, watch->in.size - watch->used, &frame);
    if (size == 0)
        return 0;
    if (size < 0 || !files_get_event(&frame, &event))
        return hf__error(reterr, HF_E_PROTOCOL, "the box told an event that makes no sense");
    watch->used += (size_t)size;
    *ret_event = (hf_watch_event){
        .kind = kinds[event.kind],
        .path = event.path,
        .to = event.kind == FILES_RENAME ? event.to : NULL,
        .directory = event.directory,
    };
    return 1;
}

int hf_watch_next(hf_watch *watch, int64_t timeout_ms, hf_watch_event *ret_event, hf_error **reterr)
{
    int64_t deadline = timeout_ms < 0 ? 0 : hf__now_ns() + timeout_ms * HF_MS_NS;
    for (;;) {
        int result = next_waiting(watch, ret_event, reterr);
        if (result != 0)
            return result;
        result = receive(watch, timeout_ms < 0 ? -1 : hf__poll_timeout(deadline), reterr);
        if (result <= 0)
            return result;
    }
}

void hf_watch_close(hf_watch *watch)
{
    if (!watch)
        return;
    agent_close(&watch->agent);
    hf__buf_finish(&watch->in);
    free(watch->path);
    free(watch);
}
