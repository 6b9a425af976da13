"""The guard itself: it must see what it is there to see."""
import os
import subprocess
import types

import pytest

import harness


@pytest.fixture
def watch(tmp_path):
    instance = harness.Holdfast(root=str(tmp_path))
    guard = harness.Guard()
    guard.instances.append(instance)
    return types.SimpleNamespace(guard=guard, instance=instance)


def test_nothing_is_no_leak(watch):
    assert watch.guard.leaks() == []


def test_process_is_a_leak(watch):
    process = subprocess.Popen(["sleep", "1000"])
    try:
        assert any(str(process.pid) in leak for leak in watch.guard.leaks())
    finally:
        process.kill()
        process.wait()
    assert watch.guard.settle() == []


def test_daemon_is_a_leak(watch):
    """An orphan in a session of its own is still found."""
    out = subprocess.run(["sh", "-c", "setsid sleep 1000 >/dev/null 2>&1 & echo $!"], capture_output=True,
                         text=True, check=True).stdout
    found = harness.wait_until(lambda: [pid for pid in harness.descendants() if "sleep\0001000" in
                                        harness.read_file(f"/proc/{pid}/cmdline")], "the daemon")
    assert watch.guard.leaks(), out
    for pid in found:
        os.kill(pid, 9)
    assert watch.guard.settle() == []


@pytest.mark.root
def test_cgroup_is_a_leak(watch):
    parents = [os.path.join(top, "holdfast") for top in harness.cgroup_hierarchies()]
    parent = next(path for path in parents if os.access(os.path.dirname(path), os.W_OK))
    existed = os.path.isdir(parent)
    os.makedirs(os.path.join(watch.instance.runtime, "boxes"))
    path = os.path.join(parent, f"harness-{os.getpid()}{watch.instance.cgroup_suffix()}")
    os.makedirs(path)
    try:
        assert any(path in leak for leak in watch.guard.leaks())
    finally:
        os.rmdir(path)
        if not existed:
            try:
                os.rmdir(parent)
            except OSError:
                pass
    assert watch.guard.leaks() == []


@pytest.mark.root
def test_cgroups_of_a_box_are_told_by_their_names(hf):
    box = hf.up()
    assert harness.cgroups_of(box)
    assert all(path.endswith(hf.cgroup_suffix()) for path in harness.cgroups_of(box).values())


@pytest.mark.root
def test_mount_is_a_leak(watch):
    path = os.path.join(watch.instance.root, "mounted")
    os.mkdir(path)
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", path], check=True)
    try:
        assert any(path in leak for leak in watch.guard.leaks())
    finally:
        subprocess.run(["umount", path], check=True)
    assert watch.guard.leaks() == []


@pytest.mark.parametrize("which", ["runtime", "data"])
def test_directory_is_a_leak(watch, which):
    path = os.path.join(getattr(watch.instance, which), "boxes", "left")
    os.makedirs(path)
    assert watch.guard.leaks() == [f"directory {path}"]
    os.rmdir(path)
    assert watch.guard.leaks() == []
