/* SPDX-License-Identifier: Apache-2.0 */
/* The manual page. Prose that stands nowhere else is here; verbs and flags come from the tables. */
#include <string.h>

#include "cli/flags.h"
#include "cli/help.h"

/* Text as roff shows it as written: a backslash, a dash that can be copied, no request at the start
 * of a line. */
static void roff(FILE *stream, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        bool line_start = i == 0 || text[i - 1] == '\n';
        if (line_start && (text[i] == '.' || text[i] == '\''))
            fputs("\\&", stream);
        if (text[i] == '\\')
            fputs("\\e", stream);
        else if (text[i] == '-')
            fputs("\\-", stream);
        else if (text[i] == '\'')
            fputs("\\(aq", stream);
        else
            fputc(text[i], stream);
    }
}

static void roff_text(FILE *stream, const char *text)
{
    roff(stream, text, strlen(text));
}

static void man_flag(FILE *stream, const hf_option_info *info)
{
    fputs(".TP\n\\fB", stream);
    if (info->letter)
        fprintf(stream, "\\-%c\\fR, \\fB", info->letter);
    fputs("\\-\\-", stream);
    roff_text(stream, info->key);
    fputs("\\fR", stream);
    if (info->argument) {
        fputs(" \\fI", stream);
        roff_text(stream, info->argument);
        fputs("\\fR", stream);
    }
    fputc('\n', stream);
    roff_text(stream, info->help);
    if (info->choices) {
        fputs(" (", stream);
        roff_text(stream, info->choices);
        fputc(')', stream);
    }
    fputs(info->repeats ? "; may be repeated.\n" : ".\n", stream);
    if (info->fallback && info->argument) {
        fputs("Default: ", stream);
        roff_text(stream, info->fallback);
        fputs(".\n", stream);
    }
}

static void man_group(FILE *stream, const struct flag_group *group)
{
    const hf_option_info *info;
    for (size_t i = 0; (info = group_info(group, i)); i++)
        man_flag(stream, info);
}

static void man_verb(FILE *stream, const struct verb *verb)
{
    fprintf(stream, ".SS holdfast %s ", verb->name);
    roff_text(stream, verb->usage);
    fputc('\n', stream);
    roff_text(stream, verb->summary);
    fputs(".\n", stream);
    if (verb->details) {
        fputs(".PP\n", stream);
        roff_text(stream, verb->details);
        fputc('\n', stream);
    }
    for (const struct flag_group *group = verb->groups; group && group->title; group++) {
        if (group->flags)
            man_group(stream, group);
        else
            fputs(".PP\nThe flags of BOX FLAGS, and:\n", stream);
    }
    if (verb->examples) {
        fputs(".PP\n.nf\n.RS\n", stream);
        roff_text(stream, verb->examples);
        fputs(".RE\n.fi\n", stream);
    }
}

void print_man(FILE *stream)
{
    static const struct flag_group box_group = {"Box flags", NULL};
    fprintf(stream,
            ".TH HOLDFAST 1 \"\" \"holdfast %s\" \"User Commands\"\n"
            ".SH NAME\nholdfast \\- run commands that nobody has read yet\n"
            ".SH SYNOPSIS\n.B holdfast\n.I VERB\n[\\fIFLAGS\\fR] ...\n"
            ".SH DESCRIPTION\n"
            "holdfast makes boxes: sandboxes with a file system, limits and a PID 1 of their own.\n"
            "Commands run in a box as jobs; the machine around it stays as it was.\n"
            "Data goes to standard output, words to standard error.\n"
            ".SH VERBS\n",
            hf_version());
    for (size_t i = 0; verbs[i]; i++)
        man_verb(stream, verbs[i]);
    fputs(".SH BOX FLAGS\n", stream);
    man_group(stream, &box_group);
    fputs(".SH GLOBAL FLAGS\n", stream);
    man_group(stream, &global_group);
    fputs(
        ".SH EXIT STATUS\n"
        "The command's own; 124 timed out; 125 holdfast itself failed; 126 cannot be executed,\n"
        "or the working directory is missing; 127 not found; 128+n killed by signal n;\n"
        "130 interrupted; 2 wrong usage. The reason stands on standard error.\n"
        "Verbs that work on files of boxes: 1 where a file is to blame, because it is missing, in\n"
        "the way, not permitted and so on.\n"
        ".SH ENVIRONMENT\n"
        ".TP\n.B HOLDFAST_ENGINE\nThe engine, where \\-\\-engine is not given.\n"
        ".TP\n.B HOLDFAST_RUNTIME_DIR\nRecords, sockets and locks. Default:\n"
        "$XDG_RUNTIME_DIR/holdfast, as root /run/holdfast.\n"
        ".TP\n.B HOLDFAST_DATA_DIR\nImages, layers and persisted data. Default:\n"
        "$XDG_DATA_HOME/holdfast, as root /var/lib/holdfast.\n"
        ".TP\n.B NO_COLOR\nNo colors, whatever the terminal can do.\n",
        stream);
}
