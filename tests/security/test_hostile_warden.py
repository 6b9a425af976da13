"""A box whose warden was taken over, against the host: a typed error, soon, in little memory."""
import resource
import signal
import subprocess

import pytest

import harness
import wardens

# What holdfast may use at most, the sanitizer's shadow not counted.
MEMORY = 400 << 20


@pytest.fixture
def impostor(hf):
    """A living box with somebody else behind its socket."""
    box = hf.up("--name", "evil")
    made = []

    def make(script, **options):
        made.append(wardens.Impostor(hf.socket(box), script, **options))
        return box

    yield make
    for server in made:
        server.close()


def clean(result):
    assert "AddressSanitizer" not in result.errors and "runtime error" not in result.errors, str(result)
    assert b"\x1b" not in result.err and b"\x9b" not in result.err and b"\x07" not in result.err, str(result)
    return result


@pytest.mark.parametrize("kind", wardens.HOSTILE)
def test_hostile_bytes(hf, impostor, kind):
    box = impostor(wardens.HOSTILE[kind])
    result = clean(hf.exec(box, "true", timeout=30))
    # The command's own code is for the warden to say, if it says it well; silence is never success.
    assert 0 <= result.code <= 255
    if kind not in ("hello twice", "started twice", "output after the exit", "output without bytes",
                    "stdin window without stdin", "totals smaller than what was sent", "one byte at a time",
                    "exit before started"):
        assert result.code != 0, str(result)
        assert result.errors.startswith("holdfast: "), str(result)


@pytest.mark.parametrize("kind", ["garbage", "huge length", "cut in the middle of a frame", "exit with a code of 256",
                                  "output of stream 3", "wrong channel", "output beyond its window"])
def test_hostile_bytes_are_a_typed_error(hf, impostor, kind):
    box = impostor(wardens.HOSTILE[kind])
    result = clean(hf("exec", "--json", box, "--", "true", timeout=30))
    assert result.code == 125, str(result)
    document = result.json
    assert document.get("outcome") == "lost" or document["error"]["code"] in ("protocol", "lost", "not_running"), \
        str(result)


@pytest.mark.parametrize("flags", [[], ["--json"], ["-i"]])
@pytest.mark.parametrize("kind", wardens.ENDLESS)
def test_endless_streams(hf, impostor, kind, flags):
    """It is cut off, or it is the output it says it is; never without a bound in memory."""
    box = impostor(wardens.ENDLESS[kind], hold=True)
    process = hf.popen("exec", *flags, box, "--", "true", stdout=subprocess.DEVNULL,
                       stdin=subprocess.DEVNULL)
    peak, looks = 0, 0
    while process.poll() is None and looks < 16:
        for line in harness.read_file(f"/proc/{process.pid}/status").splitlines():
            if line.startswith("VmRSS"):
                peak = max(peak, int(line.split()[1]) << 10)
        looks += 1
        try:
            process.wait(0.05)
        except subprocess.TimeoutExpired:
            pass
    if process.poll() is None:
        # Endless output within its window is the job's right. It can be ended from here: the second
        # signal does not wait for the box.
        process.send_signal(signal.SIGINT)
        try:
            process.wait(0.5)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode != 0
    assert b"Sanitizer" not in err
    assert peak < MEMORY


def test_silent_warden(hf, impostor):
    """It accepts and says nothing. Ctrl-C ends the wait, twice if need be."""
    box = impostor([], hold=True)
    process = hf.popen("exec", box, "--", "true")
    try:
        process.wait(0.5)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(0.5)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode != 0


def test_silent_warden_can_be_removed(hf, impostor):
    """Removing a box asks the keeper, not the box."""
    box = impostor([], hold=True)
    hf.ok("rm", "--force", box, timeout=30)
    assert hf.boxes() == []


@pytest.mark.parametrize("kind", ["garbage", "nothing and hangs up", "refused", "huge length"])
def test_hostile_warden_can_be_stopped(hf, impostor, kind):
    box = impostor(wardens.HOSTILE[kind])
    result = clean(hf("stop", box, timeout=60))
    if result.code != 0:
        hf.ok("rm", "--force", box)
    assert hf.boxes() == []


@pytest.mark.parametrize("verb", ["ps", "inspect"])
@pytest.mark.parametrize("kind", ["garbage", "refused"])
def test_hostile_warden_does_not_disturb_listings(hf, impostor, verb, kind):
    box = impostor(wardens.HOSTILE[kind])
    result = clean(hf(verb, *([box] if verb == "inspect" else []), timeout=30))
    assert result.code == 0, str(result)


def test_hostile_stdin_windows_do_not_block_input(hf, impostor):
    """The box never grants room: the host does not spin and can be interrupted."""
    box = impostor(wardens.GOOD, hold=True)
    process = hf.popen("exec", "-i", box, "--", "cat", stdin=subprocess.PIPE)
    try:
        process.stdin.write(b"x" * 65536)
        process.stdin.flush()
    except OSError:
        pass
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    process.send_signal(signal.SIGINT)
    try:
        process.wait(0.5)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert process.returncode != 0
    assert after.ru_utime - before.ru_utime < 2.5, "it spins"


def test_hostile_output_cannot_grow_a_result(hf, impostor):
    """Captured output is bounded by the caller's limit, whatever the box sends."""
    script = [*wardens.GOOD, *[wardens.output(b"x" * 60000)] * 4, wardens.ended(totals=(240000, 0))]
    box = impostor(script)
    result = clean(hf("exec", "--json", "--output-limit", "1000", box, "--", "true", timeout=30))
    if result.code == 0:
        assert len(result.json["stdout"]) < 1400 and result.json["truncated"] is True
