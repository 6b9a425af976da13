"""What users of the systems before complained about, one test for each complaint that concerns jobs. The
names are those of the list of complaints."""
import base64
import concurrent.futures
import hashlib
import os
import re
import subprocess
import threading
import time

import pytest

import harness

# Complaints about jobs or boxes that are tested where their subject is.
ELSEWHERE = {
    "tmp-noexec": "test_box_filesystem.py",
    "bind-files-owned-by-root": "test_box_filesystem.py",
    "two-callers-two-boxes": "test_box_lifecycle.py",
    "label-collision": "test_box_lifecycle.py",
    "zombies-fill-pids": "test_job_trees.py",
}


@pytest.mark.parametrize("complaint", ELSEWHERE)
def test_complaint_that_is_tested_elsewhere(complaint):
    path = os.path.join(harness.TESTS, "conformance", ELSEWHERE[complaint])
    name = "test_" + complaint.replace("-", "_")
    assert re.search(rf"^def {name}\(", harness.read_file(path), re.M), f"{path} has no {name}"


def jobs(hf, box):
    return {entry["job"]: entry for entry in hf.ok("jobs", "--json", box).json}


def living(hf, box):
    return hf.sh(box, "ps -eo stat=,args= | grep -v '^Z'")


def peak_memory(pid):
    """The most a living process has ever had in memory, in bytes."""
    found = re.search(r"^VmHWM:\s+(\d+) kB", harness.read_file(f"/proc/{pid}/status"), re.M)
    return int(found.group(1)) << 10 if found else 0


def pattern(size):
    """Bytes that repeat nowhere near, so that a lost, doubled or moved piece shows."""
    block = b"".join(i.to_bytes(4, "big") for i in range(1 << 18))
    return (block * (size // len(block) + 1))[:size]


# --- ends ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["exec", "detached", "script"])
def test_timeout_leaves_tree(hf, box, way):
    """timeout-leaves-tree: far more of them than the pids limit has room for, and none is left."""
    script = "for i in $(seq 40); do (sleep 1001 & sleep 1002) & done; wait"
    for _ in range(5):
        flags = ["--timeout", "400ms", "--grace", "200ms"]
        if way == "exec":
            assert hf.exec(box, "bash", "-c", script, flags=flags).code == 124
        elif way == "script":
            assert hf("exec", *flags, box, "-c", script).code == 124
        else:
            number = hf.ok("exec", "-d", *flags, box, "--", "bash", "-c", script).text.strip()
            assert hf("wait", box, number).code == 124
        harness.wait_until(lambda: not re.search(r"sleep 100\d", living(hf, box)), "the tree is gone")
    assert hf.exec(box, "echo", "room").text == "room\n"


def test_daemonised_child_survives_timeout(front, hf, box):
    """daemonised-child-survives-timeout: a new session, a double fork, no descriptor of the job's, another
    user, deaf to SIGTERM."""
    script = ("setsid -f setsid -f sleep 1001\n"
              "(setsid nohup sleep 1002 </dev/null >/dev/null 2>&1 &)\n"
              "(trap '' TERM HUP INT; exec setsid -f sleep 1003 </dev/null >/dev/null 2>&1)\n"
              "setpriv --reuid 1234 --regid 1234 --clear-groups setsid -f sleep 1004 </dev/null >/dev/null 2>&1\n"
              "python3 -c 'import os,time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n"
              "        os.closerange(0, 64)\n        os.execvp(\"sleep\", [\"sleep\", \"1005\"])\n    os._exit(0)'\n"
              "echo ready; sleep 1006")
    result = front.run("bash", "-c", script, timeout="1500ms", grace="200ms")
    assert (result["outcome"], result["stdout"]) == ("timed_out", "ready\n"), result
    assert not re.search(r"sleep 100\d", living(hf, box))


def test_background_child_holds_pipe(front, hf, box):
    """background-child-holds-pipe: both pipes are held, by many, and the job is over at once."""
    script = "for i in 1 2 3; do sleep 1000 & done; setsid -f sleep 1000; echo main; echo err >&2; exit 4"
    result = front.run("bash", "-c", script, timeout="25s")
    assert (result["outcome"], result["code"]) == ("exited", 4), result
    assert (result["stdout"], result["stderr"]) == ("main\n", "err\n")
    assert living(hf, box).count("sleep 1000") == 4, "they were not harmed"
    entry = jobs(hf, box)[result["job"]]
    assert (entry["state"], entry["processes"]) == ("background", 4)
    hf.ok("kill", box, result["job"])
    assert "sleep 1000" not in living(hf, box)


@pytest.mark.parametrize("victim", ["warden", "keeper"])
@pytest.mark.parametrize("verb", ["exec", "attach", "wait", "run", "logs"])
def test_fabricated_zero(hf, verb, victim):
    """fabricated-zero: the box dies while the job runs; nobody says that it ended well."""
    script = "echo ready; exec sleep 1000"
    if verb == "run":
        process = hf.popen("run", "--json", "--name", "dies", "--", "sh", "-c", script)
        box = "dies"
        # Until the job is in its list, not only the box.
        harness.wait_until(lambda: hf("jobs", "-q", box).out.strip(), "the job runs")
    else:
        box = hf.up("--name", "dies")
        if verb == "exec":
            process = hf.popen("exec", "--json", box, "--", "sh", "-c", script)
        else:
            number = hf.ok("exec", "-d", box, "--", "sh", "-c", script).text.strip()
            flags = {"attach": ["--json", "--no-stdin"], "wait": ["--json"], "logs": ["-f"]}[verb]
            process = hf.popen(verb, *flags, box, number)
        harness.wait_until(lambda: [entry for entry in jobs(hf, box).values() if entry["clients"] == 1], "it looks on")
    pids = harness.pids_of(hf.inspect(box))
    os.kill(pids[f"{victim}_pid"], 9)
    out, err = process.communicate(timeout=harness.PATIENCE)
    result = harness.Result([verb], process.returncode, out, err)
    assert result.code == 125, str(result)
    if verb in ("exec", "run"):
        assert result.json["outcome"] == "lost", str(result)
        assert result.json["exit_code"] != 0
    elif verb != "logs":
        assert result.json.get("outcome", "lost") == "lost" and result.json.get("exit_code") != 0, str(result)
    harness.wait_until(lambda: not hf.boxes(), "the box is gone")


def test_fabricated_zero_while_it_runs(hf, box):
    """fabricated-zero: no way to ask gives an end while there is none."""
    number = hf.ok("exec", "-d", box, "--", "sleep", "1000").text.strip()
    entry = jobs(hf, box)[number]
    assert entry["outcome"] is None and entry["exit_code"] is None and entry["ended_ms"] is None
    result = hf("wait", "--json", "--timeout", "100ms", box, number)
    assert result.code == 124 and "outcome" not in result.json, str(result)
    assert hf.ok("logs", "--json", box, number).json.get("outcome") is None


def test_oom_looks_like_kill(hf):
    """oom-looks-like-kill: by the limit, by a kill, and a child's, which is not the job's."""
    box = hf.up("--memory", "64m")
    eat = "x = bytearray(300 << 20)"
    result = hf.exec(box, "python3", "-c", eat, flags=["--json"])
    assert (result.code, result.json["outcome"]) == (137, "oom_killed"), str(result)
    result = hf.exec(box, "sh", "-c", "kill -KILL $$", flags=["--json"])
    assert (result.code, result.json["outcome"], result.json["signal"]) == (137, "signaled", "SIGKILL"), str(result)
    result = hf.exec(box, "bash", "-c", f"python3 -c '{eat}'; exit 3", flags=["--json"])
    assert (result.code, result.json["outcome"]) == (3, "exited"), str(result)
    number = hf.ok("exec", "-d", box, "--", "python3", "-c", eat).text.strip()
    assert hf("wait", box, number).code == 137
    assert jobs(hf, box)[number]["outcome"] == "oom_killed"
    number = hf.ok("exec", "-d", box, "--", "sleep", "1000").text.strip()
    hf.ok("kill", "-s", "KILL", box, number)
    assert hf("wait", box, number).code == 137
    assert jobs(hf, box)[number]["outcome"] == "signaled"


# --- output --------------------------------------------------------------------------------------


def test_output_lost_on_reconnect(hf, gated, gate):
    """output-lost-on-reconnect: the client dies, the job goes on and ends, and the next client has it all."""
    script = gate.SCRIPT + "seq -w 1 30000; pass; seq -w 30001 60000; echo the error >&2; exit 9"
    number = hf.ok("exec", "-d", gated, "--", "bash", "-c", script).text.strip()
    client = hf.popen("attach", gated, number)
    got = client.stdout.read(100001)
    client.kill()
    got += client.stdout.read()
    client.communicate()
    gate.open()
    # Nobody looks while it prints the rest and ends.
    harness.wait_until(lambda: jobs(hf, gated)[number]["state"] == "finished", "it is over")
    last = hf("attach", "--from", len(got), gated, number)
    assert last.code == 9, str(last)
    assert got + last.out == b"".join(b"%05d\n" % i for i in range(1, 60001))
    assert b"the error\n" in last.err
    again = hf.ok("logs", gated, number)
    assert again.out == got + last.out


@pytest.mark.parametrize("flags", [[], ["--json"], ["--merge"]])
def test_huge_output_eats_memory(quick, flags):
    """huge-output-eats-memory: 500 MiB through a client and a warden that stay small."""
    size = 500 << 20
    box = quick.up()
    warden = harness.pids_of(quick.inspect(box))["warden_pid"]
    process = quick.popen("exec", *flags, box, "--", "head", "-c", str(size), "/dev/zero")
    peak, count, kept = [0], 0, b""

    def watch():
        while process.poll() is None:
            peak[0] = max(peak[0], peak_memory(process.pid))
            time.sleep(0.01)

    watcher = threading.Thread(target=watch)
    watcher.start()
    while True:
        data = os.read(process.stdout.fileno(), 1 << 20)
        if not data:
            break
        count += len(data)
        if flags == ["--json"]:
            kept += data
    _, err = process.communicate(timeout=harness.PATIENCE)
    watcher.join()
    assert process.returncode == 0, err
    if flags == ["--json"]:
        document = harness.Result([], 0, kept, err).json
        assert (document["stdout_bytes"], document["truncated"]) == (size, True)
    else:
        assert count == size
    assert 0 < peak[0] < 32 << 20, f"the client had {peak[0] >> 10} KiB"
    assert 0 < peak_memory(warden) < 16 << 20, f"the warden had {peak_memory(warden) >> 10} KiB"


def test_huge_output_that_nobody_reads_eats_no_memory(quick):
    """huge-output-eats-memory: the same with nobody in front."""
    box = quick.up()
    warden = harness.pids_of(quick.inspect(box))["warden_pid"]
    number = quick.ok("exec", "-d", box, "--", "sh", "-c", "head -c 524288000 /dev/zero; echo the end").text.strip()
    assert quick("wait", box, number).code == 0
    assert jobs(quick, box)[number]["stdout_bytes"] == (500 << 20) + 8
    assert quick.ok("logs", "--tail", "1", box, number).out.endswith(b"the end\n")
    assert peak_memory(warden) < 16 << 20, f"the warden had {peak_memory(warden) >> 10} KiB"


@pytest.mark.parametrize("limit", range(1000, 1013))
def test_utf8_split(front, limit):
    """utf8-split: wherever the cut and the reads fall, whole characters arrive."""
    text = "\U0001f600\u00e9\u20aca" * 30000
    result = front.run("cat", input=text, output_limit=limit)
    assert result["truncated"] is True and "\ufffd" not in result["stdout"]
    head, tail = result["stdout"][:40], result["stdout"][-40:]
    assert text.startswith(head) and text.endswith(tail)


def test_utf8_split_in_a_stream(hf, box):
    """utf8-split: a writer that flushes in the middle of characters, whole and by attach."""
    script = ("import sys,time\ndata = '\U0001f600\u00e9\u20ac'.encode() * 300\n"
              "for i in range(0, len(data), 7):\n    sys.stdout.buffer.write(data[i:i + 7]); sys.stdout.flush()\n")
    expected = "\U0001f600\u00e9\u20ac" * 300
    result = hf.exec(box, "python3", "-c", script, flags=["--json"])
    assert result.json["stdout"] == expected
    number = result.json["job"]
    assert hf("attach", "--json", box, number).json["stdout"] == expected
    assert hf.ok("logs", box, number).out == expected.encode()
    # Two halves of one character, asked for at a byte of its middle.
    first = hf.ok("logs", box, number).out[:2]
    assert first + hf.ok("logs", "--from", "2", box, number).out == expected.encode()


def test_tail_hidden_by_head_cut(front, hf, box):
    """tail-hidden-by-head-cut: the error at the end is in the document, and in the log."""
    script = "seq -w 1 400000; seq -w 1 400000 >&2; echo FATAL: the reason >&2; echo last line; exit 1"
    result = front.run("bash", "-c", script, output_limit=2000)
    assert result["truncated"] is True and result["code"] == 1
    assert result["stdout"].startswith("000001\n") and result["stdout"].endswith("400000\nlast line\n")
    assert result["stderr"].startswith("000001\n") and result["stderr"].endswith("400000\nFATAL: the reason\n")
    assert result["stdout_bytes"] == 400000 * 7 + 10
    assert hf.ok("logs", "--tail", "1", box, result["job"]).out == b"last line\n"
    assert hf.ok("logs", "--tail", "1", box, result["job"]).err == b"FATAL: the reason\n"


# --- input ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [200 << 10, 20 << 20])
def test_argv_128k(hf, box, tmp_path, size):
    """argv-128k: a script of any size, all of which is there."""
    filler = base64.b64encode(os.urandom(size * 3 // 4 // 57 * 57)).decode()
    lines = "\n".join(filler[i:i + 76] for i in range(0, len(filler), 76))
    path = tmp_path / "large.sh"
    path.write_text(f"sha256sum <<'END'\n{lines}\nEND\necho \"$1\"; exit 5\n")
    assert path.stat().st_size > size
    result = hf("exec", "--script", path, box, "--", "one")
    assert result.code == 5, str(result)
    assert result.text.split() == [hashlib.sha256((lines + "\n").encode()).hexdigest(), "-", "one"]


@pytest.mark.parametrize("way", ["sum", "back", "sleeps first", "session"])
def test_stdin_50m(hf, box, way):
    """stdin-50m: more than all buffers, in and out, to a job that begins to read late."""
    data = pattern(50 << 20)
    digest = hashlib.sha256(data).hexdigest()
    if way == "back":
        result = hf.exec(box, "cat", flags=["-i"], input=data, timeout=60)
        assert len(result.out) == len(data) and hashlib.sha256(result.out).hexdigest() == digest
        return
    if way == "session":
        result = hf("exec", "-i", "--session", "s", box, "-c", "sha256sum", input=data, timeout=60)
    else:
        script = "sleep 1; sha256sum" if way == "sleeps first" else "sha256sum"
        result = hf.exec(box, "sh", "-c", script, flags=["-i"], input=data, timeout=60)
    assert (result.code, result.text.split()[:1]) == (0, [digest]), str(result)


@pytest.mark.parametrize("script", ["exit 3", "sleep 0.5; exit 3", "exec <&-; sleep 0.5; exit 3",
                                    "head -c 1000 >/dev/null; exit 3", "sleep 1000 & exit 3"])
def test_stdin_50m_to_a_job_that_does_not_read_it(hf, box, script):
    """stdin-50m: it ends with its own code, and so do we."""
    result = hf.exec(box, "sh", "-c", script, flags=["-i"], input=pattern(50 << 20))
    assert result.code == 3, str(result)


def test_stdin_50m_is_counted(hf, box):
    """stdin-50m: told as it was."""
    result = hf.exec(box, "wc", "-c", flags=["-i", "--json"], input=pattern(50 << 20))
    assert result.json["stdin_bytes"] == 50 << 20
    assert result.json["stdout"].strip() == str(50 << 20)


# --- secrets -------------------------------------------------------------------------------------


def everything_readable(hf, box, user=None):
    """All command lines and environments that a user of the box can read, as one text."""
    flags = ["-u", user] if user else []
    return hf.exec(box, "sh", "-c", "cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n'",
                   flags=flags).text


def test_secrets_in_ps(hf, tmp_path):
    """secrets-in-ps: values and scripts are in no argv outside or inside, in no document, and other users
    cannot read the environments that must hold them."""
    secrets = {name: f"s3cr3t-{name}-" + os.urandom(8).hex() for name in ("box", "job", "script", "session", "input")}
    box = hf.up("-e", "TOKEN", env={"TOKEN": secrets["box"]})
    path = tmp_path / "script"
    path.write_text(f"SECRET={secrets['script']}\necho ready\nsleep 1001\n")
    running = [hf.popen("exec", "-e", "OTHER", "--script", path, box, env={"OTHER": secrets["job"]})]
    running.append(hf.popen("exec", "--session", "s", "-e", "KEPT", "-i", box, "-c", "export KEPT; read -r line; echo ready; sleep 1002; :",
                            env={"KEPT": secrets["session"]}, stdin=subprocess.PIPE))
    running[1].stdin.write(secrets["input"].encode() + b"\n")
    running[1].stdin.close()
    for process in running:
        assert process.stdout.readline() == b"ready\n"
    harness.wait_until(lambda: "sleep 1001" in living(hf, box) and "sleep 1002" in living(hf, box), "both sleep")
    host = "".join(harness.read_file(f"/proc/{pid}/cmdline") for pid in harness.processes())
    assert "1001" in host and "1002" in host, "the test sees the box's processes"
    inside = hf.sh(box, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '")
    assert "sleep 1001" in inside
    others = everything_readable(hf, box, "nobody")
    assert secrets["box"] in others, "its own environment has the box's variable"
    documents = "".join(hf.ok(*command).text for command in (
        ["inspect", box], ["ps", "--json"], ["jobs", "--json", box], ["jobs", box], ["stats", "--json", box]))
    stored = "".join(harness.read_file(os.path.join(top, name)) for top, _, names in os.walk(hf.runtime) for name in names)
    host_others = subprocess.run(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "sh", "-c",
                                  "cat /proc/[0-9]*/environ 2>/dev/null"], capture_output=True).stdout.decode(errors="replace")
    for name, secret in secrets.items():
        assert secret not in host, name
        assert secret not in inside, name
        # The beginning of a script is shown by `jobs`, to those who may run jobs in the box.
        assert name == "script" or secret not in documents, name
        assert secret not in stored, name
        assert secret not in host_others, name
        assert name == "box" or secret not in others, name
    for process in running:
        process.terminate()
        process.stdin = None
        process.communicate(timeout=harness.PATIENCE)


EVIL = ["a\nEVIL=1\nb", "$(touch /tmp/evil)", "`touch /tmp/evil`", "'; touch /tmp/evil; '", "\"; touch /tmp/evil; \"",
        "a'\n touch /tmp/evil\n'", "\\", "\\\n", "$'x'", "() { :; }; touch /tmp/evil", "a\rb\tc", "\n", "#end\n#holdfast",
        "END\ntouch /tmp/evil\n"]


def test_newline_in_env_injects(front):
    """newline-in-env-injects: a job's variable is its value and nothing else."""
    for value in EVIL:
        env = dict(line.split("=", 1) for line in front.run("env", "-0", env={"V": value})["stdout"].split("\0") if line)
        assert env["V"] == value and "EVIL" not in env
    assert front.run("test", "-e", "/tmp/evil")["code"] == 1


def test_newline_in_env_injects_by_a_session(hf, box):
    """newline-in-env-injects: the state that is read back by the next job is data, too."""
    for i, value in enumerate(EVIL):
        hf.ok("exec", "--session", "s", "-e", f"V{i}={value}", box, "-c", f"export V{i}; P{i}=$V{i}; A{i}=(\"$V{i}\" \"$V{i}\")")
    for _ in range(2):
        for i, value in enumerate(EVIL):
            result = hf.ok("exec", "--session", "s", box, "-c", f"printf '%s\\0' \"$V{i}\" \"$P{i}\" \"${{A{i}[1]}}\"")
            assert result.out.decode() == f"{value}\0" * 3
            assert result.err == b""
    assert hf.exec(box, "test", "-e", "/tmp/evil").code == 1
    assert hf.ok("exec", "--session", "s", box, "-c", "echo ${EVIL-none}").out == b"none\n"


# --- sessions ------------------------------------------------------------------------------------


def test_functions_survive_once(hf, box):
    """functions-survive-once: functions and aliases are there after the tenth command as after the first."""
    hf.ok("exec", "--session", "s", box, "-c", "f() { echo \"f $1\"; }; alias g='f alias'; shopt -s expand_aliases")
    for i in range(10):
        result = hf.ok("exec", "--session", "s", box, "-c", f"f {i}\ng")
        assert result.out == b"f %d\nf alias\n" % i, str(result)


def test_parallel_session_torn(hf, box):
    """parallel-session-torn: twenty at once; every job sees one whole state, and one whole state is left."""
    names = [f"V{i}" for i in range(30)]
    assign = lambda value: "; ".join(f"{name}={value}" for name in names) + f"; cd /tmp/d{value}; f() {{ echo {value}; }}"
    show = "echo " + " ".join(f"${name}" for name in names) + " ${PWD#/tmp/d} $(f)"
    hf.sh(box, "mkdir /tmp/d{0..20}")
    hf.ok("exec", "--session", "s", box, "-c", assign(0))

    def one(i):
        return hf("exec", "--session", "s", box, "-c", f"{show}\n{assign(i)}")

    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        results = list(pool.map(one, range(1, 21)))
    for result in [*results, hf("exec", "--session", "s", box, "-c", show)]:
        assert result.code == 0 and result.err == b"", str(result)
        words = result.text.split()
        assert len(words) == len(names) + 2 and len(set(words)) == 1, str(result)


# --- pids ----------------------------------------------------------------------------------------


def pass_small_pids(hf, box):
    """So that there is room before the id that comes back."""
    hf.sh(box, "for i in {1..40}; do /bin/true; done")


def recycle(hf, box, pid):
    """Makes the box's next process ids begin shortly before `pid`, and a job that has it; its number."""
    warden = harness.pids_of(hf.inspect(box))["warden_pid"]
    for _ in range(20):
        done = subprocess.run(["nsenter", f"--pid=/proc/{warden}/ns/pid", "sh", "-c",
                               f"echo {pid - 6} > /proc/sys/kernel/ns_last_pid"], capture_output=True)
        if done.returncode != 0:
            pytest.skip(f"machine: process ids cannot be chosen here: {done.stderr.decode()}")
        number = hf.ok("exec", "-d", box, "--", "bash", "-c", "for i in {1..10}; do sleep 2001 & done; echo ready; wait").text.strip()
        harness.wait_until(lambda: hf.ok("logs", box, number).out == b"ready\n", "they run")
        if pid in jobs(hf, box)[number]["pids"]:
            return number
        hf.ok("kill", "--grace", "0", box, number)
    raise AssertionError(f"process id {pid} does not come back")


@pytest.mark.root
def test_stale_pid_kill(hf, box):
    """stale-pid-kill: the process id of a finished job belongs to somebody else by now."""
    pass_small_pids(hf, box)
    number = hf.ok("exec", "-d", box, "--", "bash", "-c", "echo $$").text.strip()
    assert hf("wait", box, number).code == 0
    pid = int(hf.ok("logs", box, number).text)
    other = recycle(hf, box, pid)
    before = jobs(hf, box)[other]["pids"]
    assert pid in before
    hf("kill", box, number)
    hf("kill", "-s", "KILL", box, number)
    hf("kill", "--grace", "0", box, number)
    assert hf.exec(box, "true").code == 0
    assert sorted(jobs(hf, box)[other]["pids"]) == sorted(before)
    assert jobs(hf, box)[number]["pids"] == []


@pytest.mark.root
def test_stale_pid_kill_of_a_background_child(hf, box):
    """stale-pid-kill: a job with a child in the background, and the id of one that has gone."""
    pass_small_pids(hf, box)
    number = hf.ok("exec", "-d", box, "--", "bash", "-c", "sleep 1001 & sleep 0 & echo $!; exit 0").text.strip()
    assert hf("wait", box, number).code == 0
    pid = int(hf.ok("logs", box, number).text)
    harness.wait_until(lambda: pid not in jobs(hf, box)[number]["pids"], "it is gone")
    other = recycle(hf, box, pid)
    before = jobs(hf, box)[other]["pids"]
    hf.ok("kill", box, number)
    assert "sleep 1001" not in living(hf, box)
    assert sorted(jobs(hf, box)[other]["pids"]) == sorted(before)


@pytest.mark.root
def test_stale_pid_kill_by_a_handle(hf, box, client):
    """stale-pid-kill: a program signals and cancels through a handle of a job that is over."""
    pass_small_pids(hf, box)
    client.call("attach", box)
    client.start("bash", "-c", "echo $$")
    pid = int(client.read_all()[1])
    other = recycle(hf, box, pid)
    before = jobs(hf, box)[other]["pids"]
    for call in (["signal", 9], ["cancel"], ["signal", 15]):
        try:
            client.call(*call)
        except harness.ClientError:
            pass
    assert client.call("wait")["outcome"] == "exited"
    assert sorted(jobs(hf, box)[other]["pids"]) == sorted(before)
