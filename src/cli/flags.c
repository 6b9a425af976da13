/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/flags.h"

#include <stdlib.h>
#include <string.h>

#include "cli/output.h"

/* --- setters ---------------------------------------------------------------------------------- */

static void *member(struct request *request, const struct flag *flag)
{
    return (char *)request + flag->offset;
}

int set_true(struct request *request, const struct flag *flag, const char *value)
{
    if (strcmp(value, "true") != 0 && strcmp(value, "false") != 0)
        return usage_error(request->verb, "flag --%s: '%s' is not true or false", flag->info.key,
                           value);
    *(bool *)member(request, flag) = value[0] == 't';
    return 0;
}

int set_text(struct request *request, const struct flag *flag, const char *value)
{
    *(const char **)member(request, flag) = value;
    return 0;
}

static int bad_value(const struct request *request, const struct flag *flag, const hf_error *error)
{
    return usage_error(request->verb, "flag --%s: %s", flag->info.key, hf_error_message(error));
}

int set_duration(struct request *request, const struct flag *flag, const char *value)
{
    CLEANUP(cleanup_error) hf_error *error = NULL;
    if (hf_parse_duration(value, member(request, flag), &error) < 0)
        return bad_value(request, flag, error);
    return 0;
}

/* The library reads 0 as its default; who writes 0 means the least there is. */
static int set_short_duration(struct request *request, const struct flag *flag, const char *value)
{
    int status = set_duration(request, flag, value);
    int64_t *ms = member(request, flag);
    if (status == 0 && *ms == 0)
        *ms = 1;
    return status;
}

static int set_output_limit(struct request *request, const struct flag *flag, const char *value)
{
    CLEANUP(cleanup_error) hf_error *error = NULL;
    uint64_t size = 0;
    if (hf_parse_size(value, &size, &error) < 0)
        return bad_value(request, flag, error);
    if (size == 0 || size > UINT64_C(1) << 31)
        return usage_error(request->verb, "flag --%s: '%s' is not from 1 to 2g", flag->info.key,
                           value);
    request->job.output_limit = (size_t)size;
    return 0;
}

/* NAME alone is looked up here: the job's environment goes to the library as NAME=value. */
int set_job_env(struct request *request, const struct flag *flag, const char *value)
{
    (void)flag;
    size_t name_size = strcspn(value, "=");
    if (name_size == 0)
        return usage_error(request->verb, "flag --env: a variable has no name; write NAME=VALUE");
    const char **larger =
        realloc(request->job_env, (request->job_env_count + 2) * sizeof *request->job_env);
    if (!larger)
        return failure(HF_E_NO_SPACE, "out of memory");
    request->job_env = larger;
    request->job.env = larger;
    larger[request->job_env_count] = NULL;
    const char *inherited = value[name_size] ? "" : getenv(value);
    if (!inherited)
        return usage_error(request->verb,
                           "flag --env: variable '%s' is not set in your environment; set it, or "
                           "write %s=VALUE",
                           value, value);
    char *entry = NULL;
    if (value[name_size])
        entry = strdup(value);
    else if (asprintf(&entry, "%s=%s", value, inherited) < 0)
        entry = NULL;
    if (!entry)
        return failure(HF_E_NO_SPACE, "out of memory");
    larger[request->job_env_count++] = entry;
    larger[request->job_env_count] = NULL;
    return 0;
}

static int set_engine(struct request *request, const struct flag *flag, const char *value)
{
    static const char *const engines[] = {"auto", "native", "docker", "podman", NULL};
    (void)flag;
    for (size_t i = 0; engines[i]; i++) {
        if (strcmp(engines[i], value) == 0) {
            request->engine = value;
            return 0;
        }
    }
    const char *near = hf_nearest(value, engines);
    if (near)
        return usage_error(request->verb, "unknown engine '%s'; did you mean '%s'?", value, near);
    return usage_error(request->verb, "unknown engine '%s'; use auto or native", value);
}

static int set_color(struct request *request, const struct flag *flag, const char *value)
{
    static const char *const modes[] = {"auto", "always", "never"};
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        if (strcmp(modes[i], value) == 0) {
            output_set_color((enum color_mode)i);
            return 0;
        }
    }
    return usage_error(request->verb, "flag --color: '%s' is not one of %s", value,
                       flag->info.choices);
}

static int set_json(struct request *request, const struct flag *flag, const char *value)
{
    int status = set_true(request, flag, value);
    if (status == 0)
        output_set_json(request->json);
    return status;
}

/* --- tables ----------------------------------------------------------------------------------- */

static const struct flag global_flags[] = {
    {{.key = "engine",
      .argument = "ENGINE",
      .help = "who makes the boxes; also HOLDFAST_ENGINE",
      .fallback = "auto",
      .choices = "auto|native"},
     set_engine},
    {{.key = "json", .help = "print one JSON document on stdout, failures included"},
     set_json,
     FIELD(json)},
    {{.key = "color",
      .argument = "WHEN",
      .help = "color words on a terminal; NO_COLOR turns it off",
      .fallback = "auto",
      .choices = "auto|always|never"},
     set_color},
    {{.key = "help", .letter = 'h', .help = "explain the verb"}, set_true, FIELD(help)},
    END_OF_FLAGS,
};

const struct flag_group global_group = {"Global flags", global_flags};

const struct flag common_job_flags[] = {
    {{.key = "interactive", .letter = 'i', .help = "pass standard input on to the command"},
     set_true,
     FIELD(interactive)},
    {{.key = "tty",
      .letter = 't',
      .help = "give the command a terminal, and yours to it; standard input must be one"},
     set_true,
     FIELD(tty)},
    {{.key = "command",
      .letter = 'c',
      .argument = "TEXT",
      .help = "a shell text in place of a command, for bash, or sh where the box has no bash; "
              "words after -- are its $0, $1..."},
     set_text,
     FIELD(text)},
    {{.key = "script",
      .argument = "FILE",
      .help = "the script in FILE in place of a command, of any size, - for standard input; words "
              "after -- are its $1, $2..."},
     set_text,
     FIELD(script)},
    {{.key = "timeout",
      .argument = "DURATION",
      .help = "end the command and all it started after this long, exit code 124; 0 for never",
      .fallback = "0"},
     set_duration,
     FIELD(job.timeout_ms)},
    {{.key = "grace",
      .argument = "DURATION",
      .help = "between SIGTERM and SIGKILL when the command is ended",
      .fallback = "2s"},
     set_short_duration,
     FIELD(job.grace_ms)},
    {{.key = "drain",
      .argument = "DURATION",
      .help = "how long output of background children is waited for after the command",
      .fallback = "100ms"},
     set_short_duration,
     FIELD(job.drain_ms)},
    {{.key = "merge", .help = "put stderr into the same pipe as stdout"},
     set_true,
     FIELD(job.merge)},
    END_OF_FLAGS,
};

/* The same names as the box's flags have: here they are for one job. */
const struct flag job_place_flags[] = {
    {{.key = "workdir",
      .letter = 'w',
      .argument = "DIR",
      .help = "where the command starts",
      .fallback = "the box's"},
     set_text,
     FIELD(job.workdir)},
    {{.key = "env",
      .letter = 'e',
      .argument = "NAME[=VALUE]",
      .help = "set a variable; without VALUE it is taken from your environment",
      .repeats = true},
     set_job_env},
    {{.key = "user",
      .letter = 'u',
      .argument = "USER[:GROUP]",
      .help = "who the command runs as, by name or number",
      .fallback = "the box's"},
     set_text,
     FIELD(job.user)},
    END_OF_FLAGS,
};

const struct flag capture_flags[] = {
    {{.key = "output-limit",
      .argument = "SIZE",
      .help = "with --json: how much of each stream is kept, the head and the tail of it",
      .fallback = "1m"},
     set_output_limit},
    {{.key = "base64", .help = "with --json: the streams as exact bytes in base64"},
     set_true,
     FIELD(base64)},
    END_OF_FLAGS,
};

const struct flag dry_run_flags[] = {
    {{.key = "dry-run", .help = "print what making the box would do, and do nothing"},
     set_true,
     FIELD(dry_run)},
    END_OF_FLAGS,
};

const hf_option_info *group_info(const struct flag_group *group, size_t index)
{
    if (!group->flags)
        return hf_spec_option(index);
    for (size_t i = 0; i < index; i++)
        if (!group->flags[i].info.key)
            return NULL;
    return group->flags[index].info.key ? &group->flags[index].info : NULL;
}

/* --- lookup ----------------------------------------------------------------------------------- */

struct match {
    const hf_option_info *info;
    const struct flag *flag; /* NULL for an option of the box */
};

/* By name if there is one, by letter otherwise. */
static bool find_in_group(const struct flag_group *group, const char *name, size_t size,
                          char letter, struct match *ret)
{
    const hf_option_info *info;
    for (size_t i = 0; (info = group_info(group, i)); i++) {
        bool same = name ? strncmp(info->key, name, size) == 0 && info->key[size] == '\0'
                         : info->letter == letter;
        if (same) {
            *ret = (struct match){info, group->flags ? &group->flags[i] : NULL};
            return true;
        }
    }
    return false;
}

static bool find_flag(const struct verb *verb, const char *name, size_t size, char letter,
                      struct match *ret)
{
    const struct flag_group *group = verb ? verb->groups : NULL;
    for (; group && group->title; group++)
        if (find_in_group(group, name, size, letter, ret))
            return true;
    return find_in_group(&global_group, name, size, letter, ret);
}

#define MAX_FLAGS 128

static void collect_names(const struct flag_group *group, const char **names, size_t *count)
{
    const hf_option_info *info;
    for (size_t i = 0; (info = group_info(group, i)) && *count + 1 < MAX_FLAGS; i++)
        names[(*count)++] = info->key;
}

static int unknown_flag(const struct verb *verb, const char *name, size_t size)
{
    const char *names[MAX_FLAGS];
    size_t count = 0;
    for (const struct flag_group *group = verb ? verb->groups : NULL; group && group->title;
         group++)
        collect_names(group, names, &count);
    collect_names(&global_group, names, &count);
    names[count] = NULL;
    CLEANUP(cleanup_text) char *word = strndup(name, size);
    const char *near = word ? hf_nearest(word, names) : NULL;
    if (near)
        return usage_error(verb, "unknown flag '--%s'; did you mean '--%s'?", word, near);
    return usage_error(verb, "unknown flag '--%.*s'", (int)size, name);
}

/* --- parsing ---------------------------------------------------------------------------------- */

struct parser {
    struct request *request;
    int argc, at;
    char **argv;
};

static int apply(struct request *request, const struct match *match, const char *value)
{
    CLEANUP(cleanup_error) hf_error *error = NULL;
    if (strcmp(match->info->key, "env") == 0 && strncmp(value, "TERM", 4) == 0 &&
        (value[4] == '=' || value[4] == '\0'))
        request->term_given = true;
    if (match->flag)
        return match->flag->set(request, match->flag, value);
    if (!request->spec && hf_spec_new(&request->spec, &error) < 0)
        return library_failure(error);
    if (hf_spec_set(request->spec, match->info->key, value, &error) == 0)
        return 0;
    if (hf_error_code(error) != HF_E_INVALID)
        return library_failure(error);
    return usage_error(request->verb, "%s", hf_error_message(error));
}

/* The value of a flag that takes one: what follows in the same word, or the next word. "--" is
 * never a value by itself: it was meant to end the flags. */
static int apply_with_value(struct parser *parser, const struct match *match, const char *attached)
{
    if (!attached && parser->at + 1 < parser->argc &&
        strcmp(parser->argv[parser->at + 1], "--") != 0)
        attached = parser->argv[++parser->at];
    if (!attached)
        return usage_error(parser->request->verb, "flag --%s needs a value: %s", match->info->key,
                           match->info->argument);
    return apply(parser->request, match, attached);
}

static int parse_long(struct parser *parser, const char *name)
{
    struct match match;
    size_t size = strcspn(name, "=");
    const char *attached = name[size] ? name + size + 1 : NULL;
    if (!find_flag(parser->request->verb, name, size, 0, &match))
        return unknown_flag(parser->request->verb, name, size);
    if (match.info->argument)
        return apply_with_value(parser, &match, attached);
    return apply(parser->request, &match, attached ? attached : "true");
}

/* "-i", "-iq", "-eNAME=1", "-e NAME=1". */
static int parse_short(struct parser *parser, const char *letters)
{
    for (; *letters; letters++) {
        struct match match;
        if (!find_flag(parser->request->verb, NULL, 0, *letters, &match))
            return usage_error(parser->request->verb, "unknown flag '-%c'", *letters);
        if (match.info->argument)
            return apply_with_value(parser, &match, letters[1] ? letters + 1 : NULL);
        int status = apply(parser->request, &match, "true");
        if (status != 0)
            return status;
    }
    return 0;
}

static bool is_flag(const char *word)
{
    return word[0] == '-' && word[1] != '\0';
}

/* A mistake before --json is to be reported as JSON all the same. Stops where a command begins,
 * which may have a --json of its own. */
static void look_ahead_for_json(const struct verb *verb, int argc, char **argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--json") == 0)
            output_set_json(true);
        else if (!is_flag(argv[i]) && verb && verb->command_from)
            return;
    }
}

static int parse_flag(struct parser *parser)
{
    const char *word = parser->argv[parser->at];
    return word[1] == '-' ? parse_long(parser, word + 2) : parse_short(parser, word + 1);
}

int parse_global_flags(struct request *request, int argc, char **argv)
{
    struct parser parser = {.request = request, .argc = argc, .argv = argv};
    for (; parser.at < argc && is_flag(argv[parser.at]); parser.at++) {
        int status = parse_flag(&parser);
        if (status != 0)
            return -status;
    }
    return parser.at;
}

static bool takes_box_flags(const struct verb *verb)
{
    for (const struct flag_group *group = verb->groups; group && group->title; group++)
        if (!group->flags)
            return true;
    return false;
}

/* Takes the words after "--": a command where the verb runs one, more words otherwise. */
static void take_rest(struct request *request, int argc, char **argv, int from, size_t *count,
                      bool is_command)
{
    if (is_command) {
        request->command = (const char *const *)argv + from;
        return;
    }
    for (int i = from; i < argc; i++)
        argv[(*count)++] = argv[i];
}

int parse_flags(struct request *request, int argc, char **argv)
{
    const struct verb *verb = request->verb;
    struct parser parser = {.request = request, .argc = argc, .argv = argv};
    size_t count = 0;
    look_ahead_for_json(verb, argc, argv);
    /* Words move to the front of argv, over what has been parsed already. */
    for (; parser.at < argc; parser.at++) {
        char *word = argv[parser.at];
        if (strcmp(word, "--") == 0) {
            take_rest(request, argc, argv, parser.at + 1, &count, verb->takes_command);
            break;
        }
        if (is_flag(word)) {
            int status = parse_flag(&parser);
            if (status != 0)
                return status;
        } else if (verb->command_from > 0 && count == verb->command_from) {
            take_rest(request, argc, argv, parser.at, &count, true);
            break;
        } else {
            argv[count++] = word;
        }
    }
    request->words = (const char *const *)argv;
    request->word_count = count;
    if (request->help)
        return 0;
    if (count > verb->max_words)
        return usage_error(verb, "'%s' is one word too many", argv[verb->max_words]);
    CLEANUP(cleanup_error) hf_error *error = NULL;
    if (takes_box_flags(verb) && !request->spec && hf_spec_new(&request->spec, &error) < 0)
        return library_failure(error);
    return 0;
}

void request_finish(struct request *request)
{
    hf_spec_free(request->spec);
    for (size_t i = 0; i < request->job_env_count; i++)
        free((char *)request->job_env[i]);
    free(request->job_env);
    free(request->script_data);
    free(request->argv);
}
