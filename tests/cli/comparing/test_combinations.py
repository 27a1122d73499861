import numpy as np
import pytest

from sumwise.cli.comparing import combinations
from sumwise.cli.comparing.contenders import Terms, list_contenders
from sumwise.cli.comparing.datasets import Dataset, load_dataset

TERMS = Terms(n_rounds=2, n_jobs=1, auto_seconds=0)


@pytest.mark.parametrize("name", ["breast_cancer", "diabetes"])
def test_combinations_repeat(name):
    """Every combination that draws random numbers has a seed."""
    data = load_dataset(name)
    for contender in list_contenders(data, TERMS):
        if contender.group == "combinations":
            parameters = contender.build(data, TERMS).get_params()
            assert parameters.get("random_state", 0) == 0
            assert parameters["boosted trees__n_jobs"] == 1
            assert parameters["boosted trees__n_estimators"] == 2


def test_tables_with_several_classes():
    """Also labels that members see as class indices."""
    X = np.random.default_rng(0).normal(size=(90, 3))
    y = np.repeat(["a", "b", "c"], 30)
    X[:, 0] += 3 * np.repeat([0, 1, 2], 30)
    data = Dataset("letters", "classification", X, y)
    for contender in list_contenders(data, TERMS):
        if contender.group == "combinations":
            assert contender.build(data, TERMS).fit(X, y).score(X, y) > 0.6


def test_members_read_infinite_and_absent_numbers():
    X = np.random.default_rng(0).normal(size=(40, 3))
    X[0, 0], X[1, 1], X[:, 2] = np.inf, np.nan, np.nan
    data = Dataset("gaps", "regression", X, X[:, 1].round(0))
    data = data._replace(y=np.nan_to_num(data.y))
    for name, member in combinations.make_members(data, 2, 1).items():
        if name in ("linear", "neighbors"):
            assert np.isfinite(member.fit(X, data.y).predict(X)).all()
