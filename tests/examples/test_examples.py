"""The examples, against the library as it is installed."""
import os
import re
import shutil
import subprocess
import tempfile

import pytest

import harness

EXAMPLES = os.path.join(harness.ROOT, "examples")


@pytest.fixture(scope="session")
def installed():
    """`make install PREFIX=...` in a copy of the sources: a prefix belongs to a build directory, and
    the one that others use must stay as it is."""
    root = tempfile.mkdtemp(prefix="hfinstall", dir="/var/tmp")
    prefix, tree = os.path.join(root, "prefix"), os.path.join(root, "tree")
    try:
        shutil.copytree(harness.ROOT, tree, symlinks=True,
                        ignore=lambda folder, names: {name for name in names if name in (
                            ".git", "__pycache__", "corpus") or (name == "build" and os.path.isdir(
                                os.path.join(folder, name)))})
        done = harness.execute(["make", "-C", tree, "install", f"PREFIX={prefix}"], timeout=400,
                               env=harness.environment())
        assert done.code == 0, str(done)
        os.chmod(root, 0o755)
        yield prefix
    finally:
        shutil.rmtree(root, ignore_errors=True)


def flags(prefix):
    env = {**os.environ, "PKG_CONFIG_PATH": os.path.join(prefix, "lib/pkgconfig")}
    return subprocess.run(["pkg-config", "--cflags", "--libs", "holdfast"], env=env, check=True,
                          capture_output=True, text=True).stdout.split()


def build(prefix, name, directory):
    program = os.path.join(directory, name)
    return harness.compile_c(os.path.join(EXAMPLES, f"{name}.c"), program, *flags(prefix), "-pedantic",
                             f"-Wl,-rpath,{prefix}/lib")


def test_installed_files(installed):
    for path in ("bin/holdfast", "include/holdfast.h", "lib/libholdfast.so", "lib/pkgconfig/holdfast.pc",
                 "libexec/holdfast/warden"):
        assert os.path.exists(os.path.join(installed, path)), path


def test_installed_command_works(installed, make_holdfast):
    hf = make_holdfast(cli=os.path.join(installed, "bin/holdfast"))
    assert hf.run("echo", "hello").text == "hello\n"


def test_installed_prefix_can_be_moved(installed, make_holdfast):
    """The command carries its helpers: it needs nothing beside it."""
    hf = make_holdfast()
    moved = os.path.join(hf.root, "holdfast")
    shutil.copy(os.path.join(installed, "bin/holdfast"), moved)
    hf.cli = moved
    assert hf.run("echo", "hello").text == "hello\n"


def test_hello(installed, hf):
    result = harness.execute([build(installed, "hello", hf.root)], env=hf.env)
    assert result.code == 0, str(result)
    assert re.fullmatch(r"hello from hf-box-[0-9a-f]{12}\n", result.text)


def test_agent(installed, hf):
    result = harness.execute([build(installed, "agent", hf.root)], env=hf.env)
    assert result.code == 0, str(result)
    assert "answer.c" in result.text and "line 3" in result.text
    assert "[timed_out, exit code 124]" in result.text
    assert "[exited, exit code 7]" in result.text


def test_session(installed, hf):
    result = harness.execute([build(installed, "session", hf.root)], env=hf.env)
    assert result.code == 0, str(result)
    assert "two words in /tmp" in result.text and "still in /" in result.text
    assert "[timed_out, exit code 124]" in result.text


def test_header_alone(hf):
    """The public header needs nothing before it, in C and in C++."""
    source = os.path.join(hf.root, "a.c")
    with open(source, "w") as file:
        file.write("#include <holdfast.h>\nint main(void) { return hf_version() == 0; }\n")
    for command in (["gcc", "-std=c11"], ["gcc", "-std=c17", "-pedantic"], ["g++", "-x", "c++", "-std=c++11"]):
        if not shutil.which(command[0]):
            continue
        done = harness.execute([*command, "-Wall", "-Wextra", "-Werror", "-fsyntax-only",
                                "-I", os.path.join(harness.ROOT, "include"), source])
        assert done.code == 0, str(done)


def test_program_of_the_header(hf, installed):
    """The complete program that the header's first page shows compiles and runs."""
    with open(os.path.join(harness.ROOT, "include/holdfast.h")) as file:
        page = file.read().split("A COMPLETE PROGRAM", 1)[1].split("CONVENTIONS", 1)[0]
    body = "\n".join(line.lstrip().removeprefix("*") for line in page.splitlines()[1:])
    source = os.path.join(hf.root, "page.c")
    with open(source, "w") as file:
        file.write("#include <holdfast.h>\n#include <stdio.h>\nint main(void)\n{\n" + body.rstrip(" *\n")
                   + "\nreturn 0;\n}\n")
    program = harness.compile_c(source, os.path.join(hf.root, "page"), *flags(installed),
                                f"-Wl,-rpath,{installed}/lib")
    result = harness.execute([program], env=hf.env)
    assert result.code == 0 and "Linux" in result.text, str(result)
