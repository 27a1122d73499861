"""ShallowGrower: trees of few levels on one binned table, for row weights that change."""

from collections.abc import Callable

import numpy as np

from sumwise.data.binning import BinMapper
from sumwise.errors import ParameterError
from sumwise.kernels.adaboost import shallow as kernels
from sumwise.kernels.adaboost.reweight import look_up
from sumwise.kernels.runtime.threads import Team
from sumwise.tree.tree import Tree

# A level's histograms grow with 2**depth.
MAX_SHALLOW_DEPTH = 8
_MOST_BYTES = 1 << 30
_ROWS_FOR_ALL = 1 << 16
# Squares of numbers between these are far from the ends of float64.
_SMALLEST, _LARGEST = 1e-140, 1e140


def choose_run(team: Team, n_rows: int) -> Callable[..., None]:
    """Return how to run kernels with little work per row: one thread is faster for few rows."""
    return team.run if n_rows >= _ROWS_FOR_ALL else team.run_alone


class ShallowGrower:
    """Grows trees by weighted Gini impurity, or by weighted squared error.

    Parameters
    ----------
    columns : ndarray of uint8, shape (n_columns, n_rows)
        Bins of numeric features.
    features : ndarray of int64, shape (n_columns,)
        The feature of each column.
    mapper : BinMapper
        The source of the bins, and of the thresholds of finished trees.
    max_depth : int
        Levels of splits, from 1 to ``MAX_SHALLOW_DEPTH``.
    team : Team
    target : ndarray of shape (n_rows,)
        Class indices, or numbers.
    n_classes : int
        0 for numbers.
    """

    def __init__(
        self,
        columns: np.ndarray,
        features: np.ndarray,
        mapper: BinMapper,
        max_depth: int,
        team: Team,
        target: np.ndarray,
        n_classes: int = 0,
    ) -> None:
        n_threads, n_rows = team.n_threads, columns.shape[1]
        self._team, self._max_depth, self._n_classes = team, max_depth, n_classes
        self._columns, self._features = columns, features
        self._n_value_bins = mapper.count_bins()[features]
        self._run_rows = choose_run(team, n_rows)
        self._usable = np.flatnonzero(columns.min(axis=1) < columns.max(axis=1))
        self._n_bins = int(self._n_value_bins[self._usable].max(initial=0)) + 1
        self._thresholds, self._threshold_start = mapper.flatten()
        # Centered and scaled to [-1, 1], so that sums of moments cannot overflow.
        self._center = 0.0 if n_classes else float(target.mean())
        self._spread = 1.0 if n_classes else float(np.abs(target - self._center).max()) or 1.0
        self._class_idx = (target if n_classes else np.zeros(n_rows)).astype(np.uint16)
        self._value = np.empty(0) if n_classes else (target - self._center) / self._spread
        n_stats = n_classes or 2
        n_slots, n_nodes = 1 << (max_depth - 1), (2 << max_depth) - 1
        length = (n_slots + 1) * n_stats * self._n_bins
        n_bytes = 8 * kernels.FEATURES_TOGETHER * n_threads * length
        if n_bytes > _MOST_BYTES:
            raise ParameterError(
                f"trees of depth {max_depth} and {n_classes} classes would need "
                f"{n_bytes / 2**30:.1f} GiB for histograms; lower max_depth"
            )
        self._work = kernels.ShallowWork(
            control=np.zeros(kernels.CONTROL_LENGTH, dtype=np.int64),
            weight=np.empty(n_rows, dtype=np.int64),
            moment=np.empty(0 if n_classes else n_rows, dtype=np.int64),
            base=np.empty(n_rows, dtype=np.uint32),
            node=np.empty(n_rows, dtype=np.uint16),
            histograms=np.empty((n_threads, kernels.FEATURES_TOGETHER, length), dtype=np.int64),
            left=np.empty((n_threads, n_slots + 1, n_stats), dtype=np.int64),
            best=np.zeros((n_threads, n_slots), dtype=kernels.BEST_SPLIT),
            sums=np.empty((n_threads, n_stats), dtype=np.int64),
            totals=np.empty((n_nodes, n_stats), dtype=np.int64),
            count=np.empty((n_threads, n_nodes), dtype=np.int64),
            slot=np.empty(n_nodes, dtype=np.int64),
            active=np.empty(n_slots, dtype=np.int64),
        )
        self._nodes = kernels.ShallowNodes(
            feature=np.empty(n_nodes, dtype=np.int32),
            split_bin=np.empty(n_nodes, dtype=np.uint8),
            missing_left=np.empty(n_nodes, dtype=np.uint8),
            left=np.empty(n_nodes, dtype=np.int32),
            gain=np.empty(n_nodes),
        )

    def grow(self, weight: np.ndarray) -> Tree:
        """Grow a tree with row weights that sum to 1 or less.

        Values are the shares of the classes, or means. Gains are decreases of the weighted
        impurity.
        """
        work, nodes = self._work, self._nodes
        n_stats = work.totals.shape[1]
        target = kernels.ShallowTarget(self._class_idx, self._value, weight, n_stats)
        self._team.run(
            kernels.grow_shallow_tree,
            self._columns,
            self._n_value_bins,
            self._usable,
            target,
            self._n_bins,
            self._max_depth,
            work,
            nodes,
        )
        n = int(work.control[kernels.N_NODES])
        totals = work.totals[:n]
        column, split_bin = nodes.feature[:n], nodes.split_bin[:n].copy()
        feature = np.full(n, -1, dtype=np.int32)
        feature[column >= 0] = self._features[column[column >= 0]]
        weights = totals.sum(axis=1) if self._n_classes else totals[:, 0]
        if self._n_classes:
            value, scale = totals / weights[:, np.newaxis], 1.0
        else:
            value = self._center + self._spread * (totals[:, 1:] / totals[:, :1])
            # If the square is not representable, gains stay relative to the spread.
            scale = self._spread**2 if _SMALLEST < self._spread < _LARGEST else 1.0
        return Tree(
            feature=feature,
            threshold=self._thresholds[self._threshold_start[feature] + split_bin],
            split_bin=split_bin,
            missing_left=nodes.missing_left[:n].copy(),
            left=nodes.left[:n].copy(),
            value=value,
            gain=nodes.gain[:n] * (scale / kernels.UNITS),
            n_rows=work.count[:, :n].sum(axis=0),
            weight=weights / kernels.UNITS,
        )

    def predict_rows(self, values: np.ndarray, out: np.ndarray) -> None:
        """Write the value of the leaf that each row of the table has in the last tree."""
        self._run_rows(look_up, self._work.node, values, out)
