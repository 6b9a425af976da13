"""Corners of jobs in which something once went wrong: processes that hide from a kill, readers that do
not read, requests that are too large, logs that have no room."""
import json
import os
import subprocess
import time

import pytest

import harness

HIDES_BEHIND_ANOTHER_UID = """
import os, time
os.setresgid(1000, 1000, 1000)
os.setresuid(1000, 1001, 1000)
print("ready", flush=True)
time.sleep(1000)
"""

ENDS_ITS_FIRST_THREAD = """
import ctypes, os, threading, time
if os.fork() == 0:
    threading.Thread(target=time.sleep, args=(1000,)).start()
    print("ready", flush=True)
    os.close(1)
    libc = ctypes.CDLL(None)
    libc.syscall(93 if os.uname().machine == "aarch64" else 60, 0)
time.sleep(1000)
"""

PROGRAM = r"""
#include <holdfast.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static hf_context *context;
static hf_box *box;

#define MUST(call) do { hf_error *error = NULL; if ((call) < 0) { \
    fprintf(stderr, "%s: %s\n", #call, hf_error_message(error)); exit(1); } } while (0)

static hf_job *start(hf_job_options options)
{
    hf_job *job = NULL;
    options.size = sizeof options;
    MUST(hf_job_start(box, &options, &job, &error));
    return job;
}

static const char *end(hf_job *job)
{
    hf_result *result = NULL;
    MUST(hf_job_wait(job, &result, &error));
    static char text[64];
    snprintf(text, sizeof text, "%s %d", hf_outcome_name(hf_result_outcome(result)),
             hf_result_exit_code(result));
    hf_result_free(result);
    hf_job_close(job);
    return text;
}

/* Two jobs on one handle, read in turns of different size: no bound is broken by either. */
static void two_readers(void)
{
    const char *words[] = {"head", "-c", "8000000", "/dev/zero", NULL};
    hf_job *jobs[2] = {start((hf_job_options){.argv = words}), start((hf_job_options){.argv = words})};
    static char buffer[65536];
    size_t got[2] = {0};
    hf_stream stream;
    for (int i = 0; got[1] < 4000000; i++)
        got[1] += (size_t)hf_job_read(jobs[1], &stream, buffer, sizeof buffer, -1, NULL);
    for (int k = 0, open = 2; open;) {
        open = 0;
        for (k = 0; k < 2; k++) {
            ssize_t n = hf_job_read(jobs[k], &stream, buffer, sizeof buffer, -1, NULL);
            got[k] += n > 0 ? (size_t)n : 0;
            open += n > 0;
        }
    }
    printf("%zu %zu ", got[0], got[1]);
    printf("%s ", end(jobs[0]));
    printf("%s\n", end(jobs[1]));
}

static void end_of_a_terminal(void)
{
    const char *words[] = {"cat", NULL};
    hf_job *job = start((hf_job_options){.argv = words, .tty = true});
    MUST(hf_job_write(job, "abc\n", 4, &error));
    MUST(hf_job_close_stdin(job, &error));
    printf("%s\n", end(job));
}

/* A request that is refused harms no other job of the connection. */
static void too_large(void)
{
    const char *sleep[] = {"sleep", "0.5", NULL}, *ok[] = {"true", NULL};
    static const char *many[20002];
    char *long_word = malloc(2000000), *script = malloc(900000);
    memset(long_word, 'x', 1999999);
    long_word[1999999] = '\0';
    memset(script, '#', 900000);
    for (int i = 0; i < 20001; i++)
        many[i] = "w";
    const char *large[] = {"true", long_word, NULL};
    hf_job *job = NULL, *other = start((hf_job_options){.argv = sleep});
    hf_job_options wrong[] = {
        {.size = sizeof *wrong, .argv = many},
        {.size = sizeof *wrong, .argv = large},
        {.size = sizeof *wrong, .argv = large, .script = script, .script_size = 900000},
        {.size = sizeof *wrong, .argv = ok, .timeout_ms = INT64_MAX / 2},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        printf("%s ", hf_code_name(hf_job_start(box, &wrong[i], &job, NULL)));
    printf("%s ", end(start((hf_job_options){.argv = ok})));
    printf("%s\n", end(other));
}

/* The very first request of a handle is the one that is too large. */
static void too_large_at_first(void)
{
    char *long_word = malloc(2000000);
    memset(long_word, 'x', 1999999);
    long_word[1999999] = '\0';
    const char *large[] = {"true", long_word, NULL}, *ok[] = {"true", NULL};
    hf_job_options wrong = {.size = sizeof wrong, .argv = large};
    hf_job *job = NULL;
    printf("%s ", hf_code_name(hf_job_start(box, &wrong, &job, NULL)));
    printf("%s\n", end(start((hf_job_options){.argv = ok})));
}

/* A job that is over can be cancelled for the sake of what it left. */
static void cancel_when_over(void)
{
    const char *words[] = {"sh", "-c", "sleep 1077 >/dev/null 2>&1 & exit 3", NULL};
    hf_job *job = start((hf_job_options){.argv = words});
    hf_result *result = NULL;
    MUST(hf_job_wait(job, &result, &error));
    MUST(hf_job_cancel(job, &error));
    hf_attach_options options = {.size = sizeof options, .mode = HF_ATTACH_TREE};
    hf_job *tree = NULL;
    MUST(hf_job_attach(box, hf_job_id(job), &options, &tree, &error));
    printf("%d ", hf_result_exit_code(result));
    printf("%s\n", end(tree));
    hf_result_free(result);
    hf_job_close(job);
}

int main(int argc, char **argv)
{
    static const struct { const char *name; void (*run)(void); } tests[] = {
        {"two-readers", two_readers}, {"end-of-a-terminal", end_of_a_terminal},
        {"too-large", too_large}, {"too-large-at-first", too_large_at_first},
        {"cancel-when-over", cancel_when_over},
    };
    MUST(hf_open(NULL, &context, &error));
    MUST(hf_box_create(context, NULL, HF_BOX_EPHEMERAL, &box, &error));
    for (size_t i = 0; argc > 1 && i < sizeof tests / sizeof *tests; i++)
        if (strcmp(tests[i].name, argv[1]) == 0)
            tests[i].run();
    hf_box_close(box);
    hf_close(context);
    return 0;
}
"""


def jobs_of(hf, box):
    return json.loads(hf.ok("jobs", "--json", box).text)


@pytest.fixture(scope="session")
def corners(tmp_path_factory):
    directory = tmp_path_factory.mktemp("corners")
    (directory / "corners.c").write_text(PROGRAM)
    return harness.compile_c(str(directory / "corners.c"), str(directory / "corners"),
                             "-I", os.path.join(harness.ROOT, "include"), "-L", harness.RELEASE,
                             f"-Wl,-rpath,{harness.RELEASE}", "-lholdfast")


@pytest.mark.parametrize("what,answer", [
    ("two-readers", "8000000 8000000 exited 0 exited 0"),
    ("end-of-a-terminal", "exited 0"),
    ("too-large", "invalid invalid invalid invalid exited 0 exited 0"),
    ("too-large-at-first", "invalid exited 0"),
    ("cancel-when-over", "3 exited 3"),
])
def test_library(corners, hf, what, answer):
    result = harness.execute([corners, what], env=hf.env)
    assert result.code == 0 and result.text.strip() == answer, str(result)


@pytest.mark.parametrize("program", [HIDES_BEHIND_ANOTHER_UID, ENDS_ITS_FIRST_THREAD],
                         ids=["another-uid", "first-thread-gone"])
def test_a_process_that_hides_is_killed(hf, program):
    box = hf.up()
    result = hf("exec", "--timeout", "2s", "--grace", "200ms", box, "--", "python3", "-c", program)
    assert result.code == 124 and result.text == "ready\n", str(result)
    left = hf.ok("exec", box, "--", "sh", "-c", "cat /proc/[0-9]*/comm").text.split()
    assert "python3" not in left
    assert [job for job in jobs_of(hf, box) if job["processes"]] == []


def test_kill_and_wait_do_not_wait_for_a_reader(hf):
    """Somebody else's stuck reader keeps its own output, and nobody else."""
    box = hf.up()
    reader = subprocess.Popen([hf.cli, "exec", box, "--", "yes"], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, env=hf.env)
    harness.wait_until(lambda: [job for job in jobs_of(hf, box) if job["stdout_bytes"] > 100000],
                       "the job prints")
    started = time.monotonic()
    assert hf("kill", box, "1").code == 0
    assert hf("wait", box, "1").code == 130
    assert time.monotonic() - started < 8
    reader.stdout.close()
    reader.wait(timeout=harness.PATIENCE)


def test_input_has_room_when_the_logs_have_none(hf):
    """70 logs of 1 MiB are more than all logs together may have; stdin and small logs go on."""
    box = hf.up("--pids-limit", "512")
    for _ in range(70):
        hf.ok("exec", "-d", box, "-c", "head -c 1100000 /dev/zero; sleep 1000")
    harness.wait_until(lambda: all(job["stdout_bytes"] == 1100000 for job in jobs_of(hf, box)),
                       "all have printed", timeout=60)
    result = hf("exec", "-i", box, "--", "wc", "-c", input=b"x" * 900000)
    assert result.code == 0 and result.text.strip() == "900000", str(result)
    quiet = hf.ok("exec", "-d", box, "-c", "seq 10000; read -t 1000 < <(sleep 1000)").text.strip()
    harness.wait_until(lambda: jobs_of(hf, box)[-1]["stdout_bytes"] == 48894, "it has printed")
    log = hf.ok("logs", box, quiet).out
    expected = "".join(f"{n}\n" for n in range(1, 10001)).encode()
    assert log and expected.endswith(log)
    assert b"\0" not in log
