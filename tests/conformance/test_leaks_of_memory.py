"""One command of each kind with the sanitizer's search for leaks, which the other tests may do without."""
import concurrent.futures

import pytest

import harness


@pytest.fixture(autouse=True)
def needs_sanitizer():
    with open(harness.CLI, "rb") as file:
        if b"__asan_" not in file.read():
            pytest.skip("machine: this build has no sanitizer")


def test_no_command_leaks(hf):
    hf.up("--name", "one", "--task", "t", "-e", "A=b", "--label", "c=d", "--tmpfs", "/x")
    hf.up("--name", "gone")
    commands = [
        ["run", "--json", "-e", "A=b", "--", "sh", "-c", "echo x; exit 3"],
        ["up", "--json", "--name", "one"],
        ["exec", "one", "--", "echo", "x"],
        ["exec", "--json", "one", "--", "no-such-program"],
        ["exec", "no-such-box", "--", "true"],
        ["ps"],
        ["inspect", "one"],
        ["run", "--dry-run", "--", "true"],
        ["doctor"],
        ["stop", "gone"],
        ["run", "--memory", "1k", "--", "true"],
        ["run", "-v", "/no/such/source:/data", "--", "true"],
    ]
    options = hf.env.get("ASAN_OPTIONS", "") + ":detect_leaks=1:exitcode=99"

    def one(command):
        return hf(*command, env={"ASAN_OPTIONS": options}, timeout=120)

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for result in pool.map(one, commands):
            assert result.code != 99 and "LeakSanitizer" not in result.errors, str(result)
