/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A parser of escape sequences in the states of a VT500, as far as modes need it. Nothing is ever
 * dropped or changed: what it does not know passes.
 */
#include "cli/modes.h"

#include <string.h>

#define ESC 0x1b
#define CAN 0x18
#define SUB 0x1a
#define BEL 0x07
#define SHIFT_OUT 0x0e
#define SHIFT_IN 0x0f

#define SAVE_TITLE "\x1b[22;0t"
#define RESTORE_TITLE "\x1b[23;0t"

/* Modes of DEC and xterm that somebody else's program would trip over. */
static const struct {
    uint16_t number;
    bool usual; /* what the rest of the world expects */
} table[] = {
    {1, false},    /* cursor keys send other codes */
    {5, false},    /* the screen inverted */
    {7, true},     /* lines wrap */
    {9, false},    /* mouse */
    {25, true},    /* the cursor is seen */
    {1000, false}, /* mouse */
    {1001, false}, /* mouse */
    {1002, false}, /* mouse */
    {1003, false}, /* mouse */
    {1004, false}, /* focus */
    {1005, false}, /* how the mouse is told */
    {1006, false}, /* how the mouse is told */
    {1015, false}, /* how the mouse is told */
    {1016, false}, /* how the mouse is told */
    {2004, false}, /* pasted text in brackets */
    {2026, false}, /* nothing is drawn until it is off again */
};

#define ROWS (sizeof table / sizeof table[0])
_Static_assert(ROWS <= 32, "a bit for each row");

/* --- what sequences mean ---------------------------------------------------------------------- */

static void clear(struct modes *modes, uint16_t number)
{
    for (size_t i = 0; i < ROWS; i++)
        if (table[i].number == number)
            modes->private &= ~(UINT32_C(1) << i);
}

static void set_private(struct modes *modes, uint16_t number, bool on)
{
    if (number == 47 || number == 1047 || number == 1049)
        modes->screen = on ? number : 0;
    else if (number == 66)
        modes->keypad = on;
    for (size_t i = 0; i < ROWS; i++) {
        if (table[i].number != number)
            continue;
        if (on == table[i].usual)
            modes->private &= ~(UINT32_C(1) << i);
        else
            modes->private |= UINT32_C(1) << i;
    }
}

/* Zero anywhere takes all styles back, unless it is a part of a color: 38;5;0 and 38;2;0;0;0. */
static void set_style(struct modes *modes)
{
    for (size_t i = 0; i <= modes->param_count; i++) {
        uint16_t style = modes->params[i];
        modes->styled = style != 0;
        bool color = (style == 38 || style == 48 || style == 58) && !(modes->subs >> i & 1);
        if (color && i < modes->param_count)
            i += modes->params[i + 1] == 5 ? 2 : modes->params[i + 1] == 2 ? 4 : 0;
    }
}

static void soft_reset(struct modes *modes)
{
    clear(modes, 1);
    clear(modes, 25);
    modes->styled = modes->keypad = modes->drawing = modes->shifted = modes->margins = false;
}

static void full_reset(struct modes *modes)
{
    modes->private = 0;
    modes->screen = 0;
    modes->styled = modes->keypad = modes->drawing = modes->shifted = modes->margins = false;
    modes->shaped = false;
    modes->other_keys = modes->keyboards = 0;
}

static void set_keyboard(struct modes *modes)
{
    uint16_t number = modes->params[0];
    if (modes->marker == '>' && modes->keyboards < 8) {
        modes->keyboard = (uint8_t)number;
        modes->keyboards++;
    } else if (modes->marker == '<') {
        uint16_t popped = number ? number : 1;
        modes->keyboards = popped < modes->keyboards ? (uint8_t)(modes->keyboards - popped) : 0;
    }
}

/* A CSI that is complete. */
static void control(struct modes *modes, char final)
{
    const uint16_t *params = modes->params;
    if (modes->middle == ' ' && final == 'q') {
        modes->shaped = params[0] > 1;
    } else if (modes->middle == '!' && final == 'p') {
        soft_reset(modes);
    } else if (modes->middle) {
        return;
    } else if (modes->marker == '?' && (final == 'h' || final == 'l')) {
        for (size_t i = 0; i <= modes->param_count; i++)
            set_private(modes, params[i], final == 'h');
    } else if (modes->marker == '>' && final == 'm') {
        if (params[0] == 4)
            modes->other_keys = modes->param_count > 0 ? (uint8_t)params[1] : 0;
    } else if (final == 'u') {
        set_keyboard(modes);
    } else if (!modes->marker && final == 'm') {
        set_style(modes);
    } else if (!modes->marker && final == 'r') {
        modes->margins = params[0] > 1 || (modes->param_count > 0 && params[1] > 0);
    }
}

/* --- the parser ------------------------------------------------------------------------------- */

static void begin_control(struct modes *modes)
{
    modes->state = MODES_CONTROL;
    modes->marker = modes->middle = 0;
    modes->subs = 0;
    modes->param_count = 0;
    modes->params[0] = 0;
}

static void add_digit(uint16_t *number, char digit)
{
    uint32_t value = *number * UINT32_C(10) + (uint32_t)(digit - '0');
    *number = value > UINT16_MAX ? UINT16_MAX : (uint16_t)value;
}

static void step_escape(struct modes *modes, char c)
{
    modes->state = MODES_TEXT;
    switch (c) {
    case '[':
        begin_control(modes);
        break;
    case ']':
        modes->state = MODES_COMMAND;
        modes->params[0] = 0;
        break;
    case 'P':
    case 'X':
    case '^':
    case '_':
        modes->state = MODES_DATA;
        break;
    case '=':
    case '>':
        modes->keypad = c == '=';
        break;
    case 'c':
        full_reset(modes);
        break;
    default:
        if (c >= ' ' && c <= '/') {
            modes->state = MODES_CHARSET;
            modes->middle = c;
        }
    }
}

static void step_charset(struct modes *modes, char c)
{
    if (c >= ' ' && c <= '/')
        return;
    modes->state = MODES_TEXT;
    if (modes->middle == '(')
        modes->drawing = c == '0';
}

static void step_control(struct modes *modes, char c)
{
    uint16_t *param = &modes->params[modes->param_count];
    uint32_t bit = UINT32_C(1) << modes->param_count;
    if (c >= '0' && c <= '9') {
        if (!(modes->subs & bit))
            add_digit(param, c);
    } else if (c == ':') {
        modes->subs |= bit;
    } else if (c == ';') {
        if (modes->param_count + 1 == MODES_PARAMS)
            modes->state = MODES_ENDLESS;
        else
            modes->params[++modes->param_count] = 0;
    } else if (c >= '<' && c <= '?') {
        modes->marker = c;
    } else if (c >= ' ' && c <= '/') {
        modes->middle = c;
    } else if (c >= '@' && c <= '~') {
        modes->state = MODES_TEXT;
        control(modes, c);
    }
}

static void step_endless(struct modes *modes, char c)
{
    if (c < '@' || c > '~')
        return;
    modes->state = MODES_TEXT;
    if (c == 'm')
        modes->styled = true;
}

/* True if a title follows. */
static bool step_command(struct modes *modes, char c)
{
    if (c >= '0' && c <= '9') {
        add_digit(&modes->params[0], c);
        return false;
    }
    modes->state = c == BEL ? MODES_TEXT : MODES_STRING;
    return c == ';' && modes->params[0] <= 2;
}

/* The next byte of the stream. True if it begins the text of a title. */
static bool step(struct modes *modes, char c)
{
    if (c == ESC || c == CAN || c == SUB) {
        modes->state = c == ESC ? MODES_ESCAPE : MODES_TEXT;
        return false;
    }
    /* Other control characters do what they do even inside of a sequence. */
    bool text = modes->state >= MODES_COMMAND;
    if (!text && (c == SHIFT_OUT || c == SHIFT_IN))
        modes->shifted = c == SHIFT_OUT;
    if (!text && ((unsigned char)c < ' ' || (unsigned char)c >= 0x7f))
        return false;
    switch (modes->state) {
    case MODES_TEXT:
    case MODES_DATA:
        break;
    case MODES_ESCAPE:
        step_escape(modes, c);
        break;
    case MODES_CHARSET:
        step_charset(modes, c);
        break;
    case MODES_CONTROL:
        step_control(modes, c);
        break;
    case MODES_ENDLESS:
        step_endless(modes, c);
        break;
    case MODES_COMMAND:
        return step_command(modes, c);
    case MODES_STRING:
        if (c == BEL)
            modes->state = MODES_TEXT;
        break;
    }
    return false;
}

static size_t release(struct modes *modes, char *out)
{
    size_t size = modes->held_size;
    memcpy(out, modes->held, size);
    modes->held_size = 0;
    return size;
}

/*
 * The title is saved by a sequence of its own, which cannot stand inside of another. So as long as
 * none has come, an ESC and what follows are held back until it is known what they begin.
 */
static size_t hold_back(struct modes *modes, char c, bool title, char *out)
{
    size_t used = 0;
    if (c == ESC)
        used = release(modes, out);
    modes->held[modes->held_size++] = c;
    if (title) {
        memcpy(out + used, SAVE_TITLE, sizeof SAVE_TITLE - 1);
        used += sizeof SAVE_TITLE - 1;
        modes->titled = true;
    } else if (modes->state == MODES_ESCAPE || modes->state == MODES_COMMAND) {
        if (modes->held_size < MODES_HELD)
            return used;
        /* A number that long is none of a title. */
        if (modes->state == MODES_COMMAND)
            modes->state = MODES_STRING;
    }
    return used + release(modes, out + used);
}

size_t modes_pass(struct modes *modes, const char *in, size_t size, char *out)
{
    size_t used = 0;
    for (size_t i = 0; i < size; i++) {
        bool title = step(modes, in[i]);
        if (!modes->titled && (in[i] == ESC || modes->held_size > 0))
            used += hold_back(modes, in[i], title, out + used);
        else
            out[used++] = in[i];
    }
    return used;
}

/* --- off and on ------------------------------------------------------------------------------- */

static void put(char *out, size_t *used, const char *text)
{
    size_t size = strlen(text);
    memcpy(out + *used, text, size);
    *used += size;
}

/* Without printf: signal handlers come here. */
static void put_number(char *out, size_t *used, uint16_t number)
{
    char digits[6];
    size_t at = sizeof digits;
    digits[--at] = '\0';
    do
        digits[--at] = (char)('0' + number % 10);
    while (number /= 10);
    put(out, used, digits + at);
}

static void put_private(char *out, size_t *used, uint16_t number, bool on)
{
    put(out, used, "\x1b[?");
    put_number(out, used, number);
    put(out, used, on ? "h" : "l");
}

size_t modes_off(const struct modes *modes, char out[static MODES_SEQUENCE])
{
    size_t used = 0;
    /* A sequence that will never be completed would swallow what we say. */
    if (modes->state != MODES_TEXT && modes->held_size == 0)
        put(out, &used, "\x18");
    if (modes->keyboards > 0) {
        put(out, &used, "\x1b[<");
        put_number(out, &used, modes->keyboards);
        put(out, &used, "u");
    }
    if (modes->other_keys)
        put(out, &used, "\x1b[>4m");
    for (size_t i = 0; i < ROWS; i++)
        if (modes->private >> i & 1)
            put_private(out, &used, table[i].number, table[i].usual);
    if (modes->keypad)
        put(out, &used, "\x1b>");
    if (modes->shifted)
        put(out, &used, "\x0f");
    if (modes->drawing)
        put(out, &used, "\x1b(B");
    if (modes->shaped)
        put(out, &used, "\x1b[0 q");
    /* Setting margins moves the cursor. */
    if (modes->margins)
        put(out, &used, "\x1b\x37\x1b[r\x1b\x38");
    if (modes->styled)
        put(out, &used, "\x1b[0m");
    if (modes->screen)
        put_private(out, &used, modes->screen, false);
    if (modes->titled)
        put(out, &used, RESTORE_TITLE);
    return used;
}

size_t modes_on(const struct modes *modes, char out[static MODES_SEQUENCE])
{
    size_t used = 0;
    if (modes->titled)
        put(out, &used, SAVE_TITLE);
    if (modes->screen)
        put_private(out, &used, modes->screen, true);
    for (size_t i = 0; i < ROWS; i++)
        if (modes->private >> i & 1)
            put_private(out, &used, table[i].number, !table[i].usual);
    if (modes->keypad)
        put(out, &used, "\x1b=");
    if (modes->drawing)
        put(out, &used, "\x1b(0");
    if (modes->other_keys) {
        put(out, &used, "\x1b[>4;");
        put_number(out, &used, modes->other_keys);
        put(out, &used, "m");
    }
    for (uint8_t i = 0; i < modes->keyboards; i++) {
        put(out, &used, "\x1b[>");
        put_number(out, &used, modes->keyboard);
        put(out, &used, "u");
    }
    return used;
}
