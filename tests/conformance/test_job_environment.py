"""What a job finds around it: variables, directory, user, names."""
import os

import pytest

import harness


def variables(text):
    return dict(line.split("=", 1) for line in text.split("\0") if line)


def environment_of(front, **options):
    return variables(front.run("env", "-0", **options)["stdout"])


def test_environment_is_small_and_known(front, box):
    env = environment_of(front)
    assert env["HOLDFAST_BOX"] == box
    assert env["SANDBOX"] == "holdfast"
    assert env["HOME"] == "/root"
    assert env["USER"] == env["LOGNAME"] == "root"
    assert "/usr/bin" in env["PATH"].split(":")
    assert set(env) <= {"PATH", "HOME", "USER", "LOGNAME", "LANG", "SANDBOX", "HOLDFAST_BOX", "TERM",
                        "SHELL"}


def test_callers_environment_stays_outside(hf):
    result = hf.run("env", env={"MY_SECRET": "hush", "LD_PRELOAD": ""})
    assert "hush" not in result.text and "MY_SECRET" not in result.text
    assert "LD_PRELOAD" not in result.text and "HOLDFAST_RUNTIME_DIR" not in result.text


def test_box_variables(hf):
    box = hf.up("-e", "ONE=1", "-e", "TWO=a=b", "-e", "EMPTY=")
    env = variables(hf.exec(box, "env", "-0").text)
    assert (env["ONE"], env["TWO"], env["EMPTY"]) == ("1", "a=b", "")


def test_job_variables_win(hf):
    box = hf.up("-e", "WHO=box")
    assert hf.sh(box, "echo $WHO") == "box\n"
    assert hf.sh(box, "echo $WHO", flags=["-e", "WHO=job"]) == "job\n"
    assert hf.sh(box, "echo $WHO") == "box\n"


def test_the_last_of_a_name_wins(hf, box):
    assert hf.sh(box, "echo $A", flags=["-e", "A=1", "-e", "A=2"]) == "2\n"
    assert hf.exec(box, "sh", "-c", "env | grep -c ^A=", flags=["-e", "A=1", "-e", "A=2"]).text == "1\n"


def test_path_can_be_changed(hf, box):
    hf.sh(box, "mkdir /workspace/bin; printf '#!/bin/sh\\necho mine' > /workspace/bin/tool; chmod +x /workspace/bin/tool")
    assert hf.exec(box, "tool", flags=["-e", "PATH=/workspace/bin:/usr/bin:/bin"]).text == "mine\n"


def test_newline_in_env_injects(front):
    value = "a\nEVIL=1\n$(touch /tmp/evil)`id`'\""
    env = environment_of(front, env={"V": value})
    assert env["V"] == value and "EVIL" not in env
    assert front.run("test", "-e", "/tmp/evil")["code"] == 1


def test_a_bare_name_is_taken_from_the_caller(hf, box):
    result = hf.exec(box, "sh", "-c", "echo $FROM_OUTSIDE", flags=["-e", "FROM_OUTSIDE"],
                     env={"FROM_OUTSIDE": "here"})
    assert result.text == "here\n"
    result = hf.exec(box, "true", flags=["-e", "NOT_SET_ANYWHERE"])
    assert result.code == 2 and "NOT_SET_ANYWHERE" in result.errors


def test_secrets_in_ps(hf):
    """Values are in no argv of the host, and not in inspect."""
    secret = "s3cr3t-" + os.urandom(8).hex()
    box = hf.up("-e", "TOKEN", env={"TOKEN": secret})
    process = hf.popen("exec", "-e", "OTHER", box, "--", "sh", "-c", "echo ready; sleep 1000",
                       env={"OTHER": secret})
    process.stdout.readline()
    for pid in harness.descendants():
        assert secret not in harness.read_file(f"/proc/{pid}/cmdline"), harness.describe_process(pid)
    assert secret not in hf.ok("inspect", box).text
    assert secret not in hf.ok("ps", "--json").text
    for top, _, files in os.walk(hf.runtime):
        for name in files:
            assert secret not in harness.read_file(os.path.join(top, name)), f"{top}/{name}"
    process.terminate()
    process.communicate()


def test_argv_is_passed_unchanged(front):
    words = ["", " ", "a b", "$HOME", "*", "'", '"', "\\", "\n", "--", "-x", "\u20ac"]
    result = front.run("python3", "-c", "import sys,json; print(json.dumps(sys.argv[1:]))", *words)
    import json
    assert json.loads(result["stdout"]) == words


def test_many_words(front):
    result = front.run("sh", "-c", "echo $#", "sh", *["word"] * 4000)
    assert result["stdout"] == "4000\n"


def test_argv_128k(hf, box):
    """A script larger than one argv word can be goes in by stdin."""
    script = "x=1\n" * 100000 + "echo done $x\n"
    assert len(script) > 128 << 10
    result = hf.exec(box, "bash", flags=["-i"], input=script)
    assert result.text == "done 1\n"


def test_working_directory_is_workspace(front):
    assert front.run("pwd")["stdout"] == "/workspace\n"


def test_working_directory_of_a_job(front):
    assert front.run("pwd", workdir="/usr/share")["stdout"] == "/usr/share\n"


def test_working_directory_of_a_box(hf):
    assert hf.run("pwd", flags=["--workdir", "/var"]).text == "/var\n"


@pytest.mark.parametrize("user, ids", [
    ("root", "0 0"), ("0", "0 0"), ("0:0", "0 0"), ("1234", "1234 1234"), ("1234:55", "1234 55"),
    ("nobody", "65534 65534"), ("daemon", "1 1"), ("daemon:bin", "1 2"), ("1", "1 1"),
])
def test_users(front, user, ids):
    result = front.run("sh", "-c", "echo $(id -u) $(id -g)", user=user)
    assert result["stdout"].strip() == ids, str(result)


@pytest.mark.parametrize("user", ["-1", "+0", "0x0", " 0", "4294967296", "4294967295", "99999999999999999999",
                                  "root:", ":0", "a b", "..", "1.5"])
def test_strange_users_are_never_root(hf, box, user):
    result = hf.exec(box, "id", flags=[f"--user={user}"])
    assert result.code in (2, 125), str(result)
    assert b"uid=0" not in result.out


def test_user_outside_the_boxes_range(front):
    result = front.run("id", user="100000")
    assert (result["outcome"], result["code"]) == ("not_started", 125)


def test_user_of_the_box(hf):
    box = hf.up("--user", "1234:55")
    assert hf.exec(box, "sh", "-c", "echo $(id -u) $(id -g) $(id -G)").text == "1234 55 55\n"
    assert hf.exec(box, "id", "-u", flags=["-u", "0"]).text == "0\n"


def test_an_unprivileged_user_has_no_capabilities(hf, box):
    text = hf.exec(box, "grep", "^Cap[IPEA]", "/proc/self/status", flags=["-u", "1234"]).text
    assert [line.split()[1] for line in text.splitlines()[:3]] == ["0" * 16] * 3


def test_no_supplementary_groups_of_the_caller(hf, box):
    assert hf.exec(box, "id", "-G", flags=["-u", "1234"]).text.split() == ["1234"]
    assert hf.exec(box, "id", "-G").text.split() == ["0"]


def test_home_of_a_user(front):
    assert environment_of(front, user="nobody")["USER"] == "nobody"
    assert environment_of(front, user="1234")["HOME"] == "/"


def test_hostname(hf, box):
    assert hf.exec(box, "hostname").text.strip() == box
    assert hf.run("hostname", flags=["--hostname", "other"]).text == "other\n"


def test_hostname_resolves(hf):
    result = hf.run("getent", "hosts", "other", flags=["--hostname", "other"])
    assert result.code == 0, str(result)


def test_localhost_works_without_a_network(hf, box):
    script = ("import socket,threading\n"
              "s=socket.create_server(('127.0.0.1',0))\n"
              "threading.Thread(target=lambda: s.accept()[0].sendall(b'hi')).start()\n"
              "print(socket.create_connection(s.getsockname()).recv(9))\n")
    assert hf.exec(box, "python3", "-c", script).text == "b'hi'\n"


def test_terminals_can_be_made(hf, box):
    script = "import pty,os; m,s=pty.openpty(); os.write(s,b'x\\n'); print(os.read(m,9))"
    assert hf.exec(box, "python3", "-c", script).code == 0
