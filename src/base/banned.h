/* SPDX-License-Identifier: Apache-2.0 */
/*
 * banned.h - functions that are too sharp to be used.
 *
 * The build includes this header before every file of ours, so calling one of them does not compile.
 * The system's headers that declare them come first: a macro must not meet the declaration.
 */
#ifndef HF_BASE_BANNED_H
#define HF_BASE_BANNED_H

#ifndef __ASSEMBLER__

#include <alloca.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HF_BANNED(function) sorry_##function##_is_a_banned_function

/* No bound on what is written. */
#undef strcpy
#define strcpy(...) HF_BANNED(strcpy)
#undef stpcpy
#define stpcpy(...) HF_BANNED(stpcpy)
#undef strcat
#define strcat(...) HF_BANNED(strcat)
#undef sprintf
#define sprintf(...) HF_BANNED(sprintf)
#undef vsprintf
#define vsprintf(...) HF_BANNED(vsprintf)
#undef gets
#define gets(...) HF_BANNED(gets)

/* A bound that does not promise the terminating NUL, or counts the wrong thing. */
#undef strncpy
#define strncpy(...) HF_BANNED(strncpy)
#undef strncat
#define strncat(...) HF_BANNED(strncat)

/* Hidden state between calls. */
#undef strtok
#define strtok(...) HF_BANNED(strtok)

/* Errors cannot be told from values, and overflow is undefined. */
#undef atoi
#define atoi(...) HF_BANNED(atoi)
#undef atol
#define atol(...) HF_BANNED(atol)
#undef atoll
#define atoll(...) HF_BANNED(atoll)
#undef sscanf
#define sscanf(...) HF_BANNED(sscanf)

/* Grows the stack by a size that somebody else may choose. */
#undef alloca
#define alloca(...) HF_BANNED(alloca)

/* A shell nobody asked for. */
#undef system
#define system(...) HF_BANNED(system)
#undef popen
#define popen(...) HF_BANNED(popen)

/* A name that somebody else can take first. */
#undef mktemp
#define mktemp(...) HF_BANNED(mktemp)
#undef tmpnam
#define tmpnam(...) HF_BANNED(tmpnam)
#undef tempnam
#define tempnam(...) HF_BANNED(tempnam)

#endif /* __ASSEMBLER__ */
#endif
