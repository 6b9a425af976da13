"""System calls, sockets and terminals: the parts of the kernel that know no namespace."""
import os
import re
import socket

import pytest

REFUSED = ("EPERM", "ENOSYS")


def test_dangerous_system_calls_are_refused(hardened_probe):
    """mount, bpf, perf, io_uring, userfaultfd, keyrings, modules, kexec, handles, clocks, ..."""
    probe = hardened_probe
    script = "for s in $(/probe/probe syscalls); do echo $s $(/probe/probe syscall $s); done"
    answers = dict(line.split() for line in probe.hf.sh(probe.box, script).splitlines())
    assert len(answers) > 40
    assert {name: answer for name, answer in answers.items() if answer not in REFUSED} == {}


def test_the_hostname_was_not_changed_by_the_probe(probe):
    before = probe.hf.sh(probe.box, "hostname")
    probe("syscall", "sethostname")
    assert probe.hf.sh(probe.box, "hostname") == before


NAMESPACES = ["user", "mnt", "pid", "net", "ipc", "uts", "cgroup", "time"]


@pytest.mark.parametrize("how", ["unshare", "unshare-high", "clone", "clone-high", "clone3"])
def test_no_new_namespace_by_any_door(hardened_probe, how):
    """Also with rubbish in the high half of the flags (the kernel reads 32 bits, so must the filter)."""
    probe = hardened_probe
    script = f"for n in {' '.join(NAMESPACES)}; do echo $n $(/probe/probe namespace {how} $n); done"
    answers = dict(line.split() for line in probe.hf.sh(probe.box, script).splitlines())
    for kind, answer in answers.items():
        # 0x80 is an exit signal to clone(), not a namespace.
        if kind == "time" and how.startswith("clone") and how != "clone3":
            continue
        # EINVAL: the kernel itself refuses the high bits of unshare().
        assert answer in REFUSED + (("EINVAL",) if how == "unshare-high" else ()), (kind, answer)


def test_user_namespaces_are_off_by_a_second_wall(probe):
    """The limit of the box's own namespace, without which only seccomp would stand there."""
    assert probe.hf.sh(probe.box, "cat /proc/sys/user/max_user_namespaces").strip() == "0"


@pytest.mark.parametrize("kind", NAMESPACES[:-1])
def test_setns_to_pid_1(probe, kind):
    assert probe("namespace", "setns-1", kind) in ("EPERM", "EACCES", "ENOSYS")


def test_namespaces_are_all_the_boxes_own(hf, box):
    for kind in ("user", "mnt", "pid", "net", "ipc", "uts", "cgroup"):
        inside = hf.exec(box, "readlink", f"/proc/self/ns/{kind}").text.strip()
        assert inside and inside != os.readlink(f"/proc/self/ns/{kind}"), kind


@pytest.mark.parametrize("name, family, type_, protocol", [
    ("AF_VSOCK", 40, 1, 0), ("AF_ALG", 38, 5, 0), ("AF_PACKET", 17, 3, 0), ("AF_PACKET dgram", 17, 2, 0),
    ("AF_NETLINK audit", 16, 3, 9), ("AF_NETLINK kobject", 16, 3, 15), ("AF_NETLINK netfilter", 16, 3, 12),
    ("AF_NETLINK sock_diag", 16, 3, 4), ("AF_NETLINK generic", 16, 3, 16), ("AF_NETLINK xfrm", 16, 3, 6),
    ("AF_KEY", 15, 3, 2), ("AF_BLUETOOTH", 31, 3, 0), ("AF_CAN", 29, 3, 1), ("AF_TIPC", 30, 1, 0),
    ("AF_RDS", 21, 5, 0), ("AF_X25", 9, 5, 0), ("AF_AX25", 3, 5, 0), ("AF_XDP", 44, 3, 0),
    ("AF_SMC", 43, 1, 0), ("AF_KCM", 41, 2, 0), ("AF_QIPCRTR", 42, 2, 0), ("AF_INET raw", 2, 3, 1),
    ("AF_INET6 raw", 10, 3, 58),
])
def test_socket_families(probe, name, family, type_, protocol):
    answer = probe("socket", family, type_, protocol)
    assert answer in ("EPERM", "EAFNOSUPPORT", "EACCES", "EPROTONOSUPPORT", "ESOCKTNOSUPPORT", "ENOSYS"), name


@pytest.mark.parametrize("family, type_, protocol", [(40, 1, 0), (38, 5, 0), (17, 3, 0), (16, 3, 9)])
def test_socket_families_with_high_bits(probe, family, type_, protocol):
    """A filter that compares 64 bits lets AF_VSOCK | 1 << 32 through."""
    answer = probe("socket-high", family, type_, protocol)
    assert answer in ("EPERM", "EAFNOSUPPORT", "EACCES", "EPROTONOSUPPORT", "ENOSYS", "EINVAL")


@pytest.mark.parametrize("family, type_", [(1, 1), (1, 2), (1, 5), (2, 1), (2, 2), (10, 1), (16, 3)])
def test_ordinary_sockets_work(probe, family, type_):
    assert probe("socket", family, type_, 0) in ("ok", "EAFNOSUPPORT")


def test_seccomp_is_in_force(hardened_probe):
    probe = hardened_probe
    status = probe.hf.exec(probe.box, "cat", "/proc/self/status").text
    assert re.search(r"^Seccomp:\s+2$", status, re.M)
    assert re.search(r"^NoNewPrivs:\s+1$", status, re.M)


def test_strict_is_narrower(make_probe):
    """Something that standard allows and strict does not: ptrace of an own child."""
    standard = make_probe("--hardening", "standard")
    strict = make_probe("--hardening", "strict")
    own = "sleep 100 & /probe/probe ptrace $!"
    assert standard.hf.sh(standard.box, own).strip() == "ok"
    assert strict.hf.sh(strict.box, own).strip() in ("EPERM", "ENOSYS")


@pytest.mark.parametrize("name", ["TIOCSTI", "TIOCSTI-high", "TIOCLINUX", "TIOCLINUX-high"])
def test_terminal_injection(probe, name):
    """CVE-2017-5226 and CVE-2023-28100; with high bits CVE-2019-10063."""
    assert probe("terminal", name) in ("EPERM", "EIO", "EINVAL", "ENOTTY")


def test_a_job_has_no_controlling_terminal_of_the_caller(hf, box):
    assert hf.exec(box, "sh", "-c", "exec 3</dev/tty").code != 0
    assert hf.exec(box, "ps", "-o", "tty=", "-p", "1").text.strip() in ("?", "")


@pytest.mark.parametrize("name", ["x32", "i386"])
def test_foreign_instruction_sets(probe, machine, name):
    if machine.arch != "x86_64":
        pytest.skip("machine: no such ABI on " + machine.arch)
    result = probe.hf.exec(probe.box, "/probe/probe", "foreign", name)
    if name == "x32":
        assert result.text.strip() == "ENOSYS", str(result)
    else:
        assert result.code >= 128 or result.text.strip() in ("ENOSYS", "EPERM"), str(result)


def test_abstract_sockets_of_the_host(probe, make_probe):
    """Abstract names belong to a network namespace; sharing the host's must not share them."""
    name = f"holdfast-test-{os.getpid()}-{os.urandom(4).hex()}"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("\0" + name)
        server.listen()
        assert probe("abstract", name) == "ECONNREFUSED"
        shared = make_probe("--network", "host")
        assert shared("abstract", name) in ("EPERM", "EACCES")
        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.accept()


def test_no_socket_of_ours_is_abstract(hf, box):
    with open("/proc/net/unix") as file:
        names = [line.split()[-1] for line in file if "@" in line]
    assert not [name for name in names if "holdfast" in name or "warden" in name or "keeper" in name]


def test_network_is_loopback_only(hf, box):
    assert hf.sh(box, "ls /sys/class/net 2>/dev/null || cut -d: -f1 /proc/net/dev | tail -n +3 | tr -d ' '").split() \
        == ["lo"]
    script = "import socket; socket.create_connection(('198.51.100.1', 80), 2)"
    result = hf.exec(box, "python3", "-c", script)
    assert "unreachable" in result.errors, str(result)


def test_loopback_of_the_host_is_not_reached(hf, box):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        result = hf.exec(box, "python3", "-c", f"import socket; socket.create_connection(('127.0.0.1', {port}), 2)")
        assert "refused" in result.errors, str(result)


def test_system_v_ipc_is_the_boxes_own(make_probe):
    one, other = make_probe(), make_probe()
    # A segment lives as long as the namespace.
    assert one("shm", "make", 0x48460001) == "ok"
    assert one("shm", "find", 0x48460001) == "ok"
    assert other("shm", "find", 0x48460001) == "ENOENT"


def test_kernel_memory_and_log_are_hidden(probe):
    for path in ("/proc/kcore", "/proc/kallsyms", "/proc/kmsg", "/dev/kmsg", "/dev/mem", "/proc/keys",
                 "/proc/key-users", "/proc/timer_list", "/proc/sched_debug", "/proc/latency_stats",
                 "/proc/sysrq-trigger", "/proc/scsi/scsi", "/sys/kernel/debug/tracing/trace",
                 "/sys/kernel/security/lsm", "/sys/firmware/dmi/tables/DMI", "/proc/interrupts"):
        assert probe("read", path) != "ok", path


def test_sysctls_cannot_be_written(hf, probe):
    script = ("find /proc/sys -type f 2>/dev/null | while read f; do "
              "v=$(cat $f 2>/dev/null) && (printf %s \"$v\" > $f) 2>/dev/null && echo WROTE $f; done; true")
    assert hf.exec(probe.box, "bash", "-c", script).text == ""
    for path in ("/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/proc/sys/vm/panic_on_oom",
                 "/proc/sys/kernel/modprobe", "/proc/sys/user/max_user_namespaces", "/proc/sys/kernel/hostname"):
        assert probe("write", path, "1") != "ok", path


def test_sys_cannot_be_written(hf, box):
    script = ("find /sys -type f -perm /222 2>/dev/null | head -500 | while read f; do "
              "(printf 1 > $f) 2>/dev/null && echo WROTE $f; done; true")
    assert hf.exec(box, "bash", "-c", script).text == ""


def test_release_agent(probe):
    """CVE-2022-0492: no cgroup hierarchy can be mounted, none that is there can be written."""
    assert probe("syscall", "mount-cgroup") in REFUSED
    script = "find / -xdev -name release_agent -o -name notify_on_release 2>/dev/null; find /sys -name release_agent"
    for path in probe.hf.exec(probe.box, "sh", "-c", script).text.split():
        assert probe("open-rw", path) in ("EROFS", "EACCES", "EPERM"), path


def test_core_dumps_go_nowhere(probe):
    """CVE-2025-31133's neighbour: a dump through core_pattern would be written by the host."""
    before = set(os.listdir("/"))
    result = probe.hf.exec(probe.box, "/probe/probe", "dump-core", flags=["--json", "-w", "/tmp"])
    assert result.json["signal"] in ("ABRT", "SIGABRT")
    assert probe.hf.sh(probe.box, "ls /tmp") == ""
    assert set(os.listdir("/")) == before


@pytest.mark.parametrize("what", ["nice", "fifo"])
def test_priorities_cannot_be_raised(probe, what):
    assert probe("priority", what) in ("EPERM", "EACCES")


@pytest.mark.parametrize("resource", range(16))
def test_hard_limits_cannot_be_raised(probe, resource):
    assert probe("raise-limit", resource) in ("EPERM", "unlimited", "EINVAL")


def test_hard_limits_have_an_end(hf, box):
    text = hf.exec(box, "cat", "/proc/self/limits").text
    hard = {line[:26].strip(): line[26:].split()[1] for line in text.splitlines()[1:]}
    assert hard["Max core file size"] == "0"
    for name in ("Max open files", "Max msgqueue size", "Max pending signals", "Max nice priority",
                 "Max realtime priority", "Max locked memory"):
        assert hard[name] != "unlimited", name
    assert hard["Max realtime priority"] == "0"
