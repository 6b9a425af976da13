/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/native/plan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "wire/frame.h"

static const struct {
    const char *name;
    const char *text;
} kinds[] = {
#define PLAN_ROW(kind, name, text) {name, text},
    PLAN_OPS(PLAN_ROW)
#undef PLAN_ROW
};

/* Strings live in chunks of their own, so that adding one never moves another. */
struct chunk {
    struct chunk *next;
    char text[];
};

void plan_init(struct plan *plan)
{
    *plan = (struct plan){.name = "", .box_dir = "", .image_dir = "", .subid_tool = ""};
}

char *plan_string(struct plan *plan, const char *text)
{
    size_t size = strlen(text ? text : "") + 1;
    struct chunk *chunk = malloc(sizeof *chunk + size);
    if (!chunk) {
        plan->failed = true;
        return (char *)"";
    }
    memcpy(chunk->text, text ? text : "", size);
    chunk->next = plan->strings;
    plan->strings = chunk;
    return chunk->text;
}

struct plan_op *plan_add(struct plan *plan, enum plan_kind kind, const char *s1, const char *s2,
                         const char *s3)
{
    static struct plan_op nowhere;
    if (plan->count >= HF_MAX_OPS) {
        plan->failed = true;
        return &nowhere;
    }
    if (plan->count % 32 == 0) {
        struct plan_op *ops = realloc(plan->ops, (plan->count + 32) * sizeof *ops);
        if (!ops) {
            plan->failed = true;
            return &nowhere;
        }
        plan->ops = ops;
    }
    struct plan_op *op = &plan->ops[plan->count++];
    *op = (struct plan_op){
        .kind = kind,
        .s = {plan_string(plan, s1), plan_string(plan, s2), plan_string(plan, s3)},
    };
    return op;
}

void plan_finish(struct plan *plan)
{
    for (struct chunk *chunk = plan->strings, *next; chunk; chunk = next) {
        next = chunk->next;
        free(chunk);
    }
    free(plan->ops);
    plan_init(plan);
}

void plan_encode(const struct plan *plan, const void *seccomp, size_t seccomp_size,
                 struct hf_buf *out)
{
    hf__put_u32(out, plan->flags);
    hf__put_u32(out, plan->owner);
    hf__put_u32(out, plan->volume_uid);
    hf__put_u32(out, plan->volume_gid);
    hf__put_string(out, plan->name);
    hf__put_string(out, plan->box_dir);
    hf__put_string(out, plan->image_dir);
    hf__put_string(out, plan->subid_tool);
    hf__put_u32(out, (uint32_t)plan->count);
    for (size_t i = 0; i < plan->count; i++) {
        const struct plan_op *op = &plan->ops[i];
        hf__put_u32(out, op->kind);
        hf__put_u32(out, op->flags);
        hf__put_u64(out, op->a);
        hf__put_u64(out, op->b);
        for (int k = 0; k < 3; k++)
            hf__put_string(out, op->s[k]);
    }
    hf__put_u32(out, (uint32_t)seccomp_size);
    hf__buf_append(out, seccomp, seccomp_size);
    if (plan->failed)
        out->failed = true;
}

static void decode_op(struct hf_cursor *in, struct plan_op *op)
{
    uint32_t kind = hf__get_u32(in);
    if (kind >= OP_COUNT)
        in->bad = true;
    op->kind = in->bad ? 0 : (enum plan_kind)kind;
    op->flags = hf__get_u32(in);
    op->a = hf__get_u64(in);
    op->b = hf__get_u64(in);
    for (int k = 0; k < 3; k++)
        op->s[k] = hf__get_string(in);
}

bool plan_decode(const void *data, size_t size, struct plan *ret_plan, const void **ret_seccomp,
                 size_t *ret_seccomp_size)
{
    struct hf_cursor in = hf__cursor(data, size);
    plan_init(ret_plan);
    ret_plan->flags = hf__get_u32(&in);
    ret_plan->owner = hf__get_u32(&in);
    ret_plan->volume_uid = hf__get_u32(&in);
    ret_plan->volume_gid = hf__get_u32(&in);
    ret_plan->name = hf__get_string(&in);
    ret_plan->box_dir = hf__get_string(&in);
    ret_plan->image_dir = hf__get_string(&in);
    ret_plan->subid_tool = hf__get_string(&in);
    uint32_t count = hf__get_u32(&in);
    if (in.bad || count > HF_MAX_OPS)
        return false;
    ret_plan->ops = calloc(count + 1, sizeof *ret_plan->ops);
    if (!ret_plan->ops)
        return false;
    for (; ret_plan->count < count && !in.bad; ret_plan->count++)
        decode_op(&in, &ret_plan->ops[ret_plan->count]);
    *ret_seccomp_size = hf__get_u32(&in);
    *ret_seccomp = in.at;
    return !in.bad && in.left == *ret_seccomp_size;
}

static void print_number(struct hf_buf *out, const struct plan_op *op, char which)
{
    uint64_t value = which == 'a' ? op->a : op->b;
    bool is_mode = which == 'b' && (op->kind == OP_TMPFS || op->kind == OP_DIRECTORY);
    if (is_mode)
        hf__buf_printf(out, "%04" PRIo64, value);
    else if (op->kind == OP_CAPS)
        hf__buf_printf(out, "%#" PRIx64, value);
    else
        hf__buf_printf(out, "%" PRIu64, value);
}

static void print_op(struct hf_buf *out, const struct plan_op *op)
{
    hf__buf_printf(out, "%-12s ", kinds[op->kind].name);
    for (const char *at = kinds[op->kind].text; *at; at++) {
        if (at[0] == '{' && at[1] && at[2] == '}') {
            if (at[1] >= '1' && at[1] <= '3')
                hf__buf_string(out, op->s[at[1] - '1']);
            else
                print_number(out, op, at[1]);
            at += 2;
        } else {
            hf__buf_append(out, at, 1);
        }
    }
    if (op->kind == OP_UID_MAP || op->kind == OP_GID_MAP)
        hf__buf_printf(out, ", %s of them", op->s[0]);
    static const struct {
        uint32_t flag;
        const char *word;
    } words[] = {{OPF_RDONLY, "read-only"},
                 {OPF_NOEXEC, "noexec"},
                 {OPF_IDMAP, "ids mapped"},
                 {OPF_OPTIONAL, "if the host can"}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (op->flags & words[i].flag)
            hf__buf_printf(out, ", %s", words[i].word);
    hf__buf_string(out, "\n");
}

void plan_print(const struct plan *plan, struct hf_buf *out)
{
    hf__buf_printf(out, "%-12s %s\n", "box", plan->name);
    hf__buf_printf(out, "%-12s user, pid, mount, ipc, uts%s%s\n", "namespaces",
                   plan->flags & PLAN_CGROUP ? ", cgroup" : "",
                   plan->flags & PLAN_NET ? ", net" : "");
    for (size_t i = 0; i < plan->count; i++)
        print_op(out, &plan->ops[i]);
}
