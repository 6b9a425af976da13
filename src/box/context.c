/* SPDX-License-Identifier: Apache-2.0 */
#include "box/context.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"

const char *hf_version(void)
{
    return HF_VERSION;
}

static void log_nothing(void *data, hf_log_level level, const char *message)
{
    (void)data;
    (void)level;
    (void)message;
}

/* The caller's choice, then the variable of our own, then where such things are by convention. */
static int choose_dir(const char *given, const char *variable, const char *xdg, const char *home,
                      const char *for_root, char **ret_path, hf_error **reterr)
{
    _cleanup_free_ char *made = NULL;
    const char *path = given ? given : getenv(variable);
    const char *base = getenv(xdg);
    const char *user_home = getenv("HOME");
    int size = 0;
    if (path && *path) {
        int result = hf__path_normalize(path, ret_path, reterr);
        if (result < 0)
            hf__error_wrap(reterr, "%s", given ? "the directory that was given" : variable);
        return result;
    }
    if (geteuid() == 0)
        size = asprintf(&made, "%s", for_root);
    else if (base && *base == '/')
        size = asprintf(&made, "%s/holdfast", base);
    else if (home && user_home && *user_home == '/')
        size = asprintf(&made, "%s/%s", user_home, home);
    else if (!home)
        size = asprintf(&made, "/tmp/holdfast-%u", (unsigned)geteuid());
    else
        return hf__error(reterr, HF_E_INVALID, "neither %s, %s nor HOME says where to keep boxes",
                         variable, xdg);
    if (size < 0)
        return hf__error(reterr, HF_E_NO_SPACE, "out of memory");
    return hf__path_normalize(made, ret_path, reterr);
}

int hf_open(const hf_open_options *options, hf_context **ret_context, hf_error **reterr)
{
    hf_open_options own = {0};
    if (options)
        memcpy(&own, options, options->size < sizeof own ? options->size : sizeof own);
    hf_context *context = calloc(1, sizeof *context);
    if (!context)
        return hf__error(reterr, HF_E_NO_SPACE, "out of memory");
    context->log = own.log ? own.log : log_nothing;
    context->log_data = own.log_data;
    const char *engine = own.engine ? own.engine : getenv("HOLDFAST_ENGINE");
    int result = hf__engine_find(engine, &context->engine, reterr);
    if (result == 0)
        result = choose_dir(own.runtime_dir, "HOLDFAST_RUNTIME_DIR", "XDG_RUNTIME_DIR", NULL,
                            "/run/holdfast", &context->runtime_dir, reterr);
    if (result == 0)
        result =
            choose_dir(own.data_dir, "HOLDFAST_DATA_DIR", "XDG_DATA_HOME", ".local/share/holdfast",
                       "/var/lib/holdfast", &context->data_dir, reterr);
    if (result == 0) {
        struct hf_surroundings around = {context->runtime_dir, context->data_dir, context->log,
                                         context->log_data};
        result = context->engine->open(&around, &context->state, reterr);
    }
    if (result < 0)
        hf_close(context);
    else
        *ret_context = context;
    return result;
}

void hf_close(hf_context *context)
{
    if (!context)
        return;
    if (context->state)
        context->engine->close(context->state);
    free(context->runtime_dir);
    free(context->data_dir);
    free(context);
}

int hf_doctor(hf_context *context, hf_checks **ret_checks, hf_error **reterr)
{
    hf_checks *checks = NULL;
    int result = hf__checks_new(context->engine->name, &checks, reterr);
    if (result == 0)
        result = context->engine->doctor(context->state, checks, reterr);
    if (result < 0)
        hf_checks_free(checks);
    else
        *ret_checks = checks;
    return result;
}

int hf_sweep(hf_context *context, hf_error **reterr)
{
    return context->engine->sweep(context->state, 0, reterr);
}
