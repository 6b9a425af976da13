/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of operations an engine offers. Engines differ only in how they start a box's PID 1 and
 * in how one reaches it; everything a user does in a box goes over the stream that connect() gives.
 */
#ifndef HF_ENGINE_ENGINE_H
#define HF_ENGINE_ENGINE_H

#include <holdfast.h>

#include "base/error.h"
#include "base/json.h"
#include "spec/spec.h"

/* What every engine is opened with. */
struct hf_surroundings {
    const char *runtime_dir, *data_dir; /* absolute; not opened or made yet */
    hf_log_fn log;                      /* never NULL */
    void *log_data;
};

/* A box that create() made or attached to. */
struct hf_engine_box {
    bool created;
    int lifeline; /* ephemeral: the box ends when this is closed; otherwise -1 */
};

struct hf_engine {
    const char *name;

    int (*open)(const struct hf_surroundings *surroundings, void **ret_state, hf_error **reterr);
    void (*close)(void *state);

    /* Appends checks; fails only if even that is impossible. */
    int (*doctor)(void *state, hf_checks *checks, hf_error **reterr);

    /* What create() would do, as text. `spec` is finished. */
    int (*plan)(void *state, const hf_spec *spec, char **ret_text, hf_error **reterr);

    /* Makes the box or attaches to the living one of that name, atomically: of two callers at the
     * same instant one makes it and both get it. On failure nothing is left. */
    int (*create)(void *state, const hf_spec *spec, unsigned flags, struct hf_engine_box *ret_box,
                  hf_error **reterr);

    /* A connected stream to the warden. HF_E_NOT_FOUND or HF_E_NOT_RUNNING if there is none. */
    int (*connect)(void *state, const char *name, int *ret_socket, hf_error **reterr);

    /* How many processes of the box the kernel has killed for want of memory, ever; 0 where that
     * cannot be told. */
    uint64_t (*oom_kills)(void *state, const char *name);

    int (*list)(void *state, hf_boxes *boxes, hf_error **reterr);
    int (*inspect)(void *state, const char *name, hf_json **ret_json, hf_error **reterr);

    /* What a living box uses; all members but `size`, which is the caller's business. */
    int (*stats)(void *state, const char *name, hf_stats *ret_stats, hf_error **reterr);

    /* Ends the box at once and removes everything it was made of; returns when that is true. */
    int (*remove)(void *state, const char *name, hf_error **reterr);

    /* Removes what dead boxes left. `budget_ns` bounds it; 0 for no bound. Returns how many. */
    int (*sweep)(void *state, int64_t budget_ns, hf_error **reterr);
};

extern const struct hf_engine hf__engine_native;

/* "auto" and NULL choose; an unknown name is an error with the nearest known one. */
int hf__engine_find(const char *name, const struct hf_engine **ret_engine, hf_error **reterr);

/* Filling the public lists. Strings are copied. */
int hf__checks_new(const char *engine, hf_checks **ret_checks, hf_error **reterr);
void hf__checks_add(hf_checks *checks, const char *name, hf_check_status status, const char *fix,
                    const char *detail, ...) HF_PRINTF(5, 6);
int hf__boxes_new(hf_boxes **ret_boxes, hf_error **reterr);
void hf__boxes_add(hf_boxes *boxes, const hf_box_info *info);
void hf__boxes_sort(hf_boxes *boxes);

#endif
