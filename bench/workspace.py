# SPDX-License-Identifier: Apache-2.0
"""A place for everything a run makes, and the broom that removes all of it.

Everything lives under two directories that share one unique name: WORK on a disk, as the data of
Docker and holdfast does, and RUN beside their runtime directories. Control groups made for the
references carry the same name. Whoever died without tidying up is therefore found by that name: by
the end of its own run, or by the start of the next one.
"""
import contextlib
import fcntl
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time

PREFIX = "holdfast-bench-"
WORK_PARENT = "/var/tmp"


class BenchError(Exception):
    """Something could not be measured; the text says what and why."""


def say(text):
    print(f"bench: {text}", file=sys.stderr, flush=True)


def in_memory(path):
    """Whether the file system that holds it is a tmpfs."""
    best = ("", "")
    with open("/proc/self/mounts", encoding="utf-8") as mounts:
        for line in mounts:
            _, point, kind, *_ = line.split()
            if (path + "/").startswith(point.rstrip("/") + "/") and len(point) >= len(best[0]):
                best = (point, kind)
    return best[1] == "tmpfs"


def run_parent():
    """A runtime directory is memory on nearly every machine. Where /run lies on a disk, the disk
    would be measured instead; so for all engines it is put into memory there."""
    own = "/run" if os.geteuid() == 0 else os.environ.get("XDG_RUNTIME_DIR") or "/tmp"
    return own if in_memory(own) or not in_memory("/dev/shm") else "/dev/shm"


def environment(name):
    """A small environment, the same on every machine, without anybody's own settings."""
    return {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": os.path.join(WORK_PARENT, name),
            "HOLDFAST_RUNTIME_DIR": os.path.join(run_parent(), name, "holdfast"),
            "HOLDFAST_DATA_DIR": os.path.join(WORK_PARENT, name, "holdfast")}


class Workspace:
    """The directories of one run. Use it as a context; leaving it removes everything."""

    def __init__(self):
        self._exits = contextlib.ExitStack()

    def __enter__(self):
        self.work = tempfile.mkdtemp(prefix=PREFIX, dir=WORK_PARENT)
        # Images for other users' processes lie below; what is in there is nobody's secret.
        os.chmod(self.work, 0o711)
        self.name = os.path.basename(self.work)
        self._lock = lock(self.work)
        self.run = os.path.join(run_parent(), self.name)
        os.mkdir(self.run, 0o711)
        return self

    def __exit__(self, *_):
        # A second Ctrl-C must not stop the tidying up that the first one began.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        try:
            self._exits.close()
        except (BenchError, OSError, subprocess.SubprocessError) as error:
            say(f"tidying up: {error}")
        sweep(self.name)

    def on_exit(self, function, *arguments):
        """Calls the function before the directories go, the last registered one first."""
        self._exits.callback(function, *arguments)

    def trace(self, *paths):
        """Names paths, the deepest first, that a tool writes whatever it is told. Those that do not
        exist yet are removed in the end."""
        with open(self.path("traces"), "a") as handle:
            handle.writelines(f"{path}\n" for path in paths if not os.path.lexists(path))

    def env(self):
        return environment(self.name)

    def path(self, *parts):
        return os.path.join(self.work, *parts)

    def run_path(self, *parts):
        return os.path.join(self.run, *parts)


def lock(directory):
    """The lock that says that the run of this directory is alive; None if somebody holds it."""
    handle = open(os.path.join(directory, "lock"), "w")
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        handle.close()
        return None
    return handle


def stale():
    """Names of runs that were killed before they could tidy up."""
    names = []
    for name in os.listdir(WORK_PARENT):
        path = os.path.join(WORK_PARENT, name)
        if not name.startswith(PREFIX) or os.stat(path).st_uid != os.geteuid():
            continue
        handle = lock(path)
        if handle:
            handle.close()
            names.append(name)
    return names


def sweep(name):
    """Ends every process, unmounts every mount, removes every cgroup and directory of that name.
    Boxes carry it only in their records: those are removed by the library, before."""
    for _ in range(20):
        pids = processes(name)
        if not pids:
            break
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)
    for point in reversed(mounts(name)):
        subprocess.run(["umount", "-l", point], stderr=subprocess.DEVNULL, check=False)
    for directory in cgroups(name):
        remove_cgroups(directory)
    remove_traces(os.path.join(WORK_PARENT, name, "traces"))
    for parent in (WORK_PARENT, run_parent()):
        shutil.rmtree(os.path.join(parent, name), ignore_errors=True)


def remove_traces(path):
    with contextlib.suppress(FileNotFoundError), open(path) as handle:
        for trace in handle.read().splitlines():
            with contextlib.suppress(OSError):
                if os.path.isdir(trace):
                    remove_dead_sockets(trace)
                    os.rmdir(trace)  # only if empty: anything else in it is somebody else's
                else:
                    os.unlink(trace)


def remove_dead_sockets(directory):
    """Sockets that nobody listens on: a killed container shim leaves one."""
    for name in os.listdir(directory):
        path = os.path.join(directory, name)
        if not stat.S_ISSOCK(os.lstat(path).st_mode):
            continue
        with socket.socket(socket.AF_UNIX) as probe:
            try:
                probe.connect(path)
            except ConnectionRefusedError:
                os.unlink(path)


def leftovers(name):
    """What a sweep did not get rid of, as lines for a person."""
    found = [f"process {pid}" for pid in processes(name)]
    found += [f"mount {point}" for point in mounts(name)]
    found += [f"cgroup {directory}" for directory in cgroups(name)]
    for parent in (WORK_PARENT, run_parent()):
        path = os.path.join(parent, name)
        if os.path.lexists(path):
            found.append(f"directory {path}")
    return found


def processes(name):
    """Processes that have the name on their command line or live in a cgroup of the name."""
    needle = name.encode()
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        for file in ("cmdline", "cgroup"):
            try:
                with open(f"/proc/{entry}/{file}", "rb") as handle:
                    if needle in handle.read():
                        found.append(int(entry))
                        break
            except OSError:
                break
    return found


def mounts(name):
    with open("/proc/self/mountinfo") as handle:
        points = [line.split()[4] for line in handle]
    return [re.sub(r"\\(\d{3})", lambda m: chr(int(m[1], 8)), point)
            for point in points if name in point]


def cgroups(name):
    """The cgroups of that name, directly below the root of each hierarchy."""
    roots = []
    with open("/proc/self/mountinfo") as handle:
        for line in handle:
            fields, _, rest = line.partition(" - ")
            if rest.startswith("cgroup"):
                roots.append(fields.split()[4])
    return [path for path in (os.path.join(root, name) for root in roots) if os.path.isdir(path)]


def remove_cgroups(top):
    for directory, _, _ in os.walk(top, topdown=False):
        for _ in range(20):  # EBUSY while the last process is still on its way out
            try:
                os.rmdir(directory)
                break
            except FileNotFoundError:
                break
            except OSError:
                time.sleep(0.05)


def command(argv, env=None, timeout=120):
    """Runs a program to its end, in a session of its own. Returns its stdout."""
    process = subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        out, err = process.communicate(timeout=timeout)
    except BaseException as error:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if isinstance(error, subprocess.TimeoutExpired):
            raise BenchError(f"{os.path.basename(argv[0])} took longer than {timeout} s") from error
        raise
    if process.returncode:
        lines = err.strip().splitlines()
        reason = "; ".join(lines[-3:]) or f"exit code {process.returncode}"
        raise BenchError(f"{os.path.basename(argv[0])} {argv[1] if argv[1:] else ''}: {reason}")
    return out
