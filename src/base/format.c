/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vsnprintf() for the static programs, where it takes the place of the C library's. That one can
 * print floating point numbers, which costs twenty kilobytes on machines that do not have the widest
 * of them in hardware; nothing here prints any. Flags 0 - and width, precision, hh h l ll z j t, and
 * d i u o x X c s p and %% are understood, as the standard says.
 */
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

struct output {
    char *to;
    size_t size, used; /* used counts on past the end */
};

struct field {
    bool left, zeros;
    int width, precision; /* precision -1: none */
    char length;          /* h, H (hh), l, L (ll), z, 0 */
};

static void put(struct output *out, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++, out->used++)
        if (out->used + 1 < out->size)
            out->to[out->used] = text[i];
}

static void pad(struct output *out, char with, int count)
{
    while (count-- > 0)
        put(out, &with, 1);
}

static const char *read_number(const char *at, va_list *args, int *ret)
{
    *ret = 0;
    if (*at == '*') {
        *ret = va_arg(*args, int);
        return at + 1;
    }
    while (*at >= '0' && *at <= '9')
        *ret = *ret * 10 + (*at++ - '0');
    return at;
}

static const char *read_field(const char *at, va_list *args, struct field *field)
{
    *field = (struct field){.precision = -1};
    for (; *at == '-' || *at == '0'; at++) {
        field->left |= *at == '-';
        field->zeros |= *at == '0';
    }
    at = read_number(at, args, &field->width);
    if (field->width < 0) {
        field->left = true;
        field->width = -field->width;
    }
    if (*at == '.')
        at = read_number(at + 1, args, &field->precision);
    while (*at == 'h' || *at == 'l') {
        bool twice = field->length == *at;
        field->length = twice ? (char)(*at - 'a' + 'A') : *at;
        at++;
    }
    if (*at == 'z' || *at == 'j' || *at == 't') {
        field->length = 'z';
        at++;
    }
    return at;
}

static void put_text(struct output *out, const struct field *field, const char *text)
{
    if (!text)
        text = "(null)";
    size_t length = field->precision >= 0 ? strnlen(text, (size_t)field->precision) : strlen(text);
    int spaces = length < INT_MAX ? field->width - (int)length : 0;
    if (!field->left)
        pad(out, ' ', spaces);
    put(out, text, length);
    if (field->left)
        pad(out, ' ', spaces);
}

static void put_number(struct output *out, const struct field *field, uint64_t value, bool negative,
                       unsigned base, bool upper)
{
    char digits[24];
    size_t at = sizeof digits;
    do {
        unsigned digit = (unsigned)(value % base);
        digits[--at] = (char)(digit < 10 ? '0' + digit : (upper ? 'A' : 'a') + digit - 10);
        value /= base;
    } while (value);
    int length = (int)(sizeof digits - at);
    int zeros = field->precision > length ? field->precision - length : 0;
    int spaces = field->width - length - zeros - negative;
    if (field->zeros && !field->left && field->precision < 0 && spaces > 0) {
        zeros = spaces;
        spaces = 0;
    }
    if (!field->left)
        pad(out, ' ', spaces);
    if (negative)
        put(out, "-", 1);
    pad(out, '0', zeros);
    put(out, digits + at, (size_t)length);
    if (field->left)
        pad(out, ' ', spaces);
}

static int64_t signed_argument(const struct field *field, va_list *args)
{
    switch (field->length) {
    case 'H':
        return (signed char)va_arg(*args, int);
    case 'h':
        return (short)va_arg(*args, int);
    case 'l':
        return va_arg(*args, long);
    case 'L':
        return va_arg(*args, long long);
    case 'z':
        return va_arg(*args, ssize_t);
    default:
        return va_arg(*args, int);
    }
}

static uint64_t unsigned_argument(const struct field *field, va_list *args)
{
    switch (field->length) {
    case 'H':
        return (unsigned char)va_arg(*args, unsigned);
    case 'h':
        return (unsigned short)va_arg(*args, unsigned);
    case 'l':
        return va_arg(*args, unsigned long);
    case 'L':
        return va_arg(*args, unsigned long long);
    case 'z':
        return va_arg(*args, size_t);
    default:
        return va_arg(*args, unsigned);
    }
}

static void convert(struct output *out, const struct field *field, char kind, va_list *args)
{
    int64_t number;
    char character;
    switch (kind) {
    case 'd':
    case 'i':
        number = signed_argument(field, args);
        put_number(out, field, number < 0 ? -(uint64_t)number : (uint64_t)number, number < 0, 10,
                   false);
        break;
    case 'u':
        put_number(out, field, unsigned_argument(field, args), false, 10, false);
        break;
    case 'o':
        put_number(out, field, unsigned_argument(field, args), false, 8, false);
        break;
    case 'x':
    case 'X':
        put_number(out, field, unsigned_argument(field, args), false, 16, kind == 'X');
        break;
    case 'p':
        put(out, "0x", 2);
        put_number(out, field, (uintptr_t)va_arg(*args, void *), false, 16, false);
        break;
    case 'c':
        character = (char)va_arg(*args, int);
        put(out, &character, 1);
        break;
    case 's':
        put_text(out, field, va_arg(*args, const char *));
        break;
    default:
        put(out, &kind, 1);
    }
}

/* The conditions of the C library's own: what would have been written, without the NUL. */
int vsnprintf(char *restrict to, size_t size, const char *restrict format, va_list given)
{
    struct output out = {to, size, 0};
    va_list args;
    va_copy(args, given);
    for (const char *at = format; *at;) {
        size_t plain = strcspn(at, "%");
        put(&out, at, plain);
        at += plain;
        if (!*at)
            break;
        struct field field;
        at = read_field(at + 1, &args, &field);
        if (!*at)
            break;
        convert(&out, &field, *at++, &args);
    }
    va_end(args);
    if (size > 0)
        to[out.used < size ? out.used : size - 1] = '\0';
    return out.used <= INT_MAX ? (int)out.used : -1;
}
