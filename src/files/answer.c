/* SPDX-License-Identifier: Apache-2.0 */
#include "files/answer.h"

void files_put_failure(struct hf_buf *out, const struct files_failure *failure)
{
    size_t mark = hf__frame_begin(out, HF_FILES_ERROR, 0);
    hf__put_u8(out, failure->kind);
    hf__put_u32(out, failure->sys_errno);
    hf__put_string(out, failure->path);
    hf__frame_end(out, mark);
}

bool files_get_failure(const struct hf_frame *frame, struct files_failure *ret)
{
    struct hf_cursor in = hf__cursor(frame->payload, frame->size);
    ret->kind = hf__get_u8(&in);
    ret->sys_errno = hf__get_u32(&in);
    ret->path = hf__get_string(&in);
    return frame->type == HF_FILES_ERROR && hf__cursor_done(&in) && ret->sys_errno <= 4095;
}

void files_put_done(struct hf_buf *out, const struct files_done *done)
{
    size_t mark = hf__frame_begin(out, HF_FILES_DONE, 0);
    hf__put_u64(out, done->files);
    hf__put_u64(out, done->directories);
    hf__put_u64(out, done->symlinks);
    hf__put_u64(out, done->bytes);
    hf__put_u64(out, done->skipped);
    hf__frame_end(out, mark);
}

bool files_get_done(const struct hf_frame *frame, struct files_done *ret)
{
    struct hf_cursor in = hf__cursor(frame->payload, frame->size);
    ret->files = hf__get_u64(&in);
    ret->directories = hf__get_u64(&in);
    ret->symlinks = hf__get_u64(&in);
    ret->bytes = hf__get_u64(&in);
    ret->skipped = hf__get_u64(&in);
    return frame->type == HF_FILES_DONE && hf__cursor_done(&in);
}

void files_put_event(struct hf_buf *out, const struct files_event *event)
{
    size_t mark = hf__frame_begin(out, HF_FILES_EVENT, 0);
    hf__put_u8(out, event->kind);
    hf__put_u8(out, event->directory);
    hf__put_string(out, event->path);
    hf__put_string(out, event->to);
    hf__frame_end(out, mark);
}

bool files_get_event(const struct hf_frame *frame, struct files_event *ret)
{
    struct hf_cursor in = hf__cursor(frame->payload, frame->size);
    ret->kind = hf__get_u8(&in);
    ret->directory = hf__get_bool(&in);
    ret->path = hf__get_string(&in);
    ret->to = hf__get_string(&in);
    return frame->type == HF_FILES_EVENT && hf__cursor_done(&in) && ret->kind < FILES_EVENTS;
}

void files_put_have(struct hf_buf *out, const struct files_have *have)
{
    size_t mark = hf__frame_begin(out, HF_FILES_HAVE, 0);
    hf__put_u64(out, have->size);
    hf__put_u64(out, have->hash);
    hf__frame_end(out, mark);
}

bool files_get_have(const struct hf_frame *frame, struct files_have *ret)
{
    struct hf_cursor in = hf__cursor(frame->payload, frame->size);
    ret->size = hf__get_u64(&in);
    ret->hash = hf__get_u64(&in);
    return frame->type == HF_FILES_HAVE && hf__cursor_done(&in) && ret->size <= INT64_MAX;
}
