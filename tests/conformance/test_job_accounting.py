"""What is told about what a job and a box have used: measured, never made up."""
import re
import time

import pytest

import harness

BUSY = "import time\nwhile time.process_time() < %s: pass"


def jobs(hf, box):
    return {entry["job"]: entry for entry in hf.ok("jobs", "--json", box).json}


def stats(hf, box):
    return hf.ok("stats", "--json", box).json


# --- bytes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 1, 4095, 65536])
def test_bytes_are_counted(front, size):
    result = front.run("bash", "-c", "cat > /tmp/x; cat /tmp/x; cat /tmp/x /tmp/x >&2", input=b"x" * size, output_limit=100)
    assert result["stdin_bytes"] == size
    assert result["stdout_bytes"] == size
    assert result["stderr_bytes"] == 2 * size


def test_many_bytes_are_counted(hf, box):
    size = 30 << 20
    result = hf.exec(box, "bash", "-c", "tee /dev/stderr", flags=["-i", "--json", "--output-limit", "100"], input=b"x" * size)
    for name in ("stdin_bytes", "stdout_bytes", "stderr_bytes"):
        assert result.json[name] == size, name


def test_streams_are_counted_apart(front):
    result = front.run("bash", "-c", "printf 12345; printf 123 >&2")
    assert (result["stdin_bytes"], result["stdout_bytes"], result["stderr_bytes"]) == (0, 5, 3)


def test_merged_output_is_counted_as_stdout(front):
    result = front.run("bash", "-c", "printf 12345; printf 123 >&2", merge=True)
    assert (result["stdout_bytes"], result["stderr_bytes"]) == (8, 0)


def test_bytes_beyond_the_capture_are_counted(front):
    result = front.run("bash", "-c", "head -c 5000000 /dev/zero; head -c 4000000 /dev/zero >&2", output_limit=100)
    assert (result["stdout_bytes"], result["stderr_bytes"], result["truncated"]) == (5000000, 4000000, True)


def test_bytes_are_bytes_and_not_characters(front):
    result = front.run("cat", input="\u20ac\U0001f600")
    assert (result["stdin_bytes"], result["stdout_bytes"]) == (7, 7)


def test_input_that_nobody_took_is_not_counted(hf, box):
    """At most what fits into the job's pipe was given to it."""
    result = hf.exec(box, "bash", "-c", "exec <&-; sleep 0.2", flags=["-i", "--json"], input=b"x" * (8 << 20))
    assert 0 <= result.json["stdin_bytes"] <= 1 << 20


def test_the_list_counts_the_same(hf, box):
    result = hf.exec(box, "bash", "-c", "cat; printf 123 >&2", flags=["-i", "--json", "--output-limit", "100"],
                     input=b"x" * 100000)
    entry = jobs(hf, box)[result.json["job"]]
    for name in ("stdin_bytes", "stdout_bytes", "stderr_bytes", "max_rss_bytes"):
        assert entry[name] == result.json[name], name
    assert (entry["stdin_bytes"], entry["stdout_bytes"], entry["stderr_bytes"]) == (100000, 100000, 3)
    assert entry["cpu_ms"] == pytest.approx(result.json["cpu_ms"], abs=1)


def test_a_terminals_bytes_are_counted(hf, box):
    number = hf.ok("exec", "-d", "-t", box, "--", "printf", "12345\\n").text.strip()
    hf("wait", box, number)
    assert jobs(hf, box)[number]["stdout_bytes"] == 7, "the terminal makes CR LF of it"


# --- time ----------------------------------------------------------------------------------------


def test_a_busy_loop_has_its_cpu_time(front):
    result = front.run("python3", "-c", BUSY % 0.3)
    assert 200 < result["cpu_ms"] < 5000, result
    assert result["duration_ms"] >= 200


def test_a_sleep_has_none(front):
    result = front.run("sleep", "0.5")
    assert result["duration_ms"] >= 490
    assert 0 <= result["cpu_ms"] < 200


def test_cpu_time_of_children_that_were_waited_for_counts(front):
    result = front.run("bash", "-c", "python3 -c \"$0\"; python3 -c \"$0\"", BUSY % 0.15)
    assert 200 < result["cpu_ms"] < 5000, result


def test_cpu_time_is_the_jobs_own(hf, box):
    """What others of the box use meanwhile, and have used before, is not in it."""
    hf.exec(box, "python3", "-c", BUSY % 0.5)
    other = hf.popen("exec", box, "--", "python3", "-c", BUSY % 0.5)
    result = hf.exec(box, "sleep", "0.3", flags=["--json"])
    other.communicate(timeout=harness.PATIENCE)
    assert 0 <= result.json["cpu_ms"] < 200


def test_threads_on_two_cpus_count_together(hf, box):
    script = ("import hashlib,threading\ndata = bytes(1 << 20)\n"
              "def work():\n    for _ in range(100): hashlib.sha256(data).digest()\n"
              "threads = [threading.Thread(target=work) for _ in range(2)]\n"
              "for t in threads: t.start()\nfor t in threads: t.join()\nimport time\nprint(time.process_time() * 1000)")
    result = hf.exec(box, "python3", "-c", script, flags=["--json"])
    assert result.json["cpu_ms"] >= float(result.json["stdout"]) * 0.9


def test_duration_is_not_longer_than_the_call(hf, box):
    start = time.monotonic()
    result = hf.exec(box, "sleep", "0.2", flags=["--json"])
    assert 190 <= result.json["duration_ms"] <= (time.monotonic() - start) * 1000 + 1


def test_duration_ends_with_the_main_process(hf, box):
    """Not with the drain time or what is left in the background."""
    result = hf.exec(box, "bash", "-c", "sleep 1000 & exit 0", flags=["--json", "--drain", "2s"])
    assert result.json["duration_ms"] < 1900, result.json


def test_duration_of_a_timeout(front):
    result = front.run("sleep", "1000", timeout="300ms")
    assert 290 <= result["duration_ms"] < 25000


def test_nothing_is_told_of_a_job_that_did_not_start(front):
    result = front.run("no-such-program-anywhere")
    assert (result["stdout_bytes"], result["stdin_bytes"], result["max_rss_bytes"]) == (0, 0, 0)
    assert result["cpu_ms"] < 100


def test_times_of_the_list(hf, box):
    before = time.time() * 1000
    number = hf.ok("exec", "-d", box, "--", "python3", "-c", BUSY % 0.2).text.strip()
    hf("wait", box, number)
    after = time.time() * 1000
    entry = jobs(hf, box)[number]
    assert before - 5 <= entry["started_ms"] <= entry["ended_ms"] <= after + 5
    assert entry["ended_ms"] - entry["started_ms"] >= 150
    assert 100 < entry["cpu_ms"] < 5000


# --- memory --------------------------------------------------------------------------------------


def test_max_rss_follows_what_the_job_uses(front):
    small = front.run("true")["max_rss_bytes"]
    large = front.run("python3", "-c", "x = b'x' * (80 << 20)")["max_rss_bytes"]
    assert 100 << 10 < small < 20 << 20
    assert 80 << 20 <= large < 200 << 20


def test_max_rss_of_a_child_that_was_waited_for(front):
    result = front.run("bash", "-c", "python3 -c 'x = b\"x\" * (80 << 20)'; true")
    assert 80 << 20 <= result["max_rss_bytes"] < 200 << 20


def test_max_rss_is_not_remembered_from_another_job(front):
    front.run("python3", "-c", "x = b'x' * (80 << 20)")
    assert front.run("true")["max_rss_bytes"] < 20 << 20


def test_max_rss_does_not_know_the_caller(hf, box):
    """A large caller or a large warden is not a large job."""
    result = hf.exec(box, "true", flags=["-i", "--json"], input=b"x" * (64 << 20))
    assert result.json["max_rss_bytes"] < 20 << 20


# --- stats ---------------------------------------------------------------------------------------


KEYS = {"box", "cpu_ms", "memory_bytes", "memory_peak_bytes", "memory_limit_bytes", "processes", "processes_limit",
        "cpus_limit", "memory_source", "cpu_source"}


def test_stats_without_limits(hf, box):
    document = stats(hf, box)
    assert set(document) == KEYS
    assert document["box"] == box
    assert document["memory_limit_bytes"] is None and document["cpus_limit"] is None
    assert document["processes_limit"] == 256, "the default"
    assert document["memory_source"] in ("cgroup", "processes") and document["cpu_source"] in ("cgroup", "processes")
    assert 0 < document["memory_bytes"] < 64 << 20
    assert 1 <= document["processes"] < 10


def test_stats_with_limits(hf):
    box = hf.up("--memory", "64m", "--cpus", "0.5", "--pids-limit", "50")
    document = stats(hf, box)
    assert document["memory_limit_bytes"] == 64 << 20
    assert document["cpus_limit"] == 0.5
    assert document["processes_limit"] == 50
    assert document["memory_source"] == "cgroup"


def test_stats_without_a_limit_of_processes(hf):
    assert stats(hf, hf.up("--pids-limit", "0"))["processes_limit"] is None


@pytest.mark.parametrize("limited", [False, True])
def test_stats_cpu_grows_by_what_was_used(hf, limited):
    box = hf.up(*(["--cpus", "1"] if limited else []))
    before = stats(hf, box)["cpu_ms"]
    result = hf.exec(box, "python3", "-c", BUSY % 0.3, flags=["--json"])
    after = stats(hf, box)["cpu_ms"]
    assert after - before >= result.json["cpu_ms"] * 0.8 > 150
    assert after - before < 5000


@pytest.mark.parametrize("limited", [False, True])
def test_stats_memory_follows_what_is_used(hf, limited):
    box = hf.up(*(["--memory", "256m"] if limited else []))
    before = stats(hf, box)["memory_bytes"]
    script = "x = b'x' * (80 << 20)\nprint('ready', flush=True)\nimport time; time.sleep(1000)"
    number = hf.ok("exec", "-d", box, "--", "python3", "-c", script).text.strip()
    harness.wait_until(lambda: hf.ok("logs", box, number).out == b"ready\n", "it has its memory", timeout=harness.PATIENCE)
    during = stats(hf, box)
    assert 80 << 20 <= during["memory_bytes"] - before < 150 << 20
    if limited and during["memory_peak_bytes"] is not None:
        assert during["memory_peak_bytes"] >= during["memory_bytes"] - (1 << 20)
    hf.ok("kill", box, number)
    harness.wait_until(lambda: stats(hf, box)["memory_bytes"] < before + (40 << 20), "it is given back")
    peak = stats(hf, box)["memory_peak_bytes"]
    assert peak is None or peak >= 80 << 20, "the peak stays"


def test_stats_counts_processes(hf, box):
    before = stats(hf, box)["processes"]
    number = hf.ok("exec", "-d", box, "--", "bash", "-c", "for i in {1..20}; do sleep 1000 & done; echo ready; wait").text.strip()
    harness.wait_until(lambda: hf.ok("logs", box, number).out == b"ready\n", "they run")
    # The shell and the twenty, perhaps the one that looks after the job.
    assert stats(hf, box)["processes"] - before in (21, 22)
    hf.ok("kill", box, number)
    harness.wait_until(lambda: stats(hf, box)["processes"] <= before + 1, "they are gone")


def test_stats_for_people(hf):
    box = hf.up("--memory", "64m", "--cpus", "0.5", "--pids-limit", "50")
    head, line = hf.ok("stats", box).text.splitlines()
    assert "MEMORY" in head and "LIMIT" in head
    assert re.search(r"\b64M\b", line) and re.search(r"\b50\b", line) and re.search(r"\b0\.5\b", line), line


def test_stats_of_no_box(hf):
    result = hf("stats", "nothing")
    assert result.code == 125 and "nothing" in result.errors
    assert hf("stats").code == 2


def test_stats_does_not_disturb(hf, box):
    """Looking starts no process and no job in the box."""
    before = jobs(hf, box)
    first = [stats(hf, box) for _ in range(10)][-1]
    assert jobs(hf, box) == before == {}
    assert stats(hf, box)["processes"] == first["processes"]
