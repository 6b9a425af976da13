"""Shell texts and scripts: of any size and content, with words of their own, in no process list."""
import hashlib
import os
import re

import pytest

import harness


@pytest.fixture
def script(tmp_path):
    """Writes a script file; its path."""
    def write(text, name="script.sh"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return str(path)
    return write


@pytest.fixture
def shell_only(hf, box):
    """Flags for jobs that find sh and the usual tools, but no bash."""
    tools = "sh cat echo env id ls ps sleep sha256sum wc pwd mkdir touch rm"
    hf.sh(box, f"mkdir /workspace/bin; for t in {tools}; do ln -s $(command -v $t) /workspace/bin/; done")
    assert hf.exec(box, "bash", "-c", "true", flags=["-e", "PATH=/workspace/bin"]).code == 127
    return ["-e", "PATH=/workspace/bin"]


def text(hf, box, words, *args, flags=(), **options):
    """-c TEXT with words after it."""
    return hf("exec", *flags, box, "-c", words, *(["--", *args] if args else []), **options)


def by_file(hf, box, path, *args, flags=(), **options):
    return hf("exec", *flags, "--script", path, box, *(["--", *args] if args else []), **options)


# --- words and streams ---------------------------------------------------------------------------


def test_a_text_is_run_by_bash(hf, box):
    result = text(hf, box, "a=(1 2 3); [[ ${a[2]} == 3 ]] && echo ${BASH_VERSION:+bash}; exit 7")
    assert (result.code, result.out) == (7, b"bash\n"), str(result)


def test_text_before_the_box(hf, box):
    assert hf.ok("exec", "-c", "echo here", box).out == b"here\n"


def test_a_script_file_is_run_by_bash(hf, box, script):
    result = by_file(hf, box, script("echo ${BASH_VERSION:+bash}\nexit 7\n"))
    assert (result.code, result.out) == (7, b"bash\n"), str(result)


def test_a_script_from_standard_input(hf, box):
    result = by_file(hf, box, "-", "one", input="echo \"$1 $#\"; exit 7")
    assert (result.code, result.out) == (7, b"one 1\n"), str(result)


def test_a_script_from_a_pipe(hf, box):
    command = f"\"$0\" exec --script <(echo 'echo piped') {box}"
    assert harness.execute(["bash", "-c", command, hf.cli], env=hf.env).out == b"piped\n"


def test_words_after_a_text_begin_at_0(hf, box):
    result = text(hf, box, "printf '%s,' \"$0\" \"$@\"; echo $#", "zero", "one", "two words", "", "$(id)", "*")
    assert result.out == b"zero,one,two words,,$(id),*,5\n"


def test_words_after_a_script_begin_at_1(hf, box, script):
    result = by_file(hf, box, script("printf '%s,' \"$@\"; echo $#"), "one", "two words", "", "$(id)", "-x")
    assert result.out == b"one,two words,,$(id),-x,5\n"


def test_a_text_without_words_has_a_shells_name(hf, box):
    assert text(hf, box, "echo $0 $#").out == b"bash 0\n"


def test_a_script_has_its_files_name(hf, box, script):
    assert by_file(hf, box, script("echo ${0##*/}", "tidy-up.sh")).out == b"tidy-up.sh\n"


def test_the_same_in_a_fresh_box(hf, script):
    assert hf.ok("run", "-c", "echo $1", "--", "x", "one").out == b"one\n"
    assert hf.ok("run", "--script", script("echo $1"), "--", "one").out == b"one\n"


def test_stdin_is_free_for_data(hf, box, script):
    data = os.urandom(3 << 20)
    for result in (text(hf, box, "sha256sum", flags=["-i"], input=data),
                   by_file(hf, box, script("sha256sum"), flags=["-i"], input=data)):
        assert result.text.split()[0] == hashlib.sha256(data).hexdigest(), str(result)


def test_read_in_a_text_reads_the_data_and_not_the_text(hf, box):
    result = text(hf, box, "read -r a\nread -r b\necho \"$b,$a\"\necho end", flags=["-i"], input="one\ntwo\n")
    assert result.out == b"two,one\nend\n"


def test_a_child_that_reads_everything_does_not_eat_the_script(hf, box, script, shell_only):
    path = script("cat >/dev/null\necho after\n")
    assert by_file(hf, box, path, flags=["-i"], input="x" * 100000).out == b"after\n"
    assert by_file(hf, box, path).out == b"after\n"
    assert by_file(hf, box, path, flags=["-i", *shell_only], input="x" * 100000).out == b"after\n"


def test_without_i_stdin_is_empty(hf, box):
    result = harness.execute(["sh", "-c", f"echo kept | (\"$0\" exec {box} -c cat; cat)", hf.cli], env=hf.env)
    assert result.out == b"kept\n"


def test_a_script_from_stdin_has_an_empty_one(hf, box):
    assert by_file(hf, box, "-", input="cat; echo end\n").out == b"end\n"


def test_no_descriptor_is_left_open_for_the_texts_children(hf, box, script, shell_only):
    for flags in ([], shell_only):
        for result in (text(hf, box, "ls /proc/self/fd", flags=flags),
                       by_file(hf, box, script("ls /proc/self/fd"), flags=flags)):
            # 3 is the directory that ls reads.
            assert result.text.split() == ["0", "1", "2", "3"], str(result)


def test_flags_of_a_job_apply(hf, box):
    result = text(hf, box, "pwd; echo $A; id -u; echo err >&2", flags=["-w", "/usr", "-e", "A=b", "-u", "1234", "--merge"])
    assert result.out == b"/usr\nb\n1234\nerr\n"
    assert text(hf, box, "sleep 1001", flags=["--timeout", "200ms"]).code == 124


def test_json_of_a_text(hf, box):
    document = text(hf, box, "echo out; echo err >&2; exit 3", flags=["--json"]).json
    assert (document["outcome"], document["exit_code"]) == ("exited", 3)
    assert (document["stdout"], document["stderr"]) == ("out\n", "err\n")


# --- any content ---------------------------------------------------------------------------------


@pytest.mark.parametrize("words", ["", " ", "\n", "\n\n\n", "# only a comment", "# only a comment\n", ":"])
def test_texts_that_do_nothing(hf, box, script, words):
    for result in (text(hf, box, words), by_file(hf, box, script(words)), by_file(hf, box, "-", input=words)):
        assert (result.code, result.out, result.err) == (0, b"", b""), str(result)


def test_no_newline_at_the_end(hf, box, script):
    assert by_file(hf, box, script("echo one\necho two")).out == b"one\ntwo\n"
    # A last line that read(1) of a shell would take for incomplete.
    assert by_file(hf, box, script("cat <<END\nbody\nEND")).out == b"body\n"


def test_space_around_a_text_is_kept(hf, box):
    assert text(hf, box, "  \n\techo 'a  b '  \n ").out == b"a  b \n"


@pytest.mark.parametrize("words, out", [
    ("printf '%s\\n' 'back\\slash' \"qu\\\"ote\" \\\n  continued", b"back\\slash\nqu\"ote\ncontinued\n"),
    ("cat <<'E'\n$HOME \\n `id`\nE\necho end", b"$HOME \\n `id`\nend\n"),
    ("cat <<E\n$((1 + 2))\nE", b"3\n"),
    ("f() { echo \"f $1\"; }\nf x\nalias g=f; g y 2>/dev/null || echo no alias", b"f x\nno alias\n"),
    ("for i in 1 2; do\necho $i\ndone | while read -r x; do echo got $x; done", b"got 1\ngot 2\n"),
    ("echo \"${REPLY-unset} ${BASH_ENV-unset} ${IFS@Q}\"", b"unset unset $' \\t\\n'\n"),
    ("trap 'echo bye' EXIT; echo hi", b"hi\nbye\n"),
    ("echo $LINENO; echo $LINENO\necho $LINENO", b"1\n1\n2\n"),
    ("exec echo replaced; echo not", b"replaced\n"),
    ("echo '\u20ac \U0001f600'; x='\u20ac'; echo ${#x}", "\u20ac \U0001f600\n1\n".encode()),
    ("echo $-", b"hBc\n"),
])
def test_a_text_means_what_it_means_to_bash(hf, box, script, words, out):
    plain = hf.exec(box, "bash", "-c", words)
    assert plain.out == out, "the test itself: " + str(plain)
    assert text(hf, box, words).out == out
    assert by_file(hf, box, script(words)).out == out


def test_bytes_that_are_no_characters(hf, box, script):
    """A script is bytes: what is in it arrives as it stands, in any locale."""
    bad = bytes(byte for byte in range(1, 256) if byte not in b"'")
    for locale in ("C", "C.UTF-8", "POSIX"):
        result = by_file(hf, box, script(b"printf %s '" + bad + b"'"), flags=["-e", f"LC_ALL={locale}"])
        assert result.out == bad, locale


def test_crlf_is_passed_to_the_shell_as_it_is(hf, box, script):
    """Nobody may guess: what the shell says about it is what it would say to the same file."""
    path = script("echo one\r\nno-such-program\r\n")
    result = by_file(hf, box, path)
    assert result.out == b"one\r\n"
    assert result.code == 127 and b"no-such-program" in result.err, str(result)


@pytest.mark.parametrize("size", [4095, 4096, 65536, 1 << 20, 8 << 20])
def test_long_lines(hf, box, script, size):
    result = by_file(hf, box, script("x=" + "a" * size + "; echo ${#x}"))
    assert (result.code, result.text) == (0, f"{size}\n"), str(result)


@pytest.mark.parametrize("size", [0, 100, 4096, 65535, 65536, 65537, 131071, 131072, 131073, 200 << 10, 1 << 20, 20 << 20])
def test_any_size(hf, box, script, size):
    """The end of it is reached, and nothing of it is missing in the middle."""
    line = "n=$((n + 1)) # filler filler filler filler filler filler filler filler filler filler filler\n"
    count = size // len(line)
    if size > 1 << 20:
        # Not so many commands: the text is what is large.
        body = "cat >/dev/null <<'END'\n" + line * count + "END\nn=%d\n" % count
    else:
        body = line * count
    result = by_file(hf, box, script("n=0\n" + body + "echo $n\nexit 5\n"))
    assert (result.code, result.text) == (5, f"{count}\n"), str(result)


def test_a_long_text(hf, box):
    """As long as the caller's own argv can be."""
    words = "x='" + "a" * 120000 + "'; echo ${#x}"
    assert text(hf, box, words).text == "120000\n"


@pytest.mark.parametrize("data", [b"echo a\0b\n", b"\0", b"echo ok\n\0"])
def test_a_nul_byte_is_an_error_with_its_place(hf, box, script, data):
    result = by_file(hf, box, script(data))
    assert result.code == 125 and result.out == b"", str(result)
    assert "NUL" in result.errors and str(data.index(b"\0")) in result.errors
    assert hf.ok("jobs", "--json", box).json == []


def test_an_interpreter_may_take_nul_bytes(hf, box, script):
    result = by_file(hf, box, script(b"#!/usr/bin/sha256sum\na\0b"))
    assert result.text.split()[0] == hashlib.sha256(b"#!/usr/bin/sha256sum\na\0b").hexdigest(), str(result)


# --- interpreters --------------------------------------------------------------------------------


def test_python_by_its_first_line(hf, box, script):
    path = script("#!/usr/bin/python3\nimport sys\nprint(sys.argv[1:], sys.stdin.read())\nsys.exit(4)\n")
    result = by_file(hf, box, path, "a b", "", flags=["-i"], input="data")
    assert (result.code, result.out) == (4, b"['a b', ''] data\n"), str(result)


@pytest.mark.parametrize("first", ["#!/usr/bin/env python3", "#! /usr/bin/python3", "#!/usr/bin/python3 -E",
                                   "#!/usr/bin/env -S python3 -E"])
def test_ways_to_write_the_first_line(hf, box, script, first):
    assert by_file(hf, box, script(first + "\nprint(6 * 7)\n")).out == b"42\n"


def test_an_interpreter_from_standard_input(hf, box):
    assert by_file(hf, box, "-", "x", input="#!/usr/bin/python3\nimport sys; print(sys.argv[1])").out == b"x\n"


def test_a_text_with_a_first_line(hf, box):
    result = text(hf, box, "#!/usr/bin/python3\nprint(6 * 7)")
    assert result.out == b"42\n", str(result)


def test_sh_by_its_first_line_is_not_bash(hf, box, script):
    assert by_file(hf, box, script("#!/bin/sh\necho \"${BASH_VERSION-none} $1\"\n"), "x").out == b"none x\n"


def test_a_large_python_script(hf, box, script):
    result = by_file(hf, box, script("#!/usr/bin/python3\nn = 0\n" + "n += 1  # filler filler filler\n" * 20000 + "print(n)\n"))
    assert result.out == b"20000\n"


def test_a_missing_interpreter(hf, box, script):
    result = by_file(hf, box, script("#!/no/such/interpreter\n"))
    assert result.code == 126 and "interpreter" in result.errors, str(result)
    document = by_file(hf, box, script("#!/no/such/interpreter\n"), flags=["--json"]).json
    assert document["outcome"] == "not_started"


def test_a_script_of_an_unprivileged_user(hf, box, script):
    """The caller's file may be private; in the box it belongs to the job."""
    for words in ("id -u", "#!/bin/sh\nid -u", "#!/usr/bin/python3\nimport os; print(os.getuid())"):
        path = script(words)
        os.chmod(path, 0o600)
        assert by_file(hf, box, path, flags=["-u", "1234"]).out == b"1234\n", words


# --- errors --------------------------------------------------------------------------------------


def test_a_syntax_error_is_2_and_tells_the_line(hf, box, script):
    words = "echo one\necho two\nif then\necho four\n"
    for result in (text(hf, box, words), by_file(hf, box, script(words))):
        assert result.code == 2, str(result)
        assert result.out == b"one\ntwo\n"
        assert "line 3" in result.errors and "syntax error" in result.errors, str(result)


def test_an_unfinished_command_is_2(hf, box, script):
    for words in ("if true; then\n", "echo 'open\n", "f() {\n", "(\n"):
        assert by_file(hf, box, script(words)).code in (1, 2), words
        assert by_file(hf, box, script(words)).err != b""


def test_a_missing_command_is_127_and_tells_the_line(hf, box, script):
    words = "echo one\n\n\nno-such-program-anywhere\n"
    for result in (text(hf, box, words), by_file(hf, box, script(words))):
        assert result.code == 127, str(result)
        assert "line 4" in result.errors and "no-such-program-anywhere" in result.errors, str(result)


def test_errors_name_the_script(hf, box, script):
    result = by_file(hf, box, script("no-such-program-anywhere\n", "tidy-up.sh"))
    assert result.errors.startswith("tidy-up.sh: line 1: "), str(result)


def test_line_numbers_without_bash(hf, box, script, shell_only):
    result = by_file(hf, box, script("echo one\n\nno-such-program-anywhere\n"), flags=shell_only)
    assert result.code == 127 and re.search(r"\b3: .*no-such-program-anywhere", result.errors), str(result)


def test_set_e_and_exit_codes(hf, box, script):
    assert by_file(hf, box, script("set -e\nfalse\necho not\n")).code == 1
    assert text(hf, box, "(exit 9)").code == 9
    assert text(hf, box, "kill -TERM $$").code == 143
    plain = hf.exec(box, "bash", "-c", "set -u; echo $nothing; echo not")
    result = text(hf, box, "set -u; echo $nothing; echo not")
    assert plain.code != 0 and (result.code, result.out) == (plain.code, b""), str(result)


@pytest.mark.parametrize("path", ["/no/such/script", "", "/tmp", "/etc/passwd/x"])
def test_a_script_that_cannot_be_read(hf, box, path):
    result = by_file(hf, box, path)
    assert result.code == 125 and "script" in result.errors, str(result)
    assert hf.ok("jobs", "--json", box).json == []
    result = by_file(hf, box, path, flags=["--json"])
    assert result.code == 125 and "error" in result.json, str(result)


def test_a_script_file_of_the_box_is_not_meant(hf, box):
    hf.sh(box, "echo 'echo inside' > /workspace/only-inside.sh")
    assert by_file(hf, box, "/workspace/only-inside.sh").code == 125


@pytest.mark.parametrize("words", [["-c", "true", "--script", "/dev/null", "BOX"], ["BOX"], ["-c"], ["--script"]])
def test_wrong_usage(hf, box, words):
    assert hf("exec", *[box if word == "BOX" else word for word in words]).code == 2


def test_script_from_stdin_and_data_from_stdin_is_wrong_usage(hf, box):
    assert by_file(hf, box, "-", flags=["-i"], input="true").code == 2


def test_an_endless_script_is_refused(hf, box):
    result = harness.execute(["bash", "-c", f"head -c 300000000 /dev/zero | tr '\\0' '#' | \"$0\" exec --script - {box}", hf.cli],
                             env=hf.env)
    assert result.code == 125 and "256 MiB" in result.errors, str(result)


# --- without bash --------------------------------------------------------------------------------


def test_without_bash_sh_runs_it(hf, box, script, shell_only):
    result = text(hf, box, "echo \"${BASH_VERSION-none} $0 $1\"; exit 7", "zero", "one", flags=shell_only)
    assert (result.code, result.out) == (7, b"none zero one\n"), str(result)
    result = by_file(hf, box, script("echo \"${BASH_VERSION-none} $1\"\nexit 7"), "one", flags=shell_only)
    assert (result.code, result.out) == (7, b"none one\n"), str(result)


def test_without_bash_any_size_and_data(hf, box, script, shell_only):
    body = "cat >/dev/null <<'END'\n" + "filler filler filler filler filler\n" * 600000 + "END\n"
    data = os.urandom(1 << 20)
    result = by_file(hf, box, script(body + "sha256sum\n"), flags=["-i", *shell_only], input=data)
    assert result.text.split()[0] == hashlib.sha256(data).hexdigest(), str(result)


@pytest.mark.parametrize("words", ["", "\n", "# comment"])
def test_without_bash_texts_that_do_nothing(hf, box, shell_only, words):
    result = text(hf, box, words, flags=shell_only)
    assert (result.code, result.out, result.err) == (0, b"", b""), str(result)


def test_without_bash_a_syntax_error_is_2(hf, box, shell_only):
    result = text(hf, box, "echo one\nif then\n", flags=shell_only)
    assert result.code == 2 and result.out == b"one\n", str(result)


def test_without_any_shell_it_says_so(hf, box):
    result = text(hf, box, "true", flags=["-e", "PATH=/nowhere"])
    assert result.code == 127 and "bash" in result.errors, str(result)


# --- process lists -------------------------------------------------------------------------------


def command_lines():
    """All of the machine's."""
    return {pid: harness.read_file(f"/proc/{pid}/cmdline") for pid in harness.processes()}


@pytest.mark.parametrize("first", ["", "#!/bin/sh\n", "#!/bin/bash\n"])
@pytest.mark.parametrize("without_bash", [False, True])
def test_nothing_of_a_script_is_in_a_process_list(hf, box, script, shell_only, first, without_bash):
    secret = "s3cr3t-" + os.urandom(8).hex()
    path = script(f"{first}: {secret}\necho ready\nsleep 1001\necho {secret}\n")
    process = hf.popen("exec", *(shell_only if without_bash else []), "--script", path, box)
    assert process.stdout.readline() == b"ready\n"
    harness.wait_until(lambda: any("sleep\x001001" in line for line in command_lines().values()),
                       "the box's processes can be seen from here")
    assert not [line for line in command_lines().values() if secret in line]
    inside = hf.sh(box, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '")
    assert "sleep 1001" in inside and secret not in inside
    assert secret not in hf.sh(box, "cat /proc/[0-9]*/environ /proc/[0-9]*/comm | tr '\\0' ' '")
    process.terminate()
    process.communicate(timeout=harness.PATIENCE)


def test_a_text_is_in_no_process_list_but_its_callers_own(hf, box):
    secret = "s3cr3t-" + os.urandom(8).hex()
    process = hf.popen("exec", box, "-c", f": {secret}; echo ready; sleep 1001; :")
    assert process.stdout.readline() == b"ready\n"
    assert [pid for pid, line in command_lines().items() if secret in line] == [process.pid]
    assert secret not in hf.sh(box, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '")
    process.terminate()
    process.communicate(timeout=harness.PATIENCE)


def test_jobs_shows_the_beginning_of_a_script_only(hf, box, script):
    """It is cut, so that a list stays a list."""
    number = hf.ok("exec", "-d", "--script", script("echo start\n" + "# filler\n" * 10000), box).text.strip()
    entry, = (entry for entry in hf.ok("jobs", "--json", box).json if entry["job"] == number)
    assert "echo start" in entry["command"] and len(entry["command"]) < 4096
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x1b]", hf.ok("jobs", box).text.replace("\n", ""))
