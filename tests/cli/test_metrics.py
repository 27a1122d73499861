import numpy as np
import pytest
from sklearn import metrics as known

from sumwise.cli.metrics import estimate, measure_classes, measure_numbers

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_metrics_of_classes_are_those_of_scikit_learn(n_classes):
    truth = RNG.integers(n_classes, size=60)
    probabilities = RNG.dirichlet(np.ones(n_classes), 60).round(1) + 0.01
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    weight = RNG.integers(1, 4, 60).astype(float)
    found = {
        name: statistic(weight)
        for name, statistic in measure_classes(truth, probabilities, n_classes).items()
    }
    labels = probabilities.argmax(axis=1)
    own = {"sample_weight": weight}
    expected = {
        "accuracy": known.accuracy_score(truth, labels, **own),
        "balanced accuracy": known.balanced_accuracy_score(truth, labels, **own),
        "F1 (macro)": known.f1_score(truth, labels, average="macro", **own),
        "log loss": known.log_loss(truth, probabilities, **own),
    }
    if n_classes == 2:
        expected["Brier score"] = known.brier_score_loss(truth, probabilities[:, 1], **own)
        expected["ROC AUC"] = known.roc_auc_score(truth, probabilities[:, 1], **own)
    else:
        found.pop("Brier score")
    assert found == pytest.approx(expected)


def test_metrics_of_numbers_are_those_of_scikit_learn():
    truth, found, weight = RNG.normal(size=50), RNG.normal(size=50), RNG.uniform(0, 2, 50)
    values = {name: f(weight) for name, f in measure_numbers(truth, found).items()}
    own = {"sample_weight": weight}
    assert values["R²"] == pytest.approx(known.r2_score(truth, found, **own))
    assert values["RMSE"] == pytest.approx(known.root_mean_squared_error(truth, found, **own))
    assert values["MAE"] == pytest.approx(known.mean_absolute_error(truth, found, **own))


def test_intervals_are_those_of_a_mean():
    values = RNG.normal(5, 2, 400)
    (score,) = estimate({"mean": lambda weight: float(weight @ values / weight.sum())}, 400)
    assert score.value == pytest.approx(values.mean())
    half = 1.96 * values.std() / 20
    assert score.high - score.value == pytest.approx(half, rel=0.25)
    assert score.value - score.low == pytest.approx(half, rel=0.25)


def test_groups_widen_intervals():
    group = np.repeat(np.arange(40), 10)
    values = RNG.normal(size=40)[group]
    statistic = {"mean": lambda weight: float(weight @ values / weight.sum())}
    (by_row,), (by_group,) = estimate(statistic, 400), estimate(statistic, 400, group=group)
    assert by_group.high - by_group.low > 2 * (by_row.high - by_row.low)
