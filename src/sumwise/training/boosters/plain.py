"""Plain boosting: every round adds trees grown on the gradient of the whole model so far."""

from dataclasses import dataclass, replace

from sumwise.parts import check_count
from sumwise.training.boosters.base import Booster, BoosterRun, start_rounds
from sumwise.training.boosters.permuted import PermutedRun
from sumwise.training.rounds import Rounds
from sumwise.training.session import BoostingSettings, Session


@dataclass(eq=False, repr=False)
class Plain(Booster):
    """Each round adds one tree per output, grown on the gradient at the scores so far.

    Parameters
    ----------
    trees_per_round : int, default=1
        Trees per round and output, all on the same gradient, each on its own draw of rows and
        features. Their average is added: boosted forests, as XGBoost's ``num_parallel_tree``.

    Examples
    --------
    >>> from sumwise import Columns, GradientBoostingRegressor, Plain, Subsample
    >>> model = GradientBoostingRegressor(
    ...     booster=Plain(trees_per_round=4), sampler=Subsample(0.6), columns=Columns(by_node=0.6)
    ... )
    """

    trees_per_round: int = 1

    def check(self) -> None:
        check_count(self, "trees_per_round", 1)

    @property
    def measures_left_out(self) -> bool:
        return self.trees_per_round == 1

    def adapt(self, settings: BoostingSettings) -> BoostingSettings:
        n_trees, rates = self.trees_per_round, settings.rates
        growth = replace(settings.growth, learning_rate=settings.growth.learning_rate / n_trees)
        return replace(settings, growth=growth, rates=None if rates is None else rates / n_trees)

    def start(self, session: Session) -> BoosterRun:
        if session.table.variants:
            return PermutedRun(session, session.table.all_tables)
        return _PlainRun(session, self.trees_per_round)


class _PlainRun(BoosterRun):
    rounds: Rounds

    def __init__(self, session: Session, trees_per_round: int) -> None:
        self.session, self._trees_per_round = session, trees_per_round
        self.rounds = start_rounds(session, trees_per_round)

    def add_round(self, round_idx: int) -> None:
        session, n_draws = self.session, self._trees_per_round
        loss = session.take_gradient(session.raw)
        if n_draws > 1:
            derivatives = session.gradient.copy(), session.hessian.copy()
            before = session.raw.copy()
        for draw in range(n_draws):
            if draw > 0:  # they were multiplied by the factors of the last draw
                session.gradient[:], session.hessian[:] = derivatives
            sample = session.draw_rows(n_draws * round_idx + draw)
            session.begin_left_out(sample, session.raw)
            for output, scores in enumerate(session.raw):
                what = (loss, output, self.rounds.n_trees, sample, scores)
                if draw == 0:
                    self.rounds.add(session.grow_tree(*what))
                else:
                    self.rounds.add(session.grow_tree_at(before[output], *what))
