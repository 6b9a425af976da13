/* SPDX-License-Identifier: Apache-2.0 */
/* Every ceiling of every buffer, queue and count, in one place. Nothing grows without one. */
#ifndef HF_BASE_LIMITS_H
#define HF_BASE_LIMITS_H

#define KIB(n) ((size_t)(n) << 10)
#define MIB(n) ((size_t)(n) << 20)

/* wire: what one frame may carry, and what one data frame carries at most. */
#define HF_MAX_FRAME MIB(1)
#define HF_MAX_DATA KIB(64)
/* wire: words in one argv or environment, and bytes of one word. */
#define HF_MAX_WORDS 16384
#define HF_MAX_PATH 4096
/* A year of milliseconds is longer than any time a job may ask for; what is past it is a mistake or an
 * attack on the arithmetic of deadlines. */
#define HF_MAX_MS (UINT64_C(1000) * 3600 * 24 * 366)

/* How much of one stream may be on its way to a client that has not read it yet. */
#define HF_STREAM_WINDOW KIB(256)
/* The same as the library asks for it: large enough that a reader never waits for a round trip. */
#define HF_CLIENT_WINDOW MIB(1)
/* How much of a job's stdin may be on its way to a job that has not read it yet. */
#define HF_STDIN_WINDOW MIB(1)
/* What the warden remembers of each stream of a job. */
#define HF_JOB_LOG MIB(1)
/* Defaults of a job: between SIGTERM and SIGKILL, for the output of what it leaves behind, and how
 * long it is remembered. */
#define HF_GRACE_MS 2000
#define HF_DRAIN_MS 100
#define HF_KEEP_MS 600000
/* The same of all jobs together. */
#define HF_MAX_RINGS MIB(64)
/* How many clients, jobs and unsent bytes one warden holds. */
#define HF_MAX_CLIENTS 256
#define HF_MAX_JOBS 1024
#define HF_MAX_UNSENT MIB(2)
/* What it keeps of finished jobs: how many, and bytes of output in all. */
#define HF_MAX_KEPT 256
#define HF_MAX_KEPT_BYTES MIB(8)
/* Sessions: how many, the bytes of one's state, and of its name. */
#define HF_MAX_SESSIONS 256
#define HF_MAX_SESSION_STATE MIB(16)
#define HF_MAX_SESSION_NAME 128
/* "user:group" of a job, and what a list shows of its command. */
#define HF_MAX_USER 512
#define HF_MAX_COMMAND 160
/* A script on its way to a shell. */
#define HF_MAX_SCRIPT MIB(256)

/* A record, a /proc file, a passwd file: read whole, never more than this. */
#define HF_MAX_RECORD KIB(256)
#define HF_MAX_PROC_FILE KIB(256)
#define HF_MAX_PASSWD MIB(4)

/* The default of how much of each stream a result keeps, and its ceiling. */
#define HF_OUTPUT_LIMIT MIB(1)
#define HF_OUTPUT_LIMIT_MAX ((size_t)1 << 31)

/* A spec. */
#define HF_MAX_MOUNTS 256
#define HF_MAX_ENV 4096
#define HF_MAX_LABELS 256
#define HF_MAX_VALUE KIB(128)

/* A plan handed to the keeper. */
#define HF_MAX_PLAN MIB(4)
#define HF_MAX_OPS 1024

/* Depth of a directory tree that is removed or copied. */
#define HF_MAX_DEPTH 128

/* Trees that are sent: bytes of a file in one record, of an attribute's value, and what is gathered
 * before it is written. */
#define HF_MAX_FILE_DATA KIB(256)
#define HF_MAX_XATTR KIB(64)
#define HF_FILES_BATCH KIB(256)
/* A file of the kernel, which has no size of its own. */
#define HF_MAX_KERNEL_FILE MIB(16)
/* Files with several names that are remembered while a tree is on its way, and bytes of their
 * paths. Past either, further names become copies. */
#define HF_MAX_LINKS 4096
#define HF_MAX_LINK_BYTES MIB(1)
/* Problems of a tree that are told one by one; all are counted. */
#define HF_MAX_PROBLEMS 64

#endif
