/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ids are the host's, not a runtime directory's, so this is the one thing that all root's boxes on
 * a host share: a file in which box number n holds a lock on byte n. A lock belongs to an open file
 * description that the keeper keeps; there is nothing to give back and nothing that could leak.
 */
#include "engine/native/ids.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "engine/native/launch_abi.h"

/* Above what distributions, systemd and /etc/subuid hand out; below 2^31, where old programs turn
 * ids negative. */
#define FIRST_RANGE 0x70000000U
#define RANGES 4095U

static bool is_current(int dir, int fd)
{
    struct stat ours, theirs;
    return fstat(fd, &ours) == 0 && fstatat(dir, IDS_FILE, &theirs, AT_SYMLINK_NOFOLLOW) == 0 &&
           ours.st_ino == theirs.st_ino && ours.st_dev == theirs.st_dev;
}

static bool lock_byte(int fd, uint32_t number)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = number, .l_len = 1};
    return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

int ids_take(uint32_t *ret_first, int *ret_fd, hf_error **reterr)
{
    for (int attempt = 0; attempt < 100; attempt++) {
        _cleanup_close_ int dir = -1;
        int result = hf__open_private_dir(IDS_DIR, true, &dir, reterr);
        if (result < 0) {
            hf__error_wrap(reterr, "cannot take user ids for the box");
            return result;
        }
        _cleanup_close_ int fd =
            openat(dir, IDS_FILE, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0 && errno == ENOENT)
            continue; /* the directory was removed under us: it was the last box's */
        if (fd < 0) {
            int code = hf__error_sys(reterr, "cannot open '%s/%s'", IDS_DIR, IDS_FILE);
            (void)rmdir(IDS_DIR); /* stays if anybody has something in it */
            return code;
        }
        /* From a random place: a range just given back is not used again at once. */
        uint32_t start = 0;
        (void)!getrandom(&start, sizeof start, 0);
        for (uint32_t i = 0; i < RANGES; i++) {
            uint32_t number = (start % RANGES + i) % RANGES;
            if (!lock_byte(fd, number))
                continue;
            if (!is_current(dir, fd))
                break;
            *ret_first = FIRST_RANGE + number * IDS_PER_BOX;
            *ret_fd = TAKE_FD(fd);
            return 0;
        }
    }
    return hf__error(reterr, HF_E_NO_SPACE,
                     "all %u ranges of user ids are taken by living boxes; remove some of them",
                     RANGES);
}
