/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client - what a program that uses the library sees.
 *
 *      client job ROUNDS WARMUP                          a job in a warm box; a bare spawn
 *      client create ROUNDS WARMUP PER [SECTIONS]        box and first job; destroy; hf_run
 *      client output ROUNDS WARMUP BLOCKS [SECTIONS]     a job that prints BLOCKS x 64 KiB
 *      client idle                                       memory of a box that does nothing
 *      client crowd BOXES ROUNDS                         many boxes at once
 *      client up NAME | down NAME | purge                for the other measurements
 *
 * Each prints one JSON document. SECTIONS are processes to run in the same rounds; see sample.h.
 * The directories come from HOLDFAST_RUNTIME_DIR and HOLDFAST_DATA_DIR. Boxes are ordinary ones
 * that outlive this process, as a user's do; whoever starts this program calls `purge` afterwards.
 */
#include "sample.h"

#include <holdfast.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define MAX_SECTIONS 8
#define BLOCK 65536
#define READ_SIZE (256 * 1024)
#define IDLE_MS 300

static hf_context *hf;

static const char *const true_argv[] = {"bash", "-c", "true", NULL};
static const hf_job_options true_job = {.size = sizeof true_job, .argv = true_argv};

__attribute__((noreturn)) static void fail(const char *what, hf_error *error)
{
    die("%s: %s", what, hf_error_message(error));
}

static hf_box *create(const char *name)
{
    hf_error *error = NULL;
    hf_spec *spec = NULL;
    hf_box *box = NULL;

    if (name && (hf_spec_new(&spec, &error) < 0 || hf_spec_set(spec, "name", name, &error) < 0))
        fail("spec", error);
    if (hf_box_create(hf, spec, HF_BOX_EXCLUSIVE, &box, &error) < 0)
        fail("create", error);
    hf_spec_free(spec);
    return box;
}

/* Removes the box and gives its handle back. Returns how long the removal took. */
static uint64_t destroy(hf_box *box)
{
    hf_error *error = NULL;
    uint64_t begin = now_ns();

    if (hf_box_remove(hf, hf_box_name(box), HF_REMOVE_FORCE, &error) < 0)
        fail("remove", error);
    uint64_t took = now_ns() - begin;
    hf_box_close(box);
    return took;
}

static void expect_success(const hf_result *result)
{
    const char *reason = hf_result_reason(result);

    if (hf_result_outcome(result) != HF_EXITED || hf_result_exit_code(result) != 0)
        die("the job ended as %s, exit code %d%s%s", hf_outcome_name(hf_result_outcome(result)),
            hf_result_exit_code(result), reason ? ": " : "", reason ? reason : "");
}

static hf_result *run_job(hf_box *box, const hf_job_options *options)
{
    hf_error *error = NULL;
    hf_job *job = NULL;
    hf_result *result = NULL;

    if (hf_job_start(box, options, &job, &error) < 0)
        fail("start", error);
    if (hf_job_wait(job, &result, &error) < 0)
        fail("wait", error);
    hf_job_close(job);
    expect_success(result);
    return result;
}

/* --- a job in a warm box -------------------------------------------------------------------- */

typedef struct warm_job {
    hf_box *box;
    const hf_job_options *options;
    series times;
} warm_job;

static void warm_job_once(void *data)
{
    warm_job *self = data;
    uint64_t begin = now_ns();

    hf_result_free(run_job(self->box, self->options));
    series_add(&self->times, (double)(now_ns() - begin));
}

/* What a session has to carry after some work: the variables of the box, and these. */
static void fill_session(hf_box *box, const char *name)
{
    static const char text[] =
        "cd /tmp; export A=1 B='two words'; list=(a b c); declare -A map=([x]=1)\n"
        "f() { echo \"$1\"; }; g() { local x=1; return $x; }\n"
        "h() { for i in 1 2 3; do f $i; done; }; alias ll='ls -l'; set -o pipefail";
    const hf_job_options options = {
        .size = sizeof options, .script = text, .script_size = sizeof text - 1, .session = name};

    hf_result_free(run_job(box, &options));
}

/*
 * The environment a job of this box gets. The bare spawn is given the same one: how long bash takes
 * to start depends on it, the locale above all.
 */
static char **box_environment(hf_box *box)
{
    static const char *const argv[] = {"env", "-0", NULL};
    const hf_job_options options = {.size = sizeof options, .argv = argv};
    hf_result *result = run_job(box, &options);
    size_t size, count = 0, at = 0;
    const char *output = hf_result_output(result, HF_STDOUT, &size);
    char **env = calloc(size + 1, sizeof *env);

    if (!env)
        die("out of memory");
    for (; at < size; at += strlen(output + at) + 1)
        if (!(env[count++] = strdup(output + at)))
            die("out of memory");
    hf_result_free(result);
    return env;
}

static int measure_job(char **argv)
{
    unsigned rounds = parse_count(argv[0]), warmup = parse_count(argv[1]);
    const hf_job_options script_job = {
        .size = sizeof script_job, .script = "true", .script_size = 4};
    hf_job_options session_job = script_job;
    session_job.session = "bench";
    warm_job job = {.box = create(NULL), .options = &true_job, .times.name = "job"};
    warm_job script = {.box = job.box, .options = &script_job, .times.name = "script"};
    warm_job session = {.box = job.box, .options = &session_job, .times.name = "session"};
    process bare = {(char **)true_argv, box_environment(job.box), {.name = "bare"}};
    const subject subjects[] = {{warm_job_once, &job, 1, 0},
                                {process_once, &bare, 1, 0},
                                {warm_job_once, &script, 1, 0},
                                {warm_job_once, &session, 1, 0}};
    series *lists[] = {&job.times, &bare.times, &script.times, &session.times};

    fill_session(job.box, session_job.session);
    run_rounds(rounds, warmup, subjects, 4);
    destroy(job.box);
    series_print(stdout, lists, 4);
    return 0;
}

/* --- box and first job, and the end of it ---------------------------------------------------- */

typedef struct life {
    series first_job, created, removed, all;
} life;

static void life_once(void *data)
{
    life *self = data;
    uint64_t begin = now_ns();

    hf_box *box = create(NULL);
    uint64_t created = now_ns();
    hf_result_free(run_job(box, &true_job));
    uint64_t done = now_ns();
    series_add(&self->created, (double)(created - begin));
    series_add(&self->first_job, (double)(done - begin));
    series_add(&self->removed, (double)destroy(box));
}

static void hf_run_once(void *data)
{
    life *self = data;
    hf_error *error = NULL;
    hf_result *result = NULL;
    uint64_t begin = now_ns();

    if (hf_run(hf, NULL, &true_job, &result, &error) < 0)
        fail("run", error);
    expect_success(result);
    hf_result_free(result);
    series_add(&self->all, (double)(now_ns() - begin));
}

static int measure_create(char **argv)
{
    unsigned rounds = parse_count(argv[0]), warmup = parse_count(argv[1]);
    unsigned per_round = parse_count(argv[2]);
    life boxes = {
        {.name = "first_job"}, {.name = "created"}, {.name = "removed"}, {.name = "hf_run"}};
    process processes[MAX_SECTIONS];
    subject subjects[2 + MAX_SECTIONS] = {{life_once, &boxes, per_round, 0},
                                          {hf_run_once, &boxes, per_round, 0}};
    series *lists[4 + MAX_SECTIONS] = {&boxes.first_job, &boxes.created, &boxes.removed,
                                       &boxes.all};

    size_t sections = parse_sections(argv + 3, processes, subjects + 2, MAX_SECTIONS);
    run_rounds(rounds, warmup, subjects, 2 + sections);
    for (size_t i = 0; i < sections; i++)
        lists[4 + i] = &processes[i].times;
    series_print(stdout, lists, 4 + sections);
    return 0;
}

/* --- output ---------------------------------------------------------------------------------- */

typedef struct flood {
    hf_box *box;
    const char *const *argv;
    uint64_t bytes;
    char *buffer;
    series job, bare;
} flood;

static void flood_job_once(void *data)
{
    flood *self = data;
    const hf_job_options options = {.size = sizeof options, .argv = self->argv};
    hf_error *error = NULL;
    hf_job *job = NULL;
    hf_result *result = NULL;
    hf_stream stream;
    uint64_t total = 0, begin = now_ns();
    ssize_t got;

    if (hf_job_start(self->box, &options, &job, &error) < 0)
        fail("start", error);
    while ((got = hf_job_read(job, &stream, self->buffer, READ_SIZE, -1, &error)) > 0)
        total += (uint64_t)got;
    if (got < 0)
        fail("read", error);
    if (hf_job_wait(job, &result, &error) < 0)
        fail("wait", error);
    series_add(&self->job, (double)(now_ns() - begin));
    hf_job_close(job);
    expect_success(result);
    hf_result_free(result);
    if (total != self->bytes)
        die("the job printed %llu bytes, %llu came", (unsigned long long)self->bytes,
            (unsigned long long)total);
}

/* The same program on a pipe to this process: nothing that relays can be much faster. */
static void flood_bare_once(void *data)
{
    flood *self = data;
    uint64_t total = 0, begin = now_ns();
    ssize_t got;
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        die("pipe failed");
    pid_t pid = spawn((char **)self->argv, NULL, -1, ends[1], -1);
    close(ends[1]);
    while ((got = read(ends[0], self->buffer, READ_SIZE)) > 0)
        total += (uint64_t)got;
    reap(pid, "bare pipe");
    series_add(&self->bare, (double)(now_ns() - begin));
    close(ends[0]);
    if (total != self->bytes)
        die("the bare pipe lost bytes");
}

static int measure_output(char **argv)
{
    unsigned rounds = parse_count(argv[0]), warmup = parse_count(argv[1]);
    unsigned blocks = parse_count(argv[2]);
    char count[32];
    const char *const dd[] = {"dd", "if=/dev/zero", "bs=64k", count, "status=none", NULL};
    flood self = {create(NULL),    dd, (uint64_t)blocks * BLOCK, malloc(READ_SIZE), {.name = "job"},
                  {.name = "bare"}};
    process processes[MAX_SECTIONS];
    subject subjects[2 + MAX_SECTIONS] = {{flood_job_once, &self, 1, 0},
                                          {flood_bare_once, &self, 1, 0}};
    series *lists[2 + MAX_SECTIONS] = {&self.job, &self.bare};

    if (!self.buffer)
        die("out of memory");
    snprintf(count, sizeof count, "count=%u", blocks);
    size_t sections = parse_sections(argv + 3, processes, subjects + 2, MAX_SECTIONS);
    run_rounds(rounds, warmup, subjects, 2 + sections);
    destroy(self.box);
    for (size_t i = 0; i < sections; i++)
        lists[2 + i] = &processes[i].times;
    series_print(stdout, lists, 2 + sections);
    free(self.buffer);
    return 0;
}

/* --- memory ---------------------------------------------------------------------------------- */

typedef struct memory {
    unsigned long private_kib, pss_kib;
} memory;

/* Sum of the lines of a /proc file that start with one of the keys; the number stands after it. */
static unsigned long proc_sum(const char *path, const char *const *keys)
{
    unsigned long sum = 0;
    char line[256];
    FILE *file = fopen(path, "re");

    if (!file)
        die("cannot read %s", path);
    while (fgets(line, sizeof line, file))
        for (const char *const *key = keys; *key; key++)
            if (strncmp(line, *key, strlen(*key)) == 0)
                sum += strtoul(line + strlen(*key), NULL, 10);
    fclose(file);
    return sum;
}

static memory memory_of(pid_t pid)
{
    static const char *const private[] = {"Private_Clean:", "Private_Dirty:", NULL};
    static const char *const pss[] = {"Pss:", NULL};
    char path[64];

    snprintf(path, sizeof path, "/proc/%d/smaps_rollup", (int)pid);
    return (memory){proc_sum(path, private), proc_sum(path, pss)};
}

static pid_t parent_of(pid_t pid)
{
    static const char *const key[] = {"PPid:", NULL};
    char path[64];

    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    pid_t parent = (pid_t)proc_sum(path, key);
    if (parent <= 1 || parent == getpid())
        die("warden %d has no keeper: its parent is %d", (int)pid, (int)parent);
    return parent;
}

static unsigned long available_kib(void)
{
    static const char *const key[] = {"MemAvailable:", NULL};

    return proc_sum("/proc/meminfo", key);
}

/* Adds up all boxes there are. Returns how many. */
static size_t measure_memory(memory *ret_wardens, memory *ret_keepers)
{
    hf_error *error = NULL;
    hf_boxes *boxes = NULL;
    const hf_box_info *info;
    size_t count = 0;

    if (hf_box_list(hf, &boxes, &error) < 0)
        fail("list", error);
    for (; (info = hf_boxes_get(boxes, count)); count++) {
        if (info->pid <= 0)
            die("box %s has no warden (%s)", info->name, info->state);
        memory warden = memory_of(info->pid), keeper = memory_of(parent_of(info->pid));
        ret_wardens->private_kib += warden.private_kib;
        ret_wardens->pss_kib += warden.pss_kib;
        ret_keepers->private_kib += keeper.private_kib;
        ret_keepers->pss_kib += keeper.pss_kib;
    }
    hf_boxes_free(boxes);
    return count;
}

static void print_memory(memory wardens, memory keepers)
{
    printf("\"warden_private_kib\":%lu,\"warden_pss_kib\":%lu,"
           "\"keeper_private_kib\":%lu,\"keeper_pss_kib\":%lu",
           wardens.private_kib, wardens.pss_kib, keepers.private_kib, keepers.pss_kib);
}

/* A box that has worked once: what it allocated for its first job is part of what it costs. */
static int measure_idle(char **argv)
{
    hf_box *box = create(NULL);
    memory wardens = {0}, keepers = {0};

    (void)argv;
    hf_result_free(run_job(box, &true_job));
    usleep(IDLE_MS * 1000);
    if (measure_memory(&wardens, &keepers) != 1)
        die("more than one box in the benchmark's own directory");
    putchar('{');
    print_memory(wardens, keepers);
    putchar('}');
    destroy(box);
    return 0;
}

/* --- many boxes ------------------------------------------------------------------------------ */

static void allow_many_descriptors(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static void time_jobs(hf_box *box, unsigned rounds, series *times)
{
    warm_job job = {.box = box, .options = &true_job, .times = *times};
    const subject jobs = {warm_job_once, &job, 1, 0};

    run_rounds(rounds, 10, &jobs, 1);
    *times = job.times;
}

/*
 * A lone box cannot be measured in the same rounds as a crowd. It is measured right before and
 * right after it instead.
 */
static int measure_crowd(char **argv)
{
    unsigned count = parse_count(argv[0]), rounds = parse_count(argv[1]);
    hf_box **boxes = calloc(count, sizeof(hf_box *));
    series lone = {.name = "lone"}, crowded = {.name = "crowded"};
    series created = {.name = "created"}, removed = {.name = "removed"};
    series *lists[] = {&lone, &crowded, &created, &removed};
    memory wardens = {0}, keepers = {0};

    if (!boxes)
        die("out of memory");
    allow_many_descriptors();
    hf_box *box = create(NULL);
    time_jobs(box, rounds, &lone);
    destroy(box);

    unsigned long before = available_kib();
    uint64_t begin = now_ns();
    for (unsigned i = 0; i < count; i++) {
        uint64_t start = now_ns();
        boxes[i] = create(NULL);
        series_add(&created, (double)(now_ns() - start));
    }
    uint64_t create_ns = now_ns() - begin;
    usleep(IDLE_MS * 1000);
    unsigned long after = available_kib();
    size_t seen = measure_memory(&wardens, &keepers);
    time_jobs(boxes[count / 2], rounds, &crowded);

    begin = now_ns();
    for (unsigned i = 0; i < count; i++)
        series_add(&removed, (double)destroy(boxes[i]));
    uint64_t remove_ns = now_ns() - begin;
    box = create(NULL);
    time_jobs(box, rounds, &lone);
    destroy(box);

    printf("{\"boxes\":%zu,\"create_ns\":%llu,\"remove_ns\":%llu,\"memory_kib\":%ld,", seen,
           (unsigned long long)create_ns, (unsigned long long)remove_ns,
           (long)before - (long)after);
    print_memory(wardens, keepers);
    printf(",\"series\":");
    series_print(stdout, lists, 4);
    putchar('}');
    free(boxes);
    return 0;
}

/* --- for the other measurements -------------------------------------------------------------- */

static int up(char **argv)
{
    hf_box *box = create(argv[0]);

    printf("{\"name\":\"%s\"}", hf_box_name(box));
    hf_box_close(box);
    return 0;
}

static int down(char **argv)
{
    hf_error *error = NULL;

    if (hf_box_remove(hf, argv[0], HF_REMOVE_FORCE, &error) < 0)
        fail("remove", error);
    printf("{}");
    return 0;
}

/* Removes every box there is, and goes on after a failure. */
static int purge(char **argv)
{
    hf_error *error = NULL;
    hf_boxes *boxes = NULL;
    const hf_box_info *info;
    int left = 0;

    (void)argv;
    if (hf_box_list(hf, &boxes, &error) < 0)
        fail("list", error);
    for (size_t i = 0; (info = hf_boxes_get(boxes, i)); i++) {
        if (hf_box_remove(hf, info->name, HF_REMOVE_FORCE, &error) < 0 &&
            hf_error_code(error) != HF_E_NOT_FOUND) {
            fprintf(stderr, "%s: %s\n", info->name, hf_error_message(error));
            left++;
        }
        hf_error_free(error);
        error = NULL;
    }
    hf_boxes_free(boxes);
    if (hf_sweep(hf, &error) < 0)
        fail("sweep", error);
    printf("{\"left\":%d}", left);
    return left > 0;
}

/* -------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    int arguments;
    int (*run)(char **argv);
} commands[] = {
    {"job", 2, measure_job},   {"create", 3, measure_create}, {"output", 3, measure_output},
    {"idle", 0, measure_idle}, {"crowd", 2, measure_crowd},   {"up", 1, up},
    {"down", 1, down},         {"purge", 0, purge},
};

int main(int argc, char **argv)
{
    const hf_open_options options = {.size = sizeof options, .engine = "native"};
    hf_error *error = NULL;

    for (size_t i = 0; argc > 1 && i < sizeof commands / sizeof *commands; i++) {
        if (strcmp(commands[i].name, argv[1]) != 0)
            continue;
        if (argc - 2 < commands[i].arguments)
            die("client %s: %d arguments are missing", argv[1], commands[i].arguments - argc + 2);
        if (hf_open(&options, &hf, &error) < 0)
            fail("open", error);
        int status = commands[i].run(argv + 2);
        putchar('\n');
        hf_close(hf);
        return status;
    }
    die("usage: client job|create|output|idle|crowd|up|down|purge ...");
}
