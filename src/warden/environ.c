/* SPDX-License-Identifier: Apache-2.0 */
#include "warden/environ.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void put(char **vector, size_t *count, char *assignment)
{
    size_t name = strcspn(assignment, "=") + 1;
    for (size_t i = 0; i < *count; i++) {
        if (strncmp(vector[i], assignment, name) == 0) {
            vector[i] = assignment;
            return;
        }
    }
    vector[(*count)++] = assignment;
}

static void put_words(char **vector, size_t *count, struct hf_words words)
{
    const char *word = words.first;
    for (uint32_t i = 0; i < words.count; i++) {
        put(vector, count, (char *)word);
        if (i + 1 < words.count)
            word = hf__words_next(word);
    }
}

bool environ_build(struct environment *env, const struct hf_msg_config *config,
                   const struct hf_msg_start *start, const struct user *user, const char *hints)
{
    const char *name = user->name[0] ? user->name : "nobody";
    const char *const own[ENVIRON_OWN][2] = {
        {"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
        {"HOME", user->home[0] ? user->home : "/"},
        {"USER", name},
        {"LOGNAME", name},
        /* Without it bash looks its user up, through libraries and sockets, at every start. */
        {"SHELL", access("/bin/bash", X_OK) == 0 ? "/bin/bash" : "/bin/sh"},
        {"LANG", "C.UTF-8"},
        {"SANDBOX", "holdfast"},
        {"HOLDFAST_BOX", config->box},
        {"HOLDFAST_SESSION", hints},
    };
    size_t count = 0;
    *env = (struct environment){0};
    env->vector =
        calloc((size_t)config->env.count + start->env.count + ENVIRON_OWN + 1, sizeof *env->vector);
    if (!env->vector)
        return false;
    for (size_t i = 0; i < ENVIRON_OWN; i++) {
        if (!own[i][1])
            continue;
        if (asprintf(&env->own[i], "%s=%s", own[i][0], own[i][1]) < 0) {
            env->own[i] = NULL;
            return false;
        }
        put(env->vector, &count, env->own[i]);
    }
    put_words(env->vector, &count, config->env);
    put_words(env->vector, &count, start->env);
    return true;
}

void environ_finish(struct environment *env)
{
    for (size_t i = 0; i < ENVIRON_OWN; i++)
        free(env->own[i]);
    free(env->vector);
    *env = (struct environment){0};
}

const char *environ_get(char *const *vector, const char *name)
{
    size_t size = strlen(name);
    for (; *vector; vector++)
        if (strncmp(*vector, name, size) == 0 && (*vector)[size] == '=')
            return *vector + size + 1;
    return NULL;
}
