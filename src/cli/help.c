/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/help.h"

#include <string.h>

#include "cli/flags.h"
#include "cli/output.h"

#define WIDTH 80
#define FLAG_COLUMN 30

/* Prints words wrapped at WIDTH, from `column` on, later lines indented by `indent`. */
static void print_wrapped(FILE *stream, const char *text, size_t column, size_t indent)
{
    bool start = true;
    while (*text) {
        size_t size = strcspn(text, " ");
        if (!start && column + 1 + size > WIDTH) {
            fprintf(stream, "\n%*s", (int)indent, "");
            column = indent;
            start = true;
        }
        if (!start)
            fputc(' ', stream);
        fwrite(text, 1, size, stream);
        column += size + !start;
        start = false;
        text += size;
        text += strspn(text, " ");
    }
    fputc('\n', stream);
}

static void print_flag(FILE *stream, const hf_option_info *info)
{
    char left[96], right[256];
    char letter[] = {'-', info->letter, ',', ' ', '\0'};
    int used = snprintf(left, sizeof left, "  %s--%s%s%s", info->letter ? letter : "    ",
                        info->key, info->argument ? " " : "", info->argument ? info->argument : "");
    fputs(left, stream);
    if (used >= FLAG_COLUMN)
        fprintf(stream, "\n%*s", FLAG_COLUMN, "");
    else
        fprintf(stream, "%*s", FLAG_COLUMN - used, "");
    /* A switch is off unless it is given; saying so for each helps nobody. */
    bool show_default = info->fallback && info->argument;
    snprintf(right, sizeof right, "%s%s%s%s%s%s%s%s", info->help, info->choices ? " (" : "",
             info->choices ? info->choices : "", info->choices ? ")" : "",
             info->repeats ? "; may be repeated" : "", show_default ? " [default: " : "",
             show_default ? info->fallback : "", show_default ? "]" : "");
    print_wrapped(stream, right, FLAG_COLUMN, FLAG_COLUMN);
}

static void print_group(FILE *stream, const struct flag_group *group)
{
    const hf_option_info *info;
    /* A group without a title goes on with the one before. */
    if (group->title[0])
        fprintf(stream, "\n%s%s:%s\n", style(stream, STYLE_BOLD), group->title,
                style(stream, STYLE_PLAIN));
    for (size_t i = 0; (info = group_info(group, i)); i++)
        print_flag(stream, info);
}

static void print_examples(FILE *stream, const char *examples)
{
    if (!examples)
        return;
    fprintf(stream, "\n%sExamples:%s\n", style(stream, STYLE_BOLD), style(stream, STYLE_PLAIN));
    for (const char *at = examples; *at;) {
        size_t size = strcspn(at, "\n");
        fprintf(stream, "  %.*s\n", (int)size, at);
        at += size + (at[size] == '\n');
    }
}

static void print_exit_codes(FILE *stream)
{
    fprintf(stream,
            "\n%sExit codes:%s\n"
            "  the command's own; 124 timed out; 125 holdfast itself failed; 126 cannot be\n"
            "  executed, or the working directory is missing; 127 not found; 128+n killed by\n"
            "  signal n; 130 interrupted; 2 wrong usage. The reason is on stderr.\n",
            style(stream, STYLE_BOLD), style(stream, STYLE_PLAIN));
}

static void print_file_exit_codes(FILE *stream)
{
    fprintf(stream,
            "\n%sExit codes:%s\n"
            "  0 done; 1 a file is missing, in the way, not permitted, too large...; 125\n"
            "  holdfast itself failed, or there is no such box; 130 interrupted; 141 the\n"
            "  reader of stdout left; 2 wrong usage. The reason is on stderr. With --json its\n"
            "  code is told, and of a file its kind: not_found, permission_denied,\n"
            "  is_directory, not_directory, no_space, read_only, too_large, invalid_path,\n"
            "  exists, loop, protocol, checksum or system.\n",
            style(stream, STYLE_BOLD), style(stream, STYLE_PLAIN));
}

void print_verb_help(FILE *stream, const struct verb *verb)
{
    fprintf(stream, "holdfast %s: %s\n\n%sUsage:%s holdfast %s%s%s\n", verb->name, verb->summary,
            style(stream, STYLE_BOLD), style(stream, STYLE_PLAIN), verb->name,
            verb->usage[0] ? " " : "", verb->usage);
    if (verb->details) {
        fputc('\n', stream);
        print_wrapped(stream, verb->details, 0, 0);
    }
    for (const struct flag_group *group = verb->groups; group && group->title; group++)
        print_group(stream, group);
    print_group(stream, &global_group);
    print_examples(stream, verb->examples);
    if (verb->takes_command)
        print_exit_codes(stream);
    if (verb->takes_files)
        print_file_exit_codes(stream);
}

void print_overview(FILE *stream)
{
    fprintf(stream,
            "holdfast runs commands that nobody has read yet, in boxes.\n\n"
            "%sUsage:%s holdfast VERB [FLAGS] ...\n\n%sVerbs:%s\n",
            style(stream, STYLE_BOLD), style(stream, STYLE_PLAIN), style(stream, STYLE_BOLD),
            style(stream, STYLE_PLAIN));
    for (size_t i = 0; verbs[i]; i++)
        fprintf(stream, "  %-12s%s\n", verbs[i]->name, verbs[i]->summary);
    print_group(stream, &global_group);
    print_examples(stream, "holdfast run -- uname -a\n"
                           "box=$(holdfast up) && holdfast exec $box -- id\n");
    fputs("\n`holdfast help VERB` explains a verb and its flags.\n", stream);
}

/* --- JSON, for programs that drive this one --------------------------------------------------- */

static void print_flag_json(FILE *stream, const hf_option_info *info, bool first)
{
    char letter[] = {info->letter, '\0'};
    fputs(first ? "{\"name\":" : ",{\"name\":", stream);
    print_json_string(stream, info->key);
    fputs(",\"letter\":", stream);
    print_json_string(stream, info->letter ? letter : NULL);
    fputs(",\"argument\":", stream);
    print_json_string(stream, info->argument);
    fputs(",\"help\":", stream);
    print_json_string(stream, info->help);
    fputs(",\"default\":", stream);
    print_json_string(stream, info->fallback);
    fputs(",\"choices\":", stream);
    print_json_string(stream, info->choices);
    fprintf(stream, ",\"repeats\":%s}", info->repeats ? "true" : "false");
}

static void print_verb_json(FILE *stream, const struct verb *verb)
{
    bool first = true;
    fputs("{\"name\":", stream);
    print_json_string(stream, verb->name);
    fputs(",\"usage\":", stream);
    print_json_string(stream, verb->usage);
    fputs(",\"summary\":", stream);
    print_json_string(stream, verb->summary);
    fputs(",\"flags\":[", stream);
    const hf_option_info *info;
    for (const struct flag_group *group = verb->groups; group && group->title; group++)
        for (size_t i = 0; (info = group_info(group, i)); i++, first = false)
            print_flag_json(stream, info, first);
    for (size_t i = 0; (info = group_info(&global_group, i)); i++, first = false)
        print_flag_json(stream, info, first);
    fputs("]}", stream);
}

static void print_help_json(FILE *stream, const struct verb *only)
{
    bool first = true;
    fputs("{\"verbs\":[", stream);
    for (size_t i = 0; verbs[i]; i++) {
        if (only && verbs[i] != only)
            continue;
        fputs(first ? "" : ",", stream);
        print_verb_json(stream, verbs[i]);
        first = false;
    }
    fputs("]}\n", stream);
}

/* --- the verb --------------------------------------------------------------------------------- */

static int run(struct request *request)
{
    const struct verb *verb = NULL;
    if (request->word_count > 0) {
        verb = find_verb(request->words[0]);
        if (!verb)
            return unknown_verb(request->words[0]);
    }
    if (request->man)
        print_man(stdout);
    else if (request->json)
        print_help_json(stdout, verb);
    else if (verb)
        print_verb_help(stdout, verb);
    else
        print_overview(stdout);
    return EXIT_OK;
}

static const struct flag flags[] = {
    {{.key = "man", .help = "print the manual page in roff"}, set_true, FIELD(man)},
    END_OF_FLAGS,
};

const struct verb verb_help = {
    .name = "help",
    .usage = "[VERB]",
    .summary = "explain holdfast, or one verb",
    .examples = "holdfast help run\n"
                "holdfast help --json\n"
                "holdfast help --man | man -l -\n",
    .groups = (const struct flag_group[]){{"Flags", flags}, {0}},
    .max_words = 1,
    .completes_verbs = true,
    .run = run,
};
