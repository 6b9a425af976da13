/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blobs.S - the warden and the keeper inside the library.
 *
 * Both are finished static programs. Carried here, the library is one file: it needs no search path
 * for its helpers, and the helper always fits the library. The build defines the two paths.
 */

#include "base/blob.h"

        .section .rodata.hf_blobs, "a", %progbits
        blob    hf__warden_blob, HF_WARDEN_PATH
        blob    hf__keeper_blob, HF_KEEPER_PATH
