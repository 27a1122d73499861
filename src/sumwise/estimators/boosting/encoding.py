"""Encoding the categories of a fit by statistics of its target."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from sumwise.data.categories.combinations import choose_combinations
from sumwise.data.categories.encoder import ORIGINAL, STATISTIC, CategoryEncoder, read_column
from sumwise.data.categories.groups import Group, read_codes
from sumwise.data.categories.target_statistics import (
    CategorySums,
    TargetStatistics,
    find_places,
    find_prior,
    permute_rows,
    split_holdout,
)
from sumwise.data.matrix import Matrix
from sumwise.errors import DataError, ParameterError
from sumwise.estimators.boosting.categories import find_statistics
from sumwise.estimators.boosting.continuing import Start
from sumwise.estimators.boosting.parameters import BoostingParameters
from sumwise.estimators.boosting.rows import FitData, as_array
from sumwise.estimators.input.jobs import start_team
from sumwise.kernels.runtime.threads import Team
from sumwise.training.boost import TrainingRows
from sumwise.training.boosters import Booster, Ordered, Plain
from sumwise.tree.constraints import TreeConstraints

# Elementary steps that statistics take per value and permutation.
_STEPS_PER_VALUE = 8


def find_encoding(
    params: BoostingParameters, n_categories: np.ndarray, start: Start, by_rule: bool = False
) -> TargetStatistics | None:
    """Return how to encode categories, None if there is nothing to encode.

    A fit that continues a model encodes them as the model does. ``by_rule`` is that of
    :func:`find_statistics`.
    """
    part, old = find_statistics(params, n_categories, by_rule), start.encoder
    if start.past is None or (part is None) is (old is None):
        return part
    if params.categorical_encoding != "auto":
        raise ParameterError(
            f"categorical_encoding={params.categorical_encoding!r}: the model to continue from "
            "encodes categories in another way; give the encoding of that model"
        )
    return None if old is None else TargetStatistics()


def encode_categories(
    params: BoostingParameters,
    booster: Booster,
    data: FitData,
    part: TargetStatistics,
    old: CategoryEncoder | None,
    seed: int,
    n_jobs: int | None,
) -> FitData:
    """Learn an encoder, and encode the categories of all rows of a fit.

    ``old`` is the encoder of the model to continue from.
    """
    n_permutations = _count_permutations(params, booster, part)
    part = TargetStatistics(**{**part.get_params(), "permutations": n_permutations})
    n_steps = _STEPS_PER_VALUE * data.train.matrix.size * n_permutations
    with start_team(n_jobs, n_steps) as team:
        # A combination of features would be an interaction.
        work = _Encoding(part, data, params.interaction_cst is None, seed, team)
        encoder, (matrix, *variants), rows = work.learn(old)
    statistics = [k for k, own in enumerate(encoder.columns) if own.kind == STATISTIC]
    thresholds = encoder.sums.find_thresholds(int(part.levels))
    return FitData(
        replace(data.train, matrix=matrix),
        [replace(own, matrix=encoder.transform(own.matrix)) for own in data.sets],
        rows,
        encoder.encoded_categories,
        variants,
        encoder,
        {} if thresholds is None else dict.fromkeys(statistics, thresholds),
    )


def _count_permutations(
    params: BoostingParameters, booster: Booster, part: TargetStatistics
) -> int:
    """Return the number of permutations: of the booster if it has any, else of the encoding."""
    if isinstance(booster, Ordered):
        return int(booster.permutations)
    takes_turns = isinstance(booster, Plain) and booster.trees_per_round == 1
    return int(part.permutations) if takes_turns and params.leaves == "constant" else 1


class _Encoding:
    """Learns the encoder of a fit."""

    def __init__(
        self, part: TargetStatistics, data: FitData, may_combine: bool, seed: int, team: Team
    ) -> None:
        self._part, self._rows, self._may_combine = part, data.rows, may_combine
        self._seed, self._n_categories, self._team = seed, data.n_categories, team
        self._X, n_rows = data.train.matrix, data.train.n_rows
        self._values = _make_values(data.train.target, data.rows.classes)
        self._weight = as_array(data.train.weight)
        self._codes = {
            int(f): read_codes(read_column(self._X, int(f))(0, n_rows), int(data.n_categories[f]))
            for f in np.flatnonzero(data.n_categories)
        }

    def learn(
        self, old: CategoryEncoder | None
    ) -> tuple[CategoryEncoder, list[Matrix], TrainingRows]:
        """Return the encoder, one training matrix per permutation, and the rows of the fit.

        Rows held out for the statistics do not train.
        """
        rows, summed = self._rows, self._rows.train
        if self._part.method == "holdout":
            if summed.size < 2:
                raise DataError("statistics by holdout need at least two rows; there is one")
            summed = split_holdout(self._part, summed, self._seed)
            rows = replace(rows, train=np.setdiff1d(rows.train, summed, assume_unique=True))
        groups = self._choose_groups(summed) if old is None else list(old.groups)
        places = find_places(groups, self._codes)
        prior = self._find_prior(summed, old)
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
        counts = self._counts_rows(summed) if old is None else old.has_counts
        encoder = CategoryEncoder(self._n_categories, tuple(groups), sums, counts)
        if old is not None and not _have_equal_sums(old, encoder):
            # The old statistics do not contain these rows, so their targets cannot leak.
            return old, [old.transform(self._X)], rows
        matrices: list[Matrix] = [
            encoder.join(self._X, places, statistics)
            for statistics in self._find_statistics(groups, sums, places, rows.train)
        ]
        return encoder, matrices, rows

    def _find_prior(self, summed: np.ndarray, old: CategoryEncoder | None) -> np.ndarray:
        """Return the priors; a model with several priors is continued with those."""
        if old is not None and old.sums.n_priors > 1:
            return old.sums.prior
        return find_prior(self._part, self._values, self._weight, summed)

    def _counts_rows(self, summed: np.ndarray) -> bool:
        """Whether counts are columns: not of unequal weights, which may depend on the target.

        With class weights, the sum of the weights of a single row is its class.
        """
        used = self._weight[summed] if self._weight.size else self._weight
        used = used[used > 0]
        return bool(self._part.counts) and (used.size == 0 or used.min() == used.max())

    def _choose_groups(self, summed: np.ndarray) -> list[Group]:
        n_categories = self._n_categories
        singles = np.flatnonzero(n_categories > self._part.native_limit)
        groups = [Group.of_feature(int(f), int(n_categories[f])) for f in singles]
        if self._may_combine:
            varied = {f: own for f, own in self._codes.items() if n_categories[f] > 1}
            chosen = choose_combinations(
                self._part, varied, n_categories, self._values, summed, self._seed, self._team
            )
            groups += [Group.of_rows(f, n_categories, self._codes, summed) for f in chosen]
        return groups

    def _find_statistics(
        self, groups: list[Group], sums: CategorySums, places: np.ndarray, train: np.ndarray
    ) -> list[np.ndarray]:
        """Return the statistics (n_groups, n_statistics, n_rows) of all rows, by permutation.

        Rows that do not train have the statistics of prediction.
        """
        n_groups, n_statistics = places.shape[0], sums.prior.size
        everywhere = np.empty((n_groups, n_statistics, places.shape[1]))
        own_weight = self._weight[train] if self._weight.size else 1.0
        for group in range(n_groups):
            for statistic in range(n_statistics):
                out = everywhere[group, statistic]
                out[:] = sums.greedy(group, statistic, places[group])
                if self._part.method == "leave_one_out":
                    own = self._values[statistic // sums.n_priors, train]
                    out[train] = sums.leave_one_out(
                        group, statistic, places[group, train], own, own_weight
                    )
        if self._part.method != "ordered":
            return [everywhere]
        greedy = self._part.find_greedy(self._n_categories, train.size)
        is_greedy = [len(g.features) == 1 and bool(greedy[g.features[0]]) for g in groups]
        if all(is_greedy):  # no permutation would change anything
            return [everywhere]
        result = []
        for number in range(int(self._part.permutations)):
            order = permute_rows(train, self._seed, number)
            result.append(everywhere.copy())
            sums.ordered(places, order, self._values, self._weight, result[-1], self._team)
            result[-1][is_greedy] = everywhere[is_greedy]
        return result


def _make_values(target: np.ndarray, classes: np.ndarray | None) -> np.ndarray:
    """Return what statistics summarize, (n_values, n_rows): targets, or indicators of classes."""
    if classes is None or classes.size <= 2:
        by_row = target[None, :] if target.ndim == 1 else target.T
        return np.array(by_row, dtype=np.float64, order="C")
    return (target == np.arange(classes.size)[:, None]).astype(np.float64)


def _have_equal_sums(old: CategoryEncoder, new: CategoryEncoder) -> bool:
    names = ("sums", "counts", "prior", "prior_weight")
    pairs = ((getattr(old.sums, name), getattr(new.sums, name)) for name in names)
    same_columns = old.has_counts == new.has_counts
    return same_columns and all(np.array_equal(a, b) for a, b in pairs)


def encode_constraints(
    constraints: TreeConstraints | None, encoder: CategoryEncoder | None
) -> TreeConstraints | None:
    """Return constraints on features as constraints on the encoded columns."""
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
