"""Fixtures of all suites. harness.py has what they are made of."""
import os
import shutil
import subprocess
import tempfile

import pytest

import harness

# The engines that the suites run on: docker and podman join here.
ENGINES = ["native"]

# Suites that make no boxes.
QUIET = ("tests/artifacts", "tests/cli")


def pytest_configure(config):
    harness.become_subreaper()
    config.addinivalue_line("markers", "root: needs root on the host")


def pytest_runtest_setup(item):
    if item.get_closest_marker("root") and os.geteuid() != 0:
        pytest.skip("machine: needs root on the host")


@pytest.fixture(scope="session", params=ENGINES)
def engine(request):
    return request.param


@pytest.fixture(scope="session", autouse=True)
def nothing_is_left_at_the_end():
    guard = harness.Guard()
    yield guard
    leaks = guard.settle()
    assert not leaks, "left behind by the whole run:\n" + "\n".join(leaks)


@pytest.fixture(autouse=True)
def guard(request, nothing_is_left_at_the_end):
    """Fails the test that leaves a process, mount, cgroup or directory behind."""
    path = os.path.relpath(str(request.fspath), harness.ROOT)
    if path.startswith(QUIET):
        yield None
        return
    watch = harness.Guard()
    yield watch
    leaks = watch.settle()
    nothing_is_left_at_the_end.suffixes |= watch.suffixes
    if leaks:
        watch.kill_leftovers()
    for instance in watch.instances:
        shutil.rmtree(instance.root, ignore_errors=True)
    assert not leaks, "left behind by the test:\n" + "\n".join(leaks)


@pytest.fixture(scope="session")
def shared_data():
    """The data directory of all tests that do not ask for one: images are prepared once."""
    path = tempfile.mkdtemp(prefix="hfdata", dir="/tmp")
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def make_holdfast(guard, engine, shared_data):
    """Makes installations with a runtime directory of their own."""
    made = []

    def make(own_data=False, **options):
        instance = harness.Holdfast(engine=engine, **options)
        if not own_data:
            instance.data = shared_data
        made.append(instance)
        guard.instances.append(instance)
        return instance

    yield make
    for instance in made:
        instance.remove_made()


@pytest.fixture
def hf(make_holdfast):
    return make_holdfast()


@pytest.fixture
def box(hf):
    """The name of a living box with all defaults."""
    return hf.up()


@pytest.fixture(scope="session")
def client_program():
    with tempfile.TemporaryDirectory(prefix="hfclient") as directory:
        os.chmod(directory, 0o755)
        yield harness.build_client(directory)


@pytest.fixture
def client(hf, client_program):
    """The C client, talking to the same boxes as hf."""
    process = harness.Client(client_program, hf.env)
    yield process
    process.close()


class CliFront:
    """Jobs through the command line."""

    def __init__(self, hf, box):
        self.hf, self.box = hf, box

    def run(self, *argv, input=None, **options):
        """The result document of one job."""
        flags = ["--json"]
        for name, value in options.items():
            flag = "--" + name.replace("_", "-")
            if value is True:
                flags.append(flag)
            elif isinstance(value, dict):
                for key, member in value.items():
                    flags += [flag, f"{key}={member}"]
            else:
                flags += [flag, str(value)]
        if input is not None:
            flags.append("-i")
        result = self.hf.exec(self.box, *argv, flags=flags, input=input)
        document = result.json
        assert "outcome" in document, str(result)
        assert result.code == document["exit_code"] or document["exit_code"] is None, str(result)
        document["code"] = result.code
        return document


class LibraryFront:
    """Jobs through the library."""

    MILLISECONDS = {"timeout": "timeout_ms", "grace": "grace_ms", "drain": "drain_ms"}

    def __init__(self, client, box):
        self.client = client
        client.call("attach", box)

    @staticmethod
    def milliseconds(text):
        return round(float(text[:-2])) if text.endswith("ms") else round(float(text.rstrip("s")) * 1000)

    def run(self, *argv, input=None, base64=False, **options):
        words = {}
        env = options.pop("env", {})
        for name, value in options.items():
            if name in self.MILLISECONDS:
                words[self.MILLISECONDS[name]] = self.milliseconds(value)
            else:
                words[name] = int(value) if isinstance(value, bool) else value
        extra = [f"env={key}={value}" for key, value in env.items()]
        if input is not None:
            words["stdin"] = 1
        self.client.call("start", *(f"{name}={value}" for name, value in words.items()), *extra, "--",
                         *argv)
        if input is not None:
            data = input.encode() if isinstance(input, str) else input
            self.client.call("feed", data)
        answer = self.client.call("wait", "base64" if base64 else "text")
        self.client.call("close")
        return {**answer["result"], "code": answer["code"]}


@pytest.fixture(params=["cli", "library"])
def front(request, hf, box):
    """Jobs in one box, once by each way in: front.run(...) gives the result document."""
    if request.param == "cli":
        yield CliFront(hf, box)
    else:
        yield LibraryFront(request.getfixturevalue("client"), box)


@pytest.fixture(scope="session")
def probe_program():
    """tests/security/probe.c, static."""
    with tempfile.TemporaryDirectory(prefix="hfprobe") as directory:
        os.chmod(directory, 0o755)
        source = os.path.join(harness.TESTS, "security/probe.c")
        yield harness.compile_c(source, os.path.join(directory, "probe"), "-static", "-pthread")


@pytest.fixture(scope="session")
def machine():
    """Facts that decide whether a test can run here."""
    class Machine:
        arch = os.uname().machine
        root = os.geteuid() == 0
        unified = os.path.exists("/sys/fs/cgroup/cgroup.controllers")

        @staticmethod
        def has(program):
            return shutil.which(program) is not None
    return Machine


def pytest_report_header(config):
    version = subprocess.run([harness.CLI, "version"], capture_output=True, text=True) \
        if os.path.exists(harness.CLI) else None
    return f"holdfast: {harness.CLI} {version.stdout.strip() if version else '(missing)'}"
