/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host image: the host's own programs under a box, and nothing else of the host. /usr and the
 * package database are layers as they are. What lies beside them (/etc, the skeleton of /var, empty
 * mount points, the links of a merged /usr) is a prepared copy in the data directory, made anew when
 * /etc has changed.
 */
#ifndef HF_NATIVE_HOSTIMAGE_H
#define HF_NATIVE_HOSTIMAGE_H

#include "engine/native/state.h"

#define HOST_MAX_TREES 12

struct host_image {
    char *root; /* the prepared layer */
    /* Host directories that are layers of their own, mounted at the same path in the box. */
    const char *trees[HOST_MAX_TREES];
    size_t tree_count;
};

/* With `prepare` false nothing is written: the path is where the layer would be. */
int host_image_get(const struct native *native, bool prepare, struct host_image *ret_image,
                   hf_error **reterr);
void host_image_finish(struct host_image *image);

#endif
