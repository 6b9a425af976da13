"""cp: files, trees and archives to, from and between boxes."""
import gzip
import hashlib
import io
import json
import os
import pty
import select
import signal
import stat
import subprocess
import tarfile
import time

import pytest

import harness
from test_files import agents, failed, leftovers

MIB = 1 << 20
# What holdfast and the warden may hold of a copy, however large.
MEMORY = 16 * MIB

# All that is known of a tree; runs on the host and in the box. Arguments: the top, "owners" or not.
LOOK = r"""
import hashlib, json, os, stat, sys
top, owners = sys.argv[1].encode(), 'owners' in sys.argv
rows, inodes = {}, {}
for where, dirs, files in os.walk(top):
    for name in [b'.'] * (where == top) + dirs + files:
        path = os.path.join(where, name)
        st = os.lstat(path)
        row = [stat.S_IFMT(st.st_mode), stat.S_IMODE(st.st_mode), st.st_mtime_ns]
        if stat.S_ISLNK(st.st_mode):
            row.append(os.readlink(path).decode('latin-1'))
        if stat.S_ISREG(st.st_mode):
            row += [st.st_size, hashlib.sha1(open(path, 'rb').read()).hexdigest()]
            first = inodes.setdefault((st.st_dev, st.st_ino), os.path.relpath(path, top).decode('latin-1'))
            row += [st.st_nlink > 1]
            row += [{n: os.getxattr(path, n).hex() for n in os.listxattr(path) if n.startswith('user.')}]
        if owners:
            row += [st.st_uid, st.st_gid]
        rows[os.path.relpath(path, top).decode('latin-1')] = row
groups = {}
for where, dirs, files in os.walk(top):
    for name in files:
        path = os.path.join(where, name)
        st = os.lstat(path)
        if stat.S_ISREG(st.st_mode) and st.st_nlink > 1:
            groups.setdefault(st.st_ino, []).append(os.path.relpath(path, top).decode('latin-1'))
print(json.dumps([rows, sorted(sorted(g) for g in groups.values())]))
"""


def look_here(path, *flags):
    return json.loads(harness.execute(["python3", "-c", LOOK, str(path), *flags]).out)


def look_there(hf, box, path, *flags):
    result = hf.exec(box, "python3", "-c", LOOK, path, *flags)
    assert result.code == 0, str(result)
    return result.json


def make_tree(top):
    """Some of everything that can be copied."""
    top.mkdir()
    (top / "f").write_text("content")
    (top / "empty").write_bytes(b"")
    (top / "sub/deep/er").mkdir(parents=True)
    (top / "sub/deep/er/big").write_bytes(os.urandom(700000))
    (top / "hard").hardlink_to(top / "sub/deep/er/big")
    (top / "link").symlink_to("sub/deep")
    (top / "dangling").symlink_to("/nowhere/at/all")
    (top / "tool").write_text("#!/bin/sh")
    (top / "tool").chmod(0o755)
    (top / "closed").mkdir()
    (top / "closed/f").write_text("x")
    (top / "closed/f").chmod(0o400)
    for name in (b"new\nline", b"\x1b[31mred", b"bad\xff\xfe", b"-rf", b" ", b"a:b", b"x" * 255):
        with open(os.fsencode(top) + b"/" + name, "wb") as file:
            file.write(name)
    with open(top / "sparse", "wb") as file:
        file.write(b"begin")
        file.seek(64 * MIB)
        file.write(b"middle")
        file.truncate(200 * MIB)
    for number, path in enumerate(sorted(top.rglob("*"), key=lambda path: -len(path.parts))):
        os.utime(path, ns=(0, 10**18 + number * 1234567891), follow_symlinks=False)
    (top / "closed").chmod(0o500)
    os.utime(top, ns=(0, 10**18 + 123456789))


@pytest.fixture
def tree(tmp_path):
    make_tree(tmp_path / "tree")
    return tmp_path / "tree"


def wait_all(*processes):
    for process in processes:
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe:
                pipe.close()
        process.wait(20)


def temporaries(path):
    return [name for _, dirs, files in os.walk(path) for name in dirs + files if name.startswith(".hf-")]


# --- where it goes -------------------------------------------------------------------------------


def test_places(hf, box, tmp_path):
    (tmp_path / "f").write_text("data")
    hf.sh(box, "mkdir d")
    hf.ok("cp", tmp_path / "f", f"{box}:")
    hf.ok("cp", tmp_path / "f", f"{box}:d")
    hf.ok("cp", tmp_path / "f", f"{box}:g")
    hf.ok("cp", tmp_path / "f", f"{box}:new/")
    hf.ok("cp", tmp_path / "f", f"{box}:/srv/a/b")
    assert hf.sh(box, "find . /srv -type f | sort") == "./d/f\n./f\n./g\n./new/f\n/srv/a/b\n"
    (tmp_path / "t").mkdir()
    (tmp_path / "t/x").write_text("x")
    hf.ok("cp", tmp_path / "t", f"{box}:d")
    hf.ok("cp", "--exact", tmp_path / "t", f"{box}:d")
    assert hf.sh(box, "find d -type f | sort") == "d/f\nd/t/x\nd/x\n"
    out = tmp_path / "out"
    out.mkdir()
    hf.ok("cp", f"{box}:d/f", out)
    hf.ok("cp", f"{box}:d/f", out / "g")
    hf.ok("cp", f"{box}:d", out)
    hf.ok("cp", "--exact", f"{box}:d", out / "exact")
    assert sorted(str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()) == \
        ["d/f", "d/t/x", "d/x", "exact/f", "exact/t/x", "exact/x", "f", "g"]
    hf.ok("cp", f"{box}:", out / "cwd")
    assert (out / "cwd/d/f").read_text() == "data"


def test_relative_to_the_working_directories(hf, tmp_path):
    """The box's in the box, one's own here."""
    box = hf.up("-w", "/srv")
    (tmp_path / "f").write_text("x")
    hf.ok("cp", "f", f"{box}:g", cwd=tmp_path)
    assert hf.ok("read", box, "/srv/g").text == "x"
    hf.ok("cp", f"{box}:g", "h", cwd=tmp_path)
    assert (tmp_path / "h").read_text() == "x"
    (tmp_path / "a:b").write_text("colon")
    hf.ok("cp", "./a:b", f"{box}:c", cwd=tmp_path)
    assert hf.ok("read", box, "c").text == "colon"


def test_what_is_told(hf, box, tree, tmp_path):
    document = hf.ok("cp", "--json", tree, f"{box}:").json
    assert document["directories"] == 5 and document["symlinks"] == 2 and document["skipped"] == 0
    assert document["files"] == 14 and 700000 < document["bytes"] < 4 * MIB, document
    assert hf.ok("cp", f"{box}:tree", tmp_path / "back").out == b""


@pytest.mark.parametrize("args, kind", [
    (("{tmp}/nothing", "{box}:x"), "not_found"), (("{box}:nothing", "{tmp}/x"), "not_found"),
    (("{box}:/etc/passwd", "{tmp}/no/such/dir"), "not_found"), (("{box}:/etc/passwd", "{tmp}/f/x"), "not_directory"),
    (("{tmp}/f", "{box}:/etc/passwd/x"), "not_directory"), (("{tmp}/f", "{box}:/ro/x"), "read_only"),
    (("{box}:nothing", "{box}:x"), "not_found"), (("{box}:/etc/passwd", "{box}:/ro/x"), "read_only"),
    (("{box}:/etc/passwd", "{tmp}/d/full"), "is_directory"), (("{tmp}/f", "{box}:/sys/x"), "read_only"),
    (("{box}:loop", "{tmp}/x"), "loop"), (("{tmp}/f", "{box}:loop/x"), "loop"),
    (("--resume", "{box}:nothing", "{tmp}/x"), "not_found"), (("--resume", "{tmp}/f", "{box}:/ro/x"), "read_only"),
])
def test_typed_errors(hf, tmp_path, args, kind):
    (tmp_path / "d/full/passwd").mkdir(parents=True)
    (tmp_path / "f").write_text("x")
    (tmp_path / "ro").mkdir()
    before = sorted(tmp_path.rglob("*"))
    box = hf.up("--name", "one", "-v", f"{tmp_path / 'ro'}:/ro:ro")
    hf.sh(box, "ln -s loop loop")
    failed(hf("cp", "--json", *(arg.format(tmp=tmp_path, box=box) for arg in args)), kind)
    assert sorted(tmp_path.rglob("*")) == before


# --- what is kept --------------------------------------------------------------------------------


def test_tree_round_trip(hf, tree, tmp_path):
    """Host, box, box, host: all that a tree is."""
    one, two = hf.up(), hf.up()
    hf.ok("cp", tree, f"{one}:/srv")
    hf.ok("cp", f"{one}:/srv/tree", f"{two}:/tmp/moved")
    hf.ok("cp", f"{two}:/tmp/moved", tmp_path / "back")
    expected = look_here(tree)
    assert look_here(tmp_path / "back") == expected
    assert look_there(hf, one, "/srv/tree") == expected
    assert expected[1] == [["hard", "sub/deep/er/big"]]
    for path in (tree, tmp_path / "back"):
        assert os.stat(path / "sparse").st_blocks * 512 < MIB
    for box, path in ((one, "/srv/tree/sparse"), (two, "/tmp/moved/sparse")):
        assert int(hf.sh(box, f"stat -c %b {path}")) * 512 < MIB


def test_a_real_tree(make_holdfast, tmp_path):
    """The box's own files, there and back by way of a second box, owners and attributes as well."""
    hf = make_holdfast(cli=os.path.join(harness.RELEASE, "holdfast"))
    one, two = hf.up("--tmpfs", "/big:size=900m"), hf.up("--tmpfs", "/big:size=900m")
    hf.sh(one, """
        cp -a /usr/lib/python3* /usr/share/perl* /usr/include /big/ 2> /dev/null || true
        cd /big; chown -R 3:4 $(ls | head -1)
        python3 - <<'END'
import os
os.chdir(b'/big')
for name in (b'new\\nline', b'\\x1b[31m', b'\\xff\\xfe', b'utf8 \\xc3\\xa9'):
    open(name, 'wb').write(name)
os.link(b'new\\nline', b'other name')
with open('sparse', 'wb') as f:
    f.truncate(300 << 20); f.seek(100 << 20); f.write(b'x' * 5000)
try:
    os.setxattr('sparse', 'user.note', b'\\0\\1value')
except OSError:
    pass
END
    """, timeout=60)
    timing = time.monotonic()
    hf.ok("cp", "-a", f"{one}:/big", tmp_path / "a", timeout=60)
    hf.ok("cp", "-a", tmp_path / "a", f"{two}:/big/a", timeout=60)
    hf.ok("cp", "-a", f"{two}:/big/a", tmp_path / "b", timeout=60)
    assert time.monotonic() - timing < 60
    there = look_there(hf, one, "/big", "owners")
    try:
        os.setxattr(tmp_path, "user.test", b"1")
    except OSError:
        # The host's file system has no such attributes.
        for rows in there[0].values():
            if len(rows) == 9:
                rows[6] = {}
    assert len(there[0]) > 300, "too small to mean anything"
    a, b = look_here(tmp_path / "a", "owners"), look_here(tmp_path / "b", "owners")
    # The top was a mount of the box's; everything below it is as it was.
    for rows in (there[0], a[0], b[0]):
        rows.pop(".")
    assert a == b
    assert a == there
    assert os.stat(tmp_path / "b/sparse").st_blocks * 512 < MIB


def test_owners_only_if_asked_for(hf, box, tmp_path):
    hf.sh(box, "echo x > f; chown 12:34 f")
    hf.ok("cp", f"{box}:f", tmp_path / "mine")
    state = os.stat(tmp_path / "mine")
    assert (state.st_uid, state.st_gid) == (os.getuid(), os.getgid())
    if os.getuid() == 0:
        hf.ok("cp", "-a", f"{box}:f", tmp_path / "theirs")
        state = os.stat(tmp_path / "theirs")
        assert (state.st_uid, state.st_gid) == (12, 34)
        hf.ok("cp", "-a", tmp_path / "theirs", f"{box}:g")
        hf.ok("cp", tmp_path / "theirs", f"{box}:h")
        assert hf.sh(box, "stat -c '%u %g' g h") == "12 34\n0 0\n"


def test_set_id_bits_do_not_reach_the_host(hf, box, tmp_path):
    hf.sh(box, "mkdir d; echo x > d/suid; echo x > d/sgid; chmod 6755 d/suid d/sgid; chmod 3777 d")
    for flags in ((), ("-a",), ("--resume",)):
        out = tmp_path / f"out{len(flags and flags[0])}"
        hf.ok("cp", *flags, f"{box}:d" if flags != ("--resume",) else f"{box}:d/suid", out)
        for path in (out, *out.rglob("*")):
            assert not stat.S_IMODE(os.stat(path).st_mode) & 0o6000, path


def test_special_files_are_left_out(hf, box, tmp_path):
    hf.sh(box, """mkdir d; mkfifo d/fifo; echo x > d/f
                  python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("d/sock")'""")
    result = hf.ok("cp", "--json", f"{box}:d", tmp_path / "d", timeout=10)
    assert sorted(os.listdir(tmp_path / "d")) == ["f"] and result.json["skipped"] == 2
    assert "2 left out" in result.errors
    result = hf("cp", "--json", f"{box}:/dev", tmp_path / "dev", timeout=10)
    for top, _, files in os.walk(tmp_path / "dev"):
        for name in files:
            assert stat.S_IFMT(os.lstat(os.path.join(top, name)).st_mode) in (stat.S_IFREG, stat.S_IFLNK)


def test_merging(hf, box, tree, tmp_path):
    """What is there already stays, but for the files that come."""
    hf.sh(box, "mkdir -m 750 tree; mkdir tree/closed; echo old > tree/f; echo mine > tree/mine; chmod 600 tree/f")
    hf.ok("cp", tree, f"{box}:")
    assert hf.sh(box, "cat tree/f tree/mine; stat -c %a tree tree/f") == "contentmine\n750\n600\n"
    hf.ok("cp", tree, f"{box}:", timeout=20)
    hf.ok("cp", f"{box}:tree", tmp_path)
    assert (tmp_path / "tree/mine").read_text() == "mine\n"
    hf.ok("cp", f"{box}:tree", tmp_path)
    assert not temporaries(tmp_path)


def test_symlinks_at_the_destination(hf, box, tmp_path):
    """One that is in the way is replaced, not followed."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "f").write_text("mine")
    out = tmp_path / "out"
    (out / "d").mkdir(parents=True)
    (out / "d/f").symlink_to(outside / "f")
    (out / "d/sub").symlink_to(outside)
    hf.sh(box, "mkdir -p d/sub; echo new > d/f; echo new > d/sub/f; echo new > d/sub/g")
    hf.ok("cp", f"{box}:d", out)
    assert sorted(os.listdir(outside)) == ["f"] and (outside / "f").read_text() == "mine"
    assert (out / "d/f").read_text() == "new\n" and not (out / "d/sub").is_symlink()


def test_symlinks_in_a_tree_are_not_followed(hf, box, tmp_path):
    hf.sh(box, "mkdir d; ln -s / d/root; ln -s /etc/passwd d/passwd; ln -s d top; ln -s .. d/up")
    hf.ok("cp", f"{box}:top", tmp_path / "out", timeout=10)
    assert {os.readlink(tmp_path / "out" / name) for name in ("root", "passwd", "up")} == {"/", "/etc/passwd", ".."}
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "in").mkdir()
    (tmp_path / "in/link").symlink_to(tmp_path / "secret")
    hf.ok("cp", tmp_path / "in", f"{box}:")
    assert hf.sh(box, "readlink in/link; test ! -e in/link") == f"{tmp_path}/secret\n"


def test_within_one_box(hf, box):
    hf.sh(box, "mkdir a; echo x > a/f; ln a/f a/g")
    hf.ok("cp", f"{box}:a", f"{box}:b")
    assert hf.sh(box, "cat b/f; stat -c %h b/f; cat a/f") == "x\n2\nx\n"


def test_a_directory_into_itself_ends(hf, box):
    hf.sh(box, "mkdir a; echo x > a/f")
    result = hf("cp", f"{box}:a", f"{box}:a/copy", timeout=20)
    assert result.code in (0, 1), str(result)
    assert int(hf.sh(box, "find a | wc -l")) < 300
    assert hf.sh(box, "cat a/f") == "x\n"


def test_a_file_that_does_not_tell_its_size(hf, box, tmp_path):
    """/proc says 0 of everything; a copy that is empty without a word would be a lie."""
    text = hf.exec(box, "cat", "/proc/cpuinfo").out
    result = hf("cp", f"{box}:/proc/cpuinfo", tmp_path / "cpuinfo")
    assert result.code == 1 or (tmp_path / "cpuinfo").read_bytes()[:100] == text[:100], str(result)


# --- archives ------------------------------------------------------------------------------------


def make_archive(*members, mode="w"):
    """Each a name, or (name, content), or a TarInfo with content."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode=mode, format=tarfile.PAX_FORMAT) as archive:
        for member in members:
            info, content = member if isinstance(member, tuple) else (member, b"")
            if isinstance(info, str):
                info = tarfile.TarInfo(info)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return data.getvalue()


def special(name, type_, link="", **values):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = type_, link
    for key, value in values.items():
        setattr(info, key, value)
    return info


def test_archive_out(hf, box, tree, tmp_path):
    hf.ok("cp", tree, f"{box}:")
    data = hf.ok("cp", f"{box}:tree", "-").out
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        archive.extractall(tmp_path / "out")
    expected, got = look_here(tree), look_here(tmp_path / "out/tree")
    # tarfile keeps no nanoseconds.
    for rows in (expected[0], got[0]):
        for row in rows.values():
            row[2] = 0 if row[0] == stat.S_IFLNK else row[2] // 10**9
    assert got == expected


@pytest.mark.parametrize("pack", ["plain", "gzip"])
def test_archive_in(hf, pack):
    box = hf.up()
    data = make_archive(
        (special("d", tarfile.DIRTYPE, mode=0o750, mtime=981173106)),
        (special("d/f", tarfile.REGTYPE, mode=0o640, uid=5, gid=6, mtime=981173106), b"content"),
        (special("d/hard", tarfile.LNKTYPE, "d/f")), (special("d/soft", tarfile.SYMTYPE, "../anything")),
        ("no/such/parent/f", b"deep"), ("./dot//slash", b"x"), ("/absolute", b"inside"))
    hf.ok("cp", "-", f"{box}:/srv/in", input=gzip.compress(data) if pack == "gzip" else data)
    assert hf.sh(box, """cd /srv/in; cat d/f d/hard no/such/parent/f dot/slash absolute; echo; readlink d/soft
                         stat -c '%a %U %h %Y' d/f; stat -c '%a %Y' d; test ! -e /absolute""") == \
        "contentcontentdeepxinside\n../anything\n640 root 2 981173106\n750 981173106\n"


def test_archive_that_comes_back_to_a_directory(hf, box):
    """An archive may be in any order; the directory has its own mode all the same."""
    hf.ok("cp", "-", f"{box}:/srv/in", input=make_archive(
        special("d", tarfile.DIRTYPE, mode=0o550, mtime=981173106), ("d/f", b"x"), ("other/f", b"y"), ("d/late", b"z")))
    assert hf.sh(box, "cd /srv/in; cat d/f d/late; stat -c ' %a' d") == "xz 550\n"


def test_archive_round_trip_by_tar(hf, box, tmp_path):
    """What GNU tar writes and reads."""
    make_tree(tmp_path / "t")
    os.unlink(os.fsencode(tmp_path / "t") + b"/bad\xff\xfe")
    data = harness.execute(["tar", "-C", str(tmp_path), "--format=pax", "-cf", "-", "t"]).out
    hf.ok("cp", "-", f"{box}:", input=data, timeout=60)
    expected, got = look_here(tmp_path / "t"), look_there(hf, box, "/workspace/t")
    assert got == expected
    (tmp_path / "out").mkdir()
    back = hf.ok("cp", f"{box}:t", "-", timeout=60).out
    assert harness.execute(["tar", "-C", str(tmp_path / "out"), "-xf", "-"], back).code == 0
    back = look_here(tmp_path / "out/t")
    # Of the archive the whole seconds only are promised.
    for rows in (expected[0], back[0]):
        for row in rows.values():
            row[2] //= 10**9
    assert back == expected


@pytest.mark.parametrize("member", ["../escape", "a/../../escape", "..", "a/.."])
def test_archive_names_that_lead_out(hf, member):
    box = hf.up("--name", "one")
    hf.sh(box, "mkdir -p /srv/in/a")
    failed(hf("cp", "--json", "-", f"{box}:/srv/in", input=make_archive(("fine", b"x"), (member, b"evil"))),
           "invalid_path")
    assert hf.sh(box, "ls -A /srv; ls -A /srv/in | grep -v fine") == "in\na\n"


def test_archive_through_its_own_symlink(hf, box):
    """A link of the archive is not a way out of the directory."""
    data = make_archive(special("out", tarfile.SYMTYPE, "/etc"), ("out/evil", b"x"))
    hf("cp", "-", f"{box}:/srv/in", input=data)
    assert hf.sh(box, "test -e /etc/evil && echo out || echo fine") == "fine\n"
    data = make_archive(special("h", tarfile.LNKTYPE, "/etc/passwd"), special("g", tarfile.LNKTYPE, "../../etc/passwd"))
    result = hf("cp", "--json", "-", f"{box}:/srv/in2", input=data)
    assert result.code == 1, str(result)
    assert hf.sh(box, "ls -A /srv/in2 2>/dev/null || true") == ""


def test_archive_that_is_none(hf, box):
    for data in (b"x" * 5000, os.urandom(3000), make_archive(("f", b"y" * 100000))[:50000]):
        result = hf("cp", "--json", "-", f"{box}:/srv/in", input=data)
        assert result.code == 1 and "kind" in result.json["error"], str(result)
    assert [name for name in hf.sh(box, "ls -A /srv/in 2>/dev/null || true").split() if name.startswith(".")] == []


def test_archive_out_with_a_reader_that_leaves(hf, box):
    hf.sh(box, "mkdir d; head -c 30000000 /dev/zero > d/f")
    process = hf.popen("cp", f"{box}:d", "-")
    process.stdout.read(1000)
    process.stdout.close()
    assert process.wait(10) == 141
    assert process.stderr.read() == b""
    process.stderr.close()


# --- limits --------------------------------------------------------------------------------------


def test_limits(hf, box, tmp_path):
    hf.sh(box, "mkdir d; for i in $(seq 20); do head -c 1000 /dev/zero > d/$i; done")
    for flags in (("--max-bytes", "10k"), ("--max-files", "10")):
        out = tmp_path / flags[0]
        failed(hf("cp", "--json", *flags, f"{box}:d", out), "too_large")
        size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
        assert size <= 10240 and len(list(out.rglob("*"))) <= 10
        assert hf("cp", *flags, f"{box}:d", "-").code == 1
        failed(hf("cp", "--json", *flags, f"{box}:d", f"{box}:/srv/{flags[0]}"), "too_large")
        assert int(hf.sh(box, f"find /srv/{flags[0]} | wc -l")) <= 11
    hf.ok("cp", "--max-bytes", "20000", "--max-files", "21", f"{box}:d", tmp_path / "all")
    for flags in (("--max-bytes", "10k"), ("--max-files", "10")):
        failed(hf("cp", "--json", *flags, tmp_path / "all", f"{box}:in{flags[0]}"), "too_large")
        assert int(hf.sh(box, f"find in{flags[0]} | wc -l")) <= 11
        archive = make_archive(*((f"f{i}", bytes(1000)) for i in range(20)))
        failed(hf("cp", "--json", *flags, "-", f"{box}:tar{flags[0]}", input=archive), "too_large")
        assert int(hf.sh(box, f"find tar{flags[0]} | wc -l")) <= 12
    assert not temporaries(tmp_path)


def test_limit_of_one_file(hf, box, tmp_path):
    hf.sh(box, "head -c 2000000 /dev/zero > f")
    (tmp_path / "f").write_bytes(bytes(2000000))
    for flags in ((), ("--resume",)):
        failed(hf("cp", "--json", *flags, "--max-bytes", "1m", f"{box}:f", tmp_path / "out"), "too_large")
        failed(hf("cp", "--json", *flags, "--max-bytes", "1m", tmp_path / "f", f"{box}:/srv/out"), "too_large")
    assert not (tmp_path / "out").exists() and "out" not in leftovers(hf, box, "/srv")


def test_out_of_space_in_the_box(hf, tmp_path):
    box = hf.up("--tmpfs", "/small:size=1m")
    hf.ok("write", box, "/small/f", input=b"old")
    (tmp_path / "f").write_bytes(bytes(range(256)) * 16384)
    failed(hf("cp", "--json", tmp_path / "f", f"{box}:/small/f"), "no_space")
    failed(hf("cp", "--json", tmp_path / "f", f"{box}:/small/g"), "no_space")
    assert leftovers(hf, box, "/small") == ["f"] and hf.ok("read", box, "/small/f").out == b"old"


def test_out_of_space_on_the_host(hf, box, tmp_path):
    hf.sh(box, "head -c 3000000 /dev/urandom > f")
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", small], stderr=subprocess.DEVNULL).returncode:
        pytest.skip("machine: cannot mount")
    try:
        (small / "f").write_text("old")
        failed(hf("cp", "--json", f"{box}:f", small), "no_space")
        assert os.listdir(small) == ["f"] and (small / "f").read_text() == "old"
        failed(hf("cp", "--json", "--resume", f"{box}:f", small), "no_space")
        assert (small / "f").read_text() == "old"
    finally:
        subprocess.run(["umount", small], check=True)


# --- killed --------------------------------------------------------------------------------------


@pytest.mark.parametrize("victim", ["cli", "agent", "interrupt"])
@pytest.mark.parametrize("way", ["in", "out"])
def test_killed_in_the_middle(hf, way, victim, tmp_path):
    """Files that are complete stay, others are not there, and the old ones are what they were."""
    box = hf.up()
    big = bytes(range(256)) * 400000
    source, out = tmp_path / "t", tmp_path / "out"
    source.mkdir()
    (source / "big").write_bytes(big)
    if way == "out":
        hf.ok("cp", source, f"{box}:t", timeout=60)
        (out / "t").mkdir(parents=True)
        (out / "t/big").write_text("old")
    else:
        hf.sh(box, "mkdir t; echo old > t/big")
    for turn in range(5):
        process = hf.popen("cp", *((source, f"{box}:") if way == "in" else (f"{box}:t", out)))
        pids = harness.wait_until(lambda: agents(hf, box), "the agent is at work")
        time.sleep(0.01 * turn)
        if victim == "agent":
            for pid in pids:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        else:
            process.send_signal(signal.SIGKILL if victim == "cli" else signal.SIGINT)
        process.communicate(timeout=20)
        expected = {"cli": -signal.SIGKILL, "interrupt": 130, "agent": (1, 125)}[victim]
        code = process.returncode
        assert code == 0 or code == expected or victim == "agent" and code in expected, code
        harness.wait_until(lambda: not agents(hf, box), "the agent is gone")
        if way == "in":
            content = hf.ok("read", box, "t/big", timeout=60).out
            assert leftovers(hf, box, "t") == ["big"]
        else:
            content = (out / "t/big").read_bytes()
            assert os.listdir(out / "t") == ["big"]
        assert content in (b"old", b"old\n", big), len(content)


# --- resume --------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def files_program(tmp_path_factory):
    """tests/conformance/files.c against the release library."""
    directory = tmp_path_factory.mktemp("files")
    return harness.compile_c(os.path.join(harness.TESTS, "conformance/files.c"), str(directory / "files"),
                             "-I", os.path.join(harness.ROOT, "include"), "-L", harness.RELEASE,
                             f"-Wl,-rpath,{harness.RELEASE}", "-lholdfast")


@pytest.fixture
def library(hf, files_program):
    """One call of the library; its document, and what it said on the way."""
    def call(*words, **options):
        result = harness.execute([files_program, *map(str, words)], env=hf.env, **options)
        assert result.code == 0, str(result)
        return result
    return call


@pytest.mark.parametrize("way", ["in", "out"])
def test_resume(hf, library, way, tmp_path):
    """Stopped at two thirds: the rest alone is sent, and the whole is right."""
    box = hf.up()
    data = os.urandom(6 * MIB)
    (tmp_path / "f").write_bytes(data)
    hf.ok("write", box, "f", input=data)
    place = tmp_path / "copy" if way == "out" else "/srv/copy"
    words = (way, box, "f", place) if way == "out" else (way, box, place, tmp_path / "f")
    document = library(*words, 4 * MIB, "resume").json
    assert document["result"] < 0 and document["last"] >= 4 * MIB
    if way == "out":
        assert not place.exists()
        assert (tmp_path / ".copy.hf-part").stat().st_size >= MIB
    else:
        assert "copy" not in leftovers(hf, box, "/srv")
        assert harness.wait_until(lambda: not agents(hf, box), "the agent is gone")
        assert hf.ok("stat", "--json", box, "/srv/.copy.hf-part").json["size"] >= MIB
    document = library(*words, -1, "resume").json
    assert document["result"] == 0, document
    assert document["first"] > MIB, "it began anew"
    content = place.read_bytes() if way == "out" else hf.ok("read", box, place).out
    assert hashlib.sha1(content).digest() == hashlib.sha1(data).digest()
    assert sorted(os.listdir(tmp_path)) == (["copy", "f"] if way == "out" else ["f"])
    if way == "in":
        assert leftovers(hf, box, "/srv") == ["copy"]


@pytest.mark.parametrize("way", ["in", "out"])
@pytest.mark.parametrize("damage", ["in the middle", "longer than the source"])
def test_resume_does_not_believe(hf, way, damage, tmp_path):
    """What is there is compared by its checksum."""
    box = hf.up()
    data = os.urandom(3 * MIB)
    part = bytearray(data[:2 * MIB]) if damage == "in the middle" else bytearray(data + b"more")
    part[MIB] ^= 1
    (tmp_path / "f").write_bytes(data)
    hf.ok("write", box, "f", input=data)
    if way == "in":
        hf.ok("write", box, "/srv/.copy.hf-part", input=bytes(part))
        hf.ok("cp", "--resume", tmp_path / "f", f"{box}:/srv/copy")
        content = hf.ok("read", box, "/srv/copy").out
        assert leftovers(hf, box, "/srv") == ["copy"]
    else:
        (tmp_path / ".copy.hf-part").write_bytes(part)
        hf.ok("cp", "--resume", f"{box}:f", tmp_path / "copy")
        content = (tmp_path / "copy").read_bytes()
        assert not (tmp_path / ".copy.hf-part").exists()
    assert content == data


@pytest.mark.parametrize("way", ["in", "out"])
def test_resume_keeps_mode_and_date(hf, way, tmp_path):
    box = hf.up()
    (tmp_path / "f").write_bytes(b"data")
    (tmp_path / "f").chmod(0o750)
    os.utime(tmp_path / "f", ns=(0, 981173106123456789))
    if way == "in":
        hf.ok("cp", "--resume", tmp_path / "f", f"{box}:/srv/f")
        assert hf.sh(box, "stat -c '%a %.9Y' /srv/f") == "750 981173106.123456789\n"
    else:
        hf.ok("cp", tmp_path / "f", f"{box}:f")
        hf.ok("cp", "--resume", f"{box}:f", tmp_path / "g")
        state = os.stat(tmp_path / "g")
        assert (stat.S_IMODE(state.st_mode), state.st_mtime_ns) == (0o750, 981173106123456789)


def test_resume_of_a_tree_is_a_copy(hf, box, tree, tmp_path):
    hf.ok("cp", "--resume", tree, f"{box}:")
    hf.ok("cp", "--resume", f"{box}:tree", tmp_path / "back")
    assert look_here(tmp_path / "back") == look_here(tree)


def test_resume_does_not_follow_a_link(hf, box, tmp_path):
    """Where others may write: the gathering file is one's own, or it is refused."""
    hf.ok("write", box, "f", input=b"evil")
    (tmp_path / "victim").write_text("mine")
    for trap in (lambda path: path.symlink_to(tmp_path / "victim"), lambda path: path.hardlink_to(tmp_path / "victim"),
                 lambda path: os.mkfifo(path)):
        trap(tmp_path / ".copy.hf-part")
        result = hf("cp", "--json", "--resume", f"{box}:f", tmp_path / "copy", timeout=10)
        assert result.code == 1, str(result)
        assert (tmp_path / "victim").read_text() == "mine"
        (tmp_path / ".copy.hf-part").unlink()


# --- progress ------------------------------------------------------------------------------------


def on_terminal(hf, *args, input=b"", pauses=3):
    """What a terminal shows while an archive comes in pieces."""
    main, side = pty.openpty()
    process = hf.popen(*args, stdin=subprocess.PIPE, stderr=side)
    os.close(side)
    shown = b""

    def read(timeout):
        nonlocal shown
        while select.select([main], [], [], timeout)[0]:
            try:
                data = os.read(main, 65536)
            except OSError:
                return
            if not data:
                return
            shown += data
    step = len(input) // pauses + 1
    for at in range(0, len(input), step):
        process.stdin.write(input[at:at + step])
        process.stdin.flush()
        read(0.15)
    process.stdin.close()
    read(1)
    process.wait(20)
    out = process.stdout.read()
    process.stdout.close()
    os.close(main)
    assert process.returncode == 0, shown
    return shown, out


def test_progress_on_a_terminal(hf, box):
    data = make_archive(*((f"file{i}", os.urandom(MIB)) for i in range(9)))
    shown, out = on_terminal(hf, "cp", "-", f"{box}:/srv", input=data)
    assert out == b""
    text = shown.decode()
    assert "\r" in text and "M" in text, text
    assert text.split("\r")[-1].strip() == "" and "\n" not in text, "the line is taken away again"
    assert "\x1b" not in text
    shown, out = on_terminal(hf, "cp", "-q", "-", f"{box}:/srv", input=data)
    assert shown == b""
    # Not on something that is no terminal.
    assert hf.ok("cp", "-", f"{box}:/srv", input=data).err == b""


def test_progress_escapes_names(hf, box, tmp_path):
    """The path is the caller's own word or the box's; neither drives the terminal."""
    hf.sh(box, r"mkdir $'d\e[31m\n'; head -c 30000000 /dev/zero > $'d\e[31m\n/f'")
    main, side = pty.openpty()
    process = hf.popen("cp", f"{box}:d\x1b[31m\n", tmp_path / "out", stderr=side)
    os.close(side)
    pids = harness.wait_until(lambda: agents(hf, box) or process.poll() is not None, "it is at work")
    if pids is not True:
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        time.sleep(0.25)
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
    process.wait(20)
    process.stdout.close()
    shown = b""
    while select.select([main], [], [], 0.2)[0]:
        try:
            piece = os.read(main, 65536)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    os.close(main)
    assert b"\x1b" not in shown and b"\n" not in shown, shown


# --- memory --------------------------------------------------------------------------------------


def peak(pid):
    for line in harness.read_file(f"/proc/{pid}/status").splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) << 10
    return 0


def test_memory_is_constant(make_holdfast, tmp_path):
    """A gigabyte, both ways; not the sanitized build, whose memory is its own."""
    hf = make_holdfast(cli=os.path.join(harness.RELEASE, "holdfast"))
    box = hf.up("--tmpfs", "/big:size=1500m")
    size = 1 << 30
    # Real bytes on one side only: /dev/shm or the disk of the test machine may be small.
    with open(tmp_path / "f", "wb") as file:
        for _ in range(256):
            file.write(b"x" * (4 * MIB))
    wardens = harness.find_processes({pid for path in hf.cgroups(box).values() for pid in harness.cgroup_pids(path)},
                                     "warden")
    assert wardens
    for args in ((tmp_path / "f", f"{box}:/big/f"), (f"{box}:/big/f", tmp_path / "g")):
        if args[1] == tmp_path / "g":
            os.unlink(tmp_path / "f")
        process = hf.popen("cp", *args)
        highest, agent = 0, 0
        while process.poll() is None:
            highest = max(highest, peak(process.pid))
            agent = max([agent, *(peak(pid) for pid in agents(hf, box))])
            time.sleep(0.01)
        _, err = process.communicate()
        assert process.returncode == 0, err
        assert 0 < highest < MEMORY and 0 < agent < MEMORY, (highest, agent)
        assert max(map(peak, wardens)) < MEMORY
    assert os.stat(tmp_path / "g").st_size == size
    with open(tmp_path / "g", "rb") as file:
        assert file.read(4 * MIB) == b"x" * (4 * MIB)
    os.unlink(tmp_path / "g")


# --- the library ---------------------------------------------------------------------------------


def test_library_read_that_stops(hf, box, library):
    hf.sh(box, "head -c 5000000 /dev/zero > f")
    document = library("read", box, "f", 100000).json
    assert document["result"] < 0 and document["code"] == "invalid" and document["kind"] == "none"
    assert 100000 <= document["taken"] < 2 * MIB
    assert library("read", box, "f", -1).json["taken"] == 5000000
    harness.wait_until(lambda: not agents(hf, box), "the agent is gone")


def test_library_write_that_stops(hf, box, library):
    hf.ok("write", box, "f", input=b"old")
    for stop in (0, 1, 65536, 3000000):
        document = library("write", box, "f", 5000000, stop).json
        assert document["result"] < 0 and document["code"] == "invalid", document
        harness.wait_until(lambda: not agents(hf, box), "the agent is gone")
        assert hf.ok("read", box, "f").out == b"old", stop
        library("write", box, "/srv/new/f", 5000000, stop)
        assert "f" not in hf.sh(box, "ls -A /srv/new 2>/dev/null || true")
    assert library("write", box, "f", 5000000, -1).json["result"] == 0
    assert hf.ok("stat", "--json", box, "f").json["size"] == 5000000
    assert leftovers(hf, box, ".") == ["f"]


@pytest.mark.parametrize("way", ["in", "out", "across", "tarin", "tarout"])
def test_library_copy_that_stops(hf, library, way, tmp_path):
    box, other = hf.up(), hf.up()
    (tmp_path / "d").mkdir()
    (tmp_path / "d/f").write_bytes(bytes(range(256)) * 20000)
    hf.ok("cp", tmp_path / "d", f"{box}:d")
    if way == "in":
        document = library("in", box, "/srv/x", tmp_path / "d", MIB).json
    elif way == "out":
        document = library("out", box, "d", tmp_path / "x", MIB).json
    elif way == "across":
        document = library("across", box, "d", other, "/srv/x", MIB).json
    elif way == "tarin":
        archive = make_archive(("x/f", bytes(range(256)) * 20000))
        document = library("tarin", box, "/srv", MIB, input=archive).json
    else:
        document = json.loads(library("tarout", box, "d", MIB).err)
    assert document["result"] < 0 and document["code"] == "invalid", document
    assert document["last"] >= MIB and document["backwards"] == 0 and document["nameless"] == 0
    for name in (box, other):
        harness.wait_until(lambda: not agents(hf, name), "the agent is gone")
        assert hf.sh(name, "find /srv -type f") == ""
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [tmp_path / "d/f"]


def test_library_stat(hf, box, library):
    """To the nanosecond."""
    hf.sh(box, "echo x > f; chmod 2750 f; chown 3:4 f; touch -d '2001-02-03 04:05:06.123456789 UTC' f")
    assert library("stat", box, "f").errors == "f 0750 3 4 2 981173106.123456789\n"


def test_library_watch(hf, box, files_program):
    process = subprocess.Popen([files_program, "watch", box, ".", "3"], env=hf.env, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    assert process.stderr.readline() == "ready\n"
    hf.sh(box, "mkdir a; mv a b; rmdir b")
    out, err = process.communicate(timeout=20)
    assert err == "0 a -\n3 a b\n2 b -\n" and json.loads(out)["result"] == 0, err
    result = harness.execute([files_program, "watch", box, "nothing", "1"], env=hf.env)
    assert result.json["kind"] == "not_found", str(result)
