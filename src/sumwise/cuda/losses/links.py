"""Links on a device: from raw scores to means, probabilities and classes."""

import numpy as np

from sumwise.cuda.runtime.arrays import DeviceArray
from sumwise.cuda.runtime.program import Program
from sumwise.cuda.runtime.structs import make_header
from sumwise.cuda.runtime.team import DeviceTeam

LINKS = Program("links", ("losses/links.cu",), make_header())

# Kernels that treat every score alike, and their factors.
_POINTWISE = {
    "log": ("exponential", (1.0,)),
    "log1p": ("exponential_less_one", ()),
    "sigmoid": ("sigmoid", (1.0,)),
}
_TWO_CLASSES = {"logistic": 1.0, "half_logistic": 2.0}
_BY_ROW = {"softmax": "softmax", "sorted": "sort_scores"}


def apply_link(link: str, raw: DeviceArray) -> DeviceArray:
    """Return means (n_rows, n_outputs), or probabilities (n_rows, n_classes), of raw scores."""
    if link == "identity":
        return raw
    team, device = DeviceTeam(raw.device), raw.device
    n_rows, n_outputs = raw.shape
    if link in _TWO_CLASSES:
        out = device.allocate((n_rows, 2), np.float64)
        team.launch(LINKS, "two_sigmoids", n_rows, raw, _TWO_CLASSES[link], n_rows, out)
        return out
    out = device.allocate(raw.shape, np.float64)
    if link in _BY_ROW:
        team.launch(LINKS, _BY_ROW[link], n_rows, raw, n_outputs, n_rows, out)
    else:
        name, factor = _POINTWISE[link]
        team.launch(LINKS, name, raw.size, raw, *factor, raw.size, out)
    return out


def find_classes(raw: DeviceArray) -> DeviceArray:
    """Return the index of the most probable class of each row, int64."""
    n_rows, n_outputs = raw.shape
    out = raw.device.allocate(n_rows, np.int64)
    DeviceTeam(raw.device).launch(LINKS, "find_highest", n_rows, raw, n_outputs, n_rows, out)
    return out
