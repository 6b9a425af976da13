"""A box with the probe in it."""
import os
import shutil

import pytest


class Probe:
    """Tries from inside: probe("read", "/proc/1/mem") gives "ok" or the name of an errno."""

    def __init__(self, hf, box):
        self.hf, self.box = hf, box

    def __call__(self, *words, flags=(), box=None, **options):
        result = self.hf.exec(box or self.box, "/probe/probe", *map(str, words), flags=flags, **options)
        assert result.code == 0, str(result)
        return result.text.strip()

    def popen(self, *words, box=None, flags=()):
        return self.hf.popen("exec", *flags, box or self.box, "--", "/probe/probe", *map(str, words))


@pytest.fixture
def probe_dir(hf, probe_program):
    path = os.path.join(hf.root, "probe")
    os.mkdir(path, 0o755)
    shutil.copy(probe_program, os.path.join(path, "probe"))
    os.chmod(os.path.join(path, "probe"), 0o755)
    return path


@pytest.fixture
def probed_up(hf, probe_dir):
    """Makes boxes that have the probe."""
    return lambda *flags: hf.up("-v", f"{probe_dir}:/probe:ro", *flags)


@pytest.fixture
def probe(hf, probed_up):
    return Probe(hf, probed_up())


@pytest.fixture(params=["standard", "strict"])
def hardened_probe(request, hf, probed_up):
    """Once for each set of restrictions."""
    return Probe(hf, probed_up("--hardening", request.param))


@pytest.fixture
def make_probe(hf, probed_up):
    return lambda *flags: Probe(hf, probed_up(*flags))
