/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 from libcrypto, and base64. */
#ifndef HF_BASE_DIGEST_H
#define HF_BASE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct hf_bytes {
    const void *data;
    size_t size;
};

/* The digest of the parts one after the other, each preceded by its length as 8 little-endian
 * bytes, so that no two different lists of parts give the same bytes. 64 hex digits and a NUL. */
int hf__sha256_parts(const struct hf_bytes *parts, size_t count, char ret_hex[static 65],
                     hf_error **reterr);

/* The caller frees the text. */
int hf__base64(const void *data, size_t size, char **ret_text, hf_error **reterr);

#endif
