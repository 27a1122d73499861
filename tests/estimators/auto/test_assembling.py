"""From candidates to members, weights, the leaderboard and what diversity gains."""

import numpy as np
import pytest

from sumwise.errors import DataError
from sumwise.estimators.auto.assembling import assemble
from sumwise.estimators.auto.fold_fits import FoldFit
from sumwise.estimators.auto.portfolio import BY_NAME
from sumwise.estimators.auto.search import Candidate
from tests.estimators.auto.samples import make_classes, make_frame, make_search, read

NAMES = ["leaf_quick", "linear", "forest"]


def make(noise=(0.8, 0.9, 3.0), *, is_class=False, **options):
    """Return a search whose candidates predict the target, up to noise."""
    X, y = make_classes(600) if is_class else make_frame(600)
    search = make_search(read(X, y, is_class=is_class, **options))
    rng = np.random.default_rng(99)  # other numbers than those of X
    truth = search.data.y * (2.0 if is_class else 1.0)
    for name, size in zip(NAMES, noise, strict=True):
        candidate = Candidate(BY_NAME[name])
        predicted = truth + size * rng.normal(size=600)
        if is_class:
            share = np.clip(0.25 + 0.25 * predicted, 0.02, 0.98)
            predicted = np.column_stack([1 - share, share])
        for fold_idx, test in enumerate(search.folds.test):
            candidate.add(fold_idx, FoldFit("model", predicted[test], 1.0, 10, False))
        search.candidates.append(candidate)
    late = Candidate(BY_NAME["network"])
    late.drop("left out: time")
    search.candidates.append(late)
    return search


@pytest.mark.parametrize("is_class", [False, True])
def test_the_parts_fit_together(is_class):
    search = make(is_class=is_class)
    found = assemble(search, "greedy")
    names = [member.recipe.name for member in found.members]
    assert names[:2] == NAMES[:2]
    assert found.weights.sum() == pytest.approx(1.0)
    assert found.diversity.labels == tuple(names)
    assert found.out_of_fold.shape == ((600, 2) if is_class else (600,))
    board = {entry.name: entry for entry in found.leaderboard}
    assert board["ensemble"].status == "greedy"
    assert board["leaf_quick"].weight == found.weights[0]
    assert board["leaf_quick"].status == "chosen"
    assert (board["leaf_quick"].n_folds, board["leaf_quick"].seconds) == (3, 3.0)
    assert board["network"].status == "left out: time"
    assert np.isnan(board["network"].score)
    error, mean_error, ambiguity = found.decomposition
    assert error == pytest.approx(mean_error - ambiguity)
    assert ambiguity > 0
    own = search.metric.measure(found.out_of_fold, search.data.y, None)
    assert search.metric.show(own) < board["leaf_quick"].score
    expected = error if is_class else np.sqrt(error)
    assert search.metric.show(own) == pytest.approx(expected)


def test_members_that_are_not_needed_are_left_out():
    found = assemble(make(noise=(0.1, 5.0, 5.0)), "best")
    assert [member.recipe.name for member in found.members] == ["leaf_quick"]
    assert found.diversity.values.tolist() == [[1.0]]
    assert found.decomposition.ambiguity == pytest.approx(0.0, abs=1e-12)
    statuses = {entry.name: entry.status for entry in found.leaderboard}
    assert statuses["linear"] == "not chosen"


def test_diversity_of_regressors_is_the_correlation_of_their_errors():
    search = make(noise=(1.0, 1.0, 1.0))
    found = assemble(search, "weights")
    errors = [member.gather(search.folds) - search.data.y for member in found.members]
    np.testing.assert_allclose(found.diversity.values, np.corrcoef(errors), atol=1e-12)
    weight = np.random.default_rng(0).integers(1, 4, 600).astype(float)
    weighted = assemble(make(noise=(1.0, 1.0, 1.0), sample_weight=weight), "weights")
    expected = np.cov(errors, aweights=weight)
    scale = np.sqrt(np.diag(expected))
    np.testing.assert_allclose(
        weighted.diversity.values, expected / np.outer(scale, scale), atol=1e-12
    )


def test_a_metric_without_a_value_is_an_error(monkeypatch):
    search = make(is_class=True)
    monkeypatch.setattr(type(search.metric), "score", lambda *_: -np.inf)
    monkeypatch.setattr(
        type(search.metric), "compact", lambda self, predicted, y: np.full(y.size, np.nan)
    )
    with pytest.raises(DataError, match="metric 'log_loss' gives nan"):
        assemble(search, "auto")
