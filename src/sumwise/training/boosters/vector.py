"""Vector leaves: every round adds one tree that serves all outputs."""

from sumwise.training.boosters.base import Booster, BoosterRun, start_rounds
from sumwise.training.rounds import Rounds
from sumwise.training.session import Session


class VectorLeaves(Booster):
    """Plain boosting with one tree per round; its leaves hold a value for every output.

    Users choose it by ``multi_strategy``. The model has one tree per output and round, as with
    :class:`Plain`; the trees of a round have the same splits.
    """

    shares_splits = True

    def start(self, session: Session) -> BoosterRun:
        return _VectorRun(session)


class _VectorRun(BoosterRun):
    rounds: Rounds

    def __init__(self, session: Session) -> None:
        self.session = session
        self.rounds = start_rounds(session)

    def add_round(self, round_idx: int) -> None:
        session = self.session
        loss = session.take_gradient(session.raw)
        sample = session.draw_rows(round_idx)
        session.begin_left_out(sample, session.raw)
        for tree in session.grow_vector_tree(loss, self.rounds.n_trees, sample, session.raw):
            self.rounds.add(tree)
