import numpy as np
import pytest
from sklearn.ensemble import BaggingClassifier
from sklearn.tree import DecisionTreeClassifier

from sumwise.cli.comparing import contenders
from sumwise.cli.comparing.contenders import Terms, list_contenders
from sumwise.cli.comparing.datasets import Dataset, load_dataset

TERMS = Terms(n_rounds=2, n_jobs=1, auto_seconds=0)


@pytest.fixture
def tiny():
    X = np.arange(40.0).reshape(20, 2)
    return Dataset("tiny", "classification", X, np.repeat([0, 1], [15, 5]))


@pytest.fixture(scope="module")
def colors():
    """A table with one category per pair of rows, a few missing values and a number."""
    names = np.array([f"color {i // 2}" for i in range(600)], dtype=object)
    X = np.column_stack([np.arange(600.0), names])
    X[:3, 1] = None
    X[-1, 0] = np.nan
    return Dataset("colors", "regression", X, np.arange(600.0))


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_every_kind_of_ensemble_is_there(task, tiny):
    names = [each.name for each in list_contenders(tiny._replace(task=task), Terms())]
    assert len(set(names)) == len(names) == 16
    mean = "voting" if task == "classification" else "averaging"
    assert {
        "decision tree",
        "bagging",
        "random forest",
        "extra trees",
        "AdaBoost",
        "boosting, LightGBM style",
        "boosting, XGBoost style",
        "boosting, CatBoost style",
        "boosting, defaults",
        mean,
        "stacking",
        "Bayesian averaging",
        "greedy selection",
        "automatic ensemble",
        "HistGradientBoosting",
    } < set(names)


def test_the_automatic_ensemble_can_be_left_out(tiny):
    groups = {each.group for each in list_contenders(tiny, TERMS)}
    assert groups == {"trees", "boosting", "combinations", "reference"}


def test_terms_are_passed_on(tiny):
    built = {each.name: each.build(tiny, Terms(7, 3)) for each in list_contenders(tiny, Terms())}
    forest, style = built["random forest"], built["boosting, XGBoost style"]
    assert (forest.n_estimators, forest.n_jobs, forest.random_state) == (7, 3, 0)
    assert (style.n_estimators, style.n_jobs, style.learning_rate) == (7, 3, 0.1)
    assert built["boosting, defaults"].n_estimators == "auto"
    assert built["HistGradientBoosting"].max_iter == 7
    assert built["automatic ensemble"].time_limit == 3.0


def test_every_contender_reads_categories(colors):
    """Also unseen categories in test rows, and more categories than scikit-learn accepts."""
    few = colors.take(np.arange(0, 600, 2))
    for contender in list_contenders(colors, TERMS):
        if contender.name == "boosting, defaults":
            continue  # as the other styles, with a thousand rounds
        model = contender.build(few, TERMS).fit(few.X, few.y)
        assert np.isfinite(model.predict(colors.X)).all(), contender.name
        assert 1 <= contenders.count_members(model) <= 4


def test_encoded_categories_come_first(colors):
    steps = list_contenders(colors, TERMS)[-1].build(colors, TERMS).fit(colors.X, colors.y)
    assert steps[-1].is_categorical_.tolist() == [True, False]
    encoded = steps[0].transform(colors.X).astype(float)
    np.testing.assert_array_equal(encoded[:, 1], colors.X[:, 0].astype(float))
    assert len(np.unique(encoded[:, 0])) == 255
    assert len(np.unique(encoded[:3, 0])) == 1
    assert encoded[0, 0] not in encoded[3:, 0]


def test_numbers_are_not_encoded(tiny):
    assert not hasattr(list_contenders(tiny, TERMS)[-1].build(tiny, TERMS), "steps")


def test_members_are_counted(tiny):
    bagging = BaggingClassifier(n_estimators=3).fit(tiny.X, tiny.y)
    assert contenders.count_members(bagging) == 3
    assert contenders.count_members(DecisionTreeClassifier().fit(tiny.X, tiny.y)) == 1
    boosting = list_contenders(tiny, TERMS)[5].build(tiny, TERMS).fit(tiny.X, tiny.y)
    assert contenders.count_members(boosting) == 2


def test_warming_up_takes_few_rows_of_every_class():
    data = load_dataset("digits")
    rows = contenders._keep_classes(data, np.arange(1797))
    assert rows.size <= 400
    assert set(data.y[rows]) == set(range(10))
    seen = []

    class Model:
        def fit(self, X, y):
            seen.append(len(y))
            return self

        def predict(self, X):
            seen.append(len(X))

    contender = contenders.Contender(
        "x", "trees", lambda data, terms: seen.append(terms) or Model()
    )
    contenders.warm_up(contender, data, Terms(n_rounds=50))
    assert seen[0].n_rounds == 2
    assert seen[1] == seen[2] == rows.size
