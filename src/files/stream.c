/* SPDX-License-Identifier: Apache-2.0 */
#include "files/stream.h"

#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_ERRNO 4095
#define NSEC_PER_SEC 1000000000

_Static_assert(FILES_MAX_RECORD - HF_FRAME_HEADER >= 64 + 2 * (HF_MAX_PATH + 5), "an entry fits");
_Static_assert(FILES_MAX_RECORD <= HF_MAX_FRAME && HF_MAX_FILE_DATA + 8 <= HF_MAX_FRAME, "frames");

int files_peek(const void *data, size_t size, uint16_t *ret_type, size_t *ret_length)
{
    if (size < HF_FRAME_HEADER)
        return 0;
    struct hf_cursor in = hf__cursor(data, HF_FRAME_HEADER);
    uint32_t length = hf__get_u32(&in);
    uint32_t type = hf__get_u32(&in); /* and the two bytes that are zero */
    if (type < FILES_ENTRY || type > FILES_TREE_END || hf__get_u32(&in) != 0)
        return -1;
    if (type == FILES_DATA ? length <= 8 || length > 8 + HF_MAX_FILE_DATA
                           : length > FILES_MAX_RECORD - HF_FRAME_HEADER)
        return -1;
    *ret_type = (uint16_t)type;
    *ret_length = length;
    return 1;
}

static const char *get_path(struct hf_cursor *in)
{
    const char *path = hf__get_string(in);
    if (strlen(path) >= HF_MAX_PATH) {
        in->bad = true;
        return "";
    }
    return path;
}

_Static_assert(S_IFSOCK >> 12 == FILES_SOCKET && S_IFREG >> 12 == FILES_REGULAR, "types");

enum files_type files_type_of(mode_t mode)
{
    return (enum files_type)((mode & S_IFMT) >> 12);
}

void files_put_entry(struct hf_buf *out, const struct files_entry *entry)
{
    size_t mark = hf__frame_begin(out, FILES_ENTRY, 0);
    hf__put_u8(out, (uint8_t)entry->type);
    hf__put_u8(out, entry->shared);
    hf__put_u32(out, entry->mode);
    hf__put_u32(out, entry->uid);
    hf__put_u32(out, entry->gid);
    hf__put_u64(out, (uint64_t)entry->mtime);
    hf__put_u32(out, entry->mtime_ns);
    hf__put_u64(out, entry->size);
    hf__put_string(out, entry->path);
    hf__put_string(out, entry->link);
    hf__frame_end(out, mark);
}

static bool entry_fits(const struct files_entry *entry)
{
    const unsigned types = 1U << FILES_FIFO | 1U << FILES_CHARACTER | 1U << FILES_DIRECTORY |
                           1U << FILES_BLOCK | 1U << FILES_REGULAR | 1U << FILES_SYMLINK |
                           1U << FILES_SOCKET | 1U << FILES_HARD_LINK;
    bool link = entry->type == FILES_SYMLINK || entry->type == FILES_HARD_LINK;
    if (entry->type > FILES_HARD_LINK || !(types >> entry->type & 1) || entry->mode > 07777 ||
        entry->mtime_ns >= NSEC_PER_SEC || entry->size > INT64_MAX)
        return false;
    if (entry->type != FILES_REGULAR && (entry->size > 0 || entry->shared))
        return false;
    return link == (entry->link[0] != '\0');
}

bool files_get_entry(const struct hf_frame *frame, struct files_entry *entry)
{
    struct hf_cursor in = hf__cursor(frame->payload, frame->size);
    entry->type = hf__get_u8(&in);
    entry->shared = hf__get_bool(&in);
    entry->mode = hf__get_u32(&in);
    entry->uid = hf__get_u32(&in);
    entry->gid = hf__get_u32(&in);
    entry->mtime = (int64_t)hf__get_u64(&in);
    entry->mtime_ns = hf__get_u32(&in);
    entry->size = hf__get_u64(&in);
    entry->path = get_path(&in);
    entry->link = get_path(&in);
    return hf__cursor_done(&in) && entry_fits(entry);
}

void files_put_xattr(struct hf_buf *out, const struct files_xattr *xattr)
{
    size_t mark = hf__frame_begin(out, FILES_XATTR, 0);
    hf__put_string(out, xattr->name);
    hf__buf_append(out, xattr->value, xattr->size);
    hf__frame_end(out, mark);
}

bool files_get_xattr(const struct hf_frame *frame, struct files_xattr *xattr)
{
    struct hf_cursor in = hf__cursor(frame->payload, frame->size);
    xattr->name = hf__get_string(&in);
    xattr->value = in.at;
    xattr->size = in.left;
    size_t length = strlen(xattr->name);
    /* The other name spaces mean something to the kernel: capabilities, labels, overlays. */
    return !in.bad && strncmp(xattr->name, "user.", 5) == 0 && length > 5 && length <= NAME_MAX &&
           in.left <= HF_MAX_XATTR;
}

void files_data_header(uint8_t header[static FILES_DATA_HEADER], uint64_t offset, size_t size)
{
    hf__frame_header(header, FILES_DATA, 0, size + 8);
    for (int i = 0; i < 8; i++)
        header[HF_FRAME_HEADER + i] = (uint8_t)(offset >> (8 * i));
}

void files_put_file_end(struct hf_buf *out, uint64_t sum)
{
    size_t mark = hf__frame_begin(out, FILES_FILE_END, 0);
    hf__put_u64(out, sum);
    hf__frame_end(out, mark);
}

bool files_get_file_end(const struct hf_frame *frame, uint64_t *ret_sum)
{
    struct hf_cursor in = hf__cursor(frame->payload, frame->size);
    *ret_sum = hf__get_u64(&in);
    return hf__cursor_done(&in);
}

void files_put_problem(struct hf_buf *out, const struct files_trouble *trouble)
{
    size_t mark = hf__frame_begin(out, FILES_PROBLEM, 0);
    hf__put_u32(out, trouble->error);
    hf__put_string(out, trouble->path);
    hf__frame_end(out, mark);
}

bool files_get_problem(const struct hf_frame *frame, struct files_trouble *trouble)
{
    struct hf_cursor in = hf__cursor(frame->payload, frame->size);
    trouble->error = hf__get_u32(&in);
    trouble->path = get_path(&in);
    return hf__cursor_done(&in) && trouble->error > 0 && trouble->error <= MAX_ERRNO;
}

void files_put_tree_end(struct hf_buf *out, const struct files_tree_end *end)
{
    size_t mark = hf__frame_begin(out, FILES_TREE_END, 0);
    hf__put_u64(out, end->entries);
    hf__put_u64(out, end->bytes);
    hf__put_u64(out, end->sum);
    hf__put_u32(out, end->error);
    hf__frame_end(out, mark);
}

bool files_get_tree_end(const struct hf_frame *frame, struct files_tree_end *end)
{
    struct hf_cursor in = hf__cursor(frame->payload, frame->size);
    end->entries = hf__get_u64(&in);
    end->bytes = hf__get_u64(&in);
    end->sum = hf__get_u64(&in);
    end->error = hf__get_u32(&in);
    return hf__cursor_done(&in) && end->error <= MAX_ERRNO;
}

void files_sum_record(struct hf_hash *hash, const struct hf_frame *frame)
{
    hf__hash_add(hash, frame->payload - HF_FRAME_HEADER, HF_FRAME_HEADER + frame->size);
}

unsigned files_path_parts(const char *path)
{
    unsigned parts = 0;
    for (;; path++) {
        size_t length = strcspn(path, "/");
        if (length == 0 || length > NAME_MAX || ++parts > HF_MAX_DEPTH)
            return 0;
        if (path[0] == '.' && (length == 1 || (length == 2 && path[1] == '.')))
            return 0;
        path += length;
        if (*path == '\0')
            return parts;
    }
}
