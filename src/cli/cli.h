/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line in three tables: verbs (main.c), the flags of each verb (beside it) and the
 * options of a box (in the library). Parsing, usage, help, the man page and the completions are all
 * made from them.
 */
#ifndef HF_CLI_CLI_H
#define HF_CLI_CLI_H

#include <holdfast.h>
#include <stdlib.h>

/* Exit codes of our own; everything else is the command's. */
enum {
    EXIT_OK = 0,
    EXIT_UNUSABLE = 1,
    EXIT_FILE = 1, /* a file that is not there, may not be read...: holdfast did its part */
    EXIT_USAGE = 2,
    EXIT_TIMED_OUT = 124,
    EXIT_FAILED = 125,
    EXIT_INTERRUPTED = 130,
    EXIT_READER_GONE = 141, /* as if SIGPIPE had ended us */
};

struct verb;

/* Bytes of a file: so many from `offset` on, 0 for all there is, or the last ones of it. */
struct range {
    uint64_t offset, length;
    bool from_end; /* the last `length` */
};

/* One command line, parsed. Strings belong to argv. */
struct request {
    const struct verb *verb;
    /* global */
    bool json;
    bool help;
    const char *engine; /* NULL: what HOLDFAST_ENGINE says, or the library's choice */
    /* box */
    hf_spec *spec; /* only for verbs that take box flags */
    bool dry_run;
    /* job */
    hf_job_options job;
    const char **job_env; /* NULL-terminated; job.env points here */
    size_t job_env_count;
    bool term_given;    /* -e TERM: ours is not passed on */
    const char *text;   /* -c */
    const char *script; /* --script */
    char *script_data;  /* of the file; job.script points here */
    const char **argv;  /* where the command's words are not all of it; job.argv points here */
    bool base64;
    bool interactive;
    bool tty, detach;
    const char *detach_keys; /* checked; NULL for the default */
    /* other people's jobs */
    uint64_t from_stdout, from_stderr;
    uint64_t tail;
    bool from_given, tail_given;
    bool follow, no_stdin, running;
    int signal; /* 0 for none */
    /* files; `size` of both is set where they are used */
    hf_file_options file;
    hf_copy_options copy;
    struct range range;
    bool range_given, long_format;
    /* the rest */
    bool quiet, force, all, man;
    int64_t stop_grace_ms;
    /* what is no flag */
    const char *const *words;
    size_t word_count;
    const char *const *command; /* after "--", NULL-terminated; NULL if there was none */
};

struct flag {
    hf_option_info info;
    /* Stores the value; reports what is wrong with it and returns an exit code. */
    int (*set)(struct request *request, const struct flag *flag, const char *value);
    size_t offset; /* of the member, for the setters that serve many flags */
};

/* The row that ends a table. */
#define END_OF_FLAGS                                                                               \
    {                                                                                              \
        .info = {.key = NULL }                                                                     \
    }

struct flag_group {
    const char *title;
    const struct flag *flags; /* ends with an empty row; NULL for the options of a box */
};

struct verb {
    const char *name;
    const char *usage;               /* what follows the name */
    const char *summary;             /* one line */
    const char *details;             /* a paragraph, or NULL */
    const char *examples;            /* lines */
    const struct flag_group *groups; /* ends with an empty row; the global flags come on top */
    size_t max_words;
    bool takes_command; /* what follows "--" is a command to run */
    /* The word with this number and all after it are the command even without "--"; 0 for never. */
    size_t command_from;
    /* What its words are, for completions. With jobs: a box first, then jobs of it. */
    bool completes_boxes, completes_jobs, completes_verbs;
    bool completes_files;  /* of the host, beside boxes */
    bool takes_files;      /* of boxes: its exit codes tell what is wrong with them from the rest */
    const char *completes; /* "a|b|c", or NULL */
    int (*run)(struct request *request);
};

extern const struct verb *const verbs[]; /* NULL-terminated, in the order of the help */
extern const struct verb verb_run, verb_up, verb_exec, verb_sh, verb_jobs, verb_attach, verb_logs,
    verb_wait, verb_kill, verb_read, verb_write, verb_ls, verb_stat, verb_mkdir, verb_mv, verb_cp,
    verb_watch, verb_ps, verb_inspect, verb_stats, verb_stop, verb_rm, verb_doctor, verb_completion,
    verb_version, verb_help;

const struct verb *find_verb(const char *name);
/* Reports an unknown verb with the nearest known one; returns the exit code. */
int unknown_verb(const char *name);

/* Opens the context that the request asks for, reporting what fails. 0 or an exit code. */
int open_context(const struct request *request, hf_context **ret_context);

static inline void cleanup_context(hf_context **context)
{
    hf_close(*context);
}
static inline void cleanup_box(hf_box **box)
{
    hf_box_close(*box);
}
static inline void cleanup_job(hf_job **job)
{
    hf_job_close(*job);
}
static inline void cleanup_result(hf_result **result)
{
    hf_result_free(*result);
}
static inline void cleanup_jobs(hf_jobs **jobs)
{
    hf_jobs_free(*jobs);
}
static inline void cleanup_files(hf_files **files)
{
    hf_files_free(*files);
}
static inline void cleanup_error(hf_error **error)
{
    hf_error_free(*error);
}
static inline void cleanup_text(char **text)
{
    free(*text);
}
#define CLEANUP(fn) __attribute__((cleanup(fn)))

#endif
