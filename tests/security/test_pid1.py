"""The warden against its own jobs: same box, same root, and still out of reach."""
import concurrent.futures
import re

import pytest

import harness


@pytest.mark.parametrize("name", ["mem", "environ", "maps", "smaps", "auxv", "stack", "syscall", "pagemap", "exe",
                                  "cwd", "root", "io", "map_files", "personality", "fd/0", "fd/3", "fd/4", "fd/5"])
def test_files_of_pid_1(probe, name):
    """/proc/1 tells root in the box nothing of the warden, though both have the same uid."""
    for how in ("read", "write", "list", "readlink"):
        answer = probe(how, f"/proc/1/{name}")
        assert answer in ("EACCES", "EPERM", "ENOTDIR", "EINVAL", "EISDIR", "ENOENT", "EROFS"), (how, answer)


def test_root_and_cwd_of_pid_1_are_not_a_way_out(hf, box):
    result = hf.exec(box, "sh", "-c", "ls /proc/1/root/ /proc/1/cwd/")
    assert result.code != 0 or "warden" not in result.text


def test_ptrace_of_pid_1(probe):
    assert probe("ptrace", 1) in ("EPERM", "ENOSYS")


def test_memory_of_pid_1(probe):
    assert probe("read-memory", 1) in ("EPERM", "ENOSYS")


def test_descriptors_of_pid_1(probe):
    assert probe("pidfd-getfd", 1) in ("EPERM", "ENOSYS")


@pytest.mark.parametrize("signal", [1, 2, 9, 10, 11, 12, 13, 15, 17, 18, 19, 20, 31, 34, 64])
def test_signals_to_pid_1(probe, hf, signal):
    """None of them ends or stops it. TERM and INT ask it to stop, but only from the host."""
    probe("kill", 1, signal)
    assert hf.exec(probe.box, "echo", "alive").text == "alive\n"


@pytest.mark.parametrize("signal", [15, 9, 19])
def test_signals_to_everybody(probe, hf, signal):
    """kill(-1): the job harms itself at most."""
    hf.exec(probe.box, "/probe/probe", "kill-all", str(signal), flags=["--timeout", "5s", "--grace", "100ms"])
    assert hf.exec(probe.box, "echo", "alive").text == "alive\n"


def test_cve_2019_5736_overwrite_of_pid_1(probe, hf):
    """/proc/PID/exe of our own programs cannot be opened for writing, nor read."""
    for target in ("/proc/1/exe",):
        assert probe("open-rw", target) in ("EACCES", "EPERM", "ETXTBSY", "EROFS", "ENOENT")
        assert probe("read", target) in ("EACCES", "EPERM", "ENOENT")
    # The stub is the parent of a job's main process.
    answer = hf.sh(probe.box, "exec /probe/probe open-rw /proc/$PPID/exe").strip()
    assert answer != "ok"


def test_warden_is_a_sealed_copy(hf, box):
    """What runs as PID 1 is no file of the host that anybody could change."""
    import os
    link = os.readlink(f"/proc/{hf.boxes()[0]['pid']}/exe")
    assert "memfd:" in link, link


def test_leaked_descriptors(probe):
    """CVE-2024-21626, CVE-2016-9962: a job has 0, 1 and 2 and nothing else."""
    assert probe("fds") == "0 1 2"


def test_leaked_descriptors_of_run(hf, probe_dir):
    result = hf.run("/probe/probe", "fds", flags=["-v", f"{probe_dir}:/probe:ro"])
    assert result.text.strip() == "0 1 2", str(result)


def test_descriptors_of_the_stub(hf, box):
    """The job's parent holds its status pipe; its /proc entries are closed to the job."""
    result = hf.exec(box, "sh", "-c", "ls -l /proc/$PPID/fd")
    assert result.code != 0, str(result)


@pytest.mark.parametrize("directory", [f"/proc/self/fd/{i}" for i in range(3, 16)] + ["/proc/1/cwd", "/proc/1/root"])
def test_cve_2024_21626_working_directory(hf, box, directory):
    """A working directory that is a descriptor of ours would be a way out."""
    result = hf.exec(box, "sh", "-c", "pwd -P; ls /", flags=["-w", directory])
    if result.code == 0:
        assert "(unreachable)" not in result.text
        assert hf.exec(box, "ls", "/").text.split() == result.text.split()[1:]
    else:
        assert result.code == 126, str(result)


def test_environment_of_pid_1_is_empty(hf, box):
    """Nothing of the caller's environment is in the warden, seen from the host."""
    result = hf.exec(box, "cat", "/proc/1/environ")
    assert result.out == b""
    assert "PATH=" not in harness.read_file(f"/proc/{hf.boxes()[0]['pid']}/environ")


def test_secrets_of_one_job_are_not_in_another(hf, box):
    """Environment and argv of a job by another user of the same box are the kernel's to protect."""
    process = hf.popen("exec", "-e", "SECRET=hush-hush", box, "--", "sh", "-c", "echo ready; sleep 1000")
    process.stdout.readline()
    result = hf.exec(box, "sh", "-c", "cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n' | grep -a hush", flags=["-u", "1234"])
    assert result.out == b""
    process.terminate()
    process.communicate()


@pytest.mark.parametrize("action", ["kill parent 9", "kill parent 19", "kill parent 11", "kill parent 15"])
def test_a_job_against_its_own_stub(probe, hf, action):
    """Killed or stopped, the stub takes its own job with it and nobody else."""
    witness = hf.popen("exec", probe.box, "--", "sh", "-c", "echo ready; sleep 2; echo whole")
    witness.stdout.readline()
    result = hf.exec(probe.box, "/probe/probe", *action.split(), flags=["--timeout", "2s", "--grace", "200ms", "--json"])
    # "lost" where nobody is left who could tell how it ended; the box itself is not.
    assert result.json["outcome"] in ("signaled", "timed_out", "lost", "exited"), str(result)
    out, _ = witness.communicate(timeout=harness.PATIENCE)
    assert (witness.returncode, out) == (0, b"whole\n")
    assert hf.exec(probe.box, "echo", "alive").text == "alive\n"
    assert hf.exec(probe.box, "sh", "-c", "exit 7").code == 7


def test_a_job_that_kills_its_stub_leaves_no_tree(probe, hf):
    """Its children have no stub any more; they go all the same."""
    script = "setsid sleep 1001 & setsid -f sleep 1002; exec /probe/probe kill $PPID 9"
    hf.exec(probe.box, "bash", "-c", script, flags=["--timeout", "5s", "--grace", "100ms"])
    harness.wait_until(lambda: not re.search(r"sleep 100\d", hf.sh(probe.box, "ps -eo args")), "the tree is gone")


def test_fabricated_zero_by_killing_the_stub(probe, hf):
    """A job cannot make itself look like a success by killing who would tell how it ended."""
    result = hf.exec(probe.box, "bash", "-c", "kill -9 $PPID; exit 0", flags=["--json", "--timeout", "10s"])
    assert result.json["outcome"] in ("exited", "signaled", "not_started", "cancelled", "lost"), str(result)
    if result.json["outcome"] == "exited":
        assert result.json["exit_code"] == 0


def test_a_job_tracing_its_stub(probe, hf):
    """It cannot; and a job that waits for it can be ended."""
    answer = hf.sh(probe.box, "exec /probe/probe ptrace $PPID").strip()
    assert answer in ("EPERM", "ENOSYS")


def test_a_stopped_stub_does_not_stop_the_timeout(probe, hf):
    result = hf.exec(probe.box, "bash", "-c", "kill -STOP $PPID; sleep 1000",
                     flags=["--timeout", "500ms", "--grace", "200ms", "--json"])
    assert result.json["outcome"] == "timed_out", str(result)
    assert "sleep 1000" not in hf.sh(probe.box, "ps -eo args")


def test_a_stopped_stub_does_not_stop_the_removal(probe, hf):
    process = hf.popen("exec", probe.box, "--", "bash", "-c", "echo ready; kill -STOP $PPID; sleep 1000")
    process.stdout.readline()
    hf.ok("stop", probe.box)
    process.communicate(timeout=harness.PATIENCE)


def test_a_loud_job_does_not_starve_a_quiet_one(hf, box):
    loud = [hf.popen("exec", box, "--", "sh", "-c", "yes", stdout=-3) for _ in range(2)]
    for _ in range(5):
        assert hf.exec(box, "echo", "quiet").text == "quiet\n"
    for process in loud:
        process.terminate()
    for process in loud:
        process.wait(harness.PATIENCE)


def test_many_jobs_do_not_exhaust_the_warden(hf):
    box = hf.up("--pids-limit", "64")

    def one(_):
        return hf.exec(box, "sleep", "2", flags=["--timeout", "20s"])

    with concurrent.futures.ThreadPoolExecutor(40) as pool:
        results = list(pool.map(one, range(40)))
    for result in results:
        # Those that found no room are told so; none of them hangs or is invented.
        assert result.code in (0, 125, 126), str(result)
    assert hf.exec(box, "echo", "alive").text == "alive\n"
