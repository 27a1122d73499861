"""Base classes of boosters: a part with parameters, and the run that it starts for a fit."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Protocol

from sumwise.parts import Part
from sumwise.training.rounds import Record, Rounds
from sumwise.training.session import BoostingSettings, Session


class BoosterUser(Protocol):
    """The parameters of an estimator that a booster may refuse."""

    base_score: Any
    columns: Any
    interaction_cst: Any
    monotonic_cst: Any
    sampler: Any


class BoosterRun(ABC):
    """One fit with a booster.

    Attributes
    ----------
    session : Session
        The fit; after each round, ``session.raw`` has the scores of the model. They equal its
        predictions bit for bit in plain boosting and in linear models. ``Dart`` and ``Forest``
        rescale trees, so there they agree up to rounding.
    rounds : Rounds
        The model so far.
    """

    session: Session
    rounds: Record

    @abstractmethod
    def add_round(self, round_idx: int) -> None:
        """Add a round to ``rounds``, and its predictions to ``session.raw``."""


class Booster(Part):
    """A part that defines what a round does."""

    # Whether models consist of trees, which need a binned table.
    grows_trees: ClassVar[bool] = True
    # Whether the trees of a round share their splits: one tree with vector leaves.
    shares_splits: ClassVar[bool] = False
    # Why a fit cannot continue the rounds of another one; empty if it can.
    stands_alone: ClassVar[str] = ""

    def check(self) -> None:
        """Raise ParameterError if a parameter cannot be used."""

    def check_use(self, estimator: BoosterUser) -> None:
        """Raise ParameterError if the booster does not support a parameter of the estimator."""

    def adapt(self, settings: BoostingSettings) -> BoostingSettings:
        """Return the settings of a fit as this booster uses them."""
        return settings

    @property
    def measures_left_out(self) -> bool:
        """Whether the improvement of a round on the rows that it left out is meaningful."""
        return True

    def start(self, session: Session) -> BoosterRun:
        """Start a fit."""
        raise NotImplementedError


def start_rounds(session: Session, trees_per_round: int = 1, stages: str = "sum") -> Rounds:
    """Return the rounds of a fit that grows trees, starting with those of the past."""
    past: Any = session.past.ensemble if session.past else None
    link, n_features = session.settings.loss.link, session.table.n_features
    return Rounds(session.base_score, link, n_features, past, trees_per_round, stages)
