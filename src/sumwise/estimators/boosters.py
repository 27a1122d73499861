"""From the parameters ``booster`` and ``sampler`` to parts."""

from typing import Any

from sumwise.errors import ParameterError
from sumwise.estimators.parameters import resolve_part
from sumwise.sampling import RowSampler, Subsample
from sumwise.training.boosters import Booster, Plain

BOOSTERS: tuple[type[Booster], ...] = (Plain,)
SAMPLERS: tuple[type[RowSampler], ...] = (Subsample,)


def resolve_booster(estimator: Any) -> Booster:
    """Return the checked part that ``booster`` stands for."""
    part = resolve_part(estimator, "booster", BOOSTERS, names=True)
    if part is None:
        names = ", ".join(repr(kind.__name__.lower()) for kind in BOOSTERS)
        raise ParameterError(
            f"{type(estimator).__name__}: booster=None; must be one of {names} or a part"
        )
    part.check_use(estimator)
    return part
