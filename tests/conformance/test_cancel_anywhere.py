"""hf_job_cancel() from signal handlers and from other threads."""
import os

import pytest

import harness

ROUNDS = 200


@pytest.fixture(scope="session")
def program(tmp_path_factory):
    directory = tmp_path_factory.mktemp("cancel")
    return harness.compile_c(os.path.join(harness.TESTS, "conformance/cancel.c"),
                             str(directory / "cancel"), "-I", os.path.join(harness.ROOT, "include"),
                             "-L", harness.RELEASE, f"-Wl,-rpath,{harness.RELEASE}", "-lholdfast",
                             "-pthread")


@pytest.mark.parametrize("how", ["handler", "thread", "storm"])
def test_every_job_is_cancelled(program, hf, how):
    """The job would never end by itself, so one cancel that gets lost hangs here."""
    result = harness.execute([program, how, str(ROUNDS)], env=hf.env, timeout=120)
    assert result.code == 0, str(result)
    assert result.text == f"cancelled {ROUNDS}\n"
