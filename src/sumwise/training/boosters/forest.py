"""Forest mode: trees fitted to the initial gradient, each on its own rows, and averaged."""

from dataclasses import dataclass, replace

from sumwise.parts import check_count, check_flag, check_rate
from sumwise.sampling import Columns
from sumwise.sampling.bootstrap import BootstrapRows
from sumwise.training.boosters.base import Booster, BoosterRun, start_rounds
from sumwise.training.rounds import Rounds
from sumwise.training.session import BoostingSettings, Session


@dataclass(eq=False, repr=False)
class Forest(Booster):
    """A random forest: all trees are fitted to the gradient at the initial score, and averaged.

    Rows come from the estimator's ``sampler``, features from its ``columns``; by default, from a
    bootstrap and from a random share of the features at each node. The learning rate is not used:
    trees take full steps. Use large trees (``max_leaves``, small ``min_samples_leaf``), because an
    average of small trees learns little.

    Parameters
    ----------
    trees_per_round : int, default=1
        Trees per round and output. The model is the average of all trees; rounds only matter to
        early stopping and callbacks.
    bootstrap : bool, default=True
        Whether each tree is grown on a bootstrap sample of the rows, if the estimator has no
        sampler.
    feature_rate : float, default=0.5
        Share of the features drawn at each node, in (0, 1], if the estimator has no ``columns``.

    Examples
    --------
    >>> from sumwise import Forest, GradientBoostingRegressor
    >>> model = GradientBoostingRegressor(booster=Forest(), max_leaves=256, min_samples_leaf=2)
    """

    stands_alone = "its rounds change the trees of earlier ones"

    trees_per_round: int = 1
    bootstrap: bool = True
    feature_rate: float = 0.5

    def check(self) -> None:
        check_count(self, "trees_per_round", 1)
        check_flag(self, "bootstrap")
        check_rate(self, "feature_rate")

    @property
    def measures_left_out(self) -> bool:
        return False

    def adapt(self, settings: BoostingSettings) -> BoostingSettings:
        sampler, columns = settings.sampler, settings.columns
        if sampler is None and self.bootstrap:
            sampler = BootstrapRows()
        if columns is None:
            columns = Columns(by_node=self.feature_rate)
        growth = replace(settings.growth, learning_rate=1.0)
        return replace(settings, growth=growth, rates=None, sampler=sampler, columns=columns)

    def start(self, session: Session) -> BoosterRun:
        return _ForestRun(session, self.trees_per_round)


class _ForestRun(BoosterRun):
    rounds: Rounds

    def __init__(self, session: Session, trees_per_round: int) -> None:
        self.session, self._trees_per_round = session, trees_per_round
        self.rounds = start_rounds(session, trees_per_round, stages="mean")
        self._start = session.raw.copy()
        self._total = session.zero_scores()
        self._loss = session.take_gradient(self._start)
        self._derivatives = session.gradient.copy(), session.hessian.copy()

    def add_round(self, round_idx: int) -> None:
        session, rounds = self.session, self.rounds
        for draw in range(self._trees_per_round):
            session.gradient[:], session.hessian[:] = self._derivatives
            sample = session.draw_rows(self._trees_per_round * round_idx + draw)
            for output, total in enumerate(self._total):
                what = (self._loss, output, rounds.n_trees, sample, total)
                rounds.add(session.grow_tree_at(self._start[output], *what))
        n_trees = self._trees_per_round * (round_idx + 1)
        session.raw[:] = self._start + self._total / n_trees
