"""Output and input: nothing lost, nothing mixed, nothing unbounded, nothing that hangs."""
import base64
import hashlib
import os
import subprocess

import pytest

import harness


def test_streams_are_separate(front):
    result = front.run("sh", "-c", "echo a; echo b >&2; echo c; echo d >&2")
    assert (result["stdout"], result["stderr"]) == ("a\nc\n", "b\nd\n")


def test_merged_streams_are_in_true_order(front):
    script = "for i in $(seq 200); do echo o$i; echo e$i >&2; done"
    result = front.run("sh", "-c", script, merge=True)
    assert result["stdout"].split() == [f"{c}{i}" for i in range(1, 201) for c in "oe"]
    assert result["stderr"] == "" and result["stderr_bytes"] == 0


def test_output_passes_unchanged(hf, box):
    data = bytes(range(256)) * 4096
    result = hf.exec(box, "cat", flags=["-i"], input=data)
    assert result.code == 0
    assert result.out == data


def test_stderr_passes_unchanged(hf, box):
    result = hf.exec(box, "sh", "-c", "printf 'a\\000b\\377' >&2")
    assert result.err.startswith(b"a\0b\xff")


@pytest.mark.parametrize("size", [0, 1, 4095, 4096, 65535, 65536, 65537, 262144, 262145, 1048577])
def test_every_size_of_output_arrives(hf, box, size):
    result = hf.exec(box, "head", "-c", size, "/dev/zero")
    assert result.code == 0 and len(result.out) == size


def test_stdin_50m(hf, box):
    data = bytes(50 << 20)
    result = hf.exec(box, "sha256sum", flags=["-i"], input=data)
    assert result.text.split()[0] == hashlib.sha256(data).hexdigest()


def test_stdin_and_stdout_at_once(hf, box):
    """Both directions are full at the same time: neither may wait for the other."""
    data = b"0123456789abcdef" * (1 << 18)
    result = hf.exec(box, "cat", flags=["-i"], input=data)
    assert hashlib.sha256(result.out).digest() == hashlib.sha256(data).digest()


def test_job_that_never_reads_its_stdin(front):
    result = front.run("sh", "-c", "exit 3", input=b"x" * (4 << 20))
    assert (result["outcome"], result["code"]) == ("exited", 3)


def test_job_that_closes_its_stdin(front):
    result = front.run("sh", "-c", "exec <&-; sleep 0.1; echo done", input=b"x" * (4 << 20))
    assert result["stdout"] == "done\n"


def test_without_stdin_it_is_empty(front):
    assert front.run("cat")["stdout"] == ""


def test_callers_stdin_is_not_read_unless_asked(hf, box):
    script = f"echo kept | (\"$0\" exec {box} -- cat; cat)"
    result = harness.execute(["sh", "-c", script, hf.cli], env=hf.env)
    assert result.out == b"kept\n"


def test_half_close(client, box):
    """The job sees the end of its input and goes on to print."""
    client.call("attach", box)
    client.start("sh", "-c", "cat; echo after the end", stdin=1)
    client.write_all(b"first\n")
    assert client.read() == (1, b"first\n")
    client.write_all(b"second\n")
    client.call("eof")
    assert client.read_all()[1] == b"second\nafter the end\n"


def test_conversation(client, box):
    client.call("attach", box)
    client.start("sh", "-c", "while read -r line; do echo \"got $line\"; done", stdin=1)
    for i in range(20):
        client.write_all(f"{i}\n".encode())
        assert client.read() == (1, f"got {i}\n".encode())
    client.call("eof")
    assert client.read_all()[1] == b""


def test_write_to_a_closed_stdin_is_epipe(client, box):
    import errno
    client.call("attach", box)
    client.start("sh", "-c", "exec <&-; echo closed; sleep 1000", stdin=1, kill_on_close=1)
    assert client.read() == (1, b"closed\n")
    with pytest.raises(harness.ClientError) as error:
        for _ in range(64):
            client.write_all(b"x" * 65536)
    assert (error.value.code, error.value.errno) == ("system", errno.EPIPE)
    client.call("cancel")
    client.call("wait")


def test_read_times_out_and_goes_on(client, box):
    client.call("attach", box)
    client.start("sh", "-c", "read line; echo later", stdin=1)
    with pytest.raises(harness.ClientError) as error:
        client.read(timeout_ms=50)
    assert error.value.code == "timeout"
    client.write_all(b"\n")
    assert client.read() == (1, b"later\n")


# --- capture -------------------------------------------------------------------------------------


def test_tail_hidden_by_head_cut(front):
    """40 per cent of the limit from the head, 60 from the tail, and the truth about the middle."""
    result = front.run("sh", "-c", "seq -w 1 100000", output_limit=1000)
    text = result["stdout"]
    assert result["truncated"] is True
    assert result["stdout_bytes"] == 700000
    assert text.startswith("000001\n000002\n")
    assert text.endswith("099999\n100000\n")
    assert len(text.encode()) < 1400


def test_head_and_tail_are_40_and_60(front):
    result = front.run("sh", "-c", "head -c 5000 /dev/zero | tr '\\0' a; head -c 5000 /dev/zero | tr '\\0' b",
                       output_limit=1000)
    assert result["stdout"].count("a") in range(380, 421)
    assert result["stdout"].count("b") in range(580, 621)


def test_output_below_the_limit_is_whole(front):
    result = front.run("sh", "-c", "head -c 1000 /dev/zero | tr '\\0' x", output_limit=1000)
    assert result["truncated"] is False
    assert result["stdout"] == "x" * 1000


def test_each_stream_has_its_own_limit(front):
    result = front.run("sh", "-c", "head -c 5000 /dev/zero | tr '\\0' x; echo short >&2", output_limit=100)
    assert result["truncated"] is True
    assert result["stderr"] == "short\n"


@pytest.mark.parametrize("shift", range(4))
def test_utf8_split(front, shift):
    """The cut never falls inside a character, wherever that stands."""
    text = "a" * shift + "\U0001f600\u00e9\u20ac" * 2000
    result = front.run("cat", input=text, output_limit=1000)
    assert result["truncated"] is True
    assert "\ufffd" not in result["stdout"]
    assert set(result["stdout"]) >= set("\U0001f600\u00e9\u20ac")


def test_characters_are_not_split_at_read_boundaries(front):
    text = "\u20ac" * 50000
    result = front.run("cat", input=text, output_limit=1 << 20)
    assert result["stdout"] == text


def test_invalid_utf8_is_replaced(front):
    result = front.run("sh", "-c", "printf 'a\\377b\\303'")
    assert result["stdout"] == "a\ufffdb\ufffd"
    assert result["stdout_bytes"] == 4


def test_base64_is_exact(front):
    data = bytes(range(256))
    result = front.run("cat", input=data, base64=True)
    assert base64.b64decode(result["stdout"]) == data
    assert result["stdout_bytes"] == 256


def test_nul_bytes_survive_json(front):
    result = front.run("sh", "-c", "printf 'a\\000b'")
    assert result["stdout"] == "a\0b"


def test_huge_output_eats_memory(hf, box):
    """A stream far larger than any buffer, through a client with little memory of its own."""
    out = os.path.join(hf.root, "out")
    with open(out, "wb") as file:
        process = hf.popen("exec", "--json", "--output-limit", "100k", box, "--", "head", "-c", str(300 << 20),
                           "/dev/zero", stdout=file)
    peak = 0
    while process.poll() is None:
        for line in harness.read_file(f"/proc/{process.pid}/status").splitlines():
            if line.startswith("VmRSS"):
                peak = max(peak, int(line.split()[1]) << 10)
        try:
            process.wait(0.05)
        except subprocess.TimeoutExpired:
            continue
    _, err = process.communicate(timeout=harness.PATIENCE)
    result = harness.Result(["exec"], process.returncode, harness.read_file(out).encode(), err)
    assert result.json["stdout_bytes"] == 300 << 20
    assert result.json["truncated"] is True
    assert peak < 100 << 20


def test_a_reader_that_stops_does_not_stop_others(client, hf, box):
    client.call("attach", box)
    client.start("sh", "-c", "yes", kill_on_close=1)
    client.read(size=10)
    assert hf.exec(box, "echo", "free").text == "free\n"
    client.call("cancel")
    assert client.call("wait")["outcome"] == "cancelled"


def test_closed_stdout_ends_the_job(hf, box):
    """`holdfast exec ... | head -1` comes back."""
    script = f"\"$0\" exec {box} -- yes | head -1"
    result = harness.execute(["sh", "-c", script, hf.cli], env=hf.env)
    assert result.out == b"y\n"
    harness.wait_until(lambda: "yes" not in hf.sh(box, "ps -eo comm").split(), "the job is gone")


# --- background children -------------------------------------------------------------------------


def test_background_child_holds_pipe(front, hf, box):
    """The job is over when its main process is, whoever holds its pipes."""
    result = front.run("sh", "-c", "echo main; sleep 1000 & exit 4")
    assert (result["outcome"], result["code"]) == ("exited", 4)
    assert result["stdout"] == "main\n"
    # The child was not harmed.
    assert "sleep 1000" in hf.sh(box, "ps -eo args")


def test_output_within_the_drain_time_is_kept(front):
    result = front.run("sh", "-c", "echo main; (sleep 0.2; echo child) & exit 0", drain="30s")
    assert result["stdout"] == "main\nchild\n"


def test_what_the_main_process_printed_is_never_cut_by_the_drain_time(front):
    result = front.run("sh", "-c", "head -c 300000 /dev/zero | tr '\\0' x; sleep 1000 & exit 0", drain="1ms")
    assert result["stdout_bytes"] == 300000
