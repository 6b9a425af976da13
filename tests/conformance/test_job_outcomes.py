"""How a job ends, and that it is told as it was."""
import signal
import subprocess
import time

import pytest

import harness

KEYS = {"outcome", "exit_code", "signal", "reason", "stdout", "stderr", "stdin_bytes", "stdout_bytes", "stderr_bytes",
        "truncated", "duration_ms", "cpu_ms", "max_rss_bytes", "job", "box"}


@pytest.mark.parametrize("code", [0, 1, 2, 42, 124, 125, 126, 127, 128, 130, 137, 255])
def test_exit_code_is_the_commands_own(front, code):
    result = front.run("sh", "-c", f"exit {code}")
    assert (result["outcome"], result["exit_code"], result["code"]) == ("exited", code, code)
    assert result["signal"] is None


@pytest.mark.parametrize("name", ["TERM", "KILL", "SEGV", "INT", "USR1"])
def test_a_signal_has_its_name(front, name):
    result = front.run("sh", "-c", f"kill -{name} $$")
    assert result["outcome"] == "signaled"
    assert result["code"] == 128 + getattr(signal, "SIG" + name)
    assert result["signal"] in (name, "SIG" + name)


def test_not_found_is_127(front):
    result = front.run("no-such-program-anywhere")
    assert (result["outcome"], result["code"]) == ("not_started", 127)
    assert "no-such-program-anywhere" in result["reason"]


def test_not_executable_is_126(front):
    result = front.run("/etc/passwd")
    assert (result["outcome"], result["code"]) == ("not_started", 126)
    assert "/etc/passwd" in result["reason"]


def test_a_directory_is_126(front):
    result = front.run("/usr/bin")
    assert (result["outcome"], result["code"]) == ("not_started", 126)


def test_missing_interpreter_is_126(front):
    front.run("sh", "-c", "printf '#!/no/such/interpreter\\n' > /tmp/script; chmod +x /tmp/script")
    result = front.run("/tmp/script")
    assert (result["outcome"], result["code"]) == ("not_started", 126)
    assert "interpreter" in result["reason"]


def test_missing_working_directory_is_126(front):
    result = front.run("true", workdir="/no/such/directory")
    assert (result["outcome"], result["code"]) == ("not_started", 126)
    assert "/no/such/directory" in result["reason"]


def test_missing_user_is_125(front):
    result = front.run("true", user="nobody-knows-me")
    assert (result["outcome"], result["code"]) == ("not_started", 125)
    assert "nobody-knows-me" in result["reason"]


def test_missing_group_is_125(front):
    result = front.run("true", user="root:no-such-group")
    assert (result["outcome"], result["code"]) == ("not_started", 125)
    assert "no-such-group" in result["reason"]


def test_timed_out_is_124(front):
    result = front.run("sh", "-c", "echo before; sleep 1000", timeout="300ms")
    assert (result["outcome"], result["code"]) == ("timed_out", 124)
    assert result["stdout"] == "before\n", "partial output is kept"


def test_an_end_before_the_timeout_is_an_exit(front):
    result = front.run("sh", "-c", "exit 3", timeout="60s")
    assert (result["outcome"], result["code"]) == ("exited", 3)


def test_a_job_that_ignores_term_is_killed_after_the_grace(front):
    result = front.run("sh", "-c", "trap '' TERM; while :; do sleep 0.05; done", timeout="200ms",
                       grace="200ms")
    assert (result["outcome"], result["code"]) == ("timed_out", 124)


def test_a_job_may_tidy_up_in_its_grace(front):
    result = front.run("sh", "-c", "trap 'echo tidy; exit 0' TERM; while :; do sleep 0.05; done",
                       timeout="200ms", grace="30s")
    assert result["outcome"] == "timed_out"
    assert result["stdout"] == "tidy\n"


def test_the_timeout_says_so_on_stderr(hf, box):
    result = hf.exec(box, "sleep", "1000", flags=["--timeout", "1s"])
    assert result.code == 124
    assert "[Command timed out after 1s]" in result.errors


def test_document_is_exactly_as_designed(front, hf, box):
    result = front.run("sh", "-c", "echo out; echo err >&2")
    result.pop("code")
    assert set(result) == KEYS
    assert result["outcome"] == "exited" and result["exit_code"] == 0
    assert result["signal"] is None and result["reason"] is None
    assert result["stdout"] == "out\n" and result["stderr"] == "err\n"
    assert result["stdout_bytes"] == 4 and result["stderr_bytes"] == 4
    assert result["truncated"] is False
    assert isinstance(result["duration_ms"], (int, float)) and result["duration_ms"] > 0
    assert isinstance(result["cpu_ms"], (int, float)) and result["cpu_ms"] >= 0
    assert isinstance(result["max_rss_bytes"], int) and result["max_rss_bytes"] > 0
    assert isinstance(result["job"], str) and result["job"].isdigit()
    assert result["box"] == box


def test_document_of_a_job_that_did_not_start(front):
    result = front.run("no-such-program-anywhere")
    result.pop("code")
    assert set(result) == KEYS
    assert result["stdout"] == "" and result["stderr"] == ""
    assert result["reason"]


def test_job_numbers_grow(front):
    first, second = front.run("true"), front.run("true")
    assert int(second["job"]) > int(first["job"])


def test_run_gives_the_same_document(hf):
    result = hf.run("sh", "-c", "echo out; exit 3", flags=["--json"])
    assert result.code == 3
    assert set(result.json) == KEYS
    assert result.json["stdout"] == "out\n"


def test_run_passes_output_and_code_on(hf):
    result = hf.run("sh", "-c", "echo out; echo err >&2; exit 7")
    assert (result.code, result.out) == (7, b"out\n")
    assert b"err\n" in result.err


@pytest.mark.parametrize("name", ["INT", "TERM", "HUP"])
def test_a_signal_to_the_command_line_cancels(hf, box, name):
    process = hf.popen("exec", box, "--", "sh", "-c", "echo ready; exec sleep 1000")
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(getattr(signal, "SIG" + name))
    _, err = process.communicate(timeout=harness.PATIENCE)
    assert process.returncode == 130
    assert b"[Command interrupted]" in err
    # The box lives, the job does not.
    assert "sleep 1000" not in hf.sh(box, "ps -eo args")


def test_cancel_by_the_library(client, box):
    client.call("attach", box)
    client.start("sh", "-c", "echo ready; sleep 1000")
    assert client.read() == (1, b"ready\n")
    client.call("cancel")
    answer = client.call("wait")
    assert (answer["outcome"], answer["code"]) == ("cancelled", 130)


def test_signal_by_the_library(client, box):
    client.call("attach", box)
    client.start("bash", "-c", "trap 'echo got it; exit 5' USR1; echo ready; while :; do sleep 0.05; done")
    assert client.read() == (1, b"ready\n")
    client.call("signal", int(signal.SIGUSR1))
    answer = client.call("wait")
    assert (answer["outcome"], answer["code"]) == ("exited", 5)
    assert answer["result"]["stdout"] == "got it\n"


def test_fabricated_zero_when_the_box_dies(hf, box):
    """A job whose box was removed under it is lost, never a success."""
    process = hf.popen("exec", "--json", box, "--", "sh", "-c", "echo ready >&2; exec sleep 1000")
    harness.wait_until(lambda: "sleep 1000" in hf.sh(box, "ps -eo args"), "the job runs")
    hf.ok("rm", "--force", box)
    out, err = process.communicate(timeout=harness.PATIENCE)
    result = harness.Result(["exec"], process.returncode, out, err)
    assert result.code not in (0,), str(result)
    assert result.json.get("outcome") in ("lost", "cancelled", "signaled"), str(result)


def test_lost_when_the_warden_is_killed(hf, box):
    process = hf.popen("exec", "--json", box, "--", "sh", "-c", "exec sleep 1000")
    harness.wait_until(lambda: "sleep 1000" in hf.sh(box, "ps -eo args"), "the job runs")
    warden = next(entry["pid"] for entry in hf.boxes() if entry["name"] == box)
    subprocess.run(["kill", "-KILL", str(warden)], check=True)
    out, err = process.communicate(timeout=harness.PATIENCE)
    result = harness.Result(["exec"], process.returncode, out, err)
    assert result.code == 125 and result.json["outcome"] == "lost", str(result)


def test_oom_looks_like_kill(hf):
    """The memory limit's kill has an outcome of its own."""
    result = hf.run("python3", "-c", "x = bytearray(300 << 20)", flags=["--json", "--memory", "64m"])
    assert result.json["outcome"] == "oom_killed", str(result)
    assert result.code == 137


def test_a_plain_kill_in_a_limited_box_is_no_oom(hf):
    result = hf.run("sh", "-c", "kill -KILL $$", flags=["--json", "--memory", "64m"])
    assert result.json["outcome"] == "signaled", str(result)


def test_cancel_while_the_output_waits_to_be_read(client, box):
    """The main process is over, its output still fills every buffer, and then somebody cancels."""
    client.call("attach", box)
    # More than the window and the log take, so that some is left in the pipe when head is gone.
    client.start("head", "-c", str((256 + 1024 + 32) << 10), "/dev/zero")
    # Until head has written all and ended; if it is not so yet, the test proves less but passes.
    time.sleep(0.5)
    client.call("cancel")
    answer = client.call("wait")
    assert answer["outcome"] in ("exited", "cancelled")
