"""From the parameter ``device`` to devices, and what they cannot do."""

import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from sumwise.errors import ParameterError
from sumwise.estimators.boosting.boosters import resolve_booster, resolve_sampler
from sumwise.estimators.boosting.parameters import BoostingParameters
from sumwise.estimators.input.parameters import refuse
from sumwise.sampling import Mvs
from sumwise.training.boosters import Linear, Ordered

if TYPE_CHECKING:
    from sumwise.cuda.runtime.device import Device

CPU = "cpu"
_CUDA = re.compile(r"cuda(:\d+(,\d+)*)?")


def is_on_device(params: BoostingParameters) -> bool:
    """Whether another device than the CPU is asked for."""
    return params.device != CPU


def check_device(params: BoostingParameters) -> None:
    """Refuse a device of unknown name, and parameters that only the CPU can serve."""
    if isinstance(params.device, str) and params.device == CPU:
        return
    if not isinstance(params.device, str) or not _CUDA.fullmatch(params.device):
        refuse(params, "device", "must be 'cpu', 'cuda', 'cuda:0' or, for several, 'cuda:0,1'")
    for name, value in _list_unsupported(params):
        raise ParameterError(
            f"{type(params).__name__}: device={params.device!r} does not support {name}={value!r}; "
            "device='cpu' gives the same model as a GPU would"
        )


def _list_unsupported(params: BoostingParameters) -> Iterator[tuple[str, Any]]:
    """Yield what a GPU cannot do yet, as pairs of parameter and value."""
    booster, sampler = resolve_booster(params), resolve_sampler(params)
    if isinstance(booster, (Linear, Ordered)):
        yield "booster", params.booster
    if isinstance(sampler, Mvs):
        yield "sampler", params.sampler
    if params.splits != "histogram":
        yield "splits", params.splits
    if params.leaves != "constant":
        yield "leaves", params.leaves
    if getattr(params, "multi_strategy", "") == "multi_output_tree":
        yield "multi_strategy", "multi_output_tree"


def refuse_many_bins(params: BoostingParameters, n_bins: np.ndarray) -> None:
    """Refuse features that need more than a byte: many bins, or many categories."""
    wide = np.flatnonzero(n_bins > 255)
    if wide.size:
        raise ParameterError(
            f"{type(params).__name__}: feature {wide[0]} has {n_bins[wide[0]]} bins, and "
            f"device={params.device!r} has at most 255; lower max_bins, encode its categories by "
            "categorical_encoding='target', or use device='cpu'"
        )


@contextmanager
def open_devices(params: BoostingParameters) -> Iterator[Sequence["Device"]]:
    """Open the devices of a fit, none for the CPU; close them whatever happens."""
    if not is_on_device(params):
        yield ()
        return
    from sumwise.cuda.runtime import choosing  # needs a driver

    with ExitStack() as stack:
        yield [stack.enter_context(device) for device in choosing.open_devices(params.device)]
