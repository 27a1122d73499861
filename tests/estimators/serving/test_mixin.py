"""Models that can describe themselves have the method ``compile``."""

import inspect

import pytest

import sumwise
from sumwise.estimators.serving.mixin import CompilesMixin

NAMES = [
    name
    for name in sumwise.__all__
    if name.endswith(("Classifier", "Regressor")) and inspect.isclass(getattr(sumwise, name))
]


@pytest.mark.parametrize("name", NAMES)
def test_every_estimator_compiles(name):
    estimator = getattr(sumwise, name)
    assert issubclass(estimator, CompilesMixin)
    parameters = inspect.signature(estimator.compile).parameters
    assert list(parameters) == ["self", "output", "absent"]
    assert (parameters["output"].default, parameters["absent"].default) == ("predict", "error")
