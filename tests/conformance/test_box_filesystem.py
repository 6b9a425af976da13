"""The file system of a box: what is there, what can be written, what stays outside."""
import os
import stat

import pytest

import harness

MIB = 1 << 20
GIB = 1 << 30


def mount_table(text):
    """{mount point: (type, options)}"""
    table = {}
    for line in text.splitlines():
        before, _, after = line.partition(" - ")
        fields, kind = before.split(), after.split()
        options = set(fields[5].split(",")) | set(kind[2].split(","))
        table[fields[4]] = (kind[0], options)
    return table


def table_of(hf, box):
    return mount_table(hf.exec(box, "cat", "/proc/self/mountinfo").text)


def size_of(hf, box, path):
    return int(hf.exec(box, "stat", "-f", "-c", "%b", path).text) * \
        int(hf.exec(box, "stat", "-f", "-c", "%S", path).text)


@pytest.mark.parametrize("path, size, noexec", [
    ("/tmp", 512 * MIB, False), ("/var/tmp", 256 * MIB, True), ("/run", 64 * MIB, True),
    ("/workspace", 10 * GIB, False), ("/root", GIB, False), ("/home", GIB, False),
])
def test_tmpfs_set(hf, box, path, size, noexec):
    kind, options = table_of(hf, box)[path]
    assert kind == "tmpfs"
    assert {"nosuid", "nodev", "rw"} <= options
    assert ("noexec" in options) == noexec
    assert size_of(hf, box, path) == size
    hf.sh(box, f"echo x > {path}/file")


def test_strict_tmp_is_noexec(hf):
    box = hf.up("--hardening", "strict")
    table = table_of(hf, box)
    assert "noexec" in table["/tmp"][1]
    assert "noexec" not in table["/workspace"][1]
    assert "ro" in table["/"][1]


def test_tmp_noexec(hf, box):
    """Builds in /tmp run what they built."""
    assert hf.sh(box, "printf '#!/bin/sh\\necho runs' > /tmp/x; chmod +x /tmp/x; /tmp/x") == "runs\n"


def test_noexec_is_in_force(hf, box):
    result = hf.exec(box, "sh", "-c", "cp /bin/true /var/tmp/x; /var/tmp/x")
    assert result.code == 126


def test_modes_of_shared_directories(hf, box):
    text = hf.exec(box, "stat", "-c", "%a", "/tmp", "/var/tmp", "/dev/shm", "/").text
    assert text.split() == ["1777", "1777", "1777", "755"]


def test_every_mount_is_nosuid_and_nodev(hf, box):
    for path, (kind, options) in table_of(hf, box).items():
        assert "nosuid" in options, (path, kind, options)
        # Device nodes are bound one by one; their mounts must work as devices.
        if not path.startswith("/dev/") or path in ("/dev/shm", "/dev/mqueue"):
            # A hidden file of /proc is covered by /dev/null, which has to work as a device, too.
            hidden = path.startswith("/proc/") and kind == "devtmpfs"
            assert "nodev" in options or path.startswith("/dev") or hidden, (path, kind, options)


def test_root_is_writable_and_thrown_away(hf):
    box = hf.up("--name", "first")
    hf.sh(box, "echo x > /file; echo x > /usr/bin/hf-file; echo x >> /etc/hosts; rm /usr/bin/awk; mkdir /opt/x")
    hf.ok("rm", "--force", box)
    hf.made.remove(box)
    assert not os.path.exists("/file") and not os.path.exists("/usr/bin/hf-file")
    again = hf.up("--name", "first")
    assert hf.exec(again, "ls", "/file", "/usr/bin/hf-file").code == 2
    assert hf.exec(again, "test", "-e", "/usr/bin/awk").code == 0


def test_read_only_root(hf):
    box = hf.up("--read-only")
    for path in ("/file", "/usr/file", "/etc/file", "/usr/bin/true"):
        result = hf.exec(box, "sh", "-c", f"echo x > {path}")
        assert result.code != 0 and "Read-only" in result.errors, str(result)
    hf.sh(box, "echo x > /tmp/file; echo x > /workspace/file")


def test_host_directories_are_not_there(hf, box):
    """Nothing of the host but its programs."""
    for path in ("/root", "/home", "/srv", "/opt", "/mnt", "/media", "/run", "/tmp", "/boot"):
        result = hf.exec(box, "find", path, "-mindepth", "1", "-not", "-path", "/home/*", "-print")
        listed = [line for line in result.text.splitlines() if not line.startswith("/run/")]
        assert listed == [], path


@pytest.mark.parametrize("path", ["/etc/shadow", "/etc/gshadow", "/etc/ssh/ssh_host_ed25519_key",
                                  "/etc/machine-id", "/etc/ssl/private", "/var/lib/dbus/machine-id"])
def test_secrets_of_etc_are_not_there(hf, box, path):
    result = hf.exec(box, "cat", path)
    host = harness.read_file(path)
    assert result.code != 0 or result.text.strip() == "" or result.text != host


def test_private_files_of_etc_are_not_there(hf, box):
    """What an ordinary user of the host may not read is not copied."""
    for top, _, files in os.walk("/etc"):
        for name in files:
            path = os.path.join(top, name)
            state = os.lstat(path)
            if stat.S_ISREG(state.st_mode) and not state.st_mode & 0o004 and state.st_size > 0:
                assert hf.exec(box, "test", "-s", path).code == 1, path


def test_etc_knows_users(hf, box):
    assert hf.exec(box, "getent", "passwd", "nobody").code == 0
    assert "root" in hf.exec(box, "cat", "/etc/passwd").text


def test_changes_of_host_etc_are_seen(hf):
    """The prepared copy is refreshed when /etc changes."""
    assert hf.run("test", "-e", "/etc/debian_version").code == 0


def test_shm_size(hf):
    box = hf.up("--shm-size", "8m")
    assert size_of(hf, box, "/dev/shm") == 8 * MIB
    assert hf.exec(box, "head", "-c", "9m", "/dev/zero").code != 99
    result = hf.exec(box, "sh", "-c", "head -c 9000000 /dev/zero > /dev/shm/x")
    assert result.code != 0 and "No space" in result.errors


def test_tmpfs_is_full_where_it_says(hf):
    box = hf.up("--tmpfs", "/small:size=1m")
    result = hf.exec(box, "sh", "-c", "head -c 2000000 /dev/zero > /small/x")
    assert result.code != 0 and "No space" in result.errors
    assert "noexec" in table_of(hf, box)["/small"][1]


def test_tmpfs_of_the_caller_replaces_the_default(hf):
    box = hf.up("--tmpfs", "/tmp:size=1m,exec,mode=0755")
    assert size_of(hf, box, "/tmp") == MIB
    assert hf.exec(box, "stat", "-c", "%a", "/tmp").text == "755\n"


def test_proc_is_the_boxes_own(hf, box):
    pids = hf.sh(box, "ls /proc | grep -E '^[0-9]+$' | wc -l")
    assert int(pids) < 10
    assert hf.sh(box, "cat /proc/1/comm") == "warden\n"


def test_dev_is_small(hf, box):
    names = set(hf.sh(box, "ls /dev").split())
    assert {"null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts", "shm", "fd", "stdin",
            "stdout", "stderr"} <= names
    assert names <= {"null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts", "shm", "fd",
                     "stdin", "stdout", "stderr", "mqueue", "console", "core"}


def test_devices_work(hf, box):
    hf.sh(box, "head -c 10 /dev/zero > /dev/null; head -c 10 /dev/urandom | wc -c; echo x > /dev/stderr")
    assert hf.exec(box, "sh", "-c", "echo x > /dev/full").code != 0


# --- volumes -------------------------------------------------------------------------------------


@pytest.fixture
def shared(hf):
    path = os.path.join(hf.root, "shared")
    os.mkdir(path, 0o755)
    with open(os.path.join(path, "file"), "w") as file:
        file.write("from the host\n")
    return path


def test_volume_is_read_and_written(hf, shared):
    result = hf.run("sh", "-c", "cat /data/file; echo from the box > /data/new", flags=["-v", f"{shared}:/data"])
    assert result.out == b"from the host\n", str(result)
    assert harness.read_file(f"{shared}/new") == "from the box\n"


def test_bind_files_owned_by_root(hf, shared):
    """Files made on a volume belong on the host to whoever ran holdfast."""
    hf.run("sh", "-c", "echo x > /data/new; mkdir /data/dir; ln -s x /data/link", flags=["-v", f"{shared}:/data"])
    for name in ("new", "dir", "link"):
        state = os.lstat(os.path.join(shared, name))
        assert (state.st_uid, state.st_gid) == (os.getuid(), os.getgid())


def test_the_box_sees_callers_files_as_its_own(hf, shared):
    result = hf.run("stat", "-c", "%u %g", "/data/file", flags=["-v", f"{shared}:/data"])
    assert result.text == "0 0\n", str(result)


def test_no_other_id_of_the_box_reaches_a_volume(hf, shared):
    """Another user of the box leaves nothing on the host under an id of the host."""
    os.chmod(shared, 0o777)
    result = hf.run("sh", "-c", "echo x > /data/new", flags=["-v", f"{shared}:/data", "--user", "1000"])
    path = os.path.join(shared, "new")
    if os.path.exists(path):
        state = os.lstat(path)
        assert state.st_uid >= 0x70000000 or state.st_uid == os.getuid(), str(result)
        assert state.st_uid != 1000
    hf.run("sh", "-c", "echo x > /data/mine; chown 1000:1000 /data/mine", flags=["-v", f"{shared}:/data"])
    assert os.lstat(os.path.join(shared, "mine")).st_uid != 1000


def test_read_only_volume(hf, shared):
    flags = ["-v", f"{shared}:/data:ro"]
    result = hf.run("sh", "-c", "cat /data/file; echo x > /data/file", flags=flags)
    assert result.code != 0 and b"from the host" in result.out and "Read-only" in result.errors
    assert hf.run("mount", "-o", "remount,rw", "/data", flags=flags).code != 0
    assert harness.read_file(f"{shared}/file") == "from the host\n"


def test_noexec_volume(hf, shared):
    with open(f"{shared}/script", "w") as file:
        file.write("#!/bin/sh\necho ran\n")
    os.chmod(f"{shared}/script", 0o755)
    assert hf.run("/data/script", flags=["-v", f"{shared}:/data"]).text == "ran\n"
    assert hf.run("/data/script", flags=["-v", f"{shared}:/data:noexec"]).code == 126


def test_volume_of_one_file(hf, shared):
    result = hf.run("cat", "/etc/one", flags=["-v", f"{shared}/file:/etc/one:ro"])
    assert result.out == b"from the host\n", str(result)


def test_volume_makes_its_target(hf, shared):
    result = hf.run("cat", "/a/b/c/d/file", flags=["-v", f"{shared}:/a/b/c/d"])
    assert result.out == b"from the host\n", str(result)
    assert not os.path.exists("/a")


def test_volume_in_the_workspace(hf, shared):
    result = hf.run("cat", "file", flags=["-v", f"{shared}:/workspace"])
    assert result.out == b"from the host\n", str(result)


def test_volume_inside_a_volume(hf, shared):
    os.mkdir(f"{shared}/inner")
    result = hf.run("sh", "-c", "cat /data/file /data/inner/hosts >/dev/null",
                    flags=["-v", f"{shared}:/data", "-v", "/etc/hosts:/data/inner/hosts:ro"])
    assert result.code == 0, str(result)


def test_missing_source_is_an_error(hf):
    result = hf.run("true", flags=["-v", "/no/such/source:/data"])
    assert result.code == 125 and "/no/such/source" in result.errors
    assert hf.box_dirs() == []


@pytest.mark.parametrize("volume", ["/", "/tmp", "/tmp:", ":/data", "/tmp:relative", "/tmp:/", "/tmp:/proc",
                                    "/tmp:/proc/sys", "/tmp:/sys", "/tmp:/dev", "/tmp:/dev/null",
                                    "/tmp:/a/../proc", "/tmp:/data:bad", "/tmp:/data:ro,rw", "named:/data"])
def test_bad_volumes(hf, volume):
    result = hf.run("true", flags=["-v", volume])
    assert result.code in (2, 125), str(result)
    assert result.errors.startswith("holdfast: ")
    assert hf.box_dirs() == []


def test_setuid_bits_do_not_reach_the_host(hf, shared):
    hf.run("sh", "-c", "cp /bin/sh /data/sh; chmod 6755 /data/sh; chown 0:0 /data/sh; chmod 6755 /data/sh",
           flags=["-v", f"{shared}:/data"])
    path = os.path.join(shared, "sh")
    if os.path.exists(path) and os.lstat(path).st_uid == 0:
        assert not os.lstat(path).st_mode & (stat.S_ISUID | stat.S_ISGID)


# --- packages ------------------------------------------------------------------------------------


@pytest.fixture
def package(hf):
    """A small .deb in a directory of its own."""
    tree = os.path.join(hf.root, "deb")
    os.makedirs(f"{tree}/p/DEBIAN")
    os.makedirs(f"{tree}/p/usr/share/holdfast-test")
    with open(f"{tree}/p/DEBIAN/control", "w") as file:
        file.write("Package: holdfast-test\nVersion: 1\nArchitecture: all\n"
                   "Maintainer: Nobody <nobody@example.com>\nDescription: a test\n")
    with open(f"{tree}/p/DEBIAN/postinst", "w") as file:
        file.write("#!/bin/sh\necho configured > /usr/share/holdfast-test/state\n")
    os.chmod(f"{tree}/p/DEBIAN/postinst", 0o755)
    with open(f"{tree}/p/usr/share/holdfast-test/file", "w") as file:
        file.write("installed\n")
    done = harness.execute(["dpkg-deb", "--build", "--root-owner-group", f"{tree}/p", f"{tree}/test.deb"])
    assert done.code == 0, str(done)
    return tree


@pytest.mark.parametrize("command", ["dpkg -i /deb/test.deb", "apt-get install -y /deb/test.deb"])
def test_package_managers_write_into_the_box(hf, package, machine, command):
    if not machine.has("apt-get"):
        pytest.skip("machine: no apt-get")
    box = hf.up("-v", f"{package}:/deb:ro")
    result = hf.exec(box, "sh", "-c", f"DEBIAN_FRONTEND=noninteractive {command}")
    assert result.code == 0, str(result)
    assert hf.sh(box, "cat /usr/share/holdfast-test/file /usr/share/holdfast-test/state") == \
        "installed\nconfigured\n"
    assert "install ok installed" in hf.exec(box, "dpkg", "-s", "holdfast-test").text
    hf.sh(box, "dpkg -r holdfast-test")
    assert harness.execute(["dpkg", "-s", "holdfast-test"]).code != 0
    assert not os.path.exists("/usr/share/holdfast-test")


def test_layers_by_path(hf):
    """Kernels before 6.13 take an overlay's layers by path only; the test build can be told to."""
    with open(harness.CLI, "rb") as file:
        if b"HOLDFAST_FAULT" not in file.read():
            pytest.skip("machine: this build has no fault points")
    script = ("echo x > /usr/bin/hf-file; rm /usr/bin/awk; echo x >> /etc/hosts; mkdir /opt/x; "
              "test ! -e /usr/bin/awk; cat /usr/bin/hf-file; grep ' / ' /proc/self/mountinfo")
    result = hf.run("bash", "-ec", script, env={"HOLDFAST_FAULT": "overlay-by-path"})
    assert result.code == 0 and result.text.startswith("x\n"), str(result)
    assert "lowerdir=lower0" in result.text
    assert hf.root not in result.text
