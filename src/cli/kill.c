/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <string.h>
#include <strings.h>

#include "cli/end.h"
#include "cli/flags.h"
#include "cli/output.h"
#include "cli/target.h"
#include "cli/units.h"

struct target {
    uint32_t id;
    hf_job *job;
    hf_error *error; /* of what failed; of it nothing else is tried */
};

struct killing {
    hf_box *box;
    struct target *targets;
    size_t count;
    size_t next; /* to be reported */
};

static void cleanup_killing(struct killing *killing)
{
    for (size_t i = 0; i < killing->count; i++) {
        hf_job_close(killing->targets[i].job);
        hf_error_free(killing->targets[i].error);
    }
    free(killing->targets);
}

static int parse_targets(const struct request *request, struct killing *killing)
{
    killing->targets = calloc(request->word_count, sizeof *killing->targets);
    if (!killing->targets)
        return failure(HF_E_NO_SPACE, "out of memory");
    int status = 0;
    for (size_t i = 1; status == 0 && i < request->word_count; i++)
        status = parse_job(request, request->words[i], &killing->targets[killing->count++].id);
    return status;
}

/* All are told before any is waited for: their grace times run at once. */
static void tell(const struct request *request, hf_box *box, struct target *target)
{
    hf_attach_options options = {.size = sizeof options, .mode = HF_ATTACH_TREE};
    if (hf_job_attach(box, target->id, &options, &target->job, &target->error) < 0)
        return;
    if (request->signal)
        (void)hf_job_signal_tree(target->job, request->signal, &target->error);
    else if (request->stop_grace_ms >= 0)
        (void)hf_job_cancel_within(target->job, request->stop_grace_ms, &target->error);
    else
        (void)hf_job_cancel(target->job, &target->error);
}

static int wait_for_end(struct target *target, hf_box *box, hf_error **reterr)
{
    CLEANUP(cleanup_result) hf_result *result = NULL;
    CLEANUP(cleanup_jobs) hf_jobs *jobs = NULL;
    int r = hf_job_wait(target->job, &result, reterr);
    if (r < 0 || hf_box_reachable(box))
        return r;
    /* Nobody knows what became of it, so nobody says that it was killed. Asked once more, the box
     * gives the reason why it cannot be asked. */
    return hf_job_list(box, &jobs, reterr);
}

static int report(void *subject, const struct request *request, const char *name, hf_error **reterr)
{
    struct killing *killing = subject;
    struct target *target = &killing->targets[killing->next++];
    (void)name;
    if (target->error) {
        *reterr = target->error;
        target->error = NULL;
        return hf_error_code(*reterr);
    }
    return request->signal ? 0 : wait_for_end(target, killing->box, reterr);
}

static int run(struct request *request)
{
    CLEANUP(cleanup_context) hf_context *context = NULL;
    CLEANUP(cleanup_box) hf_box *box = NULL;
    CLEANUP(cleanup_killing) struct killing killing = {0};
    int status = check_box_word(request);
    if (status != 0)
        return status;
    if (request->word_count < 2)
        return usage_error(request->verb, "which job? `holdfast jobs %s` lists them",
                           request->words[0]);
    if (request->signal && request->stop_grace_ms >= 0)
        return usage_error(request->verb, "--signal and --grace: choose one; with a signal nothing "
                                          "is waited for");
    status = parse_targets(request, &killing);
    if (status == 0)
        status = open_box(request, &context, &box);
    if (status != 0)
        return status;
    killing.box = box;
    for (size_t i = 0; i < killing.count; i++)
        tell(request, box, &killing.targets[i]);
    return end_each(&killing, request, request->words + 1, killing.count,
                    request->signal ? "signaled" : "killed", report);
}

/* TERM, SIGTERM, sigterm, 15. */
static int set_signal(struct request *request, const struct flag *flag, const char *value)
{
    const char *names[NSIG];
    char upper[16] = "";
    size_t count = 0;
    const char *name = strncasecmp(value, "SIG", 3) == 0 ? value + 3 : value;
    char *end;
    unsigned long number = strtoul(value, &end, 10);
    if (value[0] >= '0' && value[0] <= '9' && *end == '\0' && number > 0 && number < NSIG) {
        request->signal = (int)number;
        return 0;
    }
    for (int i = 1; i < NSIG; i++) {
        const char *known = sigabbrev_np(i);
        if (known && strcasecmp(known, name) == 0) {
            request->signal = i;
            return 0;
        }
        if (known)
            names[count++] = known;
    }
    names[count] = NULL;
    for (size_t i = 0; name[i] && i + 1 < sizeof upper; i++)
        upper[i] = (char)(name[i] >= 'a' && name[i] <= 'z' ? name[i] - 'a' + 'A' : name[i]);
    const char *near = hf_nearest(upper, names);
    if (near)
        return usage_error(request->verb, "flag --%s: unknown signal '%s'; did you mean '%s'?",
                           flag->info.key, value, near);
    return usage_error(request->verb,
                       "flag --%s: unknown signal '%s'; use a name like TERM or a "
                       "number from 1 to %d",
                       flag->info.key, value, NSIG - 1);
}

static const struct flag flags[] = {
    {{.key = "signal",
      .letter = 's',
      .argument = "SIGNAL",
      .help = "send this to all processes of the job, by name or number, and do not wait"},
     set_signal},
    {{.key = "grace",
      .argument = "DURATION",
      .help = "between SIGTERM and SIGKILL",
      .fallback = "the job's own"},
     set_duration,
     FIELD(stop_grace_ms)},
    END_OF_FLAGS,
};

const struct verb verb_kill = {
    .name = "kill",
    .usage = "[--signal SIGNAL | --grace DURATION] BOX JOB...",
    .summary = "end jobs and all that they started",
    .details = "SIGTERM, the grace time, SIGKILL, and returns when no process of the job is left: "
               "children that outlived their job are ended, too. Prints the jobs. Nothing else in "
               "the box notices.",
    .examples = "holdfast kill build 7\n"
                "holdfast kill --grace 0 build 7 8\n"
                "holdfast kill --signal HUP build 7\n",
    .groups = (const struct flag_group[]){{"Flags", flags}, {0}},
    .max_words = SIZE_MAX,
    .completes_boxes = true,
    .completes_jobs = true,
    .run = run,
};
