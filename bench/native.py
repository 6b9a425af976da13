# SPDX-License-Identifier: Apache-2.0
"""The native engine: builds the two C programs, runs them, and reads what they print."""
import glob
import json
import os
import struct

from workspace import BenchError, command, environment, say

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RELEASE = os.path.join(ROOT, "build", "release")
OUT = os.path.join(ROOT, "build", "bench")
CFLAGS = ["-std=gnu17", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-Werror"]
TIMEOUT = 900


def build(name, *arguments):
    """Compiles bench/NAME.c to build/bench/NAME."""
    here = os.path.dirname(os.path.abspath(__file__))
    os.makedirs(OUT, exist_ok=True)
    program = os.path.join(OUT, name)
    command([os.environ.get("CC", "cc"), *CFLAGS, "-o", program, os.path.join(here, f"{name}.c"),
             os.path.join(here, "sample.c"), *arguments])
    return program


def sections(processes):
    """The arguments that make the C programs run (name, count, argv) in their rounds."""
    words = []
    for name, count, argv in processes:
        words += [":::", name, str(count), *argv]
    return words


def purge(name):
    """Removes all boxes of the workspace of that name, if a client was ever built."""
    program = os.path.join(OUT, "client")
    if os.path.exists(program):
        try:
            command([program, "purge"], env=environment(name))
        except (BenchError, OSError) as error:
            say(f"boxes may be left: {error}")


class Spawner:
    """Whole processes, timed in turn."""

    def __init__(self, references):
        self.references = references
        self.program = build("spawn")

    def times(self, rounds, warmup, processes):
        return json.loads(command([self.program, str(rounds), str(warmup), *sections(processes)],
                                  env=self.references.env(), timeout=TIMEOUT))


class Client:
    """The library, called from C."""

    def __init__(self, workspace, references):
        if not glob.glob(os.path.join(RELEASE, "libholdfast.so*")):
            raise BenchError("build/release is not built; run `make build` first")
        self.references = references
        self.cli = os.path.join(RELEASE, "holdfast")
        self.program = build("client", "-I", os.path.join(ROOT, "include"), "-L", RELEASE,
                             f"-Wl,-rpath,{RELEASE}", "-lholdfast")
        self.workspace = workspace
        workspace.on_exit(self.purge)

    def call(self, *arguments, processes=()):
        words = [str(word) for word in arguments]
        return json.loads(command([self.program, *words, *sections(processes)],
                                  env=self.references.env(), timeout=TIMEOUT))

    def purge(self):
        purge(self.workspace.name)

    def exec_argv(self, box, argv):
        return [self.cli, "exec", box, "--", *argv]

    def copy_argv(self, box, source, target):
        """holdfast cp; a path of the box begins with a colon."""
        place = [f"{box}{word}" if word.startswith(":") else word for word in (source, target)]
        return [self.cli, "cp", *place]

    def run_argv(self, argv):
        return [self.cli, "run", "--engine", "native", "--", *argv]


def warden():
    """The warden's file: (size in bytes, whether it is static)."""
    path = os.path.join(RELEASE, "warden")
    if not os.path.isfile(path):
        raise BenchError("build/release has no warden")
    return os.path.getsize(path), is_static(path)


def is_static(path):
    """True for a 64-bit ELF file that asks for no interpreter. It may still be a static PIE."""
    pt_interp = 3
    with open(path, "rb") as handle:
        header = handle.read(64)
        if header[:4] != b"\x7fELF" or header[4] != 2:
            raise BenchError(f"{path} is no 64-bit ELF file")
        offset, = struct.unpack_from("<Q", header, 32)
        size, count = struct.unpack_from("<HH", header, 54)
        handle.seek(offset)
        table = handle.read(size * count)
    return all(struct.unpack_from("<I", table, i * size)[0] != pt_interp for i in range(count))
