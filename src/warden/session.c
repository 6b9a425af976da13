/* SPDX-License-Identifier: Apache-2.0 */
#include "warden/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/limits.h"
#include "warden/memfile.h"

#define BASH_HEADER "#holdfast bash 1\n"
#define SH_HEADER "#holdfast sh 1\n"
#define END_MARK "\n#end\n"

struct session {
    struct session *next;
    char *name, *user;
    int state;     /* -1 before the first */
    uint8_t shell; /* HF_SHELL_*, of the state */
    uint64_t bytes, commits;
    unsigned holders;
    bool forgotten;
};

static struct session *sessions;
static unsigned session_count;

static void session_free(struct session *session)
{
    if (session->state >= 0)
        close(session->state);
    free(session->name);
    free(session->user);
    free(session);
}

struct session *session_get(const char *name, const char *user)
{
    for (struct session *session = sessions; session; session = session->next)
        if (strcmp(session->name, name) == 0 && strcmp(session->user, user) == 0)
            return session;
    errno = ENOSPC;
    struct session *session = session_count < HF_MAX_SESSIONS ? calloc(1, sizeof *session) : NULL;
    if (!session)
        return NULL;
    session->state = -1;
    session->name = strdup(name);
    session->user = strdup(user);
    if (!session->name || !session->user) {
        session_free(session);
        return NULL;
    }
    session->next = sessions;
    sessions = session;
    session_count++;
    return session;
}

int session_state(const struct session *session)
{
    return session->state;
}

int session_new_state(void)
{
    return memfile_new("session");
}

/* ---- taking what a job has left ------------------------------------------------------------- */

static bool begins_with(int fd, const char *text)
{
    char start[32];
    size_t size = strlen(text);
    return pread(fd, start, size, 0) == (ssize_t)size && memcmp(start, text, size) == 0;
}

/* Which shell wrote it to its end; 0 for none. */
static uint8_t whole_state_of(int fd, off_t size)
{
    char end[sizeof END_MARK - 1];
    if (size < (off_t)sizeof end || size > (off_t)HF_MAX_SESSION_STATE ||
        pread(fd, end, sizeof end, size - (off_t)sizeof end) != (ssize_t)sizeof end ||
        memcmp(end, END_MARK, sizeof end) != 0)
        return 0;
    return begins_with(fd, BASH_HEADER) ? HF_SHELL_BASH
           : begins_with(fd, SH_HEADER) ? HF_SHELL_SH
                                        : 0;
}

void session_commit(struct session *session, int fd)
{
    struct stat st;
    /* Sealed first: what is looked at cannot change any more, though children have it open. */
    uint8_t shell = memfile_seal(fd) && fstat(fd, &st) == 0 ? whole_state_of(fd, st.st_size) : 0;
    if (!shell || session->forgotten) {
        close(fd);
        return;
    }
    if (session->state >= 0)
        close(session->state);
    session->state = fd;
    session->shell = shell;
    session->bytes = (uint64_t)st.st_size;
    session->commits++;
}

/* ---- staying and going ---------------------------------------------------------------------- */

void session_hold(struct session *session)
{
    session->holders++;
}

void session_release(struct session *session)
{
    if (--session->holders > 0)
        return;
    /* One that was forgotten, or whose only job could not be started. */
    if (!session->forgotten && session->state >= 0)
        return;
    for (struct session **link = &sessions; *link; link = &(*link)->next) {
        if (*link == session) {
            *link = session->next;
            session_count--;
            break;
        }
    }
    session_free(session);
}

void session_forget(const char *name)
{
    for (struct session *session = sessions, *next; session; session = next) {
        next = session->next;
        if (strcmp(session->name, name) != 0)
            continue;
        /* Jobs that run in it finish in it; who comes later finds another of that name. */
        session->forgotten = true;
        session->name[0] = '\0';
        session_hold(session);
        session_release(session);
    }
}

const struct session *session_next(const struct session *session)
{
    const struct session *next = session ? session->next : sessions;
    while (next && next->forgotten)
        next = next->next;
    return next;
}

void session_describe(const struct session *session, struct hf_msg_session *ret)
{
    *ret = (struct hf_msg_session){.name = session->name,
                                   .user = session->user,
                                   .shell = session->shell,
                                   .bytes = session->bytes,
                                   .jobs = session->commits};
}

/* ---- the texts ------------------------------------------------------------------------------ */

extern const char session_bash[], session_bash_end[], session_sh[], session_sh_end[];

int session_text(int shell)
{
    static int files[2] = {-1, -1};
    bool bash = shell == HF_SHELL_BASH;
    int *file = &files[bash];
    if (*file < 0) {
        const char *text = bash ? session_bash : session_sh;
        const char *end = bash ? session_bash_end : session_sh_end;
        *file = hf__sealed_memfd("session", text, (size_t)(end - text), 0);
    }
    return *file;
}
