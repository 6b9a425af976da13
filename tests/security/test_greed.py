"""A box that takes all it can get: it hurts itself, not the host, the engine or another box."""
import os
import re

import pytest

import harness

pytestmark = pytest.mark.root


def test_fork_bomb_is_contained(make_probe, hf):
    """While it rages the box is still listed, another box works, and it ends by its timeout."""
    probe, other = make_probe("--pids-limit", "64"), hf.up("--name", "other")
    bomb = probe.popen("fork-bomb", flags=["--timeout", "3s", "--grace", "100ms", "--json"])
    directory = next(iter(hf.cgroups(probe.box).values()))
    harness.wait_until(lambda: len(harness.cgroup_pids(directory)) > 50, "the bomb is off")
    assert len(harness.cgroup_pids(directory)) <= 64
    assert hf.exec(other, "echo", "fine").text == "fine\n"
    assert {entry["name"] for entry in hf.boxes()} == {probe.box, "other"}
    result = hf.exec(probe.box, "true", flags=["--timeout", "5s"])
    assert result.code in (0, 124, 125, 126), str(result)
    out, err = bomb.communicate(timeout=harness.PATIENCE)
    assert bomb.returncode == 124, str(harness.Result(["fork-bomb"], bomb.returncode, out, err))
    assert hf.exec(probe.box, "echo", "over").text == "over\n"


def test_fork_bomb_of_another_user_is_ended(make_probe, hf):
    probe = make_probe("--pids-limit", "64")
    result = hf.exec(probe.box, "/probe/probe", "fork-bomb",
                     flags=["-u", "1234", "--timeout", "1s", "--grace", "100ms"])
    assert result.code == 124, str(result)
    assert hf.exec(probe.box, "echo", "over").text == "over\n"


def test_fork_bomb_is_removed_with_its_box(make_probe, hf):
    probe = make_probe("--pids-limit", "64")
    bomb = probe.popen("fork-bomb")
    assert bomb.stdout.readline() == b"started\n"
    hf.ok("rm", "--force", probe.box)
    bomb.communicate(timeout=harness.PATIENCE)


def test_fork_bomb_is_stopped_with_its_box(make_probe, hf):
    probe = make_probe("--pids-limit", "64")
    bomb = probe.popen("fork-bomb")
    assert bomb.stdout.readline() == b"started\n"
    hf.ok("stop", probe.box)
    bomb.communicate(timeout=harness.PATIENCE)


def test_memory_bomb_takes_the_job_and_not_the_warden(make_probe, hf):
    probe = make_probe("--memory", "64m")
    warden = next(entry["pid"] for entry in hf.boxes() if entry["name"] == probe.box)
    for _ in range(3):
        result = hf.exec(probe.box, "/probe/probe", "use-memory", "500", flags=["--json"])
        assert result.json["outcome"] == "oom_killed", str(result)
    assert harness.alive(warden)
    assert hf.exec(probe.box, "echo", "alive").text == "alive\n"


def test_memory_bomb_of_many_processes(make_probe, hf):
    probe = make_probe("--memory", "64m")
    script = "for i in 1 2 3 4 5 6 7 8; do /probe/probe use-memory 40 & done; wait"
    hf.exec(probe.box, "bash", "-c", script, flags=["--timeout", "30s"])
    assert hf.exec(probe.box, "echo", "alive").text == "alive\n"


def test_memory_used_by_output_belongs_to_the_box(hf):
    """Megabytes of unread output of many jobs are the box's own, bounded, and go again."""
    box = hf.up("--memory", "128m")
    jobs = [hf.popen("exec", box, "--", "sh", "-c", "yes") for _ in range(6)]
    for job in jobs:
        job.stdout.read(1)
    assert hf.exec(box, "echo", "alive").text == "alive\n"
    for job in jobs:
        job.kill()
        job.communicate()


def test_descriptor_exhaustion(make_probe, hf):
    probe, other = make_probe(), hf.up("--name", "other")
    greedy = probe.popen("open-many", "files")
    count, error = greedy.stdout.readline().split()
    assert error in (b"EMFILE", b"ENFILE"), count
    assert hf.exec(probe.box, "echo", "alive").text == "alive\n"
    assert hf.exec(other, "echo", "alive").text == "alive\n"
    greedy.kill()
    greedy.communicate()


def test_inotify_exhaustion(make_probe, hf):
    """128 instances per user of the host: a box must have its own count."""
    probe, other = make_probe(), make_probe()
    greedy = probe.popen("open-many", "inotify")
    greedy.stdout.readline()
    assert other.hf.exec(other.box, "python3", "-c",
                         "import ctypes; print(ctypes.CDLL(None).inotify_init() >= 0)").text == "True\n"
    import ctypes
    fd = ctypes.CDLL(None).inotify_init()
    assert fd >= 0, "the host's own instances are used up"
    os.close(fd)
    greedy.kill()
    greedy.communicate()


def test_disk_greed_is_the_boxes_own(hf):
    """A full /tmp of one box is not a full /tmp of another."""
    one = hf.up("--tmpfs", "/tmp:size=2m")
    other = hf.up("--tmpfs", "/tmp:size=2m")
    assert hf.exec(one, "sh", "-c", "cat /dev/zero > /tmp/x").code != 0
    hf.sh(other, "head -c 1000000 /dev/zero > /tmp/x")


def test_inodes_of_tmpfs_are_bounded(hf):
    """Empty files cost kernel memory too."""
    box = hf.up("--memory", "64m")
    script = "import os\nfor i in range(100000): os.mkdir(f'/workspace/{i}')"
    result = hf.exec(box, "python3", "-c", script, flags=["--timeout", "60s"])
    assert result.code in (1, 137), str(result)
    assert hf.exec(box, "echo", "alive").text == "alive\n"


def test_deep_directories_can_be_removed(hf):
    """The removal of a box's layers must not run out of stack, path length or descriptors."""
    box = hf.up()
    script = ("import os\nos.makedirs('/usr/deep'); os.chdir('/usr/deep')\n"
              "for i in range(3000):\n os.mkdir('d'*50); os.chdir('d'*50)\n")
    result = hf.exec(box, "python3", "-c", script)
    assert result.code == 0, str(result)
    hf.ok("rm", "--force", box)
    assert hf.box_dirs() == []


def test_awkward_files_can_be_removed(hf):
    """Nothing that a box leaves in its layer stops the removal."""
    box = hf.up()
    hf.sh(box, "mkdir -p /usr/a/b; touch /usr/a/b/c; chmod 0 /usr/a/b /usr/a; mkfifo /usr/p; ln -s /etc /usr/link;"
               "ln -s / /usr/rootlink; touch \"$(printf '/usr/new\\nline')\" \"$(printf '/usr/\\033[31m')\";"
               "(chattr +i /usr/p || true) 2>/dev/null; chown 1234:1234 /usr/link -h")
    hf.ok("rm", "--force", box)
    assert hf.box_dirs() == []
    assert os.path.exists("/etc/passwd")


def test_many_files_can_be_removed(hf):
    box = hf.up()
    hf.sh(box, "mkdir /usr/many; cd /usr/many; seq 20000 | xargs touch")
    hf.ok("rm", "--force", box)
    assert hf.box_dirs() == []


def test_cgroup_settings(hf, box):
    """No release agent, few descendants, devices denied."""
    for name, directory in hf.cgroups(box).items():
        notify = harness.read_file(os.path.join(directory, "notify_on_release")).strip()
        assert notify in ("", "0"), directory
        descendants = harness.read_file(os.path.join(directory, "cgroup.max.descendants")).strip()
        assert descendants == "" or (descendants != "max" and int(descendants) <= 64), directory
        devices = harness.read_file(os.path.join(directory, "devices.list"))
        assert not re.search(r"^a \*:\* rwm", devices, re.M), "all devices are allowed"


def test_a_frozen_box_can_be_removed(hf, box):
    """cgroup.freeze by somebody else on the host."""
    frozen = False
    for directory in hf.cgroups(box).values():
        path = os.path.join(directory, "cgroup.freeze")
        if os.path.exists(path):
            with open(path, "w") as file:
                file.write("1")
            frozen = True
    if not frozen:
        pytest.skip("machine: no cgroup.freeze")
    hf.ok("rm", "--force", box)


def test_stopped_processes_can_be_removed(hf, box):
    hf.popen("exec", box, "--", "sh", "-c", "sleep 1000 & kill -STOP $!; kill -STOP $$")
    harness.wait_until(lambda: " T" in hf.sh(box, "ps -eo args,stat"), "it is stopped")
    hf.ok("stop", box)


def test_a_stopped_warden_can_be_removed(hf, box):
    """Somebody on the host stopped it: rm --force does not need its consent."""
    pid = hf.boxes()[0]["pid"]
    os.kill(pid, 19)
    hf.ok("rm", "--force", box)
    assert not harness.alive(pid)


def test_a_stopped_warden_does_not_hang_stop(hf, box):
    pid = hf.boxes()[0]["pid"]
    os.kill(pid, 19)
    result = hf("stop", box, timeout=60)
    assert result.code in (0, 125), str(result)
    if result.code != 0:
        hf.ok("rm", "--force", box)
    assert not harness.alive(pid)


def test_a_stopped_warden_does_not_hang_ps(hf, box):
    pid = hf.boxes()[0]["pid"]
    os.kill(pid, 19)
    try:
        assert hf("ps", timeout=30).code == 0
        assert hf("inspect", box, timeout=30).code in (0, 125)
    finally:
        os.kill(pid, 18)


def test_writable_layer_belongs_to_the_boxes_range(hf, box):
    """Files of the box are never files of the host's root."""
    hf.sh(box, "echo x > /usr/file; mkdir /usr/dir; chown 0:0 /usr/file; echo x > /tmp/file; echo x > /file")
    root = f"/proc/{hf.boxes()[0]['pid']}/root"
    for name in ("/usr/file", "/usr/dir", "/tmp/file", "/file", "/etc/hosts", "/workspace"):
        assert os.lstat(root + name).st_uid >= 100000, name
