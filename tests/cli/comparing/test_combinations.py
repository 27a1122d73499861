import re

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, mean_squared_error

from sumwise.cli import combining, compare
from sumwise.cli.datasets import Dataset, load_dataset


@pytest.fixture(scope="module", params=["breast_cancer", "diabetes"])
def data(request):
    return load_dataset(request.param)


def test_only_small_tables_of_numbers(data):
    assert combining.can_combine(data)
    assert not combining.can_combine(data._replace(X=data.X.astype(object)))
    assert not combining.can_combine(load_dataset("friedman"))


def test_members_come_first_and_then_every_combination(data):
    listed = combining.list_combinations(data)
    assert [c.name for c in listed[:4]] == list(combining.make_members(data, 1))
    assert [c.make is None for c in listed] == [True] * 4 + [False] * (len(listed) - 4)


def test_combinations_repeat(data):
    """Every combination that draws random numbers has a seed."""
    for combination in combining.COMBINATIONS[data.task]:
        model = combination.build(data, n_rounds=2, n_jobs=1)
        assert model.get_params().get("random_state", 0) == 0
        assert model.get_params()["boosted trees__n_jobs"] == 1
        assert model.get_params()["boosted trees__n_estimators"] == 2


def test_errors_are_taken_apart(data):
    first = combining.COMBINATIONS[data.task][0]
    result = compare.cross_validate(first, data, n_folds=2, n_rounds=5, n_jobs=1)
    assert result.rounds == [4, 4]
    tests = [test for _, test in compare.split_folds(data, 2)]
    text = "\n".join(combining.describe_diversity(data, tests, result.models))
    equation = re.search(r"^ {4}.*", text, re.MULTILINE)[0]
    found = [float(value) for value in re.findall(r"[\d.]+", equation)]
    pairs = zip(result.models, tests, strict=True)
    predicted = np.concatenate([model.predict(data.X[rows]) for model, rows in pairs])
    y = np.concatenate([data.y[t] for t in tests])
    if data.task == "regression":
        error, mean_error, ambiguity = found
        assert error == pytest.approx(mean_squared_error(y, predicted), rel=1e-4)
        assert error == pytest.approx(mean_error - ambiguity, rel=1e-3)
        assert text.count("\n| ") == 8
    else:
        error, mean_error, good, bad = found
        assert error == pytest.approx(1 - accuracy_score(y, predicted), abs=1e-4)
        assert error == pytest.approx(mean_error - good + bad, abs=2e-4)
        for name in ("disagreement", "correlation", "Q", "kappa", "double fault", "entropy"):
            assert name in text
    assert "| neighbors, boosted trees " in text


def test_tables_with_several_classes():
    """Also labels that members see as class indices."""
    X = np.random.default_rng(0).normal(size=(90, 3))
    y = np.repeat(["a", "b", "c"], 30)
    X[:, 0] += 3 * np.repeat([0, 1, 2], 30)
    data = Dataset("letters", "classification", X, y)
    for combination in combining.list_combinations(data):
        assert combination.build(data, 2, 1).fit(X, y).score(X, y) > 0.6
