"""scikit-learn's checks of estimators, and those that an estimator must fail."""

import re

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

WEIGHTS_ARE_REPETITIONS = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)


def parametrize_with_checks(estimators):
    """As scikit-learn's own, but each estimator is printed once, not for each of its checks."""
    cases = []
    for estimator in estimators:
        name = re.sub(r"\s", "", repr(estimator))
        for own, check in estimator_checks_generator(estimator):
            options = ",".join(f"{key}={value}" for key, value in check.keywords.items())
            called = check.func.__name__ + (f"({options})" if options else "")
            cases.append(pytest.param(own, check, id=f"{name}-{called}"))
    return pytest.mark.parametrize(("estimator", "check"), cases)


def run_check(estimator, check, failures=()):
    """Run a check; one of ``failures`` must fail (an xfail would take longer to report)."""
    if check.func.__name__ in failures:
        with pytest.raises((AssertionError, ValueError)):
            check(estimator)
    else:
        check(estimator)
