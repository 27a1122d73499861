"""The session of a fit whose rows are shared out among processes.

Each process has scores, gradients and samples of its own rows. All processes make the same calls:
what depends on the rows of all of them, they find together.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from sumwise.data.batches.agreement import do_alike
from sumwise.errors import ParameterError
from sumwise.kernels.runtime.threads import Team
from sumwise.losses import CustomLoss, Loss
from sumwise.losses.base import mean_losses
from sumwise.peers import Peers, Shards
from sumwise.sampling import ROW_SAMPLERS, DrawnRows
from sumwise.training.callbacks import RoundState
from sumwise.training.rounds import BoostingResult
from sumwise.training.session import BoostingSettings, Session, TrainingRows, TrainingTable

if TYPE_CHECKING:
    from sumwise.tree import LeafRefitter


class PeerSession(Session):
    """One fit among peers; see :class:`Session`."""

    def __init__(
        self,
        table: TrainingTable,
        rows: TrainingRows,
        settings: BoostingSettings,
        team: Team,
        past: BoostingResult | None,
    ) -> None:
        sampler = settings.sampler
        if sampler is not None and not sampler.works_among_peers:
            names = ", ".join(kind.__name__ for kind in ROW_SAMPLERS if kind.works_among_peers)
            raise ParameterError(
                f"sampler={sampler!r} draws from the rows of a single process only, and here "
                f"several processes have rows; use one of {names}"
            )
        super().__init__(table, rows, settings, team, past)

    @property
    def _peers(self) -> Peers:
        return self.rows.peers

    @property
    def _shards(self) -> Shards:
        assert self.rows.shards is not None
        return self.rows.shards

    def has_finite_scores(self) -> bool:
        """Whether the scores of all processes are finite."""
        is_bad = self.raw.size > 0 and not super().has_finite_scores()
        return not self._peers.largest(np.array([float(is_bad)]))[0]

    def _find_loss(self, raw: np.ndarray, rows: np.ndarray) -> float:
        own, loss, peers = self.rows, self.settings.loss, self._peers
        if not isinstance(loss, CustomLoss):
            return loss.value(own.target, raw, own.weight, rows, peers)
        # The user's method may fail on the rows of one process.
        values = do_alike(peers, lambda: loss.row_values(own.target[rows], raw[:, rows]))
        values = values * own.weight[rows] if own.weight.size else values
        return mean_losses([values], own.weight, rows, peers)[0]

    def _fill_gradient(self, loss: Loss, raw: np.ndarray) -> None:
        if isinstance(loss, CustomLoss):
            do_alike(self._peers, lambda: super(PeerSession, self)._fill_gradient(loss, raw))
        else:
            super()._fill_gradient(loss, raw)

    def _adapt_loss(self, raw: np.ndarray) -> Loss:
        own = self.rows
        return self.settings.loss.at_round(own.target, raw, own.weight, own.train, self._peers)

    def _make_refitter(self, target: np.ndarray, weight: np.ndarray) -> "LeafRefitter":
        from sumwise.tree import LeafRefitter  # few losses need it

        own = (self._own_grower, target, weight, self.rows.train, self.team)
        return LeafRefitter(*own, peers=self._peers)

    def _has_factors(self, drawn: DrawnRows) -> bool:
        # A process from whose rows none are drawn has no factors to show, so all ask the others.
        sampler = self.settings.sampler
        if sampler is None or not sampler.has_factors:
            return False
        has_own = np.array([float(drawn.factor.size > 0)])
        return bool(self._peers.largest(has_own)[0])

    def _count(self, rows: np.ndarray) -> int:
        return self._shards.count(rows)

    def _choose_left_out(self, left_out: np.ndarray, step: int) -> np.ndarray:
        """Return those whose number among the left-out rows of all processes divides by step."""
        if step == 1:
            return left_out
        taken = [
            left_out[own][-first % step :: step] for own, first in self._shards.place(left_out)
        ]
        return np.concatenate([left_out[:0], *taken])

    def tell_callbacks(self, state: RoundState) -> bool:
        """Let the first process call the callbacks; all of them learn whether to stop."""
        return _tell_first(self._peers, lambda: super(PeerSession, self).tell_callbacks(state))


class FeatureSession(Session):
    """One fit among peers that all have all rows, and share the features."""

    def tell_callbacks(self, state: RoundState) -> bool:
        """Let the first process call the callbacks; all of them learn whether to stop."""
        peers = self.settings.parallel.peers
        return _tell_first(peers, lambda: super(FeatureSession, self).tell_callbacks(state))


def _tell_first(peers: Peers, tell: Callable[[], bool]) -> bool:
    """Let the first process ``tell``; return its result on all."""
    stops = peers.rank == 0 and tell()
    return bool(peers.largest(np.array([float(stops)]))[0])
