/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/job.h"

#include <string.h>
#include <unistd.h>

#include "cli/flags.h"
#include "cli/output.h"
#include "cli/script.h"
#include "cli/stream.h"
#include "cli/terminal.h"

/* --- flags ------------------------------------------------------------------------------------ */

static int set_detach_keys(struct request *request, const struct flag *flag, const char *value)
{
    struct detach parsed;
    if (!detach_parse(value, &parsed))
        return usage_error(
            request->verb,
            "flag --%s: '%s' are no keys; write them like ctrl-p,ctrl-q, at most %d, "
            "or nothing for none",
            flag->info.key, value, DETACH_MAX);
    request->detach_keys = value;
    return 0;
}

const struct flag detach_keys_flags[] = {
    {{.key = "detach-keys",
      .argument = "KEYS",
      .help = "on a terminal: what leaves the command running, like ctrl-p,ctrl-q; empty for none",
      .fallback = DETACH_DEFAULT},
     set_detach_keys},
    END_OF_FLAGS,
};

struct detach detach_keys(const struct request *request)
{
    struct detach keys = {0};
    (void)detach_parse(request->detach_keys ? request->detach_keys : DETACH_DEFAULT, &keys);
    return keys;
}

int check_capture_flags(const struct request *request)
{
    bool limited = request->job.output_limit > 0;
    if (request->detach && (request->base64 || limited))
        return usage_error(request->verb,
                           "flag --%s: a detached command's output is not captured; "
                           "`holdfast attach --json` does that",
                           limited ? "output-limit" : "base64");
    if (request->base64 && !request->json)
        return usage_error(request->verb, "flag --base64 needs --json: without it the streams are "
                                          "exact bytes already");
    if (limited && !request->json)
        return usage_error(request->verb, "flag --output-limit needs --json: without it all output "
                                          "is passed on as it comes");
    return 0;
}

static int check_input_flags(const struct request *request)
{
    bool script_is_input = request->script && strcmp(request->script, "-") == 0;
    if (request->text && request->script)
        return usage_error(request->verb, "-c and --script: choose one");
    if (request->detach && request->interactive && !request->tty)
        return usage_error(request->verb,
                           "-i with --detach: there is nobody to pass input on; give "
                           "the command a terminal with -t, and type to it with "
                           "`holdfast attach`");
    if (script_is_input && (request->interactive || (request->tty && !request->detach)))
        return usage_error(request->verb,
                           "--script - reads standard input to its end, nothing is left for the "
                           "command; leave out -%c, or give the script as a file",
                           request->interactive ? 'i' : 't');
    if (!request->tty || request->detach)
        return 0;
    if (request->json)
        return usage_error(request->verb, "--tty and --json: choose one; what is captured has no "
                                          "terminal");
    if (!isatty(STDIN_FILENO))
        return usage_error(request->verb, "flag --tty needs a terminal on standard input, which is "
                                          "none; leave it out, or pass input on with -i alone");
    return 0;
}

/* A terminal needs a size and a name. */
static int prepare_terminal(struct request *request)
{
    request->job.tty = true;
    (void)terminal_size(&request->job.rows, &request->job.columns);
    return terminal_type() && !request->term_given ? set_job_env(request, NULL, "TERM") : 0;
}

int prepare_job(struct request *request)
{
    int status = check_capture_flags(request);
    if (status == 0)
        status = check_input_flags(request);
    if (status == 0 && request->tty)
        status = prepare_terminal(request);
    if (status != 0)
        return status;
    if (request->text || request->script)
        return load_script(request);
    if (!request->job.argv)
        request->job.argv = request->command;
    return 0;
}

/* --- how a job ends --------------------------------------------------------------------------- */

/* The exit code is one number for many ends; here is which one it was. */
void say_outcome(const hf_result *result)
{
    const char *reason = hf_result_reason(result);
    const char *signal_name = NULL;
    switch (hf_result_outcome(result)) {
    case HF_EXITED:
        break;
    case HF_SIGNALED:
        signal_name = sigabbrev_np(hf_result_signal(result));
        say("[Command killed by %s%s]", signal_name ? "SIG" : "a signal",
            signal_name ? signal_name : "");
        break;
    case HF_TIMED_OUT:
        say("[Command %s]", reason ? reason : "timed out");
        break;
    case HF_CANCELLED:
        say("[Command interrupted]");
        break;
    case HF_OOM_KILLED:
        say("[Command killed: out of memory]%s%s", reason ? " " : "", reason ? reason : "");
        break;
    case HF_NOT_STARTED:
        say("%s", reason ? reason : "the command could not be started");
        break;
    case HF_LOST:
        say("%s", reason ? reason : "the box died while the command ran");
        break;
    }
}

int print_result(FILE *stream, const struct request *request, const hf_result *result)
{
    CLEANUP(cleanup_error) hf_error *error = NULL;
    CLEANUP(cleanup_text) char *json = NULL;
    if (hf_result_json(result, request->base64, &json, &error) < 0)
        return library_failure(error);
    fputs(json, stream);
    return 0;
}

static int report(const struct request *request, const hf_result *result)
{
    say_outcome(result);
    int status = request->json ? print_result(stdout, request, result) : 0;
    if (request->json && status == 0)
        putchar('\n');
    return status != 0 ? status : hf_result_exit_code(result);
}

int finish_job(const struct request *request, hf_job *job)
{
    CLEANUP(cleanup_error) hf_error *error = NULL;
    CLEANUP(cleanup_result) hf_result *result = NULL;
    if (hf_job_wait(job, &result, &error) < 0)
        return library_failure(error);
    return report(request, result);
}

static void print_job(const struct request *request, const hf_job *job, const char *more)
{
    printf("{\"job\":\"%u\",\"box\":", (unsigned)hf_job_id(job));
    print_json_string(stdout, request->words[0]);
    printf("%s}\n", more);
}

int say_left(const struct request *request, const hf_job *job, int status)
{
    say("detached from job %u; it goes on", (unsigned)hf_job_id(job));
    if (request->json)
        print_job(request, job, ",\"detached\":true");
    return status;
}

/* --- running one ------------------------------------------------------------------------------ */

/* Its number, once it is known that it runs. */
static int leave_running(const struct request *request, hf_job *job)
{
    CLEANUP(cleanup_error) hf_error *error = NULL;
    CLEANUP(cleanup_result) hf_result *result = NULL;
    if (hf_job_over(job)) {
        if (hf_job_wait(job, &result, &error) < 0)
            return library_failure(error);
        /* A command may also be that quick. */
        hf_outcome outcome = hf_result_outcome(result);
        if (outcome == HF_NOT_STARTED || outcome == HF_LOST)
            return report(request, result);
    }
    if (request->json)
        print_job(request, job, "");
    else
        printf("%u\n", (unsigned)hf_job_id(job));
    return EXIT_OK;
}

int run_job(struct request *request, hf_box *box)
{
    CLEANUP(cleanup_error) hf_error *error = NULL;
    CLEANUP(cleanup_job) hf_job *job = NULL;
    bool terminal = request->tty && !request->detach;
    struct stream_options options = {
        .interactive = request->interactive || terminal,
        .capture = request->json,
        .terminal = terminal,
        .keys = terminal ? detach_keys(request) : (struct detach){.count = 0},
    };
    hf_job_options *start = &request->job;
    start->size = sizeof *start;
    start->stdin_mode = options.interactive ? HF_STDIN_PIPE : HF_STDIN_NULL;
    /* Nobody is left to see what a job of a dead client does. */
    start->kill_on_close = !request->detach;
    start->confirm = request->detach || terminal;
    if (hf_job_start(box, start, &job, &error) < 0)
        return library_failure(error);
    if (request->detach)
        return leave_running(request, job);
    /* What could not be started has no number, and needs no terminal. */
    if (hf_job_over(job) && hf_job_id(job) == 0)
        options.terminal = options.interactive = false;
    int status = stream_pump(job, &options);
    if (status == STREAM_LEFT) {
        say_left(request, job, EXIT_OK);
        hf_job_detach(job);
        job = NULL;
        return EXIT_OK;
    }
    if (status == EXIT_FAILED)
        return status;
    if (status == 0)
        return finish_job(request, job);
    /* Our own end of the pipe broke: the cancelling was ours, and needs no words. */
    CLEANUP(cleanup_result) hf_result *result = NULL;
    return hf_job_wait(job, &result, &error) < 0 ? library_failure(error) : status;
}
