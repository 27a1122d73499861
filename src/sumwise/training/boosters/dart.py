"""DART: dropouts meet multiple additive regression trees (Rashmi and Gilad-Bachrach, 2015)."""

from dataclasses import dataclass, replace

import numpy as np

from sumwise.errors import ParameterError
from sumwise.kernels.runtime import random
from sumwise.kernels.sampling.by_gradient import draw_uniform
from sumwise.parts import check_count, check_number
from sumwise.training.boosters.base import Booster, BoosterRun, start_rounds
from sumwise.training.rounds import Rounds
from sumwise.training.session import Session
from sumwise.tree.pending_tree import finish_tree


@dataclass(eq=False, repr=False)
class Dart(Booster):
    """Each round drops some earlier rounds, and fits a tree to the errors of the others.

    With k dropped rounds and a learning rate s, the new tree is scaled by s / (k + s) and the
    dropped ones by k / (k + s) (``normalize="tree"``: the new tree has the weight of one dropped
    tree); or the new one by s / (1 + s) and the dropped ones by 1 / (1 + s)
    (``normalize="forest"``: the weight of all dropped trees together). If nothing is dropped, a
    round is one of plain boosting. These are XGBoost's rules.

    Later rounds change the values of earlier trees, so the model of fewer rounds cannot be
    recovered from the finished one: ``truncate``, ``staged_predict`` and continued training are
    refused. Early stopping is exact, because training keeps the old values.

    Parameters
    ----------
    drop_rate : float, default=0.1
        Probability that a round is dropped, in [0, 1].
    max_drop : int or None, default=50
        Maximum number of rounds dropped at once; if there are more, a random choice of them.
    skip_drop : float, default=0.5
        Probability that a round drops nothing, in [0, 1].
    normalize : {"tree", "forest"}, default="tree"
        Whether the new tree has the weight of one dropped tree or of all.

    Examples
    --------
    >>> from sumwise import Dart, GradientBoostingRegressor
    >>> GradientBoostingRegressor(booster=Dart(drop_rate=0.2)).booster
    Dart(drop_rate=0.2)
    """

    stands_alone = "its rounds change the trees of earlier ones"

    drop_rate: float = 0.1
    max_drop: int | None = 50
    skip_drop: float = 0.5
    normalize: str = "tree"

    def check(self) -> None:
        check_number(self, "drop_rate", 0.0, 1.0)
        check_count(self, "max_drop", 1, optional=True)
        check_number(self, "skip_drop", 0.0, 1.0)
        if self.normalize not in ("tree", "forest"):
            raise ParameterError(f"Dart(normalize={self.normalize!r}): must be 'tree' or 'forest'")

    def choose_rounds(self, round_idx: int, seed: int) -> np.ndarray:
        """Return the rounds that a round drops, in ascending order."""
        chance = np.empty(round_idx + 1)
        numbers = np.arange(round_idx + 1, dtype=np.uint32)
        draw_uniform(random.make_key(seed, random.SKIPPED_DROPS, round_idx), numbers, chance)
        if chance[round_idx] < self.skip_drop:
            return numbers[:0]
        draw_uniform(random.make_key(seed, random.DROPPED_ROUNDS, round_idx), numbers, chance)
        dropped = np.flatnonzero(chance[:round_idx] < self.drop_rate)
        if self.max_drop is not None and dropped.size > self.max_drop:
            lowest = np.argsort(chance[dropped], kind="stable")[: self.max_drop]
            dropped = np.sort(dropped[lowest])
        return dropped

    def find_factors(self, n_dropped: int, learning_rate: float) -> tuple[float, float]:
        """Return the factors on the new tree, which includes the learning rate, and on the old."""
        if n_dropped == 0:
            return 1.0, 1.0
        if self.normalize == "forest":
            return 1.0 / (1.0 + learning_rate), 1.0 / (1.0 + learning_rate)
        total = n_dropped + learning_rate
        return 1.0 / total, n_dropped / total

    def start(self, session: Session) -> BoosterRun:
        return _DartRun(session, self)


class _DartRun(BoosterRun):
    rounds: Rounds

    def __init__(self, session: Session, booster: Dart) -> None:
        self.session, self._booster = session, booster
        self.rounds = start_rounds(session, stages="rescaled")

    def add_round(self, round_idx: int) -> None:
        session, rounds = self.session, self.rounds
        dropped = self._booster.choose_rounds(round_idx, session.settings.seed)
        gone = self._add_up(dropped)
        kept = session.raw - gone
        loss = session.take_gradient(kept)
        sample = session.draw_rows(round_idx)
        session.begin_left_out(sample, session.raw)
        rate = session.settings.growth.learning_rate
        new_factor, old_factor = self._booster.find_factors(dropped.size, rate)
        for output in range(session.n_outputs):
            scores = kept[output].copy()
            tree = session.grow_tree(loss, output, rounds.n_trees, sample, scores)
            if dropped.size:
                tree = finish_tree(tree)  # its values are needed
                tree = replace(tree, value=tree.value * new_factor)
                scores = kept[output] + old_factor * gone[output]
                session.grower.add_to_scores(tree, session.used_rows, scores)
            session.raw[output] = scores
            rounds.add(tree)
        for tree_idx in self._list_trees(dropped):
            rounds.rescale(tree_idx, old_factor)

    def _list_trees(self, dropped: np.ndarray) -> list[int]:
        n = self.session.n_outputs
        return [n * int(round_idx) + output for round_idx in dropped for output in range(n)]

    def _add_up(self, dropped: np.ndarray) -> np.ndarray:
        """Return the sum of the values of the trees of some rounds, by output and row."""
        session = self.session
        total = session.zero_scores()
        for tree_idx in self._list_trees(dropped):
            tree = self.rounds.get_tree(tree_idx)
            session.add_old_tree(tree, session.used_rows, total[tree_idx % session.n_outputs])
        return total
