"""From the parameter ``device`` to devices, and what they cannot do.

A GPU gives the model of the CPU, byte for byte, or an error that names what it cannot do: nothing
falls back to the CPU in silence.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from sumwise.data.thresholds import MAX_BINS
from sumwise.errors import ParameterError
from sumwise.estimators.boosting.boosters import resolve_booster, resolve_sampler
from sumwise.estimators.boosting.multi_target import MULTI_OUTPUT_TREE
from sumwise.estimators.boosting.parameters import BoostingParameters
from sumwise.estimators.input.by_feature import list_items
from sumwise.parts import is_number
from sumwise.sampling import (
    BayesianBootstrap,
    ClassSubsample,
    Goss,
    GroupSubsample,
    Subsample,
)
from sumwise.training.boosters import Linear, Ordered

if TYPE_CHECKING:
    from sumwise.cuda.runtime.device import Device

CPU = "cpu"
# Samplers that have kernels for devices; a class derived from them may draw in a way of its own.
_SAMPLERS = (BayesianBootstrap, ClassSubsample, Goss, GroupSubsample, Subsample)


def is_on_device(params: BoostingParameters) -> bool:
    """Whether another device than the CPU is asked for."""
    return not isinstance(params.device, str) or params.device != CPU


def check_device(params: BoostingParameters) -> None:
    """Refuse a malformed device, and parameters that only the CPU can serve.

    Neither data nor a GPU is needed for it.
    """
    if not is_on_device(params):
        return
    from sumwise.cuda.runtime.choosing import parse_devices  # only needed here

    owner = type(params).__name__
    try:
        parse_devices(params.device)
    except ParameterError as error:
        raise ParameterError(f"{owner}: {error}") from None
    for name in _list_unsupported(params):
        raise ParameterError(
            f"{owner}: {name}={getattr(params, name)!r} is not available with "
            f"device={params.device!r}; use device='cpu'"
        )


def _list_unsupported(params: BoostingParameters) -> Iterator[str]:
    """Yield the parameters that a GPU cannot serve."""
    if isinstance(resolve_booster(params), (Linear, Ordered)):
        yield "booster"
    sampler = resolve_sampler(params)
    if sampler is not None and type(sampler) not in _SAMPLERS:
        yield "sampler"
    if params.splits != "histogram":
        yield "splits"
    if params.leaves != "constant":
        yield "leaves"
    if getattr(params, "multi_strategy", None) == MULTI_OUTPUT_TREE:
        yield "multi_strategy"
    if any(is_number(own) and own > MAX_BINS for own in list_max_bins(params.max_bins)):
        yield "max_bins"


def list_max_bins(max_bins: Any) -> list[Any]:
    """Return the numbers of a parameter that is one, or has one for each feature."""
    if isinstance(max_bins, Mapping):
        return list(max_bins.values())
    return list_items(max_bins) or [max_bins]


@contextmanager
def open_devices(params: BoostingParameters) -> Iterator[Sequence["Device"]]:
    """Open the devices of a fit, none for the CPU; close them whatever happens.

    This frees all memory that a fit has taken there.
    """
    if not is_on_device(params):
        yield ()
        return
    from sumwise.cuda.runtime import choosing  # needs a driver

    with ExitStack() as stack:
        yield [stack.enter_context(device) for device in choosing.open_devices(params.device)]
