/* SPDX-License-Identifier: Apache-2.0 */
/*
 * holdfast.h - run commands that nobody has read yet.
 *
 * THE WORDS
 *
 *   context  where boxes are kept and how they are made: an engine, two directories, a log callback.
 *   spec     the description of a box, built from the same keys as the command line's flags.
 *   box      one sandbox: a file system, limits and a PID 1 of ours, the warden.
 *   job      one command in a box, with a process tree, output and an outcome of its own.
 *   session  shell state (directory, variables, functions...) carried from job to job.
 *
 * A COMPLETE PROGRAM
 *
 *      hf_context *hf = NULL;
 *      hf_error *err = NULL;
 *      hf_result *result = NULL;
 *      const char *argv[] = {"uname", "-a", NULL};
 *      hf_job_options job = {.size = sizeof job, .argv = argv};
 *
 *      if (hf_open(NULL, &hf, &err) < 0 || hf_run(hf, NULL, &job, &result, &err) < 0)
 *              return fprintf(stderr, "%s\n", hf_error_message(err)), 1;
 *      fputs(hf_result_output(result, HF_STDOUT, NULL), stdout);
 *      hf_result_free(result);
 *      hf_close(hf);
 *
 * CONVENTIONS
 *
 *  - Every function that can fail returns 0 (or a count) on success and a negative hf_code on
 *    failure. The last parameter receives an error object on failure and is untouched on success;
 *    it may be NULL. The caller frees the object with hf_error_free().
 *  - Parameters named ret_* are set on success only.
 *  - Every destructor takes NULL and does nothing with it.
 *  - Option structs start with `size`, set by the caller to sizeof the struct it was compiled with.
 *    A newer library reads only what an older caller has; members left zero mean the default.
 *  - Strings are UTF-8 by convention and never checked for it; a NUL ends them.
 *  - The library never prints, never changes signal dispositions, the working directory, the
 *    environment or the umask of the process, and closes every descriptor it opens on exec.
 *  - A context, with all boxes and jobs made from it, belongs to one thread at a time. Different
 *    contexts may be used by different threads at the same moment. Two calls are promised to be safe
 *    beyond that, on a job that another thread is waiting for: hf_job_signal() and hf_job_cancel();
 *    the latter from a signal handler, too.
 */
#ifndef HOLDFAST_H
#define HOLDFAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HF_VERSION_MAJOR 0
#define HF_VERSION_MINOR 1
#define HF_VERSION_PATCH 0
#define HF_VERSION "0.1.0"

#if defined(__GNUC__)
#define HF_API __attribute__((visibility("default")))
#else
#define HF_API
#endif

/* The version of the library that is loaded, as "major.minor.patch". */
HF_API const char *hf_version(void);

/* ------------------------------------------------------------------------------------------------
 * Errors
 * ---------------------------------------------------------------------------------------------- */

/*
 * One list makes the enum, the names and the texts. The numbers are part of the ABI: new codes are
 * added at the end.
 *
 *   INVALID      the caller asked for something that makes no sense; nothing was touched
 *   NOT_FOUND    no such box, job, image or file
 *   EXISTS       it is there already
 *   PERMISSION   the caller may not
 *   UNSUPPORTED  this host or engine cannot do what was asked for by name
 *   NO_SPACE     disk, memory, descriptors or ids are used up
 *   BUSY         somebody else holds it, and did not let go in time
 *   CORRUPT      a record on disk is not what holdfast wrote
 *   PROTOCOL     the box sent bytes that make no sense; it is treated as hostile
 *   TIMEOUT      a bounded wait ran out
 *   LOST         the box died under the call
 *   SYSTEM       a system call failed in a way that has no better name; see hf_error_errno()
 *   NOT_RUNNING  the box is there but its warden is not
 */
#define HF_CODE_LIST(X)                                                                            \
    X(INVALID, 1, "invalid argument")                                                              \
    X(NOT_FOUND, 2, "not found")                                                                   \
    X(EXISTS, 3, "already exists")                                                                 \
    X(PERMISSION, 4, "permission denied")                                                          \
    X(UNSUPPORTED, 5, "not supported here")                                                        \
    X(NO_SPACE, 6, "no space left")                                                                \
    X(BUSY, 7, "busy")                                                                             \
    X(CORRUPT, 8, "corrupt record")                                                                \
    X(PROTOCOL, 9, "protocol violation")                                                           \
    X(TIMEOUT, 10, "timed out")                                                                    \
    X(LOST, 11, "box lost")                                                                        \
    X(SYSTEM, 12, "system error")                                                                  \
    X(NOT_RUNNING, 13, "not running")

typedef enum hf_code {
    HF_OK = 0,
#define HF_CODE_ENUM(name, number, text) HF_E_##name = -(number),
    HF_CODE_LIST(HF_CODE_ENUM)
#undef HF_CODE_ENUM
} hf_code;

typedef struct hf_error hf_error;

/* The code as it was returned by the call that made the error. HF_OK for NULL. */
HF_API hf_code hf_error_code(const hf_error *error);
/* The errno behind it, or 0 where no system call is to blame. */
HF_API int hf_error_errno(const hf_error *error);
/* One sentence: what failed, on what, why, and where there is one the next step. Never NULL. */
HF_API const char *hf_error_message(const hf_error *error);
/* The code's name in lower case ("not_found"), as it stands in JSON. Never NULL. */
HF_API const char *hf_code_name(hf_code code);
HF_API void hf_error_free(hf_error *error);

/* ------------------------------------------------------------------------------------------------
 * Words and numbers, for front ends: every one of them reads the same text the same way
 * ---------------------------------------------------------------------------------------------- */

/*
 * A size in bytes: "4096", "512k", "1.5g", "2GiB". Units are powers of 1024, their case does not
 * matter. A fraction of a byte is rounded up. Signs, hexadecimal, exponents, anything after the
 * unit and more than INT64_MAX bytes are refused with HF_E_INVALID.
 */
HF_API int hf_parse_size(const char *text, uint64_t *ret_bytes, hf_error **reterr);

/*
 * A duration in milliseconds: "250ms", "30s", "1.5m", "2h", "7d"; a plain number means seconds.
 * Rounded up, so that only zero gives zero. At most 36500d.
 */
HF_API int hf_parse_duration(const char *text, int64_t *ret_ms, hf_error **reterr);

/*
 * The one of `candidates` (NULL-terminated) that `word` was probably meant to be, for "did you
 * mean"; NULL where none is near enough to be worth a guess.
 */
HF_API const char *hf_nearest(const char *word, const char *const *candidates);

/*
 * A copy of `text` that is safe to show on a terminal: control characters, bytes that are not UTF-8
 * and characters that change the direction of writing or cannot be seen are written out as \xNN or
 * \u{NNNN}. For everything that a box, a file name or a stranger has chosen. NULL when memory runs
 * out; free() it.
 */
HF_API char *hf_escape(const char *text);

/* ------------------------------------------------------------------------------------------------
 * Context
 * ---------------------------------------------------------------------------------------------- */

typedef struct hf_context hf_context;

typedef enum hf_log_level { HF_LOG_DEBUG, HF_LOG_INFO, HF_LOG_WARNING } hf_log_level;

/* Called for each message the library wants a person to be able to see. Must not call back. */
typedef void (*hf_log_fn)(void *data, hf_log_level level, const char *message);

typedef struct hf_open_options {
    size_t size;
    /* "native", "auto" (the default), and later "docker" and "podman". */
    const char *engine;
    /* Records, sockets, locks. Default: $HOLDFAST_RUNTIME_DIR, then $XDG_RUNTIME_DIR/holdfast, as
     * root /run/holdfast. Made with mode 0700 when missing; refused when it belongs to someone else
     * or when others may write to it. */
    const char *runtime_dir;
    /* Images, layers, persisted data. Default: $HOLDFAST_DATA_DIR, then $XDG_DATA_HOME/holdfast, as
     * root /var/lib/holdfast. The same rules. */
    const char *data_dir;
    hf_log_fn log;
    void *log_data;
} hf_open_options;

/*
 * Opens a context. `options` may be NULL. Creates nothing but the two directories, and those only
 * when a box is made.
 */
HF_API int hf_open(const hf_open_options *options, hf_context **ret_context, hf_error **reterr);

/* Closes the context. Boxes go on living; handles made from it must be closed before. */
HF_API void hf_close(hf_context *context);

/*
 * What this machine can and cannot do, one check after the other. Each check is tried, not guessed
 * from a version.
 */
typedef enum hf_check_status { HF_CHECK_OK, HF_CHECK_WARN, HF_CHECK_FAIL } hf_check_status;

typedef struct hf_check {
    const char *name;       /* "user namespaces" */
    hf_check_status status; /* FAIL: no box can be made; WARN: something is weaker or missing */
    const char *detail;     /* what was seen */
    const char *fix; /* the one command or step that would mend it; NULL where none is needed */
} hf_check;

typedef struct hf_checks hf_checks;

HF_API int hf_doctor(hf_context *context, hf_checks **ret_checks, hf_error **reterr);
/* The check at `index`, or NULL past the last one. Lives as long as the list. */
HF_API const hf_check *hf_checks_get(const hf_checks *checks, size_t index);
/* True if no check failed: boxes can be made here. */
HF_API bool hf_checks_usable(const hf_checks *checks);
/* {"engine":"native","usable":true,"checks":[{"name","status","detail","fix"},...]}; free() it. */
HF_API int hf_checks_json(const hf_checks *checks, char **ret_json, hf_error **reterr);
HF_API void hf_checks_free(hf_checks *checks);

/* ------------------------------------------------------------------------------------------------
 * Spec
 * ---------------------------------------------------------------------------------------------- */

typedef struct hf_spec hf_spec;

/* An empty spec: every option at its default. */
HF_API int hf_spec_new(hf_spec **ret_spec, hf_error **reterr);
HF_API void hf_spec_free(hf_spec *spec);

/*
 * Sets one option. `key` is the long flag without its dashes ("memory", "cpus", "pids-limit",
 * "env", "volume"); the list is in `holdfast help run` and in hf_spec_describe(). A key that may be
 * given many times adds a value each time. Values are checked at once: the error names the key, the
 * value and what is allowed.
 */
HF_API int hf_spec_set(hf_spec *spec, const char *key, const char *value, hf_error **reterr);

/*
 * The option table itself, for front ends: flag parsers, help texts and completions are made from
 * it, so that an option is written down once.
 */
typedef struct hf_option_info {
    const char *key;      /* "memory": the flag is --memory */
    char letter;          /* 'm' for -m, 0 for none */
    const char *argument; /* "SIZE"; NULL for a switch, which takes "true" or "false" */
    const char *help;     /* one line */
    const char *fallback; /* the default in words, or NULL */
    bool repeats;         /* may be given many times */
    const char *choices;  /* "none|host", or NULL where the value is free */
} hf_option_info;

/* The option at `index`, or NULL past the last one. Static. */
HF_API const hf_option_info *hf_spec_option(size_t index);

/* The spec as JSON, secret values left out. The caller frees it with free(). */
HF_API int hf_spec_describe(const hf_spec *spec, char **ret_json, hf_error **reterr);

/*
 * What making a box from this spec would do, step by step, without doing any of it: a text with one
 * operation a line. The caller frees it with free().
 */
HF_API int hf_plan(hf_context *context, const hf_spec *spec, char **ret_text, hf_error **reterr);

/* ------------------------------------------------------------------------------------------------
 * Box
 * ---------------------------------------------------------------------------------------------- */

typedef struct hf_box hf_box;

enum {
    /* The box ends with this handle, or with this process if that is killed first. */
    HF_BOX_EPHEMERAL = 1 << 0,
    /* Do not attach to a living box of that name: fail with HF_E_EXISTS. */
    HF_BOX_EXCLUSIVE = 1 << 1,
};

/*
 * Makes the box that `spec` describes, or attaches to the living box of that name. `spec` may be
 * NULL for all defaults. When it returns 0 the box's warden answers. When it fails nothing is left
 * of what it began.
 */
HF_API int hf_box_create(hf_context *context, const hf_spec *spec, unsigned flags, hf_box **ret_box,
                         hf_error **reterr);

/* Opens a living box by its name. HF_E_NOT_FOUND if there is none, HF_E_NOT_RUNNING if it died. */
HF_API int hf_box_open(hf_context *context, const char *name, hf_box **ret_box, hf_error **reterr);

/* The box's name; lives as long as the handle. */
HF_API const char *hf_box_name(const hf_box *box);
/* False once the connection to it has ended: it died, or broke the rules, or did not answer. */
HF_API bool hf_box_reachable(const hf_box *box);
/* True if hf_box_create() made it, false if it attached. */
HF_API bool hf_box_created(const hf_box *box);

/* Gives the handle back. The box lives on unless it is ephemeral. */
HF_API void hf_box_close(hf_box *box);

typedef struct hf_box_info {
    const char *name;
    const char *state; /* "running", "creating", "dead" (to be swept) */
    const char *engine;
    const char *image;
    const char *task;    /* NULL where none was given */
    const char *profile; /* never NULL */
    int64_t created;     /* seconds since 1970 */
    pid_t pid;           /* of the warden as this process sees it, or 0 */
} hf_box_info;

typedef struct hf_boxes hf_boxes;

/* All boxes of the context's engine, by name. */
HF_API int hf_box_list(hf_context *context, hf_boxes **ret_boxes, hf_error **reterr);
/* The box at `index`, or NULL past the last one. Lives as long as the list. */
HF_API const hf_box_info *hf_boxes_get(const hf_boxes *boxes, size_t index);
/* A JSON array of objects with the members' names; free() it. */
HF_API int hf_boxes_json(const hf_boxes *boxes, char **ret_json, hf_error **reterr);
HF_API void hf_boxes_free(hf_boxes *boxes);

/* One box: what was asked, and what is in force as the kernel tells it. JSON; free() it. */
HF_API int hf_box_inspect(hf_context *context, const char *name, char **ret_json,
                          hf_error **reterr);

typedef struct hf_stats {
    size_t size;              /* set by the caller */
    uint64_t cpu_ns;          /* used by the box since it was made */
    uint64_t memory_bytes;    /* in use now */
    uint64_t memory_peak;     /* the most it ever was; 0 where that cannot be told */
    uint64_t memory_limit;    /* 0 for none */
    uint64_t processes;       /* now, the warden included */
    uint64_t processes_limit; /* 0 for none */
    double cpus_limit;        /* 0 for none */
    /* Where the numbers were read: "cgroup", or "processes" where the box has no cgroup for them:
     * then files in memory are not counted. */
    const char *memory_source, *cpu_source;
} hf_stats;

/* What a living box uses. */
HF_API int hf_box_stats(hf_context *context, const char *name, hf_stats *ret_stats,
                        hf_error **reterr);

enum {
    /* Do not ask the jobs first. */
    HF_REMOVE_FORCE = 1 << 0,
};

/*
 * Ends a box: SIGTERM to its jobs, `grace_ms` for them to go (HF_DEFAULT for two seconds), then
 * SIGKILL. Returns when no process, mount or cgroup of it is left. Its record goes with it.
 */
HF_API int hf_box_stop(hf_context *context, const char *name, int64_t grace_ms, hf_error **reterr);

/* Removes a box. A running one is refused with HF_E_BUSY unless HF_REMOVE_FORCE is given. */
HF_API int hf_box_remove(hf_context *context, const char *name, unsigned flags, hf_error **reterr);

#define HF_DEFAULT (-1)

/*
 * Removes what dead boxes have left behind: a keeper that was killed, a machine that crashed. Every
 * call that makes or lists boxes does it in passing. Returns how many boxes were swept.
 */
HF_API int hf_sweep(hf_context *context, hf_error **reterr);

/* ------------------------------------------------------------------------------------------------
 * Job
 * ---------------------------------------------------------------------------------------------- */

typedef struct hf_job hf_job;

typedef enum hf_stream { HF_STDIN = 0, HF_STDOUT = 1, HF_STDERR = 2 } hf_stream;

typedef enum hf_stdin_mode {
    HF_STDIN_NULL = 0, /* /dev/null */
    HF_STDIN_PIPE = 1, /* hf_job_write() and hf_job_close_stdin() */
} hf_stdin_mode;

typedef struct hf_job_options {
    size_t size;
    /* NULL-terminated. argv[0] is looked up in the box's PATH when it has no slash. With `script`
     * it may be NULL, and is $0, $1... of the script otherwise. */
    const char *const *argv;
    /* NULL-terminated "NAME=value" on top of the box's own environment; NULL for none. */
    const char *const *env;
    /* Where it starts; NULL for the box's working directory. */
    const char *workdir;
    /* user[:group] by name or number as the box knows them; NULL for the box's user. */
    const char *user;
    hf_stdin_mode stdin_mode;
    /* stderr goes into the same pipe as stdout. */
    bool merge;
    /* Ends the whole tree after that many milliseconds; 0 for never. */
    int64_t timeout_ms;
    /* Between SIGTERM and SIGKILL; 0 for the default of two seconds. */
    int64_t grace_ms;
    /* How long output of children that outlive the main process is waited for; 0 for 100 ms. */
    int64_t drain_ms;
    /* How much of each stream hf_run() and hf_job_wait() keep; 0 for 1 MiB. Head and tail are kept,
     * the middle is counted. */
    size_t output_limit;
    /* The tree is ended when this handle is closed or this process dies. */
    bool kill_on_close;
    /* A script in place of a command, of any size up to 256 MiB. It goes to the box by a descriptor,
     * so nothing of it stands in a process list. One that begins with #! is run by the interpreter
     * it names, others by the box's bash, or sh where it has none. NULL for none. */
    const void *script;
    size_t script_size;
    /* argv[0] stands for the box's own shell: bash, or sh where it has none. */
    bool shell;
    /* The job gets a terminal of its own: one stream, stdin included whatever stdin_mode says. */
    bool tty;
    unsigned rows, columns; /* of the terminal; 0 for 24 and 80 */
    /* The session whose state the job starts with and leaves its own in; NULL for none. A command is
     * run by the session's shell, so that `cd` means something. */
    const char *session;
    /* How long the finished job stays readable; 0 for ten minutes, negative for not at all. The box
     * also bounds the number and the bytes of what it keeps; the oldest go first. */
    int64_t keep_ms;
    /* hf_job_start() waits until the command runs: its number is known, and if it could not be
     * started the job is over already. Without, a job costs one round trip less. */
    bool confirm;
} hf_job_options;

typedef enum hf_outcome {
    HF_EXITED,      /* see exit_code */
    HF_SIGNALED,    /* see signal */
    HF_TIMED_OUT,   /* the timeout ended it */
    HF_CANCELLED,   /* the caller ended it */
    HF_OOM_KILLED,  /* the box's memory limit ended it */
    HF_NOT_STARTED, /* see reason; exit_code is 125, 126 or 127 */
    HF_LOST,        /* the box died under it */
} hf_outcome;

typedef struct hf_result hf_result;

HF_API int hf_job_start(hf_box *box, const hf_job_options *options, hf_job **ret_job,
                        hf_error **reterr);

/*
 * Reads what the job has printed. Returns the number of bytes, at most `size`, and in ret_stream
 * which stream they belong to; 0 once the job is over and everything has been read. Blocks at most
 * `timeout_ms` (negative: until there is something), then fails with HF_E_TIMEOUT. Bytes read this
 * way do not count for the capture of hf_job_wait().
 */
HF_API ssize_t hf_job_read(hf_job *job, hf_stream *ret_stream, void *buffer, size_t size,
                           int64_t timeout_ms, hf_error **reterr);

/*
 * Writes to the job's stdin; returns how much was taken, blocking until something can be. A job
 * that has closed its stdin gives HF_E_SYSTEM with EPIPE.
 */
HF_API ssize_t hf_job_write(hf_job *job, const void *data, size_t size, hf_error **reterr);
HF_API int hf_job_close_stdin(hf_job *job, hf_error **reterr);

/*
 * How many bytes hf_job_write() would take now without blocking; 0 while the job has not read what
 * it was given, HF_E_SYSTEM once nobody reads its stdin any more. A caller that both writes and
 * reads asks here first: a job that waits for its output to be read reads no input either. News
 * comes in with hf_job_read() and hf_job_collect(), and hf_job_poll_fd() polls readable for it.
 */
HF_API ssize_t hf_job_stdin_room(const hf_job *job);

/*
 * Takes in what the job has printed, for hf_job_wait() to return: what hf_job_wait() does, but a
 * caller with other descriptors to watch can do it step by step. Returns 0 once the job is over and
 * all of it is there, 1 while there may be more; blocks at most `timeout_ms` for something to come
 * (negative: until it does). Not to be mixed with hf_job_read() on the same job.
 */
HF_API int hf_job_collect(hf_job *job, int64_t timeout_ms, hf_error **reterr);

/*
 * A descriptor that polls readable when the box has sent something that was not taken in yet. What
 * has been taken in already does not show: call hf_job_read() or hf_job_collect() with a timeout of
 * 0 until there is nothing, then poll. Owned by the box.
 */
HF_API int hf_job_poll_fd(hf_job *job);
/* How long to poll it at most, in milliseconds, before hf_job_read() or hf_job_collect() is called
 * all the same: a box that does not keep its promises about time is given up. -1 for ever. */
HF_API int hf_job_poll_timeout(const hf_job *job);

/* Sends a signal to the job's main process. From any thread. */
HF_API int hf_job_signal(hf_job *job, int signal, hf_error **reterr);
/* The same to every process of its tree. */
HF_API int hf_job_signal_tree(hf_job *job, int signal, hf_error **reterr);

/*
 * Ends the whole tree: SIGTERM, the grace time, SIGKILL. The outcome will be HF_CANCELLED; of a job
 * that is over, only what it left in the background is ended. From any thread, and from a signal
 * handler if `reterr` is NULL: it takes no lock, allocates nothing, does not wait and leaves errno.
 */
HF_API int hf_job_cancel(hf_job *job, hf_error **reterr);

/* The same with another grace time than the job's own; 0 kills at once. Not in a signal handler. */
HF_API int hf_job_cancel_within(hf_job *job, int64_t grace_ms, hf_error **reterr);

/* Tells a job's terminal its size. Nothing happens for a job that has none. */
HF_API int hf_job_resize(hf_job *job, unsigned rows, unsigned columns, hf_error **reterr);

/* Waits for the end and collects what has not been read. A result is made for every outcome,
 * HF_LOST and HF_NOT_STARTED included; a negative return means that even that was impossible. */
HF_API int hf_job_wait(hf_job *job, hf_result **ret_result, hf_error **reterr);

/* Gives the handle back. The job goes on unless kill_on_close was set, with its stdin at its end; a
 * terminal stays open. */
HF_API void hf_job_close(hf_job *job);

/* The same, but the job goes on whatever kill_on_close said. */
HF_API void hf_job_detach(hf_job *job);

/* The job's number in its box; 0 until the box has told it. */
HF_API uint32_t hf_job_id(const hf_job *job);
/* True once the outcome is known, or the attached log is at its end. Output may be left to read. */
HF_API bool hf_job_over(const hf_job *job);
/* Where in the stream the next byte of hf_job_read() stands, counted from the job's first one: what
 * to attach at after this process or its connection was lost. */
HF_API uint64_t hf_job_position(const hf_job *job, hf_stream stream);
HF_API bool hf_job_has_tty(const hf_job *job);
/* True if hf_job_write() goes to the job: it has a stdin, and no other client holds it. */
HF_API bool hf_job_has_stdin(const hf_job *job);

/* ------------------------------------------------------------------------------------------------
 * Jobs that somebody else started, or that were left running
 * ---------------------------------------------------------------------------------------------- */

typedef enum hf_attach_mode {
    /* Output, until the outcome is known and nothing is left that could print more. */
    HF_ATTACH_FOLLOW = 0,
    /* What the log holds now. hf_job_wait() then fails with HF_E_BUSY while the job runs. */
    HF_ATTACH_LOG = 1,
    /* No output; over when the job is. */
    HF_ATTACH_OUTCOME = 2,
    /* No output; over when the last process of its tree is gone. */
    HF_ATTACH_TREE = 3,
} hf_attach_mode;

/* A position at the end of what the job has printed. */
#define HF_POSITION_END UINT64_MAX

typedef struct hf_attach_options {
    size_t size;
    hf_attach_mode mode;
    /* Where to begin in stdout and stderr. Of bytes that the box no longer keeps (it keeps the last
     * 1 MiB of each stream) the first one that it has is given; hf_job_position() tells. */
    uint64_t from_stdout, from_stderr;
    /* If not 0: begin that many lines before the end, and not at the positions above. */
    uint64_t tail_lines;
    /* Take the job's stdin, if it has one and no other client holds it. */
    bool with_stdin;
    size_t output_limit;
} hf_attach_options;

/*
 * A handle to the job with that number, for all the calls above. `options` may be NULL. While a
 * client is attached its unread output holds the job back, as a pipe would. HF_E_NOT_FOUND if the
 * box has no such job, or no longer.
 */
HF_API int hf_job_attach(hf_box *box, uint32_t id, const hf_attach_options *options,
                         hf_job **ret_job, hf_error **reterr);

typedef struct hf_job_info {
    uint32_t id;
    const char *state;  /* "running", "ending", "background" (over, children live), "finished" */
    hf_outcome outcome; /* once it is over; see over */
    bool over;
    int exit_code, signal; /* as of a result, once it is over */
    pid_t pid;             /* of the main process in the box, or 0 */
    const pid_t *pids;     /* of its whole tree in the box, as far as there is room */
    size_t pid_count;      /* in pids */
    size_t processes;      /* in the tree */
    int64_t started_ms;    /* since 1970 */
    int64_t ended_ms;      /* the main process; 0 while it runs */
    double cpu_ms;         /* once it is over */
    uint64_t max_rss;
    uint64_t stdin_bytes, stdout_bytes, stderr_bytes;
    uint64_t stdout_from, stderr_from; /* the oldest bytes that are kept */
    unsigned clients;                  /* attached now */
    bool tty, merged;
    const char *session; /* NULL for none */
    const char *user;    /* as asked for; NULL for the box's */
    const char *command; /* as one line, cut; of a script its beginning */
} hf_job_info;

typedef struct hf_jobs hf_jobs;

/* Running jobs, those with children in the background, and finished ones that are kept; by number. */
HF_API int hf_job_list(hf_box *box, hf_jobs **ret_jobs, hf_error **reterr);
HF_API const hf_job_info *hf_jobs_get(const hf_jobs *jobs, size_t index);
HF_API int hf_jobs_json(const hf_jobs *jobs, char **ret_json, hf_error **reterr);
HF_API void hf_jobs_free(hf_jobs *jobs);

/* ------------------------------------------------------------------------------------------------
 * Sessions
 * ---------------------------------------------------------------------------------------------- */

/*
 * A session carries the working directory, variables (exported and plain), functions, aliases, shell
 * options and the umask from job to job; in boxes that have only sh, the directory, the umask and
 * the exported variables. A job that ends in any way leaves the last state that was whole; of jobs
 * that run at the same time, the one that ends last. The state lives in the box, belongs to one user
 * of it, and goes with the box. The first job of a session is a login shell.
 */
typedef struct hf_session hf_session;

/* The session of that name in the box; `name` NULL makes one that nobody else has. Nothing is asked
 * of the box until a job runs. The box must stay open as long. */
HF_API int hf_session_open(hf_box *box, const char *name, hf_session **ret_session,
                           hf_error **reterr);
HF_API const char *hf_session_name(const hf_session *session);
/* Starts a job in it: hf_job_start() with options->session set. */
HF_API int hf_session_start(hf_session *session, const hf_job_options *options, hf_job **ret_job,
                            hf_error **reterr);
/* The one call: a shell text in the session, its result. `options` may be NULL. */
HF_API int hf_session_run(hf_session *session, const char *text, const hf_job_options *options,
                          hf_result **ret_result, hf_error **reterr);
/* Gives the handle back; the state stays in the box. */
HF_API void hf_session_close(hf_session *session);
/* Drops the state as well, of every user who has a session of that name. */
HF_API int hf_session_forget(hf_box *box, const char *name, hf_error **reterr);

/* ------------------------------------------------------------------------------------------------
 * Files
 * ---------------------------------------------------------------------------------------------- */

/*
 * Files of a box, without a shell, tar or any other program in it. Paths are the box's own; relative
 * ones start at its working directory. Everything is done as `user` would do it, by a process of the
 * box, so nothing can be reached that a job of that user could not reach, and a symlink never leads
 * out of the box. What comes from a box is not trusted: sizes are checked, names are bytes to be
 * escaped (hf_escape()) before anyone sees them.
 *
 * A failure has one of these kinds; hf_error_file() tells which, and the message names the path.
 */
#define HF_FILE_ERROR_LIST(X)                                                                      \
    X(NONE, 0, "none")                                                                             \
    X(NOT_FOUND, 1, "not_found")                                                                   \
    X(PERMISSION_DENIED, 2, "permission_denied")                                                   \
    X(IS_DIRECTORY, 3, "is_directory")                                                             \
    X(NOT_DIRECTORY, 4, "not_directory")                                                           \
    X(NO_SPACE, 5, "no_space")                                                                     \
    X(READ_ONLY, 6, "read_only")                                                                   \
    X(TOO_LARGE, 7, "too_large")                                                                   \
    X(INVALID_PATH, 8, "invalid_path")                                                             \
    X(EXISTS, 9, "exists")                                                                         \
    X(LOOP, 10, "loop")                                                                            \
    X(PROTOCOL, 11, "protocol")                                                                    \
    X(CHECKSUM, 12, "checksum")                                                                    \
    X(SYSTEM, 13, "system")

typedef enum hf_file_error {
#define HF_FILE_ERROR_ENUM(name, number, text) HF_FILE_##name = (number),
    HF_FILE_ERROR_LIST(HF_FILE_ERROR_ENUM)
#undef HF_FILE_ERROR_ENUM
} hf_file_error;

/* The kind of an error that a call of this section gave; HF_FILE_NONE for others. */
HF_API hf_file_error hf_error_file(const hf_error *error);
/* "not_found", as it stands in JSON. */
HF_API const char *hf_file_error_name(hf_file_error kind);

typedef struct hf_file_options {
    size_t size;
    const char *user; /* as of a job; NULL for the box's */
    /* read: from this byte on, so many of them; a length of 0 is all there is. */
    uint64_t offset, length;
    /* write: the mode of a new file, 0 for 0644; of a replaced one its own is kept. mkdir: 0 for
     * 0755. */
    unsigned mode;
    bool append;     /* write: to the end of what is there; not atomic */
    bool no_clobber; /* write, move: fail with EXISTS if something is there */
    bool parents;    /* mkdir: make what is missing above, and be content if it is there */
    bool recursive;  /* list, remove, watch: all that is below */
    bool follow;     /* stat: what a symlink leads to, not the link */
} hf_file_options;

/* Takes bytes; negative to stop, which makes the call fail. */
typedef int (*hf_sink)(void *data, const void *bytes, size_t size);
/* Gives up to `size` bytes; 0 at the end, negative to stop: nothing is changed then. */
typedef ssize_t (*hf_source)(void *data, void *buffer, size_t size);

/* Reads a file. `options` may be NULL here and below. */
HF_API int hf_file_read(hf_box *box, const char *path, const hf_file_options *options, hf_sink sink,
                        void *data, hf_error **reterr);
/*
 * Writes a file: makes the directories above it, writes beside it, and puts it in its place when it
 * is complete. A reader sees the old one or the new one, whatever is killed or runs out meanwhile.
 */
HF_API int hf_file_write(hf_box *box, const char *path, const hf_file_options *options,
                         hf_source source, void *data, hf_error **reterr);
HF_API int hf_file_mkdir(hf_box *box, const char *path, const hf_file_options *options,
                         hf_error **reterr);
/* If `to` is a directory it goes into it, under its own name. Across file systems it is copied first
 * and removed then. */
HF_API int hf_file_move(hf_box *box, const char *from, const char *to,
                        const hf_file_options *options, hf_error **reterr);
HF_API int hf_file_remove(hf_box *box, const char *path, const hf_file_options *options,
                          hf_error **reterr);

typedef struct hf_file_info {
    const char *path; /* as asked for; of a list, below it */
    char type;        /* as in find: f d l p s c b */
    unsigned mode;    /* with the bits 07000 */
    uint32_t uid, gid;
    uint64_t size;
    int64_t mtime; /* seconds since 1970 */
    uint32_t mtime_ns;
    const char *target; /* of a symlink; NULL for others */
} hf_file_info;

typedef struct hf_files hf_files;

/* One file, itself and not what it leads to; a list of one. */
HF_API int hf_file_stat(hf_box *box, const char *path, const hf_file_options *options,
                        hf_files **ret_files, hf_error **reterr);
/* What is in a directory, by name; with `recursive` all that is below. At most a million. */
HF_API int hf_file_list(hf_box *box, const char *path, const hf_file_options *options,
                        hf_files **ret_files, hf_error **reterr);
HF_API const hf_file_info *hf_files_get(const hf_files *files, size_t index);
HF_API int hf_files_json(const hf_files *files, char **ret_json, hf_error **reterr);
HF_API void hf_files_free(hf_files *files);

typedef struct hf_copy_progress {
    uint64_t bytes, files; /* done */
    uint64_t total_bytes;  /* 0 where it is not known */
    const char *path;      /* at it */
} hf_copy_progress;

typedef struct hf_copy_options {
    size_t size;
    const char *user;
    /* Nothing more is taken than this: TOO_LARGE. 0 for no limit. */
    uint64_t max_bytes, max_files;
    /* Also owners, by number, where that is permitted. */
    bool archive;
    /* Go on with a file that an earlier copy did not finish: what is there already is compared by
     * its checksum, not sent again. For single files. */
    bool resume;
    /* The path is the place itself, not a directory to put it into. */
    bool exact;
    /* Called again and again; negative stops the copy, files that were complete stay. */
    int (*progress)(void *data, const hf_copy_progress *progress);
    void *progress_data;
} hf_copy_options;

typedef struct hf_copy_result {
    size_t size; /* set by the caller */
    uint64_t files, directories, symlinks, bytes;
    uint64_t skipped; /* devices, sockets, and what could not be read */
} hf_copy_result;

/*
 * Copies a file or a tree between the host and a box, or between two boxes. If the destination is a
 * directory the copy goes into it, under its own name; otherwise it gets the destination's name.
 * Directories, symlinks, hard links, holes, modes and dates are kept; what is there already is
 * merged with, file by file, each in one instant. Every file carries a checksum. On the host nothing
 * is ever written outside of the destination, no device, and no set-user-ID bit.
 */
HF_API int hf_copy_in(hf_box *box, const char *host_path, const char *box_path,
                      const hf_copy_options *options, hf_copy_result *ret_result,
                      hf_error **reterr);
HF_API int hf_copy_out(hf_box *box, const char *box_path, const char *host_path,
                       const hf_copy_options *options, hf_copy_result *ret_result,
                       hf_error **reterr);
HF_API int hf_copy_across(hf_box *from, const char *from_path, hf_box *to, const char *to_path,
                          const hf_copy_options *options, hf_copy_result *ret_result,
                          hf_error **reterr);
/* The same with a tar archive on a descriptor: into a directory of the box, or out of it. */
HF_API int hf_copy_tar_in(hf_box *box, int fd, const char *box_path, const hf_copy_options *options,
                          hf_copy_result *ret_result, hf_error **reterr);
HF_API int hf_copy_tar_out(hf_box *box, const char *box_path, int fd,
                           const hf_copy_options *options, hf_copy_result *ret_result,
                           hf_error **reterr);

typedef enum hf_watch_kind {
    HF_WATCH_CREATE,
    HF_WATCH_WRITE,
    HF_WATCH_REMOVE,
    HF_WATCH_RENAME,   /* from `path` to `to` */
    HF_WATCH_OVERFLOW, /* so much happened that some of it was not told */
} hf_watch_kind;

typedef struct hf_watch_event {
    hf_watch_kind kind;
    const char *path, *to; /* `to` NULL but for RENAME */
    bool directory;
} hf_watch_event;

typedef struct hf_watch hf_watch;

/* Watches a file or a directory, with `recursive` all that is below, also what is made later. */
HF_API int hf_watch_open(hf_box *box, const char *path, const hf_file_options *options,
                         hf_watch **ret_watch, hf_error **reterr);
/* The next event, which lives until the next call: 1; 0 when nothing came in time (negative: wait
 * for ever); an error once the watching has ended. */
HF_API int hf_watch_next(hf_watch *watch, int64_t timeout_ms, hf_watch_event *ret_event,
                         hf_error **reterr);
HF_API void hf_watch_close(hf_watch *watch);

/* ------------------------------------------------------------------------------------------------
 * Results
 * ---------------------------------------------------------------------------------------------- */

/* Results: plain values, no hidden work. Strings live as long as the result. */
HF_API hf_outcome hf_result_outcome(const hf_result *result);
HF_API const char *hf_outcome_name(hf_outcome outcome);
/* The exit code a shell would show: the command's own, 124, 125, 126, 127, 128+n or 130. */
HF_API int hf_result_exit_code(const hf_result *result);
/* The signal's number, or 0. */
HF_API int hf_result_signal(const hf_result *result);
/* Why, in a sentence, where the outcome alone does not say it; or NULL. */
HF_API const char *hf_result_reason(const hf_result *result);
/* What was captured, NUL-terminated for convenience; its length in ret_size if not NULL. */
HF_API const char *hf_result_output(const hf_result *result, hf_stream stream, size_t *ret_size);
/* How much the job printed in all, captured or not. */
HF_API uint64_t hf_result_total(const hf_result *result, hf_stream stream);
HF_API bool hf_result_truncated(const hf_result *result);
HF_API double hf_result_duration_ms(const hf_result *result);
HF_API double hf_result_cpu_ms(const hf_result *result);
HF_API uint64_t hf_result_max_rss(const hf_result *result);
/* How much went into the job's stdin. */
HF_API uint64_t hf_result_stdin_bytes(const hf_result *result);
/* The whole result as the JSON document of the command line. free() it. With `base64` the streams
 * are exact bytes in base64; without, invalid UTF-8 becomes U+FFFD. */
HF_API int hf_result_json(const hf_result *result, bool base64, char **ret_json, hf_error **reterr);
HF_API void hf_result_free(hf_result *result);

/*
 * The one call: a fresh box from `spec` (NULL for defaults), one job, its result, and the box is
 * gone. `input`, if the job's stdin_mode asks for it, is not available here: use the longer way.
 */
HF_API int hf_run(hf_context *context, const hf_spec *spec, const hf_job_options *options,
                  hf_result **ret_result, hf_error **reterr);

#ifdef __cplusplus
}
#endif
#endif
