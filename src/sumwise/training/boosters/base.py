"""What a booster is: a part with parameters, and the run that it starts for a fit."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from sumwise.parts import Part
from sumwise.training.rounds import Record, Rounds
from sumwise.training.session import BoostingSettings, Session


class BoosterRun(ABC):
    """A booster at work on one fit.

    Attributes
    ----------
    session : Session
        The fit; after each round, ``session.raw`` has the scores of the model.
    rounds : Rounds
        The model so far.
    """

    session: Session
    rounds: Record

    @abstractmethod
    def add_round(self, round_idx: int) -> None:
        """Add a round to ``rounds``, and what it predicts to ``session.raw``."""


class Booster(Part):
    """A part that says what a round does."""

    # Whether models are made of trees, which need a binned table.
    grows_trees: ClassVar[bool] = True
    # Whether the trees of a round have the same splits: one tree with vector leaves.
    shares_splits: ClassVar[bool] = False
    # Why a fit cannot go on from the rounds of another one; empty if it can.
    stands_alone: ClassVar[str] = ""

    def check(self) -> None:
        """Raise ParameterError if a parameter cannot be used."""

    def check_use(self, estimator: Any) -> None:
        """Raise ParameterError if another parameter of the estimator cannot be obeyed."""

    def adapt(self, settings: BoostingSettings) -> BoostingSettings:
        """Return the settings of a fit as this booster uses them."""
        return settings

    @property
    def measures_left_out(self) -> bool:
        """Whether the improvement of a round on rows that it left out means something."""
        return True

    def start(self, session: Session) -> BoosterRun:
        """Begin a fit."""
        raise NotImplementedError


def start_rounds(session: Session, trees_per_round: int = 1, stages: str = "sum") -> Rounds:
    """Return the rounds of a fit that grows trees, those of the past included."""
    past: Any = session.past.ensemble if session.past else None
    link, n_features = session.settings.loss.link, session.table.n_features
    return Rounds(session.base_score, link, n_features, past, trees_per_round, stages)
