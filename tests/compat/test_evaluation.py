import numpy as np
import pytest
from sklearn.datasets import load_iris

from sumwise import GradientBoostingClassifier, RoundState
from sumwise.compat.evaluation import (
    Entry,
    EvalSet,
    Evaluation,
    MetricScorer,
    list_sets,
    match_sets,
)
from sumwise.compat.metrics import Metric, error_rate, log_loss
from sumwise.errors import DataError


def test_entries_are_recorded_and_passed_on():
    seen = []
    metrics = [Metric("loss", log_loss), Metric("hits", lambda s: 0.0, higher=True)]
    evaluation = Evaluation(
        [EvalSet("a", None, None), EvalSet("b", None, None)],
        metrics,
        [lambda n, entries, state: seen.append((n, entries)), lambda n, entries, state: n == 2],
        ("learn", "loss", lambda value: 2 * value),
    )
    scores = {
        "training_loss": 1.0,
        "set_0_metric_0": -0.5,
        "set_0_metric_1": 0.7,
        "set_1_metric_0": -0.6,
        "set_1_metric_1": 0.8,
    }
    stops = [evaluation(RoundState(n, 5, scores, 0.0, lambda: None)) for n in (1, 2)]
    assert stops == [False, True]
    assert evaluation.results == {
        "learn": {"loss": [2.0, 2.0]},
        "a": {"loss": [0.5, 0.5], "hits": [0.7, 0.7]},
        "b": {"loss": [0.6, 0.6], "hits": [0.8, 0.8]},
    }
    assert seen[0][0] == 1
    assert seen[0][1][2] == Entry("a", "hits", 0.7, True)


def test_a_scorer_gives_places_of_classes_and_weights():
    X, y = load_iris(return_X_y=True)
    names = np.array(["x", "y", "z"])[y]
    model = GradientBoostingClassifier(n_estimators=3, learning_rate=0.1).fit(X, names)
    weight = np.linspace(0, 1, y.size)
    score = MetricScorer(Metric("error", error_rate))(model, X, names, weight)
    assert score == pytest.approx(-np.average(model.predict(X) != names, weights=weight))


def test_sets_are_a_list_of_pairs():
    X, y = [[1.0]], [1]
    assert list_sets(None) == []
    assert list_sets((X, y)) == [(X, y)]
    assert list_sets([(X, y), (X, y)]) == [(X, y), (X, y)]
    for wrong in ([X], 3, [(X, y, y)]):
        with pytest.raises(DataError, match="list of pairs"):
            list_sets(wrong)
    assert match_sets("names", None, 2) == [None, None]
    with pytest.raises(DataError, match="names has 1 entries for 2 sets"):
        match_sets("names", ["a"], 2)
