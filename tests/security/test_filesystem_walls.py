"""Files: nothing of the host in reach, by handle, link, node, mount or descriptor."""
import os
import re
import stat

import pytest

import harness


def test_shocker(probe):
    """open_by_handle_at: inode 2 of whatever file system is under the box (2014)."""
    assert probe("shocker", "/probe") in ("EPERM", "ENOSYS")


@pytest.mark.parametrize("kind, major, minor", [("c", 1, 1), ("c", 1, 3), ("b", 7, 0), ("b", 8, 0), ("b", 254, 0),
                                               ("c", 10, 237), ("c", 5, 1)])
@pytest.mark.parametrize("where", ["/tmp", "/root", "/workspace", "/usr", "/dev", "/dev/shm"])
def test_mknod(probe, where, kind, major, minor):
    answer = probe("mknod", f"{where}/node-{kind}{major}-{minor}", kind, major, minor)
    assert answer in ("EPERM", "EACCES", "EROFS", "EEXIST", "ENOSYS"), answer


def test_mknod_with_the_capability_all_the_same(make_probe):
    """A user namespace cannot make device nodes, whatever capabilities it has."""
    probe = make_probe("--cap-add", "MKNOD")
    answer = probe("mknod", "/tmp/node", "b", 254, 0)
    assert answer in ("EPERM", "EACCES", "ENOSYS")


def test_whiteout_devices(probe):
    """0:0 may be made in a user namespace; in a box it would be an overlay whiteout."""
    answer = probe("mknod", "/tmp/whiteout", "c", 0, 0)
    assert answer in ("EPERM", "EACCES") or answer.startswith("made, open: E")


def test_chroot_escape(hf, make_probe):
    answer = make_probe("--cap-add", "SYS_CHROOT")("chroot")
    assert answer in ("EPERM", "ok 0 0")
    assert make_probe()("chroot") == "EPERM"


def test_root_has_no_above(hf, box):
    assert hf.sh(box, "stat -c %d:%i / /.. /../.. | sort -u | wc -l").strip() == "1"


def test_mountinfo_leaks_no_host_path(hf, box):
    text = hf.sh(box, "cat /proc/self/mountinfo /proc/self/mounts")
    for path in (hf.root, hf.data, hf.runtime, "/var/lib/holdfast", "/tmp/hf"):
        assert path not in text


def test_mountinfo_leaks_no_host_path_of_volumes(hf):
    """The root of a bind mount is shown by the kernel; only the part within its file system."""
    shared = os.path.join(hf.root, "shared")
    os.mkdir(shared)
    text = hf.run("cat", "/proc/self/mountinfo", flags=["-v", f"{shared}:/data"]).text
    assert any(line.split()[4] == "/data" for line in text.splitlines())


def test_mounts_do_not_propagate(hf, box):
    text = harness.read_file(f"/proc/{hf.boxes()[0]['pid']}/mountinfo")
    assert text
    assert "shared:" not in text and "master:" not in text


def test_only_our_mounts_are_there(hf, box):
    kinds = {line.partition(" - ")[2].split()[0] for line in hf.sh(box, "cat /proc/self/mountinfo").splitlines()}
    assert kinds <= {"overlay", "tmpfs", "proc", "devpts", "mqueue", "devtmpfs", "sysfs", "cgroup", "cgroup2",
                     "ext4", "xfs", "btrfs", "f2fs", "zfs"}
    targets = {line.split()[4] for line in hf.sh(box, "cat /proc/self/mountinfo").splitlines()}
    assert not [target for target in targets if target.startswith(("/tmp/", "/var/lib", "/mnt"))
                and target not in ("/var/lib/dpkg", "/var/lib/apt")]


def test_trusted_xattrs(hf, probe):
    """trusted.overlay.* would let the box redirect directories of its layers."""
    hf.sh(probe.box, "mkdir -p /usr/d /tmp/d")
    for path in ("/usr/d", "/tmp/d"):
        for name in ("trusted.overlay.redirect", "trusted.overlay.opaque", "trusted.x", "user.overlay.redirect"):
            answer = probe("setxattr", path, name)
            if name.startswith("trusted"):
                assert answer in ("EPERM", "EOPNOTSUPP"), (path, name, answer)


def test_file_capabilities_do_nothing(hf, probe):
    assert probe("setxattr", "/usr/bin/true", "security.capability") in ("EPERM", "EINVAL", "EOPNOTSUPP")


def test_setuid_programs_do_nothing(hf, box):
    """no_new_privs and nosuid: a user of the box does not become its root."""
    hf.sh(box, "cp /usr/bin/id /usr/local/bin/suid-id; chmod 4755 /usr/local/bin/suid-id;"
               "cp /usr/bin/id /tmp/suid-id; chmod 4755 /tmp/suid-id; chmod 755 /workspace")
    for path in ("/usr/local/bin/suid-id", "/tmp/suid-id"):
        assert hf.exec(box, path, "-u", flags=["-u", "1234"]).text == "1234\n"
    for path in ("/usr/bin/su", "/bin/mount", "/usr/bin/passwd", "/usr/bin/sudo"):
        if os.path.exists(path):
            assert "euid=0" not in hf.exec(box, "sh", "-c", f"{path} -c id root </dev/null", flags=["-u", "1234"]).text


def test_setuid_file_on_a_volume_is_harmless(hf):
    """A root shell left on a volume would be one for every user of the host."""
    shared = os.path.join(hf.root, "shared")
    os.mkdir(shared)
    script = ("cp /bin/sh /data/a; chmod 4755 /data/a; cp /bin/sh /data/b; chown 0:0 /data/b; chmod 6755 /data/b;"
              "install -m 6755 /bin/sh /data/c; cp /bin/sh /data/d; chmod u+s /data/d; chmod g+s /data/d;"
              "python3 -c \"import os; os.close(os.open('/data/e', os.O_CREAT|os.O_WRONLY, 0o6755))\";"
              "mkdir /data/dir; chmod 6777 /data/dir; mknod /data/n c 1 1; mknod /data/m b 254 0; true")
    hf.run("sh", "-c", script, flags=["-v", f"{shared}:/data"])
    for name in os.listdir(shared):
        state = os.lstat(os.path.join(shared, name))
        assert stat.S_ISREG(state.st_mode) or stat.S_ISDIR(state.st_mode), name
        if state.st_uid == 0:
            assert not state.st_mode & stat.S_ISUID, name
        if state.st_gid == 0 and stat.S_ISREG(state.st_mode):
            assert not (state.st_mode & stat.S_ISGID and state.st_mode & 0o010), name


def test_existing_setuid_file_on_a_volume_is_not_kept_writable(hf):
    """A setuid file of the caller's that the box may write: the kernel drops the bit on a write."""
    shared = os.path.join(hf.root, "shared")
    os.mkdir(shared)
    path = os.path.join(shared, "tool")
    with open(path, "w") as file:
        file.write("#!/bin/sh\n")
    os.chmod(path, 0o4755)
    hf.run("sh", "-c", "echo echo evil >> /data/tool", flags=["-v", f"{shared}:/data"])
    assert "evil" not in harness.read_file(path) or not os.lstat(path).st_mode & stat.S_ISUID


@pytest.mark.parametrize("target", ["/workspace/link/data", "/tmp/link", "/data/link/x"])
def test_symlink_in_a_volume_as_the_target_of_another(hf, target):
    """The first volume is an attacker's: its links lead into the box, never out of it."""
    shared, precious = os.path.join(hf.root, "shared"), os.path.join(hf.root, "precious")
    os.mkdir(shared)
    os.mkdir(precious)
    os.symlink("/etc", os.path.join(shared, "link"))
    os.symlink("../../../../../../../../etc", os.path.join(shared, "up"))
    for link in ("link", "up"):
        before = sorted(os.listdir("/etc"))
        result = hf.run("ls", "/", flags=["-v", f"{shared}:/data", "-v", f"{precious}:/data/{link}/holdfast-evil"])
        assert result.code in (0, 125), str(result)
        assert sorted(os.listdir("/etc")) == before
        assert not os.path.exists("/etc/holdfast-evil")


def test_magic_links_as_sources(hf):
    """/proc/self/root and friends are not places on the host but ways to somebody's descriptors."""
    for source in ("/proc/self/root", "/proc/self/cwd", "/proc/self/fd/0", "/proc/1/root"):
        result = hf.run("ls", "/data", flags=["-v", f"{source}:/data"])
        assert result.code == 125 and source in result.errors, str(result)


def test_symlink_as_source(hf):
    """Who can write above a source would decide where the volume leads."""
    target, link = os.path.join(hf.root, "target"), os.path.join(hf.root, "link")
    os.mkdir(target)
    os.symlink(target, link)
    for source in (link, os.path.join(link, ".")):
        result = hf.run("true", flags=["-v", f"{source}:/data"])
        assert result.code == 125 and "symlink" in result.errors and target in result.errors, str(result)
    assert hf.run("true", flags=["-v", f"{target}:/data"]).code == 0


@pytest.mark.parametrize("source", ["/dev/null", "/dev", "/proc", "/sys"])
def test_devices_and_kernel_file_systems_as_sources(hf, source):
    """Asked for by the caller, so it may work; then it is nodev, and the host is not changed."""
    result = hf.run("sh", "-c", "ls -ld /data; echo x > /data/null 2>/dev/null; true", flags=["-v", f"{source}:/data"])
    assert result.code in (0, 125), str(result)


def test_socket_on_a_volume(hf):
    """A unix socket on a volume is reached only because the caller put it there."""
    result = hf.run("sh", "-c", "ls /run /var/run 2>/dev/null")
    assert "docker.sock" not in result.text


def test_hosts_file_of_the_host_is_not_written(hf, box):
    before = [harness.read_file(f"/etc/{name}") for name in ("hosts", "resolv.conf", "hostname")]
    hf.sh(box, "for f in hosts resolv.conf hostname; do echo evil > /etc/$f; done; true")
    assert before == [harness.read_file(f"/etc/{name}") for name in ("hosts", "resolv.conf", "hostname")]


def test_lower_layers_are_not_written(hf, box):
    hf.sh(box, "echo evil > /usr/bin/true; rm -rf /usr/share/doc; mv /usr/lib/os-release /usr/lib/other || true")
    assert b"evil" not in open("/usr/bin/true", "rb").read(100)
    assert os.path.exists("/usr/share/doc")


def test_masked_and_read_only_paths(hf, probe):
    for path in ("/proc/sys", "/proc/bus", "/proc/fs", "/proc/irq", "/sys"):
        answer = hf.exec(probe.box, "sh", "-c", f"touch {path}/x 2>&1").text
        assert "Read-only" in answer or "denied" in answer or "No such" in answer or "not permitted" in answer, path
    for path in ("/proc/acpi", "/proc/scsi", "/sys/firmware", "/sys/kernel/debug", "/sys/kernel/tracing", "/sys/fs/bpf",
                 "/sys/module", "/sys/dev/block", "/sys/devices/virtual/powercap"):
        assert hf.exec(probe.box, "sh", "-c", f"ls -A {path} 2>/dev/null").text == "", path


def test_masks_cannot_be_undone(probe):
    assert probe("syscall", "umount2") in ("EPERM", "ENOSYS")
    assert probe("syscall", "mount-remount") in ("EPERM", "ENOSYS")


def test_proc_shows_only_the_box(hf, box):
    pids = [int(pid) for pid in hf.sh(box, "ls /proc").split() if pid.isdigit()]
    assert max(pids) < 1000 and len(pids) < 10
    assert hf.exec(box, "cat", f"/proc/{os.getpid()}/comm").code != 0 or os.getpid() in pids


def test_uid_ranges_do_not_overlap(hf):
    """Each box has a range of its own, and none of them has an id of the host."""
    ranges = []
    for i in range(4):
        hf.up("--name", f"box{i}")
    for entry in hf.boxes():
        for name in ("uid_map", "gid_map"):
            lines = [list(map(int, line.split()))
                     for line in harness.read_file(f"/proc/{entry['pid']}/{name}").splitlines()]
            assert lines
            for inside, outside, count in lines:
                assert inside == 0 and count == 65536, lines
                assert outside >= 100000
                if name == "uid_map":
                    ranges.append(range(outside, outside + count))
    assert len(ranges) == 4
    for i, one in enumerate(ranges):
        for other in ranges[i + 1:]:
            assert one.stop <= other.start or other.stop <= one.start


def test_uid_ranges_do_not_overlap_across_runtime_directories(make_holdfast):
    one, other = make_holdfast(), make_holdfast()
    one.up("--name", "a")
    other.up("--name", "a")
    maps = [harness.read_file(f"/proc/{hf.boxes()[0]['pid']}/uid_map").split()[1] for hf in (one, other)]
    assert maps[0] != maps[1]


def test_the_warden_is_not_root_of_the_host(hf, box):
    status = harness.read_file(f"/proc/{hf.boxes()[0]['pid']}/status")
    for name in ("Uid", "Gid"):
        ids = re.search(rf"^{name}:\s+(.*)$", status, re.M).group(1).split()
        assert all(int(number) >= 100000 for number in ids)
    assert re.search(r"^Groups:\s*$", status, re.M)


def test_boxes_do_not_see_each_other(hf):
    one, other = hf.up("--name", "one"), hf.up("--name", "other")
    hf.sh(one, "for d in /workspace /tmp /dev/shm /usr /root; do echo hush > $d/only-here; done")
    process = hf.popen("exec", one, "--", "sh", "-c", "echo ready; sleep 1000")
    process.stdout.readline()
    result = hf.exec(other, "sh", "-c", "ps -eo args; ls /tmp /workspace /dev/shm /usr /root")
    assert result.code == 0 and "PID" not in result.errors, str(result)
    assert "only-here" not in result.text and "sleep 1000" not in result.text
    process.terminate()
    process.communicate()


def test_socket_is_private(hf, box):
    path = hf.socket(box)
    state = os.stat(path)
    assert stat.S_ISSOCK(state.st_mode)
    assert state.st_mode & 0o077 == 0 or os.stat(os.path.dirname(path)).st_mode & 0o077 == 0


def test_another_user_cannot_reach_the_box(hf, box):
    os.chmod(hf.root, 0o755)
    path = hf.socket(box)
    script = f"import socket; socket.socket(socket.AF_UNIX).connect({path!r})"
    result = harness.execute(["setpriv", "--reuid", "12345", "--regid", "12345", "--clear-groups",
                              "/usr/bin/python3", "-c", script])
    assert "PermissionError" in result.errors, str(result)


def test_the_socket_has_no_name_inside(hf, box):
    assert hf.sh(box, "find / -xdev -type s 2>/dev/null; cat /proc/net/unix | awk 'NR>1 && $8' ") \
        .replace("\n", "") == ""
