"""What the file verbs promise to those who script them: codes, streams, words. No boxes here."""
import os
import pty
import subprocess

import pytest

import harness
from test_contract import assert_error_document, assert_usage, cli, complete, flags_of  # noqa: F401

ONE_FILE = ["read", "write", "stat", "watch"]
FILE_VERBS = ONE_FILE + ["ls", "mkdir", "mv", "cp", "rm"]
KINDS = ["not_found", "permission_denied", "is_directory", "not_directory", "no_space", "read_only",
         "too_large", "invalid_path", "exists", "loop", "protocol", "checksum", "system"]

# Each with all words that it needs, in both ways to write them.
COMPLETE = [
    ("read", "no-such-box", "f"), ("read", "no-such-box:f"),
    ("write", "no-such-box", "f"), ("write", "no-such-box:f"),
    ("ls", "no-such-box"), ("ls", "no-such-box", "d"), ("ls", "no-such-box:d"), ("ls", "no-such-box:"),
    ("stat", "no-such-box", "f"), ("stat", "no-such-box:f"),
    ("watch", "no-such-box", "f"), ("watch", "-R", "no-such-box:f"),
    ("mv", "no-such-box", "a", "b"), ("mv", "no-such-box:a", "no-such-box:b"),
    ("cp", "/etc/hostname", "no-such-box:f"), ("cp", "no-such-box:f", "/nonexistent/f"),
    ("cp", "no-such-box:", "no-such-box:f"), ("cp", "-", "no-such-box:d"), ("cp", "no-such-box:d", "-"),
]
MANY = [
    ("mkdir", "no-such-box", "d", "e:f"), ("mkdir", "-p", "no-such-box:d", "no-such-box:e"),
    ("rm", "no-such-box:f"), ("rm", "-r", "no-such-box:d", "no-such-box:e"),
]


# --- usage errors ---------------------------------------------------------------------------------

@pytest.mark.parametrize("verb", ONE_FILE)
def test_one_file_needs_a_box_and_a_path(cli, verb):
    assert_usage(cli(verb), "which box?", "holdfast ps")
    assert_usage(cli(verb, "box"), "which file", "'box'")
    assert_usage(cli(verb, "box:"), "which file", "'box'")
    assert_usage(cli(verb, "box", ""), "which file", "'box'")
    assert_usage(cli(verb, "box", "a", "b"), "'b'", "too many")
    assert_usage(cli(verb, "box:a", "b"), "'b'", "too many")


@pytest.mark.parametrize("args, words", [
    (("ls",), ["which box?"]),
    (("ls", "box", "a", "b"), ["'b'"]),
    (("ls", "box:a", "b"), ["'b'"]),
    (("mkdir",), ["which box?"]),
    (("mkdir", "box"), ["which path"]),
    (("mkdir", "box:"), ["no path"]),
    (("mkdir", "box", ""), ["no path"]),
    (("mkdir", "box:a", "b"), ["'b'", "BOX:PATH"]),
    (("mv",), ["which box?"]),
    (("mv", "box"), ["BOX FROM TO"]),
    (("mv", "box", "a"), ["BOX FROM TO"]),
    (("mv", "box", "a", "b", "c"), ["'c'"]),
    (("mv", "box:a"), ["where to?"]),
    (("mv", "box:a", "b"), ["'b'", "holdfast cp"]),
    (("mv", "box:a", "other:b"), ["'box'", "'other'", "holdfast cp"]),
    (("mv", "box:a", "box:b", "c"), ["'c'"]),
    (("mv", "box:a", "box:"), ["empty"]),
    (("mv", "box", "", "b"), ["empty"]),
    (("cp",), ["where to?"]),
    (("cp", "a"), ["where to?"]),
    (("cp", "a", "b:c", "d"), ["'d'"]),
    (("cp", "a", "b"), ["`cp`", "BOX:PATH"]),
    (("cp", "./box:a", "/b:c"), ["`cp`", "BOX:PATH"]),
    (("cp", ":a", "b"), ["`cp`", "BOX:PATH"]),
    (("cp", "-", "b"), ["BOX:PATH"]),
    (("cp", "a", "-"), ["BOX:PATH"]),
    (("cp", "-", "-"), ["BOX:PATH"]),
    (("cp", "", "box:a"), ["empty"]),
    (("cp", "--resume", "-", "box:a"), ["--resume"]),
    (("cp", "--exact", "box:a", "-"), ["--exact"]),
    (("rm", "box", "box:a"), ["boxes", "files"]),
    (("rm", "box:a", "box"), ["boxes", "files"]),
    (("rm", "box:"), ["no path"]),
    (("rm", "-r", "box"), ["--recursive", "BOX:PATH"]),
    (("rm", "-r", "--all"), ["--recursive"]),
    (("rm", "-u", "root", "box"), ["--user"]),
    (("rm", "--all", "box:a"), ["--all"]),
    (("write", "--append", "--no-clobber", "box", "a"), ["--append", "--no-clobber"]),
    (("read", "--base64", "box", "a"), ["--base64", "--json"]),
])
def test_wrong_words(cli, args, words):
    assert_usage(cli(*args, input=b""), *words)


@pytest.mark.parametrize("value", ["", "-", "5", "5-4", "-0", "a-b", "1-2-3", "1--2", "0x1-2", " 1-2", "1-2,4-5",
                                   "99999999999999999999-"])
def test_wrong_ranges(cli, value):
    assert_usage(cli("read", "--range", value, "box", "f"), "--range", "0-99")


@pytest.mark.parametrize("value", ["0-0", "0-99", "100-", "-100", "9000000000000000000-"])
def test_right_ranges(cli, value):
    """They get as far as the box, which is not there."""
    for args in (("--range", value), (f"--range={value}",)):
        assert cli("read", *args, "no-such-box", "f").code == 125


@pytest.mark.parametrize("verb", ["write", "mkdir"])
@pytest.mark.parametrize("value", ["", "0", "8", "0o640", "u+x", "10000", "-1", "640 "])
def test_wrong_modes(cli, verb, value):
    assert_usage(cli(verb, "--mode", value, "box", "f", input=b""), "--mode", "octal")


@pytest.mark.parametrize("flag, value", [
    ("--max-bytes", "0"), ("--max-bytes", "-1"), ("--max-bytes", "1q"), ("--max-bytes", ""),
    ("--max-files", "0"), ("--max-files", "-1"), ("--max-files", "1k"), ("--max-files", ""),
])
def test_wrong_limits(cli, flag, value):
    assert_usage(cli("cp", flag, value, "a", "box:b"), flag)


@pytest.mark.parametrize("typed, meant, verb", [
    ("--no-clober", "--no-clobber", "write"), ("--recursiv", "--recursive", "ls"),
    ("--max-byte", "--max-bytes", "cp"), ("--parent", "--parents", "mkdir"), ("--rnage", "--range", "read"),
])
def test_unknown_flag_names_the_nearest(cli, typed, meant, verb):
    assert_usage(cli(verb, typed, "box", "f", input=b""), f"'{typed}'", f"'{meant}'")


@pytest.mark.parametrize("typed, meant", [("raed", "read"), ("wirte", "write"), ("mkdri", "mkdir"),
                                          ("wacth", "watch")])
def test_unknown_verb_names_the_nearest(cli, typed, meant):
    assert_usage(cli(typed), f"'{typed}'", f"'{meant}'")


def test_usage_errors_in_json(cli):
    for args in (("read",), ("write", "box"), ("cp", "a", "b"), ("cp", "box:a", "-"), ("mv", "box"), ("rm", "-r", "box"),
                 ("mkdir", "--mode", "x", "box", "d")):
        result = cli(*args, "--json", input=b"")
        assert result.code == 2, str(result)
        assert_error_document(result, "invalid")
        assert "kind" not in result.json["error"], "wrong usage is no file's fault"


# --- boxes that are not there ---------------------------------------------------------------------

@pytest.mark.parametrize("args", COMPLETE + MANY, ids=" ".join)
def test_missing_box_is_125(cli, args):
    """Not 1, which is for files."""
    result = cli(*args, input=b"data")
    assert result.code == 125, str(result)
    assert result.out == b"", str(result)
    assert "no-such-box" in result.errors


@pytest.mark.parametrize("args", [args for args in COMPLETE if args[-1] != "-"], ids=" ".join)
def test_missing_box_in_json(cli, args):
    result = cli(*args, "--json", input=b"")
    assert result.code == 125, str(result)
    assert_error_document(result, "not_found")
    assert "kind" not in result.json["error"]


@pytest.mark.parametrize("args", MANY, ids=" ".join)
def test_many_in_json(cli, args):
    result = cli(*args, "--json")
    assert result.code == 125, str(result)
    assert result.json["made" if args[0] == "mkdir" else "removed"] == []
    for one in result.json["failed"]:
        assert one["code"] == "not_found" and "kind" not in one


def test_nothing_is_made_on_the_host(cli, tmp_path):
    target = tmp_path / "copy"
    assert cli("cp", "no-such-box:f", str(target)).code == 125
    assert not target.exists()


def test_colons_of_the_host(cli, tmp_path):
    """A word is a box's only if no slash is before its colon."""
    name = tmp_path / "no-such-box:f"
    name.write_text("x")
    assert_usage(cli("cp", str(name), str(tmp_path / "copy")), "both are files of this machine")
    assert_usage(cli("cp", "./no-such-box:f", "copy", cwd=str(tmp_path)), "both are files of this machine")
    assert cli("cp", "no-such-box:f", "copy", cwd=str(tmp_path)).code == 125


def test_names_are_escaped(cli):
    for args in (("read", "\x1b[31mbox", "f"), ("read", "\x1b[31mbox:f"), ("ls", "box:a", "\x1b[31m"),
                 ("cp", "\x1b[31m:a", "b"), ("rm", "\x1b[31m:a"), ("mv", "box:a", "\x1b[31m")):
        result = cli(*args)
        assert result.code in (2, 125), str(result)
        assert b"\x1b" not in result.err, str(result)


# --- terminals ------------------------------------------------------------------------------------

def on_terminal(cli_args, which, env):
    """Runs with one of stdin and stdout on a terminal; what it said on stderr, and its exit code."""
    leader, follower = pty.openpty()
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, which: follower}
    try:
        process = subprocess.run([harness.CLI, *cli_args], stderr=subprocess.PIPE, check=False, env=env,
                                 timeout=harness.PATIENCE, **streams)
    finally:
        os.close(leader)
        os.close(follower)
    return process.returncode, process.stderr.decode()


def test_archives_do_not_go_to_terminals(tmp_path):
    env = harness.environment(HOLDFAST_RUNTIME_DIR=str(tmp_path / "run"), HOLDFAST_DATA_DIR=str(tmp_path / "data"))
    code, errors = on_terminal(["cp", "box:d", "-"], "stdout", env)
    assert code == 2 and "terminal" in errors
    code, errors = on_terminal(["cp", "-", "box:d"], "stdin", env)
    assert code == 2 and "terminal" in errors
    # Of a file one may type the content.
    code, errors = on_terminal(["write", "box", "f"], "stdin", env)
    assert code == 125 and "terminal" not in errors


# --- help -----------------------------------------------------------------------------------------

@pytest.mark.parametrize("verb", FILE_VERBS)
def test_help_tells_the_exit_codes(cli, verb):
    text = cli("help", verb).text
    assert "Exit codes:" in text
    for word in ["125", "130"] + KINDS:
        assert word in text
    assert all(len(line) <= 100 for line in text.splitlines())
    assert f"holdfast {verb}" in text.split("Examples:")[1]


@pytest.mark.parametrize("verb", FILE_VERBS)
def test_everything_can_be_done_as_somebody(cli, verb):
    assert {"user": "u"}.items() <= {flag["name"]: flag["letter"] for flag in flags_of(cli, verb)}.items()


def test_flags_have_the_letters_of_coreutils(cli):
    for verb, name, letter in (("ls", "recursive", "R"), ("ls", "long", "l"), ("rm", "recursive", "r"),
                               ("rm", "force", "f"), ("mkdir", "parents", "p"), ("mkdir", "mode", "m"),
                               ("mv", "no-clobber", "n"), ("cp", "archive", "a")):
        assert letter == {flag["name"]: flag["letter"] for flag in flags_of(cli, verb)}.get(name), verb


def test_rm_explains_both(cli):
    text = cli("help", "rm").text
    assert "BOX:PATH" in text and "--all" in text and "colon" in text


def test_cp_completes_files_of_the_host(cli, tmp_path):
    (tmp_path / "unlikely-name").write_text("")
    assert str(tmp_path / "unlikely-name") in complete(cli, tmp_path, "cp", str(tmp_path / "unl"))
    assert complete(cli, tmp_path, "ls", str(tmp_path / "unl")) == []
