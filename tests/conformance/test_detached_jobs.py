"""Jobs that nobody is in front of: left running, listed, read, waited for, come back to, ended."""
import os
import random
import re
import signal
import subprocess
import time

import pytest

import harness

# What the box promises to keep.
KEPT_JOBS = 256
KEPT_BYTES = 8 << 20
KEPT_OF_A_STREAM = 1 << 20

NO_ZOMBIES = "ps -eo stat=,args= | grep -v '^Z' | sed 's/^[^ ]* *//'"


def start(hf, box, script, *flags):
    """A detached bash job; its number."""
    number = hf.ok("exec", "-d", *flags, box, "--", "bash", "-c", script).text.strip()
    assert re.fullmatch(r"[1-9]\d*", number), f"no number of a job: {number!r}"
    return number


def jobs(hf, box):
    return {entry["job"]: entry for entry in hf.ok("jobs", "--json", box).json}


def over(hf, box, number):
    """Waits for the end; its result document."""
    result = hf("wait", "--json", box, number)
    document = result.json
    assert "outcome" in document, str(result)
    return document


def processes_in(hf, box):
    return hf.sh(box, NO_ZOMBIES)


def log(hf, box, number, *flags):
    return hf.ok("logs", *flags, box, number)


# --- starting ------------------------------------------------------------------------------------


def test_exec_d_prints_a_number_and_returns(hf, box):
    number = start(hf, box, "sleep 1001")
    assert "sleep 1001" in processes_in(hf, box)
    assert jobs(hf, box)[number]["state"] == "running"


def test_exec_d_as_json(hf, box):
    document = hf.ok("exec", "-d", "--json", box, "--", "true").json
    assert document["box"] == box
    assert document["job"] in jobs(hf, box)


def test_each_detached_job_has_a_number_of_its_own(hf, box):
    numbers = [int(start(hf, box, "sleep 1001")) for _ in range(5)]
    assert sorted(set(numbers)) == numbers


def test_exec_d_takes_the_flags_of_a_job(hf, box):
    number = start(hf, box, "pwd; echo $A; id -u; echo err >&2", "-w", "/usr", "-e", "A=b c", "-u", "1234", "--merge")
    over(hf, box, number)
    assert log(hf, box, number).out == b"/usr\nb c\n1234\nerr\n"


def test_exec_d_of_a_script(hf, box):
    number = hf.ok("exec", "-d", box, "-c", "echo one; echo two").text.strip()
    over(hf, box, number)
    assert log(hf, box, number).out == b"one\ntwo\n"


def test_exec_d_has_an_empty_stdin(hf, box):
    number = start(hf, box, "cat; echo end")
    assert over(hf, box, number)["exit_code"] == 0
    assert log(hf, box, number).out == b"end\n"


def test_exec_d_does_not_read_the_callers_stdin(hf, box):
    script = f"echo kept | (\"$0\" exec -d {box} -- cat >/dev/null; cat)"
    assert harness.execute(["sh", "-c", script, hf.cli], env=hf.env).out == b"kept\n"


def test_exec_d_does_not_keep_the_callers_pipes_open(hf, box):
    """$(holdfast exec -d ...) comes back though the job lives."""
    result = harness.execute(["bash", "-c", f"x=$(\"$0\" exec -d {box} -- sleep 1001); echo \"<$x>\"", hf.cli], env=hf.env)
    assert re.fullmatch(r"<\d+>\n", result.text), str(result)


@pytest.mark.parametrize("flags, command, code, word", [
    ([], "no-such-program-anywhere", 127, "no-such-program-anywhere"),
    ([], "/etc/passwd", 126, "/etc/passwd"),
    (["-u", "nobody-knows-me"], "true", 125, "nobody-knows-me"),
    (["-w", "/no/such/directory"], "true", 126, "/no/such/directory"),
])
def test_exec_d_of_what_cannot_start_fails_at_once_and_leaves_no_job(hf, box, flags, command, code, word):
    result = hf.exec(box, command, flags=["-d", *flags])
    assert result.code == code, str(result)
    assert result.out == b"" and word in result.errors
    assert jobs(hf, box) == {}
    document = hf.exec(box, command, flags=["-d", "--json", *flags])
    assert document.code == code and document.json["outcome"] == "not_started", str(document)
    assert jobs(hf, box) == {}


def test_exec_d_with_i_is_wrong_usage(hf, box):
    result = hf.exec(box, "cat", flags=["-d", "-i"])
    assert result.code == 2 and "-i" in result.errors, str(result)
    assert jobs(hf, box) == {}


def test_a_detached_job_outlives_the_client_that_made_it(hf, box):
    """Also a client whose whole process group and session are gone."""
    process = hf.popen("exec", "-d", box, "--", "sleep", "1001", start_new_session=True)
    number = process.communicate(timeout=harness.PATIENCE)[0].decode().strip()
    for name in (signal.SIGHUP, signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, name)
        except ProcessLookupError:
            pass
    assert jobs(hf, box)[number]["state"] == "running"


def test_a_timeout_ends_a_detached_job(hf, box):
    number = start(hf, box, "echo before; setsid sleep 1001 & sleep 1002", "--timeout", "300ms")
    result = over(hf, box, number)
    assert (result["outcome"], result["exit_code"]) == ("timed_out", 124)
    assert hf("wait", box, number).code == 124
    assert log(hf, box, number).out == b"before\n"
    assert not re.search(r"sleep 100\d", processes_in(hf, box))


# --- jobs ----------------------------------------------------------------------------------------


def test_jobs_of_a_fresh_box_are_none(hf, box):
    assert hf.ok("jobs", "--json", box).json == []
    assert hf.ok("jobs", "-q", box).out == b""


def test_jobs_tells_all_about_a_running_job(hf, gated, gate):
    before = time.time() * 1000
    number = start(hf, gated, gate.SCRIPT + "printf 12345; printf 123 >&2; echo $$ > /gate/pid; pass; exit 7")
    pid = int(harness.wait_until(lambda: harness.read_file(f"{gate.directory}/pid").strip(), "the job runs"))
    entry = jobs(hf, gated)[number]
    after = time.time() * 1000
    assert entry["state"] == "running"
    assert entry["outcome"] is None and entry["exit_code"] is None and entry["signal"] is None
    assert entry["pid"] == pid and entry["pids"] == [pid] and entry["processes"] == 1
    assert before - 1000 <= entry["started_ms"] <= after + 1000
    assert entry["ended_ms"] is None
    assert (entry["stdin_bytes"], entry["stdout_bytes"], entry["stderr_bytes"]) == (0, 5, 3)
    assert entry["clients"] == 0 and entry["tty"] is False and entry["merged"] is False
    assert entry["session"] is None and entry["user"] is None
    assert entry["command"].startswith("bash -c ")
    gate.open()
    over(hf, gated, number)
    entry = jobs(hf, gated)[number]
    assert entry["state"] == "finished"
    assert (entry["outcome"], entry["exit_code"], entry["signal"]) == ("exited", 7, None)
    assert entry["pid"] is None and entry["pids"] == [] and entry["processes"] == 0
    assert entry["started_ms"] <= entry["ended_ms"] <= time.time() * 1000 + 1000
    assert (entry["stdout_bytes"], entry["stderr_bytes"]) == (5, 3)
    assert (entry["stdout_from"], entry["stderr_from"]) == (0, 0)


@pytest.mark.parametrize("script, outcome, code, name", [
    ("exit 0", "exited", 0, None), ("exit 42", "exited", 42, None), ("kill -SEGV $$", "signaled", 139, "SIGSEGV"),
    ("kill -KILL $$", "signaled", 137, "SIGKILL"),
])
def test_jobs_and_wait_tell_the_outcome(hf, box, script, outcome, code, name):
    number = start(hf, box, script)
    assert hf("wait", box, number).code == code
    entry = jobs(hf, box)[number]
    assert (entry["outcome"], entry["exit_code"], entry["signal"]) == (outcome, code, name)


def test_jobs_tells_user_and_merge(hf, box):
    number = start(hf, box, "sleep 1001", "-u", "1234", "--merge")
    entry = jobs(hf, box)[number]
    assert entry["user"] == "1234" and entry["merged"] is True


def test_jobs_lists_background_children_under_their_job(hf, box):
    number = start(hf, box, "sleep 1001 & echo $!; (setsid sleep 1002 & echo $!); exit 5")
    other = start(hf, box, "sleep 1003")
    assert over(hf, box, number)["exit_code"] == 5
    children = sorted(map(int, log(hf, box, number).text.split()))
    entry = harness.wait_until(lambda: (lambda e: e if e["processes"] == 2 else None)(jobs(hf, box)[number]),
                               "only the children are left")
    assert entry["state"] == "background"
    assert (entry["outcome"], entry["exit_code"]) == ("exited", 5)
    assert sorted(entry["pids"]) == children
    assert not set(entry["pids"]) & set(jobs(hf, box)[other]["pids"])
    text = hf.ok("jobs", box).text
    assert re.search(rf"in the background: {children[0]}[, ]+{children[1]}", text), text


def test_jobs_running_and_quiet(hf, box):
    finished = start(hf, box, "true")
    background = start(hf, box, "sleep 1001 & exit 0")
    running = start(hf, box, "sleep 1002")
    over(hf, box, finished)
    over(hf, box, background)
    assert hf.ok("jobs", "-q", box).text.split() == [finished, background, running]
    assert hf.ok("jobs", "-q", "--running", box).text.split() == [background, running]


def test_jobs_lists_those_with_a_client_too(hf, gated, gate):
    process = hf.popen("exec", gated, "--", "bash", "-c", gate.SCRIPT + "echo ready; pass")
    assert process.stdout.readline() == b"ready\n"
    entry, = jobs(hf, gated).values()
    assert entry["state"] == "running" and entry["clients"] == 1
    gate.open()
    process.communicate(timeout=harness.PATIENCE)
    assert process.returncode == 0


def test_a_command_cannot_write_on_the_terminal_of_who_lists_it(hf, box):
    number = hf.ok("exec", "-d", box, "--", "true", "\x1b[31mred\x07\nnew line\u202e").text.strip()
    over(hf, box, number)
    text = hf.ok("jobs", box).text
    assert "\x1b" not in text and "\x07" not in text and "\u202e" not in text
    assert len(text.splitlines()) == 2, text
    hf.ok("jobs", "--json", box).json


def test_jobs_of_no_box(hf):
    result = hf("jobs", "nothing")
    assert result.code == 125 and "nothing" in result.errors


# --- logs and attach -----------------------------------------------------------------------------


def test_logs_keeps_the_streams_apart(hf, box):
    number = start(hf, box, "echo out; echo err >&2; echo out2")
    over(hf, box, number)
    result = log(hf, box, number)
    assert (result.out, result.err) == (b"out\nout2\n", b"err\n")


def test_logs_of_a_running_job_is_what_there_is(hf, gated, gate):
    number = start(hf, gated, gate.SCRIPT + "echo first; pass; echo second")
    harness.wait_until(lambda: log(hf, gated, number).out == b"first\n", "the first line is in the log")
    gate.open()
    over(hf, gated, number)
    assert log(hf, gated, number).out == b"first\nsecond\n"


def test_logs_as_json_goes_on_where_the_last_one_ended(hf, gated, gate):
    number = start(hf, gated, gate.SCRIPT + "echo first; echo e1 >&2; pass; echo second; echo e2 >&2")
    harness.wait_until(lambda: log(hf, gated, number).err == b"e1\n", "the first lines are in the log")
    document = log(hf, gated, number, "--json").json
    assert (document["stdout"], document["stdout_from"], document["stdout_next"]) == ("first\n", 0, 6)
    assert (document["stderr"], document["stderr_from"], document["stderr_next"]) == ("e1\n", 0, 3)
    gate.open()
    over(hf, gated, number)
    position = f"{document['stdout_next']},{document['stderr_next']}"
    document = log(hf, gated, number, "--json", "--from", position).json
    assert (document["stdout"], document["stderr"]) == ("second\n", "e2\n")


def test_logs_follow_ends_with_the_job(hf, gated, gate):
    number = start(hf, gated, gate.SCRIPT + "echo first; pass; echo second; exit 3")
    process = hf.popen("logs", "-f", gated, number)
    assert process.stdout.readline() == b"first\n"
    gate.open()
    out, _ = process.communicate(timeout=harness.PATIENCE)
    assert out == b"second\n"


@pytest.mark.parametrize("verb", [["logs"], ["attach"], ["attach", "--no-stdin"], ["logs", "-f"]])
@pytest.mark.parametrize("flags, out, err", [
    ([], b"1\n2\n3\n4\npart", b"e1\ne2\n"),
    (["--from", "4"], b"3\n4\npart", b"e1\ne2\n"),
    (["--from", "3,1"], b"\n3\n4\npart", b"1\ne2\n"),
    (["--from", "end"], b"", b""),
    (["--from", "99999,99999"], b"", b""),
    (["--tail", "2"], b"4\npart", b"e1\ne2\n"),
    (["--tail", "1"], b"part", b"e2\n"),
    (["--tail", "1000"], b"1\n2\n3\n4\npart", b"e1\ne2\n"),
])
def test_from_and_tail(hf, box, verb, flags, out, err):
    number = start(hf, box, "echo 1; echo 2; echo 3; echo 4; printf part; echo e1 >&2; echo e2 >&2")
    over(hf, box, number)
    result = hf.ok(*verb, *flags, box, number)
    assert (result.out, result.err) == (out, err)


@pytest.mark.parametrize("flag", [["--from", "x"], ["--from", "-1"], ["--from", "1,2,3"], ["--tail", "-1"],
                                  ["--tail", "x"], ["--from", "1", "--tail", "1"]])
def test_wrong_positions_are_wrong_usage(hf, box, flag):
    number = start(hf, box, "true")
    assert hf("logs", *flag, box, number).code == 2
    assert hf("attach", *flag, box, number).code == 2


def test_attach_gives_output_and_exit_code(hf, gated, gate):
    number = start(hf, gated, gate.SCRIPT + "echo before; pass; echo after; echo err >&2; exit 9")
    process = hf.popen("attach", gated, number)
    assert process.stdout.readline() == b"before\n"
    gate.open()
    out, err = process.communicate(timeout=harness.PATIENCE)
    assert (process.returncode, out) == (9, b"after\n")
    assert b"err\n" in err


def test_attach_as_json_is_the_result(hf, box):
    number = start(hf, box, "echo out; echo err >&2; exit 3")
    over(hf, box, number)
    result = hf("attach", "--json", box, number)
    assert result.code == 3
    assert (result.json["outcome"], result.json["exit_code"]) == ("exited", 3)
    assert (result.json["stdout"], result.json["stderr"], result.json["job"]) == ("out\n", "err\n", number)


@pytest.mark.parametrize("name", ["INT", "TERM", "HUP", "KILL"])
def test_a_signal_to_attach_leaves_the_job_running(hf, gated, gate, name):
    number = start(hf, gated, gate.SCRIPT + "echo ready; pass; echo whole; exit 4")
    process = hf.popen("attach", gated, number)
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(getattr(signal, "SIG" + name))
    process.communicate(timeout=harness.PATIENCE)
    assert process.returncode != 0
    assert jobs(hf, gated)[number]["state"] == "running"
    gate.open()
    assert hf("wait", gated, number).code == 4
    assert log(hf, gated, number).out == b"ready\nwhole\n"


def test_closed_stdout_of_attach_leaves_the_job_running(hf, box):
    number = start(hf, box, "while :; do echo y; sleep 0.01; done")
    result = harness.execute(["sh", "-c", f"\"$0\" attach {box} {number} | head -1", hf.cli], env=hf.env)
    assert result.out == b"y\n"
    assert jobs(hf, box)[number]["state"] == "running"


def test_only_the_last_mebibyte_is_kept_and_the_positions_say_so(hf, box):
    number = start(hf, box, "seq -w 1 1000000")
    total = 8 * 1000000
    result = over(hf, box, number)
    assert result["stdout_bytes"] == total
    entry = jobs(hf, box)[number]
    assert 0 < total - entry["stdout_from"] <= KEPT_OF_A_STREAM
    document = log(hf, box, number, "--json").json
    assert document["stdout_from"] == entry["stdout_from"]
    assert document["stdout_next"] == total
    text = log(hf, box, number).out
    assert len(text) == total - entry["stdout_from"]
    whole = b"".join(b"%07d\n" % i for i in range(1000000 - 140000, 1000001))
    assert whole.endswith(text)
    for verb in ("logs", "attach"):
        result = hf.ok(verb, "--from", "10", box, number)
        assert result.out == text
        assert str(entry["stdout_from"]) in result.errors, "a gap is never silent"
        assert hf.ok(verb, "--from", total - 8, box, number).err == b""


def test_two_clients_attached_at_once_both_get_everything(hf, gated, gate):
    number = start(hf, gated, gate.SCRIPT + "pass; seq -w 1 500000; echo err >&2; exit 6")
    viewers = [hf.popen("attach", gated, number, stdout=open(f"{gate.directory}/out{i}", "wb")) for i in range(2)]
    harness.wait_until(lambda: jobs(hf, gated)[number]["clients"] == 2, "both are there")
    gate.open()
    for viewer in viewers:
        _, err = viewer.communicate(timeout=harness.PATIENCE)
        assert viewer.returncode == 6 and b"err\n" in err
    expected = b"".join(b"%06d\n" % i for i in range(1, 500001))
    for i in range(2):
        with open(f"{gate.directory}/out{i}", "rb") as file:
            assert file.read() == expected


def test_a_stopped_viewer_goes_on_without_loss_and_holds_nobody_else_up(hf, gated, gate):
    number = start(hf, gated, gate.SCRIPT + "echo first; pass; seq -w 1 700000; exit 6")
    path = f"{gate.directory}/out"
    viewer = hf.popen("attach", gated, number, stdout=open(path, "wb"))
    harness.wait_until(lambda: harness.read_file(path) == "first\n", "the viewer is there")
    viewer.send_signal(signal.SIGSTOP)
    gate.open()
    # Far more than all buffers together: it must come to a stop before its end.
    bytes_of = lambda: jobs(hf, gated)[number]["stdout_bytes"]
    harness.wait_until(lambda: (lambda a: a > 6 and (time.sleep(0.2), bytes_of())[1] == a)(bytes_of()), "the job waits")
    assert jobs(hf, gated)[number]["state"] == "running"
    assert hf.exec(gated, "echo", "free").text == "free\n"
    viewer.send_signal(signal.SIGCONT)
    viewer.communicate(timeout=harness.PATIENCE)
    assert viewer.returncode == 6
    with open(path, "rb") as file:
        assert file.read() == b"first\n" + b"".join(b"%06d\n" % i for i in range(1, 700001))


def test_a_stopped_viewer_that_dies_lets_the_job_go_on(hf, gated, gate):
    number = start(hf, gated, gate.SCRIPT + "echo first; pass; seq -w 1 700000; exit 6")
    viewer = hf.popen("attach", gated, number)
    assert viewer.stdout.readline() == b"first\n"
    viewer.send_signal(signal.SIGSTOP)
    gate.open()
    viewer.kill()
    viewer.communicate()
    assert hf("wait", gated, number).code == 6


@pytest.mark.parametrize("seed", range(3))
def test_a_client_killed_mid_stream_comes_back_at_the_byte_it_had(quick, gate, seed):
    """20 clients die at points that nobody chose; what they got in turn is the stream, byte for byte."""
    rounds, chunk = 20, 150000
    dice = random.Random(seed)
    box = quick.up(*gate.flags)
    script = ("import random,sys,os\ndice = random.Random(%d)\nout = sys.stdout.buffer\n"
              "for i in range(%d):\n    os.read(os.open('/gate/fifo', os.O_RDWR), 1)\n"
              "    out.write(dice.randbytes(%d)); out.flush()\n" % (seed, rounds + 1, chunk))
    number = quick.ok("exec", "-d", box, "--", "python3", "-c", script).text.strip()
    source = random.Random(seed)
    expected = b"".join(source.randbytes(chunk) for _ in range(rounds + 1))
    got = b""
    for i in range(rounds):
        client = quick.popen("attach", "--from", len(got), box, number)
        gate.open()
        # What nobody took stays in the log, as far as that reaches.
        left = (i + 1) * chunk - len(got)
        wanted = max(dice.choice([0, 1, dice.randint(1, left)]), left - (KEPT_OF_A_STREAM - 2 * chunk))
        # Unbuffered: what this process has not taken is in the pipe, and read after the kill.
        while wanted > 0:
            data = os.read(client.stdout.fileno(), min(wanted, 65536))
            assert data, client.stderr.read()
            got += data
            wanted -= len(data)
        client.kill()
        got += client.stdout.read()
        client.communicate()
        assert expected.startswith(got), f"after client {i}"
    gate.open()
    last = quick("attach", "--from", len(got), box, number)
    assert last.code == 0, str(last)
    assert got + last.out == expected


def test_no_stdin_watches_only(hf, box):
    number = hf.ok("exec", "-d", "-t", box, "--", "bash", "-c", "echo ready; read -r line; echo got $line").text.strip()
    harness.wait_until(lambda: b"ready" in log(hf, box, number).out, "the job reads")
    watcher = hf.popen("attach", "--no-stdin", box, number, stdin=subprocess.PIPE)
    watcher.stdin.write(b"typed\n")
    watcher.stdin.close()
    assert b"ready" in watcher.stdout.readline()
    assert jobs(hf, box)[number]["state"] == "running"
    assert b"typed" not in log(hf, box, number).out
    hf.ok("kill", box, number)
    watcher.wait(harness.PATIENCE)
    watcher.stdout.close()
    watcher.stderr.close()


@pytest.mark.parametrize("verb", ["attach", "logs", "wait", "kill"])
def test_no_such_job(hf, box, verb):
    result = hf(verb, box, "99")
    assert result.code == 125 and "99" in result.errors, str(result)
    assert result.out == b""
    result = hf(verb, "--json", box, "99")
    assert result.code == 125 and result.json, str(result)
    for wrong in ("abc", "0", "-1", "99999999999999999999", "1x"):
        result = hf(verb, box, "--", wrong)
        assert result.code == 2, str(result)


# --- late output ---------------------------------------------------------------------------------


def test_late_output_of_background_children_is_in_the_log(hf, gated, gate):
    number = start(hf, gated, gate.SCRIPT + "(pass; echo late; echo late err >&2; pass) & echo early")
    assert over(hf, gated, number)["exit_code"] == 0
    assert log(hf, gated, number).out == b"early\n"
    gate.open()
    harness.wait_until(lambda: log(hf, gated, number).out == b"early\nlate\n", "the late line is there")
    harness.wait_until(lambda: log(hf, gated, number).err == b"late err\n", "the late error is there")
    entry = jobs(hf, gated)[number]
    assert (entry["state"], entry["stdout_bytes"], entry["stderr_bytes"]) == ("background", 11, 9)
    gate.open()
    harness.wait_until(lambda: jobs(hf, gated)[number]["state"] == "finished", "the child is gone")
    assert log(hf, gated, number).out == b"early\nlate\n"


def test_late_output_of_a_plain_exec_is_in_its_log(hf, gated, gate):
    result = hf.exec(gated, "bash", "-c", gate.SCRIPT + "(pass; echo late) & echo early", flags=["--json"])
    assert result.json["stdout"] == "early\n"
    gate.open()
    number = result.json["job"]
    harness.wait_until(lambda: log(hf, gated, number).out == b"early\nlate\n", "the late line is there")


def test_follow_sees_what_background_children_print(hf, gated, gate):
    number = start(hf, gated, gate.SCRIPT + "(pass; echo late) & echo early; exit 3")
    over(hf, gated, number)
    process = hf.popen("attach", gated, number)
    assert process.stdout.readline() == b"early\n"
    gate.open()
    out, _ = process.communicate(timeout=harness.PATIENCE)
    assert (process.returncode, out) == (3, b"late\n")


# --- wait ----------------------------------------------------------------------------------------


def test_wait_comes_back_when_the_job_is_over(hf, gated, gate):
    number = start(hf, gated, gate.SCRIPT + "pass; exit 12")
    waiter = hf.popen("wait", gated, number)
    assert hf.exec(gated, "true").code == 0
    assert waiter.poll() is None
    gate.open()
    assert waiter.wait(harness.PATIENCE) == 12
    waiter.communicate()


def test_wait_does_not_wait_for_background_children(hf, box):
    number = start(hf, box, "sleep 1001 & exit 3")
    assert hf("wait", box, number).code == 3
    assert "sleep 1001" in processes_in(hf, box)


def test_wait_again_gives_the_same(hf, box):
    number = start(hf, box, "exit 12")
    assert [hf("wait", box, number).code for _ in range(3)] == [12] * 3


def test_wait_for_several(hf, box):
    good, bad, dead = start(hf, box, "exit 0"), start(hf, box, "exit 3"), start(hf, box, "kill -TERM $$")
    result = hf("wait", box, good, bad, dead)
    assert result.code == 1
    assert [line.split()[:2] for line in result.text.splitlines()] == \
        [[good, "exited"], [bad, "exited"], [dead, "signaled"]]
    assert [line.split()[2] for line in result.text.splitlines()] == ["0", "3", "143"]
    assert hf("wait", box, good, good).code == 0
    documents = hf("wait", "--json", box, good, bad).json
    assert [(entry["job"], entry["exit_code"]) for entry in documents] == [(good, 0), (bad, 3)]


def test_wait_for_all_that_run(hf, gated, gate):
    old = start(hf, gated, "exit 3")
    over(hf, gated, old)
    running = [start(hf, gated, gate.SCRIPT + "pass; exit 0") for _ in range(3)]
    waiter = hf.popen("wait", gated)
    gate.open(3)
    out, err = waiter.communicate(timeout=harness.PATIENCE)
    # Those that were over before it looked are no longer waited for.
    assert waiter.returncode == 0, err
    assert set(line.split()[0] for line in out.decode().splitlines()) <= set(running)


def test_wait_timeout_is_124_and_the_job_goes_on(hf, box):
    number = start(hf, box, "sleep 1001")
    result = hf("wait", "--timeout", "200ms", box, number)
    assert result.code == 124, str(result)
    assert jobs(hf, box)[number]["state"] == "running"
    assert jobs(hf, box)[number]["clients"] == 0
    done = start(hf, box, "exit 3")
    over(hf, box, done)
    assert hf("wait", "--timeout", "200ms", box, done, number).code == 124
    assert hf("wait", "--timeout", "60s", box, done).code == 3


def test_a_job_that_exits_with_124_is_no_timeout_of_wait(hf, box):
    number = start(hf, box, "exit 124")
    document = over(hf, box, number)
    assert (document["outcome"], document["exit_code"]) == ("exited", 124)


def test_wait_when_the_box_dies(hf, box):
    number = start(hf, box, "sleep 1001")
    waiter = hf.popen("wait", "--json", box, number)
    harness.wait_until(lambda: jobs(hf, box)[number]["clients"] == 1, "it waits")
    hf.ok("rm", "--force", box)
    out, err = waiter.communicate(timeout=harness.PATIENCE)
    result = harness.Result(["wait"], waiter.returncode, out, err)
    assert result.code == 125, str(result)
    assert result.json.get("outcome", "lost") == "lost", str(result)


# --- kill ----------------------------------------------------------------------------------------


TREES = {
    "plain": "sleep 1001 & (sleep 1002 & sleep 1003) & sleep 1004",
    "daemonised": "setsid -f setsid -f sleep 1001; (setsid nohup sleep 1002 </dev/null >/dev/null 2>&1 &); sleep 1003",
    "immune": "trap '' TERM INT HUP; sleep 1001 & setsid -f sleep 1002; sleep 1003; sleep 1004",
    "stopped": "sleep 1001 & kill -STOP $!; setsid sleep 1002 & kill -STOP $$; wait",
    "of other users": "setpriv --reuid 1234 --regid 1234 --clear-groups sleep 1001 & setpriv --reuid 1234 "
                      "--regid 1234 --clear-groups setsid -f sleep 1002; sleep 1003",
    "stopped, immune and daemonised": "trap '' TERM; setsid -f bash -c 'sleep 1001 & kill -STOP $!; kill -STOP $$'; "
                                      "sleep 1002; sleep 1003",
}


@pytest.mark.parametrize("kind", TREES)
def test_kill_ends_the_tree_and_nothing_else(hf, box, kind):
    other = start(hf, box, "sleep 2001 & sleep 2002")
    number = start(hf, box, "echo ready; " + TREES[kind], "--grace", "100ms")
    harness.wait_until(lambda: log(hf, box, number).out == b"ready\n", "it runs")
    assert hf.ok("kill", box, number).text.split() == [number]
    # True when it returns, not some time later.
    left = processes_in(hf, box)
    assert not re.search(r"sleep 100\d", left), left
    assert "sleep 2001" in left and "sleep 2002" in left
    entry = jobs(hf, box)[number]
    assert (entry["state"], entry["outcome"], entry["exit_code"]) == ("finished", "cancelled", 130)
    assert hf("wait", box, number).code == 130
    assert jobs(hf, box)[other]["state"] == "running"


def test_kill_gives_a_job_its_grace(hf, box):
    number = start(hf, box, "trap 'echo tidy; exit 0' TERM; echo ready; while :; do sleep 0.05; done", "--grace", "30s")
    harness.wait_until(lambda: log(hf, box, number).out == b"ready\n", "it runs")
    hf.ok("kill", box, number)
    assert log(hf, box, number).out == b"ready\ntidy\n"
    assert jobs(hf, box)[number]["outcome"] == "cancelled"


def test_kill_with_a_grace_of_zero_does_not_ask(hf, box):
    number = start(hf, box, "trap 'echo tidy' TERM; echo ready; while :; do sleep 0.05; done", "--grace", "60s")
    harness.wait_until(lambda: log(hf, box, number).out == b"ready\n", "it runs")
    hf.ok("kill", "--grace", "0", box, number)
    assert log(hf, box, number).out == b"ready\n"


def test_kill_with_a_grace_of_its_own(hf, box):
    """The job's own minute is not waited for: the bound of the command would be hit."""
    number = start(hf, box, "trap '' TERM; echo ready; while :; do sleep 0.05; done", "--grace", "60s")
    harness.wait_until(lambda: log(hf, box, number).out == b"ready\n", "it runs")
    hf.ok("kill", "--grace", "200ms", box, number)
    assert jobs(hf, box)[number]["state"] == "finished"


def test_kill_background_children_of_a_finished_job(hf, box):
    number = start(hf, box, "sleep 1001 & (trap '' TERM; setsid -f sleep 1002); exit 5", "--grace", "100ms")
    other = start(hf, box, "sleep 2001 & exit 0")
    over(hf, box, number)
    over(hf, box, other)
    assert "sleep 1001" in processes_in(hf, box)
    hf.ok("kill", box, number)
    left = processes_in(hf, box)
    assert not re.search(r"sleep 100\d", left), left
    assert "sleep 2001" in left
    entry = jobs(hf, box)[number]
    assert (entry["state"], entry["outcome"], entry["exit_code"]) == ("finished", "exited", 5), "the outcome stands"
    assert jobs(hf, box)[other]["state"] == "background"


def test_kill_of_a_finished_job_changes_nothing(hf, box):
    number = start(hf, box, "exit 5")
    over(hf, box, number)
    hf.ok("kill", box, number)
    assert hf("wait", box, number).code == 5


def test_kill_of_a_job_that_has_a_client(hf, box):
    process = hf.popen("exec", "--json", box, "--", "sh", "-c", "echo ready; sleep 1001")
    number = harness.wait_until(lambda: list(jobs(hf, box)), "it runs")[0]
    hf.ok("kill", box, number)
    out, err = process.communicate(timeout=harness.PATIENCE)
    result = harness.Result(["exec"], process.returncode, out, err)
    assert (result.code, result.json["outcome"]) == (130, "cancelled"), str(result)


def test_kill_of_several(hf, box):
    numbers = [start(hf, box, f"sleep 100{i}") for i in range(3)]
    other = start(hf, box, "sleep 2001")
    assert hf.ok("kill", box, *numbers).text.split() == numbers
    assert not re.search(r"sleep 100\d", processes_in(hf, box))
    assert hf.ok("jobs", "-q", "--running", box).text.split() == [other]
    result = hf("kill", "--json", box, other, "99")
    assert result.code == 125 and result.json["killed"] == [other], str(result)
    assert len(result.json["failed"]) == 1


def test_signal_goes_to_every_process_of_the_job(hf, box):
    script = "setsid bash -c 'trap \"echo child; exit\" USR1; echo ready; while :; do sleep 0.05; done' & " \
             "trap 'echo main; wait; exit 8' USR1; echo ready; while :; do sleep 0.05; done"
    number = start(hf, box, script)
    harness.wait_until(lambda: log(hf, box, number).out == b"ready\nready\n", "both are ready")
    hf.ok("kill", "--signal", "USR1", box, number)
    assert sorted(hf("attach", box, number).text.split()) == ["child", "main", "ready", "ready"]


@pytest.mark.parametrize("word", ["KILL", "SIGKILL", "kill", "9"])
def test_signal_by_any_name(hf, box, word):
    number = start(hf, box, "sleep 1001 & sleep 1002")
    hf.ok("kill", "-s", word, box, number)
    document = over(hf, box, number)
    assert (document["outcome"], document["exit_code"]) == ("signaled", 137)
    harness.wait_until(lambda: "sleep 1001" not in processes_in(hf, box), "the child as well")


def test_stop_and_go_on(hf, box):
    number = start(hf, box, "echo $BASHPID; for i in 1 2 3 4 5 6; do sleep 0.05; done; echo end")
    pid = harness.wait_until(lambda: log(hf, box, number).text.strip(), "it runs")
    hf.ok("kill", "-s", "STOP", box, number)
    assert hf.sh(box, f"ps -o stat= -p {pid}").startswith("T")
    assert jobs(hf, box)[number]["state"] == "running", "stopped is not over"
    hf.ok("kill", "-s", "CONT", box, number)
    assert over(hf, box, number)["exit_code"] == 0


@pytest.mark.parametrize("word", ["NOPE", "0", "-1", "99", "", "KILL "])
def test_signals_that_are_none(hf, box, word):
    number = start(hf, box, "sleep 1001")
    result = hf("kill", f"--signal={word}", box, number)
    assert result.code == 2, str(result)
    assert jobs(hf, box)[number]["state"] == "running"


# --- how long it is kept -------------------------------------------------------------------------


def test_keep_0_leaves_nothing(hf, box):
    kept = start(hf, box, "echo kept")
    number = start(hf, box, "echo gone", "--keep", "0")
    harness.wait_until(lambda: number not in jobs(hf, box), "it is forgotten")
    for verb in ("logs", "wait", "attach"):
        assert hf(verb, box, number).code == 125
    assert kept in jobs(hf, box)


def test_keep_0_still_gives_a_plain_exec_its_output(hf, box):
    for _ in range(5):
        result = hf.exec(box, "sh", "-c", "echo out; exit 3", flags=["--keep", "0", "--json"])
        assert (result.code, result.json["stdout"]) == (3, "out\n")
    assert jobs(hf, box) == {}


def test_keep_0_with_children_in_the_background_is_listed_until_they_end(hf, gated, gate):
    number = start(hf, gated, gate.SCRIPT + "(pass) & exit 3", "--keep", "0")
    harness.wait_until(lambda: jobs(hf, gated)[number]["state"] == "background", "its main process is over")
    gate.open()
    harness.wait_until(lambda: number not in jobs(hf, gated), "it is forgotten")


def test_a_short_keep_runs_out(hf, box):
    kept = start(hf, box, "echo kept")
    number = start(hf, box, "exit 5", "--keep", "500ms")
    harness.wait_until(lambda: number not in jobs(hf, box), "it is forgotten")
    assert hf("wait", box, number).code == 125
    assert kept in jobs(hf, box)


def test_keep_runs_from_the_end_and_not_from_the_start(hf, gated, gate):
    number = start(hf, gated, gate.SCRIPT + "echo x; pass; exit 5", "--keep", "1s")
    time.sleep(1.5)
    assert number in jobs(hf, gated)
    waiter = hf.popen("wait", gated, number)
    harness.wait_until(lambda: jobs(hf, gated)[number]["clients"] == 1, "it waits")
    gate.open()
    waiter.communicate(timeout=harness.PATIENCE)
    assert waiter.returncode == 5


def test_plain_jobs_are_kept_too(hf, box):
    result = hf.exec(box, "sh", "-c", "echo out; exit 3", flags=["--json"])
    assert hf("wait", box, result.json["job"]).code == 3
    assert log(hf, box, result.json["job"]).out == b"out\n"


def test_of_300_finished_jobs_the_last_256_are_kept(quick):
    box = quick.up()
    numbers = [quick.ok("exec", "-d", box, "--", "sh", "-c", f"echo {i}; exit {i % 7}").text.strip() for i in range(300)]
    harness.wait_until(lambda: all(entry["state"] == "finished" for entry in jobs(quick, box).values()), "all are over")
    kept = list(jobs(quick, box))
    assert len(kept) == KEPT_JOBS
    # They end in nearly the order they began.
    assert set(numbers[-200:]) <= set(kept)
    assert numbers[0] not in kept and quick("logs", box, numbers[0]).code == 125
    for i in (299, 250, 150):
        assert log(quick, box, numbers[i]).text == f"{i}\n"
        assert quick("wait", box, numbers[i]).code == i % 7


def test_running_jobs_are_never_forgotten_for_finished_ones(quick):
    box = quick.up()
    running = quick.ok("exec", "-d", box, "--", "sh", "-c", "echo here; sleep 1001").text.strip()
    background = quick.ok("exec", "-d", box, "--", "sh", "-c", "sleep 1001 & exit 3").text.strip()
    for _ in range(KEPT_JOBS + 20):
        quick.ok("exec", box, "--", "true")
    assert jobs(quick, box)[running]["state"] == "running"
    assert jobs(quick, box)[background]["state"] == "background"
    assert log(quick, box, running).text == "here\n"


def test_30_jobs_of_a_mebibyte_are_bounded_and_the_newest_is_whole(quick):
    box = quick.up()
    for i in range(30):
        result = quick.ok("exec", box, "--", "sh", "-c", f"head -c 1048576 /dev/zero | tr '\\0' {i % 10}")
        assert result.out == b"%d" % (i % 10) * 1048576
    kept = jobs(quick, box)
    held = sum(entry["stdout_bytes"] - entry["stdout_from"] for entry in kept.values())
    assert held <= KEPT_BYTES
    assert len(kept) >= 4, "and not everything was thrown away"
    newest = max(kept, key=int)
    assert int(newest) == 30
    assert log(quick, box, newest).out == b"9" * 1048576


def test_the_box_forgets_its_jobs_when_it_ends(hf):
    box = hf.up("--name", "again")
    start(hf, box, "echo old")
    hf.ok("rm", "-f", box)
    hf.up("--name", "again")
    assert jobs(hf, box) == {}
