"""Sessions: what one command leaves, the next one finds. Whole, private, and nowhere in the output."""
import concurrent.futures
import os
import re
import signal

import pytest

import harness
from terminals import Terminal


class Session:
    """One session by its name: texts through the command line."""

    def __init__(self, hf, box, name="s", flags=()):
        self.hf, self.box, self.name, self.flags = hf, box, name, list(flags)

    def run(self, text, *args, flags=(), **options):
        words = ["exec", "--session", self.name, *self.flags, *flags, self.box, "-c", text]
        return self.hf(*words, *(["--", *args] if args else []), **options)

    def plain(self, *command, flags=(), **options):
        """A command and no text."""
        return self.hf("exec", "--session", self.name, *self.flags, *flags, self.box, "--", *command, **options)

    def __call__(self, text, out="", code=0, err=b"", **options):
        """A text and all that it must show: nothing of ours may stand there."""
        result = self.run(text, **options)
        assert result.code == code, str(result)
        assert result.text == out, str(result)
        assert err is None or result.err == err, str(result)


@pytest.fixture
def session(hf, box):
    return Session(hf, box)


@pytest.fixture
def shell_only(hf, box):
    """A session of a user who finds sh and the usual tools, but no bash."""
    tools = "sh cat echo env id ls ps sleep wc pwd mkdir rmdir touch rm grep"
    hf.sh(box, f"mkdir /workspace/bin; for t in {tools}; do ln -s $(command -v $t) /workspace/bin/; done")
    return Session(hf, box, flags=["-e", "PATH=/workspace/bin"])


# --- what is carried -----------------------------------------------------------------------------


def test_directory(session):
    session("cd /usr/lib")
    session("pwd; echo $PWD $OLDPWD", "/usr/lib\n/usr/lib /workspace\n")
    session("cd - >/dev/null; pwd", "/workspace\n")
    session("pwd", "/workspace\n")


def test_directory_with_an_odd_name(session):
    session("mkdir $'a b\\n$(x)\\'\"\\377'; cd $'a b\\n$(x)\\'\"\\377'")
    session("[[ $PWD -ef . && $PWD == $'/workspace/a b\\n$(x)\\'\"\\377' ]] && echo same", "same\n")


def test_directory_by_a_link_stays_the_link(session):
    session("ln -s /usr/lib l; cd l")
    session("pwd; pwd -P", "/workspace/l\n/usr/lib\n")


def test_directory_that_is_gone_is_told_and_harms_nothing_else(session):
    session("mkdir gone; cd gone; x=5")
    session("rmdir /workspace/gone; y=6")
    result = session.run("echo $x $y")
    assert (result.code, result.text) == (0, "5 6\n")
    assert "gone" in result.errors
    session("cd /tmp", err=None)
    session("pwd; echo $x", "/tmp\n5\n")


def test_variables(session):
    session("plain='a  b'; export EXPORTED='c  d'; declare -i number=3; readonly FIXED=yes; empty=")
    session("printf '<%s>' \"$plain\" \"$EXPORTED\" \"${empty-unset}\"; number+=4; echo $number; env | grep -c -e ^plain= -e ^EXPORTED=",
            "<a  b><c  d><>7\n1\n")
    session("FIXED=no; echo not", code=1, err=None)
    session("echo $FIXED; unset plain; export -n EXPORTED", "yes\n")
    session("echo ${plain-unset}; env | grep -c ^EXPORTED=; echo \"$EXPORTED\"", "unset\n0\nc  d\n")


def test_arrays(session):
    session("list=(a 'b c' [5]=z); declare -A map=([k]=v ['a b']='c d' [']']=q)")
    session("echo \"${#list[@]} ${list[1]} ${list[5]} ${map[k]} ${map[a b]} ${map[\"]\"]} ${!list[*]}\"", "3 b c z v c d q 0 1 5\n")


def test_functions(session):
    session("f() { local x=$1; echo \"f $x\"; }; export -f f; g-h() { cat <<END\n$1 'q'\nEND\n}; r() { return 3; }")
    session("f 1; g-h 'a b'; r; echo $?; bash -c 'f 2'", "f 1\na b 'q'\n3\nf 2\n")
    session("unset -f f")
    session("f 2>/dev/null || echo gone; g-h x", "gone\nx 'q'\n")


def test_aliases(session):
    session("alias ll='echo LL' q=\"echo \\\"it's \\$HOME\\\"\"")
    session("ll 1\nq", "LL 1\nit's /root\n")
    session("unalias ll")
    session("ll 2>/dev/null || echo gone\nq", "gone\nit's /root\n")


def test_options(session):
    session("set -o pipefail; set -f -C; shopt -s nullglob globstar nocasematch")
    session("set -o | grep -E '^(pipefail|noglob|noclobber)' | tr -s '\\t ' ' '; shopt nullglob globstar nocasematch | tr -s '\\t ' ' '; echo *",
            "noclobber on\nnoglob on\npipefail on\nnullglob on\nglobstar on\nnocasematch on\n*\n")
    session("set +f +C; shopt -u nullglob nocasematch")
    session("echo /nosuch*; false | true", "/nosuch*\n", code=1)


def test_umask(session):
    session("umask 027")
    session("umask; touch file; stat -c %a file", "0027\n640\n")


@pytest.mark.parametrize("options", ["-u", "-e", "-f", "-C", "-a", "-o pipefail", "-o posix", "-eufC"])
def test_the_users_options_do_not_disturb_the_session(session, options):
    session(f"x=1; set {options}; y=2")
    session("z=3; echo $x $y $z", "1 2 3\n")
    session("echo $x $y $z $- | cut -d' ' -f1-3", "1 2 3\n")


def test_xtrace_shows_the_users_commands_only(session):
    session.run("set -x; x=1")
    result = session.run("echo b")
    assert result.text == "b\n"
    assert re.fullmatch(r"\++ echo b\n", result.errors), str(result)
    result = session.run("set +x; echo $x")
    assert result.text == "1\n"
    session("echo quiet", "quiet\n")


def test_a_strange_ifs(session):
    session("IFS=0123456789/abcdefghijklmnopqrstuvwxyz; x='keep it'")
    session("echo \"$x\"; y=\"$x\"", "keep it\n")
    session("unset IFS; echo \"$y\"", "keep it\n")
    session("set -- $y; echo $#", "2\n")


def test_functions_with_the_names_of_builtins(session):
    session("cd() { builtin cd \"$@\" && echo \"now $PWD\"; }; echo() { builtin echo E \"$@\"; }; declare() { builtin echo D; }; v=1")
    session("cd /usr; echo $v", "E now /usr\nE 1\n")
    session("builtin pwd; builtin echo $v", "/usr\n1\n")


def test_traps_descriptors_and_positional_words_are_not_carried(session):
    session("trap 'echo usr' USR1; exec 5>/tmp/five; set -- a b")
    session("trap -p; echo $#; { echo x >&5; } 2>/dev/null || echo closed", "0\nclosed\n")


def test_unset_variables_of_the_box_stay_unset(hf):
    box = hf.up("-e", "FROM_BOX=1")
    session = Session(hf, box)
    session("echo $FROM_BOX; unset FROM_BOX HOME", "1\n")
    session("echo ${FROM_BOX-none} ${HOME-none}", "none none\n")


def test_many_and_large_values(session):
    session("x=$(head -c 1000000 /dev/zero | tr '\\0' a); for i in {1..2000}; do declare \"v$i=$i\"; done")
    session("echo ${#x} $v1 $v2000 ${v2001-none}", "1000000 1 2000 none\n")


def test_a_counter_over_many_jobs(session):
    for i in range(30):
        session("echo $((n++))", f"{i}\n")


# --- values are data -----------------------------------------------------------------------------


VALUES = ["a\nb", "'", "\"", "`touch /tmp/evil`", "$(touch /tmp/evil)", "'; touch /tmp/evil; '", "\\", "\\\n", "a\\", "$'\\n'", "!!",
          "#end\n", "\n#end\n", "#holdfast bash 1\ntouch /tmp/evil\n#end\n", "\x01\x7f\x1b[31m", " lead and trail ", "*", "~", "{a,b}",
          "\u20ac\U0001f600", "() { :; }; touch /tmp/evil", "=", "x=y", "%s%n", "-n", "--"]


def test_values_of_any_kind(session):
    for i, value in enumerate(VALUES):
        result = session.run(f"P{i}=$V; export E{i}=$V; A{i}=(x \"$V\"); declare -A M{i}; M{i}[\"$V\"]=$V; alias al{i}=\"$V\" 2>/dev/null; unset V",
                             flags=["-e", f"V={value}"])
        assert (result.code, result.err) == (0, b""), str(result)
    for i, value in enumerate(VALUES):
        result = session.run(f"printf '%s\\0' \"$P{i}\" \"$E{i}\" \"${{A{i}[1]}}\" \"${{!M{i}[@]}}\" \"${{M{i}[@]}}\"")
        assert result.err == b"" and result.out == (value.encode() + b"\0") * 5, (value, str(result))
    session("[ -e /tmp/evil ] && echo evil; true")


def test_bytes_that_are_no_characters(session):
    session("x=$'\\377\\376\\303a'; export y=$x")
    session("[[ $x == $'\\377\\376\\303a' && $y == \"$x\" ]] && echo same", "same\n")


# --- ends of all kinds ---------------------------------------------------------------------------


def test_kept_after_exit(session):
    session("x=1; cd /usr; exit 3", code=3)
    session("echo $x $PWD; f() { local x=9 l=1; x2=2; exit 4; }; f", "1 /usr\n", code=4)
    session("echo $x $x2 ${l-none}; (exit 5)", "1 2 none\n", code=5)


def test_kept_after_exec(session):
    session("x=1; cd /usr; exec sh -c 'echo in; exit 4'", "in\n", code=4)
    session("echo $x $PWD; y=2; f() { exec true; }; f", "1 /usr\n")
    session("echo $y; z=3; exec /no/such/program", "2\n", code=127, err=None)
    session("echo $z", "3\n")


def test_kept_after_set_e(session):
    session("set -e; x=1; cd /usr; f() { local x=2; y=3; false; echo not; }; f; echo not", code=1)
    session("echo $x $y $PWD", "1 3 /usr\n")
    session("set +e; false; echo on", "on\n")


def test_kept_after_set_u(session):
    result = session.run("x=1; set -u; echo $nothing; echo not")
    assert result.code != 0 and result.out == b""
    session("echo $x", "1\n")


def test_kept_after_a_syntax_error(session):
    result = session.run("x=1\ncd /usr\nif then\necho not\n")
    assert (result.code, result.out) == (2, b"") and "line 3" in result.errors, str(result)
    session("echo $x $PWD", "1 /usr\n")


def test_line_numbers_are_those_of_the_text(session):
    session("x=1")
    result = session.run("\n\nno-such-program\necho $LINENO")
    assert "line 3: no-such-program" in result.errors and result.text == "4\n", str(result)


def test_kept_after_a_timeout(session):
    session("x=1; cd /usr")
    result = session.run("y=2; sleep 1000", flags=["--timeout", "300ms"])
    assert result.code == 124
    session("echo $x $PWD", "1 /usr\n")


def test_kept_after_a_timeout_that_ignores_sigterm(session):
    session("x=1")
    assert session.run("trap '' TERM; x=2; while :; do sleep 0.05; done", flags=["--timeout", "200ms", "--grace", "200ms"]).code == 124
    session("echo $x", "1\n")


@pytest.mark.parametrize("name", ["INT", "TERM", "HUP"])
def test_kept_after_a_cancel(hf, session, name):
    session("x=1; cd /usr")
    process = hf.popen("exec", "--session", "s", session.box, "-c", "echo ready; sleep 1000; :")
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(getattr(signal, "SIG" + name))
    process.communicate(timeout=harness.PATIENCE)
    assert process.returncode == 130
    session("echo $x $PWD", "1 /usr\n")


def test_kept_after_the_client_was_killed(hf, session):
    session("x=1")
    process = hf.popen("exec", "--session", "s", session.box, "-c", "x=2; echo ready; sleep 1000; :")
    assert process.stdout.readline() == b"ready\n"
    process.kill()
    process.communicate()
    harness.wait_until(lambda: "sleep 1000" not in hf.sh(session.box, "ps -eo stat=,args= | grep -v ^Z"), "the job is gone")
    assert session.run("echo $x").text in ("1\n", "2\n")


def test_kept_after_sigkill_of_the_shell(session):
    session("x=1; cd /usr")
    session("x=2; cd /tmp; kill -KILL $$", code=137, err=None)
    session("echo $x $PWD", "1 /usr\n")


def test_kept_after_sigterm_of_the_shell(session):
    session("x=1; cd /usr")
    session("y=2; kill -TERM $$; sleep 5", code=143, err=None)
    session("echo $x $PWD", "1 /usr\n")


def test_a_kill_of_the_shell_in_the_middle_leaves_the_last_whole_state(session):
    """At any moment, also while it writes its state."""
    session("n=0; big=$(head -c 300000 /dev/zero | tr '\\0' b); sum=0")
    last = 0
    for i in range(30):
        result = session.run(f"n={i + 1}; sum={i + 1}; (sleep 0.00{i % 10}; kill -KILL $$) & exit 0")
        assert result.code in (0, 137), str(result)
        result = session.run("echo $n $sum ${#big}")
        n, total, size = map(int, result.text.split())
        assert n == total and size == 300000 and last <= n <= i + 1, str(result)
        last = n


def test_background_children_and_subshells_do_not_change_it(session):
    session("x=1; (x=2; exit 3); { x=4; } & wait; x=5 | cat; y=$(x=6; exit 1); true")
    session("echo $x; { sleep 0.3; x=7; } >/dev/null 2>&1 &", "1\n")
    session("sleep 0.4; echo $x", "1\n")


def test_a_background_child_does_not_hold_the_state_back(hf, session):
    session("x=1; sleep 1001 &")
    session("echo $x", "1\n")
    assert "sleep 1001" in hf.sh(session.box, "ps -eo args")


def test_exit_traps_of_the_user(session):
    session("trap 'echo bye $?; t=1' EXIT; exit 3", "bye 3\n", code=3)
    session("echo $t; trap -p EXIT", "1\n")
    session("trap 'echo a; exit 9' EXIT; t=2; exit 4", "a\n", code=9)
    session("echo $t; trap 'echo x' EXIT; trap - EXIT", "2\n")
    session("trap 'cd /usr; late=yes' EXIT")
    session("echo $late $PWD", "yes /usr\n")


def test_exit_traps_look_as_they_should(session):
    session("x=1")
    session("trap -p", "")
    session("trap 'echo \"it'\\''s\"' EXIT; trap -p EXIT; echo \"$(trap -p EXIT)\"",
            "trap -- 'echo \"it'\\''s\"' EXIT\ntrap -- 'echo \"it'\\''s\"' EXIT\nit's\n")


# --- at the same time ----------------------------------------------------------------------------


def test_twenty_at_once_leave_one_whole_state(hf, session):
    names = [f"V{i}" for i in range(40)]
    session("mkdir /tmp/d{0..20}")

    def assign(i):
        return "; ".join(f"{name}={i}" for name in names) + f"; big=$(head -c 200000 /dev/zero | tr '\\0' {i % 10}); cd /tmp/d{i}; f() {{ echo {i}; }}"

    show = "echo " + " ".join(f"${name}" for name in names) + " ${PWD#/tmp/d} $(f); printf %s \"$big\" | tr -s 0-9; echo"
    session(assign(0))
    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        results = list(pool.map(lambda i: session.run(show + "\n" + assign(i)), range(1, 21)))
    for result in [*results, session.run(show)]:
        assert (result.code, result.err) == (0, b""), str(result)
        first, second = result.text.splitlines()
        words = first.split()
        assert len(words) == 42 and len(set(words)) == 1, str(result)
        assert second == str(int(words[0]) % 10), str(result)


def test_the_one_that_ends_last_wins(hf, gated, gate):
    session = Session(hf, gated)
    session("x=0")
    slow = hf.popen("exec", "--session", "s", gated, "-c", "echo ready; x=slow; IFS= read -r < /gate/fifo")
    assert slow.stdout.readline() == b"ready\n"
    session("x=fast")
    session("echo $x", "fast\n")
    gate.open()
    slow.communicate(timeout=harness.PATIENCE)
    assert slow.returncode == 0
    session("echo $x", "slow\n")


# --- streams and words ---------------------------------------------------------------------------


def test_nothing_of_ours_is_shown(session):
    session("", "")
    session("# only a comment")
    session("true")
    session("echo out; echo err >&2", "out\n", err=b"err\n")
    session("compgen -e | grep -i -e hf -e HOLDFAST_SESSION; alias; true", "")


def test_stdin_is_the_jobs(session):
    session("read -r x; y=$(cat)", flags=["-i"], input="first\nsecond\nthird\n")
    session("echo \"$x,$y\"", "first,second\nthird\n")
    session("cat; read -r z || echo empty", "empty\n")


def test_no_descriptor_is_left_open(session):
    session("x=1")
    session("ls /proc/self/fd | tr '\\n' ' '", "0 1 2 3 ")


def test_words_of_a_text(hf, session):
    assert session.run("echo \"$0|$1|$#\"", "zero", "a b", "c").text == "zero|a b|2\n"
    assert session.run("echo \"$#\"").text == "0\n"


def test_a_plain_command_is_run_by_the_sessions_shell(session):
    assert session.plain("cd", "/tmp").code == 0
    assert session.plain("pwd").text == "/tmp\n"
    assert session.plain("export", "A=b  c").code == 0
    assert session.plain("printf", "<%s>", "$A", "a  b", "", "*").text == "<$A><a  b><><*>"
    session("f() { echo \"f $1\"; return 4; }")
    result = session.plain("f", "x y")
    assert (result.code, result.text) == (4, "f x y\n")
    assert session.plain("no-such-program-anywhere").code == 127
    assert session.plain("env").text.count("A=b  c\n") == 1
    session("echo \"$A $PWD\"", "b  c /tmp\n")


def test_a_plain_command_is_not_parsed_again(hf, session):
    result = session.plain("echo", "$(touch /tmp/evil)", ";", "touch", "/tmp/evil", "|", "cat", "&&", "x=1")
    assert result.text == "$(touch /tmp/evil) ; touch /tmp/evil | cat && x=1\n"
    assert hf.exec(session.box, "test", "-e", "/tmp/evil").code == 1


def test_a_script_in_a_session(hf, session, tmp_path):
    path = tmp_path / "script"
    path.write_text("x=$1\ncd /usr\n" + "# filler\n" * 50000)
    assert hf("exec", "--session", "s", "--script", path, session.box, "--", "one").code == 0
    session("echo $x $PWD", "one /usr\n")


def test_workdir_and_env_of_a_job_win(session):
    session("cd /usr; export A=session; B=session")
    session("pwd; echo $A $B", "/etc\njob job\n", flags=["-w", "/etc", "-e", "A=job", "-e", "B=job"])
    session("pwd", "/etc\n")


def test_a_missing_workdir_does_not_start(session):
    session("x=1")
    assert session.run("x=2", flags=["-w", "/no/such/directory"]).code == 126
    session("echo $x", "1\n")


def test_json_of_a_job_in_a_session(session):
    document = session.run("echo out; exit 3", flags=["--json"]).json
    assert (document["outcome"], document["exit_code"], document["stdout"], document["stderr"]) == ("exited", 3, "out\n", "")


def test_a_detached_job_in_a_session(hf, session):
    number = hf.ok("exec", "-d", "--session", "s", session.box, "-c", "x=1; cd /usr; echo done").text.strip()
    assert hf("wait", session.box, number).code == 0
    session("echo $x $PWD", "1 /usr\n")
    entry, = (entry for entry in hf.ok("jobs", "--json", session.box).json if entry["job"] == number)
    assert entry["session"] == "s"


def test_a_terminal_in_a_session(hf, session):
    session("x=1; cd /usr")
    front = Terminal([hf.cli, "exec", "-t", "--session", "s", session.box, "-c", "tty; echo $x $PWD; read -r y"], hf.env)
    try:
        front.expect(r"/dev/pts/\d+\r\n1 /usr\r\n")
        front.type("typed\n")
        assert front.wait() == 0
        assert front.restored()
    finally:
        front.close()
    session("echo $y", "typed\n")


def test_the_first_job_is_a_login_shell_and_later_ones_are_not(hf, session):
    hf.sh(session.box, "echo 'export FROM_PROFILE=$((FROM_PROFILE + 1)); profile_function() { echo pf; }' > /root/.bash_profile")
    session("shopt -q login_shell && echo login; echo $FROM_PROFILE", "login\n1\n")
    session("shopt -q login_shell || echo not login; echo $FROM_PROFILE; profile_function", "not login\n1\npf\n")


def test_noise_of_a_profile_is_the_users_own(hf, session):
    """It is shown once, where it was printed, and not made part of the state."""
    hf.sh(session.box, "echo 'echo from the profile' > /root/.bash_profile")
    session("echo text", "from the profile\ntext\n")
    session("echo text", "text\n")


# --- whose it is ---------------------------------------------------------------------------------


def test_sessions_are_apart_by_name(hf, box):
    one, two = Session(hf, box, "one"), Session(hf, box, "two")
    one("x=1; cd /usr")
    two("echo ${x-none} $PWD; x=2", "none /workspace\n")
    one("echo $x $PWD", "1 /usr\n")
    two("echo $x", "2\n")


def test_sessions_are_apart_by_user(hf, box):
    root, other = Session(hf, box), Session(hf, box, flags=["-u", "nobody"])
    root("secret=s3cr3t; cd /usr")
    other("echo ${secret-none}; id -un; mine=1", "none\nnobody\n", err=None)
    other("echo $mine ${secret-none}", "1 none\n")
    root("echo ${mine-none} $secret", "none s3cr3t\n")


def test_a_job_without_a_session_has_nothing_of_it(hf, session):
    session("export x=1; cd /usr; f() { :; }")
    assert hf.sh(session.box, "echo ${x-none} $PWD; declare -F f || echo none") == "none /workspace\nnone\n"


def test_no_other_user_can_read_it(hf, session):
    """No file of the box and no descriptor that another user can open has it."""
    secret = "s3cr3t-" + os.urandom(8).hex()
    session("export A=$V; B=$V; f() { : $V; }; unset V", flags=["-e", f"V={secret}"])
    running = hf.popen("exec", "--session", "s", session.box, "-c", "echo ready; sleep 1001; :")
    assert running.stdout.readline() == b"ready\n"
    # The pattern is written so that it does not find itself.
    pattern = f"{secret[:-1]}[{secret[-1]}]"
    search = (f"grep -rlsa {pattern} /tmp /var /run /root /home /workspace /dev/shm /etc; "
              f"for p in /proc/[0-9]*; do for f in $p/fd/* $p/environ $p/cmdline; do [ -f $f ] && grep -qsa {pattern} $f && echo $f; done; done; true")
    result = hf.exec(session.box, "bash", "-c", search, flags=["-u", "nobody"])
    assert result.out == b"", str(result)
    # Its own user sees at least the environment of what the job started: the search works.
    harness.wait_until(lambda: hf.exec(session.box, "bash", "-c", search).out, "the search finds something at all")
    running.terminate()
    running.communicate(timeout=harness.PATIENCE)


def test_the_state_is_in_no_file_of_the_box(hf, session):
    before = hf.sh(session.box, "find / -xdev -newer /proc/self/stat 2>/dev/null | wc -l; find /tmp /var/tmp /run /root /home /workspace /dev/shm | sort")
    session("x=1; export y=2")
    assert hf.sh(session.box, "find /tmp /var/tmp /run /root /home /workspace /dev/shm | sort") == "".join(before.splitlines(True)[1:])


def test_a_session_goes_with_its_box(hf):
    box = hf.up("--name", "again")
    Session(hf, box)("x=1")
    hf.ok("rm", "-f", box)
    hf.up("--name", "again")
    Session(hf, box)("echo ${x-none}", "none\n")


def test_inspect_shows_the_sessions(hf, box):
    assert hf.inspect(box)["sessions"] == []
    Session(hf, box, "one")("SECRET=s3cr3t")
    Session(hf, box, "two", flags=["-u", "nobody"])("x=1", err=None)
    sessions = {entry["name"]: entry for entry in hf.inspect(box)["sessions"]}
    assert set(sessions) == {"one", "two"}
    assert sessions["one"]["shell"] == "bash"
    assert {"functions", "aliases"} <= set(sessions["one"]["carries"]), sessions["one"]
    assert sessions["two"]["user"] == "nobody"
    assert "s3cr3t" not in hf.ok("inspect", box).text


def test_inspect_tells_what_sh_carries(hf, shell_only):
    shell_only("export x=1")
    entry, = hf.inspect(shell_only.box)["sessions"]
    assert entry["shell"] == "sh"
    assert "functions" not in entry["carries"] and "aliases" not in entry["carries"] and entry["carries"], entry


@pytest.mark.parametrize("name", ["a", "A.b_c-d", "x" * 128, "with space", "\u20ac", "../x", "-x", "$(id)"])
def test_names(hf, box, name):
    session = Session(hf, box, name)
    session("x=1")
    session("echo $x", "1\n")
    assert [entry["name"] for entry in hf.inspect(box)["sessions"]] == [name]


@pytest.mark.parametrize("name", ["", "x" * 129, "x" * 1000])
def test_names_that_are_none(hf, box, name):
    result = Session(hf, box, name).run("true")
    assert result.code in (2, 125) and result.err, str(result)


def test_a_box_has_room_for_many_sessions_and_says_when_it_has_not(make_holdfast):
    hf = make_holdfast(cli=os.path.join(harness.RELEASE, "holdfast"))
    box = hf.up()
    codes = [Session(hf, box, f"s{i}").run(f"x={i}").code for i in range(260)]
    assert codes == [0] * 256 + [125] * 4
    for i in (0, 100, 255):
        Session(hf, box, f"s{i}")("echo $x", f"{i}\n")
    assert hf.exec(box, "true").code == 0


def test_a_session_that_grows_too_large_keeps_its_last_state(hf, session):
    session("x=1")
    result = session.run("x=2; big=$(head -c 20000000 /dev/zero | tr '\\0' a)")
    assert result.code == 0, str(result)
    session("echo $x ${#big}", "1 0\n")


# --- without bash --------------------------------------------------------------------------------


def test_sh_carries_directory_umask_and_exported_variables(shell_only):
    shell_only("cd /usr/lib; export A='a  b' B=\"it's\n\\$(x)\"; umask 027; plain=1")
    shell_only("pwd; umask; echo \"$A|$B|${plain-none}\"", "/usr/lib\n0027\na  b|it's\n$(x)|none\n")


def test_sh_keeps_it_after_exit_and_errors(shell_only):
    shell_only("export A=1; cd /usr; exit 3", code=3)
    shell_only("echo $A $PWD; set -e; export B=2; false; echo not", "1 /usr\n", code=1)
    shell_only("echo $B; export C=3\nif", "2\n", code=2, err=None)
    shell_only("echo $C", "3\n")
    shell_only("export A=9; kill -KILL $$", code=137, err=None)
    shell_only("echo $A $B $C", "1 2 3\n")


def test_sh_values_are_data(shell_only):
    for value in VALUES:
        result = shell_only.run("export V", flags=["-e", f"V={value}"])
        assert (result.code, result.err) == (0, b""), str(result)
        result = shell_only.run("printf %s \"$V\"")
        assert result.out == value.encode(), str(result)
    shell_only("[ -e /tmp/evil ] && echo evil; true")


def test_sh_plain_commands(shell_only):
    assert shell_only.plain("cd", "/tmp").code == 0
    assert shell_only.plain("pwd").text == "/tmp\n"


def test_sh_after_bash_and_bash_after_sh(hf, session, shell_only):
    """The same session with another shell: what both know is carried, and nothing breaks."""
    session("export A=1; cd /usr; f() { :; }")
    result = shell_only.run("echo ${A-none} $PWD; export B=2")
    assert result.code == 0, str(result)
    result = session.run("echo ${A-none} ${B-none}")
    assert result.code == 0 and result.err == b"", str(result)
