/* SPDX-License-Identifier: Apache-2.0 */
#include "warden/shelf.h"

#include "base/clock.h"

static struct job *shelf, **last = &shelf; /* the oldest first */
static size_t count, bytes;
static int64_t next_look; /* never later than the first job that is due; 0: nothing is */

static size_t size_of(const struct job *job)
{
    return sizeof *job + job->out[0].ring.capacity + job->out[1].ring.capacity;
}

static void take_off(struct job **link)
{
    struct job *job = *link;
    *link = job->next;
    if (last == &job->next)
        last = link;
    count--;
    bytes -= size_of(job);
    job_free(job);
}

static void drop_due(int64_t now)
{
    next_look = 0;
    for (struct job **link = &shelf; *link;) {
        struct job *job = *link;
        if (now >= job->forget_at && !job->viewers) {
            take_off(link);
            continue;
        }
        int64_t due = job->viewers ? now + 1000 * HF_MS_NS : job->forget_at;
        if (!next_look || due < next_look)
            next_look = due;
        link = &job->next;
    }
}

/* False: all that is left is being viewed. */
static bool drop_oldest(void)
{
    struct job **link = &shelf;
    while (*link && (*link)->viewers)
        link = &(*link)->next;
    if (!*link)
        return false;
    take_off(link);
    return true;
}

void shelf_put(struct job *job, int64_t now)
{
    ring_trim(&job->out[0].ring);
    ring_trim(&job->out[1].ring);
    job->forget_at = now + (int64_t)job->keep_ns;
    job->next = NULL;
    *last = job;
    last = &job->next;
    count++;
    bytes += size_of(job);
    if (!next_look || job->forget_at < next_look)
        next_look = job->forget_at;
    while ((count > HF_MAX_KEPT || bytes > HF_MAX_KEPT_BYTES) && drop_oldest())
        ;
}

struct job *shelf_find(uint32_t id)
{
    struct job *job = shelf;
    while (job && job->id != id)
        job = job->next;
    return job;
}

const struct job *shelf_first(void)
{
    return shelf;
}

size_t shelf_excess(void)
{
    return count > HF_MAX_KEPT ? count - HF_MAX_KEPT : 0;
}

int64_t shelf_tick(int64_t now)
{
    if (next_look && now >= next_look)
        drop_due(now);
    return next_look;
}
