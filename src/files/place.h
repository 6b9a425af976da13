/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How things get their names in a directory that somebody else may be changing at the same time.
 *
 * Every name here is one part, without a slash, and stands below a descriptor of its directory. No
 * symlink is followed (O_NOFOLLOW refuses the links of /proc as well), so there is no way from such
 * a name to anywhere else, whatever is exchanged for what in between. This is as much as openat2's
 * RESOLVE_BENEATH gives for a path, and needs no kernel or filter that knows it.
 *
 * All functions return -1 with errno where they fail, and then have left nothing behind.
 */
#ifndef HF_FILES_PLACE_H
#define HF_FILES_PLACE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* What is known after the first try, so that it is not tried for every file. */
struct place {
    bool no_tmpfile;    /* files get a temporary name instead of none */
    bool no_empty_path; /* linkat() by descriptor is not for us: it goes by /proc */
};

/* A regular file that has not got its name yet. */
struct new_file {
    int fd;
    char temporary[16]; /* "": it has no name at all */
};

struct files_meta {
    uint32_t mode, uid, gid;
    struct timespec mtime;
};

/* Finds out what this process can do. */
void place_init(struct place *place, bool no_tmpfile);

int place_open_file(struct place *place, int dir, struct new_file *ret_file);
/* Gives the file its name in one step, in place of any file or symlink of that name. A directory is
 * not replaced (EISDIR). The descriptor stays open. */
int place_file(struct place *place, int dir, struct new_file *file, const char *name);
void place_drop_file(int dir, struct new_file *file);

/* The same for other things. */
struct thing {
    const char *text; /* a symlink; or NULL and */
    int fd;           /* what is open here gets one more name; or negative and */
    mode_t fifo;      /* the mode of a fifo, less the umask */
};
int place_thing(struct place *place, int dir, const struct thing *thing, const char *name);

/* Makes a directory with mode 0700 and opens it, or opens the one that is there. A symlink of that
 * name is replaced; anything else is ENOTDIR. */
int place_dir(int dir, const char *name, bool *ret_made);

/* Opens what is at `path` below `dir`, part by part, with O_PATH. The first part is called `top`
 * here, if that is not NULL. */
int place_find(int dir, const char *path, const char *top);

/* Owner (if asked for), then mode, then times: each would undo the one after it. -1 with the first
 * errno, after all were tried. */
int place_set_meta(int fd, const struct files_meta *meta, bool owners);

#endif
