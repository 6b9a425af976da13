/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct hf_error {
    hf_code code;
    int sys_errno;
    hf_file_error file;
    char message[1024];
};

/* Reporting that memory has run out must not need memory. */
static hf_error out_of_memory = {HF_E_NO_SPACE, ENOMEM, HF_FILE_NONE, "out of memory"};

static const struct {
    hf_code code;
    const char *name;
    const char *text;
} codes[] = {
#define CODE_ROW(name, number, text) {HF_E_##name, #name, text},
    HF_CODE_LIST(CODE_ROW)
#undef CODE_ROW
};

const char *hf_code_name(hf_code code)
{
    static char lower[sizeof codes / sizeof codes[0]][16];
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        if (codes[i].code != code)
            continue;
        /* Idempotent: two threads write the same bytes. */
        for (size_t k = 0; codes[i].name[k] && k + 1 < sizeof lower[i]; k++) {
            char c = codes[i].name[k];
            lower[i][k] = c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
        }
        return lower[i];
    }
    return code == HF_OK ? "ok" : "unknown";
}

hf_code hf_error_code(const hf_error *error)
{
    return error ? error->code : HF_OK;
}

int hf_error_errno(const hf_error *error)
{
    return error ? error->sys_errno : 0;
}

const char *hf_error_message(const hf_error *error)
{
    return error ? error->message : "no error";
}

void hf_error_free(hf_error *error)
{
    if (error != &out_of_memory)
        free(error);
}

hf_code hf__code_of_errno(int error)
{
    switch (error) {
    case EPERM:
    case EACCES:
    case EROFS:
        return HF_E_PERMISSION;
    case ENOENT:
    case ESRCH:
        return HF_E_NOT_FOUND;
    case EEXIST:
        return HF_E_EXISTS;
    case ENOSPC:
    case EDQUOT:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
        return HF_E_NO_SPACE;
    case EINVAL:
    case ENAMETOOLONG:
        return HF_E_INVALID;
    case ENOSYS:
    case EOPNOTSUPP:
        return HF_E_UNSUPPORTED;
    case EBUSY:
        return HF_E_BUSY;
    case ETIMEDOUT:
        return HF_E_TIMEOUT;
    default:
        return HF_E_SYSTEM;
    }
}

static hf_error *error_new(hf_code code, int sys_errno)
{
    hf_error *error = calloc(1, sizeof *error);
    if (!error)
        return &out_of_memory;
    error->code = code;
    error->sys_errno = sys_errno;
    return error;
}

/* An earlier error in the same slot belongs to an attempt that the caller gave up on. */
static int error_set(hf_error **reterr, hf_error *error)
{
    hf_code code = error->code;
    hf_error_free(*reterr);
    *reterr = error;
    return code;
}

int hf__error(hf_error **reterr, hf_code code, const char *fmt, ...)
{
    int saved = errno;
    if (!reterr)
        return code;
    hf_error *error = error_new(code, 0);
    if (error != &out_of_memory) {
        va_list args;
        va_start(args, fmt);
        vsnprintf(error->message, sizeof error->message, fmt, args);
        va_end(args);
    }
    errno = saved;
    return error_set(reterr, error);
}

int hf__error_sys(hf_error **reterr, const char *fmt, ...)
{
    int saved = errno;
    hf_code code = hf__code_of_errno(saved);
    if (!reterr)
        return code;
    hf_error *error = error_new(code, saved);
    if (error != &out_of_memory) {
        va_list args;
        va_start(args, fmt);
        int n = vsnprintf(error->message, sizeof error->message, fmt, args);
        va_end(args);
        if (n >= 0 && (size_t)n < sizeof error->message)
            snprintf(error->message + n, sizeof error->message - (size_t)n, ": %s",
                     strerror(saved));
    }
    errno = saved;
    return error_set(reterr, error);
}

int hf__error_make(hf_error **reterr, hf_code code, int sys_errno, const char *message)
{
    if (!reterr)
        return code;
    hf_error *error = error_new(code, sys_errno);
    if (error != &out_of_memory)
        snprintf(error->message, sizeof error->message, "%s", message);
    return error_set(reterr, error);
}

void hf__error_wrap(hf_error **reterr, const char *fmt, ...)
{
    hf_error *error = reterr ? *reterr : NULL;
    if (!error || error == &out_of_memory)
        return;
    char context[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(context, sizeof context, fmt, args);
    va_end(args);
    char inner[sizeof error->message];
    memcpy(inner, error->message, sizeof inner);
    int n = snprintf(error->message, sizeof error->message, "%s: ", context);
    size_t used = n < 0 ? 0 : (size_t)n;
    if (used < sizeof error->message)
        snprintf(error->message + used, sizeof error->message - used, "%.*s",
                 (int)(sizeof error->message - used - 1), inner);
}

int hf__error_hint(hf_error **reterr, const char *fmt, ...)
{
    if (!reterr || !*reterr)
        return HF_E_SYSTEM;
    hf_error *error = *reterr;
    if (error == &out_of_memory)
        return error->code;
    size_t used = strlen(error->message);
    int n = snprintf(error->message + used, sizeof error->message - used, "; ");
    used += n > 0 ? (size_t)n : 0;
    if (used >= sizeof error->message)
        return error->code;
    va_list args;
    va_start(args, fmt);
    vsnprintf(error->message + used, sizeof error->message - used, fmt, args);
    va_end(args);
    return error->code;
}

int hf__error_file(hf_error **reterr, hf_file_error kind, int sys_errno, const char *fmt, ...)
{
    static const hf_code fitting[] = {
        [HF_FILE_NOT_FOUND] = HF_E_NOT_FOUND, [HF_FILE_PERMISSION_DENIED] = HF_E_PERMISSION,
        [HF_FILE_NO_SPACE] = HF_E_NO_SPACE,   [HF_FILE_READ_ONLY] = HF_E_PERMISSION,
        [HF_FILE_EXISTS] = HF_E_EXISTS,       [HF_FILE_PROTOCOL] = HF_E_PROTOCOL,
        [HF_FILE_CHECKSUM] = HF_E_CORRUPT,    [HF_FILE_SYSTEM] = HF_E_SYSTEM,
    };
    hf_code code = (size_t)kind < sizeof fitting / sizeof fitting[0] && fitting[kind]
                       ? fitting[kind]
                       : HF_E_INVALID;
    char message[1024];
    va_list args;
    va_start(args, fmt);
    vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    hf__error_make(reterr, code, sys_errno, message);
    if (reterr && *reterr && *reterr != &out_of_memory)
        (*reterr)->file = kind;
    return code;
}

hf_file_error hf_error_file(const hf_error *error)
{
    return error ? error->file : HF_FILE_NONE;
}

const char *hf_file_error_name(hf_file_error kind)
{
    static const char *const names[] = {
#define NAME(name, number, text) [number] = text,
        HF_FILE_ERROR_LIST(NAME)
#undef NAME
    };
    return (size_t)kind < sizeof names / sizeof names[0] ? names[kind] : "unknown";
}
