"""The folds of an automatic ensemble: stratified, by groups or in the order of time."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from sumwise.errors import DataError, ParameterError
from sumwise.estimators.auto.data import TrainingData
from sumwise.estimators.combined.out_of_fold import Folds, find_splitter

# Up to so many rows, and then so many folds and repetitions: few rows need more models.
_BEST = ((500, 5, 3), (2_000, 5, 2), (100_000, 8, 1), (None, 5, 1))
_QUICK = ((20_000, 5, 1), (None, 3, 1))


def count_folds(n_rows: int, is_fast: bool) -> tuple[int, int]:
    """Return the default numbers of folds and of repetitions.

    >>> from sumwise.estimators.auto.folds import count_folds
    >>> count_folds(300, is_fast=False), count_folds(300, is_fast=True)
    ((5, 3), (5, 1))
    """
    table = _QUICK if is_fast else _BEST
    return next((k, n) for most, k, n in table if most is None or n_rows <= most)


def make_folds(
    data: TrainingData, n_folds: int, n_repeats: int, time_order: bool, cv: Any, seed: int
) -> Folds:
    """Return the rows that each model trains on and predicts.

    Parameters
    ----------
    data : TrainingData
    n_folds, n_repeats : int
        Fewer folds are made if there are fewer rows or groups.
    time_order : bool
        Whether rows are in the order of time: then a model predicts rows after those it has seen,
        and the first rows are predicted by none.
    cv : splitter, iterable of pairs or None
        Replaces all of this.
    seed : int
        Shuffles the rows.
    """
    if data.n_rows < 2:
        raise DataError(
            f"out-of-fold predictions need at least 2 rows of positive weight, and there is only "
            f"{data.n_rows} (n_samples={data.n_rows})"
        )
    if cv is not None:
        return _ask_splitter(data, cv, time_order)
    if time_order:
        if data.groups is not None:
            raise ParameterError(
                "time_order=True and groups cannot be combined; pass a splitter that respects "
                "both as cv"
            )
        return _expand_windows(data.n_rows, n_folds)
    pairs: list[tuple[np.ndarray, np.ndarray]] = []
    for repeat in range(n_repeats):
        rng = np.random.default_rng([seed, repeat])
        if data.groups is None:
            fold_of = _deal_rows(data, n_folds, rng)
        else:
            fold_of = _deal_groups(data, n_folds, rng)
        for fold in range(int(fold_of.max()) + 1):
            pairs.append((np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)))
    return _join(pairs, data.n_rows)


def _ask_splitter(data: TrainingData, cv: Any, time_order: bool) -> Folds:
    if time_order:
        raise ParameterError("time_order=True makes folds of its own; pass only one of it and cv")
    given = data.arguments
    splitter = find_splitter(cv, given.y, data.classes is not None, given.groups is not None)
    params = {} if given.groups is None else {"groups": given.groups}
    folds = Folds.split(splitter, given.X, given.y, params)
    if folds.draw_twice:
        raise DataError("cv names a training row twice; give it more weight instead")
    places = np.full(len(given.y), -1)
    places[slice(None) if data.kept is None else data.kept] = np.arange(data.n_rows)
    pairs = []
    for fold_idx, pair in enumerate(zip(folds.train, folds.test, strict=True)):
        train, test = (np.sort(places[rows][places[rows] >= 0]) for rows in pair)
        if train.size == 0 or test.size == 0:
            raise DataError(f"all rows of one side of fold {fold_idx} of cv have weight zero")
        pairs.append((train, test))
    return _join(pairs, data.n_rows)


def _expand_windows(n_rows: int, n_folds: int) -> Folds:
    """Return blocks of rows; each is predicted by a model of all blocks before it."""
    bounds = np.linspace(0, n_rows, min(n_folds, n_rows - 1) + 2).round().astype(np.intp)
    pairs = [(np.arange(first), np.arange(first, last)) for first, last in pairwise(bounds[1:])]
    return _join(pairs, n_rows)


def _deal_rows(data: TrainingData, n_folds: int, rng: np.random.Generator) -> np.ndarray:
    """Return a random fold for each row, each with the same share of every class.

    Rows that are alone in their class are in no fold (-1): all models train on them, so that all
    know the class.
    """
    order = rng.permutation(data.n_rows)
    if data.classes is not None:
        order = order[np.argsort(data.y[order], kind="stable")]
        is_alone = np.bincount(data.y)[data.y[order]] == 1
        if np.count_nonzero(~is_alone) >= 2:
            order = order[~is_alone]
    fold_of = np.full(data.n_rows, -1)
    fold_of[order] = np.arange(order.size) % min(n_folds, order.size)
    return fold_of


def _deal_groups(data: TrainingData, n_folds: int, rng: np.random.Generator) -> np.ndarray:
    """Return a fold for each row: groups are whole, folds of about equal size.

    The largest group comes first, and joins the fold where its classes are rarest; ties are broken
    by chance.
    """
    assert data.groups is not None
    _, group_idx = np.unique(data.groups, return_inverse=True)
    n_groups = int(group_idx.max()) + 1
    if n_groups < 2:
        raise DataError("all rows belong to one group: folds need at least two groups")
    n_folds = min(n_folds, n_groups)
    class_idx = np.zeros(data.n_rows, dtype=np.intp) if data.classes is None else data.y
    counts = np.zeros((n_groups, int(class_idx.max()) + 1))
    np.add.at(counts, (group_idx, class_idx), 1.0)
    shares = counts / counts.sum(axis=0)
    order = rng.permutation(n_groups)
    order = order[np.argsort(-counts[order].sum(axis=1), kind="stable")]
    filled = np.zeros((n_folds, counts.shape[1]))
    fold_of_group = np.empty(n_groups, dtype=np.intp)
    for place, group in enumerate(order):
        cost = ((filled + shares[group]) ** 2).sum(axis=1) - (filled**2).sum(axis=1)
        if place < n_folds:  # each fold gets a group before any gets a second one
            cost[filled.any(axis=1)] = np.inf
        fold = int(np.argmin(cost))
        fold_of_group[group] = fold
        filled[fold] += shares[group]
    return fold_of_group[group_idx]


def _join(pairs: Sequence[tuple[np.ndarray, np.ndarray]], n_rows: int) -> Folds:
    train, test = zip(*pairs, strict=True)
    return Folds(
        [rows.astype(np.uint32) for rows in train],
        [rows.astype(np.uint32) for rows in test],
        n_rows,
    )
