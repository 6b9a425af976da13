/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions: a name that jobs of a box share; the state itself lives in the box. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "box/box.h"
#include "box/job.h"
#include "box/list.h"

struct hf_session {
    hf_box *box;
    char *name;
};

int hf_session_open(hf_box *box, const char *name, hf_session **ret_session, hf_error **reterr)
{
    hf_session *session = calloc(1, sizeof *session);
    uint64_t random[2];
    char own[40];
    if (!session)
        return hf__error(reterr, HF_E_NO_SPACE, "out of memory");
    if (!name) {
        if (getrandom(random, sizeof random, 0) != sizeof random) {
            free(session);
            return hf__error_sys(reterr, "cannot make a name for a session");
        }
        snprintf(own, sizeof own, "s-%016llx%016llx", (unsigned long long)random[0],
                 (unsigned long long)random[1]);
        name = own;
    }
    int result = hf__check_session_name(name, reterr);
    session->box = box;
    session->name = result < 0 ? NULL : strdup(name);
    if (result == 0 && !session->name)
        result = hf__error(reterr, HF_E_NO_SPACE, "out of memory");
    if (result < 0)
        hf_session_close(session);
    else
        *ret_session = session;
    return result;
}

const char *hf_session_name(const hf_session *session)
{
    return session->name;
}

static void set_session(const hf_session *session, const hf_job_options *options,
                        hf_job_options *ret_options)
{
    *ret_options = (hf_job_options){0};
    if (options)
        memcpy(ret_options, options,
               options->size < sizeof *ret_options ? options->size : sizeof *ret_options);
    ret_options->size = sizeof *ret_options;
    ret_options->session = session->name;
}

int hf_session_start(hf_session *session, const hf_job_options *options, hf_job **ret_job,
                     hf_error **reterr)
{
    hf_job_options own;
    set_session(session, options, &own);
    return hf_job_start(session->box, &own, ret_job, reterr);
}

int hf_session_run(hf_session *session, const char *text, const hf_job_options *options,
                   hf_result **ret_result, hf_error **reterr)
{
    hf_job_options own;
    hf_job *job = NULL;
    set_session(session, options, &own);
    own.script = text;
    own.script_size = strlen(text);
    int result = hf_job_start(session->box, &own, &job, reterr);
    if (result == 0)
        result = hf_job_wait(job, ret_result, reterr);
    hf_job_close(job);
    return result;
}

void hf_session_close(hf_session *session)
{
    if (!session)
        return;
    free(session->name);
    free(session);
}

int hf_session_forget(hf_box *box, const char *name, hf_error **reterr)
{
    _cleanup_buf_ struct hf_buf out = HF_BUF(KIB(1));
    int result = hf__check_session_name(name, reterr);
    if (result == 0)
        result = hf__box_link(box, &out, reterr);
    if (result < 0)
        return result;
    hf__put_forget(&out, name);
    return link_send(&box->link, &out, reterr);
}

/* ---- as inspect shows them ------------------------------------------------------------------ */

struct session_listing {
    struct listing base;
    hf_json *list;
};

static hf_json *carried(uint8_t shell)
{
    static const char *const by_bash[] = {
        "directory", "exported variables", "plain variables", "functions",
        "aliases",   "shell options",      "umask",           NULL};
    static const char *const by_sh[] = {"directory", "exported variables", "umask", NULL};
    hf_json *list = hf__json_array();
    for (const char *const *what = shell == HF_SHELL_SH ? by_sh : by_bash; *what && shell; what++)
        hf__json_append_string(list, *what);
    return list;
}

static bool on_row(struct listing *listing, const struct hf_frame *frame)
{
    static const char *const shells[] = {NULL, [HF_SHELL_BASH] = "bash", [HF_SHELL_SH] = "sh"};
    hf_json *list = ((struct session_listing *)listing)->list;
    struct hf_msg_session message;
    if (frame->type != HF_MSG_SESSION || !hf__get_session(frame, &message) ||
        hf__json_length(list) >= HF_MAX_SESSIONS)
        return false;
    hf_json *object = hf__json_object();
    hf__json_set_bytes(object, "name", message.name, strlen(message.name));
    hf__json_set_bytes(object, "user", message.user, strlen(message.user));
    hf__json_set_string(object, "shell", shells[message.shell]);
    hf__json_set(object, "carries", carried(message.shell));
    hf__json_set_uint(object, "jobs", message.jobs);
    hf__json_set_uint(object, "bytes", message.bytes);
    hf__json_append(list, object);
    return true;
}

hf_json *hf__sessions_json(struct hf_box *box)
{
    struct session_listing listing = {.base = {.on_row = on_row}, .list = hf__json_array()};
    if (hf__list(box, HF_LIST_SESSIONS, &listing.base, NULL) == 0)
        return listing.list;
    hf__json_free(listing.list);
    return NULL;
}
