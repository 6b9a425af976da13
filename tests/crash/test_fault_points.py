"""Every step of making, using and removing a box, killed at that step. One further command finds and
removes what is left: no process, mount, cgroup or directory."""
import os
import subprocess

import pytest

import harness

CLIENT = ["client-reserved", "client-recorded", "client-keeper-started", "client-ready"]
KEEPER = ["keeper-start", "keeper-cgroups", "keeper-cloned", "keeper-mapped", "keeper-mounted", "keeper-ready"]
SETUP = ["setup-begin", "setup-root", "setup-pivoted", "setup-exec", "warden-ready"]
JOB = ["client-job-sent", "warden-job", "stub-started"]
END = ["client-remove", "keeper-kill", "keeper-clean-cgroups", "keeper-clean-data"]
CREATION = CLIENT + KEEPER + SETUP
ALL = CREATION + JOB + END


@pytest.fixture(autouse=True)
def needs_fault_points():
    with open(harness.CLI, "rb") as file:
        if b"HOLDFAST_FAULT" not in file.read():
            pytest.skip("machine: this build has no fault points")


def settled(hf, guard):
    """One command without faults; then nothing may be left but boxes that live. A keeper that is
    still cleaning up at that moment is waited for, but gets no second command to help it."""
    result = hf("ps", "--json")
    assert result.code == 0, str(result)
    for entry in result.json:
        if entry["state"] == "running":
            sane(hf("exec", entry["name"], "--", "true"))  # its own warden may still have the fault
            sane(hf("rm", "--force", entry["name"]))
            hf("ps")
    leaks = guard.settle()
    assert not leaks, "left behind:\n" + "\n".join(leaks)


def sane(result):
    """Killed, failed or done, but never a crash of another kind."""
    assert result.code in (0, 1, 2, 3, 124, 125, 126, 127, 130, 137, -9), str(result)
    assert "AddressSanitizer" not in result.errors and "runtime error" not in result.errors, str(result)
    return result


@pytest.mark.parametrize("fault", CREATION)
def test_killed_while_making_a_box(hf, guard, fault):
    result = sane(hf("up", "--name", "victim", env={"HOLDFAST_FAULT": fault}))
    assert result.code != 0, f"the point was not reached: {result}"
    if result.code == 125:
        assert result.errors.startswith("holdfast: "), str(result)
    settled(hf, guard)


@pytest.mark.parametrize("fault", CREATION)
def test_the_name_is_free_after_a_kill(hf, guard, fault):
    """The next `up` of the same name does not trip over what is left."""
    sane(hf("up", "--name", "victim", env={"HOLDFAST_FAULT": fault}))
    result = hf("up", "--name", "victim")
    assert result.code == 0, str(result)
    assert hf.exec("victim", "echo", "works").text == "works\n"
    hf.ok("rm", "--force", "victim")
    settled(hf, guard)


@pytest.mark.parametrize("fault", ALL)
def test_killed_while_running_a_command(hf, guard, fault):
    result = sane(hf("run", "--json", "--", "sh", "-c", "exit 3", env={"HOLDFAST_FAULT": fault}))
    if fault in CREATION + JOB:
        assert result.code != 3 or fault == "stub-started", f"the point was not reached: {result}"
    # What was not told by the box is not made up.
    assert result.code != 0, str(result)
    settled(hf, guard)


@pytest.mark.parametrize("fault", ["client-job-sent"])
def test_killed_while_a_job_is_started(hf, guard, box, fault):
    result = sane(hf.exec(box, "sleep", "1000", env={"HOLDFAST_FAULT": fault}))
    assert result.code == -9, f"the point was not reached: {result}"
    harness.wait_until(lambda: "sleep 1000" not in hf.sh(box, "ps -eo args"), "the job ends with its client")
    hf.ok("rm", "--force", box)
    settled(hf, guard)


@pytest.mark.parametrize("fault", ["warden-job", "stub-started"])
def test_killed_inside_the_box_while_a_job_is_started(hf, guard, fault):
    """The box was made with the fault; it is its warden or its stub that dies."""
    sane(hf("up", "--name", "victim", env={"HOLDFAST_FAULT": fault}))
    result = sane(hf.exec("victim", "sh", "-c", "exit 3", flags=["--json"]))
    # Killed with its supervisor, lost, or done before that: never a made-up code.
    assert result.code in (125, 137, 3), str(result)
    if fault == "warden-job":
        assert result.code == 125, f"the point was not reached: {result}"
    settled(hf, guard)


@pytest.mark.parametrize("fault", END)
@pytest.mark.parametrize("verb", ["rm", "stop"])
def test_killed_while_removing_a_box(hf, guard, fault, verb):
    env = {"HOLDFAST_FAULT": fault}
    created = hf("up", "--name", "victim", env={} if fault.startswith("client") else env)
    assert created.code == 0, str(created)
    hf.sh("victim", "mkdir /usr/dir; echo x > /usr/dir/file")
    command = ["rm", "--force"] if verb == "rm" else ["stop"]
    sane(hf(*command, "victim", env=env if fault.startswith("client") else {}))
    settled(hf, guard)
    assert hf.box_dirs() == []


@pytest.mark.parametrize("fault", ALL)
def test_killed_at_every_command_of_a_life(hf, guard, fault):
    """The same fault in all of them, one after the other."""
    env = {"HOLDFAST_FAULT": fault}
    sane(hf("up", "--name", "victim", env=env))
    sane(hf("exec", "victim", "--", "true", env=env))
    sane(hf("ps", env=env))
    sane(hf("up", "--name", "victim", env=env))
    sane(hf("rm", "--force", "victim", env=env))
    settled(hf, guard)


@pytest.mark.parametrize("fault", KEEPER + SETUP)
def test_a_second_caller_waits_in_vain_for_no_long_time(hf, guard, fault):
    """Two callers of one task, the first one's box dies while it is made."""
    first = hf.popen("up", "--task", "race", env={"HOLDFAST_FAULT": fault})
    second = sane(hf("up", "--task", "race"))
    first.communicate(timeout=harness.PATIENCE)
    if second.code != 0:
        assert second.errors.startswith("holdfast: "), str(second)
        again = hf("up", "--task", "race")
        assert again.code == 0, str(again)
    settled(hf, guard)


@pytest.mark.parametrize("fault", CREATION)
def test_a_fault_of_one_box_harms_no_other(hf, guard, fault):
    other = hf.up("--name", "other")
    hf.sh(other, "echo kept > /workspace/file")
    sane(hf("up", "--name", "victim", env={"HOLDFAST_FAULT": fault}))
    hf("ps")
    assert hf.sh(other, "cat /workspace/file") == "kept\n"
    hf.ok("rm", "--force", other)
    settled(hf, guard)


def test_a_failed_creation_leaves_nothing_at_once(hf, guard):
    """created-state-leftover: where the client lives to see the failure, it cleans up itself."""
    for fault in KEEPER + SETUP:
        result = sane(hf("up", "--name", "victim", env={"HOLDFAST_FAULT": fault}))
        assert result.code == 125, f"{fault}: {result}"
        harness.wait_until(lambda: hf.box_dirs() == [], f"no directory after {fault}")


def test_release_build_has_no_fault_points():
    path = os.path.join(harness.RELEASE, "holdfast")
    if not os.path.exists(path):
        pytest.skip("no release build")
    with open(path, "rb") as file:
        assert b"HOLDFAST_FAULT" not in file.read()
    text = subprocess.run(["strings", path], capture_output=True, text=True).stdout
    assert "keeper-clean-data" not in text
