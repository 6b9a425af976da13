"""watch: what happens to files of a box, a line of JSON for each event."""
import contextlib
import json
import os
import select
import signal
import threading
import time

import pytest

import harness
from test_files import agents, failed


class Watch:
    """A `holdfast watch` at work."""

    def __init__(self, hf, *args, settle=True, **options):
        self.hf, self.box = hf, args[-2]
        before = set(agents(hf, self.box))
        self.process = hf.popen("watch", *args, **options)
        self.buffer = b""
        self.pid = harness.wait_until(lambda: set(agents(hf, self.box)) - before, "it watches").pop()
        # It is ready when it sleeps in read(): nothing else tells from outside.
        if settle:
            harness.wait_until(lambda: self.ready(), "it watches")

    def ready(self):
        fds = f"/proc/{self.pid}/fd"
        with contextlib.suppress(OSError):
            if any("inotify" in os.readlink(f"{fds}/{fd}") for fd in os.listdir(fds)):
                return "read" in harness.read_file(f"/proc/{self.pid}/wchan") or \
                    harness.process_stat(self.pid)[0] == "S"
        return False

    def next(self, timeout=10):
        end = time.monotonic() + timeout
        while b"\n" not in self.buffer:
            if not select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))[0]:
                return None
            data = os.read(self.process.stdout.fileno(), 1 << 20)
            if not data:
                raise AssertionError(f"it ended: {self.process.wait()}, {self.process.stderr.read()}")
            self.buffer += data
        line, _, self.buffer = self.buffer.partition(b"\n")
        return json.loads(line)

    def until(self, path, event=None):
        """All events as (event, path, to, directory), up to the first one that is about that path."""
        found = []
        while True:
            one = self.next()
            assert one is not None, f"nothing more after {len(found)} events, the last: {found[-5:]}"
            assert set(one) == {"event", "path", "to", "directory"}, one
            found.append((one["event"], one["path"], one["to"], one["directory"]))
            if path in (one["path"], one["to"]) and event in (None, one["event"]):
                return found

    def close(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        _, err = self.process.communicate(timeout=10)
        return self.process.returncode, err


@pytest.fixture
def watch(hf):
    made = []

    def make(*args, **options):
        made.append(Watch(hf, *args, **options))
        return made[-1]
    yield make
    for one in made:
        if one.process.poll() is None:
            one.process.kill()
        one.process.communicate()


def test_the_five_events(hf, box, watch):
    hf.sh(box, "mkdir w; echo old > w/f")
    here = watch(box, "w")
    hf.sh(box, "cd w; echo more >> f; mkdir d; mv f g; rm g; rmdir d; touch end")
    assert here.until("end") == [
        ("write", "f", None, False), ("create", "d", None, True), ("rename", "f", "g", False),
        ("remove", "g", None, False), ("remove", "d", None, True), ("create", "end", None, False)]
    code, err = here.close()
    assert code == 130 and err == b"", (code, err)
    harness.wait_until(lambda: not agents(hf, box), "the agent is gone")


def test_in_one_word_and_relative(hf, watch):
    box = hf.up("-w", "/srv")
    hf.sh(box, "mkdir /srv/w")
    process = hf.popen("watch", f"{box}:w")
    harness.wait_until(lambda: agents(hf, box), "it watches")
    time.sleep(0.1)
    hf.ok("write", box, "/srv/w/f", input=b"x")
    line = process.stdout.readline()
    process.kill()
    process.communicate()
    assert set(json.loads(line)) == {"event", "path", "to", "directory"}, line


def test_not_what_is_below_unless_asked_for(hf, box, watch):
    hf.sh(box, "mkdir -p w/d")
    flat, deep = watch(box, "w"), watch("-R", box, "w")
    hf.sh(box, "echo x > w/d/f; touch w/end")
    assert [event[1] for event in flat.until("end")] == ["end"]
    assert ("create", "d/f", None, False) in deep.until("end")


def test_what_is_made_later(hf, box, watch):
    """Also when it was filled before anybody could look."""
    here = watch("-R", box, ".")
    hf.sh(box, "mkdir -p a/b/c; echo x > a/b/c/f; mkdir -p /tmp/t/u; echo x > /tmp/t/u/v; touch mark")
    paths = {event[1] for event in here.until("mark")}
    assert {"a", "a/b", "a/b/c", "a/b/c/f"} <= paths, paths
    hf.sh(box, "echo more >> a/b/c/f; touch mark2")
    assert ("write", "a/b/c/f", None, False) in here.until("mark2")


def test_a_tree_that_is_renamed(hf, box, watch):
    hf.sh(box, "mkdir -p w/a/b")
    here = watch("-R", box, "w")
    hf.sh(box, "mv w/a w/z; echo x > w/z/b/f; touch w/end")
    events = here.until("end")
    assert ("rename", "a", "z", True) in events and ("create", "z/b/f", None, False) in events, events


def test_what_leaves_is_gone(hf, box, watch):
    """From then on it is none of ours, under whatever name."""
    hf.sh(box, "mkdir -p w/a/b out")
    here = watch("-R", box, "w")
    hf.sh(box, "mv w/a out/a; sleep 0.1; echo x > out/a/f; echo x > out/a/b/g; touch w/end")
    assert here.until("end") == [("remove", "a", None, True), ("create", "end", None, False)]


def test_what_comes_from_elsewhere(hf, box, watch):
    hf.sh(box, "mkdir -p w out/d; echo x > out/f; echo x > out/d/g")
    here = watch("-R", box, "w")
    hf.sh(box, "mv out/f w; mv out/d w; echo y >> w/d/g; touch w/end")
    events = here.until("end")
    assert ("create", "f", None, False) in events and ("create", "d", None, True) in events
    assert ("create", "d/g", None, False) in events


def test_one_file(hf, box, watch):
    hf.sh(box, "echo x > f; echo x > other")
    here = watch(box, "f")
    hf.sh(box, "echo y >> other; echo y >> f")
    one = here.next(2)
    assert one is not None, "a write to the file that is watched was not told"
    assert one["event"] == "write" and one["directory"] is False
    hf.sh(box, "rm f")
    while one["event"] != "remove":
        one = here.next(2)
        assert one is not None, "nor that it was removed"


def test_the_top_that_is_removed(hf, box, watch):
    hf.sh(box, "mkdir w")
    here = watch(box, "w")
    hf.sh(box, "rmdir w")
    one = here.next(2)
    assert one and one["event"] == "remove" and one["directory"] is True, one


def test_atomic_writes_are_told(hf, box, watch):
    """What `holdfast write` and `cp` put in place: a file has come or changed under its name."""
    hf.sh(box, "mkdir w; echo old > w/f")
    here = watch(box, "w")
    hf.ok("write", box, "w/f", input=b"new")
    hf.ok("write", box, "w/g", input=b"new")
    hf.sh(box, "touch w/end")
    named = {path for event in here.until("end") for path in event[1:3] if event[0] in ("create", "write", "rename")}
    assert {"f", "g"} <= named, named


def test_names_that_never_were(hf, box, watch):
    """A file that has no name yet is nothing to be told of."""
    hf.sh(box, "mkdir w")
    here = watch(box, "w")
    hf.ok("write", box, "w/f", input=b"new")
    hf.sh(box, "touch w/end")
    assert {event[1] for event in here.until("end")} == {"f", "end"}


def test_overflow_is_told(hf, box, watch):
    """The queue is full because nobody reads: it says that it does not know, and goes on."""
    hf.sh(box, "mkdir w")
    here = watch(box, "w")
    os.kill(here.pid, signal.SIGSTOP)
    hf.exec(box, "python3", "-c", """
import os
os.chdir('w')
for i in range(12000):
    os.close(os.open('f%d' % (i % 50), os.O_CREAT | os.O_WRONLY)); os.unlink('f%d' % (i % 50))
""")
    os.kill(here.pid, signal.SIGCONT)
    here.until("", event="overflow")
    hf.sh(box, "touch w/after")
    here.until("after")


FLOOD = """
import os
os.chdir('w')
for i in range(25000):
    name = 'a-rather-long-name-to-make-more-bytes-of-it-%060d' % i
    os.close(os.open(name, os.O_CREAT | os.O_WRONLY)); os.unlink(name)
"""


def see_the_end(hf, box, here):
    """The mark itself may be among what was not told: it is made until it is seen."""
    seen, turn = [], 0
    while not any(event[1].startswith("mark") for event in seen):
        assert turn < 20, seen[-5:]
        hf.sh(box, f"touch w/mark{turn}")
        turn += 1
        while (one := here.next(0.5)) is not None:
            seen.append((one["event"], one["path"], one["to"], one["directory"]))
    return seen


def test_a_flood_does_not_end_it(hf, box, watch):
    """However fast it comes: told, or told that something was not."""
    hf.sh(box, "mkdir w")
    here = watch(box, "w")
    flood = hf.popen("exec", box, "--", "python3", "-c", FLOOD)
    seen = []
    while flood.poll() is None:
        one = here.next(0.2)
        if one:
            seen.append((one["event"], one["path"], one["to"], one["directory"]))
    flood.communicate()
    seen += see_the_end(hf, box, here)
    created = sum(event[0] == "create" and event[1].startswith("a-") for event in seen)
    assert created == 25000 or any(event[0] == "overflow" for event in seen), created


def test_a_slow_reader_of_a_flood(hf, box, watch):
    """Nobody reads the lines for a while: nothing grows, and it is told in the end."""
    hf.sh(box, "mkdir w")
    here = watch(box, "w")
    hf.exec(box, "python3", "-c", FLOOD, timeout=30)
    assert here.process.poll() is None, here.process.stderr.read()
    assert any(event[0] == "overflow" for event in see_the_end(hf, box, here))


def test_names_are_bytes(hf, box, watch):
    here = watch(box, ".")
    hf.sh(box, r"touch $'new\nline' $'\e[31m' $'bad\xff' end")
    events = here.until("end")
    assert [event[1] for event in events if event[0] == "create"] == ["new\nline", "\x1b[31m", "bad\ufffd", "end"]


def test_lines_are_ascii_safe(hf, box, watch):
    """No byte of a name drives the terminal."""
    here = watch(box, ".")
    hf.sh(box, r"touch $'\e[31m' $'\x9b1m' end")
    data = b""
    while b"end" not in data:
        data += os.read(here.process.stdout.fileno(), 65536)
    assert b"\x1b" not in data, data


def test_as_a_user(hf, box, watch):
    hf.sh(box, "mkdir -m 755 w; mkdir -m 700 w/closed; mkdir -m 755 w/open")
    failed(hf("watch", "--json", "-u", "nobody", box, "/workspace/w/closed", timeout=10), "permission_denied")
    here = watch("-R", "-u", "nobody", box, "w")
    hf.sh(box, "touch w/closed/secret w/open/f w/end")
    events = here.until("end")
    assert ("create", "open/f", None, False) in events
    assert not any("secret" in event[1] for event in events)


def test_it_ends_with_the_box(hf, box, watch):
    here = watch(box, ".")
    hf.ok("rm", "-f", box)
    _, err = here.process.communicate(timeout=10)
    assert here.process.returncode == 125 and err.startswith(b"holdfast: "), err


def test_it_ends_with_its_reader(hf, box, watch):
    here = watch(box, ".")
    here.process.stdout.close()
    stop = threading.Event()

    def write():
        while not stop.is_set():
            hf("write", box, "f", input=b"x")
    writer = threading.Thread(target=write)
    writer.start()
    try:
        assert here.process.wait(10) == 141
    finally:
        stop.set()
        writer.join()
        here.process.stderr.close()
    harness.wait_until(lambda: not agents(hf, box), "the agent is gone")
    here.process.stdout = here.process.stderr = None


def test_several_at_once(hf, box, watch):
    watches = [watch(box, ".") for _ in range(4)]
    hf.sh(box, "touch f")
    assert [one.until("f")[0] for one in watches] == [("create", "f", None, False)] * 4
