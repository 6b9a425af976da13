/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers with units. strtod() would read "nan", "0x10", "1e9" and, in some locales, "1,5"; so the
 * digits are read here, exactly, without floating point.
 */
#include "spec/size.h"

#include <string.h>
#include <strings.h>

struct unit {
    const char *name;
    uint64_t factor;
};

/* A decimal number as whole + fraction / 10^9. */
struct decimal {
    uint64_t whole;
    uint32_t nanos;
    bool has_fraction;
};

#define FRACTION_DIGITS 9
#define NANOS UINT64_C(1000000000)

/* Digits with at most one point between or before them. Returns what follows, NULL if there is no
 * number or one that fits nowhere. */
static const char *read_decimal(const char *at, struct decimal *ret)
{
    struct decimal d = {0};
    bool any = false;
    for (; *at >= '0' && *at <= '9'; at++, any = true) {
        if (d.whole > (UINT64_MAX - 9) / 10)
            return NULL;
        d.whole = d.whole * 10 + (uint64_t)(*at - '0');
    }
    if (*at == '.') {
        uint32_t place = NANOS / 10;
        size_t digits = 0;
        for (at++; *at >= '0' && *at <= '9'; at++, place /= 10) {
            if (++digits > FRACTION_DIGITS)
                return NULL;
            d.nanos += place * (uint32_t)(*at - '0');
        }
        if (digits == 0)
            return NULL;
        d.has_fraction = any = true;
    }
    *ret = d;
    return any ? at : NULL;
}

/* d * factor, rounded up, or false past `max`. */
static bool scale(const struct decimal *d, uint64_t factor, uint64_t max, uint64_t *ret)
{
    unsigned __int128 value = (unsigned __int128)d->whole * factor;
    unsigned __int128 rest = (unsigned __int128)d->nanos * factor;
    value += (rest + NANOS - 1) / NANOS;
    if (value > max)
        return false;
    *ret = (uint64_t)value;
    return true;
}

static const struct unit *find_unit(const struct unit *units, const char *name)
{
    for (; units->name; units++)
        if (strcasecmp(units->name, name) == 0)
            return units;
    return NULL;
}

int hf_parse_size(const char *text, uint64_t *ret_bytes, hf_error **reterr)
{
    static const struct unit units[] = {
        {"", 1},
        {"b", 1},
        {"k", UINT64_C(1) << 10},
        {"kb", UINT64_C(1) << 10},
        {"kib", UINT64_C(1) << 10},
        {"m", UINT64_C(1) << 20},
        {"mb", UINT64_C(1) << 20},
        {"mib", UINT64_C(1) << 20},
        {"g", UINT64_C(1) << 30},
        {"gb", UINT64_C(1) << 30},
        {"gib", UINT64_C(1) << 30},
        {"t", UINT64_C(1) << 40},
        {"tb", UINT64_C(1) << 40},
        {"tib", UINT64_C(1) << 40},
        {0},
    };
    struct decimal number;
    const char *rest = read_decimal(text, &number);
    const struct unit *unit = rest ? find_unit(units, rest) : NULL;
    if (!unit || (unit->factor == 1 && number.has_fraction))
        return hf__error(reterr, HF_E_INVALID,
                         "'%s' is not a size; write a number of bytes or one with k, m, g or t, "
                         "like 512m or 1.5g",
                         text);
    uint64_t bytes = 0;
    if (!scale(&number, unit->factor, INT64_MAX, &bytes))
        return hf__error(reterr, HF_E_INVALID, "size '%s' is too large for any machine", text);
    *ret_bytes = bytes;
    return 0;
}

#define DAY_MS UINT64_C(86400000)

int hf_parse_duration(const char *text, int64_t *ret_ms, hf_error **reterr)
{
    static const struct unit units[] = {
        {"", 1000}, {"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", DAY_MS}, {0},
    };
    struct decimal number;
    const char *rest = read_decimal(text, &number);
    const struct unit *unit = rest ? find_unit(units, rest) : NULL;
    if (!unit)
        return hf__error(reterr, HF_E_INVALID,
                         "'%s' is not a duration; write a number with ms, s, m, h or d, like 30s "
                         "or 1.5m",
                         text);
    uint64_t ms = 0;
    if (!scale(&number, unit->factor, 36500 * DAY_MS, &ms))
        return hf__error(reterr, HF_E_INVALID, "duration '%s' is too long; the longest is 36500d",
                         text);
    *ret_ms = (int64_t)ms;
    return 0;
}

int hf__parse_cpus(const char *text, uint64_t *ret_nanos, hf_error **reterr)
{
    struct decimal number;
    const char *rest = read_decimal(text, &number);
    uint64_t nanos = 0;
    if (!rest || *rest || !scale(&number, NANOS, 1024 * NANOS, &nanos) || nanos < NANOS / 100)
        return hf__error(reterr, HF_E_INVALID,
                         "'%s' is not a number of CPUs; write a decimal from 0.01 to 1024, like "
                         "0.5 or 2",
                         text);
    *ret_nanos = nanos;
    return 0;
}

int hf__parse_count(const char *text, uint64_t max, uint64_t *ret_count, hf_error **reterr)
{
    struct decimal number;
    const char *rest = read_decimal(text, &number);
    if (!rest || *rest || number.has_fraction || number.whole > max)
        return hf__error(reterr, HF_E_INVALID,
                         "'%s' is not a number from 0 to %llu; 0 means no limit", text,
                         (unsigned long long)max);
    *ret_count = number.whole;
    return 0;
}
