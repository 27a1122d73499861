"""Rounds on several permutations of the rows: splits from one, leaf values from another.

Each permutation has its own scores and its own table, where the category of a row is encoded by the
rows before it. The tables after the first take turns in choosing the splits of a tree. Every table
then computes leaf values from its own gradients and adds them to its own scores. The model has the
leaf values of the first table, which chooses no splits: so they are independent of the random
effects of a permutation on the splits.

Scores must not be shared, nor statistics averaged, between permutations: the model could then read
the target of a row off the differences between them. Measured, this is worse than one permutation.

All tables have the bins of one ``BinMapper``, and one ``TreeGrower`` turns from table to table.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sumwise.kernels.runtime import random
from sumwise.kernels.sampling.by_gradient import multiply_rows
from sumwise.lazy import lazy
from sumwise.losses import Loss
from sumwise.training.boosters.base import BoosterRun, start_rounds
from sumwise.training.rounds import Rounds
from sumwise.training.session import Sample, Session
from sumwise.tree import Tree


class PermutedRun(BoosterRun):
    """A fit on the tables of several permutations.

    Parameters
    ----------
    session : Session
    tables : list of BinnedData, or of DeviceTables
        One per permutation, at least two; the first is that of the session.
    """

    rounds: Rounds

    def __init__(self, session: Session, tables: Sequence[Any]) -> None:
        self.session, self._tables = session, tables
        self.rounds = start_rounds(session)
        self._solver = session.make_solver()

    @lazy
    def _scores(self) -> list[np.ndarray]:
        # Made when the first round begins: they include rounds of the past.
        raw = self.session.raw
        return [raw, *(raw.copy() for _ in self._tables[1:])]

    @lazy
    def _gradients(self) -> list[tuple[np.ndarray, np.ndarray]]:
        session = self.session
        return [(session.empty_scores(), session.empty_scores()) for _ in self._tables]

    def add_round(self, round_idx: int) -> None:
        session = self.session
        chosen = 1 + round_idx % (len(self._tables) - 1)
        loss = session.take_gradient(self._scores[chosen])
        sample = session.draw_rows(round_idx)
        session.begin_left_out(sample, session.raw)
        gradient, hessian = self._gradients[chosen]
        gradient[:], hessian[:] = session.gradient, session.hessian
        for number in range(len(self._tables)):
            if number != chosen:
                self._take_gradient(loss, number, sample)
        self._prepare(loss, sample)
        for output in range(session.n_outputs):
            self.rounds.add(self._grow(loss, output, chosen, sample))

    def _prepare(self, loss: Loss, sample: Sample) -> None:
        """Called before the trees of a round are grown."""

    def _take_gradient(self, loss: Loss, number: int, sample: Sample) -> None:
        session, rows = self.session, self.session.rows
        gradient, hessian = self._gradients[number]
        loss.gradient(
            session.team, rows.target, self._scores[number], rows.weight, gradient, hessian
        )
        if sample.factor.size:
            for values in (gradient, hessian):
                session.team.run(multiply_rows, sample.seen, sample.factor, values)

    def _grow(self, loss: Loss, output: int, chosen: int, sample: Sample) -> Tree:
        session, grower = self.session, self.session.grower
        key = random.make_key(session.settings.seed, random.TREES, self.rounds.n_trees)
        gradient, hessian = self._gradients[chosen]
        grower.turn_to(self._tables[chosen])
        options = (sample.seen, key, np.empty(0))
        grown = grower.grow_on_gradients(gradient[output], hessian[output], *options)
        for number in range(len(self._tables) - 1, 0, -1):
            self._find_leaves(grown, number)
            self._update_scores(grown, number, output, loss, sample)
        self._find_leaves(grown, 0)
        tree = self._solve(grown, 0, output, loss, sample)
        self._solver.add_values(tree, session.rows.train, session.raw[output])
        if session.rows.valid.size:
            grower.add_to_scores(tree, session.rows.valid, session.raw[output])
        return tree

    def _find_leaves(self, grown: Tree, number: int) -> None:
        self.session.grower.turn_to(self._tables[number])
        self.session.grower.find_leaves(grown, self.session.rows.train)

    def _solve(self, grown: Tree, number: int, output: int, loss: Loss, sample: Sample) -> Tree:
        """Return the tree with the leaf values of a table, after :meth:`_find_leaves`."""
        location = loss.at_output(output).location
        if location is not None:
            scores = self._scores[number][output]
            refitter = self.session.get_refitter(output)
            return refitter.find_values(grown, sample.seen, scores, location)
        gradient, hessian = self._gradients[number]
        return self._solver.solve(grown, sample.seen, gradient[output], hessian[output])

    def _update_scores(
        self, grown: Tree, number: int, output: int, loss: Loss, sample: Sample
    ) -> None:
        """Add a tree to the scores of a table that chooses splits."""
        tree = self._solve(grown, number, output, loss, sample)
        self._solver.add_values(tree, self.session.rows.train, self._scores[number][output])
