/* SPDX-License-Identifier: Apache-2.0 */
#include "warden/loop.h"

#include <unistd.h>

#define BATCH 64

static int epoll_fd = -1;
static struct epoll_event batch[BATCH];
static int batch_size;

int loop_init(void)
{
    epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    return epoll_fd < 0 ? -1 : 0;
}

/* A handler may end an object whose event stands later in the same batch. */
static void forget(const struct source *source)
{
    for (int i = 0; i < batch_size; i++)
        if (batch[i].data.ptr == source)
            batch[i].data.ptr = NULL;
}

void loop_want(struct source *source, uint32_t events)
{
    if (source->fd < 0 || source->events == events)
        return;
    struct epoll_event event = {.events = events, .data.ptr = source};
    int how = events == 0 ? EPOLL_CTL_DEL : source->events == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
    if (epoll_ctl(epoll_fd, how, source->fd, &event) == 0)
        source->events = events;
    if (events == 0)
        forget(source);
}

void loop_close(struct source *source)
{
    if (source->fd < 0)
        return;
    loop_want(source, 0);
    close(source->fd);
    source->fd = -1;
}

void loop_turn(int timeout_ms)
{
    batch_size = epoll_wait(epoll_fd, batch, BATCH, timeout_ms);
    for (int i = 0; i < batch_size; i++) {
        struct source *source = batch[i].data.ptr;
        if (source)
            source->ready(source->owner, batch[i].events);
    }
    batch_size = 0;
}
