"""Limits: really in force, and read back from the kernel."""
import os
import re

import pytest

import harness

MIB = 1 << 20


def read_limit(box, *files):
    """The first of these files that one of the box's cgroups has."""
    directories = harness.cgroups_of(box).values()
    for name in files:
        for directory in directories:
            text = harness.read_file(os.path.join(directory, name)).strip()
            if text:
                return text
    raise AssertionError(f"no {files} in {list(directories)}")


pytestmark = pytest.mark.root


def test_limits_stand_in_the_cgroup(hf):
    box = hf.up("--memory", "96m", "--pids-limit", "77", "--cpus", "0.5")
    assert int(read_limit(box, "memory.max", "memory.limit_in_bytes")) == 96 * MIB
    assert read_limit(box, "pids.max") == "77"
    if "cpu.max" in read_all_names(box):
        quota, period = read_limit(box, "cpu.max").split()
    else:
        quota, period = read_limit(box, "cpu.cfs_quota_us"), read_limit(box, "cpu.cfs_period_us")
    assert int(quota) * 2 == int(period)


def read_all_names(box):
    return {name for directory in harness.cgroups_of(box).values() for name in os.listdir(directory)}


def test_default_pids_limit_is_256(hf, box):
    assert read_limit(box, "pids.max") == "256"


def test_no_pids_limit(hf):
    box = hf.up("--pids-limit", "0")
    try:
        assert read_limit(box, "pids.max") == "max"
    except AssertionError:
        pass  # no cgroup at all is no limit either


def test_warden_is_in_every_cgroup_of_the_box(hf, box):
    pid = next(entry["pid"] for entry in hf.boxes() if entry["name"] == box)
    for directory in harness.cgroups_of(box).values():
        assert pid in harness.cgroup_pids(directory), directory


def test_inspect_tells_what_is_in_force(hf):
    box = hf.up("--memory", "96m", "--pids-limit", "77", "--cpus", "0.5", "--hardening", "strict")
    text = hf.ok("inspect", box).text
    assert str(96 * MIB) in text and "77" in text and "strict" in text


def test_memory_limit_ends_the_job_and_not_the_box(hf):
    box = hf.up("--memory", "64m")
    result = hf.exec(box, "python3", "-c", "x = bytearray(200 << 20)", flags=["--json"])
    assert result.json["outcome"] == "oom_killed", str(result)
    # The files stay and fill it, so a command may find no memory to run in; the box still answers.
    assert hf.exec(box, "echo", "alive", flags=["--json"]).json["outcome"] in ("exited", "oom_killed")


def test_memory_limit_leaves_room_below_it(hf):
    result = hf.run("python3", "-c", "x = bytearray(40 << 20); print(len(x))", flags=["--memory", "128m"])
    assert result.text == f"{40 << 20}\n", str(result)


def test_files_in_tmpfs_count_as_memory(hf):
    """A box cannot keep more in /tmp or /dev/shm than its memory limit."""
    for path in ("/tmp/x", "/dev/shm/x", "/workspace/x", "/usr/x"):
        box = hf.up("--memory", "48m", "--shm-size", "1g")
        result = hf.exec(box, "sh", "-c", f"exec head -c 100000000 /dev/zero > {path}")
        assert result.code != 0, str(result)
        pid = next(entry["pid"] for entry in hf.boxes() if entry["name"] == box)
        assert os.lstat(f"/proc/{pid}/root{path}").st_size < 48 * MIB
        hf.ok("rm", "--force", box)


def test_no_swap_beyond_the_limit(hf):
    box = hf.up("--memory", "64m")
    for name, wanted in (("memory.swap.max", "0"), ("memory.memsw.limit_in_bytes", str(64 * MIB))):
        for directory in harness.cgroups_of(box).values():
            path = os.path.join(directory, name)
            if os.path.exists(path):
                assert harness.read_file(path).strip() == wanted


def test_pids_limit(hf):
    script = ("import os,signal\nn=0\ntry:\n while n<100:\n"
              "  if os.fork()==0: signal.pause()\n  n+=1\n"
              "except BlockingIOError: pass\nprint(n,flush=True)\n")
    result = hf.run("python3", "-c", script, flags=["--pids-limit", "32"])
    assert 10 < int(result.text) < 32, str(result)


def test_threads_count_as_pids(hf):
    script = ("import threading,time\nn=0\ntry:\n while n<500:\n"
              "  threading.Thread(target=time.sleep,args=(5,),daemon=True).start(); n+=1\n"
              "except RuntimeError: pass\nprint(n,flush=True)\nimport os;os._exit(0)\n")
    result = hf.run("python3", "-c", script, flags=["--pids-limit", "40"])
    assert int(result.text) < 40, str(result)


def test_cpu_limit_slows_down(hf):
    """Two busy loops with half a CPU get about half a CPU: read from the kernel, not from a clock."""
    box = hf.up("--cpus", "0.25")
    hf.exec(box, "bash", "-c", "(while :; do :; done) & (while :; do :; done) & wait",
            flags=["--timeout", "1s", "--grace", "100ms"])
    throttled = 0
    for directory in harness.cgroups_of(box).values():
        found = re.search(r"nr_throttled (\d+)", harness.read_file(os.path.join(directory, "cpu.stat")))
        throttled += int(found.group(1)) if found else 0
    assert throttled > 0


def test_the_box_cannot_change_its_limits(hf):
    box = hf.up("--memory", "96m", "--pids-limit", "77")
    script = ("find /sys/fs/cgroup -type f 2>/dev/null | while read f; do "
              "if (echo max > $f) 2>/dev/null; then echo WROTE $f; fi; done; true")
    assert "WROTE" not in hf.exec(box, "bash", "-c", script).text
    assert "made" not in hf.exec(box, "sh", "-c", "mkdir /sys/fs/cgroup/x 2>/dev/null && echo made").text
    assert int(read_limit(box, "memory.max", "memory.limit_in_bytes")) == 96 * MIB
    assert read_limit(box, "pids.max") == "77"


def test_core_dumps_are_off(hf, box):
    assert hf.sh(box, "ulimit -c; ulimit -Hc") == "0\n0\n"


def test_jobs_die_before_the_warden(hf, box):
    """What the kernel kills first when memory runs out."""
    job = int(hf.exec(box, "cat", "/proc/self/oom_score_adj").text)
    pid = next(entry["pid"] for entry in hf.boxes() if entry["name"] == box)
    assert job > int(harness.read_file(f"/proc/{pid}/oom_score_adj"))


def test_a_job_cannot_lower_its_oom_score(hf, box):
    result = hf.exec(box, "sh", "-c", "echo -1000 > /proc/self/oom_score_adj; cat /proc/self/oom_score_adj")
    assert int(result.text) >= 500
