"""Mistakes and bad weather: a clear message, the right exit code, nothing half made."""
import contextlib
import os
import signal
import subprocess

import pytest

import harness


@pytest.fixture
def hf(make_holdfast):
    """With a data directory of its own: some of these tests break it."""
    return make_holdfast(own_data=True)


def refused(hf, *command, code=(2, 125), words=(), **options):
    """The command fails as holdfast's own failure and leaves nothing."""
    result = hf(*command, **options)
    assert result.code in code, str(result)
    assert result.errors.startswith("holdfast: "), str(result)
    assert "AddressSanitizer" not in result.errors and "runtime error" not in result.errors
    for word in words:
        assert word in result.errors, str(result)
    assert result.out == b"", str(result)
    assert hf.box_dirs() == [], "something half made"
    return result


# --- the command line ----------------------------------------------------------------------------


def test_unknown_engine(hf):
    refused(hf, "run", "--engine", "nativ", "--", "true", words=["native"])
    refused(hf, "run", "--", "true", env={"HOLDFAST_ENGINE": "nonsense"}, words=["nonsense"])


def test_empty_command(hf):
    refused(hf, "run")
    refused(hf, "run", "--")


def test_empty_command_word(hf, box):
    result = hf.exec(box, "")
    assert result.code == 125 and "empty" in result.errors, str(result)


@pytest.mark.parametrize("flag, value", [
    ("--memory", "1k"), ("--memory", "-1"), ("--memory", "0x10"), ("--memory", "nan"), ("--memory", ""),
    ("--memory", "99999999999999999999g"), ("--memory", "8388608t"), ("--memory", "1e9"),
    ("--cpus", "-1"), ("--cpus", "nan"), ("--cpus", "inf"), ("--cpus", "0"), ("--cpus", "1e3"),
    ("--cpus", "99999999999"), ("--cpus", "0.0000001"), ("--cpus", "1,5"),
    ("--pids-limit", "-1"), ("--pids-limit", "1.5"), ("--pids-limit", "99999999999999999999"),
    ("--shm-size", "0"), ("--shm-size", "x"),
    ("--timeout", "-1"), ("--timeout", "1y"), ("--timeout", "99999999999999d"), ("--grace", "nan"),
    ("--network", "bridge"), ("--hardening", "none"),
    ("--name", ""), ("--name", "."), ("--name", ".."), ("--name", "a/b"), ("--name", "a b"),
    ("--name", "-a"), ("--name", "x" * 65), ("--name", "a\n"), ("--name", "\u00e9"),
    ("--task", ""), ("--profile", ""),
    ("--user", "a b"), ("--user", "-1"), ("--user", "4294967295"), ("--user", "4294967296"),
    ("--workdir", "relative"), ("--workdir", ""), ("--hostname", "a b"), ("--hostname", "-"),
    ("--hostname", "x" * 64), ("--cap-add", "NO_SUCH_CAP"), ("--cap-add", ""),
    ("--tmpfs", "relative"), ("--tmpfs", "/"), ("--tmpfs", "/proc"), ("--tmpfs", "/x:size=0"),
    ("--tmpfs", "/x:mode=9"), ("--tmpfs", "/x:suid"), ("--tmpfs", "/x:size=-1"),
    ("-e", "=x"), ("-e", ""), ("-e", "A B=x"), ("--label", "=x"), ("--label", "holdfast.x=y"),
    ("--output-limit", "0"), ("--output-limit", "9t"),
    ("--no-such-flag", "x"),
])
def test_bad_values(hf, flag, value):
    refused(hf, "run", flag, value, "--", "true")


def test_strict_with_added_capabilities(hf):
    refused(hf, "run", "--hardening", "strict", "--cap-add", "CHOWN", "--", "true", words=["strict"])


def test_capability_both_ways(hf):
    refused(hf, "run", "--cap-add", "CHOWN", "--cap-drop", "CHOWN", "--", "true", words=["CHOWN"])


def test_too_many_mounts(hf):
    flags = [word for i in range(300) for word in ("--tmpfs", f"/m{i}:size=4k")]
    refused(hf, "run", *flags, "--", "true", words=["256"])


def test_large_environment_value(hf):
    result = hf.run("sh", "-c", "echo ${#BIG}", flags=["-e", "BIG=" + "x" * 100000])
    assert result.text == "100000\n", str(result)


def test_too_many_arguments(hf, box):
    """More than one message takes is an error before anything runs, not a broken connection."""
    result = hf.exec(box, "echo", *["x" * 1000] * 1100)
    assert result.code == 125, str(result)
    assert hf.exec(box, "true").code == 0


def test_missing_image(hf):
    refused(hf, "run", "no-such-image:latest", "--", "true", code=(125,), words=["no-such-image"])


def test_failure_is_a_document_too(hf):
    result = hf("exec", "--json", "no-such-box", "--", "true")
    assert result.code == 125
    assert result.json["error"]["code"] == "not_found"
    assert "no-such-box" in result.json["error"]["message"]


# --- directories ---------------------------------------------------------------------------------


def test_runtime_directory_is_a_file(hf):
    with open(hf.runtime, "w"):
        pass
    refused(hf, "run", "--", "true", code=(125,), words=[hf.runtime])


def test_data_directory_is_a_file(hf):
    with open(hf.data, "w"):
        pass
    refused(hf, "run", "--", "true", code=(125,), words=[hf.data])


@pytest.mark.parametrize("which", ["runtime", "data"])
@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777, 0o1777])
def test_directory_that_others_may_write(hf, which, mode):
    path = getattr(hf, which)
    os.mkdir(path)
    os.chmod(path, mode)
    refused(hf, "run", "--", "true", code=(125,), words=[path])


@pytest.mark.root
@pytest.mark.parametrize("which", ["runtime", "data"])
def test_directory_of_somebody_else(hf, which):
    path = getattr(hf, which)
    os.mkdir(path, 0o700)
    os.chown(path, 12345, 12345)
    refused(hf, "run", "--", "true", code=(125,), words=[path])


def test_runtime_directory_behind_a_symlink_of_somebody_else(hf):
    """A link planted in a place that others may write is not followed to a directory of theirs."""
    target = os.path.join(hf.root, "theirs")
    os.mkdir(target, 0o700)
    if os.geteuid() == 0:
        os.chown(target, 12345, 12345)
    else:
        os.chmod(target, 0o777)
    os.symlink(target, hf.runtime)
    refused(hf, "run", "--", "true", code=(125,))


def test_relative_runtime_directory(hf):
    result = hf("run", "--", "true", env={"HOLDFAST_RUNTIME_DIR": "relative/dir"}, cwd=hf.root)
    assert result.code in (0, 125), str(result)
    if result.code == 125:
        assert "relative" in result.errors


def test_very_long_runtime_directory(hf):
    """Longer than the name of a socket may be: it works or says so."""
    hf.runtime = os.path.join(hf.root, "x" * 100, "y" * 100)
    os.makedirs(os.path.dirname(hf.runtime), 0o700)
    result = hf.run("echo", "works")
    assert result.code in (0, 125), str(result)
    assert result.code == 125 or result.text == "works\n"


def test_missing_parent_of_runtime_directory(hf):
    hf.runtime = os.path.join(hf.root, "a", "b", "c")
    result = hf.run("true")
    assert result.code in (0, 125), str(result)


@contextlib.contextmanager
def small_disk(path, size):
    os.makedirs(path, mode=0o700, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=0700", "tmpfs", path], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", path], check=True)


def fill(path):
    with contextlib.suppress(OSError), open(os.path.join(path, "filler"), "wb", buffering=0) as file:
        while True:
            file.write(b"x" * 4096)


@pytest.mark.root
def test_full_disk_under_the_runtime_directory(hf):
    with small_disk(hf.runtime, "64k"):
        fill(hf.runtime)
        result = hf.run("true")
        assert result.code == 125 and "pace" in result.errors, str(result)
        assert hf.box_dirs() == []
        os.unlink(os.path.join(hf.runtime, "filler"))
        assert hf.run("true").code == 0


@pytest.mark.root
def test_full_disk_under_the_data_directory(hf):
    with small_disk(hf.data, "4m"):
        fill(hf.data)
        result = hf.run("true")
        assert result.code in (0, 125), str(result)
        assert hf.box_dirs() == []
        os.unlink(os.path.join(hf.data, "filler"))


# --- records -------------------------------------------------------------------------------------


RECORDS = {
    "empty": b"",
    "no json": b"\x00\xff\xfe garbage",
    "truncated": None,
    "wrong type": b"[]",
    "wrong members": b'{"name": 5, "pid": "x"}',
    "negative pid": b'{"pid": -1, "keeper": -1, "warden_pid": -1, "keeper_pid": -1}',
    "pid of init": b'{"pid": 1, "keeper": 1, "warden_pid": 1, "keeper_pid": 1, "start": 0}',
    "deep": b"[" * 100000,
    "huge": b'{"name":"' + b"x" * (1 << 20) + b'"}',
}


@pytest.mark.parametrize("kind", RECORDS)
def test_corrupt_record(hf, kind):
    """A record that is not ours breaks nothing else, is reported, and can be removed."""
    box, other = hf.up("--name", "broken"), hf.up("--name", "whole")
    warden = next(entry["pid"] for entry in hf.boxes() if entry["name"] == box)
    keeper = harness.process_stat(warden)[1]
    path = os.path.join(hf.runtime, "boxes", box, "record.json")
    with open(path, "rb") as file:
        good = file.read()
    with open(path, "wb") as file:
        file.write(good[:len(good) // 2] if RECORDS[kind] is None else RECORDS[kind])
    listing = hf("ps", "--json")
    assert listing.code == 0, str(listing)
    assert other in [entry["name"] for entry in listing.json]
    assert hf.exec(other, "true").code == 0
    inspect = hf("inspect", box)
    assert inspect.code in (0, 125) and "AddressSanitizer" not in inspect.errors, str(inspect)
    hf("rm", "--force", box)
    if os.path.exists(path):
        with open(path, "wb") as file:
            file.write(good)
        hf("rm", "--force", box)
    harness.wait_until(lambda: not harness.alive(keeper), "the keeper is gone")


def test_a_record_cannot_make_us_kill_a_stranger(hf):
    """stale-pid-kill: a record that names a living process of somebody else."""
    victim = subprocess.Popen(["sleep", "1000"])
    try:
        box = hf.up("--name", "stale")
        warden = hf.boxes()[0]["pid"]
        keeper = harness.process_stat(warden)[1]
        path = os.path.join(hf.runtime, "boxes", box, "record.json")
        with open(path) as file:
            text = file.read()
        subprocess.run(["kill", "-KILL", str(keeper)], check=True)
        harness.wait_until(lambda: not harness.alive(warden), "the warden went with its keeper")
        directory = os.path.dirname(path)
        os.makedirs(directory, mode=0o700, exist_ok=True)
        with open(path, "w") as file:
            file.write(text.replace(str(keeper), str(victim.pid)).replace(str(warden), str(victim.pid)))
        hf("ps")
        hf("stop", box)
        hf("rm", "--force", box)
        assert victim.poll() is None, "a stranger was killed"
    finally:
        victim.kill()
        victim.wait()
    hf("ps")


@pytest.mark.parametrize("kind", ["file", "symlink", "empty directory", "strange name"])
def test_strange_entries_among_the_boxes(hf, kind):
    box = hf.up("--name", "whole")
    path = os.path.join(hf.runtime, "boxes", "..strange\x1b[31m" if kind == "strange name" else "strange")
    if kind == "file":
        with open(path, "w"):
            pass
    elif kind == "symlink":
        os.symlink("/etc", path)
    else:
        os.mkdir(path, 0o700)
    result = hf("ps")
    assert result.code == 0 and box in result.text, str(result)
    assert b"\x1b" not in result.out + result.err
    assert os.path.isdir("/etc") and os.path.exists("/etc/passwd")
    hf("rm", "--force", "strange")
    assert os.path.exists("/etc/passwd")
    if os.path.islink(path) or os.path.isfile(path):
        os.unlink(path)
    elif os.path.isdir(path):
        os.rmdir(path)


@pytest.mark.parametrize("kind", ["missing", "file", "symlink to another socket", "nobody listens"])
def test_broken_socket(hf, kind):
    """The box cannot be reached: a typed error at once, and it can still be removed."""
    import socket as sockets
    box = hf.up("--name", "deaf")
    path = hf.socket(box)
    os.unlink(path)
    other = None
    if kind == "file":
        with open(path, "w"):
            pass
    elif kind == "symlink to another socket":
        other = sockets.socket(sockets.AF_UNIX)
        other.bind(os.path.join(hf.root, "other"))
        other.listen()
        os.symlink(os.path.join(hf.root, "other"), path)
    elif kind == "nobody listens":
        other = sockets.socket(sockets.AF_UNIX)
        other.bind(path)
    result = hf.exec(box, "true", timeout=30)
    assert result.code == 125 and result.errors.startswith("holdfast: "), str(result)
    if other:
        if kind.startswith("symlink"):
            other.setblocking(False)
            with pytest.raises(BlockingIOError):
                other.accept()
        other.close()
    hf.ok("rm", "--force", box)


# --- the machine ---------------------------------------------------------------------------------


def test_few_descriptors(hf):
    result = harness.execute(["bash", "-c", 'ulimit -n 16; exec "$0" run -- true', hf.cli], env=hf.env)
    assert result.code in (0, 125), str(result)


def test_tiny_descriptors(hf):
    result = harness.execute(["bash", "-c", 'ulimit -n 6; exec "$0" run -- true', hf.cli], env=hf.env)
    assert result.code in (0, 125), str(result)
    assert result.code == 0 or result.errors
    hf("ps")  # even what could not be removed for want of descriptors


def test_small_file_size_limit(hf):
    result = harness.execute(["bash", "-c", 'ulimit -f 0; exec "$0" run -- true', hf.cli], env=hf.env)
    assert result.code in (0, 125, -signal.SIGXFSZ), str(result)
    hf("ps")


def test_output_to_a_full_disk(hf, box):
    with open("/dev/full", "wb") as full:
        process = hf.popen("exec", box, "--", "sh", "-c", "echo x; sleep 0.1; echo y", stdout=full)
        _, err = process.communicate(timeout=harness.PATIENCE)
    assert process.returncode == 125 and b"holdfast: " in err
