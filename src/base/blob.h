/* SPDX-License-Identifier: Apache-2.0 */
/* For assembler files that carry other files: `blob name, path` makes name and name_end. */

/* clang-format off */
        .macro blob name, path
        .balign 16
        .globl  \name
        .hidden \name
        .type   \name, %object
\name:
        .incbin "\path"
        .size   \name, . - \name
        .globl  \name\()_end
        .hidden \name\()_end
\name\()_end:
        /* One byte of its own, so that the end never is the address of the next object. */
        .byte   0
        .endm

/* No executable stack. */
        .section .note.GNU-stack, "", %progbits

/*
 * The linker marks its output as built for branch protection only when every object says so. There
 * is no code here, so it is true of this one.
 */
#if defined(__aarch64__) && defined(__ARM_FEATURE_BTI_DEFAULT)
#define HF_PROPERTY      0xc0000000 /* GNU_PROPERTY_AARCH64_FEATURE_1_AND */
#define HF_PROPERTY_BITS 3          /* BTI and PAC */
#elif defined(__x86_64__) && defined(__CET__)
#define HF_PROPERTY      0xc0000002 /* GNU_PROPERTY_X86_FEATURE_1_AND */
#define HF_PROPERTY_BITS 3          /* IBT and SHSTK */
#endif

#ifdef HF_PROPERTY
        .section .note.gnu.property, "a"
        .balign 8
        .long   4                       /* length of the name */
        .long   16                      /* length of the description */
        .long   5                       /* NT_GNU_PROPERTY_TYPE_0 */
        .asciz  "GNU"
        .long   HF_PROPERTY
        .long   4
        .long   HF_PROPERTY_BITS
        .long   0
#endif
