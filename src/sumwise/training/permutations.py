"""Growth on several permutations of the rows: splits from one, values of leaves from another.

Each permutation has a table of its own, in which categories are encoded by the rows before, and
scores of its own. Rounds take turns in choosing the splits of a tree by the tables after the first;
every table then gives the leaves values by its own gradients, and adds them to its own scores. The
values of the first table are those of the model. It has not chosen the splits: what they owe to the
chance of a permutation, the values do not.
"""

from collections.abc import Sequence

import numpy as np

from sumwise.data.binned import BinnedData
from sumwise.kernels.threads import Team
from sumwise.losses import Location, Loss
from sumwise.tree import LeafRefitter, LeafSolver, Tree, TreeGrower


class PermutedGrowth:
    """The tables of several permutations, and the scores and gradients that belong to them.

    Parameters
    ----------
    tables : sequence of BinnedData
        One a permutation, at least two. All have the same rows and bins.
    grower : TreeGrower
        Grows on any of them.
    refitter : LeafRefitter or None
        For losses whose leaves are refitted.
    target, weight, train, valid : ndarray
        As in :class:`TrainingRows`.
    raw : ndarray of shape (n_outputs, n_rows)
        Scores of the model; those of the first table.
    team : Team
    """

    def __init__(
        self,
        tables: Sequence[BinnedData],
        grower: TreeGrower,
        refitter: LeafRefitter | None,
        target: np.ndarray,
        weight: np.ndarray,
        train: np.ndarray,
        valid: np.ndarray,
        raw: np.ndarray,
        team: Team,
    ) -> None:
        self._tables, self._grower, self._refitter = tables, grower, refitter
        self._target, self._weight, self._train, self._valid = target, weight, train, valid
        self._team = team
        self._solver = LeafSolver(grower, train.size, team)
        self._scores = [raw, *(raw.copy() for _ in tables[1:])]
        self._gradients = [(np.empty_like(raw), np.empty_like(raw)) for _ in tables]
        self._chosen_by = 0

    def begin_round(self, loss: Loss, round_idx: int) -> None:
        """Compute the gradients of all tables."""
        self._chosen_by = 1 + round_idx % (len(self._tables) - 1)
        for scores, (gradient, hessian) in zip(self._scores, self._gradients, strict=True):
            loss.gradient(self._team, self._target, scores, self._weight, gradient, hessian)

    def grow(
        self, output: int, seen: np.ndarray, key: np.uint64, location: Location | None
    ) -> Tree:
        """Grow a tree on the rows ``seen``, and add it to the scores of all rows."""
        gradient, hessian = self._gradients[self._chosen_by]
        self._grower.turn_to(self._tables[self._chosen_by])
        no_scores = np.empty(0)
        grown = self._grower.grow_on_gradients(
            gradient[output], hessian[output], seen, key, no_scores
        )
        for number in range(len(self._tables) - 1, -1, -1):
            tree = self._give_values(grown, number, output, seen, location)
        if self._valid.size:
            self._grower.add_to_scores(tree, self._valid, self._scores[0][output])
        return tree

    def _give_values(
        self,
        grown: Tree,
        number: int,
        output: int,
        seen: np.ndarray,
        location: Location | None,
    ) -> Tree:
        """Return the tree with the values of a table, which are added to its scores."""
        self._grower.turn_to(self._tables[number])
        self._grower.find_leaves(grown, self._train)
        scores = self._scores[number][output]
        if location is None or self._refitter is None:
            gradient, hessian = self._gradients[number]
            tree = self._solver.solve(grown, seen, gradient[output], hessian[output])
        else:
            tree = self._refitter.find_values(grown, seen, scores, location)
        self._solver.add_values(tree, self._train, scores)
        return tree
