"""What the build promises about its files: static helpers, a small warden, a closed library."""
import os
import re
import subprocess

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RELEASE = os.environ.get("HOLDFAST_RELEASE", os.path.join(ROOT, "build/release"))


def artifact(name):
    return os.path.join(RELEASE, name)


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("name", ["warden", "keeper"])
def test_helper_is_static(name):
    headers = output("readelf", "-lW", artifact(name))
    assert "INTERP" not in headers
    assert "NEEDED" not in output("readelf", "-dW", artifact(name))


@pytest.mark.parametrize("name", ["warden", "keeper"])
def test_helper_is_at_most_150_kib(name):
    assert os.path.getsize(artifact(name)) <= 150 * 1024


@pytest.mark.parametrize("name", ["warden", "keeper", "holdfast", "libholdfast.so"])
def test_is_hardened(name):
    headers = output("readelf", "-hlW", artifact(name))
    assert re.search(r"Type:\s+DYN", headers), "not position independent"
    assert "GNU_RELRO" in headers
    stack = re.search(r"GNU_STACK.*", headers).group()
    assert "RWE" not in stack, "the stack is executable"
    dynamic = output("readelf", "-dW", artifact(name))
    # Static programs have nothing to bind.
    assert name in ("warden", "keeper") or "NOW" in dynamic, "symbols are bound lazily"
    assert "TEXTREL" not in dynamic


def test_library_exports_the_api_only():
    symbols = output("nm", "-D", "--defined-only", artifact("libholdfast.so")).split("\n")
    names = {line.split()[-1].split("@")[0] for line in symbols if line and " A " not in line}
    assert names
    assert not [name for name in names if not re.fullmatch(r"hf_[a-z]\w*", name)]


def test_library_exports_every_function_of_the_header():
    with open(os.path.join(ROOT, "include/holdfast.h")) as file:
        text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
    declared = set(re.findall(r"^HF_API [^;(]*?(hf_\w+)\(", text, re.M))
    symbols = output("nm", "-D", "--defined-only", artifact("libholdfast.so"))
    exported = {line.split()[-1].split("@")[0] for line in symbols.split("\n") if line}
    assert declared
    assert declared - exported == set()


def test_versions_agree():
    with open(os.path.join(ROOT, "include/holdfast.h")) as file:
        header = re.search(r'#define HF_VERSION "([^"]+)"', file.read()).group(1)
    with open(os.path.join(ROOT, "meson.build")) as file:
        project = re.search(r"version: '([^']+)'", file.read()).group(1)
    assert header == project


def test_tool_loads_no_slow_libraries():
    # Each costs every `holdfast exec` more than the job itself.
    loaded = output("ldd", artifact("holdfast"))
    assert not re.findall(r"libcurl|libarchive|libcrypto|libssl|libseccomp", loaded)
