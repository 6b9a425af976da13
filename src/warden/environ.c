/* SPDX-License-Identifier: Apache-2.0 */
#include "warden/environ.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUILT_IN 8

static void put(char **env, size_t *count, char *assignment)
{
    size_t name = strcspn(assignment, "=") + 1;
    for (size_t i = 0; i < *count; i++) {
        if (strncmp(env[i], assignment, name) == 0) {
            env[i] = assignment;
            return;
        }
    }
    env[(*count)++] = assignment;
}

static char *assignment(const char *name, const char *value)
{
    char *text = NULL;
    return asprintf(&text, "%s=%s", name, value) < 0 ? NULL : text;
}

static void put_words(char **env, size_t *count, struct hf_words words)
{
    const char *word = words.first;
    for (uint32_t i = 0; i < words.count; i++) {
        put(env, count, (char *)word);
        if (i + 1 < words.count)
            word = hf__words_next(word);
    }
}

char **environ_build(const struct hf_msg_config *config, const struct hf_msg_start *start,
                     const struct user *user)
{
    size_t count = 0;
    char **env =
        calloc((size_t)config->env.count + start->env.count + BUILT_IN + 1, sizeof *env);
    if (!env)
        return NULL;
    char *own[] = {
        assignment("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
        assignment("HOME", user->home[0] ? user->home : "/"),
        assignment("USER", user->name[0] ? user->name : "nobody"),
        assignment("LOGNAME", user->name[0] ? user->name : "nobody"),
        assignment("LANG", "C.UTF-8"),
        assignment("SANDBOX", "holdfast"),
        assignment("HOLDFAST_BOX", config->box),
    };
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        if (!own[i])
            return NULL;
        put(env, &count, own[i]);
    }
    put_words(env, &count, config->env);
    put_words(env, &count, start->env);
    return env;
}

const char *environ_get(char *const *env, const char *name)
{
    size_t size = strlen(name);
    for (; *env; env++)
        if (strncmp(*env, name, size) == 0 && (*env)[size] == '=')
            return *env + size + 1;
    return NULL;
}
