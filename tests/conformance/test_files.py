"""read, write, ls, stat, mkdir, mv and rm: files of a box, without a program of the box."""
import contextlib
import errno
import json
import os
import signal
import stat
import subprocess
import threading
import time

import pytest

import harness

MIB = 1 << 20


def failed(result, kind, *words):
    """A file's own failure: 1, its kind, and its path."""
    assert result.code == 1, str(result)
    error = result.json["error"]
    assert error["kind"] == kind, str(result)
    for word in words:
        assert word in error["message"], str(result)
    return error


def quiet(result):
    assert result.code == 0 and result.err == b"", str(result)
    return result


def agents(hf, box):
    """The host's pids of the agents at work in a box."""
    return in_box(hf, box, "files")


def in_box(hf, box, comm):
    return harness.find_processes({pid for path in hf.cgroups(box).values() for pid in harness.cgroup_pids(path)},
                                  comm)


def leftovers(hf, box, *directories):
    """What is in the directories, temporary files included."""
    return sorted(entry["name"] for directory in directories
                  for entry in hf.ok("ls", "--json", box, directory).json)


@pytest.fixture
def shared(hf):
    path = os.path.join(hf.root, "shared")
    os.mkdir(path)
    return path


# --- read ----------------------------------------------------------------------------------------


def test_read_gives_the_bytes(hf, box):
    data = bytes(range(256)) * 4096
    quiet(hf("write", box, "bytes", input=data))
    assert quiet(hf("read", box, "bytes")).out == data
    assert quiet(hf("read", f"{box}:bytes")).out == data
    assert quiet(hf("read", f"{box}:/workspace/bytes")).out == data


@pytest.mark.parametrize("span, part", [("0-0", slice(0, 1)), ("0-9", slice(0, 10)), ("5-7", slice(5, 8)),
                                        ("1000-", slice(1000, None)), ("-10", slice(-10, None)),
                                        ("-100000", slice(0, None)), ("0-99999999", slice(0, None)),
                                        ("4090-4095", slice(4090, 4096)), ("4096-", slice(4096, 4096)),
                                        ("99999-", slice(4096, 4096))])
def test_read_range(hf, span, part):
    box = hf.up("--name", "one")
    data = bytes(range(256)) * 16
    hf.ok("write", box, "f", input=data)
    assert quiet(hf("read", "--range", span, box, "f")).out == data[part]


def test_read_in_json(hf, box):
    hf.ok("write", box, "f", input=b"a\nb\xff")
    assert hf.ok("read", "--json", box, "f").json["data"] == "a\nb\ufffd"
    document = hf.ok("read", "--json", "--base64", box, "f").json
    assert (document["data"], document["bytes"], document["offset"]) == ("YQpi/w==", 4, 0)


def test_read_an_empty_file(hf, box):
    hf.ok("write", box, "empty", input=b"")
    assert quiet(hf("read", box, "empty")).out == b""
    assert hf.ok("stat", "--json", box, "empty").json["size"] == 0


def test_read_does_not_wait_for_a_fifo(hf, box):
    hf.sh(box, "mkfifo fifo")
    assert hf("read", box, "fifo", timeout=10).out == b""


def test_read_stops_with_its_reader(hf, box):
    """The agent does not go on for nobody."""
    process = hf.popen("read", box, "/dev/zero")
    assert process.stdout.read(MIB) == bytes(MIB)
    process.stdout.close()
    assert process.wait(10) == 141
    process.stderr.close()
    harness.wait_until(lambda: not agents(hf, box), "the agent is gone")


# --- write ---------------------------------------------------------------------------------------


def test_write_is_new_with_mode(hf, box):
    hf.ok("write", box, "plain", input=b"x")
    hf.ok("write", "--mode", "0751", box, "tool", input=b"x")
    hf.ok("write", "--mode", "4755", box, "special", input=b"x")
    assert [hf.ok("stat", "--json", box, name).json["mode"] for name in ("plain", "tool", "special")] == \
        ["0644", "0751", "4755"]


def test_write_makes_parents(hf, box):
    hf.ok("write", box, "/srv/a/b/c/file", input=b"deep")
    assert hf.ok("read", box, "/srv/a/b/c/file").out == b"deep"
    assert hf.ok("stat", "--json", box, "/srv/a/b").json["mode"] == "0755"


def test_write_appends(hf, box):
    for piece in (b"one ", b"two ", b"three"):
        hf.ok("write", "--append", box, "log", input=piece)
    assert hf.ok("read", box, "log").out == b"one two three"


def test_write_no_clobber(hf, box):
    hf.ok("write", "--no-clobber", box, "f", input=b"first")
    failed(hf("write", "--no-clobber", "--json", box, "f", input=b"second"), "exists", "f")
    hf.sh(box, "ln -s f link; ln -s nowhere dangling; mkfifo fifo; mkdir dir")
    for name, kind in (("link", "exists"), ("fifo", "exists"), ("dir", "is_directory")):
        failed(hf("write", "-n", "--json", box, name, input=b"second", timeout=10), kind)
    assert hf.ok("read", box, "f").out == b"first"
    assert leftovers(hf, box, ".") == ["dangling", "dir", "f", "fifo", "link"]


def test_no_clobber_has_one_winner(hf, box):
    """Of writers at the same time: what is tested and what is done are one step."""
    writers = [hf.popen("write", "-n", box, "lock", stdin=subprocess.PIPE) for _ in range(6)]
    for number, writer in enumerate(writers):
        writer.stdin.write(b"%d" % number)
        writer.stdin.flush()
    for writer in writers:
        writer.stdin.close()
    codes = [writer.wait(20) for writer in writers]
    for writer in writers:
        writer.stdout.close()
        writer.stderr.close()
    assert sorted(codes) == [0, 1, 1, 1, 1, 1]
    assert hf.ok("read", box, "lock").text == str(codes.index(0))


def test_write_keeps_mode_and_owner(hf, box):
    hf.sh(box, "echo old > f; chown 33:44 f; chmod 4640 f")
    hf.ok("write", box, "f", input=b"new")
    entry = hf.ok("stat", "--json", box, "f").json
    assert (entry["uid"], entry["gid"], entry["mode"]) == (33, 44, "4640")
    assert hf.ok("read", box, "f").out == b"new"


def test_write_replaces_the_inode(hf, box):
    """Who has the old file open keeps reading the old one; other names of it stay what they were."""
    hf.sh(box, "echo old > f; ln f other")
    hf.ok("write", box, "f", input=b"new\n")
    assert hf.sh(box, "cat other f") == "old\nnew\n"


def test_a_reader_never_sees_a_half(hf, box):
    """Replaced again and again by files of one letter each, read all the while."""
    size = 300000
    hf.ok("write", box, "f", input=b"a" * size)
    reader = hf.popen("exec", box, "--", "python3", "-c", """
import sys
for turn in range(10**9):
    data = open('/workspace/f', 'rb').read()
    if len(data) != 300000 or data != data[:1] * len(data):
        print('half', len(data)); break
    if data[:1] == b'z':
        print('whole', turn); break
""")
    for letter in b"bcdefghijklmnoz":
        hf.ok("write", box, "f", input=bytes([letter]) * size)
    out, _ = reader.communicate(timeout=20)
    assert out.startswith(b"whole"), out


@pytest.mark.parametrize("target", ["real", "sub/real", "/workspace/sub/real", "../workspace/sub/real", "link2"])
def test_write_follows_a_symlink(hf, target):
    box = hf.up()
    hf.sh(box, f"mkdir sub; echo old > real; echo old > sub/real; ln -s sub/real link2; ln -s {target} link")
    hf.ok("write", box, "link", input=b"new\n")
    assert hf.sh(box, "readlink link; cat link") == f"{target}\nnew\n"
    assert hf.sh(box, "test ! -L real -a ! -L sub/real && cat real sub/real | sort") == "new\nold\n"


def test_write_through_a_dangling_symlink(hf, box):
    hf.sh(box, "ln -s made/by/it link")
    hf.ok("write", box, "link", input=b"x")
    assert hf.sh(box, "readlink link; cat made/by/it") == "made/by/it\nx"


def test_symlinks_never_lead_out_of_the_box(hf, box, shared):
    """The box's own files, whatever the host has at the same path."""
    secret = os.path.join(hf.root, "secret")
    with open(secret, "w") as file:
        file.write("of the host")
    hf.sh(box, f"ln -s {secret} link; ln -s ../../../../../../../../..{secret} up; ln -s / top")
    for name in ("link", "up", f"top{secret}"):
        failed(hf("read", "--json", box, name), "not_found", name)
    hf.ok("write", box, "link", input=b"of the box")
    assert open(secret).read() == "of the host"
    assert hf.ok("read", box, secret).text == "of the box"


def test_write_into_a_device_and_a_fifo(hf, box):
    """Not replaced by a file."""
    hf.ok("write", box, "/dev/null", input=b"x")
    assert hf.ok("stat", "--json", box, "/dev/null").json["type"] == "character"
    hf.sh(box, "mkfifo fifo")
    reader = hf.popen("exec", box, "--", "cat", "fifo")
    hf.ok("write", box, "fifo", input=b"through")
    assert reader.communicate(timeout=10)[0] == b"through"


def test_write_half_of_stdin(hf, box):
    """Ctrl-C while stdin is still open: nothing is changed."""
    hf.ok("write", box, "f", input=b"old")
    process = hf.popen("write", box, "f", stdin=subprocess.PIPE)
    process.stdin.write(b"new" * 100000)
    process.stdin.flush()
    harness.wait_until(lambda: agents(hf, box), "the agent is at work")
    process.send_signal(signal.SIGINT)
    assert process.wait(10) == 130
    for pipe in (process.stdin, process.stdout, process.stderr):
        pipe.close()
    harness.wait_until(lambda: not agents(hf, box), "the agent is gone")
    assert hf.ok("read", box, "f").out == b"old"
    assert leftovers(hf, box, ".") == ["f"]


@pytest.mark.parametrize("victim", ["cli", "agent"])
@pytest.mark.parametrize("place", ["/workspace", "/srv"])
def test_killed_in_the_middle(hf, victim, place):
    """The old file or the new one, and nothing beside it, on every kind of file system."""
    box = hf.up()
    hf.ok("write", box, f"{place}/f", input=b"old")
    for turn in range(12):
        process = hf.popen("write", box, f"{place}/f", stdin=subprocess.PIPE)
        process.stdin.write(b"n" * (1 << (8 + turn)))
        process.stdin.flush()
        pids = harness.wait_until(lambda: agents(hf, box), "the agent is at work")
        if turn % 2:
            # Let it have read what there is.
            time.sleep(0.02)
        if victim == "cli":
            process.kill()
        else:
            for pid in pids:
                os.kill(pid, signal.SIGKILL)
            process.stdin.close()
        code = process.wait(10)
        assert code == -signal.SIGKILL if victim == "cli" else code not in (0, -signal.SIGKILL), code
        for pipe in (process.stdin, process.stdout, process.stderr):
            pipe.close()
        harness.wait_until(lambda: not agents(hf, box), "the agent is gone")
        assert hf.ok("read", box, f"{place}/f").out == b"old", f"half a file after turn {turn}"
        assert [name for name in leftovers(hf, box, place) if name != "f"] == []


def test_killed_after_the_end_of_stdin(hf, box):
    """At any moment around the end: the old one or the whole new one."""
    old, new = b"o" * 100000, b"n" * 5000000
    hf.ok("write", box, "f", input=old)
    for turn in range(25):
        process = hf.popen("write", box, "f", stdin=subprocess.PIPE)

        def feed(process=process):
            try:
                process.stdin.write(new)
                process.stdin.close()
            except OSError:
                pass
        feeder = threading.Thread(target=feed)
        feeder.start()
        time.sleep(0.004 * turn)
        process.kill()
        process.wait()
        feeder.join()
        process.stdout.close()
        process.stderr.close()
        harness.wait_until(lambda: not agents(hf, box), "the agent is gone")
        data = hf.ok("read", box, "f").out
        assert data in (old, new), f"{len(data)} bytes after turn {turn}"
        hf.ok("write", box, "f", input=old)
    assert leftovers(hf, box, ".") == ["f"]


@pytest.mark.parametrize("end", ["rm", "warden"])
def test_box_ended_in_the_middle(make_holdfast, end):
    """On a volume, which outlives the box. The agent's stdin ends with the warden, but that is not the
    end of the file. Many times: it is a race."""
    hf = make_holdfast(cli=os.path.join(harness.RELEASE, "holdfast"))
    shared = os.path.join(hf.root, "shared")
    os.mkdir(shared)
    for turn in range(20):
        box = hf.up("-v", f"{shared}:/shared")
        with open(os.path.join(shared, "f"), "w") as file:
            file.write("old")
        process = hf.popen("write", box, "/shared/f", stdin=subprocess.PIPE)
        process.stdin.write(b"new" * 10000)
        process.stdin.flush()
        harness.wait_until(lambda: agents(hf, box), "the agent is at work")
        time.sleep(0.01)
        if end == "warden":
            for pid in in_box(hf, box, "warden"):
                os.kill(pid, signal.SIGKILL)
        hf("rm", "-f", box)
        # Only now: that it reads its stdin to the end first is its right.
        with contextlib.suppress(OSError):
            process.stdin.close()
        code = process.wait(10)
        error = process.stderr.read()
        for pipe in (process.stdin, process.stdout, process.stderr):
            with contextlib.suppress(OSError):
                pipe.close()
        assert code not in (0, -signal.SIGKILL) and error.startswith(b"holdfast: "), (code, error)
        content = open(os.path.join(shared, "f")).read()
        assert content == "old", f"half a file of {len(content)} bytes in turn {turn}"
        assert os.listdir(shared) == ["f"]


def test_out_of_space(hf):
    box = hf.up("--tmpfs", "/small:size=1m")
    hf.ok("write", box, "/small/f", input=b"old")
    failed(hf("write", "--json", box, "/small/f", input=bytes(4 * MIB)), "no_space", "/small/f")
    failed(hf("write", "--json", box, "/small/new", input=bytes(4 * MIB)), "no_space", "/small/new")
    assert hf.ok("read", box, "/small/f").out == b"old"
    assert leftovers(hf, box, "/small") == ["f"]
    # All of it can be had again.
    hf.ok("write", box, "/small/big", input=bytes(MIB - 65536))


# --- ls, stat ------------------------------------------------------------------------------------


def test_ls_in_json(hf, box):
    hf.sh(box, """
        mkdir d; printf 12345 > d/f; chmod 640 d/f; chown 7:8 d/f; touch -d '2001-02-03 04:05:06.789 UTC' d/f
        ln -s ../somewhere d/link; mkfifo d/fifo; mkdir -m 1777 d/dir; touch d/dir/below
        python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("d/sock")'""")
    entries = {entry["name"]: entry for entry in hf.ok("ls", "--json", box, "d").json}
    assert list(entries) == ["dir", "f", "fifo", "link", "sock"]
    f = entries["f"]
    assert (f["type"], f["size"], f["mode"], f["uid"], f["gid"], f["target"]) == ("file", 5, "0640", 7, 8, None)
    assert f["mtime"] == pytest.approx(981173106.789, abs=0.0005)
    assert (entries["link"]["type"], entries["link"]["target"]) == ("symlink", "../somewhere")
    assert [entries[name]["type"] for name in ("fifo", "sock", "dir")] == ["fifo", "socket", "directory"]
    assert entries["dir"]["mode"] == "1777"
    recursive = [entry["name"] for entry in hf.ok("ls", "-R", "--json", box, "d").json]
    assert recursive == ["dir", "dir/below", "f", "fifo", "link", "sock"]


def test_ls_as_text(hf, box):
    hf.sh(box, "mkdir d; touch d/b d/.a; ln -s b d/l")
    assert quiet(hf("ls", box, "d")).text == ".a\nb\nl\n"
    assert quiet(hf("ls", f"{box}:d")).text == ".a\nb\nl\n"
    lines = quiet(hf("ls", "-l", box, "d")).text.splitlines()
    assert lines[0].startswith("-rw-r--r--") and lines[2].endswith("l -> b")
    assert hf.ok("ls", box).text == "d\n", "the working directory"


def test_ls_escapes_names(hf, box):
    hf.sh(box, r"mkdir d; cd d; touch $'new\nline' $'\e[31mred' $'bell\a' $'\x9b31m' $'bad\xff' $'tab\t'")
    for flags in ((), ("-l",), ("-R",)):
        out = hf.ok("ls", *flags, box, "d").out
        assert len(out.splitlines()) == 6, out
        assert not any(byte < 0x20 and byte != 0x0a or byte == 0x7f for byte in out), out
        out.decode()
        assert "\x9b" not in out.decode()
    names = [entry["name"] for entry in hf.ok("ls", "--json", box, "d").json]
    assert {"new\nline", "\x1b[31mred", "bell\a", "tab\t", "bad\ufffd"} <= set(names)


def test_ls_of_many(hf, box):
    hf.sh(box, "mkdir many; cd many; seq -f 'some-longer-name-%05g' 1 4000 | xargs touch")
    entries = hf.ok("ls", "--json", box, "many").json
    assert len(entries) == 4000 and entries[-1]["name"] == "some-longer-name-04000"


def test_stat(hf, box):
    hf.sh(box, "printf 123 > f; ln -s f link")
    assert hf.ok("stat", "--json", box, "f").json["size"] == 3
    link = hf.ok("stat", "--json", box, "link").json
    assert (link["type"], link["target"], link["name"]) == ("symlink", "f", "link"), "the link itself"
    assert hf.ok("stat", "--json", box, "/").json["type"] == "directory"
    assert "f" in hf.ok("stat", box, "link").text


# --- mkdir, mv, rm -------------------------------------------------------------------------------


def test_mkdir(hf, box):
    hf.ok("mkdir", box, "a")
    failed_many(hf("mkdir", "--json", box, "a"), "exists")
    failed_many(hf("mkdir", "--json", box, "b/c"), "not_found")
    hf.ok("mkdir", "-p", "--mode", "0700", box, "b/c/d", "b/e")
    hf.ok("mkdir", "-p", f"{box}:b/c/d")
    assert hf.ok("stat", "--json", box, "b/c/d").json["mode"] == "0700"
    assert hf.ok("stat", "--json", box, "b/c").json["mode"] == "0755"
    hf.ok("write", box, "f", input=b"")
    failed_many(hf("mkdir", "-p", "--json", box, "f"), "exists", "not_directory")
    failed_many(hf("mkdir", "-p", "--json", box, "f/below"), "not_directory")


def failed_many(result, *kinds):
    assert result.code == 1, str(result)
    assert result.json["failed"][0]["kind"] in kinds, str(result)


def test_mv(hf, box):
    hf.sh(box, "echo a > a; echo b > b; mkdir d")
    hf.ok("mv", box, "a", "c")
    failed(hf("mv", "-n", "--json", box, "b", "c"), "exists", "c")
    hf.ok("mv", f"{box}:b", f"{box}:c")
    assert hf.sh(box, "ls; cat c") == "c\nd\nb\n"
    failed(hf("mv", "--json", box, "nothing", "x"), "not_found", "nothing")
    hf.sh(box, "ln -s c link")
    hf.ok("mv", box, "link", "moved")
    assert hf.sh(box, "readlink moved") == "c\n", "the link itself, not what it leads to"
    hf.ok("mv", box, "c", "d/sub/new")
    assert hf.sh(box, "cat d/sub/new") == "b\n"


def test_mv_does_not_replace_a_directory_by_a_file(hf, box):
    hf.sh(box, "mkdir -p full/f; touch full/f/x; echo a > f")
    result = hf("mv", "--json", box, "f", "full")
    assert result.code == 1, str(result)
    assert hf.sh(box, "cat f; ls full/f") == "a\nx\n"


def test_mv_across_file_systems(hf):
    """Owners, modes, dates and links survive; what is there before is there until the end."""
    box = hf.up("--tmpfs", "/other:size=4m")
    hf.sh(box, """
        mkdir -p /srv/tree/sub; cd /srv/tree; echo x > sub/f; ln sub/f hard; ln -s sub/f soft
        chown 5:6 sub/f; chmod 4711 sub/f; chmod 700 sub; touch -d 2001-01-01 sub/f sub""")
    show = "cd {} && find . -printf '%p %y %m %U %G %T@ %n %l\\n' | grep -v '^[.] ' | sort"
    before = hf.sh(box, show.format("/srv/tree"))
    hf.ok("mv", box, "/srv/tree", "/other/moved")
    assert hf.sh(box, show.format("/other/moved")) == before
    failed(hf("stat", "--json", box, "/srv/tree"), "not_found")
    hf.sh(box, "head -c 8000000 /dev/zero > /srv/big; echo old > /other/big")
    failed(hf("mv", "--json", box, "/srv/big", "/other/big"), "no_space")
    assert hf.sh(box, "stat -c %s /srv/big; cat /other/big; ls -A /other") == "8000000\nold\nbig\nmoved\n"


def test_mv_keeps_mode_and_date_of_a_fifo(hf, box):
    hf.sh(box, "mkfifo /srv/pipe; chmod 662 /srv/pipe; touch -d '2001-01-01 UTC' /srv/pipe")
    hf.ok("mv", box, "/srv/pipe", "/tmp/pipe")
    assert hf.sh(box, "stat -c '%F %a %Y' /tmp/pipe") == "fifo 662 978307200\n"


def test_rm(hf, box):
    hf.sh(box, "mkdir -p d/sub; touch f d/f; ln -s d link; echo keep > keep; ln -s ../../keep d/sub/out")
    failed_many(hf("rm", "--json", f"{box}:d"), "is_directory")
    failed_many(hf("rm", "--json", f"{box}:nothing"), "not_found")
    hf.ok("rm", "-f", f"{box}:nothing")
    hf.ok("rm", f"{box}:f", f"{box}:link")
    assert hf.sh(box, "ls") == "d\nkeep\n", "the link alone"
    hf.ok("rm", "-r", f"{box}:d")
    assert hf.sh(box, "ls; cat keep") == "keep\nkeep\n"
    assert [entry["name"] for entry in hf.boxes()] == [box], "the box stays"


def test_rm_goes_on_after_a_failure(hf, box):
    hf.sh(box, "touch a b")
    result = hf("rm", "--json", f"{box}:a", f"{box}:nothing", f"{box}:b")
    assert result.code == 1 and len(result.json["failed"]) == 1, str(result)
    assert hf.sh(box, "ls") == ""


# --- paths ---------------------------------------------------------------------------------------


def test_relative_paths_start_at_the_working_directory(hf):
    box = hf.up("-w", "/srv/here")
    hf.ok("write", box, "f", input=b"x")
    hf.ok("mkdir", box, "d")
    hf.ok("mv", box, "f", "d/f")
    assert hf.ok("read", box, "/srv/here/d/f").out == b"x"
    assert hf.ok("stat", "--json", box, "d/f").json["size"] == 1
    assert [entry["name"] for entry in hf.ok("ls", "--json", box).json] == ["d"]
    hf.ok("rm", "-r", f"{box}:d")
    assert hf.ok("ls", "--json", box, "/srv/here").json == []


def test_odd_names(hf, box):
    """A colon, a dash, spaces, a line feed, what is no UTF-8: names are bytes."""
    for name in (b"a b", b"-rf", b"a:b", b"new\nline", b"\xff\xfe", b"\x1b[31m", b"..a", b" ", b"x" * 255):
        path = b"/workspace/d/" + name
        for args, data in ((("write",), b"data"), (("read",), None)):
            result = harness.execute([hf.cli.encode(), args[0].encode(), box.encode(), path], data,
                                     env={k.encode(): v.encode() for k, v in hf.env.items()})
            assert result.code == 0, str(result)
            assert result.out == (b"" if data else b"data")


@pytest.mark.parametrize("path", ["/", "..", ".", "d/..", "x" * 256, "/" + "y/" * 2100 + "z"])
@pytest.mark.parametrize("verb", ["write", "rm"])
def test_paths_that_cannot_be(hf, path, verb):
    box = hf.up("--name", "one")
    hf.sh(box, "mkdir d; touch keep")
    if verb == "write":
        result = hf("write", "--json", box, path, input=b"x")
        assert result.code == 1, str(result)
        assert result.json["error"]["kind"] in ("invalid_path", "is_directory"), str(result)
    else:
        result = hf("rm", "-r", "--json", f"{box}:{path}")
        assert result.code == 1, str(result)
        assert result.json["failed"][0]["kind"] in ("invalid_path", "not_found"), str(result)
    assert hf.sh(box, "ls") == "d\nkeep\n"


# --- typed errors --------------------------------------------------------------------------------


@pytest.mark.parametrize("args, kind, named", [
    (["read", "nothing"], "not_found", "nothing"),
    (["read", "/etc"], "is_directory", "/etc"),
    (["read", "/etc/passwd/x"], "not_directory", "/etc/passwd/x"),
    (["read", "loop"], "loop", "loop"),
    (["read", "x" * 300], "invalid_path", "xxx"),
    (["read", "-u", "nobody", "secret"], "permission_denied", "secret"),
    (["stat", "nothing/below"], "not_found", "nothing/below"),
    (["stat", "loop/below"], "loop", "loop/below"),
    (["ls", "nothing"], "not_found", "nothing"),
    (["ls", "-u", "nobody", "closed"], "permission_denied", "closed"),
    (["write", "/etc"], "is_directory", "/etc"),
    (["write", "/etc/passwd/x"], "not_directory", "/etc/passwd"),
    (["write", "/ro/f"], "read_only", "/ro/f"),
    (["write", "/ro/new/f"], "read_only", "/ro/new"),
    (["write", "loop"], "loop", "loop"),
    (["write", "-u", "nobody", "/etc/new"], "permission_denied", "/etc/new"),
    (["write", "-n", "secret"], "exists", "secret"),
    (["mv", "secret", "/ro/f"], "read_only", "/ro"),
    (["mv", "-n", "secret", "loop"], "exists", "loop"),
    (["mv", "dir", "secret"], "not_directory", ""),
    (["mv", "dir", "dir/below"], "system", "dir"),
    (["watch", "nothing"], "not_found", "nothing"),
])
def test_typed_errors(hf, shared, args, kind, named):
    box = hf.up("--name", "one", "-v", f"{shared}:/ro:ro")
    hf.sh(box, "ln -s loop loop; echo x > secret; chmod 600 secret; mkdir -m 700 closed; mkdir dir")
    result = hf(args[0], "--json", *args[1:-1][:2] if args[0] != "mv" else args[1:-2], box,
                *(args[-1:] if args[0] != "mv" else args[-2:]), input=b"new", timeout=10)
    failed(result, kind, named)
    assert hf.sh(box, "cat secret") == "x\n"


def test_errors_say_it_in_words(hf, box):
    result = hf("read", box, "nothing\x1b[31m")
    assert result.code == 1 and result.out == b"", str(result)
    assert result.errors.startswith("holdfast: ") and "nothing" in result.errors and "\x1b" not in result.errors
    assert len(result.errors.splitlines()) == 1


# --- boxes with nothing in them ------------------------------------------------------------------


@pytest.fixture
def bare(hf):
    """No shell, no tar, no library: /usr is empty."""
    name = hf.up("--tmpfs", "/usr")
    result = hf.exec(name, "/bin/sh", "-c", "true")
    assert result.code == 127, str(result)
    return name


def test_without_any_program(hf, bare, tmp_path):
    hf.ok("write", bare, "a/b", input=b"data")
    assert hf.ok("read", bare, "a/b").out == b"data"
    assert [entry["name"] for entry in hf.ok("ls", "-R", "--json", bare).json] == ["a", "a/b"]
    hf.ok("mkdir", "-p", bare, "x/y")
    hf.ok("mv", bare, "a/b", "x/y/b")
    hf.ok("mv", bare, "x", "/tmp/x")
    assert hf.ok("stat", "--json", bare, "/tmp/x/y/b").json["size"] == 4
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/f").write_bytes(b"in")
    hf.ok("cp", tmp_path / "tree", f"{bare}:/srv")
    hf.ok("cp", f"{bare}:/srv/tree", tmp_path / "back")
    assert (tmp_path / "back/f").read_bytes() == b"in"
    archive = hf.ok("cp", f"{bare}:/srv/tree", "-").out
    hf.ok("cp", "-", f"{bare}:/opt", input=archive)
    assert hf.ok("read", bare, "/opt/tree/f").out == b"in"
    hf.ok("cp", "--resume", tmp_path / "tree/f", f"{bare}:/opt/resumed")
    assert hf.ok("read", bare, "/opt/resumed").out == b"in"
    hf.ok("rm", "-r", f"{bare}:/tmp/x")
    watch = hf.popen("watch", bare, "/opt")
    harness.wait_until(lambda: agents(hf, bare), "it watches")
    stop = threading.Event()

    def write():
        while not stop.is_set():
            hf("write", bare, "/opt/new", input=b"x")
    writer = threading.Thread(target=write)
    writer.start()
    line = watch.stdout.readline()
    stop.set()
    writer.join()
    watch.kill()
    watch.communicate()
    assert json.loads(line)["event"] in ("create", "write", "rename", "remove"), line


# --- mounts --------------------------------------------------------------------------------------


def test_volumes(hf, shared):
    """What is seen and done is the box's view of a path: mounts over it included."""
    os.mkdir(os.path.join(shared, "data"))
    with open(os.path.join(shared, "data/f"), "w") as file:
        file.write("on the host")
    box = hf.up("-v", f"{shared}:/vol", "-v", f"{shared}/data:/ro:ro", "--tmpfs", "/vol/over:size=1m")
    assert hf.ok("read", box, "/vol/data/f").text == "on the host"
    assert hf.ok("read", box, "/ro/f").text == "on the host"
    hf.ok("write", box, "/vol/new", input=b"by the box")
    assert open(os.path.join(shared, "new")).read() == "by the box"
    state = os.stat(os.path.join(shared, "new"))
    assert (state.st_uid, stat.S_IMODE(state.st_mode)) == (os.getuid(), 0o644)
    failed(hf("write", "--json", box, "/ro/f", input=b"x"), "read_only", "/ro/f")
    failed_many(hf("rm", "--json", f"{box}:/ro/f"), "read_only")
    failed_many(hf("mkdir", "--json", box, "/ro/d"), "read_only")
    failed(hf("mv", "--json", box, "/ro/f", "/vol/moved"), "read_only")
    hf.ok("write", box, "/vol/over/f", input=b"hidden")
    assert os.listdir(os.path.join(shared, "over")) == []
    hf.ok("mv", box, "/vol/over/f", "/vol/f")
    assert open(os.path.join(shared, "f")).read() == "hidden"
    assert sorted(os.listdir(shared)) == ["data", "f", "new", "over"] or \
        "moved" in os.listdir(shared), os.listdir(shared)


def test_a_file_that_is_a_mount(hf, shared):
    """It cannot be replaced, only written into; either is honest, a lie is not."""
    path = os.path.join(shared, "one")
    with open(path, "w") as file:
        file.write("old")
    box = hf.up("-v", f"{path}:/srv/one")
    result = hf("write", "--json", box, "/srv/one", input=b"new")
    content = open(path).read()
    assert (result.code, content) == (0, "new") or (result.code == 1 and content == "old"), str(result)
    assert leftovers(hf, box, "/srv") == ["one"]


def test_read_only_box(hf):
    box = hf.up("--read-only")
    failed(hf("write", "--json", box, "/srv/f", input=b"x"), "read_only", "/srv/f")
    hf.ok("write", box, "/tmp/f", input=b"x")


# --- as whom -------------------------------------------------------------------------------------


@pytest.fixture
def guarded(hf):
    """A box with files of root's alone, and places where everybody may do something."""
    box = hf.up()
    hf.sh(box, """
        mkdir -m 755 /srv/p; cd /srv/p
        echo secret > secret; chmod 600 secret; mkdir -m 700 closed; echo x > closed/f
        mkdir -m 1777 sticky; echo of root > sticky/f; chmod 666 sticky/f
        echo open > open; chmod 666 open""")
    # Only who is in the group may set the bit.
    hf.sh(box, "mkdir /srv/p/setgid; chmod 2777 /srv/p/setgid", flags=["-u", "0:42"])
    return box


def test_not_more_than_a_job_of_the_user(hf, guarded):
    for args in (["read", guarded, "/srv/p/secret"], ["read", guarded, "/srv/p/closed/f"],
                 ["ls", guarded, "/srv/p/closed"], ["stat", guarded, "/srv/p/closed/f"],
                 ["write", guarded, "/srv/p/new"], ["write", guarded, "/srv/p/secret"],
                 ["write", "--append", guarded, "/srv/p/secret"], ["watch", guarded, "/srv/p/closed"],
                 ["mv", guarded, "/srv/p/open", "/tmp/open"], ["mv", guarded, "/srv/p/sticky/f", "/tmp/x"],
                 ["read", guarded, "/proc/1/environ"], ["read", guarded, "/proc/1/root/srv/p/secret"],
                 ["ls", guarded, "/proc/1/fd"], ["read", guarded, "/proc/1/mem"],
                 ["write", guarded, "/proc/1/oom_score_adj"], ["write", guarded, "/proc/sys/kernel/hostname"]):
        result = hf(args[0], "--json", "-u", "nobody", *args[1:], input=b"1", timeout=10)
        assert result.code == 1, str(result)
        assert result.json["error"]["kind"] in ("permission_denied", "read_only"), str(result)
    for args in (["rm", f"{guarded}:/srv/p/open"], ["rm", f"{guarded}:/srv/p/sticky/f"],
                 ["rm", "-r", f"{guarded}:/srv/p/closed"], ["mkdir", guarded, "/srv/p/d"]):
        result = hf(args[0], "--json", "-u", "nobody", *args[1:])
        assert result.code == 1, str(result)
        assert result.json["failed"][0]["kind"] == "permission_denied", str(result)
    assert hf.sh(guarded, "cd /srv/p; cat secret closed/f sticky/f open; ls") == \
        "secret\nx\nof root\nopen\nclosed\nopen\nsecret\nsetgid\nsticky\n"


def test_copies_as_the_user(hf, guarded, tmp_path):
    (tmp_path / "f").write_text("new")
    for target in ("/srv/p/secret", "/srv/p/closed/g", "/srv/p/new"):
        failed(hf("cp", "--json", "-u", "nobody", tmp_path / "f", f"{guarded}:{target}"), "permission_denied")
        failed(hf("cp", "--json", "--resume", "-u", "nobody", tmp_path / "f", f"{guarded}:{target}"),
               "permission_denied")
    for source in ("/srv/p/secret", "/srv/p/closed/f"):
        failed(hf("cp", "--json", "-u", "nobody", f"{guarded}:{source}", tmp_path / "out"), "permission_denied")
        failed(hf("cp", "--json", "--resume", "-u", "nobody", f"{guarded}:{source}", tmp_path / "out"),
               "permission_denied")
        assert hf("cp", "-u", "nobody", f"{guarded}:{source}", "-").code == 1
    result = hf.ok("cp", "--json", "-u", "nobody", f"{guarded}:/srv/p", tmp_path / "tree")
    assert result.json["skipped"] == 2, "the file and the directory that are root's"
    assert not (tmp_path / "tree/secret").exists() and not (tmp_path / "tree/closed/f").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["f", "tree"]
    # Owners cannot be given away by who may not.
    hf.ok("cp", "-a", "-u", "nobody", tmp_path / "f", f"{guarded}:/srv/p/sticky/mine")
    assert hf.ok("stat", "--json", guarded, "/srv/p/sticky/mine").json["uid"] == 65534


def test_files_belong_to_the_user(hf, guarded):
    hf.ok("write", "-u", "nobody", guarded, "/srv/p/sticky/n", input=b"x")
    hf.ok("mkdir", "-u", "1234:5678", guarded, "/srv/p/sticky/d")
    assert hf.sh(guarded, "cd /srv/p/sticky; stat -c '%u %g' n d") == "65534 65534\n1234 5678\n"


def test_setgid_directories(hf, guarded):
    """The directory's group, as for a job; and no set-group-ID file that a job could not have made."""
    hf.ok("write", "-u", "1234:1234", guarded, "/srv/p/setgid/f", input=b"x")
    job = hf.sh(guarded, "cd /srv/p/setgid; touch job; stat -c '%u %g %a' job", flags=["-u", "1234:1234"])
    assert hf.sh(guarded, "stat -c '%u %g %a' /srv/p/setgid/f") == job == "1234 42 644\n"
    hf("write", "-u", "1234:1234", "--mode", "2755", guarded, "/srv/p/setgid/s", input=b"x")
    job = hf.sh(guarded, "cd /srv/p/setgid; touch j2; chmod 2755 j2; stat -c %a j2", flags=["-u", "1234:1234"])
    assert hf.sh(guarded, "stat -c %a /srv/p/setgid/s") == job


def test_write_keeps_another_users_file_or_fails(hf, guarded):
    """In a directory where everybody may write: not silently made one's own."""
    hf.sh(guarded, "mkdir -m 777 /srv/free; echo old > /srv/free/f; chmod 666 /srv/free/f")
    result = hf("write", "--json", "-u", "nobody", guarded, "/srv/free/f", input=b"new\n")
    after = hf.sh(guarded, "stat -c '%u %g %a' /srv/free/f; cat /srv/free/f; ls -A /srv/free")
    assert after.startswith("0 0 666\n") and after.endswith("f\n") and after.count("\n") == 3, after
    if result.code != 0:
        failed(result, "permission_denied")
        assert "old" in after
    else:
        assert "new" in after


def test_set_id_bits_do_not_pass_on(hf, guarded):
    """The content is nobody's: not as a program of root's."""
    hf.sh(guarded, "mkdir -m 777 /srv/free; echo old > /srv/free/f; chown 65534 /srv/free; chmod 4777 /srv/free/f")
    hf("write", "-u", "nobody", guarded, "/srv/free/f", input=b"new\n")
    owner, mode, content = hf.sh(guarded, "stat -c '%u %a' /srv/free/f; cat /srv/free/f").split()
    assert content == "old" or owner != "0" or not int(mode, 8) & 0o4000


def test_proc_self_is_the_agents_own(hf, guarded):
    """No way to the warden's files, pipes or memory by way of /proc/self."""
    for user in ("root", "nobody"):
        fds = {entry["name"]: entry["target"] for entry in
               hf.ok("ls", "--json", "-u", user, guarded, "/proc/self/fd").json}
        assert set(fds) <= {"0", "1", "2", "3", "4"}, fds
        assert all(target is None or target.startswith(("pipe:", "/dev/null", "/proc/")) for target in fds.values()), fds
        status = hf.ok("read", "-u", user, guarded, "/proc/self/status").text
        job = hf.exec(guarded, "cat", "/proc/self/status", flags=["-u", user]).text

        def rows(text):
            return [line for line in text.splitlines()
                    if line.startswith(("Uid", "Gid", "Groups", "Cap", "NoNewPrivs", "Seccomp:"))]
        assert rows(status) == rows(job)
    for fd in range(5, 20):
        assert hf("read", "-u", "nobody", guarded, f"/proc/self/fd/{fd}", timeout=10).code == 1


def test_limits_of_the_box_hold_for_agents(hf):
    """An agent is a process of the box: in its cgroups, hidden from nothing."""
    box = hf.up()
    process = hf.popen("write", box, "f", stdin=subprocess.PIPE)
    pids = harness.wait_until(lambda: agents(hf, box), "the agent is at work")
    assert len(pids) == 1
    process.stdin.close()
    process.wait(10)
    process.stdout.close()
    process.stderr.close()


def test_symlink_races_as_a_user(hf):
    """A job of nobody swaps a link under root's nose; as nobody, root's file is never reached."""
    box = hf.up()
    hf.sh(box, "mkdir -m 777 /srv/race; echo secret > /srv/secret; chmod 600 /srv/secret")
    swapper = hf.popen("exec", "-u", "nobody", box, "--", "python3", "-c", """
import os
os.chdir('/srv/race'); open('mine', 'w').write('mine'); n = 0
while True:
    for target in ('mine', '/srv/secret'):
        os.symlink(target, 'tmp'); os.rename('tmp', 'link'); n += 1
""")
    harness.wait_until(lambda: hf("stat", box, "/srv/race/link").code == 0, "the race is on")
    got = set()
    for _ in range(15):
        got.add(hf("read", "-u", "nobody", box, "/srv/race/link").out)
        hf("write", "-u", "nobody", box, "/srv/race/link", input=b"mine")
    swapper.kill()
    swapper.communicate()
    assert got <= {b"mine", b""}
    assert hf.sh(box, "cat /srv/secret; stat -c '%u %a' /srv/secret") == "secret\n0 600\n"


def test_users_that_are_none(hf, box):
    result = hf("read", "--json", "-u", "no-such-user", box, "/etc/passwd")
    assert result.code in (1, 125) and "no-such-user" in result.json["error"]["message"], str(result)


# --- the library ---------------------------------------------------------------------------------


def test_errno_is_told(hf, box):
    """What the system said, beside what it means."""
    error = failed(hf("read", "--json", box, "nothing"), "not_found")
    assert error.get("errno", errno.ENOENT) == errno.ENOENT
