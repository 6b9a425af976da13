/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection of a host-side client. Everything it sends is checked; everything it is sent is
 * bounded: small messages by HF_MAX_UNSENT, output by the windows it granted.
 */
#ifndef HF_WARDEN_CLIENT_H
#define HF_WARDEN_CLIENT_H

#include "warden/loop.h"
#include "wire/message.h"

struct viewer;

struct client {
    struct client *next;
    struct source socket;
    struct hf_buf in, out;
    struct viewer *viewers;
    unsigned viewer_count;
    int script; /* what it has sent for the job that it will start next, or -1 */
    size_t script_size;
    bool greeted, dirty, closing;
    bool held; /* frames of it wait until it has read what is for it */
    bool full; /* the socket took nothing of a stream's bytes */
    bool loud; /* the last read was a large one */
};

void client_accept(int socket, const struct hf_msg_config *config);

/* Something may have to be sent; done once at the end of the loop's turn. */
void client_touch(struct client *client);
void clients_flush(void);
/* True if nobody is owed anything. */
bool clients_served(void);

void client_tell_started(struct client *client, uint32_t channel,
                         const struct hf_msg_started *message);
void client_tell_not_started(struct client *client, uint32_t channel,
                             const struct hf_msg_not_started *message);
void client_tell_stdin_window(struct client *client, uint32_t channel, uint32_t bytes);
void client_tell_stdin_closed(struct client *client, uint32_t channel);
void client_tell_exit(struct client *client, uint32_t channel, const struct hf_msg_exit *message);
void client_tell_log_end(struct client *client, uint32_t channel);
void client_tell_attached(struct client *client, uint32_t channel,
                          const struct hf_msg_attached *message);
void client_tell_not_attached(struct client *client, uint32_t channel);

#endif
