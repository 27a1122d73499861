"""Ordered boosting: the residual of a row comes from a model that never saw the row.

(Prokhorenkova et al., CatBoost: unbiased boosting with categorical features, 2018.)
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sumwise.data.binned import BinnedData
from sumwise.data.categories.target_statistics import permute_rows
from sumwise.errors import ParameterError
from sumwise.kernels.runtime import random
from sumwise.lazy import lazy
from sumwise.losses import Loss
from sumwise.parts import check_count
from sumwise.training.boosters.base import Booster, BoosterRun, BoosterUser, start_rounds
from sumwise.training.boosters.permuted import PermutedRun
from sumwise.training.rounds import Rounds
from sumwise.training.session import Sample, Session
from sumwise.tree import Tree

if TYPE_CHECKING:
    from sumwise.tree.prefixes import PrefixModels

# "all" grows a tree for every row in every round.
_MOST_ROWS = 5_000


@dataclass(eq=False, repr=False)
class Ordered(Booster):
    """Grow trees on residuals of models that have not seen the row.

    In plain boosting the residual of a row comes from trees whose leaves contain its own target. It
    is smaller than that of a new row would be, and trees fitted to such residuals are biased. Here
    the rows have a random order, and models are trained on prefixes of it: the residual of a row
    comes from a model of rows before it.

    Parameters
    ----------
    permutations : int, default=2
        Number of random orders. Leaf values come from the first, splits from the others in turn;
        with 1, both come from it. Ordered target statistics use the same orders.
    prefixes : {"log", "all"}, default="log"
        Prefixes of an order that have a model: "log" those of 1, 2, 4, 8, ... rows. Their models
        share splits and differ in leaf values. "all": prefixes of any length, with their own
        splits. It grows a tree per row and round, so it is for small data, and for one permutation.

    Examples
    --------
    >>> from sumwise import GradientBoostingRegressor, Ordered
    >>> GradientBoostingRegressor(growth="symmetric", booster=Ordered(permutations=4)).booster
    Ordered(permutations=4)
    """

    stands_alone = "the scores of its models of prefixes are not kept"

    permutations: int = 2
    prefixes: str = "log"

    def check(self) -> None:
        check_count(self, "permutations", 1)
        if self.prefixes not in ("log", "all"):
            raise ParameterError(f"Ordered(prefixes={self.prefixes!r}): must be 'log' or 'all'")
        if self.prefixes == "all" and self.permutations != 1:
            raise ParameterError(
                f"Ordered(permutations={self.permutations!r}, prefixes='all'): models of all "
                "prefixes have their own splits, so one permutation serves both splits and "
                "values; pass permutations=1"
            )

    def check_use(self, estimator: BoosterUser) -> None:
        if self.prefixes == "all" and estimator.base_score is not None:
            raise ParameterError(
                f"{type(estimator).__name__}: Ordered(prefixes='all') starts all of its models "
                "from zero; leave base_score out, or use prefixes='log'"
            )
        if self.prefixes == "all" and estimator.sampler is not None:
            raise ParameterError(
                f"{type(estimator).__name__}: Ordered(prefixes='all') grows models of all "
                "prefixes on all of their rows; leave the sampler out, or use prefixes='log'"
            )

    def start(self, session: Session) -> BoosterRun:
        _check_session(session, self.prefixes)
        if self.prefixes == "all":
            return _PaperRun(session)
        data, _ = session.table.binned
        # Without encoded categories all permutations have the same table.
        variants = session.table.variants or [data] * max(1, int(self.permutations) - 1)
        numbers = range(1, int(self.permutations)) if self.permutations > 1 else [0]
        return _OrderedRun(session, [data, *variants], list(numbers))


def _check_session(session: Session, prefixes: str) -> None:
    """Refuse what ordered boosting does not support, and say why."""
    if session.settings.loss.location is not None:
        raise ParameterError(
            "booster='ordered': models of prefixes update leaf values by sums, row by row, and the "
            "leaves of this loss are medians or quantiles, not sums; use another loss, or "
            "booster='plain'"
        )
    if prefixes != "all":
        return
    n_rows = session.rows.train.size
    if n_rows > _MOST_ROWS:
        raise ParameterError(
            f"Ordered(prefixes='all'): a round grows a tree for each of {n_rows} rows, and at most "
            f"{_MOST_ROWS} are supported; use prefixes='log'"
        )


class _OrderedRun(PermutedRun):
    """In permutations that choose splits, models of earlier rows score each row.

    ``numbers`` are the numbers of these permutations.
    """

    def __init__(self, session: Session, tables: list[BinnedData], numbers: list[int]) -> None:
        super().__init__(session, tables)
        self._order_numbers = numbers

    @lazy
    def _models(self) -> list["PrefixModels"]:
        """The prefix models of each permutation that chooses splits."""
        from sumwise.tree.prefixes import PrefixModels  # only needed here

        session = self.session
        rows, seed = session.rows.train, session.settings.seed
        orders = [permute_rows(rows, seed, number) for number in self._order_numbers]
        raw = session.raw
        return [PrefixModels(session.grower, order, raw, session.team) for order in orders]

    @lazy
    def _targets(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Targets and weights of the entries of these models."""
        target, weight = self.session.rows.target, self.session.rows.weight
        return [
            (target[models.rows], weight[models.rows] if weight.size else weight)
            for models in self._models
        ]

    @lazy
    def _own_gradients(self) -> list[tuple[np.ndarray, np.ndarray]]:
        like = [models.scores for models in self._models]
        return [(np.empty_like(scores), np.empty_like(scores)) for scores in like]

    def _take_gradient(self, loss: Loss, number: int, sample: Sample) -> None:
        if number == 0:  # the others use the gradients of their models
            super()._take_gradient(loss, number, sample)

    def _prepare(self, loss: Loss, sample: Sample) -> None:
        team, rows = self.session.team, self.session.rows
        factor = None
        if sample.seen.size < rows.train.size or sample.factor.size:
            factor = np.zeros(rows.n_rows)  # unseen rows do not count
            factor[sample.seen] = sample.factor if sample.factor.size else 1.0
        for models, own, derivatives in zip(
            self._models, self._targets, self._own_gradients, strict=True
        ):
            target, weight = own
            loss.gradient(team, target, models.scores, weight, *derivatives)
            if factor is not None:
                for values in derivatives:
                    values *= factor[models.rows]

    def _update_scores(
        self, grown: Tree, number: int, output: int, loss: Loss, sample: Sample
    ) -> None:
        gradient, hessian = (values[output] for values in self._own_gradients[number - 1])
        models, scores = self._models[number - 1], self._scores[number][output]
        models.add_values(grown, output, gradient, hessian, scores)


class _PaperRun(BoosterRun):
    """The algorithm of the paper: n models M_1 .. M_n, all of them 0 at first."""

    rounds: Rounds

    def __init__(self, session: Session) -> None:
        session.raw -= session.base_score[:, None]
        session.base_score = np.zeros_like(session.base_score)
        self.session, self.rounds = session, start_rounds(session)
        self._order = permute_rows(session.rows.train, session.settings.seed, 0)
        # The row at position i of the order is scored by the model of the i rows before it.
        self._scores = session.raw.copy()

    def add_round(self, round_idx: int) -> None:
        session, order = self.session, self._order
        session.take_gradient(self._scores)
        for output in range(session.n_outputs):
            gradient, hessian = session.gradient[output], session.hessian[output]
            key = random.make_key(session.settings.seed, random.TREES, self.rounds.n_trees)
            for n_seen in range(1, order.size + 1):
                rows = np.sort(order[:n_seen])
                tree = session.grower.grow_on_gradients(gradient, hessian, rows, key, np.empty(0))
                if n_seen < order.size:
                    following = order[n_seen : n_seen + 1]
                    session.grower.add_to_scores(tree, following, self._scores[output])
            everywhere = np.concatenate([session.rows.train, session.rows.valid])
            session.grower.add_to_scores(tree, everywhere, session.raw[output])
            self.rounds.add(tree)
