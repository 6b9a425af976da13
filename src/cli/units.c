/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/units.h"

#include <stdio.h>
#include <time.h>

int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Nobody reads seconds of a box that is a week old. */
void format_age(int64_t since, char *text, size_t size)
{
    int64_t age = (int64_t)time(NULL) - since;
    if (age < 0)
        age = 0;
    if (age < 120)
        snprintf(text, size, "%llds ago", (long long)age);
    else if (age < 7200)
        snprintf(text, size, "%lldm ago", (long long)(age / 60));
    else if (age < 172800)
        snprintf(text, size, "%lldh ago", (long long)(age / 3600));
    else
        snprintf(text, size, "%lldd ago", (long long)(age / 86400));
}

void format_span(int64_t ms, char *text, size_t size)
{
    long long seconds = (long long)(ms / 1000);
    if (ms < 1000)
        snprintf(text, size, "%lldms", (long long)(ms < 0 ? 0 : ms));
    else if (seconds < 60)
        snprintf(text, size, "%lld.%llds", seconds, (long long)(ms % 1000 / 100));
    else if (seconds < 3600)
        snprintf(text, size, "%lldm%02llds", seconds / 60, seconds % 60);
    else
        snprintf(text, size, "%lldh%02lldm", seconds / 3600, seconds / 60 % 60);
}

void format_bytes(uint64_t bytes, char *text, size_t size)
{
    static const char letters[] = "KMGTPE";
    if (bytes < 1024) {
        snprintf(text, size, "%u", (unsigned)bytes);
        return;
    }
    size_t unit = 0;
    uint64_t whole = bytes;
    for (; whole >= 1024 * 1024; whole /= 1024)
        unit++;
    uint64_t tenths = whole % 1024 * 10 / 1024;
    if (whole / 1024 < 10)
        snprintf(text, size, "%u.%u%c", (unsigned)(whole / 1024), (unsigned)tenths, letters[unit]);
    else
        snprintf(text, size, "%u%c", (unsigned)(whole / 1024), letters[unit]);
}

bool parse_number(const char *text, size_t size, uint64_t most, uint64_t *ret)
{
    uint64_t number = 0;
    for (size_t i = 0; i < size; i++) {
        uint64_t digit = (uint64_t)(text[i] - '0');
        if (text[i] < '0' || text[i] > '9' || number > (most - digit) / 10)
            return false;
        number = number * 10 + digit;
    }
    *ret = number;
    return size > 0;
}

void format_mode(char type, unsigned mode, char text[MODE_SIZE])
{
    static const char letters[] = "rwxrwxrwx";
    /* The three special bits stand where x of user, group and others does. */
    static const char special[] = "sst";
    text[0] = type == 'f' ? '-' : type;
    for (unsigned i = 0; i < 9; i++)
        text[1 + i] = mode & (0400U >> i) ? letters[i] : '-';
    for (unsigned i = 0; i < 3; i++) {
        char *x = &text[3 + 3 * i];
        if (mode & (04000U >> i))
            *x = *x == 'x' ? special[i] : (char)(special[i] - 'a' + 'A');
    }
    text[10] = '\0';
}

/* A box may claim any date, also one in a year that no calendar has: then it is the number. */
static bool find_date(int64_t seconds, struct tm *ret_date, char *text, size_t size)
{
    time_t when = (time_t)seconds;
    if (localtime_r(&when, ret_date))
        return true;
    snprintf(text, size, "%lld", (long long)seconds);
    return false;
}

void format_date(int64_t seconds, char *text, size_t size)
{
    struct tm date;
    if (find_date(seconds, &date, text, size))
        strftime(text, size, "%Y-%m-%d %H:%M", &date);
}

void format_moment(int64_t seconds, uint32_t ns, char *text, size_t size)
{
    struct tm date;
    char day[48], zone[16];
    if (!find_date(seconds, &date, text, size))
        return;
    strftime(day, sizeof day, "%Y-%m-%d %H:%M:%S", &date);
    strftime(zone, sizeof zone, "%z", &date);
    snprintf(text, size, "%s.%09u %s", day, (unsigned)ns, zone);
}
