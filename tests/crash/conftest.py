"""Fixtures of the crash suites."""
import os

import pytest

import harness


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: takes more than 20 seconds")


@pytest.fixture
def quick(make_holdfast):
    """The release build, for many commands."""
    return make_holdfast(cli=os.path.join(harness.RELEASE, "holdfast"))
