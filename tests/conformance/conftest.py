"""What the suites about jobs share."""
import os

import pytest

import harness


class Gate:
    """A fifo on a volume: a job goes on when the test says so, and not at some time."""

    # The beginning of a bash script that uses it: `pass` waits for the gate to be opened once.
    SCRIPT = "exec 9<>/gate/fifo; pass() { read -r -u 9; }; "

    def __init__(self, directory):
        self.directory = directory
        path = os.path.join(directory, "fifo")
        os.mkfifo(path)
        self.fd = os.open(path, os.O_RDWR)

    @property
    def flags(self):
        return ["-v", f"{self.directory}:/gate"]

    def open(self, times=1):
        os.write(self.fd, b"\n" * times)


@pytest.fixture
def gate(tmp_path):
    made = Gate(str(tmp_path))
    yield made
    os.close(made.fd)


@pytest.fixture
def gated(hf, gate):
    """A box whose jobs wait for the gate."""
    return hf.up(*gate.flags)


@pytest.fixture
def quick(make_holdfast):
    """The release build: for many commands, and for measuring memory."""
    return make_holdfast(cli=os.path.join(harness.RELEASE, "holdfast"))
