"""What all suites share: a holdfast of their own, a C client, and a look for what was left behind."""
import contextlib
import ctypes
import dataclasses
import json
import os
import re
import select
import shutil
import signal
import stat
import subprocess
import tempfile
import time
import urllib.parse

TESTS = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(TESTS)
CLI = os.environ.get("HOLDFAST", os.path.join(ROOT, "build/test/holdfast"))
RELEASE = os.environ.get("HOLDFAST_RELEASE", os.path.join(ROOT, "build/release"))

# Long enough for a loaded machine, short enough to name the test that hangs.
PATIENCE = 30
# How long the cleanup that goes on after a command may take.
SETTLE = 10

# There the sanitizer walks through the whole address space at every exit: four seconds a command. One
# test looks for leaks all the same.
SLOW_LEAK_CHECK = os.uname().machine == "aarch64"


# Said by sanitized builds where a process starts on a stack of its own; it means nothing.
SANITIZER_NOISE = re.compile(rb"==\d+==WARNING: ASan is ignoring requested __asan_handle_no_return.*\n"
                             rb"False positive error reports may follow\n"
                             rb"For details see https://github.com/google/sanitizers/issues/189\n")


def environment(**changes):
    """This process's environment without the settings that would reach holdfast by accident."""
    env = {name: value for name, value in os.environ.items()
           if not name.startswith(("HOLDFAST", "XDG_"))}
    if SLOW_LEAK_CHECK:
        env["ASAN_OPTIONS"] = ":".join(filter(None, [env.get("ASAN_OPTIONS"), "detect_leaks=0"]))
    env.update({name: value for name, value in changes.items() if value is not None})
    return env


@dataclasses.dataclass
class Result:
    """How a command on the host ended."""
    args: list
    code: int
    out: bytes
    err: bytes

    @property
    def text(self):
        return self.out.decode(errors="replace")

    @property
    def errors(self):
        return self.err.decode(errors="replace")

    @property
    def json(self):
        try:
            return json.loads(self.out)
        except ValueError:
            raise AssertionError(f"not JSON: {self}") from None

    def __str__(self):
        def short(data):
            text = data.decode(errors="replace")
            return text if len(text) < 2000 else text[:1000] + "\n...\n" + text[-1000:]
        return (f"{' '.join(map(str, self.args))[:500]}\nexit code {self.code}\n"
                f"--- stdout\n{short(self.out)}\n--- stderr\n{short(self.err)}")


def execute(args, input=None, timeout=PATIENCE, env=None, **options):
    """Runs a command to its end. One that does not end is killed, and the test fails."""
    data = input.encode() if isinstance(input, str) else input
    options.setdefault("stdin", subprocess.DEVNULL if data is None else subprocess.PIPE)
    with subprocess.Popen(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env,
                          **options) as process:
        try:
            out, err = process.communicate(data, timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            raise AssertionError(
                f"still running after {timeout} s: {Result(args, -1, out, err)}") from None
    return Result(args, process.returncode, out, SANITIZER_NOISE.sub(b"", err))


class Holdfast:
    """One installation: directories of its own and the command that uses them."""

    def __init__(self, engine="native", root=None, prefix=(), cli=None):
        self.engine = engine
        # Short: names of sockets have 107 bytes.
        self.root = root or tempfile.mkdtemp(prefix="hf", dir="/tmp")
        self.runtime = os.path.join(self.root, "run")
        self.data = os.path.join(self.root, "data")
        self.prefix = list(prefix)
        self.cli = cli or CLI
        self.made = []

    @property
    def env(self):
        return environment(HOLDFAST_RUNTIME_DIR=self.runtime, HOLDFAST_DATA_DIR=self.data,
                           HOLDFAST_ENGINE=self.engine)

    def __call__(self, *args, input=None, timeout=PATIENCE, env=None, **options):
        changed = {**self.env, **(env or {})}
        changed = {name: value for name, value in changed.items() if value is not None}
        return execute([*self.prefix, self.cli, *map(str, args)], input, timeout, changed, **options)

    def ok(self, *args, **options):
        result = self(*args, **options)
        assert result.code == 0, str(result)
        return result

    def up(self, *flags, **options):
        """Makes a box that the end of the test removes; its name."""
        name = self.ok("up", *flags, **options).text.strip()
        assert re.fullmatch(r"[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,63}", name), f"a strange name: {name!r}"
        if name not in self.made:
            self.made.append(name)
        return name

    def run(self, *command, flags=(), **options):
        """`holdfast run` of one command."""
        return self("run", *flags, "--", *command, **options)

    def exec(self, box, *command, flags=(), **options):
        return self("exec", *flags, box, "--", *command, **options)

    def sh(self, box, script, flags=(), **options):
        """A bash script in a box, which must succeed; its output."""
        result = self.exec(box, "bash", "-ec", script, flags=flags, **options)
        assert result.code == 0, str(result)
        return result.text

    def popen(self, *args, env=None, **options):
        """A command that the test goes on to talk to."""
        options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        return subprocess.Popen([*self.prefix, self.cli, *map(str, args)],
                                env={**self.env, **(env or {})}, **options)

    def inspect(self, box):
        return self.ok("inspect", "--json", box).json

    def boxes(self):
        return self.ok("ps", "--json").json

    def box_dir(self, box):
        return os.path.join(self.runtime, "boxes", box)

    def socket(self, box):
        """The path of the socket that leads to a box."""
        for entry in os.scandir(self.box_dir(box)):
            if stat.S_ISSOCK(entry.stat(follow_symlinks=False).st_mode):
                return entry.path
        raise AssertionError(f"box {box} has no socket")

    def box_dirs(self):
        """What is left of boxes in both directories."""
        found = []
        for top in (self.runtime, self.data):
            with contextlib.suppress(FileNotFoundError, NotADirectoryError, PermissionError):
                found += [os.path.join(top, "boxes", name)
                          for name in os.listdir(os.path.join(top, "boxes"))]
        return found

    def cgroup_suffix(self):
        """What the names of this installation's cgroups end with: it tells them from those of
        others on the same machine."""
        try:
            state = os.stat(os.path.join(self.runtime, "boxes"))
        except OSError:
            return None
        mixed = (state.st_dev * 0x9e3779b97f4a7c15 ^ state.st_ino * 0xc2b2ae3d27d4eb4f) & ((1 << 64) - 1)
        return f".{(mixed ^ mixed >> 32) & 0xffffffff:08x}"

    def cgroups(self, box):
        """The cgroups of a box of this installation, {hierarchy's last name: directory}."""
        suffix = self.cgroup_suffix() or "."
        return {name: path for name, path in cgroups_of(box).items() if path.endswith(suffix)}

    def remove_made(self):
        for name in self.made:
            self("rm", "--force", name)
        self.made.clear()

    def close(self):
        self.remove_made()
        shutil.rmtree(self.root, ignore_errors=True)


# --- the C client --------------------------------------------------------------------------------


def close_quietly(fd):
    with contextlib.suppress(OSError):
        os.close(fd)


def compile_c(source, output, *flags, compiler="gcc"):
    done = execute([compiler, "-std=gnu17", "-O1", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE",
                    "-o", output, source, *flags])
    assert done.code == 0, str(done)
    return output


def build_client(directory):
    """tests/conformance/client.c against the release library."""
    return compile_c(os.path.join(TESTS, "conformance/client.c"), os.path.join(directory, "client"),
                     "-I", os.path.join(ROOT, "include"), "-L", RELEASE,
                     f"-Wl,-rpath,{RELEASE}", "-lholdfast")


class ClientError(Exception):
    """A call of the library failed."""

    def __init__(self, error):
        super().__init__(f"{error['code']}: {error['message']}")
        self.code = error["code"]
        self.errno = error["errno"]
        self.message = error["message"]


class Client:
    """The public API, one call a line, in a process of its own."""

    def __init__(self, program, env, **options):
        self.process = subprocess.Popen([program], env=env, stdin=subprocess.PIPE, bufsize=0,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
        self.buffer = b""

    def send(self, *words):
        line = "\t".join(urllib.parse.quote(word if isinstance(word, (str, bytes)) else str(word))
                         for word in words)
        data = line.encode() + b"\n"
        while data:
            data = data[self.process.stdin.write(data):]

    def read_line(self):
        end = time.monotonic() + PATIENCE
        while b"\n" not in self.buffer:
            if not select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))[0]:
                self.process.kill()
                raise AssertionError(f"no answer from the library after {PATIENCE} s")
            data = self.process.stdout.read(1 << 20)
            if not data:
                return b""
            self.buffer += data
        line, _, self.buffer = self.buffer.partition(b"\n")
        return line

    def receive(self):
        line = self.read_line()
        if not line:
            raise AssertionError(f"the client ended: {self.process.wait()}, "
                                 f"{self.process.stderr.read().decode(errors='replace')}")
        answer = json.loads(line)
        if "error" in answer:
            raise ClientError(answer["error"])
        return answer

    def call(self, *words):
        self.send(*words)
        return self.receive()

    def start(self, *argv, **options):
        return self.call("start", *(f"{name}={value}" for name, value in options.items()), "--", *argv)

    def read(self, size=65536, timeout_ms=PATIENCE * 1000):
        """(stream, bytes); (None, b"") at the end."""
        answer = self.call("read", size, timeout_ms)
        return answer["stream"], bytes.fromhex(answer["data"])

    def read_all(self):
        """Bytes of both streams, {1: ..., 2: ...}."""
        got = {1: b"", 2: b""}
        while True:
            stream, data = self.read()
            if not data:
                return got
            got[stream] += data

    def write(self, data):
        return self.call("write", data)["taken"]

    def write_all(self, data):
        while data:
            data = data[self.write(data):]

    def close(self):
        with contextlib.suppress(OSError, ValueError):
            self.process.stdin.close()
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError("the client does not end") from None
        errors = self.process.stderr.read().decode(errors="replace")
        self.process.stdout.close()
        self.process.stderr.close()
        # Killed by us: the test has failed already.
        assert self.process.returncode in (0, -signal.SIGKILL), \
            f"the client failed: {self.process.returncode} {errors}"


# --- what is there -------------------------------------------------------------------------------


def become_subreaper():
    """Keepers are orphans by design. With this they stay descendants of the tests, so that what a
    test leaves behind is told from what others do on the same machine."""
    PR_SET_CHILD_SUBREAPER = 36
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def read_file(path):
    try:
        with open(path, "rb") as file:
            return file.read().decode(errors="replace")
    except OSError:
        return ""


def process_stat(pid):
    """(state, parent) or None."""
    text = read_file(f"/proc/{pid}/stat")
    if ")" not in text:
        return None
    fields = text.rsplit(")", 1)[1].split()
    return fields[0], int(fields[1])


def processes():
    """{pid: (state, parent)} of the whole machine."""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            stat = process_stat(name)
            if stat:
                found[int(name)] = stat
    return found


def descendants(root=None):
    """Pids of the living descendants of a process, this one by default. Zombies are not counted."""
    table = processes()
    children = {}
    for pid, (_, parent) in table.items():
        children.setdefault(parent, []).append(pid)
    found, queue = set(), [root or os.getpid()]
    while queue:
        for pid in children.get(queue.pop(), []):
            found.add(pid)
            queue.append(pid)
    return {pid for pid in found if table[pid][0] not in "ZX"}


def alive(pid):
    stat = process_stat(pid)
    return stat is not None and stat[0] not in "ZX"


def describe_process(pid):
    command = read_file(f"/proc/{pid}/cmdline").replace("\0", " ").strip()
    return f"process {pid} {read_file(f'/proc/{pid}/comm').strip()!r} {command[:200]!r}"


def reap_adopted(known=()):
    """Orphans that ended became children of the tests; nobody else waits for them."""
    for pid, (state, parent) in processes().items():
        if parent == os.getpid() and state == "Z" and pid not in known:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)


def cgroup_dirs():
    """All cgroups of boxes, whoever's: directories below a directory `holdfast` of any hierarchy."""
    found = set()
    for hierarchy in cgroup_hierarchies():
        for top, dirs, _ in os.walk(hierarchy):
            parts = os.path.relpath(top, hierarchy).split("/")
            if "holdfast" in parts[:-1]:
                found.add(top)
            if len(parts) > 6:
                dirs.clear()
    return found


def cgroup_hierarchies():
    found = []
    for line in read_file("/proc/self/mountinfo").splitlines():
        before, _, after = line.partition(" - ")
        if after.split()[0] in ("cgroup", "cgroup2"):
            found.append(before.split()[4])
    return found


def cgroups_of(box):
    """The cgroups of one box, {hierarchy's last name: directory}."""
    found = {}
    for directory in cgroup_dirs():
        if re.fullmatch(re.escape(box) + r"\.[0-9a-f]{8}", os.path.basename(directory)):
            for hierarchy in cgroup_hierarchies():
                if directory.startswith(hierarchy + "/"):
                    found[os.path.basename(hierarchy)] = directory
    return found


def cgroup_pids(directory):
    pids = set()
    for top, _, _ in os.walk(directory):
        pids |= {int(pid) for pid in read_file(os.path.join(top, "cgroup.procs")).split()}
    return pids


def mounts(*parts):
    """Lines of the host's mount table that have to do with holdfast or name one of these parts."""
    wanted = ("holdfast", *parts)
    return {line for line in read_file("/proc/self/mountinfo").splitlines()
            if any(part in line for part in wanted)}


def pids_of(box_inspect):
    """All members of an inspect document whose names say that they are pids."""
    found = {}

    def walk(value, name):
        if isinstance(value, dict):
            for key, member in value.items():
                walk(member, key)
        elif isinstance(value, int) and (name == "pid" or name.endswith("_pid")) and value > 1:
            found[name] = value
    walk(box_inspect, "")
    return found


def find_processes(instance_pids, comm):
    return [pid for pid in instance_pids if read_file(f"/proc/{pid}/comm").strip() == comm]


def wait_until(condition, what, timeout=SETTLE):
    """Waits for a state, not for a time: returns as soon as it is there."""
    end = time.monotonic() + timeout
    pause = 0.002
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"not within {timeout} s: {what}")
        time.sleep(pause)
        pause = min(pause * 1.5, 0.1)


class Guard:
    """What is there before a test, and what is there after it that was not there before."""

    def __init__(self):
        self.instances = []
        self.descendants = descendants()
        self.cgroups = cgroup_dirs()
        self.suffixes = set()
        self.mounts = mounts("/tmp/hf")
        self.ids = os.path.exists("/run/holdfast")

    def leaks(self):
        ours = descendants()
        found = [describe_process(pid) for pid in sorted(ours - self.descendants)]
        self.suffixes |= {instance.cgroup_suffix() for instance in self.instances} - {None}
        for directory in sorted(cgroup_dirs() - self.cgroups):
            if directory.endswith(tuple(self.suffixes)) or cgroup_pids(directory) & ours:
                found.append(f"cgroup {directory}")
        roots = [instance.root for instance in self.instances]
        for line in sorted(mounts(*roots) - self.mounts):
            if not roots or any(root in line for root in roots):
                found.append(f"mount {line}")
        for instance in self.instances:
            found += [f"directory {path}" for path in instance.box_dirs()]
        if not self.ids and not self.other_boxes(ours):
            with contextlib.suppress(FileNotFoundError):
                # boxes: somebody else on this machine uses root's default directory.
                names = os.listdir("/run/holdfast")
                if "boxes" not in names or "ids" in names:
                    found.append(f"/run/holdfast: {names}")
        return found

    @staticmethod
    def other_boxes(ours):
        """True while somebody else on this machine uses holdfast: then the ids are in use."""
        return any(read_file(f"/proc/{pid}/comm").strip() in ("keeper", "warden", "holdfast")
                   for pid in processes() if pid not in ours)

    def settle(self, timeout=SETTLE):
        """The leaks that are still there after a bounded wait."""
        end = time.monotonic() + timeout
        pause = 0.002
        while True:
            reap_adopted()
            found = self.leaks()
            if not found or time.monotonic() > end:
                return found
            time.sleep(pause)
            pause = min(pause * 1.5, 0.1)

    def kill_leftovers(self):
        """So that one failure stays one."""
        for pid in descendants() - self.descendants:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)
        reap_adopted()
        for directory in sorted(cgroup_dirs() - self.cgroups, reverse=True):
            if directory.endswith(tuple(self.suffixes)):
                with contextlib.suppress(OSError):
                    os.rmdir(directory)
