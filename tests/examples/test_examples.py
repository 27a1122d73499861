"""The examples run in reduced size and show what they claim."""

import matplotlib
import numpy as np
import pytest

from examples import (
    adaboost_exponential_loss,
    bias_and_variance,
    forest_against_bagging,
    kappa_error_diagram,
    level_against_leaf,
    prediction_shift,
    target_leakage,
    vote_error,
)

matplotlib.use("Agg")

EXAMPLES = [
    adaboost_exponential_loss,
    bias_and_variance,
    forest_against_bagging,
    kappa_error_diagram,
    level_against_leaf,
    prediction_shift,
    target_leakage,
    vote_error,
]
MODULE = pytest.mark.parametrize("example", EXAMPLES, ids=lambda module: module.__name__)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pictures")
    found = {e: e.main(["--quick", "--out", str(folder / "new")]) for e in EXAMPLES}
    return folder / "new", found


@MODULE
def test_each_example_writes_its_picture(example, results):
    folder, _ = results
    assert (folder / f"{example.__name__.split('.')[1]}.png").stat().st_size > 10_000
    assert len(list(folder.iterdir())) == len(EXAMPLES)


def test_nothing_is_written_by_default(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    vote_error.main(["--quick"])
    assert not list(tmp_path.iterdir())
    assert "bagged trees" in capsys.readouterr().out


def test_the_exponential_loss_is_the_product_of_the_normalizers(results):
    curves, odds = results[1][adaboost_exponential_loss]
    np.testing.assert_allclose(curves.loss, np.cumprod(curves.normalizers), rtol=1e-10)
    assert (curves.train_error <= curves.loss).all()
    np.testing.assert_allclose(odds.votes, odds.half_log_odds, atol=0.02)


def test_bagging_cuts_variance_and_boosting_cuts_bias(results):
    parts = results[1][bias_and_variance]
    assert parts["bagged deep trees"].variance < 0.6 * parts["deep tree"].variance
    assert parts["boosted stumps"].squared_bias < 0.6 * parts["stump"].squared_bias


def test_the_forest_starts_worse_than_bagging_and_ends_better(results):
    curves = results[1][forest_against_bagging]
    bagging, forest = curves["bagging"].error, curves["random forest"].error
    assert (forest[:2] > bagging[:2]).all()
    assert forest[-1] < bagging[-1]


def test_boosting_is_more_diverse_and_bagging_more_accurate(results):
    points = results[1][kappa_error_diagram]
    assert points["AdaBoost"].kappa.mean() < points["bagging"].kappa.mean()
    assert points["AdaBoost"].error.mean() > points["bagging"].error.mean()


def test_votes_of_independent_learners_are_better(results):
    curves = results[1][vote_error]
    independent, bagged = curves["independent learners"], curves["bagged trees"]
    assert independent.error[-1] < bagged.error[-1]
    assert (independent.error <= independent.bound).all()


def test_ordered_statistics_survive_what_breaks_others(results):
    accuracy = results[1][target_leakage]
    assert accuracy["identifier", "greedy"] < 0.6
    assert accuracy["constant", "leave_one_out"] < 0.6
    assert min(accuracy[column, "ordered"] for column in ("identifier", "constant")) > 0.65


def test_ordered_boosting_has_less_prediction_shift(results):
    bias = {way: slopes.mean() - 1.0 for way, slopes in results[1][prediction_shift].items()}
    assert bias["one sample"] == pytest.approx(-1 / 29, abs=0.01)
    assert abs(bias["two samples"]) < 0.01
    assert abs(bias["ordered"]) < 0.7 * abs(bias["one sample"])


def test_leaf_wise_trees_fit_better_and_are_deeper(results):
    leaf, level = (results[1][level_against_leaf][growth] for growth in ("leaf", "depth"))
    assert leaf.training[-1] < level.training[-1]
    assert leaf.depth > level.depth + 1
    assert leaf.new.min() < 0.5
    assert level.new.min() < 0.5
