"""Bytes of somebody else on our terminal: shown, never obeyed."""

import os
import re

import pytest

EVIL = "a\x1b[31mb\x1b]0;title\x07c\x9b31md\x7fe\u202ef\r\u200bg"
CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\x8b-\x8f\xaa-\xae]|\xe2\x81[\xa6-\xa9]")


def clean(data):
    found = CONTROL.search(data)
    assert not found, f"{found.group()!r} in {data!r}"


def test_ps_escapes_tasks_and_profiles(hf):
    hf.up("--task", EVIL, "--profile", EVIL)
    result = hf.ok("ps")
    clean(result.out)
    clean(result.err)
    assert "a" in result.text


def test_json_keeps_the_exact_value(hf):
    hf.up("--task", EVIL)
    result = hf.ok("ps", "--json")
    assert result.json[0]["task"] == EVIL
    clean(result.out)


def test_inspect_escapes(hf):
    box = hf.up("--task", EVIL, "--label", f"a={EVIL}")
    result = hf.ok("inspect", box)
    clean(result.out)


@pytest.mark.parametrize("command", [
    ["run", "--name", EVIL, "--", "true"], ["run", f"--{EVIL}", "--", "true"], [EVIL],
    ["run", "--memory", EVIL, "--", "true"], ["exec", EVIL, "--", "true"], ["inspect", EVIL], ["rm", EVIL],
    ["run", "-v", f"/{EVIL}:/data", "--", "true"], ["run", "--user", EVIL, "--", "true"],
    ["run", EVIL, "--", "true"], ["help", EVIL],
])
def test_errors_escape_what_they_quote(hf, command):
    result = hf(*command)
    assert result.code != 0, str(result)
    clean(result.err)
    clean(result.out)


def test_reasons_of_the_box_are_escaped(hf, box):
    """The path of a program that is not there comes back from the box."""
    result = hf.exec(box, EVIL)
    assert result.code == 127
    clean(result.err)
    result = hf.exec(box, "true", flags=["-w", f"/{EVIL}"])
    assert result.code == 126
    clean(result.err)


def test_json_document_has_no_control_characters(hf, box):
    result = hf.exec(box, "printf", "%s", EVIL, flags=["--json"])
    assert result.json["stdout"] == EVIL
    assert not re.search(rb"[\x00-\x09\x0b-\x1f]", result.out)


def test_names_of_files_of_a_box_do_not_reach_our_messages(hf, box):
    hf.sh(box, "mkdir \"$(printf '/usr/\\033[31m')\"")
    result = hf("rm", "--force", box)
    clean(result.err)


def test_output_of_a_job_is_passed_on_as_it_is(hf, box):
    """Without --json it is the caller's terminal and the caller's wish."""
    assert hf.exec(box, "printf", "\\033[31m").out == b"\x1b[31m"


def test_locale_does_not_matter(hf):
    result = hf("exec", EVIL, "--", "true", env={"LC_ALL": "C", "LANG": "xx_YY.nonsense"})
    clean(result.err)


def test_directory_names_of_the_caller(hf):
    hf.runtime = os.path.join(hf.root, "run\x1b[31m")
    hf.up("--name", "strange")
    result = hf("inspect", "strange")
    clean(result.out)
    hf.ok("rm", "--force", "strange")
