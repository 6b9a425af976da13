/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/output.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum color_mode color_mode;
static bool json_errors;
/* Documents on stdout: only the first failure makes one. */
static bool error_printed;

void output_set_color(enum color_mode mode)
{
    color_mode = mode;
}

void output_set_json(bool json)
{
    json_errors = json;
}

const char *style(FILE *stream, enum style which)
{
    static const char *const sequences[] = {"\x1b[0m", "\x1b[1m", "\x1b[32m", "\x1b[33m",
                                            "\x1b[31m"};
    const char *no_color = getenv("NO_COLOR");
    bool on = color_mode == COLOR_ALWAYS;
    if (color_mode == COLOR_AUTO && !(no_color && *no_color)) {
        const char *term = getenv("TERM");
        on = isatty(fileno(stream)) && term && strcmp(term, "dumb") != 0;
    }
    return on ? sequences[which] : "";
}

/* One write for the whole line: two processes that report at once do not mix. */
static void say_text(const char *message)
{
    CLEANUP(cleanup_text) char *safe = hf_escape(message);
    fprintf(stderr, "%sholdfast:%s %s\n", style(stderr, STYLE_RED), style(stderr, STYLE_PLAIN),
            safe ? safe : "out of memory");
}

static char *format(const char *fmt, va_list args)
{
    char *text = NULL;
    return vasprintf(&text, fmt, args) < 0 ? NULL : text;
}

void say(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    CLEANUP(cleanup_text) char *text = format(fmt, args);
    va_end(args);
    say_text(text ? text : "out of memory");
}

static void print_error_document(hf_code code, hf_file_error kind, const char *message)
{
    if (!json_errors || error_printed)
        return;
    error_printed = true;
    printf("{\"error\":{\"code\":\"%s\"", hf_code_name(code));
    if (kind != HF_FILE_NONE)
        printf(",\"kind\":\"%s\"", hf_file_error_name(kind));
    fputs(",\"message\":", stdout);
    print_json_string(stdout, message);
    printf("}}\n");
}

int usage_error(const struct verb *verb, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    CLEANUP(cleanup_text) char *text = format(fmt, args);
    va_end(args);
    const char *message = text ? text : "out of memory";
    say_text(message);
    fprintf(stderr, "Try: holdfast help%s%s\n", verb ? " " : "", verb ? verb->name : "");
    print_error_document(HF_E_INVALID, HF_FILE_NONE, message);
    return EXIT_USAGE;
}

int failure(hf_code code, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    CLEANUP(cleanup_text) char *text = format(fmt, args);
    va_end(args);
    say_text(text ? text : "out of memory");
    print_error_document(code, HF_FILE_NONE, text ? text : "out of memory");
    return EXIT_FAILED;
}

int failure_status(const hf_error *error)
{
    hf_file_error kind = hf_error_file(error);
    /* A box that breaks the protocol is not a file that is missing. */
    return kind == HF_FILE_NONE || kind == HF_FILE_PROTOCOL ? EXIT_FAILED : EXIT_FILE;
}

int library_failure(const hf_error *error)
{
    say_text(hf_error_message(error));
    print_error_document(hf_error_code(error), hf_error_file(error), hf_error_message(error));
    return failure_status(error);
}

/* --- text and JSON ---------------------------------------------------------------------------- */

/* Columns as if every character had one; wide ones are rare where we print tables. */
static size_t columns(const char *text)
{
    size_t count = 0;
    for (; *text; text++)
        count += ((unsigned char)*text & 0xc0) != 0x80;
    return count;
}

void print_text(FILE *stream, const char *text, size_t width)
{
    CLEANUP(cleanup_text) char *safe = hf_escape(text);
    const char *shown = safe ? safe : "?";
    fputs(shown, stream);
    for (size_t used = columns(shown); used < width; used++)
        fputc(' ', stream);
}

void print_cut(FILE *stream, const char *text, size_t width)
{
    static const char dots[] = "...";
    CLEANUP(cleanup_text) char *safe = hf_escape(text);
    const char *shown = safe ? safe : "?";
    if (width < sizeof dots || columns(shown) <= width) {
        fputs(shown, stream);
        return;
    }
    size_t used = 0;
    for (; *shown; shown++) {
        bool starts = ((unsigned char)*shown & 0xc0) != 0x80;
        if (starts && used + sizeof dots > width)
            break;
        used += starts;
        fputc(*shown, stream);
    }
    fputs(dots, stream);
}

/* The length of the character at the front of `data`, or 0 if it is not one of UTF-8. */
static size_t utf8_length(const unsigned char *data, size_t size)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length = data[0] < 0x80    ? 1
                    : data[0] >= 0xf8 ? 0
                    : data[0] >= 0xf0 ? 4
                    : data[0] >= 0xe0 ? 3
                    : data[0] >= 0xc0 ? 2
                                      : 0;
    if (length < 2 || length > size)
        return length > size ? 0 : length;
    uint32_t c = data[0] & (0xffU >> (length + 1));
    for (size_t i = 1; i < length; i++) {
        if ((data[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (data[i] & 0x3f);
    }
    bool surrogate = c >= 0xd800 && c <= 0xdfff;
    return c < least[length] || c > 0x10ffff || surrogate ? 0 : length;
}

void print_json_bytes(FILE *stream, const char *data, size_t size)
{
    fputc('"', stream);
    for (size_t i = 0; i < size;) {
        size_t length = utf8_length((const unsigned char *)data + i, size - i);
        if (length == 0)
            fputs("\\ufffd", stream);
        else if (length > 1)
            fwrite(data + i, 1, length, stream);
        else if (data[i] == '"' || data[i] == '\\')
            fprintf(stream, "\\%c", data[i]);
        else if (data[i] == '\n')
            fputs("\\n", stream);
        else if (data[i] < ' ' || data[i] == 0x7f)
            fprintf(stream, "\\u%04x", (unsigned)data[i]);
        else
            fputc(data[i], stream);
        i += length ? length : 1;
    }
    fputc('"', stream);
}

void print_json_string(FILE *stream, const char *text)
{
    /* Escaped first: what is left is valid UTF-8 without control characters. */
    CLEANUP(cleanup_text) char *safe = text ? hf_escape(text) : NULL;
    if (!safe) {
        fputs("null", stream);
        return;
    }
    fputc('"', stream);
    for (const char *at = safe; *at; at++) {
        if (*at == '"' || *at == '\\')
            fputc('\\', stream);
        fputc(*at, stream);
    }
    fputc('"', stream);
}

/* Prints the character at `at`, as \uNNNN where hf_escape() would not let it through; returns its
 * length. */
static size_t pretty_char(FILE *stream, const char *at)
{
    const unsigned char *s = (const unsigned char *)at;
    size_t length = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : s[0] >= 0xc0 ? 2 : 1;
    length = strnlen(at, length);
    char one[5] = {0};
    memcpy(one, at, length);
    CLEANUP(cleanup_text) char *safe = s[0] >= 0x7f ? hf_escape(one) : NULL;
    if (!safe || strcmp(safe, one) == 0) {
        fwrite(one, 1, length, stream);
        return length;
    }
    uint32_t c = length == 1 ? s[0] : s[0] & (0xffU >> (length + 1));
    for (size_t i = 1; i < length; i++)
        c = c << 6 | (s[i] & 0x3f);
    if (c >= 0x10000)
        fprintf(stream, "\\u%04x\\u%04x", 0xd7c0U + (c >> 10), 0xdc00U + (c & 0x3ffU));
    else
        fprintf(stream, "\\u%04x", c);
    return length;
}

/* Prints the string that starts at `at` and returns what follows it. */
static const char *pretty_string(FILE *stream, const char *at)
{
    fputc(*at++, stream);
    while (*at && *at != '"') {
        if (*at == '\\' && at[1])
            fputc(*at++, stream);
        at += pretty_char(stream, at);
    }
    if (*at)
        fputc(*at++, stream);
    return at;
}

static void newline(FILE *stream, size_t depth)
{
    fprintf(stream, "\n%*s", (int)(2 * depth), "");
}

void print_json_pretty(FILE *stream, const char *json)
{
    size_t depth = 0;
    for (const char *at = json; *at;) {
        if (*at == '"') {
            at = pretty_string(stream, at);
            continue;
        }
        char c = *at++;
        if (strchr(" \t\r\n", c))
            continue;
        if (c == '}' || c == ']') {
            depth -= depth > 0;
            newline(stream, depth);
            fputc(c, stream);
        } else if (c == '{' || c == '[') {
            fputc(c, stream);
            at += strspn(at, " \t\r\n");
            /* Empty ones stay in one piece. */
            if (*at == '}' || *at == ']')
                fputc(*at++, stream);
            else
                newline(stream, ++depth);
        } else if (c == ',') {
            fputc(c, stream);
            newline(stream, depth);
        } else {
            fputc(c, stream);
            if (c == ':')
                fputc(' ', stream);
        }
    }
    fputc('\n', stream);
}

int finish_output(int status)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    /* A reader that has seen enough is no failure of ours worth words. */
    if (errno != EPIPE)
        say("cannot write to standard output: %s", strerror(errno));
    return status == EXIT_OK ? EXIT_FAILED : status;
}
