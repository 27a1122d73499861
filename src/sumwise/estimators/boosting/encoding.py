"""Encoding the categories of a fit by statistics of its target."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from sumwise.data.category_groups import Group, read_codes
from sumwise.data.combinations import choose_combinations
from sumwise.data.encoder import ORIGINAL, CategoryEncoder, read_column
from sumwise.data.matrix import Matrix
from sumwise.data.target_statistics import (
    CategorySums,
    TargetStatistics,
    find_places,
    find_prior,
    permute_rows,
    split_holdout,
)
from sumwise.errors import DataError, ParameterError
from sumwise.estimators.boosting.categories import find_statistics
from sumwise.estimators.boosting.evaluation import ValidationSet
from sumwise.estimators.boosting.validation import LabeledRows
from sumwise.estimators.input.jobs import start_team
from sumwise.kernels.runtime.threads import Team
from sumwise.training.boost import TrainingRows
from sumwise.training.boosters import Booster, Ordered, Plain
from sumwise.tree.constraints import TreeConstraints

# What statistics take, a value and permutation.
_STEPS_PER_VALUE = 8


@dataclass(frozen=True)
class EncodedRows:
    """The rows of a fit after their categories were encoded.

    Attributes
    ----------
    train : LabeledRows
        With the encoded matrix.
    sets : sequence of ValidationSet
        With the encoded matrices.
    rows : TrainingRows
        Rows held out for statistics are not among those that train.
    n_categories : ndarray of int64
        Of each column of the encoded matrices.
    variants : sequence of Matrix
        The training matrix by further permutations.
    encoder : CategoryEncoder or None
        None where nothing was encoded.
    """

    train: LabeledRows
    sets: Sequence[ValidationSet]
    rows: TrainingRows
    n_categories: np.ndarray
    variants: Sequence[Matrix] = ()
    encoder: CategoryEncoder | None = None


def encode_rows(
    estimator: Any,
    train: LabeledRows,
    sets: Sequence[ValidationSet],
    rows: TrainingRows,
    seed: int,
    start: Any,
    booster: Booster,
    n_jobs: int | None,
) -> EncodedRows:
    """Learn an encoder, if the estimator asks for one, and encode what it is fitted on.

    ``start`` is the model to continue from, or None: its encoder is kept.
    """
    n_categories = estimator.schema_.n_categories
    part = find_statistics(estimator, n_categories)
    old = None if start is None else start._encoder
    if start is not None and (part is None) is not (old is None):
        if estimator.categorical_encoding != "auto":
            raise ParameterError(
                f"categorical_encoding={estimator.categorical_encoding!r}: the model to continue "
                "from encodes categories in another way; give the encoding of that model"
            )
        part = None if old is None else TargetStatistics()
    if part is None:
        return EncodedRows(train, sets, rows, n_categories)
    n_permutations = _count(estimator, booster, part)
    part = TargetStatistics(**{**part.get_params(), "permutations": n_permutations})
    n_steps = _STEPS_PER_VALUE * train.matrix.size * int(part.permutations)
    with start_team(n_jobs, n_steps) as team:
        work = _Encoding(estimator, part, train, rows, seed, n_categories, team)
        encoder, matrices, rows = work.learn(old)
    sets = [
        ValidationSet(name, replace(valid, matrix=encoder.transform(valid.matrix)))
        for name, valid in sets
    ]
    train = replace(train, matrix=matrices[0])
    n_encoded = encoder.encoded_categories
    return EncodedRows(train, sets, rows, n_encoded, matrices[1:], encoder)


def _count(estimator: Any, booster: Booster, part: TargetStatistics) -> int:
    """Permutations of a fit: those of the booster, if it has any, else of the encoding."""
    if isinstance(booster, Ordered):
        return int(booster.permutations)
    takes_turns = isinstance(booster, Plain) and booster.trees_per_round == 1
    return int(part.permutations) if takes_turns and estimator.leaves == "constant" else 1


class _Encoding:
    """The encoder of a fit in the making."""

    def __init__(
        self,
        estimator: Any,
        part: TargetStatistics,
        train: LabeledRows,
        rows: TrainingRows,
        seed: int,
        n_categories: np.ndarray,
        team: Team,
    ) -> None:
        self._estimator, self._part, self._rows = estimator, part, rows
        self._seed, self._n_categories, self._team = seed, n_categories, team
        self._X = train.matrix
        self._values = _make_values(estimator, train.target)
        self._weight = np.empty(0) if train.weight is None else train.weight
        n_rows = train.matrix.shape[0]
        self._codes = {
            int(f): read_codes(read_column(self._X, int(f))(0, n_rows), int(n_categories[f]))
            for f in np.flatnonzero(n_categories)
        }

    def learn(
        self, old: CategoryEncoder | None
    ) -> tuple[CategoryEncoder, list[Matrix], TrainingRows]:
        """Return the encoder, the training matrix (one a permutation) and the rows to train on."""
        rows, summed = self._rows, self._rows.train
        if self._part.method == "holdout":
            if summed.size < 2:
                raise DataError("statistics by holdout need at least two rows; there is one")
            summed = split_holdout(self._part, summed, self._seed)
            rows = replace(rows, train=np.setdiff1d(rows.train, summed, assume_unique=True))
        groups = self._choose_groups(summed) if old is None else list(old.groups)
        places = find_places(groups, self._codes)
        prior = find_prior(self._part, self._values, self._weight, summed)
        sums = CategorySums.of_rows(
            places,
            [group.n_places for group in groups],
            summed,
            self._values,
            self._weight,
            prior,
            self._part.prior_weight,
            self._team,
        )
        encoder = CategoryEncoder(self._n_categories, tuple(groups), sums, bool(self._part.counts))
        if old is not None and not _have_equal_sums(old, encoder):
            # Rows that the old statistics do not know: nothing of them can leak.
            return old, [old.transform(self._X)], rows
        matrices: list[Matrix] = [
            encoder.join(self._X, places, statistics)
            for statistics in self._find_statistics(groups, sums, places, rows.train)
        ]
        return encoder, matrices, rows

    def _choose_groups(self, summed: np.ndarray) -> list[Group]:
        n_categories = self._n_categories
        singles = np.flatnonzero(n_categories > self._part.native_limit)
        groups = [Group.of_feature(int(f), int(n_categories[f])) for f in singles]
        if self._estimator.interaction_cst is None:
            varied = {f: own for f, own in self._codes.items() if n_categories[f] > 1}
            chosen = choose_combinations(
                self._part, varied, n_categories, self._values, summed, self._seed, self._team
            )
            groups += [Group.of_rows(f, n_categories, self._codes, summed) for f in chosen]
        return groups

    def _find_statistics(
        self, groups: list[Group], sums: CategorySums, places: np.ndarray, train: np.ndarray
    ) -> list[np.ndarray]:
        """Statistics (n_groups, n_values, n_rows) of all rows; several by permutations.

        Rows that do not train have those of prediction.
        """
        n_groups, n_values = places.shape[0], self._values.shape[0]
        everywhere = np.empty((n_groups, n_values, places.shape[1]))
        own_weight = self._weight[train] if self._weight.size else 1.0
        for group in range(n_groups):
            for value in range(n_values):
                out = everywhere[group, value]
                out[:] = sums.greedy(group, value, places[group])
                if self._part.method == "leave_one_out":
                    out[train] = sums.leave_one_out(
                        group, value, places[group, train], self._values[value, train], own_weight
                    )
        if self._part.method != "ordered":
            return [everywhere]
        greedy = self._part.find_greedy(self._n_categories, train.size)
        is_greedy = [len(g.features) == 1 and bool(greedy[g.features[0]]) for g in groups]
        result = []
        for number in range(int(self._part.permutations)):
            order = permute_rows(train, self._seed, number)
            result.append(everywhere.copy())
            sums.ordered(places, order, self._values, self._weight, result[-1], self._team)
            result[-1][is_greedy] = everywhere[is_greedy]
        return result


def _make_values(estimator: Any, target: np.ndarray) -> np.ndarray:
    """What statistics are of, (n_values, n_rows): the targets, or one row per class of many."""
    if not is_classifier(estimator) or estimator.classes_.size <= 2:
        return np.array(target[None, :] if target.ndim == 1 else target.T, order="C")
    return (target == np.arange(estimator.classes_.size)[:, None]).astype(np.float64)


def _have_equal_sums(old: CategoryEncoder, new: CategoryEncoder) -> bool:
    names = ("sums", "counts", "prior", "prior_weight")
    pairs = ((getattr(old.sums, name), getattr(new.sums, name)) for name in names)
    same_columns = old.has_counts == new.has_counts
    return same_columns and all(np.array_equal(a, b) for a, b in pairs)


def encode_constraints(
    constraints: TreeConstraints | None, encoder: CategoryEncoder | None
) -> TreeConstraints | None:
    """Return constraints on features as constraints on the columns that stand for them."""
    if constraints is None or encoder is None:
        return constraints
    columns = encoder.columns
    directions = [
        constraints.directions[c.features[0]] if c.kind == ORIGINAL else 0 for c in columns
    ]
    groups: Sequence[Sequence[int]] = constraints.groups
    if constraints.max_path_features:  # a feature may have several columns
        groups = list(combinations(range(encoder.n_features), constraints.max_path_features))
    by_column = [
        [k for k, column in enumerate(columns) if set(column.features) <= set(group)]
        for group in groups
    ]
    return TreeConstraints(directions, by_column)
