/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a job has done to our terminal, learnt from the bytes on their way to it. A job may end in
 * the middle of anything: on the alternate screen, with the mouse caught, inside of a sequence. What
 * it left on is switched off again, and nothing else is touched.
 *
 * Sequences may be cut anywhere between two reads. The state is bounded whatever the bytes are.
 */
#ifndef HF_CLI_MODES_H
#define HF_CLI_MODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MODES_PARAMS 32
#define MODES_HELD 8
/* What modes_pass() may add to what it is given. */
#define MODES_ROOM 32
/* What modes_off() and modes_on() may write. */
#define MODES_SEQUENCE 512

_Static_assert(MODES_PARAMS <= 32, "a bit for each");

struct modes {
    /* where in a sequence the next byte stands */
    enum {
        MODES_TEXT,
        MODES_ESCAPE,
        MODES_CHARSET, /* ESC ( and its like: one byte is left */
        MODES_CONTROL, /* CSI */
        MODES_ENDLESS, /* a CSI with more parameters than we keep */
        MODES_COMMAND, /* OSC, its number */
        MODES_STRING,  /* the rest of an OSC */
        MODES_DATA,    /* DCS, APC and the like */
    } state;
    char marker, middle; /* of a CSI: '?', '>'...; ' ', '!'...; 0 for none */
    uint16_t params[MODES_PARAMS];
    size_t param_count; /* the one that is being read */
    uint32_t subs;      /* a bit for each parameter that has a colon, and is complete in itself */
    /* The beginning of an escape sequence that may become the setting of a title. */
    char held[MODES_HELD];
    size_t held_size;

    /* what is on; each is one store, so that a signal handler may read it at any moment */
    uint32_t private; /* a bit for each row of the table in modes.c */
    uint16_t screen;  /* 47, 1047 or 1049 while the alternate screen is shown */
    bool styled, keypad, drawing, shifted, margins, shaped;
    uint8_t other_keys;          /* xterm's modifyOtherKeys */
    uint8_t keyboards, keyboard; /* kitty's: how many were pushed, and the last one */
    bool titled;                 /* the title was changed, and saved before */
};

/* Learns from `size` bytes and copies them to `out`, which has room for MODES_ROOM more: the title
 * is saved before it is changed for the first time. Returns how many there are now. */
size_t modes_pass(struct modes *modes, const char *in, size_t size, char *out);

/* What must be written at the end; returns its size. Safe in a signal handler. */
size_t modes_off(const struct modes *modes, char out[static MODES_SEQUENCE]);
/* What brings the job's modes back after modes_off(); the title aside, which stays saved. */
size_t modes_on(const struct modes *modes, char out[static MODES_SEQUENCE]);

#endif
