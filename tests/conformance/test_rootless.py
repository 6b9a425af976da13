"""The same boxes for somebody who is not root: without subordinate ids, with them, and nested."""
import os
import re
import shutil

import pytest

import harness

pytestmark = pytest.mark.root

UID = 12345
SUBIDS = 5000000
NAME = "hfrootless"


class Rootless(harness.Holdfast):
    """Runs the command as an ordinary user, optionally in a mount namespace of the test's own in
    which /etc/passwd and /etc/subuid know that user. The host's files are not touched."""

    def __init__(self, root, subids):
        os.chmod(root, 0o755)
        home = os.path.join(root, "home")
        os.mkdir(home, 0o700)
        os.chown(home, UID, UID)
        tool = os.path.join(root, "holdfast")
        shutil.copy(harness.CLI, tool)
        os.chmod(tool, 0o755)
        become = ["setpriv", "--reuid", str(UID), "--regid", str(UID), "--clear-groups", "--inh-caps=-all"]
        if subids:
            for name, line in (("passwd", f"{NAME}:x:{UID}:{UID}::{home}:/bin/sh\n"),
                               ("group", f"{NAME}:x:{UID}:\n")):
                with open(os.path.join(root, name), "w") as file:
                    file.write(harness.read_file(f"/etc/{name}") + line)
            for name in ("subuid", "subgid"):
                with open(os.path.join(root, name), "w") as file:
                    file.write(f"{NAME}:{SUBIDS}:65536\n")
            script = "".join(f"mount --bind {root}/{name} /etc/{name} && "
                             for name in ("passwd", "group", "subuid", "subgid"))
            become = ["unshare", "--mount", "--propagation", "private", "sh", "-c",
                      script + 'exec "$0" "$@"'] + become
        super().__init__(root=root, prefix=become, cli=tool)
        self.runtime = os.path.join(home, "run")
        self.data = os.path.join(home, "data")

    @property
    def env(self):
        return {**super().env, "HOME": os.path.join(self.root, "home"), "USER": NAME}


@pytest.fixture(params=["single id", "subordinate ids"])
def rootless(request, guard):
    import tempfile
    if request.param == "subordinate ids" and not shutil.which("newuidmap"):
        pytest.skip("uidmap is not installed")
    instance = Rootless(tempfile.mkdtemp(prefix="hf", dir="/tmp"), request.param == "subordinate ids")
    instance.kind = request.param
    guard.instances.append(instance)
    yield instance
    instance.remove_made()


@pytest.fixture
def rootless_box(rootless):
    return rootless.up()


def test_doctor_tells_what_is_missing(rootless):
    result = rootless("doctor", "--json")
    assert result.code == 0, str(result)
    document = result.json
    assert document["usable"] is True
    text = " ".join(f"{check['name']} {check['status']} {check['detail']}" for check in document["checks"])
    assert "warn" in text, "a rootless host without cgroups is weaker, and doctor says so"


def test_run(rootless):
    result = rootless.run("sh", "-c", "echo $SANDBOX; id -u; exit 3")
    assert (result.code, result.text) == (3, "holdfast\n0\n"), str(result)
    assert rootless.boxes() == []


def test_box_lives_and_ends(rootless, rootless_box):
    rootless.sh(rootless_box, "echo kept > /workspace/file")
    assert rootless.sh(rootless_box, "cat /workspace/file") == "kept\n"
    assert [entry["name"] for entry in rootless.boxes()] == [rootless_box]
    rootless.ok("stop", rootless_box)
    assert rootless.boxes() == [] and rootless.box_dirs() == []


def test_processes_belong_to_the_caller(rootless, rootless_box):
    pid = rootless.boxes()[0]["pid"]
    uids = re.search(r"^Uid:\s+(\d+)", harness.read_file(f"/proc/{pid}/status"), re.M).group(1)
    assert int(uids) == UID


def test_json_timeout_and_tree(rootless, rootless_box):
    result = rootless.exec(rootless_box, "bash", "-c", "echo x; setsid sleep 1001 & sleep 1002",
                           flags=["--json", "--timeout", "300ms"])
    assert (result.code, result.json["outcome"], result.json["stdout"]) == (124, "timed_out", "x\n")
    assert not re.search(r"sleep 100\d", rootless.sh(rootless_box, "ps -eo args"))


def test_stdin_and_output(rootless, rootless_box):
    data = os.urandom(1 << 20)
    assert rootless.exec(rootless_box, "cat", flags=["-i"], input=data).out == data


def test_root_is_writable(rootless, rootless_box):
    rootless.sh(rootless_box, "echo x > /new; echo x >> /etc/hosts; mkdir /opt/a; rm /etc/passwd")


def test_usr_belongs_to_nobody(rootless, rootless_box):
    """Without privileges ids of layers cannot be mapped; doctor says so."""
    result = rootless.exec(rootless_box, "sh", "-c", "echo x > /usr/bin/new")
    assert result.code != 0 and "Permission denied" in result.errors
    assert "layers" in rootless("doctor").text


def test_strict(rootless):
    result = rootless.run("sh", "-c", "echo x > /etc/x", flags=["--hardening", "strict"])
    assert result.code != 0 and "Read-only" in result.errors, str(result)


def test_setuid_file_on_a_volume_is_refused(rootless):
    """It would belong to the caller, and whoever reached it on the host would act as him."""
    shared = os.path.join(rootless.root, "home", "setuid")
    os.mkdir(shared)
    os.chown(shared, UID, UID)
    result = rootless.run("sh", "-c", "cp /bin/true /data/t; chmod 4755 /data/t", flags=["-v", f"{shared}:/data"])
    assert result.code != 0 and "not permitted" in result.errors, str(result)
    assert os.stat(os.path.join(shared, "t")).st_mode & 0o6000 == 0


def test_volume_files_belong_to_the_caller(rootless):
    shared = os.path.join(rootless.root, "home", "shared")
    os.mkdir(shared)
    os.chown(shared, UID, UID)
    result = rootless.run("sh", "-c", "echo x > /data/new", flags=["-v", f"{shared}:/data"])
    assert result.code == 0, str(result)
    assert os.lstat(f"{shared}/new").st_uid == UID


def test_the_host_is_not_visible(rootless, rootless_box):
    assert rootless.exec(rootless_box, "ls", rootless.root).code != 0
    assert rootless.exec(rootless_box, "cat", "/etc/shadow").code != 0


def test_other_users_of_the_box(rootless, rootless_box):
    result = rootless.exec(rootless_box, "id", "-u", flags=["-u", "1000"])
    if rootless.kind == "single id":
        # There is only one id to be: a clear refusal.
        assert result.code == 125 and "1000" in result.errors, str(result)
    else:
        assert result.text == "1000\n", str(result)


def test_limits_that_cannot_be_enforced_are_refused(rootless):
    """Asked for by name and not possible without a cgroup of one's own: an error, no silence."""
    result = rootless.run("true", flags=["--memory", "64m"])
    if result.code != 0:
        assert result.code == 125 and "memory" in result.errors, str(result)
        assert rootless.box_dirs() == []
        return
    result = rootless.run("python3", "-c", "x = bytearray(300 << 20)", flags=["--memory", "64m"])
    assert result.code != 0, "accepted and not enforced"


def test_allow_weaker_says_so(rootless):
    result = rootless.run("true", flags=["--memory", "64m", "--allow-weaker"])
    assert result.code == 0, str(result)


def test_capabilities_are_the_boxes_own(rootless, rootless_box):
    text = rootless.exec(rootless_box, "grep", "^Cap", "/proc/self/status").text
    bounding = re.search(r"CapBnd:\s+(\w+)", text).group(1)
    assert int(bounding, 16) & (1 << 21) == 0, "CAP_SYS_ADMIN"


def test_no_new_user_namespaces(rootless, rootless_box):
    assert rootless.exec(rootless_box, "unshare", "-U", "true").code != 0


def test_runtime_directory_of_somebody_else(rootless):
    os.mkdir(rootless.runtime, 0o755)  # root's
    result = rootless.run("true")
    assert result.code == 125 and rootless.runtime in result.errors, str(result)


def test_users_do_not_see_each_others_boxes(rootless, hf):
    hf.up("--name", "roots")
    assert rootless.boxes() == []
    assert rootless.exec("roots", "true").code == 125


def test_killed_keeper_is_swept(rootless, rootless_box):
    pid = rootless.boxes()[0]["pid"]
    os.kill(harness.process_stat(pid)[1], 9)
    harness.wait_until(lambda: not harness.alive(pid), "the warden went with it")
    assert rootless.boxes() == []
    assert rootless.box_dirs() == []


def test_inside_a_user_namespace(hf, guard):
    """Nested as under `unshare -r`: it works, or it is a clear error and leaves nothing."""
    hf.prefix = ["unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--mount-proc"]
    result = hf.run("sh", "-c", "echo works")
    assert result.code in (0, 125), str(result)
    if result.code == 0:
        assert result.text == "works\n"
    else:
        assert result.errors.startswith("holdfast: "), str(result)
    doctor = hf("doctor")
    assert doctor.code in (0, 1), str(doctor)
    # PID 1 of that namespace was the command itself; with its end the keeper was killed.
    hf.prefix = []
    hf.ok("ps")
