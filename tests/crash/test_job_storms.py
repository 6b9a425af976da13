"""Very many jobs, and jobs while something breaks: every outcome is true, and nothing adds up."""
import concurrent.futures
import os
import random
import re
import signal
import subprocess
import tempfile
import time

import pytest

import harness

# Bounded retention is full after this many jobs.
WARM_UP = 600
JOBS = 10000


@pytest.fixture(scope="session")
def storm_program():
    with tempfile.TemporaryDirectory(prefix="hfstorm") as directory:
        os.chmod(directory, 0o755)
        yield harness.compile_c(os.path.join(harness.TESTS, "crash/storm.c"), os.path.join(directory, "storm"),
                                "-I", os.path.join(harness.ROOT, "include"), "-L", harness.RELEASE,
                                f"-Wl,-rpath,{harness.RELEASE}", "-lholdfast")


class Storm:
    """storm.c in front of one box."""

    def __init__(self, program, hf, box):
        self.process = subprocess.Popen([program, box], env=hf.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)

    def order(self, *words):
        self.process.stdin.write(" ".join(map(str, words)).encode() + b"\n")
        self.process.stdin.flush()

    def answer(self):
        line = self.process.stdout.readline().decode().strip()
        if not line:
            raise AssertionError(f"the client gave up: {self.process.stderr.read().decode()}")
        return line

    def do(self, *words):
        self.order(*words)
        assert self.answer() == "ok"

    def close(self):
        if self.process.poll() is None:
            self.process.stdin.close()
            try:
                self.process.wait(harness.PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()


@pytest.fixture
def storm(quick, storm_program):
    made = []

    def make(box):
        made.append(Storm(storm_program, quick, box))
        return made[-1]

    yield make
    for one in made:
        one.close()


def private_bytes(pid):
    text = harness.read_file(f"/proc/{pid}/smaps_rollup")
    return sum(int(size) for size in re.findall(r"^Private_\w+:\s+(\d+) kB", text, re.M)) << 10


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def jobs(hf, box):
    return {entry["job"]: entry for entry in hf.ok("jobs", "--json", box).json}


def settled_processes(warden):
    """The box's processes once their number stays the same."""
    last = [None]

    def same():
        now = len(harness.descendants(warden))
        time.sleep(0.1)
        last[0] = now
        return now == len(harness.descendants(warden))
    harness.wait_until(same, "the box is quiet")
    return last[0]


def living(hf, box):
    return hf.sh(box, "ps -eo stat=,args= | grep -v '^Z'")


# --- many ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_10000_jobs_in_a_row_leave_nothing(quick, storm):
    box = quick.up("--pids-limit", "1000")
    pids = harness.pids_of(quick.inspect(box))
    client = storm(box)
    # Every page of the buffers has been used once.
    client.order("fill", 2)
    assert client.answer() == "filled"
    client.do("read")
    client.do("row", WARM_UP)

    def measure():
        processes = settled_processes(pids["warden_pid"])
        found = {"processes": processes}
        for name, pid in (("client", client.process.pid), ("warden", pids["warden_pid"]), ("keeper", pids["keeper_pid"])):
            found[name] = {"private": private_bytes(pid), "descriptors": descriptors(pid)}
        return found

    before = measure()
    client.do("row", JOBS)
    after = measure()
    told = f"before: {before}, after: {after}"
    assert after["processes"] == before["processes"], told
    for name, growth in (("client", 256 << 10), ("warden", 512 << 10), ("keeper", 64 << 10)):
        assert after[name]["descriptors"] == before[name]["descriptors"], told
        assert after[name]["private"] <= before[name]["private"] + growth, told
    assert len(jobs(quick, box)) <= 256
    assert quick.exec(box, "echo", "here").text == "here\n"


def test_200_jobs_at_once(quick, storm):
    """Three times, so that what is left by the first would show in the last."""
    box = quick.up("--pids-limit", "2000")
    pids = harness.pids_of(quick.inspect(box))
    client = storm(box)
    client.do("once", 200)
    before = settled_processes(pids["warden_pid"]), descriptors(pids["warden_pid"]), descriptors(client.process.pid)
    memory = private_bytes(pids["warden_pid"])
    for _ in range(3):
        client.do("once", 200)
    after = settled_processes(pids["warden_pid"]), descriptors(pids["warden_pid"]), descriptors(client.process.pid)
    assert after == before
    assert private_bytes(pids["warden_pid"]) <= memory + (1 << 20)


def test_many_clients_at_once(quick, storm):
    """Several connections, each with its own jobs, and nobody gets another's."""
    box = quick.up("--pids-limit", "2000")
    clients = [storm(box) for _ in range(8)]
    for client in clients:
        client.order("row", 150)
    for client in clients:
        assert client.answer() == "ok"
    for client in clients:
        client.order("once", 30)
    for client in clients:
        assert client.answer() == "ok"


def test_more_jobs_than_the_box_has_processes_for(quick):
    """Those that find no room say so; none claims to have run."""
    box = quick.up("--pids-limit", "40")
    with concurrent.futures.ThreadPoolExecutor(60) as pool:
        results = list(pool.map(lambda i: quick.exec(box, "sh", "-c", f"echo {i}; sleep 0.5; exit 7", flags=["--json"]), range(60)))
    for i, result in enumerate(results):
        document = result.json
        if document.get("outcome") == "exited" and document["exit_code"] == 7:
            assert document["stdout"] == f"{i}\n", str(result)
        elif document.get("outcome") == "exited":
            # sh itself found no room for sleep.
            assert document["exit_code"] == 2 and "fork" in document["stderr"].lower(), str(result)
        else:
            assert result.code == 125 and document.get("outcome", "not_started") == "not_started", str(result)
    assert quick.exec(box, "echo", "room").text == "room\n"


# --- a reader that does not read -----------------------------------------------------------------


def test_a_client_that_does_not_read_and_then_reads(quick, storm):
    """Its socket and all windows are full. Others go on, the warden stays small, and no byte is lost."""
    box = quick.up()
    warden = harness.pids_of(quick.inspect(box))["warden_pid"]
    client = storm(box)
    client.order("fill", 10)
    assert client.answer() == "filled"

    def bytes_printed():
        return sum(entry["stdout_bytes"] for entry in jobs(quick, box).values() if entry["state"] != "finished")

    harness.wait_until(lambda: bytes_printed() > 0 and (lambda a: (time.sleep(0.2), bytes_printed())[1] == a)(bytes_printed()),
                       "all of them wait")
    for i in range(20):
        assert quick.exec(box, "echo", i).text == f"{i}\n"
    number = quick.ok("exec", "-d", box, "--", "sh", "-c", "exit 5").text.strip()
    assert quick("wait", box, number).code == 5
    assert private_bytes(warden) < 48 << 20
    client.order("read")
    assert client.answer() == "ok"


def test_a_stopped_client_among_others(quick):
    box = quick.up()
    stopped = [quick.popen("exec", box, "--", "sh", "-c", "seq -f %07.0f 0 999999; exit 6", bufsize=0) for _ in range(5)]
    for process in stopped:
        assert process.stdout.read(8) == b"0000000\n"
        process.send_signal(signal.SIGSTOP)
    for i in range(20):
        assert quick.exec(box, "echo", i).text == f"{i}\n"
    expected = b"".join(b"%07d\n" % i for i in range(1, 1000000))
    for process in stopped:
        process.send_signal(signal.SIGCONT)
        out, _ = process.communicate(timeout=harness.PATIENCE)
        assert process.returncode == 6
        assert out == expected


# --- a warden that does not answer ---------------------------------------------------------------


def test_a_stopped_warden_loses_jobs_with_a_timeout_and_invents_nothing(quick):
    """Nobody can know how they ended: they are lost, and it is said in bounded time."""
    timeout, grace, margin = 1, 0.5, 10
    box = quick.up()
    warden = harness.pids_of(quick.inspect(box))["warden_pid"]
    flags = ["--json", "--timeout", f"{timeout}s", "--grace", f"{grace}s"]
    scripts = ["sleep 1000", "trap '' TERM; sleep 1000; sleep 1000", "sleep 0.6; exit 0", "sleep 0.6; exit 7", "seq 1000; sleep 1000"]
    running = [quick.popen("exec", *flags, box, "--", "sh", "-c", script) for script in scripts]
    harness.wait_until(lambda: len([entry for entry in jobs(quick, box).values() if entry["pid"]]) == len(scripts), "they run")
    os.kill(warden, signal.SIGSTOP)
    start = time.monotonic()
    try:
        for process in running:
            out, err = process.communicate(timeout=timeout + grace + 10 + margin)
            result = harness.Result(["exec"], process.returncode, out, err)
            assert result.json["outcome"] == "lost" and result.code == 125, str(result)
            assert result.json["exit_code"] != 0
        assert time.monotonic() - start < timeout + grace + 10 + margin
    finally:
        os.kill(warden, signal.SIGCONT)
    assert quick.exec(box, "echo", "back").text == "back\n"
    harness.wait_until(lambda: "sleep 1000" not in living(quick, box), "what they left is gone")


def test_a_warden_that_was_stopped_for_a_while_tells_the_truth(quick):
    """Jobs without a timeout wait for it; those with a long one, too."""
    box = quick.up()
    warden = harness.pids_of(quick.inspect(box))["warden_pid"]
    running = [quick.popen("exec", "--json", *flags, box, "--", "sh", "-c", f"echo ready; sleep 0.5; echo end; exit {i}")
               for i, flags in enumerate([[], ["--timeout", "60s"], ["--timeout", "20s"]] * 3)]
    harness.wait_until(lambda: sum(entry["stdout_bytes"] == 6 for entry in jobs(quick, box).values()) == len(running), "they run")
    os.kill(warden, signal.SIGSTOP)
    time.sleep(1.5)
    assert [process.poll() for process in running] == [None] * len(running)
    os.kill(warden, signal.SIGCONT)
    for i, process in enumerate(running):
        out, err = process.communicate(timeout=harness.PATIENCE)
        result = harness.Result(["exec"], process.returncode, out, err)
        assert (result.json["outcome"], result.code, result.json["stdout"]) == ("exited", i, "ready\nend\n"), str(result)


def test_commands_of_a_stopped_warden_come_back_or_wait_but_never_lie(quick):
    box = quick.up()
    number = quick.ok("exec", "-d", box, "--", "sleep", "1000").text.strip()
    warden = harness.pids_of(quick.inspect(box))["warden_pid"]
    os.kill(warden, signal.SIGSTOP)
    try:
        waiting = {verb: quick.popen(*words) for verb, words in {
            "exec": ["exec", box, "--", "sh", "-c", "exit 3"], "exec -d": ["exec", "-d", box, "--", "true"],
            "jobs": ["jobs", "-q", box], "logs": ["logs", box, number], "wait": ["wait", "--timeout", "500ms", box, number]}.items()}
        time.sleep(1.5)
        early = {verb: process.poll() for verb, process in waiting.items()}
    finally:
        os.kill(warden, signal.SIGCONT)
    for verb, process in waiting.items():
        out, err = process.communicate(timeout=harness.PATIENCE)
        expected = {"exec": [3], "exec -d": [0], "jobs": [0], "logs": [0], "wait": [124]}[verb]
        if early[verb] is not None:
            expected = [124, 125]
        assert process.returncode in expected, (verb, early, out, err)


def test_kill_of_what_cannot_be_reached_is_no_success(quick):
    """Nobody knows whether it was killed, so nobody says so; and it is said in bounded time."""
    box = quick.up()
    number = quick.ok("exec", "-d", box, "--", "sh", "-c", "trap '' TERM; sleep 1000; sleep 1000").text.strip()
    warden = harness.pids_of(quick.inspect(box))["warden_pid"]
    killing = quick.popen("kill", "--grace", "3s", box, number)
    harness.wait_until(lambda: jobs(quick, box)[number]["state"] == "ending", "it was told")
    os.kill(warden, signal.SIGSTOP)
    try:
        out, err = killing.communicate(timeout=3 + 10 + 15)
    finally:
        os.kill(warden, signal.SIGCONT)
    assert killing.returncode == 125 and out == b"" and b"does not answer" in err, (out, err)


def test_input_for_a_box_that_does_not_read_has_an_end(quick):
    box = quick.up()
    warden = harness.pids_of(quick.inspect(box))["warden_pid"]
    feeding = quick.popen("exec", "-i", "--json", "--timeout", "1s", "--grace", "100ms", box, "--", "cat",
                          stdin=open("/dev/zero", "rb"))
    harness.wait_until(lambda: [entry for entry in jobs(quick, box).values() if entry["stdin_bytes"] > 1000000],
                       "it is fed")
    os.kill(warden, signal.SIGSTOP)
    try:
        out, err = feeding.communicate(timeout=1 + 0.1 + 10 + 15)
    finally:
        os.kill(warden, signal.SIGCONT)
    result = harness.Result(["exec"], feeding.returncode, out, err)
    assert result.json["outcome"] == "lost" and result.code == 125, str(result)[:500]


# --- clients that are killed ---------------------------------------------------------------------


def test_500_clients_killed_at_any_moment(quick, guard):
    """The box answers, no job whose client died lives on, those that were detached do, and whoever was not
    killed in time saw the truth."""
    dice = random.Random(7)
    box = quick.up("--pids-limit", "4000", "--name", "steady")
    watched = quick.ok("exec", "-d", box, "--", "sh", "-c", "seq 1 100; sleep 3009").text.strip()
    expected = "".join(f"{i}\n" for i in range(1, 101)).encode()
    kinds = {
        "short": lambda: ["exec", box, "--", "sh", "-c", "seq 1 100; exit 7"],
        "long": lambda: ["exec", box, "--", "sh", "-c", "setsid -f sleep 3001; seq 1 100; sleep 3002"],
        "script": lambda: ["exec", box, "-c", "seq 1 100; sleep 3003 & wait"],
        "detached": lambda: ["exec", "-d", box, "--", "sh", "-c", "sleep 3005; :"],
        "attach": lambda: ["attach", "--no-stdin", box, watched],
        "run": lambda: ["run", "--", "sh", "-c", "seq 1 100; exit 8"],
        "session": lambda: ["exec", "--session", "s", box, "-c", "x=$((x + 1)); seq 1 100; exit 9"],
    }
    finished, detached = dict.fromkeys(kinds, 0), []
    for i in range(500):
        kind = dice.choice(list(kinds))
        process = quick.popen(*kinds[kind]())
        time.sleep(dice.choice([0, dice.random() * 0.004, dice.random() * 0.012, dice.random() * 0.03]))
        process.kill()
        out, err = process.communicate(timeout=harness.PATIENCE)
        assert b"" == err or process.returncode != 0, err
        if kind != "detached":
            assert expected.startswith(out), (kind, out)
        if process.returncode == -signal.SIGKILL:
            if kind == "detached" and out:
                detached.append(out.decode().strip())
            continue
        finished[kind] += 1
        code = {"short": 7, "detached": 0, "run": 8, "session": 9}.get(kind)
        assert process.returncode == code, (kind, process.returncode, out, err)
        if kind == "detached":
            detached.append(out.decode().strip())
        else:
            assert out == expected, (kind, out)
    assert quick.exec(box, "echo", "here").text == "here\n"
    harness.wait_until(lambda: not re.search(r"sleep 300[123]", living(quick, box)), "jobs of dead clients are gone")
    listed = jobs(quick, box)
    assert listed[watched]["state"] == "running"
    for number in detached:
        assert listed[number]["state"] == "running", listed[number]
    # Whose client died before it could say the number was started or was not; nothing in between.
    sleeping = [number for number, entry in listed.items() if entry["state"] == "running" and number != watched]
    assert set(detached) <= set(sleeping)
    assert living(quick, box).count("sh -c sleep 3005") == len(sleeping)
    assert sum(finished.values()) > 20, f"too few lived long enough to prove anything: {finished}"
    quick.ok("kill", "--grace", "0", box, watched, *sleeping)
    assert "sleep 300" not in living(quick, box)
    assert int(quick.ok("exec", "--session", "s", box, "-c", "echo ${x-0}").text) >= 0
    assert [entry["name"] for entry in harness.wait_until(lambda: (lambda b: b if len(b) == 1 else None)(quick.boxes()), "boxes of dead clients are gone")] == [box]
    harness.wait_until(lambda: all(entry["clients"] == 0 for entry in jobs(quick, box).values()), "no client is left")
    warden = harness.pids_of(quick.inspect(box))["warden_pid"]
    # Its own, those of a handful of connections, and not hundreds.
    assert descriptors(warden) < 60


def test_clients_killed_while_they_pass_input_on(quick):
    """The job must not hang on a stdin that will never end."""
    box = quick.up()
    dice = random.Random(11)
    for i in range(60):
        process = quick.popen("exec", "-i", box, "--", "sh", "-c", "cat > /dev/null; sleep 3001", stdin=subprocess.PIPE)
        try:
            for _ in range(dice.randint(0, 4)):
                process.stdin.write(b"x" * 100000)
        except BrokenPipeError:
            pass
        time.sleep(dice.random() * 0.01)
        process.kill()
        try:
            process.stdin.close()
        except BrokenPipeError:
            pass
        process.stdin = None
        process.communicate(timeout=harness.PATIENCE)
    harness.wait_until(lambda: not re.search(r"sleep 3001|cat$", living(quick, box)), "none of them is left")
    assert quick.exec(box, "cat", flags=["-i"], input=b"x" * 1000000).out == b"x" * 1000000
