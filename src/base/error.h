/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The error object behind hf_error. Made where something fails, wrapped with context on the way up:
 *
 *      int result = open_lock(dir, &fd, reterr);
 *      if (result < 0)
 *              hf__error_wrap(reterr, "cannot lock box '%s'", name);
 *
 * gives "cannot lock box 'x': open lock: Permission denied". All makers return the negative code, so
 * that one statement both reports and returns. They keep errno.
 */
#ifndef HF_BASE_ERROR_H
#define HF_BASE_ERROR_H

#include <holdfast.h>

#define HF_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

/* A failure that is nobody's errno. */
int hf__error(hf_error **reterr, hf_code code, const char *fmt, ...) HF_PRINTF(3, 4);

/* A failed system call: takes errno, appends its text, and finds the code that fits it. */
int hf__error_sys(hf_error **reterr, const char *fmt, ...) HF_PRINTF(2, 3);

/* Puts context before the message that is there, if somebody wants to know. */
void hf__error_wrap(hf_error **reterr, const char *fmt, ...) HF_PRINTF(2, 3);

/* Appends what to do next. */
int hf__error_hint(hf_error **reterr, const char *fmt, ...) HF_PRINTF(2, 3);

/* For errors that cross a process: makes one from its parts. */
int hf__error_make(hf_error **reterr, hf_code code, int sys_errno, const char *message);

/* About a file of a box; the code follows from the kind. */
int hf__error_file(hf_error **reterr, hf_file_error kind, int sys_errno, const char *fmt, ...)
    HF_PRINTF(4, 5);

hf_code hf__code_of_errno(int error);

static inline void hf__cleanup_error(hf_error **error)
{
    hf_error_free(*error);
}
#define _cleanup_error_ __attribute__((cleanup(hf__cleanup_error)))

#endif
