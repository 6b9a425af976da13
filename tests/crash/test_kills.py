"""SIGKILL at any time, to anyone: the next command finds and removes what is left."""
import os
import random
import re
import signal
import subprocess
import time

import pytest

import harness

ROUNDS = 12


def keeper_of(pid):
    return harness.process_stat(pid)[1]


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def nothing_left(hf, guard):
    """One further command, and what still runs removed: then there is nothing."""
    result = hf("ps", "--json")
    assert result.code == 0, str(result)
    for entry in result.json:
        # One whose maker died a moment ago may be on its way out, or gone by now.
        removed = hf("rm", "--force", entry["name"])
        assert removed.code == 0 or "there is no box" in removed.errors, str(removed)
    leaks = guard.settle()
    assert not leaks, "left behind:\n" + "\n".join(leaks)


def test_killed_keeper_takes_the_box_with_it(hf, guard, box):
    warden = hf.boxes()[0]["pid"]
    job = hf.popen("exec", box, "--", "sleep", "1000")
    kill(keeper_of(warden))
    harness.wait_until(lambda: not harness.alive(warden), "the warden died with its keeper")
    job.communicate(timeout=harness.PATIENCE)
    assert job.returncode not in (0, None)
    assert hf.boxes() == []
    nothing_left(hf, guard)


def test_killed_warden_is_cleaned_by_its_keeper(hf, guard, box):
    warden = hf.boxes()[0]["pid"]
    keeper = keeper_of(warden)
    kill(warden)
    harness.wait_until(lambda: not harness.alive(keeper), "the keeper cleaned up and left")
    harness.wait_until(lambda: hf.box_dirs() == [], "without any further command")
    assert not hf.cgroups(box)


def test_killed_keeper_and_warden(hf, guard, box):
    """Nobody is left who could clean up; the next command does."""
    hf.sh(box, "mkdir -p /usr/a/b; echo x > /usr/a/b/c")
    warden = hf.boxes()[0]["pid"]
    for pid in (keeper_of(warden), warden):
        kill(pid)
    harness.wait_until(lambda: not harness.alive(warden), "the warden is dead")
    assert hf.boxes() == []
    assert hf.box_dirs() == []
    nothing_left(hf, guard)


@pytest.mark.parametrize("verb", ["up", "run", "exec", "ps", "stop", "rm", "inspect", "doctor"])
def test_any_command_sweeps(hf, guard, verb):
    """The next command of any kind, as long as it looks at boxes."""
    box = hf.up("--name", "dead")
    other = hf.up("--name", "other")
    warden = next(entry["pid"] for entry in hf.boxes() if entry["name"] == box)
    for pid in (keeper_of(warden), warden):
        kill(pid)
    harness.wait_until(lambda: not harness.alive(warden), "the warden is dead")
    commands = {"up": ["up", "--name", "third"], "run": ["run", "--", "true"], "exec": ["exec", other, "--", "true"],
                "ps": ["ps"], "stop": ["stop", other], "rm": ["rm", "--force", other], "inspect": ["inspect", other],
                "doctor": ["doctor"]}
    hf.made += ["third"]
    result = hf(*commands[verb])
    assert result.code == 0, str(result)
    left = [path for path in hf.box_dirs() if path.endswith("/dead")]
    if verb in ("up", "run", "ps"):
        assert left == [], "calls that make or list boxes sweep"
    hf("ps")
    assert not [path for path in hf.box_dirs() if path.endswith("/dead")]
    assert not hf.cgroups("dead")


def test_dead_box_is_told_as_such(hf, guard, box):
    warden = hf.boxes()[0]["pid"]
    for pid in (keeper_of(warden), warden):
        kill(pid)
    harness.wait_until(lambda: not harness.alive(warden), "the warden is dead")
    result = hf.exec(box, "true")
    assert result.code == 125, str(result)
    assert re.search(r"not running|No such|not found|no box", result.errors), str(result)
    nothing_left(hf, guard)


def test_after_a_reboot(hf, guard, box):
    """A record of another boot names pids that mean nothing any more."""
    warden = hf.boxes()[0]["pid"]
    directory = os.path.join(hf.runtime, "boxes", box)
    saved = {name: open(os.path.join(directory, name), "rb").read()
             for name in os.listdir(directory) if os.path.isfile(os.path.join(directory, name))}
    for pid in (keeper_of(warden), warden):
        kill(pid)
    harness.wait_until(lambda: not harness.alive(warden), "the warden is dead")
    victim = subprocess.Popen(["sleep", "1000"])
    try:
        boot = harness.read_file("/proc/sys/kernel/random/boot_id").strip().encode()
        os.makedirs(directory, mode=0o700, exist_ok=True)
        for name, data in saved.items():
            with open(os.path.join(directory, name), "wb") as file:
                file.write(data.replace(boot, b"00000000-0000-0000-0000-000000000000")
                           .replace(str(warden).encode(), str(victim.pid).encode()))
        assert hf.boxes() == []
        assert victim.poll() is None
    finally:
        victim.kill()
        victim.wait()
    nothing_left(hf, guard)


def our_processes(known):
    """Clients, keepers and wardens that came since, by name."""
    found = {}
    for pid in harness.descendants() - known:
        found.setdefault(harness.read_file(f"/proc/{pid}/comm").strip(), []).append(pid)
    return found


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_random_kills(hf, guard, seed):
    """Several lives at once; somebody dies at a moment that nobody chose."""
    dice = random.Random(seed)
    hf.up("--name", "steady")
    known = harness.descendants()
    commands = [["run", "--", "sh", "-c", "head -c 100000 /dev/zero; sleep 0.05"], ["up", "--name", "a"],
                ["run", "--", "sleep", "0.05"], ["up", "--name", "b"], ["exec", "steady", "--", "sleep", "0.05"],
                ["rm", "--force", "a"]]
    running = []
    for command in dice.sample(commands, 4):
        running.append(hf.popen(*command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        time.sleep(dice.random() * 0.03)
        for pids in our_processes(known).values():
            for pid in pids:
                if dice.random() < 0.25:
                    kill(pid)
    time.sleep(dice.random() * 0.05)
    for pids in our_processes(known).values():
        kill(dice.choice(pids))
    for process in running:
        process.wait(harness.PATIENCE)
    assert hf.exec("steady", "echo", "here").text == "here\n", "a box that nobody killed"
    nothing_left(hf, guard)


def test_killed_caller_of_run(hf, guard):
    """Its box ends with it, at any moment."""
    for delay in (0, 0.01, 0.02, 0.04, 0.08, 0.16):
        process = hf.popen("run", "--", "sleep", "1000")
        time.sleep(delay)
        process.kill()
        process.communicate()
    nothing_left(hf, guard)


def test_killed_process_group(hf, guard):
    """A terminal that is closed, a CI job that is cancelled: the whole group at once."""
    for delay in (0.01, 0.05, 0.2):
        process = hf.popen("run", "--", "sleep", "1000", start_new_session=True)
        time.sleep(delay)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    nothing_left(hf, guard)


def test_box_survives_the_terminal_of_its_maker(hf, guard):
    """SIGHUP and SIGINT to the group of `up` do not reach the box it made."""
    process = hf.popen("up", "--name", "kept", start_new_session=True)
    process.communicate(timeout=harness.PATIENCE)
    hf.made.append("kept")
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            pass
    assert hf.exec("kept", "echo", "alive").text == "alive\n"


def test_interrupted_up(hf, guard):
    """Ctrl-C while a box is made."""
    for delay in (0, 0.01, 0.02, 0.04):
        process = hf.popen("up", "--name", "maybe")
        time.sleep(delay)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=harness.PATIENCE)
    nothing_left(hf, guard)


def test_removals_at_once(hf, guard, box):
    """Everybody removes the same box: one of them does, the others say that it is gone."""
    processes = [hf.popen("rm", "--force", box) for _ in range(6)]
    codes = []
    for process in processes:
        process.communicate(timeout=harness.PATIENCE)
        codes.append(process.returncode)
    assert 0 in codes and set(codes) <= {0, 125}, codes
    nothing_left(hf, guard)


def test_making_and_removing_at_once(hf, guard):
    """The same name, made and removed by many at the same time."""
    processes = []
    for _ in range(5):
        processes.append(hf.popen("up", "--name", "busy"))
        processes.append(hf.popen("rm", "--force", "busy"))
        processes.append(hf.popen("ps"))
    for process in processes:
        _, err = process.communicate(timeout=harness.PATIENCE)
        assert process.returncode in (0, 125), err
        assert b"Sanitizer" not in err
    nothing_left(hf, guard)
