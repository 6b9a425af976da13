"""Boxes: made once, found again, listed, ended, gone."""
import concurrent.futures
import json
import os
import re
import subprocess

import pytest

import harness


def test_run_leaves_nothing(hf):
    assert hf.run("true").code == 0
    assert hf.boxes() == []
    assert hf.box_dirs() == []


def test_up_prints_the_name(hf):
    name = hf.up("--task", "issue 42")
    assert re.fullmatch(r"hf-issue-42-[0-9a-f]{12}", name)


def test_up_again_is_the_same_box(hf):
    first = hf.up("--task", "t")
    hf.sh(first, "echo mine > /workspace/file")
    assert hf.up("--task", "t") == first
    assert hf.sh(first, "cat /workspace/file") == "mine\n"


def test_up_json_says_whether_it_was_made(hf):
    assert hf.ok("up", "--json", "--name", "one").json == {"name": "one", "created": True}
    hf.made.append("one")
    assert hf.ok("up", "--json", "--name", "one").json == {"name": "one", "created": False}


def test_label_collision(hf):
    """Tasks that look alike are different boxes."""
    names = {hf.up("--task", task) for task in ("a/b", "a_b", "a b", "A/b", "a/b ")}
    assert len(names) == 5


def test_profiles_are_different_boxes(hf):
    assert hf.up("--task", "t") != hf.up("--task", "t", "--profile", "other")


def test_task_and_profile_do_not_run_into_each_other(hf):
    assert hf.up("--task", "bc", "--profile", "a") != hf.up("--task", "c", "--profile", "ab")


def test_two_callers_two_boxes(hf):
    """The same task at the same instant is one box, for everybody."""
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: hf("up", "--json", "--task", "race"), range(8)))
    hf.made.append(results[0].json.get("name", "none"))
    for result in results:
        assert result.code == 0, str(result)
    assert len({result.json["name"] for result in results}) == 1
    assert sum(result.json["created"] for result in results) == 1
    assert len(hf.boxes()) == 1


def test_many_boxes_at_once(hf):
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda i: hf("run", "--", "sh", "-c", f"echo {i}; hostname"), range(16)))
    assert [result.text.split()[0] for result in results] == [str(i) for i in range(16)]
    assert len({result.text.split()[1] for result in results}) == 16


def test_run_refuses_a_living_name(hf):
    hf.up("--name", "taken")
    result = hf.run("true", flags=["--name", "taken"])
    assert result.code == 125 and "taken" in result.errors
    assert hf.exec("taken", "true").code == 0


def test_ps(hf):
    assert hf.boxes() == []
    hf.up("--name", "b-box", "--task", "a task")
    hf.up("--name", "a-box")
    entries = hf.boxes()
    assert [entry["name"] for entry in entries] == ["a-box", "b-box"]
    for entry in entries:
        assert entry["state"] == "running"
        assert entry["engine"] == "native"
        assert harness.alive(entry["pid"])
    assert entries[1]["task"] == "a task" and entries[0]["task"] is None
    table = hf.ok("ps").text
    assert "a-box" in table and "b-box" in table


def test_inspect(hf):
    box = hf.up("--name", "seen", "-e", "SECRET=hush", "--label", "a=b")
    document = hf.inspect(box)
    text = json.dumps(document)
    assert "seen" in text and "SECRET" in text and "hush" not in text
    pids = harness.pids_of(document)
    assert pids and all(harness.alive(pid) for pid in pids.values())


def test_pid_is_the_wardens(hf, box):
    pid = hf.boxes()[0]["pid"]
    assert harness.read_file(f"/proc/{pid}/comm") == "warden\n"
    assert re.search(r"^NSpid:.*\s1$", harness.read_file(f"/proc/{pid}/status"), re.M)


def test_keeper_is_the_wardens_parent(hf, box):
    pid = hf.boxes()[0]["pid"]
    keeper = harness.process_stat(pid)[1]
    assert harness.read_file(f"/proc/{keeper}/comm") == "keeper\n"


def test_stop(hf, box):
    hf.ok("stop", box)
    assert hf.boxes() == [] and hf.box_dirs() == []
    result = hf.exec(box, "true")
    assert result.code == 125 and box in result.errors


def test_stop_lets_jobs_tidy_up(hf, box):
    out = os.path.join(hf.root, "out")
    with open(out, "wb") as file:
        process = hf.popen("exec", box, "--", "sh", "-c",
                           "trap 'echo tidy; exit 0' TERM; echo ready; while :; do sleep 0.02; done", stdout=file)
        harness.wait_until(lambda: "ready" in harness.read_file(out), "the job runs")
        hf.ok("stop", box)
        process.communicate(timeout=harness.PATIENCE)
    assert "tidy" in harness.read_file(out)
    assert process.returncode != 0


def test_stop_kills_what_ignores_term(hf, box):
    hf.popen("exec", box, "--", "sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.02; done")
    harness.wait_until(lambda: "sleep 0.02" in hf.sh(box, "ps -eo args"), "the job runs")
    hf.ok("stop", box)
    assert hf.boxes() == []


def test_rm_needs_force_for_a_running_box(hf, box):
    result = hf("rm", box)
    assert result.code == 125 and "--force" in result.errors
    assert hf.exec(box, "true").code == 0
    hf.ok("rm", "--force", box)
    assert hf.boxes() == [] and hf.box_dirs() == []


def test_rm_force_is_true_when_it_returns(hf, box):
    pids = harness.pids_of(hf.inspect(box))
    groups = hf.cgroups(box)
    assert groups or os.geteuid() != 0
    hf.ok("rm", "--force", box)
    assert not any(harness.alive(pid) for pid in pids.values())
    assert not hf.cgroups(box)
    assert hf.box_dirs() == []


@pytest.mark.parametrize("verb", ["exec", "inspect", "stop", "rm"])
def test_a_missing_box(hf, verb):
    command = [verb, "no-such-box"] + (["--", "true"] if verb == "exec" else [])
    result = hf(*command)
    assert result.code == 125, str(result)
    assert "no-such-box" in result.errors and result.errors.startswith("holdfast: ")
    assert result.out == b""


def test_a_name_can_be_used_again(hf):
    for _ in range(3):
        hf.up("--name", "again")
        hf.ok("rm", "--force", "again")


def test_a_removed_box_is_made_anew(hf):
    """Removed behind our back: up makes a new one, and says so."""
    box = hf.up("--task", "t")
    hf.ok("rm", "--force", box)
    assert hf.ok("up", "--json", "--task", "t").json == {"name": box, "created": True}


def test_a_killed_box_is_made_anew(hf):
    box = hf.up("--task", "t")
    subprocess.run(["kill", "-KILL", str(hf.boxes()[0]["pid"])], check=True)
    harness.wait_until(lambda: hf.ok("up", "--json", "--task", "t").json["created"], "a new box")
    assert hf.exec(box, "echo", "new").text == "new\n"


def test_boxes_of_another_runtime_directory_are_not_seen(make_holdfast):
    one, other = make_holdfast(), make_holdfast()
    box = one.up("--name", "same")
    assert other.boxes() == []
    assert other.exec(box, "true").code == 125
    other.up("--name", "same")
    assert len(one.boxes()) == len(other.boxes()) == 1
    other.ok("rm", "--force", "same")
    assert one.exec("same", "true").code == 0


def test_one_data_directory_for_two_runtime_directories(make_holdfast):
    """The same user with and without XDG_RUNTIME_DIR: the layers of a living box are not swept."""
    one, other = make_holdfast(), make_holdfast()
    assert one.data == other.data
    box = one.up("--name", "mine")
    one.sh(box, "echo kept > /usr/file")
    other("ps")
    other("run", "--", "true")
    other("up", "--name", "mine")
    other("rm", "--force", "mine")
    other("ps")
    assert one.sh(box, "cat /usr/file; echo more > /usr/other; cat /usr/other") == "kept\nmore\n"


def test_directories_are_private(hf, box):
    for path in (hf.runtime, hf.data, os.path.join(hf.runtime, "boxes"),
                 os.path.join(hf.runtime, "boxes", box)):
        assert os.stat(path).st_mode & 0o077 == 0, path
        assert os.stat(path).st_uid == os.geteuid(), path


def test_record_holds_no_secret(hf):
    box = hf.up("-e", "TOKEN=hush-hush")
    for top, _, files in os.walk(os.path.join(hf.runtime, "boxes", box)):
        for name in files:
            assert "hush-hush" not in harness.read_file(os.path.join(top, name))


def test_doctor(hf):
    result = hf("doctor")
    assert result.code == 0, str(result)
    document = hf("doctor", "--json").json
    assert document["usable"] is True and document["engine"] == "native"
    for check in document["checks"]:
        assert check["status"] in ("ok", "warn") and check["name"] and check["detail"]


def test_doctor_leaves_nothing(hf):
    hf("doctor")
    assert hf.box_dirs() == []


def test_version(hf):
    assert re.search(r"\d+\.\d+\.\d+", hf.ok("version").text)


def test_dry_run_makes_nothing(hf):
    result = hf("run", "--dry-run", "--memory", "64m", "--", "true")
    assert result.code == 0 and "overlay" in result.text, str(result)
    assert not os.path.exists(os.path.join(hf.runtime, "boxes")) or hf.box_dirs() == []
