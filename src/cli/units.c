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
