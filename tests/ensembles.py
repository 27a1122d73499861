"""Ensembles drawn at random, without training."""

import numpy as np

from sumwise.tree import TreeEnsemble
from tests.naive.trees import draw_rows, join_trees

N_FEATURES = 4
SHAPES = [
    (1, "random"),
    (2, "random"),
    (6, "random"),
    (8, "symmetric"),
    (7, "left"),
    (12, "random"),
]


def draw_ensemble(seed: int, n_outputs=1, shapes=SHAPES, n_features=N_FEATURES, set_share=0.7):
    """Draw trees with repeated features, sets of categories (feature 3), and nodes of no rows."""
    rng = np.random.default_rng(seed)
    thresholds = np.array([-np.inf, -1.0, -0.0, 5e-324, 0.5, 1.0, 1e300, np.inf])
    trees = join_trees(rng, list(shapes), n_features, n_outputs, thresholds)
    n_nodes = trees.feature.size
    start = np.append(trees.start, n_nodes)
    root = np.repeat(trees.start, np.diff(start))
    left = np.where(trees.left < 0, -1, trees.left - root).astype(np.int32)
    n_rows = np.zeros(n_nodes, dtype=np.int64)
    for node in range(n_nodes - 1, -1, -1):
        child = trees.left[node]
        if child < 0:
            n_rows[node] = rng.integers(1, 30) if rng.random() > 0.2 else 0
        else:
            n_rows[node] = n_rows[child] + n_rows[child + 1]
    by_set = np.flatnonzero((trees.feature == 3) & (rng.random(n_nodes) < set_share))
    sets = [np.flatnonzero(rng.random(5) < 0.5) for _ in by_set]
    ensemble = TreeEnsemble(
        start=start,
        feature=trees.feature,
        missing_left=trees.missing_left,
        left=left,
        gain=np.zeros(n_nodes),
        weight=n_rows.astype(np.float64),
        n_rows=n_rows,
        threshold=np.where(np.isin(np.arange(n_nodes), by_set), 0.0, trees.threshold),
        value=rng.normal(size=n_nodes),
        base_score=rng.normal(size=n_outputs),
        link="identity",
        n_features=n_features,
        set_node=by_set.astype(np.int32),
        set_size=np.array([own.size for own in sets], dtype=np.int32),
        set_categories=np.concatenate([*sets, np.empty(0)]).astype(np.int32),
    )
    X = draw_rows(rng, trees, 9, n_features, np.float64)
    X[:, 3] = rng.choice([0.0, 1.0, 2.0, 3.0, 4.0, 7.0, np.nan], 9)
    return ensemble, X
