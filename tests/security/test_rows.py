"""Every row of the checklist has tests, and they exist."""
import os
import re

import pytest

import harness
import rows


@pytest.mark.parametrize("row", range(1, 38))
def test_row_has_tests_or_a_reason(row):
    promise, tests = rows.ROWS[row]
    assert promise
    if isinstance(tests, str):
        assert len(tests) > 10
        return
    assert tests
    for name in tests:
        path, _, test = name.partition("::")
        text = harness.read_file(os.path.join(harness.TESTS, path))
        assert re.search(rf"^def {re.escape(test)}\(", text, re.M), f"no {name}"


def test_no_row_is_unknown():
    assert sorted(rows.ROWS) == list(range(1, 38))


@pytest.mark.parametrize("row", range(1, 38))
def test_security_md_names_the_tests(row):
    """The page and the table of tests say the same."""
    page = harness.read_file(os.path.join(harness.ROOT, "SECURITY.md"))
    line = re.search(rf"^\| {row} \|.*$", page, re.M)
    assert line, f"SECURITY.md has no row {row}"
    tests = rows.ROWS[row][1]
    if isinstance(tests, str):
        return
    missing = [name for name in tests if name.partition("::")[2] not in line.group()]
    assert not missing, missing
