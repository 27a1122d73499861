import numpy as np
import pytest
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.metrics import accuracy_score, mean_squared_error

from sumwise.cli.comparing.contenders import Contender, Terms, list_contenders
from sumwise.cli.comparing.datasets import Dataset, load_dataset
from sumwise.cli.comparing.scores import METRICS
from sumwise.cli.comparing.validation import cross_validate, split_folds
from sumwise.cli.usage import UsageError

TERMS = Terms(n_rounds=5, n_jobs=1, auto_seconds=0)
ACCURACY, R2 = METRICS["classification"]["accuracy"], METRICS["regression"]["r2"]
MOST = Contender("most", "x", lambda data, terms: DummyClassifier(strategy="most_frequent"))
MEAN = Contender("mean", "x", lambda data, terms: DummyRegressor())


@pytest.fixture
def tiny():
    X = np.arange(40.0).reshape(20, 2)
    return Dataset("tiny", "classification", X, np.repeat([0, 1], [15, 5]))


def test_folds_are_stratified_and_cover_every_row_once(tiny):
    folds = split_folds(tiny, 5)
    assert sorted(np.concatenate([test for _, test in folds])) == list(range(20))
    assert [tiny.y[test].sum() for _, test in folds] == [1] * 5


def test_groups_stay_together(tiny):
    group = np.repeat(np.arange(10), 2)
    for data in (tiny._replace(group=group), tiny._replace(group=group, task="regression")):
        for train, test in split_folds(data, 3):
            assert not set(group[train]) & set(group[test])


def test_later_rows_are_tested(tiny):
    for train, test in split_folds(tiny._replace(in_time=True), 3):
        assert train.max() < test.min()


@pytest.mark.parametrize(
    ("changes", "n_folds", "message"),
    [
        ({}, 30, "--folds 30: "),
        ({"y": np.zeros(20)}, 5, "the same value '0.0' in all rows"),
        ({"y": np.array([1] + [0] * 19)}, 5, "class '1' has a single row"),
    ],
)
def test_what_cannot_be_split(changes, n_folds, message, tiny):
    with pytest.raises(UsageError, match=message):
        split_folds(tiny._replace(**changes), n_folds)


def test_each_fold_is_scored_and_told(tiny):
    told = []
    result = cross_validate(
        MOST, tiny, split_folds(tiny, 5), TERMS, ACCURACY, lambda r: told.append(len(r.scores))
    )
    assert result.scores == [0.75] * 5
    assert told == [1, 2, 3, 4, 5]
    assert result.members == [1] * 5
    assert len(result.fit_seconds) == len(result.predict_seconds) == 5
    np.testing.assert_allclose(result.out_of_fold, np.tile([1.0, 0.0], (20, 1)))


def test_out_of_fold_predictions_are_in_the_order_of_the_rows(tiny):
    data = tiny._replace(task="regression", y=np.arange(20.0))
    folds = split_folds(data, 4)
    result = cross_validate(MEAN, data, folds, TERMS, R2)
    for train, test in folds:
        np.testing.assert_allclose(result.out_of_fold[test], data.y[train].mean())
    later = data._replace(in_time=True)
    assert cross_validate(MEAN, later, split_folds(later, 3), TERMS, R2).out_of_fold is None


def test_a_failure_is_kept_and_told(tiny):
    def refuse(data, terms):
        raise ValueError("too few rows")

    told = []
    broken = Contender("broken", "x", refuse)
    result = cross_validate(broken, tiny, split_folds(tiny, 5), TERMS, ACCURACY, told.append)
    assert result.failure == "ValueError: too few rows"
    assert told == [result]
    assert result.out_of_fold is None


@pytest.mark.parametrize("name", ["diabetes", "breast_cancer"])
def test_errors_are_taken_apart(name):
    data = load_dataset(name)
    folds = split_folds(data, 2)
    metric = next(iter(METRICS[data.task].values()))
    for contender in list_contenders(data, TERMS):
        if not contender.averages:
            continue
        result = cross_validate(contender, data, folds, TERMS, metric)
        assert result.failure is None
        parts = result.decomposition
        assert parts.error == pytest.approx(parts.mean_error - parts.good + parts.bad)
        assert parts.gain == pytest.approx(1 - parts.error / parts.mean_error)
        found = result.out_of_fold
        if data.task == "regression":
            errors = [mean_squared_error(data.y[test], found[test]) for _, test in folds]
        elif found.ndim == 2 and contender.name != "voting":
            labels = found.argmax(axis=1)
            errors = [1 - accuracy_score(data.y[test], labels[test]) for _, test in folds]
        else:
            errors = [1 - score for score in result.scores]
        assert parts.error == pytest.approx(np.mean(errors))
