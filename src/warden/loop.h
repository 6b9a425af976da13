/* SPDX-License-Identifier: Apache-2.0 */
/* The warden's one thread: epoll, with the handler inside the object it belongs to. */
#ifndef HF_WARDEN_LOOP_H
#define HF_WARDEN_LOOP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>

struct source {
    int fd;          /* -1: none */
    uint32_t events; /* what epoll is asked for; 0: not registered at all */
    void (*ready)(void *owner, uint32_t events);
    void *owner;
};

int loop_init(void);
/* Changes what is waited for. With 0 the descriptor is taken out altogether, because epoll reports
 * hang-ups of registered descriptors whether asked for or not. */
void loop_want(struct source *source, uint32_t events);
/* Takes it out and closes the descriptor. */
void loop_close(struct source *source);
/* Waits for at most `timeout_ms` and calls the handlers. Handlers may close any source; events that
 * were already fetched for it are dropped. */
void loop_turn(int timeout_ms);

#endif
