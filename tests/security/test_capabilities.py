"""What root of a box may, and that exec and run give the same."""
import os
import re

import pytest

import harness

NAMES = ["CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID"]
STANDARD = {"CHOWN", "DAC_OVERRIDE", "FOWNER", "SETGID", "SETUID"}


def mask(names):
    return sum(1 << NAMES.index(name) for name in names)


def status_of(hf, box, **options):
    text = hf.exec(box, "cat", "/proc/self/status", **options).text
    return dict(re.findall(r"^(Cap\w+|NoNewPrivs|Seccomp):\s+(\S+)$", text, re.M))


def test_standard_capabilities(hf, box):
    status = status_of(hf, box)
    for name in ("CapPrm", "CapEff", "CapBnd"):
        assert int(status[name], 16) == mask(STANDARD), name
    assert int(status["CapInh"], 16) == int(status["CapAmb"], 16) == 0


def test_strict_has_none(hf):
    status = status_of(hf, hf.up("--hardening", "strict"))
    for name in ("CapPrm", "CapEff", "CapBnd", "CapInh", "CapAmb"):
        assert int(status[name], 16) == 0, name


def test_a_box_that_starts_as_a_user_cannot_change_users(hf):
    """SETUID and SETGID only where the box starts as root and may drop."""
    status = status_of(hf, hf.up("--user", "1234"))
    assert int(status["CapBnd"], 16) & mask({"SETUID", "SETGID"}) == 0 or int(status["CapEff"], 16) == 0


@pytest.mark.parametrize("flags, names", [
    (["--cap-drop", "ALL"], set()),
    (["--cap-drop", "CHOWN"], STANDARD - {"CHOWN"}),
    (["--cap-add", "KILL"], STANDARD | {"KILL"}),
    (["--cap-drop", "ALL", "--cap-add", "CHOWN"], {"CHOWN"}),
    (["--cap-add", "cap_kill"], STANDARD | {"KILL"}),
])
def test_capability_flags(hf, flags, names):
    status = status_of(hf, hf.up(*flags))
    assert int(status["CapBnd"], 16) == mask(names)
    assert int(status["CapEff"], 16) == mask(names)


def test_all_capabilities_are_those_of_a_user_namespace(hf):
    """Even --cap-add ALL is root of a box and not of the host."""
    box = hf.up("--cap-add", "ALL")
    assert hf.exec(box, "mount", "-t", "tmpfs", "none", "/mnt").code != 0, "seccomp stands in front of it"
    assert hf.exec(box, "sh", "-c", "echo 1 > /proc/sys/kernel/sysrq").code != 0
    pid = hf.boxes()[0]["pid"]
    uid = int(re.search(r"^Uid:\s+(\d+)", harness.read_file(f"/proc/{pid}/status"), re.M).group(1))
    assert uid >= 100000


def test_exec_parity(hf, box):
    """A job by exec stands behind the same walls as one by run, and as PID 1."""
    by_exec = status_of(hf, box)
    text = hf.run("cat", "/proc/self/status").text
    by_run = dict(re.findall(r"^(Cap\w+|NoNewPrivs|Seccomp):\s+(\S+)$", text, re.M))
    warden = harness.read_file(f"/proc/{hf.boxes()[0]['pid']}/status")
    of_warden = dict(re.findall(r"^(Cap\w+|NoNewPrivs|Seccomp):\s+(\S+)$", warden, re.M))
    assert by_exec == by_run
    assert by_exec["CapBnd"] == of_warden["CapBnd"]
    assert by_exec["Seccomp"] == of_warden["Seccomp"] == "2"
    assert by_exec["NoNewPrivs"] == of_warden["NoNewPrivs"] == "1"


def test_inheritable_capabilities_of_the_caller(hf):
    """CVE-2022-24769: they must not come in."""
    result = harness.execute(["setpriv", "--inh-caps=+chown,+net_raw", "--ambient-caps=+chown,+net_raw",
                              hf.cli, "run", "--", "grep", "-E", "CapInh|CapAmb", "/proc/self/status"], env=hf.env)
    assert result.code == 0, str(result)
    assert [line.split()[1] for line in result.text.splitlines()] == ["0" * 16] * 2


def test_supplementary_groups_of_the_caller(hf):
    """CVE-2022-2989 and its family: no group of the caller inside."""
    result = harness.execute(["setpriv", "--groups", "4,20,24", hf.cli, "run", "--", "id", "-G"], env=hf.env)
    assert result.text.split() == ["0"], str(result)


def test_keeper_and_warden_hold_little(hf, box):
    """Both are out of reach for ptrace of other users, and the warden has no descriptor of the host."""
    warden = hf.boxes()[0]["pid"]
    for name in os.listdir(f"/proc/{warden}/fd"):
        link = os.readlink(f"/proc/{warden}/fd/{name}")
        assert not link.startswith("/") or link.startswith("/dev/null"), link


def test_no_path_string_of_the_caller_in_pid_1(hf, box):
    command = harness.read_file(f"/proc/{hf.boxes()[0]['pid']}/cmdline")
    assert hf.root not in command
