/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which cgroup hierarchies this host has and which of them the caller may use. Version 1, version 2
 * and the hybrid of both are one list here: directories, each with the controllers it offers.
 */
#ifndef HF_NATIVE_CGROUPS_H
#define HF_NATIVE_CGROUPS_H

#include "engine/native/plan.h"
#include "spec/spec.h"

enum { CG_MEMORY = 1 << 0, CG_PIDS = 1 << 1, CG_CPU = 1 << 2, CG_DEVICES = 1 << 3 };

struct cgroup_hierarchy {
    char base[256]; /* where the directory of all boxes, "holdfast", goes */
    char label[32]; /* "memory", "unified", ...: its name inside the box */
    bool v2;
    unsigned controllers; /* CG_* */
};

struct cgroup_host {
    struct cgroup_hierarchy list[16];
    size_t count;
    bool pure_v2;
};

#define CGROUP_PARENT "holdfast"

/* Only those that the caller may create directories in. */
void cgroups_find(bool rootful, struct cgroup_host *ret_host);

/* Which controllers there are among them, as CG_*. */
unsigned cgroups_controllers(const struct cgroup_host *host);

/* Adds the operations for a box. What was asked for by name and cannot be enforced is an error, or
 * where the caller allows it a warning. */
int cgroups_plan(const struct cgroup_host *host, const hf_spec *spec, const char *directory,
                 struct plan *plan, char *warning, size_t warning_size, hf_error **reterr);

/* Adds what the box shall see of it. */
void cgroups_plan_view(const struct cgroup_host *host, const char *directory, struct plan *plan);

/* The box's directory in one hierarchy. */
void cgroups_path(const struct cgroup_hierarchy *hierarchy, const char *directory, char *ret_path,
                  size_t size);

#endif
