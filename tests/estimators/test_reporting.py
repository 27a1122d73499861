"""``report`` is a method of every public estimator."""

import inspect

import pytest

import sumwise

ESTIMATORS = [
    own
    for own in (getattr(sumwise, name) for name in sumwise.__all__)
    if inspect.isclass(own) and hasattr(own, "predict")
]


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_every_estimator_has_a_report(kind):
    assert list(inspect.signature(kind.report).parameters) == [
        "self",
        "X",
        "y",
        "X_train",
        "y_train",
        "title",
    ]
    assert "X_train, y_train" in inspect.getdoc(kind.report)
