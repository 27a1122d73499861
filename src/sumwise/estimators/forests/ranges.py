"""The fit of a forest in steps that several processes may share.

One process reads and bins the rows, any number of others grow trees on them, each a range of tree
numbers, and one joins the trees. The steps are those of ``fit``, which takes them in one process,
so the forest has the same bytes.
"""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sumwise.data.sizes import count_bytes
from sumwise.estimators.calibrated.unseen import count_folds
from sumwise.estimators.forests.base_forest import BaseForest
from sumwise.estimators.forests.training_set import TrainingSet
from sumwise.kernels.runtime.threads import Team
from sumwise.training.forest import GrownForest
from sumwise.tree.forest_grower import Table


@dataclass(frozen=True, eq=False)
class BinnedSet:
    """The rows of a fit in bins, and all else that growing trees needs. It can be pickled.

    Attributes
    ----------
    train : TrainingSet
        Without the values of features, which take more memory than their bins.
    table : Table
    """

    train: TrainingSet
    table: Table

    @classmethod
    def read(
        cls,
        forest: BaseForest,
        X: Any,
        y: Any,
        sample_weight: Any,
        start: BaseForest | None,
        seed: int,
        n_threads: int,
    ) -> "BinnedSet":
        """Read the arguments of ``fit`` with an unfitted forest, and bin the rows.

        ``start`` is the forest to continue from; ``seed`` is what ``fit`` would draw without one.
        """
        train = TrainingSet.read(forest, X, y, sample_weight, start, seed)
        with Team(n_threads) as team:
            return cls(train.forget_matrix(), train.bin_rows(team))

    @property
    def forest(self) -> BaseForest:
        """The forest that has read the rows: unfitted, but it knows features and classes."""
        assert isinstance(self.train.tree, BaseForest)
        return self.train.tree

    def __sizeof__(self) -> int:
        return count_bytes([self.train, self.table])

    def grow(self, numbers: range, n_threads: int) -> GrownForest:
        """Return the trees of some of the numbers of :func:`list_numbers`."""
        plan = self.forest._make_plan(self.train, self.table)
        plan = replace(plan, first=numbers.start, last=numbers.stop)
        with Team(n_threads) as team:
            return self.train.grow_range(plan, self.table, team)

    def predict_fold(self, X: Any, fold: int) -> np.ndarray | None:
        """Return out-of-fold values to learn from; None if there are not so many folds.

        X is that of :meth:`read`. Only forests that learn by cross-validation need it.
        """
        folds = self.forest._draw_folds(self.train)
        if fold > folds.max():
            return None
        return self.forest._predict_fold(X, self.train, folds, fold)

    def join(
        self,
        grown: Sequence[GrownForest],
        found: Sequence[np.ndarray | None],
        n_threads: int,
    ) -> BaseForest:
        """Return the fitted forest: the trees of all numbers, and what was found for each fold."""
        fitted = copy(self.forest)
        plan = fitted._make_plan(self.train, self.table)
        trees = self.train.join_ranges(plan, self.table, grown)
        with Team(n_threads) as team:
            fitted._take_trees(self.train, self.table, plan, trees, team)
        fitted._seed = self.train.seed
        if found:
            folds, known = fitted._draw_folds(self.train), [f for f in found if f is not None]
            fitted._learn_by_folds(self.train, folds, known)
        return fitted


def list_numbers(forest: BaseForest, start: BaseForest | None) -> range:
    """Return the numbers of the trees that a fit grows."""
    return range(0 if start is None else start.forest_.n_trees, int(forest.n_estimators))


def list_folds(forest: BaseForest) -> range:
    """Return the numbers of the folds that a fit may need; there are fewer for a few rows."""
    return range(count_folds(forest) if forest._learns_by_folds() else 0)
