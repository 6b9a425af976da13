/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/files.h"

#include <string.h>

#include "cli/flags.h"
#include "cli/output.h"
#include "cli/units.h"

/* --- flags ------------------------------------------------------------------------------------ */

const struct flag file_user_flags[] = {
    {{.key = "user",
      .letter = 'u',
      .argument = "USER[:GROUP]",
      .help = "as whom it is done, by name or number",
      .fallback = "the box's"},
     set_text,
     FIELD(file.user)},
    END_OF_FLAGS,
};

bool parse_mode(const char *text, unsigned *ret_mode)
{
    unsigned mode = 0;
    for (const char *at = text; *at; at++) {
        if (*at < '0' || *at > '7' || mode > 0777)
            return false;
        mode = mode * 8 + (unsigned)(*at - '0');
    }
    *ret_mode = mode;
    return mode > 0;
}

int set_mode(struct request *request, const struct flag *flag, const char *value)
{
    if (!parse_mode(value, &request->file.mode))
        return usage_error(request->verb,
                           "flag --%s: '%s' is no mode; write it in octal, like 0640, from 1 to "
                           "7777",
                           flag->info.key, value);
    return 0;
}

bool parse_range(const char *text, struct range *ret_range)
{
    uint64_t first = 0, last = 0;
    size_t size = strcspn(text, "-");
    if (text[size] != '-')
        return false;
    const char *end = text + size + 1;
    if (*end && !parse_number(end, strlen(end), INT64_MAX - 1, &last))
        return false;
    if (size == 0) {
        *ret_range = (struct range){.length = last, .from_end = true};
        return last > 0;
    }
    if (!parse_number(text, size, INT64_MAX - 1, &first) || (*end && last < first))
        return false;
    *ret_range = (struct range){.offset = first, .length = *end ? last - first + 1 : 0};
    return true;
}

int set_range(struct request *request, const struct flag *flag, const char *value)
{
    if (!parse_range(value, &request->range))
        return usage_error(request->verb,
                           "flag --%s: '%s' is no range; write 0-99 for the first 100 bytes, 100- "
                           "for all after them, or -100 for the last 100",
                           flag->info.key, value);
    request->range_given = true;
    return 0;
}

const hf_file_options *file_options(struct request *request)
{
    request->file.size = sizeof request->file;
    return &request->file;
}

/* --- paths and documents ---------------------------------------------------------------------- */

/* Nothing is folded: "a/../b" is the kernel's to resolve, "a" may be a symlink. */
char *join_target(const char *path, const char *target)
{
    char *joined = NULL;
    const char *slash = strrchr(path, '/');
    if (*target == '/' || !slash)
        return strdup(target);
    return asprintf(&joined, "%.*s%s", (int)(slash - path + 1), path, target) < 0 ? NULL : joined;
}

void print_only_element(const char *json)
{
    const char *open = strchr(json, '{'), *close = strrchr(json, '}');
    if (open && close && close > open)
        printf("%.*s\n", (int)(close - open + 1), open);
    else
        puts("null");
}
