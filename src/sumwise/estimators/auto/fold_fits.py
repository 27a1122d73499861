"""The fit of one member on one fold: the model, and its predictions of the held-out rows."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from sumwise.combine.classes import normalize_probabilities, place_classes
from sumwise.errors import DataError
from sumwise.estimators.auto import portfolio
from sumwise.estimators.auto.budget import Clock
from sumwise.estimators.auto.data import TrainingData
from sumwise.estimators.auto.members import (
    count_patience,
    count_rounds,
    is_shared,
    make_member,
    make_seed,
)
from sumwise.estimators.auto.portfolio import Recipe
from sumwise.estimators.auto.stopping import StopWhenStale, choose_rounds, halve_rows
from sumwise.estimators.combined.out_of_fold import Folds
from sumwise.estimators.warn import warn_nothing

# Members that cannot be stopped are first timed with so many rows.
_PROBED_ROWS = 1_000
# Trees of a forest that are timed first.
_PROBED_TREES = 10


class TooSlowError(Exception):
    """A fit would take longer than it may."""


@dataclass(frozen=True, eq=False)
class FoldFit:
    """What has come of a fit.

    Attributes
    ----------
    model : fitted estimator
    output : ndarray of shape (n_held_out,) or (n_held_out, n_classes)
        Predictions of the held-out rows: numbers or probabilities.
    seconds : float
    n_rounds : int
        Rounds of boosting, trees of a forest; 0 for other models.
    was_cut : bool
        Whether it was stopped before its end, for lack of time.
    """

    model: Any
    output: np.ndarray
    seconds: float
    n_rounds: int
    was_cut: bool


@dataclass(frozen=True)
class FitTerms:
    """What fits have in common, and when they must end.

    Attributes
    ----------
    data : TrainingData
    folds : Folds
    loss : str
        The loss of boosting.
    seed : int
    clock : callable
    n_jobs : int or None
        Threads of a fit.
    is_over : callable
        Whether all fits must end at once.
    """

    data: TrainingData
    folds: Folds
    loss: str
    seed: int
    clock: Clock
    n_jobs: int | None = None
    is_over: Callable[[], bool] = field(default=lambda: False)


def fit_fold(
    terms: FitTerms, recipe: Recipe, fold_idx: int, seconds: float, must: bool = False
) -> FoldFit:
    """Fit a member on the training rows of a fold within some seconds.

    Boosting is stopped when they are over, and a forest gets fewer trees. Other models are not
    started if they would need more, unless they ``must``: then this raises TooSlowError.
    """
    begin = terms.clock()
    train, test = terms.folds.train[fold_idx], terms.folds.test[fold_idx]
    seed = make_seed(terms.seed, recipe.name, fold_idx)
    own = (recipe, terms.data, train.size, terms.loss, terms.n_jobs, seed)
    model = make_member(*own)
    was_cut = False
    with warn_nothing():
        if recipe.family == portfolio.BOOSTING:
            deadline = begin + seconds
            model, output, was_cut = _fit_boosting(terms, recipe, model, train, test, deadline)
        elif recipe.family in (portfolio.FOREST, portfolio.EXTRA_TREES):
            was_cut = _fit_forest(terms, model, train, seconds)
            output = predict_outputs(model, _take(terms.data, test), terms.data)
        else:
            limit = np.inf if must else seconds
            output = _fit_numeric(terms, recipe, model, train, test, limit)
    if not np.isfinite(output).all():
        raise DataError("its predictions of held-out rows are not finite")
    return FoldFit(model, output, terms.clock() - begin, count_trained(model), was_cut)


def fit_all(terms: FitTerms, recipe: Recipe, n_rounds: int) -> Any:
    """Fit a member on all rows; boosting with so many rounds, a forest with so many trees."""
    data, rows = terms.data, np.arange(terms.data.n_rows, dtype=np.uint32)
    seed = make_seed(terms.seed, recipe.name)
    model = make_member(recipe, data, data.n_rows, terms.loss, terms.n_jobs, seed)
    if n_rounds:
        model.set_params(n_estimators=n_rounds)
    with warn_nothing():
        if is_shared(recipe):
            model._fit_rows(data.table, rows, None, terms.n_jobs)
        elif recipe.family in (portfolio.LINEAR, portfolio.NEIGHBORS, portfolio.NETWORK):
            with threadpool_limits(1, "openmp"):
                model.fit(data.rows.numbers, data.y, data.weight)
        else:
            model.fit(data.rows.numbers, data.y, data.weight)
    return model


def predict_outputs(model: Any, X: Any, data: TrainingData) -> np.ndarray:
    """Return numbers, or the probabilities of all classes, which a model may know in part."""
    return arrange_outputs(model, X, data.n_outputs, data.classes is not None)


def arrange_outputs(model: Any, X: Any, n_outputs: int, is_class: bool) -> np.ndarray:
    """Return the predictions of a model as those of the ensemble."""
    if not is_class:
        return np.asarray(model.predict(X), dtype=np.float64)
    places = np.asarray(model.classes_).astype(np.intp)
    placed = place_classes(model.predict_proba(X), places, n_outputs)
    return normalize_probabilities(placed)


def count_trained(model: Any) -> int:
    """Return the rounds of boosting or the trees of a forest; 0 for other models."""
    if hasattr(model, "ensemble_"):
        return int(model.best_iteration_)
    return int(model.forest_.n_trees) if hasattr(model, "forest_") else 0


def _take(data: TrainingData, rows: np.ndarray) -> Any:
    return data.rows.numbers[rows]


# --- boosting ---


def _fit_boosting(
    terms: FitTerms,
    recipe: Recipe,
    model: Any,
    train: np.ndarray,
    test: np.ndarray,
    deadline: float,
) -> tuple[Any, np.ndarray, bool]:
    """Return the fitted model, its predictions, and whether it was stopped by the deadline."""
    data = terms.data
    halves = halve_rows(_find_measurable(data, train, test), data.groups)
    shares = _share_weight(data, halves)
    if shares:
        model.set_params(n_estimators=count_rounds(recipe, is_watched=True))
    stop = StopWhenStale(
        shares,
        count_patience(recipe),
        lambda: terms.is_over() or terms.clock() > deadline,
    )
    if is_shared(recipe):
        model._fit_rows(data.table, train, None, terms.n_jobs, [stop], halves)
        feed: Callable[[np.ndarray], Any] = partial(_take_shared, data)
    else:
        sets = [(_take(data, rows), data.y[rows]) for rows in halves.values()]
        weights = [data.take_weight(rows) for rows in halves.values()]
        model.set_params(callbacks=[stop]).fit(
            _take(data, train),
            data.y[train],
            data.take_weight(train),
            eval_set=sets or None,
            eval_names=list(halves) or None,
            eval_sample_weight=weights if data.weight is not None and halves else None,
        )
        model.set_params(callbacks=None)
        feed = partial(_take, data)
    if not shares:
        return model, predict_outputs(model, feed(test), data), stop.was_cut
    n_best, by_half = choose_rounds(model.history_, shares)
    output = np.empty((data.n_rows, data.n_outputs) if data.classes is not None else data.n_rows)
    for name, rows in halves.items():
        judged = model.truncate(by_half[name])
        output[rows] = predict_outputs(judged, feed(rows), data)
    best = model.truncate(n_best)
    others = np.setdiff1d(test, np.concatenate([*halves.values()]))
    if others.size:
        output[others] = predict_outputs(best, feed(others), data)
    return best, output[test], stop.was_cut


def _take_shared(data: TrainingData, rows: np.ndarray) -> Any:
    """Return rows for a model that was fitted on the shared table."""
    from sumwise.estimators.input.features import ReadRows

    return ReadRows(data.table.numbers[rows])


def _find_measurable(data: TrainingData, train: np.ndarray, test: np.ndarray) -> np.ndarray:
    """Return the held-out rows whose classes the training rows have."""
    if data.classes is None:
        return test
    return test[np.isin(data.y[test], np.unique(data.y[train]))]


def _share_weight(data: TrainingData, halves: dict[str, np.ndarray]) -> dict[str, float]:
    """Return the share of each half in their weight; none if one half has nothing to tell."""
    if data.classes is not None and data.classes.size == 1:
        return {}
    totals = {
        name: float(rows.size if data.weight is None else data.weight[rows].sum())
        for name, rows in halves.items()
    }
    whole = sum(totals.values())
    return {name: total / whole for name, total in totals.items()}


# --- other models ---


def _fit_forest(terms: FitTerms, model: Any, train: np.ndarray, seconds: float) -> bool:
    """Fit a forest of as many trees as fit into the time; return whether they are fewer."""
    data, n_trees = terms.data, int(model.n_estimators)
    X, y, weight = _take(data, train), data.y[train], data.take_weight(train)
    if seconds == np.inf or n_trees <= _PROBED_TREES:
        model.fit(X, y, weight)
        return False
    begin = terms.clock()
    model.set_params(n_estimators=_PROBED_TREES, warm_start=True).fit(X, y, weight)
    taken = terms.clock() - begin
    # The probe counts, too, and predictions take time.
    n_fitting = n_trees if taken <= 0.0 else int(0.8 * seconds / taken * _PROBED_TREES)
    n_own = min(n_trees, max(n_fitting, _PROBED_TREES))
    if n_own > _PROBED_TREES:
        model.set_params(n_estimators=n_own).fit(X, y, weight)
    model.set_params(n_estimators=n_own, warm_start=False)
    return n_own < n_trees


def _fit_numeric(
    terms: FitTerms,
    recipe: Recipe,
    model: Any,
    train: np.ndarray,
    test: np.ndarray,
    seconds: float,
) -> np.ndarray:
    """Fit a model of scikit-learn; return its predictions."""
    data = terms.data
    # One thread: then sums are in the same order whatever n_jobs is.
    with threadpool_limits(1, "openmp"):
        if seconds < np.inf and train.size > 2 * _PROBED_ROWS:
            probe, held_out = _spread(train), _spread(test)
            begin = terms.clock()
            tried = clone(model).fit(_take(data, probe), data.y[probe], data.take_weight(probe))
            tried.predict(_take(data, held_out))
            growth = train.size / probe.size
            if recipe.family == portfolio.NEIGHBORS:
                growth *= test.size / held_out.size
            if growth * (terms.clock() - begin) > seconds:
                raise TooSlowError
        model.fit(_take(data, train), data.y[train], data.take_weight(train))
        return predict_outputs(model, _take(data, test), data)


def _spread(rows: np.ndarray) -> np.ndarray:
    """Return some rows at equal distances."""
    return rows[np.unique(np.linspace(0, rows.size - 1, _PROBED_ROWS).astype(np.intp))]
