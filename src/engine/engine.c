/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/engine.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct hf_engine *const engines[] = {&hf__engine_native};

int hf__engine_find(const char *name, const struct hf_engine **ret_engine, hf_error **reterr)
{
    static const char *const known[] = {"auto", "native", NULL};
    if (!name || !*name || strcmp(name, "auto") == 0) {
        *ret_engine = engines[0];
        return 0;
    }
    for (size_t i = 0; i < sizeof engines / sizeof engines[0]; i++) {
        if (strcmp(engines[i]->name, name) == 0) {
            *ret_engine = engines[i];
            return 0;
        }
    }
    if (strcmp(name, "docker") == 0 || strcmp(name, "podman") == 0)
        return hf__error(reterr, HF_E_UNSUPPORTED,
                         "engine '%s' is not part of this version; use 'native'", name);
    const char *nearest = hf_nearest(name, known);
    return hf__error(reterr, HF_E_INVALID, "unknown engine '%s'; %s%s%s", name,
                     nearest ? "did you mean '" : "known are auto and native",
                     nearest ? nearest : "", nearest ? "'?" : "");
}

static char *copy(const char *text)
{
    return text ? strdup(text) : NULL;
}

/* ---- checks --------------------------------------------------------------------------------- */

struct hf_checks {
    const char *engine;
    hf_check *rows;
    size_t count;
    bool failed;
};

int hf__checks_new(const char *engine, hf_checks **ret_checks, hf_error **reterr)
{
    hf_checks *checks = calloc(1, sizeof *checks);
    if (!checks)
        return hf__error(reterr, HF_E_NO_SPACE, "out of memory");
    checks->engine = engine;
    *ret_checks = checks;
    return 0;
}

void hf__checks_add(hf_checks *checks, const char *name, hf_check_status status, const char *fix,
                    const char *detail, ...)
{
    char text[512];
    va_list args;
    va_start(args, detail);
    vsnprintf(text, sizeof text, detail, args);
    va_end(args);
    hf_check *rows = realloc(checks->rows, (checks->count + 1) * sizeof *rows);
    if (!rows)
        return;
    checks->rows = rows;
    rows[checks->count++] = (hf_check){copy(name), status, copy(text), copy(fix)};
    checks->failed |= status == HF_CHECK_FAIL;
}

const hf_check *hf_checks_get(const hf_checks *checks, size_t index)
{
    return index < checks->count ? &checks->rows[index] : NULL;
}

bool hf_checks_usable(const hf_checks *checks)
{
    return !checks->failed;
}

int hf_checks_json(const hf_checks *checks, char **ret_json, hf_error **reterr)
{
    static const char *const status[] = {"ok", "warn", "fail"};
    _cleanup_json_ hf_json *document = hf__json_object();
    hf_json *rows = hf__json_array();
    hf__json_set_string(document, "engine", checks->engine);
    hf__json_set_bool(document, "usable", !checks->failed);
    for (size_t i = 0; i < checks->count; i++) {
        const hf_check *check = &checks->rows[i];
        hf_json *row = hf__json_object();
        hf__json_set_string(row, "name", check->name);
        hf__json_set_string(row, "status", status[check->status]);
        hf__json_set_string(row, "detail", check->detail);
        hf__json_set_string(row, "fix", check->fix);
        hf__json_append(rows, row);
    }
    hf__json_set(document, "checks", rows);
    return hf__json_print(document, false, ret_json, reterr);
}

void hf_checks_free(hf_checks *checks)
{
    if (!checks)
        return;
    for (size_t i = 0; i < checks->count; i++) {
        free((char *)checks->rows[i].name);
        free((char *)checks->rows[i].detail);
        free((char *)checks->rows[i].fix);
    }
    free(checks->rows);
    free(checks);
}

/* ---- boxes ---------------------------------------------------------------------------------- */

struct hf_boxes {
    hf_box_info *rows;
    size_t count;
};

int hf__boxes_new(hf_boxes **ret_boxes, hf_error **reterr)
{
    hf_boxes *boxes = calloc(1, sizeof *boxes);
    if (!boxes)
        return hf__error(reterr, HF_E_NO_SPACE, "out of memory");
    *ret_boxes = boxes;
    return 0;
}

void hf__boxes_add(hf_boxes *boxes, const hf_box_info *info)
{
    hf_box_info *rows = realloc(boxes->rows, (boxes->count + 1) * sizeof *rows);
    if (!rows)
        return;
    boxes->rows = rows;
    hf_box_info *row = &rows[boxes->count++];
    *row = *info;
    row->name = copy(info->name);
    row->state = copy(info->state);
    row->engine = copy(info->engine);
    row->image = copy(info->image);
    row->task = copy(info->task);
    row->profile = copy(info->profile);
}

static int by_name(const void *a, const void *b)
{
    const hf_box_info *left = a, *right = b;
    return strcmp(left->name, right->name);
}

void hf__boxes_sort(hf_boxes *boxes)
{
    if (boxes->count > 1)
        qsort(boxes->rows, boxes->count, sizeof *boxes->rows, by_name);
}

const hf_box_info *hf_boxes_get(const hf_boxes *boxes, size_t index)
{
    return index < boxes->count ? &boxes->rows[index] : NULL;
}

int hf_boxes_json(const hf_boxes *boxes, char **ret_json, hf_error **reterr)
{
    _cleanup_json_ hf_json *rows = hf__json_array();
    for (size_t i = 0; i < boxes->count; i++) {
        const hf_box_info *info = &boxes->rows[i];
        hf_json *row = hf__json_object();
        hf__json_set_string(row, "name", info->name);
        hf__json_set_string(row, "state", info->state);
        hf__json_set_string(row, "engine", info->engine);
        hf__json_set_string(row, "image", info->image);
        hf__json_set_string(row, "task", info->task);
        hf__json_set_string(row, "profile", info->profile);
        hf__json_set_int(row, "created", info->created);
        hf__json_set_int(row, "pid", info->pid);
        hf__json_append(rows, row);
    }
    return hf__json_print(rows, false, ret_json, reterr);
}

void hf_boxes_free(hf_boxes *boxes)
{
    if (!boxes)
        return;
    for (size_t i = 0; i < boxes->count; i++) {
        free((char *)boxes->rows[i].name);
        free((char *)boxes->rows[i].state);
        free((char *)boxes->rows[i].engine);
        free((char *)boxes->rows[i].image);
        free((char *)boxes->rows[i].task);
        free((char *)boxes->rows[i].profile);
    }
    free(boxes->rows);
    free(boxes);
}
