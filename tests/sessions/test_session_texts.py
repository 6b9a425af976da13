"""The shell texts of sessions (src/warden/session.bash, session.sh), run as the warden runs them, but
without a box: the descriptors, the sealed memory files, the words."""
import fcntl
import os
import re
import shutil
import subprocess

import pytest

import bash_cases
import harness
import sh_cases

# It stands in what the cases print.
PLACE = "/tmp/holdfast-sessions"
F_ADD_SEALS, SEALS = 1033, 1 | 2 | 4 | 8
SOURCE = os.path.join(harness.ROOT, "src/warden")
ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/tmp",
               "LANG": "C.UTF-8", "BOXVAR": "box"}
NOBODY = 65534


def text_of(shell):
    """As the build puts it into the warden: without lines that are comments."""
    with open(os.path.join(SOURCE, f"session.{shell}"), "rb") as file:
        return b"".join(line for line in file if not re.match(rb"[ \t]*# ", line))


def command_of(shell):
    """What the warden gives to -c, read from where it is written."""
    with open(os.path.join(SOURCE, "command.c")) as file:
        source = file.read()
    define = re.search(rf"#define {shell.upper()}_SESSION((?:.*\\\n)*.*)\n", source).group(1)
    pieces = re.findall(r'"((?:[^"\\]|\\.)*)"', define)
    return "".join(pieces).replace('\\"', '"')


def memory_file(data=b"", seal=True):
    fd = os.memfd_create("session", os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)
    with open(fd, "wb", closefd=False) as file:
        file.write(data)
    if seal:
        fcntl.fcntl(fd, F_ADD_SEALS, SEALS)
    return fd


class Session:
    def __init__(self, shell, program, uid=None):
        self.shell, self.program, self.uid = shell, program, uid
        self.state = None

    def close(self):
        if self.state is not None:
            os.close(self.state)

    def hints(self, text, words, env):
        hints = words.split() + ["e:" + name for name in env]
        return hints + (["exec"] if b"exec" in text and "exec" not in hints else [])

    def run(self, text, words="", env=None, args=("job",), cwd="/"):
        """One job. Returns its result and whether it left a state."""
        text = text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape")
        env = env or {}
        hints = self.hints(text, words, env)
        surroundings = {**ENVIRONMENT, **env, **({"HOLDFAST_SESSION": " ".join(hints)} if hints else {})}
        argv = [*self.program, "-c", command_of(self.shell), *args]
        if self.uid is not None:
            argv = ["setpriv", f"--reuid={self.uid}", f"--regid={self.uid}", "--clear-groups", *argv]
        new = memory_file(seal=False)
        files = {6: new, 7: self.state, 8: memory_file(text_of(self.shell)), 9: memory_file(text)}
        high = {number: fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 100)
                for number, fd in files.items() if fd is not None}

        def place():
            for number, fd in high.items():
                os.dup2(fd, number, inheritable=True)
            if 7 not in high:
                harness.close_quietly(7)
            for number in range(10, 100):
                harness.close_quietly(number)

        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, env=surroundings,
                              cwd=cwd, preexec_fn=place, pass_fds=sorted(high), timeout=harness.PATIENCE,
                              start_new_session=True)
        for fd in (*high.values(), files[8], files[9]):
            os.close(fd)
        fcntl.fcntl(new, F_ADD_SEALS, SEALS)
        state = os.pread(new, os.fstat(new).st_size, 0)
        saved = state.startswith(f"#holdfast {self.shell} 1\n".encode()) and state.endswith(b"\n#end\n")
        if saved:
            self.close()
            self.state = new
        else:
            os.close(new)
        return done, saved


def matches(wanted, got):
    got = got.decode("utf-8", "surrogateescape")
    if wanted is None:
        return True
    if wanted.startswith("re:"):
        return re.fullmatch(wanted[3:], got, re.S) is not None
    return wanted == got


def check(session, steps):
    for number, (text, out, more) in enumerate(steps):
        given = {name: more[name] for name in ("words", "env", "args", "cwd") if name in more}
        done, saved = session.run(text, **given)
        where = f"step {number}: {text!r}"
        assert matches(out, done.stdout), f"{where}\nstdout {done.stdout!r}\nwanted {out!r}"
        err = more.get("err", "")
        assert matches(err, done.stderr), f"{where}\nstderr {done.stderr!r}\nwanted {err!r}"
        assert done.returncode == more.get("rc", 0), where
        if more.get("saved", True) is not None:
            assert saved == more.get("saved", True), where


@pytest.fixture
def place():
    shutil.rmtree(PLACE, ignore_errors=True)
    os.makedirs(PLACE)
    os.chmod(PLACE, 0o777)
    yield
    shutil.rmtree(PLACE, ignore_errors=True)


def check_all(cases, *arguments):
    """One test for all of them: a case takes milliseconds, what surrounds a test much longer."""
    failures = []
    for name, steps in cases:
        session = Session(*arguments)
        try:
            check(session, steps)
        except AssertionError as failure:
            failures.append(f"{name}, {failure}")
        finally:
            session.close()
    assert not failures, "\n\n".join(failures)


@pytest.mark.parametrize("uid", [None, NOBODY], ids=["caller", "nobody"])
def test_bash(place, uid):
    if uid is not None and os.geteuid() != 0:
        pytest.skip("machine: only root becomes somebody else")
    check_all(bash_cases.CASES, "bash", ["bash"], uid)


def test_sh(place):
    check_all(sh_cases.CASES, "sh", ["dash"])
