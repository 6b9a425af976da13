"""What the command line promises to those who script it: codes, streams, words. No boxes here."""
import json
import os
import re
import shutil
import subprocess

import pytest

import harness

VERBS = ["run", "up", "exec", "sh", "jobs", "attach", "logs", "wait", "kill", "read", "write", "ls",
         "stat", "mkdir", "mv", "cp", "watch", "ps", "stats", "inspect", "stop", "rm", "doctor", "completion", "version", "help"]
ENDING = ["stop", "rm", "inspect"]


@pytest.fixture
def cli(tmp_path):
    instance = harness.Holdfast(root=str(tmp_path))

    def run(*args, env=None, **options):
        # What a person has set up must not decide a test.
        clean = {"HOLDFAST_ENGINE": None, "NO_COLOR": None, "TERM": "xterm", **(env or {})}
        return instance(*args, env=clean, **options)

    return run


def assert_usage(result, *words):
    """Exit code 2, nothing on stdout, the mistake and where to look on stderr."""
    assert result.code == 2, str(result)
    assert result.out == b"", str(result)
    assert result.errors.startswith("holdfast: "), str(result)
    assert "holdfast help" in result.errors, str(result)
    for word in words:
        assert word in result.errors, str(result)


# --- usage errors ---------------------------------------------------------------------------------

def test_no_verb_shows_the_verbs(cli):
    result = cli()
    assert result.code == 2 and result.out == b""
    for verb in VERBS:
        assert verb in result.errors


@pytest.mark.parametrize("typed, meant", [("rnu", "run"), ("exce", "exec"), ("inspekt", "inspect"),
                                          ("docter", "doctor"), ("hlep", "help")])
def test_unknown_verb_names_the_nearest(cli, typed, meant):
    assert_usage(cli(typed), f"'{typed}'", f"'{meant}'")


def test_unknown_verb_without_a_neighbour(cli):
    result = cli("frobnicate")
    assert_usage(result, "frobnicate")
    assert "did you mean" not in result.errors


@pytest.mark.parametrize("typed, meant", [("--memroy", "--memory"), ("--cpu", "--cpus"),
                                          ("--time-out", "--timeout"), ("--jsno", "--json"),
                                          ("--net", "--network"), ("--readonly", "--read-only")])
def test_unknown_flag_names_the_nearest(cli, typed, meant):
    assert_usage(cli("run", typed, "1", "--", "true"), f"'{typed}'", f"'{meant}'")


@pytest.mark.parametrize("args", [
    ("run",), ("run", "--"), ("run", "true"), ("run", "echo", "hi"), ("run", "a", "b", "--", "c"),
    ("exec",), ("exec", "box"), ("exec", "box", "--"), ("exec", "--", "true"),
    ("up", "a", "b"), ("ps", "x"), ("inspect",), ("inspect", "a", "b"), ("stop",), ("rm",),
    ("rm", "--all", "x"), ("doctor", "x"), ("version", "x"), ("completion",),
    ("completion", "tcsh"), ("help", "nothing"), ("run", "-Z", "--", "true"),
    ("run", "--memory", "--", "true"), ("exec", "-w"), ("run", "--base64", "--", "true"),
    ("run", "--output-limit", "1k", "--", "true"),
])
def test_wrong_usage_is_2(cli, args):
    assert_usage(cli(*args))


@pytest.mark.parametrize("flag, value", [
    ("--memory", "1"), ("--memory", "0"), ("--memory", "-1"), ("--memory", "12q"), ("--memory", ""),
    ("--memory", "99999999999999999999"), ("--cpus", "-1"), ("--cpus", "nan"), ("--cpus", "0x10"),
    ("--cpus", "0"), ("--cpus", "1e3"), ("--cpus", "inf"), ("--pids-limit", "-1"),
    ("--pids-limit", "1.5"), ("--shm-size", "0"), ("--network", "bridge"), ("--hardening", "soft"),
    ("--name", "../x"), ("--name", ""), ("--name", "-x"), ("--task", ""), ("--hostname", "a b"),
    ("--user", "-1"), ("--user", "a:b:c"), ("--workdir", "relative"), ("--cap-add", "SYS_ADMN"),
    ("--volume", "/a"), ("--volume", "/a:/"), ("--volume", "/a:/proc/x"), ("--volume", "name:/x"),
    ("--volume", "/a:/b:rx"), ("--tmpfs", "/dev/x"), ("--tmpfs", "/x:size=0"),
    ("--tmpfs", "/x:mode=4755"), ("--env", "=x"), ("--env", "HF_NO_SUCH_VARIABLE"),
    ("--label", "=x"), ("--label", "holdfast.x=y"), ("--timeout", "soon"), ("--timeout", "-1s"),
    ("--grace", "1x"), ("--output-limit", "0"), ("--read-only=perhaps", None),
    ("--engine", "dokcer"), ("--color", "red"),
])
def test_wrong_value_is_2_and_names_the_flag(cli, flag, value):
    args = [flag] if value is None else [flag, value]
    result = cli("run", *args, "--", "true")
    assert_usage(result, flag.split("=")[0].lstrip("-"))


def test_values_of_variables_stay_out_of_messages(cli):
    for verb in (["run"], ["up"], ["exec"]):
        result = cli(*verb, "-e", "BAD NAME=hunter2", "--memroy", "box", "--", "true")
        assert result.code == 2
        assert "hunter2" not in result.errors


def test_engine_names(cli):
    assert_usage(cli("--engine", "dokcer", "ps"), "docker")
    for engine in ("docker", "podman"):
        result = cli("--engine", engine, "ps")
        assert result.code == 125, str(result)
        assert engine in result.errors
    result = cli("ps", env={"HOLDFAST_ENGINE": "dokcer"})
    assert result.code == 125 and "dokcer" in result.errors


# --- JSON -----------------------------------------------------------------------------------------

def assert_error_document(result, code):
    document = result.json
    assert list(document) == ["error"], str(result)
    assert document["error"]["code"] == code, str(result)
    # The same words for people.
    assert result.errors.startswith("holdfast: "), str(result)
    assert document["error"]["message"] in result.errors.replace("\n", " "), str(result)


@pytest.mark.parametrize("args", [
    ("run", "--json", "--memroy", "1"), ("run", "--memroy", "1", "--json"),
    ("run", "--json", "--memory", "1", "--", "true"), ("ps", "--json", "x"), ("stop", "--json"),
    ("--json", "exec"), ("--json", "frobnicate"), ("--json", "run", "--", ),
])
def test_usage_errors_in_json(cli, args):
    result = cli(*args)
    assert result.code == 2, str(result)
    assert_error_document(result, "invalid")


def test_json_of_the_command_is_not_ours(cli):
    """What stands after -- belongs to the command, --json too."""
    result = cli("exec", "no-such-box", "--", "tool", "--json")
    assert result.code == 125 and result.out == b"", str(result)
    result = cli("exec", "no-such-box", "tool", "--json")
    assert result.code == 125 and result.out == b"", str(result)


def test_messages_in_json_survive_any_bytes(cli):
    result = cli("--json", b"\xff\x1b[31m\"\\\n".decode("utf-8", "surrogateescape"))
    assert result.code == 2
    assert_error_document(result, "invalid")


def test_version(cli):
    version = cli("version")
    assert version.code == 0 and re.fullmatch(r"holdfast \d+\.\d+\.\d+\n", version.text)
    assert cli("--version").text == version.text
    assert cli("version", "--json").json == {"version": version.text.split()[1]}


# --- boxes that are not there ---------------------------------------------------------------------

@pytest.mark.parametrize("verb", ENDING + ["exec"])
def test_missing_box_is_125(cli, verb):
    args = [verb, "no-such-box"] + (["--", "true"] if verb == "exec" else [])
    result = cli(*args)
    assert result.code == 125, str(result)
    assert result.out == b"", str(result)
    assert "no-such-box" in result.errors


@pytest.mark.parametrize("verb", ["inspect", "exec"])
def test_missing_box_in_json(cli, verb):
    args = [verb, "--json", "no-such-box"] + (["--", "true"] if verb == "exec" else [])
    result = cli(*args)
    assert result.code == 125
    assert_error_document(result, "not_found")


@pytest.mark.parametrize("verb, done", [("stop", "stopped"), ("rm", "removed")])
def test_ending_many_in_json(cli, verb, done):
    result = cli(verb, "--json", "no-such-box", "nor-this")
    assert result.code == 125
    assert result.json[done] == []
    assert [(one["name"], one["code"]) for one in result.json["failed"]] == [
        ("no-such-box", "not_found"), ("nor-this", "not_found")]


def test_names_of_boxes_are_no_paths(cli):
    for name in ("../../etc", "/etc", ".", "..", "a/b", "-x\x1b[31m"):
        for verb in ENDING:
            result = cli(verb, "--", name)
            assert result.code == 125, str(result)
            assert b"\x1b" not in result.err, "a name reached the terminal unescaped"


def test_no_boxes(cli):
    result = cli("ps")
    assert result.code == 0
    assert re.match(r"NAME +STATE +IMAGE +CREATED +PID\n", result.text)
    assert len(result.text.splitlines()) == 1
    assert cli("ps", "--json").json == []
    assert cli("ps", "-q").out == b""
    result = cli("rm", "--all")
    assert result.code == 0 and result.out == b"" and result.err == b""


# --- help, man page, completions ------------------------------------------------------------------

@pytest.mark.parametrize("verb", VERBS)
def test_help_of_each_verb(cli, verb):
    result = cli("help", verb)
    assert result.code == 0 and result.err == b""
    assert f"holdfast {verb}" in result.text
    assert "Usage:" in result.text and "Examples:" in result.text and "--json" in result.text
    assert all(len(line) <= 100 for line in result.text.splitlines())
    assert "\x1b" not in result.text
    assert cli(verb, "--help").text == result.text
    assert cli(verb, "-h").text == result.text


def test_help_has_every_verb(cli):
    text = cli("help").text
    assert cli("--help").text == text
    for verb in VERBS:
        assert re.search(rf"^  {verb} ", text, re.M)


def flags_of(cli, verb):
    [document] = cli("help", "--json", verb).json["verbs"]
    return document["flags"]


def test_every_flag_is_in_the_help(cli):
    for verb in VERBS:
        text = cli("help", verb).text
        flags = flags_of(cli, verb)
        assert flags
        for flag in flags:
            assert f"--{flag['name']}" in text
            assert flag["help"]


def test_no_letter_means_two_things(cli):
    for verb in VERBS:
        letters = [flag["letter"] for flag in flags_of(cli, verb) if flag["letter"]]
        names = [flag["name"] for flag in flags_of(cli, verb)]
        assert len(letters) == len(set(letters)), verb
        assert len(names) == len(set(names)), verb


def test_run_has_the_flags_of_docker(cli):
    names = {flag["name"] for flag in flags_of(cli, "run")}
    assert {"name", "volume", "tmpfs", "env", "label", "cpus", "memory", "pids-limit", "shm-size",
            "network", "user", "workdir", "hostname", "cap-add", "cap-drop", "read-only",
            "interactive"} <= names
    assert "image" not in names


def test_color(cli):
    assert "\x1b" in cli("--color", "always", "help").text
    assert "\x1b" in cli("--color=always", "help", env={"NO_COLOR": "1"}).text
    assert "\x1b" not in cli("help").text
    assert b"\x1b" not in cli("nothing").err


def test_escapes_what_it_repeats(cli):
    for args in (["\x1b[31mred"], ["run", "--\x1b[31mred"], ["ps", "\x1b[31mred"],
                 ["run", "-m", "\x1b[31m\n", "--", "x"], ["exec", "\x9b31m", "--", "x"]):
        result = cli(*args)
        assert result.code in (2, 125)
        assert b"\x1b" not in result.err and b"\xc2\x9b" not in result.err, str(result)


def test_man_page(cli):
    result = cli("help", "--man")
    assert result.code == 0
    assert result.text.startswith(".TH HOLDFAST 1 ")
    for flag in flags_of(cli, "run"):
        assert flag["name"].replace("-", "\\-") in result.text
    groff = shutil.which("groff")
    if groff:
        checked = subprocess.run([groff, "-man", "-Tutf8", "-ww", "-z"], input=result.out,
                                 capture_output=True, check=False)
        assert checked.returncode == 0 and checked.stderr == b"", checked.stderr.decode()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_parse(cli, shell):
    result = cli("completion", shell)
    assert result.code == 0 and result.out
    assert "--memory" in result.text or "-l memory" in result.text
    if shutil.which(shell):
        checked = subprocess.run([shell, "-n"], input=result.out, capture_output=True, check=False)
        assert checked.returncode == 0, checked.stderr.decode()


def complete(cli, tmp_path, *words):
    """What bash offers for the last of the words."""
    script = tmp_path / "completion.bash"
    script.write_bytes(cli("completion", "bash").out)
    code = ('source "$1"; shift; COMP_WORDS=(holdfast "$@"); COMP_CWORD=$#; _holdfast; '
            'printf "%s\\n" "${COMPREPLY[@]}"')
    found = subprocess.run(["bash", "--norc", "-c", code, "bash", str(script), *words],
                           capture_output=True, check=True, text=True,
                           env={"PATH": os.environ["PATH"]})
    assert found.stderr == ""
    return found.stdout.split()


def test_bash_completes(cli, tmp_path):
    assert complete(cli, tmp_path, "r") == ["run", "read", "rm"]
    assert complete(cli, tmp_path, "run", "--mem") == ["--memory"]
    assert complete(cli, tmp_path, "run", "--network", "") == ["none", "host"]
    assert complete(cli, tmp_path, "help", "ex") == ["exec"]
    assert complete(cli, tmp_path, "completion", "") == ["bash", "zsh", "fish"]
    assert complete(cli, tmp_path, "ps", "--mem") == []


# --- streams --------------------------------------------------------------------------------------

def test_full_disk_is_told(cli):
    with open("/dev/full", "wb") as full:
        process = subprocess.run([harness.CLI, "help"], stdout=full, stderr=subprocess.PIPE,
                                 check=False, env=harness.environment())
    assert process.returncode == 125
    assert b"No space left" in process.stderr


def test_closed_descriptors(cli):
    """A closed stdout is not the next file that gets opened."""
    for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
        process = subprocess.run(["sh", "-c", f'exec "$0" ps -q {closed}', harness.CLI],
                                 capture_output=True, check=False, env=harness.environment(
                                     HOLDFAST_RUNTIME_DIR="/nonexistent/hf",
                                     HOLDFAST_DATA_DIR="/nonexistent/hf"))
        assert process.returncode in (0, 125), process


def test_reader_that_leaves(cli):
    process = subprocess.run(f"{harness.CLI} help --json | head -c 1", shell=True,
                             capture_output=True, check=False, env=harness.environment())
    assert process.stdout == b"{"
    assert process.stderr == b""


def test_dry_run_does_nothing(cli, tmp_path):
    result = cli("run", "--dry-run", "--", "touch", str(tmp_path / "made"))
    if result.code == 125:
        pytest.skip("machine: no plan can be made here: " + result.errors)
    assert result.code == 0 and result.out
    assert not (tmp_path / "made").exists()
    assert cli("ps", "-q").out == b""
    document = cli("up", "--dry-run", "--json").json
    assert isinstance(document["plan"], list) and all(isinstance(line, str)
                                                      for line in document["plan"])


def test_documents_are_one_line(cli):
    for args in (("version", "--json"), ("ps", "--json"), ("help", "--json")):
        text = cli(*args).text
        assert text.endswith("\n") and text.count("\n") == 1
        json.loads(text)
