"""scikit-learn's checks, and those that an estimator must fail."""

import pytest

WEIGHTS_ARE_REPETITIONS = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)


def run_check(estimator, check, failures=()):
    """Run a check; one of ``failures`` must fail (an xfail would take longer to report)."""
    if check.func.__name__ in failures:
        with pytest.raises((AssertionError, ValueError)):
            check(estimator)
    else:
        check(estimator)
