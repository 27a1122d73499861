"""Sums over the rows of all peers: the bits that one process finds which has all the rows.

Each sum takes two messages. The first has the number of rows and the largest magnitudes, which give
the scale; the second has the integers under it. A process without rows adds nothing. An empty
weight stands for weights of one; so a process whose rows have none agrees with the others.
"""

from collections.abc import Sequence

import numpy as np

from sumwise.kernels.losses import peer_sums as kernels
from sumwise.kernels.runtime.threads import Team
from sumwise.peers import ALONE, Peers

# For at most this many rows, one thread is faster than starting others.
_FEW_ROWS = 50_000
NO_WEIGHT = np.empty(0)


def add_products(
    products: Sequence[tuple[np.ndarray, np.ndarray]], peers: Peers, team: Team | None = None
) -> list[float]:
    """Return the sums of pairs of values and weights; nan if a product is not finite.

    All pairs have the same number of rows. Values are uint8 or float64.
    """
    n_rows = products[0][0].size
    n_threads = team.n_threads if team is not None and n_rows > _FEW_ROWS else 1
    run = team.run if team is not None and n_threads > 1 else Team(1).run_alone
    largest = np.empty((len(products), n_threads))
    totals = np.empty((len(products), n_threads), dtype=np.int64)
    for (values, weight), found in zip(products, largest, strict=True):
        run(kernels.measure_products, values, weight, found)
    scales = _agree_on_scales(n_rows, largest.max(axis=1), peers)
    for (values, weight), scale, found in zip(products, scales, totals, strict=True):
        run(kernels.sum_products, values, weight, scale, found)
    return _add_totals(totals.sum(axis=1), scales, peers)


def add_weights(
    n_classes: int, classes: np.ndarray, weight: np.ndarray, peers: Peers = ALONE
) -> tuple[np.ndarray, float]:
    """Return the sum of the weights of each class, and of all; nan if a weight is not finite.

    The scale of a class follows its largest weight: classes of low weights are as precise.
    """
    kind = classes.dtype if classes.dtype in (np.uint8, np.float64) else np.int64
    classes = np.ascontiguousarray(classes, dtype=kind)
    weight = np.ascontiguousarray(weight, dtype=np.float64)
    largest, totals = np.zeros(n_classes + 1), np.zeros(n_classes + 1, dtype=np.int64)
    if kernels.measure_classes(classes, weight, largest) != 0.0:
        largest[:] = np.inf
    scales = _agree_on_scales(classes.size, largest, peers)
    kernels.sum_classes(classes, weight, np.array(scales), totals)
    *of_class, of_all = _add_totals(totals, scales, peers)
    return np.array(of_class), of_all


def _agree_on_scales(n_rows: int, largest: np.ndarray, peers: Peers) -> list[float]:
    """Return the scales of sums over all peers' rows; nan where a value is not finite."""
    # One message instead of one for a sum and one for maxima.
    known = np.stack(peers.gather(np.concatenate([[n_rows], largest])))
    n_all = int(known[:, 0].sum())
    highest = known[:, 1:].max(axis=0).tolist()
    return [kernels.find_scale(high, n_all) if high < np.inf else np.nan for high in highest]


def _add_totals(totals: np.ndarray, scales: Sequence[float], peers: Peers) -> list[float]:
    """Return the sums of all peers' integers under their scales."""
    peers.add(totals)
    return [total / scale for total, scale in zip(totals.tolist(), scales, strict=True)]
