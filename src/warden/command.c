/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A shell finds its files at fixed descriptors:
 *
 *      6  where a session's new state goes       8  the text of a session, session.bash or .sh
 *      7  the session's state so far             9  the script
 *
 * bash reads the script whole and evaluates it, so that messages have its own line numbers; the
 * commands of the script find the descriptor closed. sh has no builtin that reads to the end, and
 * sources it.
 */
#include "warden/command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "warden/memfile.h"

enum { NEW_STATE_AT = 6, STATE_AT = 7, TEXT_AT = 8, SCRIPT_AT = 9 };

#define SCRIPT_PATH "/proc/self/fd/9"
#define BASH_SCRIPT                                                                                \
    "IFS= read -rd '' REPLY <" SCRIPT_PATH "; exec 9<&-; eval \"unset -v REPLY; $REPLY\""
/* 10 is where such a shell keeps its own copy of 9 while that is closed. */
#define SH_SCRIPT                                                                                  \
    "if { [ -e /proc/self/fd/10 ]; } 9<&-; then { . /proc/self/fd/10; } 9<&-; else . " SCRIPT_PATH \
    "; fi"
#define BASH_SESSION                                                                               \
    ". /proc/self/fd/8; builtin eval \"${__hf_X-}$BASH_EXECUTION_STRING\"; "                       \
    "{ __hf_s n&&[[ 1 ]]; } >&- 2>&-"
#define SH_SESSION ". /proc/self/fd/8"
/* A session's shell runs a plain command as its own, so that `cd` means something. */
#define RUN_WORDS "\"$@\""

#define MAX_HEAD 5

static char **join(const char *const *head, char *const *words)
{
    size_t heads = 0, count = 0;
    while (head[heads])
        heads++;
    while (words[count])
        count++;
    char **argv = calloc(heads + count + 1, sizeof *argv);
    if (!argv)
        return NULL;
    memcpy(argv, head, heads * sizeof *argv);
    memcpy(argv + heads, words, count * sizeof *argv);
    return argv;
}

/* `shell [-l] -c line $0 words`, for both shells. "" as $0 is the shell's own name. */
static bool shell_tries(struct command *command, const char *bash, const char *sh, bool login,
                        const char *name, char *const *words)
{
    static const char *const programs[2] = {"bash", "sh"};
    const char *const lines[2] = {bash, sh};
    command->shell = true;
    for (int i = 0; i < 2; i++) {
        const char *head[MAX_HEAD + 1] = {programs[i]};
        size_t used = 1;
        if (login)
            head[used++] = "-l";
        head[used++] = "-c";
        head[used++] = lines[i];
        head[used] = name[0] ? name : programs[i];
        command->tries[i] = join(head, words);
        if (!command->tries[i])
            return false;
    }
    return true;
}

static bool names_interpreter(int script)
{
    char start[2];
    return pread(script, start, 2, 0) == 2 && start[0] == '#' && start[1] == '!';
}

static bool contains_exec(int script)
{
    struct stat st;
    if (fstat(script, &st) < 0 || st.st_size == 0)
        return false;
    void *text = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, script, 0);
    if (text == MAP_FAILED)
        return true; /* too careful costs time, not truth */
    bool found = memmem(text, (size_t)st.st_size, "exec", 4) != NULL;
    munmap(text, (size_t)st.st_size);
    return found;
}

/* What the session's text wants to know, see session.bash. */
static char *make_hints(const struct hf_msg_start *start, int script, char *const *words)
{
    struct hf_buf hints = HF_BUF(HF_MAX_FRAME);
    bool exec = contains_exec(script);
    for (; *words && !exec; words++)
        exec = strcmp(*words, "exec") == 0;
    hf__buf_printf(&hints, "%s%s", start->workdir[0] ? "workdir " : "", exec ? "exec " : "");
    const char *assignment = start->env.first;
    for (uint32_t i = 0; i < start->env.count; i++) {
        hf__buf_printf(&hints, "e:%.*s ", (int)strcspn(assignment, "="), assignment);
        if (i + 1 < start->env.count)
            assignment = hf__words_next(assignment);
    }
    return hints.data;
}

static bool build_session(struct command *command, const struct hf_msg_start *start, char **words)
{
    bool plain = command->files.script < 0;
    const char *name = plain ? "" : words[0];
    if (plain) {
        command->files.script = memfile_with("script", RUN_WORDS, strlen(RUN_WORDS));
        command->own_script = true;
    } else {
        words++;
    }
    command->hints = make_hints(start, command->files.script, words);
    return command->files.script >= 0 && command->hints &&
           shell_tries(command, BASH_SESSION, SH_SESSION, command->files.state < 0, name, words);
}

static bool build_script(struct command *command, char **words)
{
    static const char *const script[] = {SCRIPT_PATH, NULL};
    if (!names_interpreter(command->files.script))
        return shell_tries(command, BASH_SCRIPT, SH_SCRIPT, false, words[0], words + 1);
    command->interpreted = true;
    command->tries[0] = join(script, words + 1);
    return command->tries[0] != NULL;
}

static bool build_shell(struct command *command, char **words)
{
    static const char *const bash[] = {"bash", NULL}, *const sh[] = {"sh", NULL};
    command->shell = true;
    command->tries[0] = join(bash, words + 1);
    command->tries[1] = join(sh, words + 1);
    return command->tries[0] && command->tries[1];
}

bool command_build(struct command *command, const struct hf_msg_start *start,
                   const struct command_files *files)
{
    static const char *const none[] = {NULL};
    *command = (struct command){.files = *files};
    char **words = hf__words_vector(start->argv);
    if (!words)
        return false;
    bool done;
    if (files->new_state >= 0)
        done = build_session(command, start, words);
    else if (files->script >= 0)
        done = build_script(command, words);
    else if (start->flags & HF_START_SHELL)
        done = build_shell(command, words);
    else
        done = (command->tries[0] = join(none, words)) != NULL;
    free(words);
    return done;
}

/* What is not there is closed: another file may lie at that number. */
static bool place(int from, int at)
{
    if (from < 0) {
        close(at);
        return true;
    }
    return dup2(from, at) == at;
}

bool command_place_descriptors(const struct command *command, int try)
{
    const struct command_files *files = &command->files;
    if (files->script < 0)
        return true;
    return place(files->new_state, NEW_STATE_AT) && place(files->state, STATE_AT) &&
           place(files->new_state >= 0 ? files->texts[try] : -1, TEXT_AT) &&
           place(files->script, SCRIPT_AT);
}

void command_finish(struct command *command)
{
    free(command->tries[0]);
    free(command->tries[1]);
    free(command->hints);
    if (command->own_script && command->files.script >= 0)
        close(command->files.script);
}
