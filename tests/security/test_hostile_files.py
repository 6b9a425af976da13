"""Files that come from a box that was taken over: nothing outside of the target, soon, in little memory."""
import io
import os
import re
import signal
import socket
import stat
import struct
import subprocess
import tarfile
import threading
import time

import pytest

import harness

# What holdfast may use at most, the sanitizer's shadow not counted.
MEMORY = 300 << 20
PATIENCE = 20

# --- the wire, version 2 --------------------------------------------------------------------------

MAGIC, VERSION = 0x7466646c, 2
WINDOW, HELLO_OK, STARTED, OUTPUT, EXIT = 5, 65, 66, 68, 71
CLIENT_WINDOW = 1 << 20
STDOUT, STDERR = 1, 2


def numbers(header):
    """The numbers that a header gives names to."""
    source = harness.read_file(os.path.join(harness.ROOT, header))
    return {name: int(number) for name, number in re.findall(r"\b(?:HF_)?FILES_(\w+) = (\d+)\b", source)}


RECORDS = numbers("src/files/stream.h")
ENTRY, XATTR, DATA, FILE_END, PROBLEM, TREE_END = (
    RECORDS[name] for name in ("ENTRY", "XATTR", "DATA", "FILE_END", "PROBLEM", "TREE_END"))
REGULAR, DIRECTORY, SYMLINK, HARD_LINK, FIFO, CHARACTER, BLOCK, SOCKET = (
    RECORDS[name] for name in ("REGULAR", "DIRECTORY", "SYMLINK", "HARD_LINK", "FIFO", "CHARACTER", "BLOCK", "SOCKET"))
ANSWERS = numbers("src/files/answer.h")
ERROR, DONE, EVENT = ANSWERS["ERROR"], ANSWERS["DONE"], ANSWERS["EVENT"]


def frame(type_, channel=0, payload=b"", length=None, reserved=0):
    return struct.pack("<IHHI", len(payload) if length is None else length, type_, reserved, channel) + payload


def text(value):
    data = value.encode() if isinstance(value, str) else value
    return struct.pack("<I", len(data)) + data + b"\0"


MASK = (1 << 64) - 1
PRIMES = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)


def rotate(value, bits):
    return (value << bits | value >> (64 - bits)) & MASK


def turn(lane, word):
    return rotate((lane + word * PRIMES[1]) & MASK, 31) * PRIMES[0] & MASK


def xxh64(data):
    """A hostile box knows how sums are made."""
    one, two, three, four, five = PRIMES
    if len(data) >= 32:
        lanes = [(one + two) & MASK, two, 0, -one & MASK]
        for at in range(0, len(data) // 32 * 32, 32):
            words = struct.unpack_from("<4Q", data, at)
            lanes = [turn(lane, word) for lane, word in zip(lanes, words)]
        total = sum(rotate(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18))) & MASK
        for lane in lanes:
            total = ((total ^ turn(0, lane)) * one + four) & MASK
    else:
        total = five
    total = (total + len(data)) & MASK
    at = len(data) // 32 * 32
    while at + 8 <= len(data):
        total = (rotate(total ^ turn(0, struct.unpack_from("<Q", data, at)[0]), 27) * one + four) & MASK
        at += 8
    if at + 4 <= len(data):
        total = (rotate(total ^ struct.unpack_from("<I", data, at)[0] * one & MASK, 23) * two + three) & MASK
        at += 4
    for byte in data[at:]:
        total = rotate(total ^ byte * five & MASK, 11) * one & MASK
    total = (total ^ total >> 33) * two & MASK
    total = (total ^ total >> 29) * three & MASK
    return total ^ total >> 32


def entry(type_, path, mode=0o644, size=0, link="", shared=0, mtime=10**9, ns=0, uid=0, gid=0):
    return frame(ENTRY, 0, struct.pack("<BBIIIQIQ", type_, shared, mode, uid, gid, mtime & MASK, ns, size) +
                 text(path) + text(link))


def data(offset, content):
    return frame(DATA, 0, struct.pack("<Q", offset & MASK) + content)


def problem(path, error=5):
    return frame(PROBLEM, 0, struct.pack("<I", error) + text(path))


class Tree:
    """A stream whose sums are right, whatever else is not."""

    def __init__(self):
        self.out, self.tree, self.file, self.entries, self.bytes = [], b"", b"", 0, 0

    def add(self, record, summed=True):
        self.out.append(record)
        if summed:
            self.tree += record
            self.file += record
        return self

    def entry(self, *args, **options):
        self.file = b""
        self.entries += 1
        return self.add(entry(*args, **options))

    def directory(self, path, mode=0o755, **options):
        return self.entry(DIRECTORY, path, mode, **options)

    def data(self, offset, content):
        self.file += struct.pack("<Q", offset & MASK) + content
        self.bytes += len(content)
        return self.add(data(offset, content), False)

    def end_file(self, wrong=0):
        return self.add(frame(FILE_END, 0, struct.pack("<Q", (xxh64(self.file) + wrong) & MASK)), False)

    def regular(self, path, content=b"evil", **options):
        self.entry(REGULAR, path, size=options.pop("size", len(content)), **options)
        if content:
            self.data(0, content)
        return self.end_file()

    def problem(self, path, error=5):
        return self.add(problem(path, error))

    def end(self, wrong=0, entries=0, bytes_=0, error=0):
        self.add(frame(TREE_END, 0, struct.pack("<QQQI", self.entries + entries, self.bytes + bytes_,
                                                (xxh64(self.tree) + error + wrong) & MASK, error)), False)
        return self.out


def top():
    return Tree().directory("top")


class FileWarden:
    """Answers a file job with a stream, within the window that the host gives."""

    def __init__(self, path, stream, errors=b"", code=0, outcome=0):
        os.unlink(path)
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(path)
        self.socket.listen(4)
        self.stream, self.errors, self.code, self.outcome = stream, errors, code, outcome
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while not self.over.is_set():
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(PATIENCE)
                try:
                    self.talk(connection)
                    connection.shutdown(socket.SHUT_WR)
                    while connection.recv(1 << 16):
                        pass
                except OSError:
                    pass

    def talk(self, connection):
        connection.recv(1 << 16)
        room, sent, held = CLIENT_WINDOW, 0, b""
        connection.sendall(frame(HELLO_OK, 0, struct.pack("<II", MAGIC, VERSION)) +
                           frame(STARTED, 1, struct.pack("<I", 1)))
        stream = self.stream() if callable(self.stream) else self.stream
        for piece in stream:
            for at in range(0, len(piece), 60000):
                part = piece[at:at + 60000]
                while room < len(part):
                    got = connection.recv(1 << 16)
                    if not got or self.over.is_set():
                        raise OSError("gone")
                    held += got
                    while len(held) >= 12 and len(held) >= 12 + struct.unpack_from("<I", held)[0]:
                        length, type_ = struct.unpack_from("<IH", held)
                        if type_ == WINDOW and held[12] == STDOUT:
                            room += struct.unpack_from("<I", held, 13)[0]
                        held = held[12 + length:]
                connection.sendall(frame(OUTPUT, 1, bytes([STDOUT]) + part))
                room -= len(part)
                sent += len(part)
        if self.errors:
            connection.sendall(frame(OUTPUT, 1, bytes([STDERR]) + self.errors))
        connection.sendall(frame(EXIT, 1, struct.pack("<BIQQQQQQ", self.outcome, self.code, 1, 1, 1, sent,
                                                      len(self.errors), 0)))

    def close(self):
        self.over.set()
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.socket.close()
        self.thread.join(PATIENCE + 10)


@pytest.fixture
def evil(hf):
    """A living box with a stream behind its socket; gives the box's name."""
    made = []

    def make(stream, **options):
        box = hf.up("--name", "evil")
        made.append(FileWarden(hf.socket(box), stream, **options))
        return box
    yield make
    for server in made:
        server.close()


def snapshot(path):
    """All that is below, by what it is and what is in it."""
    found = {}
    for where, dirs, files in os.walk(path):
        for name in dirs + files:
            whole = os.path.join(where, name)
            st = os.lstat(whole)
            content = None
            if stat.S_ISREG(st.st_mode):
                with open(whole, "rb") as file:
                    content = file.read(4096)
            found[os.path.relpath(whole, path)] = (st.st_mode, st.st_uid, st.st_nlink, st.st_mtime_ns, content)
    return found


class Yard:
    """A target, and beside it what must not change."""

    def __init__(self, path):
        self.path = path
        self.out, self.outside = path / "in/out", path / "outside"
        (self.out / "top").mkdir(parents=True)
        self.outside.mkdir()
        (self.outside / "secret").write_text("secret")
        (self.out / "top/existing").write_text("existing")
        (path / "in/beside").write_text("beside")
        self.before = self.look()

    def look(self):
        return {name: row for name, row in snapshot(self.path).items()
                if not name.startswith("in/out/") and name not in ("in/out", "in")}

    def check(self):
        assert self.look() == self.before, "something outside of the target was changed"
        for name, row in snapshot(self.out).items():
            assert not row[0] & 0o6000 or stat.S_ISLNK(row[0]), f"{name} has set-id bits"
            assert stat.S_IFMT(row[0]) in (stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK), f"{name} is special"
            assert not os.path.basename(name).startswith(".hf-"), "a temporary file was left"


@pytest.fixture
def yard(tmp_path):
    return Yard(tmp_path)


def watched(process, seconds=PATIENCE):
    """How a command ended; it is not given much time or memory."""
    highest, end = 0, time.monotonic() + seconds
    while process.poll() is None:
        for line in harness.read_file(f"/proc/{process.pid}/status").splitlines():
            if line.startswith("VmHWM"):
                highest = max(highest, int(line.split()[1]) << 10)
        if time.monotonic() > end or highest > MEMORY:
            process.kill()
            process.communicate()
            raise AssertionError(f"still running with {highest >> 20} MiB")
        time.sleep(0.005)
    out, err = process.communicate()
    result = harness.Result(process.args, process.returncode, out, harness.SANITIZER_NOISE.sub(b"", err))
    assert b"Sanitizer" not in err and b"runtime error" not in err, str(result)
    assert not any(byte < 0x20 and byte != 0x0a or byte == 0x7f for byte in err), str(result)
    assert len(err.splitlines()) <= 2, str(result)
    return result


ANY_ENTRIES = 1 << 30


def names_over(count):
    """Directories without end."""
    def stream():
        yield entry(DIRECTORY, "top", 0o755)
        for number in range(count):
            yield b"".join(entry(DIRECTORY, f"top/{number}-{i}", 0o755) for i in range(100))
    return stream


def problems_over(count):
    def stream():
        yield entry(DIRECTORY, "top", 0o755)
        piece = problem("top/" + "x" * 200) * 250
        for _ in range(count):
            yield piece
    return stream


def shared_over(count):
    def stream():
        yield entry(DIRECTORY, "top", 0o755)
        for number in range(count):
            one = entry(REGULAR, f"top/{number:06}" + "x" * 200, shared=1)
            yield one + frame(FILE_END, 0, struct.pack("<Q", xxh64(one)))
    return stream


def bytes_over(count):
    def stream():
        yield entry(DIRECTORY, "top", 0o755) + entry(REGULAR, "top/f", size=1 << 50)
        for number in range(count):
            yield data(number * 65536, b"x" * 65536)
    return stream


def xattrs_over(count):
    def stream():
        yield entry(DIRECTORY, "top", 0o755) + entry(REGULAR, "top/f", size=0)
        for number in range(count):
            yield frame(XATTR, 0, text(f"user.{number}") + bytes(60000))
    return stream


deep = "/".join(["d"] * 200)

# name: (stream, what it must come to: the kinds of the error, or the number of files left out), flags
STREAMS = {
    "dots at the front": (lambda: Tree().regular("../evil").end(), {"invalid_path"}),
    "dots in the middle": (lambda: top().regular("top/../../evil").end(), {"invalid_path"}),
    "dots at the end": (lambda: top().directory("top/..").end(), {"invalid_path"}),
    "dots alone": (lambda: Tree().directory("..").end(), {"invalid_path"}),
    "a dot": (lambda: top().regular("top/./evil").end(), {"invalid_path"}),
    "absolute": (lambda: Tree().regular("/etc/evil").end(), {"invalid_path"}),
    "absolute and deep": (lambda: top().regular("/top/evil").end(), {"invalid_path"}),
    "two slashes": (lambda: top().regular("top//evil").end(), {"invalid_path"}),
    "a slash at the end": (lambda: top().directory("top/d/").end(), {"invalid_path"}),
    "no name": (lambda: Tree().regular("").end(), {"invalid_path"}),
    "a name of 256 bytes": (lambda: top().regular("top/" + "x" * 256).end(), {"invalid_path"}),
    "a path of 5000 bytes": (lambda: top().regular("top/" + "x/" * 2500 + "f").end(), {"protocol", "invalid_path"}),
    "two hundred levels": (lambda: top().directory(deep).end(), {"invalid_path", "protocol"}),
    "a NUL in a name": (lambda: top().regular(b"top/a\0b").end(), {"protocol", "invalid_path"}),
    "a name without its end": (lambda: [frame(ENTRY, 0, entry(DIRECTORY, "top")[12:-8])], {"protocol"}),
    "through a symlink": (lambda: top().entry(SYMLINK, "top/l", link="../../../outside").regular("top/l/evil").end(),
                          {"protocol"}),
    "through a symlink at the top": (lambda: Tree().entry(SYMLINK, "top", link="/tmp").regular("top/evil").end(),
                                     {"protocol", "is_directory"}),
    "through a symlink that says it is a directory": (
        lambda: top().entry(SYMLINK, "top/l", link="../../../outside").directory("top/l").regular("top/l/evil").end(), 0),
    "a directory exchanged for a symlink": (
        lambda: top().directory("top/d").regular("top/d/a").entry(SYMLINK, "top/d", link="/tmp").regular("top/d/b").end(),
        {"is_directory", "protocol"}),
    "a file that becomes a directory": (lambda: top().regular("top/f").directory("top/f").regular("top/f/evil").end(),
                                        {"not_directory"}),
    "below a file": (lambda: top().regular("top/f").regular("top/f/evil").end(), {"protocol"}),
    "without its directory": (lambda: top().regular("top/no/f").end(), {"protocol"}),
    "in a directory that was left": (
        lambda: top().directory("top/a").directory("top/b").regular("top/a/f").end(), {"protocol"}),
    "hard link to an absolute name": (lambda: top().entry(HARD_LINK, "top/h", link="/etc/passwd").end(),
                                      {"invalid_path"}),
    "hard link to dots": (lambda: top().entry(HARD_LINK, "top/h", link="../../outside/secret").end(),
                          {"invalid_path"}),
    "hard link to what was there before": (lambda: top().entry(HARD_LINK, "top/h", link="top/existing").end(),
                                           {"protocol"}),
    "hard link to a symlink": (
        lambda: top().entry(SYMLINK, "top/l", link="../../../outside/secret").entry(HARD_LINK, "top/h", link="top/l").end(),
        {"protocol"}),
    "hard link through a symlink": (
        lambda: top().entry(SYMLINK, "top/l", link="../../../outside")
        .entry(HARD_LINK, "top/h", link="top/l/secret").end(), {"protocol"}),
    "hard link that was exchanged for a symlink": (
        lambda: top().regular("top/f", shared=1).entry(SYMLINK, "top/f", link="../../../outside/secret")
        .entry(HARD_LINK, "top/h", link="top/f").end(), 1),
    "hard link to itself": (lambda: top().entry(HARD_LINK, "top/h", link="top/h").end(), {"protocol"}),
    "hard link to nothing": (lambda: top().entry(HARD_LINK, "top/h").end(), {"protocol"}),
    "devices": (lambda: top().entry(CHARACTER, "top/c").entry(BLOCK, "top/b").end(), 2),
    "fifo and socket": (lambda: top().entry(FIFO, "top/p").entry(SOCKET, "top/s").end(), 2),
    "a type that is none": (lambda: top().entry(77, "top/x").end(), {"protocol"}),
    "a type of zero": (lambda: top().entry(0, "top/x").end(), {"protocol"}),
    "set-id bits": (lambda: Tree().directory("top", 0o7777).regular("top/f", mode=0o7777).directory("top/d", 0o6777).end(),
                    0),
    "a mode that is none": (lambda: top().regular("top/f", mode=0o100644).end(), {"protocol"}),
    "nobody may read it": (lambda: Tree().directory("top", 0).regular("top/f", mode=0).end(), 0),
    "a negative size": (lambda: top().entry(REGULAR, "top/f", size=MASK).end_file().end(), {"protocol"}),
    "a huge size": (lambda: top().entry(REGULAR, "top/f", size=(1 << 63) - 1).end_file().end(), {"too_large", 0}),
    "a size of a directory": (lambda: Tree().entry(DIRECTORY, "top", size=5).end(), {"protocol"}),
    "more than it said": (lambda: top().entry(REGULAR, "top/f", size=3).data(0, b"evil").end_file().end(), {"protocol"}),
    "behind its end": (lambda: top().entry(REGULAR, "top/f", size=4).data(4, b"evil").end_file().end(), {"protocol"}),
    "at minus one": (lambda: top().entry(REGULAR, "top/f", size=4).data(-1, b"ev").end_file().end(), {"protocol"}),
    "backwards": (lambda: top().entry(REGULAR, "top/f", size=8).data(4, b"evil").data(0, b"evil").end_file().end(),
                  {"protocol"}),
    "data of no file": (lambda: top().data(0, b"evil").end(), {"protocol"}),
    "empty data": (lambda: top().entry(REGULAR, "top/f", size=8).data(0, b"").end_file().end(), {"protocol"}),
    "an end of no file": (lambda: top().end_file().end(), {"protocol"}),
    "a file in a file": (lambda: top().entry(REGULAR, "top/f", size=4).regular("top/g").end(), {"protocol"}),
    "a file without its end": (lambda: top().entry(REGULAR, "top/f", size=4).data(0, b"evil").end(), {"protocol"}),
    "the wrong sum of a file": (lambda: top().entry(REGULAR, "top/f", size=4).data(0, b"evil").end_file(1).end(),
                                {"checksum"}),
    "the wrong sum of the tree": (lambda: top().regular("top/f").end(wrong=1), {"checksum"}),
    "the wrong number of entries": (lambda: top().regular("top/f").end(entries=1), {"checksum"}),
    "the wrong number of bytes": (lambda: top().regular("top/f").end(bytes_=1), {"checksum"}),
    "no end": (lambda: top().regular("top/f").out, {"protocol"}),
    "nothing at all": (lambda: [], {"protocol"}),
    "only an end": (lambda: Tree().end(), {"protocol", "not_found", 0}),
    "something after the end": (lambda: top().end() + [b"x"], {"protocol"}),
    "a second tree": (lambda: top().end() + top().end(), {"protocol"}),
    "two tops": (lambda: top().directory("other").end(), {"protocol"}),
    "another name at the top": (lambda: Tree().directory("evil").regular("evil/f").end(), 0),
    "a record of four gigabytes": (lambda: [frame(ENTRY, 0, b"", length=0xffffffff)], {"protocol"}),
    "data of a megabyte": (lambda: top().out + [frame(DATA, 0, b"", length=1 << 20)], {"protocol"}),
    "a record of no kind": (lambda: top().add(frame(199)).end(), {"protocol"}),
    "a record of another channel": (lambda: top().add(frame(PROBLEM, 5, problem("x")[12:])).end(), {"protocol"}),
    "a record with reserved bits": (lambda: top().add(frame(PROBLEM, 0, problem("x")[12:], reserved=1)).end(),
                                    {"protocol"}),
    "half a record": (lambda: top().out + [entry(REGULAR, "top/f")[:20]], {"protocol"}),
    "noise": (lambda: [os.urandom(5000)], {"protocol"}),
    "an attribute of the system's": (
        lambda: top().entry(REGULAR, "top/f").add(frame(XATTR, 0, text("security.capability") + b"x" * 20)).end_file()
        .end(), {"protocol"}),
    "an attribute of root's": (
        lambda: top().add(frame(XATTR, 0, text("trusted.overlay.redirect") + b"/etc")).end(), {"protocol"}),
    "an attribute of a symlink": (
        lambda: top().entry(SYMLINK, "top/l", link="x").add(frame(XATTR, 0, text("user.x") + b"x")).end(), {"protocol"}),
    "a symlink to nothing": (lambda: top().entry(SYMLINK, "top/l").end(), {"protocol"}),
    "nanoseconds": (lambda: top().regular("top/f", ns=10**9).end(), {"protocol"}),
    "the end of time": (lambda: top().regular("top/f", mtime=(1 << 63) - 1).regular("top/g", mtime=-(1 << 63)).end(), 0),
    "an errno of zero": (lambda: top().problem("top/f", 0).end(), {"protocol"}),
    "an errno of a million": (lambda: top().problem("top/f", 10**6).end(), {"protocol"}),
    "an end with an errno": (lambda: top().regular("top/f").end(error=28), {"no_space"}),
    "names that drive a terminal": (
        lambda: top().entry(REGULAR, b"top/\x1b[31m\n\r\x9b\x07", size=4).data(0, b"evil").end_file(1).end(), {"checksum"}),
    "problems that drive a terminal": (lambda: top().problem(b"top/\x1b[31m\n\xff").end(), 1),
    "owners": (lambda: top().regular("top/f", uid=12345, gid=54321).end(), 0),
    "files without end": (names_over(ANY_ENTRIES), {"too_large"}, "--max-files", "500"),
    "problems without end": (problems_over(ANY_ENTRIES), {"too_large"}, "--max-files", "100000"),
    "data without end": (bytes_over(ANY_ENTRIES), {"too_large"}, "--max-bytes", "20m"),
    "attributes without end": (xattrs_over(ANY_ENTRIES), {"too_large"}, "--max-bytes", "20m"),
    "shared files without end": (shared_over(ANY_ENTRIES), {"protocol", "too_large"}, "--max-files", "20000"),
    "many problems": (lambda: [*problems_over(400)()], {"protocol"}),
}


def settled(hf, yard, process, expected):
    result = watched(process)
    yard.check()
    error = None
    if result.code != 0:
        error = result.json["error"]["kind"]
        # A box that breaks the rules is no file's failure.
        assert result.code == (125 if error == "protocol" else 1), str(result)
    if isinstance(expected, int):
        assert error is None, str(result)
        assert result.json["skipped"] == expected, str(result)
    else:
        assert error in expected or error is None and 0 in expected, str(result)
    return result


@pytest.mark.parametrize("kind", STREAMS)
def test_hostile_streams(hf, evil, yard, kind):
    stream, expected, *flags = STREAMS[kind]
    box = evil(stream)
    settled(hf, yard, hf.popen("cp", "--json", *flags, f"{box}:top", yard.out), expected)
    if isinstance(expected, set) and "checksum" in expected and "sum of a file" in kind:
        assert sorted(os.listdir(yard.out / "top")) == ["existing"], "a file whose sum is wrong"


def test_sums_are_right():
    """Else every stream above would fail for the same reason."""
    assert xxh64(b"") == 0xEF46DB3751D8E999
    assert xxh64(b"abc") == 0x44BC2CF5AD770999


@pytest.mark.parametrize("kind", ["dots in the middle", "through a symlink", "hard link to dots", "a negative size",
                                  "backwards", "two tops", "half a record", "something after the end"])
def test_hostile_streams_in_pieces(hf, evil, yard, kind):
    """A byte at a time: no record is seen before it is there."""
    stream = b"".join(STREAMS[kind][0]())
    box = evil([stream[i:i + 1] for i in range(len(stream))])
    settled(hf, yard, hf.popen("cp", "--json", f"{box}:top", yard.out), STREAMS[kind][1])


@pytest.mark.parametrize("archive", [False, True])
def test_owners_are_not_the_boxs_to_choose(hf, evil, yard, archive):
    """Without -a everything is the caller's; with it, by number, but never with rights."""
    box = evil(lambda: top().regular("top/f", uid=12345, gid=54321, mode=0o6755).end())
    settled(hf, yard, hf.popen("cp", "--json", *(["-a"] if archive else []), f"{box}:top", yard.out), 0)
    state = os.stat(yard.out / "top/f")
    assert (state.st_uid, state.st_gid) == ((12345, 54321) if archive and os.getuid() == 0 else
                                            (os.getuid(), os.getgid()))


def test_the_name_is_the_callers(hf, evil, yard):
    """Whatever the box calls it."""
    box = evil(lambda: Tree().regular("authorized_keys").end())
    settled(hf, yard, hf.popen("cp", "--json", f"{box}:report.txt", yard.out), 0)
    assert sorted(os.listdir(yard.out)) == ["report.txt", "top"]


def failure(kind, error, path):
    return frame(ERROR, 0, struct.pack("<BI", kind, error) + text(path))


@pytest.mark.parametrize("errors, code, kinds", [
    (failure(1, 2, b"\x1b]0;evil\x07\n\xff"), 1, {"not_found"}),
    (failure(99, 2, "x"), 1, {"protocol"}), (failure(0, 2, "x"), 1, {"protocol"}),
    (failure(1, 0xffffffff, "x"), 1, {"protocol"}), (failure(1, 2, "x")[:-3], 1, {"protocol"}),
    (b"", 1, {"protocol"}), (os.urandom(10000), 1, {"protocol"}), (b"", 7, {"system"}),
    (failure(1, 2, "x" * 15000), 1, {"not_found"}),
], ids=["escapes", "no such kind", "no kind", "no such errno", "cut", "none", "noise", "another code", "long"])
@pytest.mark.parametrize("verb", ["read", "stat", "cp", "mv"])
def test_hostile_reasons(hf, evil, yard, verb, errors, code, kinds):
    box = evil([], errors=errors, code=code)
    args = {"cp": [f"{box}:x", str(yard.out)], "mv": [box, "x", "y"]}.get(verb, [box, "x"])
    result = watched(hf.popen(verb, "--json", *args))
    assert result.code in (1, 125) and result.json["error"]["kind"] in kinds, str(result)
    assert "\x1b" not in result.errors
    yard.check()


# --- other verbs ----------------------------------------------------------------------------------


def test_read_more_than_was_asked_for(hf, evil):
    box = evil([b"x" * 1000])
    result = watched(hf.popen("read", "--json", "--range", "0-9", box, "f"))
    assert result.code == 125 and result.json["error"]["kind"] == "protocol", str(result)


def test_read_without_end_in_json(hf, evil):
    def stream():
        while True:
            yield b"x" * 60000
    box = evil(stream)
    result = watched(hf.popen("read", "--json", box, "f"))
    assert result.code != 0, str(result)


@pytest.mark.parametrize("verb, stream", [
    ("ls", [os.urandom(5000)]), ("ls", [entry(77, "x")]), ("ls", [entry(REGULAR, "x")[:-3]]),
    ("ls", [frame(ENTRY, 0, b"", length=0xffffffff)]), ("ls", [frame(DATA, 0, bytes(20))]),
    ("stat", []), ("stat", [entry(REGULAR, "x"), entry(REGULAR, "y")]), ("stat", [os.urandom(500)]),
    ("watch", [b"r" + os.urandom(5000)]), ("watch", [b"r" + frame(EVENT, 0, b"\x63\0")]),
    ("watch", [b"r" + frame(EVENT, 0, b"", length=0xfffffff)]),
], ids=lambda value: value if isinstance(value, str) else str(len(b"".join(value))))
def test_hostile_lists(hf, evil, verb, stream):
    box = evil(stream)
    result = watched(hf.popen(verb, "--json", box, "x"))
    assert result.code in (1, 125), str(result)
    assert result.json["error"]["code"] in ("protocol", "lost"), str(result)


def test_a_list_of_long_names(hf, evil):
    """A million names is what is allowed; eight gigabytes of them is not."""
    def stream():
        number = 0
        while True:
            yield b"".join(entry(SYMLINK, f"{number + i:08}" + "x" * 4000, link="y" * 4000) for i in range(100))
            number += 100
    box = evil(stream)
    result = watched(hf.popen("ls", "--json", box, "x"))
    assert result.code in (1, 125), str(result)


def test_a_list_without_end(hf, evil):
    def stream():
        piece = b"".join(entry(REGULAR, f"{i}") for i in range(1000))
        while True:
            yield piece
    box = evil(stream)
    process = hf.popen("ls", "--json", box, "x", env={"ASAN_OPTIONS": "detect_leaks=0:quarantine_size_mb=1"})
    try:
        result = watched(process, 30)
    except AssertionError as error:
        assert "MiB" in str(error) and "still running with" in str(error)
        raise
    assert result.code == 1 and result.json["error"]["kind"] == "too_large", str(result)


def test_names_of_a_list_drive_no_terminal(hf, evil):
    box = evil([entry(SYMLINK, b"\x1b[31m\n\x9b\xff", link=b"\x1b]0;evil\x07")])
    for flags in ([], ["-l"], ["--json"]):
        out = hf.ok("ls", *flags, box, "x").out
        assert b"\x1b" not in out and b"\x07" not in out and len(out.splitlines()) == 1, out


def test_events_without_end(hf, evil):
    event = frame(EVENT, 0, b"\0\0" + text("x" * 100) + text(""))

    def stream():
        yield b"r"
        while True:
            yield event * 400
    box = evil(stream)
    process = hf.popen("watch", box, "x", stdout=subprocess.DEVNULL)
    time.sleep(1)
    for line in harness.read_file(f"/proc/{process.pid}/status").splitlines():
        if line.startswith("VmHWM"):
            assert int(line.split()[1]) << 10 < MEMORY
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=10)


@pytest.mark.parametrize("answer", [b"", os.urandom(100), bytes(50000),
                                    frame(DONE, 0, bytes(39)),
                                    frame(DONE, 0, bytes(40)) * 2],
                         ids=["nothing", "noise", "zeros", "short", "twice"])
def test_a_copy_into_the_box_that_is_not_confirmed(hf, evil, tmp_path, answer):
    """Silence is no success."""
    (tmp_path / "f").write_text("x")
    box = evil([answer] if answer else [])
    result = watched(hf.popen("cp", "--json", tmp_path / "f", f"{box}:f"))
    assert result.code in (1, 125) and "error" in result.json, str(result)


# --- archives -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["dots at the front", "dots in the middle", "absolute", "no name", "a dot",
                                  "hard link to an absolute name", "hard link to dots", "through a symlink"])
def test_hostile_names_do_not_get_into_an_archive(hf, evil, kind):
    """Who gives it to tar may not be as careful."""
    box = evil(STREAMS[kind][0])
    result = watched(hf.popen("cp", f"{box}:top", "-"))
    try:
        with tarfile.open(fileobj=io.BytesIO(result.out)) as archive:
            names = [name for member in archive for name in (member.name, member.linkname if member.islnk() else "")]
    except tarfile.TarError:
        names = []
    assert not any(name.startswith("/") or ".." in name.split("/") for name in names), names
    assert result.code != 0, str(result)


@pytest.mark.parametrize("kind", ["the wrong sum of a file", "the wrong sum of the tree", "the wrong number of entries",
                                  "no end", "something after the end", "more than it said", "backwards",
                                  "a negative size", "an end with an errno", "half a record", "noise",
                                  "data of no file", "a file without its end", "a mode that is none"])
def test_hostile_streams_as_archives(hf, evil, kind):
    box = evil(STREAMS[kind][0])
    result = watched(hf.popen("cp", f"{box}:top", "-"))
    assert result.code in (1, 125), str(result)


@pytest.mark.parametrize("kind, flags", [("files without end", ["--max-files", "500"]),
                                         ("problems without end", ["--max-files", "1000"]),
                                         ("data without end", ["--max-bytes", "20m"])])
def test_limits_of_archives(hf, evil, kind, flags):
    box = evil(STREAMS[kind][0])
    result = watched(hf.popen("cp", *flags, f"{box}:top", "-", stdout=subprocess.DEVNULL), 4)
    assert result.code == 1, str(result)


def test_a_hole_of_exabytes_can_be_interrupted(hf, evil):
    """An archive has no holes: the zeros are without end, the patience is not."""
    box = evil(lambda: top().entry(REGULAR, "top/f", size=1 << 62).end_file().end())
    process = hf.popen("cp", f"{box}:top", "-", stdout=subprocess.DEVNULL)
    time.sleep(0.5)
    assert process.poll() is None or process.returncode == 1
    process.send_signal(signal.SIGINT)
    try:
        process.communicate(timeout=5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise AssertionError("Ctrl-C does not end it") from None


# --- a real box, in a race with the host ----------------------------------------------------------

# Exchanges directories for symlinks as fast as it can. Arguments: the directory, the target.
SWAP = r"""
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
os.chdir(sys.argv[1])
target = sys.argv[2]
pairs = [(b'd%d' % i, b'.s%d' % i) for i in range(int(sys.argv[3]))]
while True:
    for d, s in pairs:
        if libc.renameat2(-100, d, -100, s, 2) != 0:
            for name in (s, d):
                try:
                    os.symlink(target, name)
                except OSError:
                    pass
"""
DIRECTORIES = 50


@pytest.fixture
def race(make_holdfast):
    """A box that plays tricks on a volume; the release, because speed is what this is about."""
    hf = make_holdfast(cli=os.path.join(harness.RELEASE, "holdfast"))
    shared, outside = os.path.join(hf.root, "shared"), os.path.join(hf.root, "outside")
    for path in (shared, outside):
        os.mkdir(path)
    with open(os.path.join(outside, "secret"), "w") as file:
        file.write("secret of the host")
    box = hf.up("-v", f"{shared}:/shared", "--pids-limit", "64")
    hf.sh(box, f"mkdir /srv/t; cd /srv/t; for i in $(seq 0 {DIRECTORIES - 1}); do mkdir d$i; echo x > d$i/f; "
               "ln -s anything d$i/l; done")
    processes = []

    def swap(where):
        processes.append(hf.popen("exec", box, "--", "python3", "-c", SWAP, where, outside, str(DIRECTORIES),
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
    yield hf, box, shared, outside, swap
    for process in processes:
        process.kill()
        process.communicate()


def test_directories_exchanged_under_a_copy_out(race):
    """Ten thousand names are made while their directories become symlinks to a place of the host."""
    hf, box, shared, outside, swap = race
    target = os.path.join(shared, "out")
    os.mkdir(target)
    hf.ok("cp", "--exact", f"{box}:/srv/t", target)
    swap("/shared/out")
    tries, links = 0, 0
    while tries < 10000:
        result = hf("cp", "--json", "--exact", f"{box}:/srv/t", target)
        # A directory, and a file and a symlink in it.
        tries += 3 * DIRECTORIES
        links += sum(entry.is_symlink() for entry in os.scandir(target) if entry.name.startswith("d"))
        assert result.code in (0, 1), str(result)
        assert os.listdir(outside) == ["secret"], f"something was written outside, after {tries} tries"
    state = os.stat(outside)
    assert stat.S_IMODE(state.st_mode) == 0o755 and open(os.path.join(outside, "secret")).read() == "secret of the host"
    assert state.st_uid == os.getuid()
    assert links > 0, "there was no race"


def test_directories_exchanged_under_a_copy_in(race):
    """The host reads what is in the volume, and nothing that a symlink leads to."""
    hf, box, shared, outside, swap = race
    source = os.path.join(shared, "src")
    hf.ok("cp", "--exact", f"{box}:/srv/t", source)
    swap("/shared/src")
    for turn in range(40):
        result = hf("cp", "--json", "--exact", source, f"{box}:/srv/got{turn}")
        assert result.code in (0, 1), str(result)
    assert hf.sh(box, "grep -rl 'secret of the host' /srv || true; find /srv -name secret") == ""


def test_files_exchanged_under_a_copy_in(race):
    """The same for files: a fifo does not stop it, a link does not lead it."""
    hf, box, shared, outside, _ = race
    source = os.path.join(shared, "src")
    os.mkdir(source)
    for i in range(50):
        with open(os.path.join(source, f"f{i}"), "w") as file:
            file.write("plain")
    process = hf.popen("exec", box, "--", "python3", "-c", f"""
import os
os.chdir('/shared/src'); n = 0
while True:
    name = 'f%d' % (n % 50); n += 1
    for make in (lambda: os.symlink('{outside}/secret', '.t'), lambda: os.mkfifo('.t'),
                 lambda: open('.t', 'w').write('plain')):
        make(); os.rename('.t', name)
""", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for turn in range(30):
            result = hf("cp", "--json", "--exact", source, f"{box}:/srv/got{turn}", timeout=20)
            assert result.code in (0, 1), str(result)
    finally:
        process.kill()
        process.communicate()
    assert hf.sh(box, "grep -rl 'secret of the host' /srv --devices=skip || true") == ""


def test_temporary_names_exchanged(race):
    """A box that puts symlinks where it expects temporary files."""
    hf, box, shared, outside, _ = race
    target = os.path.join(shared, "out")
    os.mkdir(target)
    victim = os.path.join(outside, "secret")
    process = hf.popen("exec", box, "--", "python3", "-c", f"""
import os
os.chdir('/shared/out')
while True:
    for name in os.listdir('.'):
        if name != 'x':
            try:
                os.unlink(name); os.symlink('{victim}', name)
            except OSError:
                pass
""", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    hf.sh(box, "head -c 100000 /dev/zero > /srv/f")
    try:
        for turn in range(60):
            for flags in ([], ["--resume"]):
                result = hf("cp", "--json", *flags, f"{box}:/srv/f", os.path.join(target, "f"))
                assert result.code in (0, 1), str(result)
                assert open(victim).read() == "secret of the host", f"written through a link by {flags}"
    finally:
        process.kill()
        process.communicate()
    assert stat.S_IMODE(os.stat(victim).st_mode) == 0o644


def test_a_hostile_tree_of_a_real_box(hf, box, tmp_path):
    """What root of a box can make by hand, copied by the host's root."""
    outside = tmp_path / "outside"
    outside.mkdir()
    hf.sh(box, rf"""
        mkdir -p t/d; cd t
        ln -s {outside} link; ln -s / root; ln -s ../../../../../../../../{outside} up
        printf x > $'new\nline'; printf x > $'\e[31mred'; printf x > $'bad\xff'; printf x > ...; printf x > '.. '
        mkfifo fifo; cp /bin/true suid; chmod 6755 suid; chmod 0 d
        truncate -s 8E huge 2>/dev/null || truncate -s 1T huge
        python3 -c '
import os
os.makedirs("deep"); os.chdir("deep")
for _ in range(300):
    os.mkdir("d"); os.chdir("d")
open("f", "w")'""")
    result = hf("cp", "--json", f"{box}:t", tmp_path / "out", timeout=30)
    assert result.code in (0, 1), str(result)
    assert b"\x1b" not in result.err
    assert os.listdir(outside) == []
    for where, dirs, files in os.walk(tmp_path / "out"):
        for name in dirs + files:
            state = os.lstat(os.path.join(where, name))
            assert not stat.S_IMODE(state.st_mode) & 0o6000
            assert stat.S_IFMT(state.st_mode) in (stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK)
            assert state.st_blocks * 512 < 64 << 20
    # And again, over what is there now.
    hf("cp", "--json", f"{box}:t", tmp_path / "out", timeout=30)
    assert os.listdir(outside) == []
