/* SPDX-License-Identifier: Apache-2.0 */
#include "files/result.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum files_kind files_kind_of(int error)
{
    static const struct {
        uint8_t error, kind;
    } rows[] = {
        {ENOENT, FILES_NOT_FOUND},        {EACCES, FILES_PERMISSION_DENIED},
        {EPERM, FILES_PERMISSION_DENIED}, {EISDIR, FILES_IS_DIRECTORY},
        {ENOTDIR, FILES_NOT_DIRECTORY},   {ENOSPC, FILES_NO_SPACE},
        {EDQUOT, FILES_NO_SPACE},         {EROFS, FILES_READ_ONLY},
        {EFBIG, FILES_TOO_LARGE},         {ENAMETOOLONG, FILES_INVALID_PATH},
        {EEXIST, FILES_EXISTS},           {ELOOP, FILES_LOOP},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].error == error)
            return rows[i].kind;
    return FILES_SYSTEM;
}

const char *files_kind_name(enum files_kind kind)
{
    static const char *const names[] = {
#define FILES_KIND_NAME(name, text) [FILES_##name] = text,
        FILES_KINDS(FILES_KIND_NAME)
#undef FILES_KIND_NAME
    };
    return kind < sizeof names / sizeof names[0] ? names[kind] : "system";
}

static void note(struct files_error *to, enum files_kind kind, int error, const char *path)
{
    to->kind = kind;
    to->error = error;
    to->path = path ? strdup(path) : NULL;
}

int files_fail(struct files_result *result, enum files_kind kind, int error, const char *path)
{
    if (result->error.kind == FILES_OK)
        note(&result->error, kind, error, path);
    return -1;
}

void files_problem(struct files_result *result, int error, const char *path)
{
    if (result->problem_count < HF_MAX_PROBLEMS)
        note(&result->problems[result->problem_count], files_kind_of(error), error, path);
    result->problem_count++;
}

void files_result_finish(struct files_result *result)
{
    free(result->error.path);
    for (size_t i = 0; i < HF_MAX_PROBLEMS; i++)
        free(result->problems[i].path);
    *result = (struct files_result){0};
}
