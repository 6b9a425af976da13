/* SPDX-License-Identifier: Apache-2.0 */
/* What the shell of a session reads first, without the comments. The build defines the paths. */
#include "base/blob.h"

        .section .rodata.session_texts, "a", %progbits
        blob    session_bash, HF_SESSION_BASH
        blob    session_sh, HF_SESSION_SH
