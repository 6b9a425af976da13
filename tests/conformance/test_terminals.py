"""Jobs with a terminal: theirs behaves like one, and ours is given back as it was."""
import hashlib
import os
import re
import signal
import stat
import time

import pytest

import harness
from terminals import Terminal

CTRL_C, CTRL_D, CTRL_Z, CTRL_BACKSLASH, DETACH = b"\x03", b"\x04", b"\x1a", b"\x1c", b"\x1d"


@pytest.fixture
def terminal(hf):
    """Runs holdfast on a terminal: terminal(args...)."""
    made = []

    def run(*args, env=None, **options):
        made.append(Terminal([hf.cli, *args], {**hf.env, **(env or {})}, **options))
        return made[-1]

    yield run
    for one in made:
        one.close()


def jobs(hf, box):
    return {entry["job"]: entry for entry in hf.ok("jobs", "--json", box).json}


def only_job(hf, box):
    entry, = jobs(hf, box).values()
    return entry


def bash(terminal, box, *flags):
    """An interactive bash whose prompt is known."""
    front = terminal("exec", "-t", *flags, "-e", "PS1=ready> ", box, "--", "bash", "--norc", "--noprofile", "--noediting", "-i")
    front.expect("ready> ")
    return front


# Prints the size at the start and at each SIGWINCH. In a trap of bash a second one can go missing.
SIZES = """import os, signal, time
def show(*_):
    size = os.get_terminal_size()
    os.write(1, b"%d %d\\n" % (size.lines, size.columns))
signal.signal(signal.SIGWINCH, show)
show()
while True:
    time.sleep(0.05)
"""


def enter(front, line):
    """Types a line and passes its echo."""
    front.type(line + "\n")
    front.expect(re.escape(line.encode()) + rb"\r\n")


# --- what the job sees ---------------------------------------------------------------------------


def test_the_job_has_a_terminal_of_the_boxs_own(terminal, hf, box):
    front = terminal("exec", "-t", box, "--", "bash", "-c", "tty; stat -L -c '%d' /proc/self/fd/0 /proc/self/fd/1 /proc/self/fd/2; "
                     "[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && echo all; exit 5")
    assert front.wait() == 5
    lines = front.seen.decode().split()
    assert re.fullmatch(r"/dev/pts/\d+", lines[0]), front.seen
    assert lines[4] == "all"
    # Another instance of the file system than the one our terminal is on.
    assert len(set(lines[1:4])) == 1 and int(lines[1]) != os.fstat(front.slave).st_dev


def test_our_terminal_is_not_in_the_box(terminal, hf, box):
    """No descriptor of any process of the box leads to it, as the host sees them and as the box does."""
    front = terminal("exec", "-t", box, "--", "bash", "-c", "echo ready; sleep 1001; :")
    front.expect("ready")
    warden = harness.pids_of(hf.inspect(box))["warden_pid"]
    ours = os.fstat(front.slave)
    assert stat.S_ISCHR(ours.st_mode)
    inside = [warden, *harness.descendants(warden)]
    assert len(inside) >= 3
    for pid in inside:
        for name in os.listdir(f"/proc/{pid}/fd"):
            try:
                other = os.stat(f"/proc/{pid}/fd/{name}")
            except OSError:
                continue
            assert (other.st_dev, other.st_ino) != (ours.st_dev, ours.st_ino), harness.describe_process(pid)
            assert os.readlink(f"/proc/{pid}/fd/{name}") != "/dev/tty"
    front.type(CTRL_C)
    front.wait()


def test_it_is_the_controlling_terminal(terminal, box):
    front = terminal("exec", "-t", box, "--", "bash", "-c", "echo to the terminal > /dev/tty; ps -o tty=,sid=,pgid=,tpgid=,pid= -p $$")
    front.expect(r"to the terminal\r\n")
    words = front.expect(r"(pts/\d+) +(\d+) +(\d+) +(\d+) +(\d+)\r\n").groups()
    assert len(set(words[1:])) == 1, "leader of its session and in the foreground"
    assert front.wait() == 0


def test_size_and_resize(terminal, box):
    front = terminal("exec", "-t", box, "--", "python3", "-c", SIZES, rows=33, columns=111)
    front.expect(r"33 111\r\n")
    for rows, columns in ((50, 200), (1, 1), (24, 80)):
        front.size(rows, columns)
        front.expect(rf"{rows} {columns}\r\n")
    front.type(CTRL_C)
    front.wait()


def test_term_is_passed_on(terminal, box):
    front = terminal("exec", "-t", box, "--", "sh", "-c", "echo \"<$TERM>\"", env={"TERM": "screen-256color"})
    front.expect("<screen-256color>")
    front.wait()
    front = terminal("exec", "-t", "-e", "TERM=dumb", box, "--", "sh", "-c", "echo \"<$TERM>\"")
    front.expect("<dumb>")
    front.wait()


def test_the_jobs_terminal_echoes_and_edits(terminal, box):
    front = terminal("exec", "-t", box, "--", "bash", "-c", "read -r line; echo \"<$line>\"")
    front.type("abX\x7fc\n")
    front.expect(r"<abc>\r\n")
    assert front.wait() == 0


def test_ctrl_d_is_the_end_of_input(terminal, box):
    front = terminal("exec", "-t", box, "--", "bash", "-c", "echo ready; cat; echo end")
    front.expect("ready")
    front.type(b"line\n" + CTRL_D)
    front.expect(r"line\r\nline\r\nend\r\n")
    assert front.wait() == 0


def test_bytes_pass_unchanged_through_a_raw_terminal(terminal, box):
    """All but the detach key."""
    script = "stty raw -echo; echo ready; head -c 255 | sha256sum"
    data = bytes(byte for byte in range(256) if byte != 0x1d)
    front = terminal("exec", "-t", box, "--", "bash", "-c", script)
    front.expect("ready")
    front.type(data)
    front.expect(hashlib.sha256(data).hexdigest())
    assert front.wait() == 0


def test_much_output_through_a_terminal(terminal, box):
    front = terminal("exec", "-t", box, "--", "bash", "-c", "seq -w 1 100000; echo end; exit 3")
    assert front.wait() == 3
    assert front.seen == b"".join(b"%06d\r\n" % i for i in range(1, 100001)) + b"end\r\n"


def test_much_pasted_at_once(terminal, box):
    front = terminal("exec", "-t", box, "--", "bash", "-c", "stty -echo; echo ready; n=0; while read -r line && [ \"$line\" != end ]; do n=$((n + 1)); done; echo \"<$n>\"")
    front.expect("ready")
    front.type(b"some pasted line of a text\n" * 2000 + b"end\n")
    front.expect("<2000>")
    assert front.wait() == 0


def test_a_terminal_in_a_fresh_box(terminal):
    front = terminal("run", "-t", "--", "bash", "-c", "tty; stty size; exit 3")
    assert front.wait() == 3
    assert re.fullmatch(rb"/dev/pts/\d+\r\n33 111\r\n", front.seen), front.seen


def test_it_belongs_to_the_jobs_user(terminal, box):
    front = terminal("exec", "-t", "-u", "1234", box, "--", "bash", "-c", "stat -c '<%u>' $(tty); echo x > $(tty) && echo writable")
    front.expect("<1234>")
    front.expect("writable")
    assert front.wait() == 0


def test_jobs_do_not_see_each_others_terminals(terminal, hf, box):
    first = terminal("exec", "-t", "-u", "1234", box, "--", "bash", "-c", "tty; read -r line; echo \"<$line>\"")
    path = first.expect(r"(/dev/pts/\d+)\r\n").group(1).decode()
    result = hf.exec(box, "sh", "-c", f"echo evil > {path}", flags=["-u", "4321"])
    assert result.code != 0, str(result)
    second = terminal("exec", "-t", "-u", "1234", box, "--", "tty")
    assert second.expect(r"(/dev/pts/\d+)\r\n").group(1).decode() != path
    second.wait()
    first.type("mine\n")
    first.expect("<mine>")
    assert b"evil" not in first.seen
    first.wait()


def test_a_terminal_is_told_by_jobs(terminal, hf, box):
    front = terminal("exec", "-t", box, "--", "cat")
    entry = harness.wait_until(lambda: list(jobs(hf, box).values()), "it runs")[0]
    assert entry["tty"] is True and entry["clients"] == 1
    front.type(CTRL_C)
    front.wait()


def test_background_children_do_not_hold_the_terminal(terminal, hf, box):
    front = terminal("exec", "-t", box, "--", "bash", "-c", "trap '' HUP; sleep 1001 & echo main; exit 4")
    assert front.wait() == 4
    assert b"main\r\n" in front.seen


# --- keys ----------------------------------------------------------------------------------------


def test_ctrl_c_reaches_the_job_and_not_the_command_line(terminal, box):
    front = terminal("exec", "-t", box, "--", "bash", "-c", "trap 'echo got it' INT; echo ready; for i in {1..100000}; do sleep 0.02; done")
    front.expect("ready")
    for _ in range(3):
        front.type(CTRL_C)
        front.expect("got it")
    assert front.process.poll() is None


def test_ctrl_backslash_reaches_the_job(terminal, box):
    front = terminal("exec", "-t", box, "--", "sh", "-c", "ulimit -c 0; echo ready; exec sleep 1001")
    front.expect("ready")
    front.type(CTRL_BACKSLASH)
    assert front.wait() == 128 + signal.SIGQUIT


def test_ctrl_c_that_ends_the_job_is_told(terminal, box):
    front = terminal("exec", "-t", box, "--", "bash", "-c", "echo ready; exec sleep 1001")
    front.expect("ready")
    front.type(CTRL_C)
    assert front.wait() == 130
    assert front.restored()


def test_job_control(terminal, hf, box):
    front = bash(terminal, box)
    enter(front, "sleep 1001")
    harness.wait_until(lambda: "sleep 1001" in hf.sh(box, "ps -eo args"), "it sleeps")
    front.type(CTRL_Z)
    front.expect(r"Stopped +sleep 1001")
    front.expect("ready> ")
    assert front.process.poll() is None, "Ctrl-Z did not stop the command line"
    assert harness.process_stat(front.process.pid)[0] != "T"
    enter(front, "jobs")
    front.expect(r"\[1\]\+ +Stopped +sleep 1001\r\n.*ready> ")
    enter(front, "fg")
    front.expect(r"sleep 1001\r\n")
    harness.wait_until(lambda: hf.sh(box, "ps -o stat= -C sleep").startswith("S"), "it goes on")
    front.type(CTRL_C)
    front.expect(r"\^C\r?\n?.*ready> ")
    assert "sleep 1001" not in hf.sh(box, "ps -eo stat=,args= | grep -v ^Z")
    enter(front, "echo code $?")
    front.expect("code 130")
    enter(front, "sleep 1002 &")
    front.expect(r"\[\d+\] \d+\r\n.*ready> ")
    enter(front, "kill %1; wait; exit 9")
    assert front.wait() == 9
    assert front.restored()


def test_no_job_control_is_missing(terminal, box):
    front = bash(terminal, box)
    front.type("exit\n")
    front.wait()
    assert b"no job control" not in front.seen and b"cannot set terminal" not in front.seen


# --- our terminal afterwards ---------------------------------------------------------------------


def test_restored_after_a_normal_end(terminal, box):
    front = terminal("exec", "-t", box, "--", "bash", "-c", "echo ready; read -r line; exit 7")
    front.expect("ready")
    harness.wait_until(front.raw, "raw while it runs")
    front.type("\n")
    assert front.wait() == 7
    assert front.restored()


@pytest.mark.parametrize("name", ["TERM", "HUP", "INT", "QUIT"])
def test_restored_after_a_signal_to_the_command_line(terminal, hf, box, name):
    front = terminal("exec", "-t", box, "--", "bash", "-c", "echo ready; exec sleep 1001")
    front.expect("ready")
    front.process.send_signal(getattr(signal, "SIG" + name))
    assert front.wait() != 0
    assert front.restored()
    harness.wait_until(lambda: "sleep 1001" not in hf.sh(box, "ps -eo stat=,args= | grep -v ^Z"), "the job is gone")


@pytest.mark.parametrize("verb", ["exec", "attach", "sh"])
@pytest.mark.parametrize("victim", ["warden", "keeper"])
def test_restored_after_the_box_was_killed(terminal, hf, box, verb, victim):
    script = "printf '\\033[?1049h\\033[?25l'; echo ready; exec sleep 1001"
    if verb == "exec":
        front = terminal("exec", "-t", box, "--", "bash", "-c", script)
    elif verb == "attach":
        front = terminal("attach", box, hf.ok("exec", "-d", "-t", box, "--", "bash", "-c", script).text.strip())
    else:
        front = terminal("sh", box, "--", "-c", script)
    front.expect("ready")
    os.kill(harness.pids_of(hf.inspect(box))[f"{victim}_pid"], signal.SIGKILL)
    assert front.wait() == 125
    assert front.restored()
    rest = front.rest()
    assert b"\x1b[?1049l" in rest and b"\x1b[?25h" in rest, rest
    harness.wait_until(lambda: not hf.boxes(), "the box is gone")


def test_restored_after_a_job_that_cannot_start(terminal, box):
    front = terminal("exec", "-t", box, "--", "no-such-program-anywhere")
    assert front.wait() == 127
    assert front.restored() and b"no-such-program-anywhere" in front.seen


def test_restored_after_a_timeout(terminal, box):
    front = terminal("exec", "-t", "--timeout", "300ms", box, "--", "bash", "-c", "stty raw; sleep 1001")
    assert front.wait() == 124
    assert front.restored()


def test_restored_after_kill_from_elsewhere(terminal, hf, box):
    front = terminal("exec", "-t", box, "--", "bash", "-c", "echo ready; sleep 1001")
    front.expect("ready")
    hf.ok("kill", box, only_job(hf, box)["job"])
    assert front.wait() == 130
    assert front.restored()


def test_a_stopped_command_line_gives_the_terminal_back_and_takes_it_again(hf, box):
    """`kill -TSTP` from elsewhere: the shell in front of which it ran can be used, and `fg` goes on."""
    front = Terminal(["bash", "--norc", "--noprofile", "--noediting", "-i"], {**hf.env, "PS1": "shell> ", "HF": hf.cli})
    try:
        front.expect("shell> ")
        enter(front, f"$HF exec -t {box} -- bash -c 'printf \"\\033[?25l\"; echo rea''dy; read -r line; echo \"<$line>\"'")
        front.expect(r"ready\r\n")
        harness.wait_until(front.raw, "raw")
        pid, = (pid for pid in harness.descendants(front.process.pid) if harness.read_file(f"/proc/{pid}/comm").strip() == "holdfast")
        os.kill(pid, signal.SIGTSTP)
        front.expect("Stopped")
        front.expect("shell> ")
        assert b"\x1b[?25h" in front.seen, "the cursor is shown again"
        assert front.restored() or not front.raw()
        enter(front, "echo usable")
        front.expect(r"usable\r\n.*shell> ")
        enter(front, "fg")
        harness.wait_until(front.raw, "raw again")
        front.type("typed\n")
        front.expect("<typed>")
        front.expect("shell> ")
        assert front.restored() or not front.raw()
        front.type("exit\n")
        front.wait()
    finally:
        front.close()


MODES = {
    "alternate screen": (b"\x1b[?1049h", b"\x1b[?1049l"),
    "hidden cursor": (b"\x1b[?25l", b"\x1b[?25h"),
    "bracketed paste": (b"\x1b[?2004h", b"\x1b[?2004l"),
    "mouse": (b"\x1b[?1000h\x1b[?1006h", b"\x1b[?1000l"),
    "colour": (b"\x1b[1;31m", b"\x1b[0m"),
}


@pytest.mark.parametrize("kind", MODES)
@pytest.mark.parametrize("end", ["exit", "kill", "detach", "signal"])
def test_modes_left_on_by_the_job_are_reset(terminal, hf, box, kind, end):
    on, off = MODES[kind]
    text = "".join(f"\\{byte:03o}" for byte in on)
    front = terminal("exec", "-t", box, "--", "bash", "-c", f"printf '{text}'; echo ready; read -r line; exit 3")
    front.expect(re.escape(on) + rb"ready\r\n")
    if end == "exit":
        front.type("\n")
    elif end == "kill":
        hf.ok("kill", "--grace", "0", box, only_job(hf, box)["job"])
    elif end == "detach":
        front.type(DETACH)
    else:
        front.process.send_signal(signal.SIGTERM)
    assert front.wait() == {"exit": 3, "kill": 130, "detach": 0, "signal": 130}[end]
    assert off in front.rest(), front.seen
    assert front.restored()


def test_modes_that_the_job_left_off_are_not_touched(terminal, box):
    front = terminal("exec", "-t", box, "--", "bash", "-c", "printf '\\033[?1049h\\033[?25l\\033[?25h\\033[?1049l'; echo plain")
    assert front.wait() == 0
    assert front.seen == b"\x1b[?1049h\x1b[?25l\x1b[?25h\x1b[?1049lplain\r\n"


@pytest.mark.parametrize("flags", [[], ["--no-stdin"]])
def test_modes_of_a_job_that_is_over_already_are_reset(terminal, hf, box, flags):
    """Its output passes our terminal all the same, and as it is: with one CR at the end of a line."""
    number = hf.ok("exec", "-d", "-t", box, "--", "printf", "\x1b[?25l\x1b[?1049hx\n").text.strip()
    assert hf("wait", box, number).code == 0
    front = terminal("attach", *flags, box, number)
    assert front.wait() == 0
    assert front.seen.startswith(b"\x1b[?25l\x1b[?1049hx\r\n"), front.seen
    assert b"\x1b[?25h" in front.seen and b"\x1b[?1049l" in front.seen, front.seen
    assert front.restored()


def test_modes_of_jobs_that_are_over_at_once_are_reset(terminal, box):
    """Some of them before our terminal was made ready."""
    for _ in range(60):
        front = terminal("exec", "-t", box, "--", "printf", "\x1b[?25lx\n")
        assert front.wait() == 0
        assert front.seen == b"\x1b[?25lx\r\n\x1b[?25h"
        front.close()


# --- leaving and coming back ---------------------------------------------------------------------


def test_detach_and_attach_again(terminal, hf, box):
    front = terminal("exec", "-t", box, "--", "bash", "-c", "echo ready; for i in 1 2 3; do read -r line; echo \"<$line>\"; done; exit 6")
    front.expect("ready")
    front.type("one\n")
    front.expect("<one>")
    front.type(DETACH)
    assert front.wait() == 0
    assert front.restored()
    assert DETACH not in front.seen
    number = only_job(hf, box)["job"]
    assert number.encode() in front.rest(), "it says where to come back to"
    assert only_job(hf, box)["state"] == "running" and only_job(hf, box)["clients"] == 0
    front = terminal("attach", box, number, rows=44, columns=55)
    front.expect("<one>")
    front.type("two\n")
    front.expect("<two>")
    front.type(DETACH)
    assert front.wait() == 0 and front.restored()
    front = terminal("attach", "--from", "end", box, number)
    harness.wait_until(front.raw, "attached")
    front.type("three\n")
    front.expect("<three>")
    assert front.wait() == 6
    assert b"<one>" not in front.seen
    assert front.restored()


def test_attach_brings_the_size_along(terminal, hf, box):
    number = hf.ok("exec", "-d", "-t", box, "--", "python3", "-c", SIZES).text.strip()
    harness.wait_until(lambda: hf.ok("logs", box, number).out == b"24 80\r\n", "it has the default size")
    front = terminal("attach", box, number, rows=44, columns=55)
    front.expect(r"44 55\r\n")
    front.size(45, 56)
    front.expect(r"45 56\r\n")
    front.type(DETACH)
    front.wait()


def test_a_killed_command_line_ends_its_job_but_a_detached_one_lives(terminal, hf, box):
    front = terminal("exec", "-t", box, "--", "bash", "-c", "echo ready; sleep 1001; :")
    front.expect("ready")
    front.process.kill()
    harness.wait_until(lambda: "sleep 1001" not in hf.sh(box, "ps -eo stat=,args= | grep -v ^Z"), "the job is gone")
    front = terminal("exec", "-t", box, "--", "bash", "-c", "echo ready; sleep 1002; :")
    front.expect("ready")
    front.type(DETACH)
    assert front.wait() == 0
    assert hf.exec(box, "true").code == 0
    assert "sleep 1002" in hf.sh(box, "ps -eo args")


def test_other_detach_keys(terminal, hf, box):
    front = terminal("exec", "-t", "--detach-keys", "ctrl-p,ctrl-q", box, "--", "bash", "-c", "stty raw -echo; echo ready; cat -v")
    front.expect("ready")
    front.type(DETACH)
    front.expect(r"\^\]")
    front.type(b"\x10x")
    front.expect(r"\^Px")
    front.type(b"\x10\x10\x11")
    assert front.wait() == 0
    assert only_job(hf, box)["state"] == "running"
    assert front.restored()


def test_detach_keys_in_two_pieces(terminal, hf, box):
    front = terminal("exec", "-t", "--detach-keys", "ctrl-p,ctrl-q", box, "--", "bash", "-c", "stty raw -echo; echo ready; cat -v")
    front.expect("ready")
    front.type(b"\x10")
    time.sleep(0.2)
    front.type(b"\x11")
    assert front.wait() == 0
    assert only_job(hf, box)["state"] == "running"


def test_no_detach_keys(terminal, hf, box):
    front = terminal("exec", "-t", "--detach-keys", "", box, "--", "bash", "-c", "stty raw -echo; echo ready; head -c 2 | cat -v")
    front.expect("ready")
    front.type(DETACH + b"x")
    front.expect(r"\^\]x")
    assert front.wait() == 0


@pytest.mark.parametrize("keys", ["nope", "ctrl-", "ctrl-p,", ",", "ctrl-p,,ctrl-q", "ctrl-aa"])
def test_detach_keys_that_are_none(hf, box, keys):
    result = hf.exec(box, "true", flags=["--detach-keys", keys])
    assert result.code == 2 and "--detach-keys" in result.errors, str(result)


def test_two_in_front_of_one_terminal(terminal, hf, box):
    """Both see it; only one of them types."""
    first = terminal("exec", "-t", box, "--", "bash", "-c", "echo ready; read -r line; echo \"<$line>\"; read -r line; echo \"<$line>\"")
    first.expect("ready")
    number = only_job(hf, box)["job"]
    second = terminal("attach", "--no-stdin", box, number)
    second.expect("ready")
    first.type("typed\n")
    first.expect("<typed>")
    second.expect("<typed>")
    second.type(CTRL_C)
    second.wait()
    assert second.restored()
    assert only_job(hf, box)["state"] == "running"
    first.type("again\n")
    first.expect("<again>")
    assert first.wait() == 0


def test_the_detach_keys_leave_a_job_that_is_only_watched(terminal, hf, box):
    number = hf.ok("exec", "-d", "-t", box, "--", "bash", "-c", "echo ready; sleep 1001").text.strip()
    front = terminal("attach", "--no-stdin", box, number)
    front.expect("ready")
    front.type(DETACH)
    assert front.wait(timeout=5) == 0
    assert only_job(hf, box)["state"] == "running" and front.restored()


def test_what_a_watcher_types_is_not_shown_on_the_jobs_screen(terminal, hf, box):
    """Its echo would stand in the middle of what the job draws."""
    number = hf.ok("exec", "-d", "-t", box, "--", "bash", "-c", "echo ready; read -r line; echo \"<$line>\"").text.strip()
    front = terminal("attach", "--no-stdin", box, number)
    front.expect("ready")
    front.type("typed")
    time.sleep(0.2)
    assert b"typed" not in front.rest()
    assert b"typed" not in hf.ok("logs", box, number).out
    front.type(CTRL_C)
    front.wait()


# --- holdfast sh ---------------------------------------------------------------------------------


def test_sh_is_a_login_shell_on_a_terminal(terminal, box):
    front = terminal("sh", box)
    front.expect(r"[#$] ")
    enter(front, "shopt -q login_shell && echo lo''gin; tty; echo $((6 * 7)); pwd")
    front.expect(r"login\r\n/dev/pts/\d+\r\n42\r\n/workspace\r\n")
    front.type("exit 11\n")
    assert front.wait() == 11
    assert front.restored()


def test_sh_with_flags(terminal, box):
    front = terminal("sh", "-w", "/usr", "-u", "nobody", "-e", "A=b c", box)
    front.expect(r"[#$] ")
    enter(front, "echo \"<$PWD,$A,$(id -un)>\"")
    front.expect("</usr,b c,nobody>")
    front.expect(r"[#$] ")
    front.type(CTRL_D)
    assert front.wait() == 0


def test_sh_without_a_terminal_reads_commands(hf, box):
    result = hf("sh", box, input="echo one\ntty\nexit 4\n")
    assert (result.code, result.out) == (4, b"one\nnot a tty\n"), str(result)


def test_sh_with_only_stdout_redirected_reads_commands(terminal, hf, box, tmp_path):
    with open(tmp_path / "out", "wb") as file:
        front = terminal("sh", box, stdout=file)
        front.type(b"echo captured\nexit 4\n")
        assert front.wait() == 4
    assert (tmp_path / "out").read_bytes() == b"captured\n"
    assert front.restored()


def test_sh_can_be_left_and_come_back_to(terminal, hf, box):
    front = terminal("sh", box)
    front.expect(r"[#$] ")
    enter(front, "variable=kept")
    front.expect(r"[#$] ")
    front.type(DETACH)
    assert front.wait() == 0
    front = terminal("attach", box, only_job(hf, box)["job"])
    front.type("echo \"<$variable>\"; exit 5\n")
    front.expect("<kept>")
    assert front.wait() == 5


# --- without one ---------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["exec", "run"])
def test_t_without_a_terminal_is_wrong_usage(hf, box, verb):
    for options in ({}, {"input": "x"}):
        result = hf(verb, "-t", *([box] if verb == "exec" else []), "--", "true", **options)
        assert result.code == 2 and "terminal" in result.errors, str(result)
    assert jobs(hf, box) == {}


def test_t_with_redirected_output_is_a_terminal_job_all_the_same(terminal, box, tmp_path):
    """As `script` or a pager would want it: input from the terminal, output to a file."""
    with open(tmp_path / "out", "wb") as file:
        front = terminal("exec", "-t", box, "--", "bash", "-c", "tty; exit 3", stdout=file)
        assert front.wait() == 3
    assert re.fullmatch(rb"/dev/pts/\d+\r\n", (tmp_path / "out").read_bytes())
    assert front.restored()


def test_json_and_a_terminal_is_wrong_usage(terminal, hf, box):
    front = terminal("exec", "-t", "--json", box, "--", "echo", "x")
    assert front.wait() == 2
    assert front.restored() and jobs(hf, box) == {}


def test_detached_with_a_terminal_needs_none(hf, box):
    number = hf.ok("exec", "-d", "-t", box, "--", "tty").text.strip()
    assert hf("wait", box, number).code == 0
    assert re.fullmatch(rb"/dev/pts/\d+\r\n", hf.ok("logs", box, number).out)


def test_without_t_there_is_none(terminal, box):
    front = terminal("exec", "-i", box, "--", "sh", "-c", "tty; cat")
    front.expect("not a tty")
    front.type(b"line\n" + CTRL_D)
    front.expect("line\r\nline\r\n")
    assert front.wait() == 0
    assert front.restored()


def test_without_t_ctrl_c_ends_the_job(terminal, hf, box):
    front = terminal("exec", box, "--", "sh", "-c", "echo ready; sleep 1001")
    front.expect("ready")
    front.type(CTRL_C)
    assert front.wait() == 130
    assert "sleep 1001" not in hf.sh(box, "ps -eo stat=,args= | grep -v ^Z")
