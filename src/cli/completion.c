/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Completions for three shells. Each script is a list made from the tables and a few fixed lines
 * that look things up in it; names of boxes and numbers of jobs are asked of `holdfast ps -q` and
 * `holdfast jobs -q` when they are needed.
 */
#include <string.h>

#include "cli/flags.h"
#include "cli/output.h"

typedef void (*flag_fn)(const struct verb *verb, const hf_option_info *info);

static void for_each_flag(const struct verb *verb, flag_fn visit)
{
    const hf_option_info *info;
    for (const struct flag_group *group = verb->groups; group && group->title; group++)
        for (size_t i = 0; (info = group_info(group, i)); i++)
            visit(verb, info);
    for (size_t i = 0; (info = group_info(&global_group, i)); i++)
        visit(verb, info);
}

/* For use between single quotes: choices and keys have none, help texts may. */
static void print_quoted(const char *text, const char *also)
{
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", stdout);
        else {
            if (strchr(also, *text))
                putchar('\\');
            putchar(*text);
        }
    }
}

static void print_choices(const char *choices)
{
    for (; *choices; choices++)
        putchar(*choices == '|' ? ' ' : *choices);
}

static void print_verb_names(void)
{
    for (size_t i = 0; verbs[i]; i++)
        printf("%s%s", i ? " " : "", verbs[i]->name);
}

/* Files of the host are a good guess. */
static bool takes_path(const hf_option_info *info)
{
    return strcmp(info->key, "volume") == 0 || strcmp(info->key, "script") == 0;
}

/* What the words of a verb are known to be. */
static void print_words(const struct verb *verb)
{
    if (verb->completes_verbs)
        print_verb_names();
    else if (verb->completes)
        print_choices(verb->completes);
}

/* --- bash ------------------------------------------------------------------------------------- */

static void bash_flag(const struct verb *verb, const hf_option_info *info)
{
    (void)verb;
    printf(" --%s", info->key);
    if (info->letter)
        printf(" -%c", info->letter);
}

static void bash_value(const struct verb *verb, const hf_option_info *info)
{
    if (!info->argument)
        return;
    printf("        '%s --%s'", verb->name, info->key);
    if (info->letter)
        printf("|'%s -%c'", verb->name, info->letter);
    fputs(") ", stdout);
    if (info->choices) {
        fputs("COMPREPLY=($(compgen -W '", stdout);
        print_choices(info->choices);
        fputs("' -- \"$cur\"))", stdout);
    } else if (takes_path(info)) {
        fputs("COMPREPLY=($(compgen -f -- \"$cur\"))", stdout);
    } else {
        fputs("COMPREPLY=()", stdout);
    }
    puts("; return ;;");
}

static void bash_verb(const struct verb *verb)
{
    printf("        %s)\n            flags='", verb->name);
    for_each_flag(verb, bash_flag);
    fputs("'\n", stdout);
    if (verb->completes_jobs)
        puts("            [[ -n $box ]] && words=$(holdfast jobs -q \"$box\" 2>/dev/null)");
    if (verb->completes_boxes)
        printf("            %swords=$(holdfast ps -q 2>/dev/null)\n",
               verb->completes_jobs ? "[[ -z $box ]] && " : "");
    if (verb->completes_files)
        puts("            words+=\" $(compgen -f -- \"$cur\")\"");
    fputs("            words+='", stdout);
    print_words(verb);
    puts("'");
    puts("            ;;");
}

static void print_bash(void)
{
    puts("# bash completion for holdfast; made by `holdfast completion bash`\n"
         "_holdfast() {\n"
         "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
         "    local verb= box= flags= words= i\n"
         "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
         "        if [[ ${COMP_WORDS[i]} == -- ]]; then\n"
         "            COMPREPLY=($(compgen -c -- \"$cur\"))\n"
         "            return\n"
         "        fi\n"
         "        [[ ${COMP_WORDS[i]} == -* ]] && continue\n"
         "        [[ -n $verb && -z $box ]] && box=${COMP_WORDS[i]}\n"
         "        [[ -z $verb ]] && verb=${COMP_WORDS[i]}\n"
         "    done\n"
         "    case \"$verb $prev\" in");
    for (size_t i = 0; verbs[i]; i++)
        for_each_flag(verbs[i], bash_value);
    puts("    esac\n"
         "    case $verb in");
    for (size_t i = 0; verbs[i]; i++)
        bash_verb(verbs[i]);
    fputs("        '')\n            words='", stdout);
    print_verb_names();
    puts("'\n            flags='--engine --json --color --help'\n            ;;\n"
         "    esac\n"
         "    if [[ $cur == -* ]]; then\n"
         "        COMPREPLY=($(compgen -W \"$flags\" -- \"$cur\"))\n"
         "    else\n"
         "        COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
         "    fi\n"
         "}\n"
         "complete -F _holdfast holdfast");
}

/* --- zsh -------------------------------------------------------------------------------------- */

static void zsh_spec(const hf_option_info *info, const char *name)
{
    fputs("                ", stdout);
    fputs(info->repeats ? "'*" : "'", stdout);
    fputs(name, stdout);
    if (info->argument && name[1] == '-')
        putchar('=');
    putchar('[');
    print_quoted(info->help, "[]:\\");
    putchar(']');
    if (info->argument) {
        putchar(':');
        print_quoted(info->argument, "[]:\\");
        putchar(':');
        if (info->choices) {
            putchar('(');
            print_choices(info->choices);
            putchar(')');
        } else if (takes_path(info)) {
            fputs("_files", stdout);
        }
    }
    puts("' \\");
}

static void zsh_flag(const struct verb *verb, const hf_option_info *info)
{
    char name[64];
    (void)verb;
    if (info->letter) {
        snprintf(name, sizeof name, "-%c", info->letter);
        zsh_spec(info, name);
    }
    snprintf(name, sizeof name, "--%s", info->key);
    zsh_spec(info, name);
}

static void print_zsh(void)
{
    puts("#compdef holdfast\n"
         "# zsh completion for holdfast; made by `holdfast completion zsh`\n"
         "_holdfast_boxes() {\n"
         "    local -a boxes=(${(f)\"$(holdfast ps -q 2>/dev/null)\"})\n"
         "    compadd -a boxes\n"
         "}\n"
         "_holdfast_jobs() {\n"
         "    local -a jobs=(${(f)\"$(holdfast jobs -q $words[2] 2>/dev/null)\"})\n"
         "    compadd -a jobs\n"
         "}\n"
         "_holdfast_places() {\n"
         "    _holdfast_boxes\n"
         "    _files\n"
         "}\n"
         "_holdfast() {\n"
         "    local -a verbs=(");
    for (size_t i = 0; verbs[i]; i++) {
        printf("        '%s:", verbs[i]->name);
        print_quoted(verbs[i]->summary, ":\\");
        puts("'");
    }
    puts("    )\n"
         "    if ((CURRENT == 2)); then\n"
         "        _describe verb verbs\n"
         "        return\n"
         "    fi\n"
         "    local verb=$words[2]\n"
         "    shift words\n"
         "    ((CURRENT--))\n"
         "    case $verb in");
    for (size_t i = 0; verbs[i]; i++) {
        printf("        %s)\n            _arguments -s \\\n", verbs[i]->name);
        for_each_flag(verbs[i], zsh_flag);
        if (verbs[i]->completes_jobs) {
            puts("                '1:box:_holdfast_boxes' '*:job:_holdfast_jobs'");
        } else if (verbs[i]->completes_files) {
            puts("                '*:place:_holdfast_places'");
        } else if (verbs[i]->completes_boxes) {
            puts("                '*:box:_holdfast_boxes'");
        } else if (verbs[i]->completes || verbs[i]->completes_verbs) {
            fputs("                '*:word:(", stdout);
            print_words(verbs[i]);
            puts(")'");
        } else {
            puts("                '*::word:_normal'");
        }
        puts("            ;;");
    }
    puts("    esac\n"
         "}\n"
         "_holdfast \"$@\"");
}

/* --- fish ------------------------------------------------------------------------------------- */

static void fish_flag(const struct verb *verb, const hf_option_info *info)
{
    printf("complete -c holdfast -n '__fish_seen_subcommand_from %s' -l %s", verb->name, info->key);
    if (info->letter)
        printf(" -s %c", info->letter);
    if (info->argument)
        fputs(takes_path(info) ? " -rF" : " -x", stdout);
    if (info->choices) {
        fputs(" -a '", stdout);
        print_choices(info->choices);
        putchar('\'');
    }
    fputs(" -d '", stdout);
    print_quoted(info->help, "\\");
    puts("'");
}

static void fish_words(const struct verb *verb, const char *command)
{
    printf("complete -c holdfast -n '__fish_seen_subcommand_from %s' -a '(%s)'\n", verb->name,
           command);
}

static void print_fish(void)
{
    puts("# fish completion for holdfast; made by `holdfast completion fish`\n"
         "complete -c holdfast -f");
    for (size_t i = 0; verbs[i]; i++) {
        printf("complete -c holdfast -n __fish_use_subcommand -a %s -d '", verbs[i]->name);
        print_quoted(verbs[i]->summary, "\\");
        puts("'");
    }
    for (size_t i = 0; verbs[i]; i++) {
        for_each_flag(verbs[i], fish_flag);
        if (verbs[i]->completes_boxes)
            fish_words(verbs[i], "holdfast ps -q 2>/dev/null");
        if (verbs[i]->completes_files)
            printf("complete -c holdfast -n '__fish_seen_subcommand_from %s' -F\n", verbs[i]->name);
        if (verbs[i]->completes_jobs)
            fish_words(verbs[i], "holdfast jobs -q (commandline -opc)[3] 2>/dev/null");
        printf("complete -c holdfast -n '__fish_seen_subcommand_from %s' -a '", verbs[i]->name);
        print_words(verbs[i]);
        puts("'");
    }
}

/* --- the verb --------------------------------------------------------------------------------- */

static int run(struct request *request)
{
    static const char *const shells[] = {"bash", "zsh", "fish", NULL};
    static void (*const printers[])(void) = {print_bash, print_zsh, print_fish};
    if (request->word_count == 0)
        return usage_error(request->verb, "for which shell? bash, zsh or fish");
    for (size_t i = 0; shells[i]; i++) {
        if (strcmp(shells[i], request->words[0]) == 0) {
            printers[i]();
            return EXIT_OK;
        }
    }
    const char *near = hf_nearest(request->words[0], shells);
    if (near)
        return usage_error(request->verb, "unknown shell '%s'; did you mean '%s'?",
                           request->words[0], near);
    return usage_error(request->verb, "unknown shell '%s'; use bash, zsh or fish",
                       request->words[0]);
}

const struct verb verb_completion = {
    .name = "completion",
    .usage = "bash|zsh|fish",
    .summary = "print the completion script of a shell",
    .examples = "source <(holdfast completion bash)\n"
                "holdfast completion zsh > ~/.zfunc/_holdfast\n"
                "holdfast completion fish > ~/.config/fish/completions/holdfast.fish\n",
    .max_words = 1,
    .completes = "bash|zsh|fish",
    .run = run,
};
