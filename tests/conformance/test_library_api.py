"""What the public header promises beyond what the command line shows."""
import errno

import pytest

import harness


def test_run_is_one_call(client):
    answer = client.call("run", "memory=64m", "--", "sh", "-c", "echo $SANDBOX; exit 3")
    assert answer["code"] == 3
    assert answer["result"]["stdout"] == "holdfast\n"
    assert client.call("list")["boxes"] == []


def test_create_and_attach(client, hf):
    made = client.call("create", "name=made")
    hf.made.append("made")
    assert made == {"name": "made", "created": True}
    assert client.call("create", "name=made")["created"] is False
    client.call("attach", "made")
    client.start("true")
    assert client.call("wait")["code"] == 0


def test_exclusive_create(client, hf):
    hf.up("--name", "taken")
    with pytest.raises(harness.ClientError) as error:
        client.call("create", "name=taken", "flags=2")
    assert error.value.code == "exists"


def test_ephemeral_box_ends_with_its_handle(client, hf):
    client.call("create", "name=short", "flags=1")
    assert [entry["name"] for entry in hf.boxes()] == ["short"]
    client.call("box-close")
    harness.wait_until(lambda: not hf.boxes(), "the box is gone")


def test_ephemeral_box_ends_with_its_process(client_program, hf):
    process = harness.Client(client_program, hf.env)
    process.call("create", "name=short", "flags=1")
    process.process.kill()
    process.process.communicate()
    harness.wait_until(lambda: not hf.boxes(), "the box is gone")


def test_a_box_outlives_its_maker(client_program, hf):
    process = harness.Client(client_program, hf.env)
    process.call("create", "name=long")
    hf.made.append("long")
    process.process.kill()
    process.process.communicate()
    assert hf.exec("long", "echo", "here").text == "here\n"


def test_attach_to_nothing(client):
    with pytest.raises(harness.ClientError) as error:
        client.call("attach", "nothing")
    assert error.value.code == "not_found"
    assert "nothing" in error.value.message


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../x", "-x", "x" * 65, "a\nb", "\x1b[31m"])
def test_names_that_are_none(client, name):
    for call in ("attach", "remove", "stop"):
        with pytest.raises(harness.ClientError) as error:
            client.call(call, name, "0")
        assert error.value.code in ("invalid", "not_found")


@pytest.mark.parametrize("key, value", [("memory", "1k"), ("cpus", "nan"), ("no-such-key", "1"),
                                        ("user", "a b"), ("volume", "/"), ("name", "..")])
def test_a_bad_option_touches_nothing(client, hf, key, value):
    with pytest.raises(harness.ClientError) as error:
        client.call("create", f"{key}={value}")
    assert error.value.code == "invalid"
    assert key in error.value.message
    assert hf.box_dirs() == []


def test_remove_refuses_a_running_box(client, hf, box):
    with pytest.raises(harness.ClientError) as error:
        client.call("remove", box, 0)
    assert error.value.code == "busy"
    client.call("remove", box, 1)
    assert client.call("list")["boxes"] == []


def test_stop(client, box):
    client.call("stop", box, -1)
    assert client.call("list")["boxes"] == []
    with pytest.raises(harness.ClientError) as error:
        client.call("stop", box, -1)
    assert error.value.code == "not_found"


def test_stop_is_true_when_it_returns(client, hf, box):
    pids = harness.pids_of(hf.inspect(box))
    assert pids
    client.call("stop", box, 0)
    assert not any(harness.alive(pid) for pid in pids.values())
    assert not hf.cgroups(box)
    assert hf.box_dirs() == []


def test_sweep_counts(client, hf, box):
    assert client.call("sweep")["swept"] == 0


def test_signal_after_the_end(client, box):
    client.call("attach", box)
    client.start("true")
    client.read_all()
    try:
        client.call("signal", 15)
    except harness.ClientError as error:
        assert error.errno in (errno.ESRCH, 0)
    client.call("cancel")
    assert client.call("wait")["outcome"] == "exited"


def test_wait_after_read_captures_the_rest(client, box):
    """Bytes that were read do not count for the capture."""
    client.call("attach", box)
    client.start("sh", "-c", "echo one; read x; echo two", stdin=1)
    assert client.read() == (1, b"one\n")
    client.write_all(b"\n")
    result = client.call("wait")["result"]
    assert result["stdout"] == "two\n"


def test_several_jobs_one_handle_after_the_other(client, box):
    client.call("attach", box)
    for i in range(5):
        client.start("echo", str(i))
        assert client.read_all()[1] == f"{i}\n".encode()
        assert client.call("wait")["code"] == 0
        client.call("close")


def test_empty_command(client, box):
    client.call("attach", box)
    with pytest.raises(harness.ClientError) as error:
        client.start()
    assert error.value.code == "invalid"


@pytest.mark.parametrize("entry", ["NOEQUALS", "=value", ""])
def test_bad_environment(client, box, entry):
    client.call("attach", box)
    with pytest.raises(harness.ClientError) as error:
        client.call("start", f"env={entry}", "--", "true")
    assert error.value.code == "invalid"
    # The connection is as good as before.
    client.start("true")
    assert client.call("wait")["code"] == 0


def test_library_leaves_the_process_alone(client_program, hf):
    """No descriptor without CLOEXEC, no signal disposition, no directory or umask changed."""
    client = harness.Client(client_program, hf.env)
    pid = client.process.pid

    def state():
        status = [line for line in harness.read_file(f"/proc/{pid}/status").splitlines()
                  if line.startswith(("Sig", "Umask"))]
        import os
        return status, os.readlink(f"/proc/{pid}/cwd"), harness.read_file(f"/proc/{pid}/environ")

    client.call("list")
    before = state()
    client.call("run", "--", "true")
    client.call("create", "name=one", "flags=1")
    client.start("true")
    client.call("wait")
    assert state() == before
    import os
    for name in os.listdir(f"/proc/{pid}/fd"):
        if int(name) > 2:
            flags = harness.read_file(f"/proc/{pid}/fdinfo/{name}")
            mode = int(next(line.split()[1] for line in flags.splitlines() if line.startswith("flags")), 8)
            assert mode & os.O_CLOEXEC, os.readlink(f"/proc/{pid}/fd/{name}")
    client.call("box-close")
    client.close()
