/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/native/state.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/limits.h"
#include "base/path.h"

#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

static int open_sub(const char *top, const char *sub, bool create, int *ret_fd, hf_error **reterr)
{
    _cleanup_close_ int dir = -1;
    _cleanup_error_ hf_error *error = NULL;
    int result = hf__open_private_dir(top, create, &dir, &error);
    if (result < 0) {
        if (!create && result == HF_E_NOT_FOUND) {
            *ret_fd = -1;
            return 0;
        }
        return hf__error_make(reterr, result, hf_error_errno(error), hf_error_message(error));
    }
    char part[64];
    for (const char *at = sub; *at;) {
        size_t length = strcspn(at, "/");
        snprintf(part, sizeof part, "%.*s", (int)length, at);
        at += length + (at[length] == '/');
        int next = openat(dir, part, DIR_FLAGS);
        if (next < 0 && errno == ENOENT && create) {
            if (mkdirat(dir, part, 0700) < 0 && errno != EEXIST)
                return hf__error_sys(reterr, "cannot make '%s/%s'", top, sub);
            next = openat(dir, part, DIR_FLAGS);
        }
        if (next < 0 && errno == ENOENT && !create) {
            *ret_fd = -1;
            return 0;
        }
        if (next < 0)
            return hf__error_sys(reterr, "cannot open '%s/%s'", top, sub);
        close(dir);
        dir = next;
    }
    *ret_fd = TAKE_FD(dir);
    return 0;
}

int state_open_boxes(const struct native *native, bool create, int *ret_fd, hf_error **reterr)
{
    return open_sub(native->runtime_dir, "boxes", create, ret_fd, reterr);
}

int state_open_data(const struct native *native, const char *sub, bool create, int *ret_fd,
                    hf_error **reterr)
{
    return open_sub(native->data_dir, sub, create, ret_fd, reterr);
}

/* The lock was taken on a directory; somebody may have removed it and made another meanwhile. */
static bool still_there(int boxes, const char *name, int box)
{
    struct stat ours, theirs;
    return fstat(box, &ours) == 0 && fstatat(boxes, name, &theirs, AT_SYMLINK_NOFOLLOW) == 0 &&
           ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
}

int state_lock_box(int boxes, const char *name, bool create, bool wait, int *ret_fd,
                   hf_error **reterr)
{
    for (;;) {
        if (create && mkdirat(boxes, name, 0700) < 0 && errno != EEXIST)
            return hf__error_sys(reterr, "cannot make the directory of box '%s'", name);
        _cleanup_close_ int box = openat(boxes, name, DIR_FLAGS);
        if (box < 0 && errno == ENOENT) {
            if (create)
                continue;
            *ret_fd = -1;
            return 0;
        }
        if (box < 0)
            return hf__error_sys(reterr, "cannot open the directory of box '%s'", name);
        int result;
        do
            result = flock(box, wait ? LOCK_EX : LOCK_EX | LOCK_NB);
        while (result < 0 && errno == EINTR);
        if (result < 0 && errno == EWOULDBLOCK && !wait) {
            *ret_fd = -1;
            return 0;
        }
        if (result < 0)
            return hf__error_sys(reterr, "cannot lock box '%s'", name);
        if (still_there(boxes, name, box)) {
            *ret_fd = TAKE_FD(box);
            return 0;
        }
    }
}

pid_t state_keeper(int box)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    _cleanup_close_ int fd = openat(box, BOX_LOCK, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fcntl(fd, F_GETLK, &lock) < 0 || lock.l_type == F_UNLCK)
        return 0;
    return lock.l_pid;
}

pid_t state_warden(pid_t keeper)
{
    char path[64];
    _cleanup_free_ char *text = NULL;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)keeper, (int)keeper);
    if (hf__read_file_at(AT_FDCWD, path, HF_MAX_PROC_FILE, &text, NULL) < 0)
        return 0;
    return (pid_t)strtol(text, NULL, 10);
}

int state_write_record(int box, const hf_json *record, hf_error **reterr)
{
    _cleanup_free_ char *text = NULL;
    int result = hf__json_print(record, true, &text, reterr);
    return result < 0 ? result : hf__replace_file_at(box, BOX_RECORD, text, strlen(text), reterr);
}

int state_read_record(int box, const char *name, hf_json **ret_record, hf_error **reterr)
{
    _cleanup_free_ char *text = NULL;
    _cleanup_json_ hf_json *record = NULL;
    _cleanup_error_ hf_error *why = NULL;
    size_t size;
    if (hf__read_file_at(box, BOX_RECORD, HF_MAX_RECORD, &text, &size) < 0)
        return hf__error_sys(reterr, "cannot read the record of box '%s'", name);
    if (hf__json_parse(text, size, &record, &why) < 0)
        return hf__error(reterr, HF_E_CORRUPT,
                         "the record of box '%s' is damaged (%s); "
                         "remove the box with: holdfast rm --force %s",
                         name, hf_error_message(why), name);
    const char *recorded = hf__json_get_string(record, "name");
    if (!recorded || strcmp(recorded, name) != 0)
        return hf__error(reterr, HF_E_CORRUPT,
                         "the record of box '%s' is that of another; "
                         "remove the box with: holdfast rm --force %s",
                         name, name);
    *ret_record = TAKE_PTR(record);
    return 0;
}

int state_instance(int boxes, char ret_instance[static 9], hf_error **reterr)
{
    struct stat st;
    if (fstat(boxes, &st) < 0)
        return hf__error_sys(reterr, "cannot look at the directory of boxes");
    uint64_t mixed = ((uint64_t)st.st_dev * UINT64_C(0x9e3779b97f4a7c15)) ^
                     ((uint64_t)st.st_ino * UINT64_C(0xc2b2ae3d27d4eb4f));
    snprintf(ret_instance, 9, "%08x", (unsigned)(mixed ^ mixed >> 32));
    return 0;
}
