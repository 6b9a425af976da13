/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dispatcher. Everything between main() and the verb costs every `holdfast exec`: no locale, no
 * configuration file, no allocation that the verb does not need.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "cli/flags.h"
#include "cli/help.h"
#include "cli/output.h"

const struct verb *const verbs[] = {
    &verb_run,     &verb_up,    &verb_exec, &verb_sh,   &verb_jobs,   &verb_attach,
    &verb_logs,    &verb_wait,  &verb_kill, &verb_read, &verb_write,  &verb_ls,
    &verb_stat,    &verb_mkdir, &verb_mv,   &verb_cp,   &verb_watch,  &verb_ps,
    &verb_inspect, &verb_stats, &verb_stop, &verb_rm,   &verb_doctor, &verb_completion,
    &verb_version, &verb_help,  NULL,
};

const struct verb *find_verb(const char *name)
{
    for (size_t i = 0; verbs[i]; i++)
        if (strcmp(verbs[i]->name, name) == 0)
            return verbs[i];
    return NULL;
}

int unknown_verb(const char *name)
{
    const char *names[sizeof verbs / sizeof verbs[0]];
    size_t count = 0;
    for (; verbs[count]; count++)
        names[count] = verbs[count]->name;
    names[count] = NULL;
    const char *near = hf_nearest(name, names);
    if (near)
        return usage_error(NULL, "unknown verb '%s'; did you mean '%s'?", name, near);
    return usage_error(NULL, "unknown verb '%s'", name);
}

static void log_warning(void *data, hf_log_level level, const char *message)
{
    (void)data;
    if (level >= HF_LOG_WARNING)
        say("warning: %s", message);
}

int open_context(const struct request *request, hf_context **ret_context)
{
    CLEANUP(cleanup_error) hf_error *error = NULL;
    const char *engine = request->engine ? request->engine : getenv("HOLDFAST_ENGINE");
    hf_open_options options = {
        .size = sizeof options,
        .engine = engine && *engine ? engine : NULL,
        .log = log_warning,
    };
    return hf_open(&options, ret_context, &error) < 0 ? library_failure(error) : 0;
}

/* A closed 0, 1 or 2 would be taken by the next file that is opened, and written to. */
static int keep_standard_descriptors(void)
{
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF &&
            open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) != fd)
            return -1;
    return 0;
}

static int dispatch(struct request *request, int argc, char **argv)
{
    int skipped = parse_global_flags(request, argc, argv);
    if (skipped < 0)
        return -skipped;
    argc -= skipped;
    argv += skipped;
    if (request->help) {
        print_overview(stdout);
        return EXIT_OK;
    }
    if (argc == 0) {
        print_overview(stderr);
        return EXIT_USAGE;
    }
    request->verb = find_verb(argv[0]);
    if (!request->verb)
        return unknown_verb(argv[0]);
    int status = parse_flags(request, argc - 1, argv + 1);
    if (status != 0)
        return status;
    if (request->help) {
        print_verb_help(stdout, request->verb);
        return EXIT_OK;
    }
    return request->verb->run(request);
}

int main(int argc, char **argv)
{
    struct request request = {.stop_grace_ms = HF_DEFAULT};
    if (keep_standard_descriptors() < 0)
        return EXIT_FAILED;
    /* A file size limit shall be an error that is told, not a death in the middle. */
    signal(SIGXFSZ, SIG_IGN);
    /* What everybody types first, though it is a verb here. */
    if (argc == 2 && (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0))
        argv[1] = (char *)"version";
    int status = dispatch(&request, argc > 0 ? argc - 1 : 0, argv + (argc > 0));
    request_finish(&request);
    return finish_output(status);
}
