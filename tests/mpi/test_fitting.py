"""Fits of several ranks; what each of them does is in ``fits``."""

import pytest

from tests.mpi.runs import needs_mpi, run_checks, run_ranks

pytestmark = needs_mpi


@pytest.mark.parametrize("n", [1, 2, 3])
def test_models_have_the_bytes_of_one_process(n):
    assert run_checks(n, "fits", "check_same_bytes", "check_sources", "check_parts").succeeded()


@pytest.mark.parametrize("n", [1, 3])
def test_errors_and_shares(n):
    assert run_checks(n, "fits", "check_errors", "check_share").succeeded()


def test_an_exception_of_one_rank_ends_the_program():
    ended = run_ranks(3, "-m", "tests.mpi.fits", "fail_in_a_fit", timeout=60)
    assert ended.code != 0
    assert "ZeroDivisionError" in ended.output
    assert "PeersError: rank 0 has failed: ZeroDivisionError" in ended.output
