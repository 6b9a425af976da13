"""Process trees: ended as a whole, never mixed up, nothing left."""
import concurrent.futures
import os
import re

import pytest

import harness


def processes_in(hf, box):
    return hf.sh(box, "ps -eo args")


def test_timeout_leaves_tree(front, hf, box):
    result = front.run("bash", "-c", "sleep 1001 & (sleep 1002 & sleep 1003) & sleep 1004", timeout="300ms")
    assert result["outcome"] == "timed_out"
    assert not re.search(r"sleep 100\d", processes_in(hf, box))


def test_daemonised_child_survives_timeout(front, hf, box):
    script = "setsid -f setsid -f sleep 1001; (setsid nohup sleep 1002 </dev/null >/dev/null 2>&1 &); sleep 1003"
    result = front.run("bash", "-c", script, timeout="500ms")
    assert result["outcome"] == "timed_out"
    assert not re.search(r"sleep 100\d", processes_in(hf, box))


def test_children_that_ignore_term_are_ended(front, hf, box):
    script = "for i in 1 2 3; do (trap '' TERM INT HUP; exec setsid sleep 100$i) & done; wait"
    result = front.run("bash", "-c", script, timeout="300ms", grace="100ms")
    assert result["outcome"] == "timed_out"
    assert not re.search(r"sleep 100\d", processes_in(hf, box))


def test_stopped_children_are_ended(front, hf, box):
    result = front.run("bash", "-c", "sleep 1001 & kill -STOP $!; kill -STOP $$", timeout="300ms", grace="200ms")
    assert result["outcome"] == "timed_out"
    assert not re.search(r"sleep 100\d", processes_in(hf, box))


def test_children_of_other_users_are_ended(front, hf, box):
    """PID 1 has no CAP_KILL; that must not save a child with another uid."""
    script = "setpriv --reuid 1234 --regid 1234 --clear-groups sleep 1001 & sleep 1002"
    result = front.run("bash", "-c", script, timeout="500ms", grace="200ms")
    assert result["outcome"] == "timed_out"
    assert not re.search(r"sleep 100\d", processes_in(hf, box))


def test_job_of_another_user_times_out(front):
    result = front.run("sleep", "1000", user="1234", timeout="300ms")
    assert result["outcome"] == "timed_out"


def test_a_timeout_harms_no_other_job(hf, box):
    other = hf.popen("exec", box, "--", "sh", "-c", "echo ready; sleep 2; echo whole")
    assert other.stdout.readline() == b"ready\n"
    assert hf.exec(box, "sleep", "1000", flags=["--timeout", "200ms"]).code == 124
    out, _ = other.communicate(timeout=harness.PATIENCE)
    assert (other.returncode, out) == (0, b"whole\n")


def test_a_killed_client_ends_its_job(hf, box):
    process = hf.popen("exec", box, "--", "sh", "-c", "echo ready; sleep 1001")
    process.stdout.readline()
    process.kill()
    process.communicate()
    harness.wait_until(lambda: "sleep 1001" not in processes_in(hf, box), "the job is gone")


def test_a_closed_handle_leaves_the_job_alone(client, hf, box):
    client.call("attach", box)
    client.start("sh", "-c", "echo ready; sleep 1001")
    client.read()
    client.call("close")
    assert hf.exec(box, "true").code == 0
    assert "sleep 1001" in processes_in(hf, box)


def test_kill_on_close(client, hf, box):
    client.call("attach", box)
    client.start("sh", "-c", "echo ready; sleep 1001", kill_on_close=1)
    client.read()
    client.call("close")
    harness.wait_until(lambda: "sleep 1001" not in processes_in(hf, box), "the job is gone")


def test_zombies_fill_pids(hf):
    """Orphans are reaped: far more short-lived ones than the limit has room for."""
    box = hf.up("--pids-limit", "64")
    hf.sh(box, "for i in $(seq 300); do (sleep 0 &) ; done")
    for _ in range(3):
        hf.sh(box, "for i in $(seq 100); do (setsid true &) ; done")
    assert hf.exec(box, "true").code == 0
    harness.wait_until(lambda: "<defunct>" not in processes_in(hf, box), "no zombie")


def test_100_jobs_in_a_row(client, box):
    client.call("attach", box)
    for i in range(100):
        client.start("sh", "-c", f"echo {i}; exit {i}")
        answer = client.call("wait")
        assert (answer["code"], answer["result"]["stdout"]) == (i, f"{i}\n")
        client.call("close")


def test_20_jobs_at_once(hf, box):
    """Each gets its own output and its own exit code."""
    def one(i):
        script = f"for k in $(seq 200); do echo {i}; done; cat; exit {i}"
        return hf.exec(box, "sh", "-c", script, flags=["-i"], input=f"in{i}\n")

    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        for i, result in enumerate(pool.map(one, range(20))):
            assert result.code == i, str(result)
            assert result.text == f"{i}\n" * 200 + f"in{i}\n"


def test_jobs_leave_no_process(client, hf, box):
    client.call("attach", box)
    for _ in range(20):
        client.start("sh", "-c", "true | true")
        client.call("wait")
        client.call("close")
    # ps itself, the shell around it and PID 1 with one stub.
    harness.wait_until(lambda: len(processes_in(hf, box).splitlines()) <= 5, "only ps is left")


def test_each_job_has_its_own_session(hf, box):
    sid, pgid, pid = hf.exec(box, "sh", "-c", "ps -o sid=,pgid=,pid= -p $$").text.split()
    assert sid == pgid == pid


def test_signals_start_at_their_defaults(hf, box):
    text = hf.exec(box, "cat", "/proc/self/status").text
    assert re.findall(r"^Sig(?:Blk|Ign|Cgt):\s(\w+)$", text, re.M) == ["0" * 16] * 3


def test_signals_ignored_by_the_caller_are_not_ignored_inside(hf, box):
    script = f"trap '' INT PIPE USR1 CHLD; exec \"$0\" exec {box} -- cat /proc/self/status"
    result = harness.execute(["bash", "-c", script, hf.cli], env=hf.env)
    assert re.search(r"^SigIgn:\s0{16}$", result.text, re.M), str(result)


def test_box_made_with_sigchld_ignored(hf):
    """A caller that ignores SIGCHLD gives it to every child it has."""
    script = "trap '' CHLD INT; exec \"$0\" up"
    result = harness.execute(["bash", "-c", script, hf.cli], env=hf.env)
    assert result.code == 0, str(result)
    hf.made.append(result.text.strip())
    assert hf.exec(result.text.strip(), "sh", "-c", "true; exit 3").code == 3


def test_umask_is_022(hf):
    script = "umask 077; exec \"$0\" run -- sh -c umask"
    result = harness.execute(["bash", "-c", script, hf.cli], env=hf.env)
    assert result.text.strip() == "0022"


def test_callers_descriptors_stay_outside(hf):
    """An open descriptor of the caller is not seen by the box, though it is no secret of ours."""
    read, write = os.pipe()
    try:
        result = hf.run("ls", "/proc/self/fd", pass_fds=(read, write))
    finally:
        os.close(read)
        os.close(write)
    # 3 is the directory that ls reads.
    assert result.text.split() == ["0", "1", "2", "3"]


@pytest.mark.parametrize("missing", [0, 1, 2])
def test_a_caller_without_standard_descriptors(hf, missing):
    script = f"exec {missing}>&-; exec \"$0\" run -- true"
    result = harness.execute(["bash", "-c", script, hf.cli], env=hf.env)
    assert result.code in (0, 125), str(result)
