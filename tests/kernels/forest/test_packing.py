"""Packed counts: trees do not depend on whether classes are counted in words or in floats."""

import numpy as np
import pytest

from sumwise.data.binning import BinMapper
from sumwise.kernels.forest.many_outputs import Labels
from sumwise.kernels.forest.one_output import Numbers
from sumwise.kernels.runtime import random
from sumwise.kernels.runtime.threads import Team
from sumwise.tree import forest_grower
from sumwise.tree.forest_grower import ForestGrower, ForestSettings
from sumwise.tree.forest_table import RowTable


def grow(X, label, n_classes, weight, random_cuts):
    settings = ForestSettings(is_class=True, n_drawn=3, random_cuts=random_cuts)
    target = Numbers(label.astype(float)) if n_classes == 2 else Labels(label)
    with Team(1) as team:
        table = RowTable.from_matrix(X, BinMapper.fit(X, team=team), team)
    n_columns = 1 if n_classes == 2 else n_classes
    grower = ForestGrower(table, target, n_columns, settings)
    trees = []
    for number in range(3):
        grower.weight[:] = weight
        trees.append(grower.grow(random.make_key(0, random.TREES, number)))
    return trees


@pytest.mark.parametrize("random_cuts", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3, 4, 5, 13, 32, 33, 50])
@pytest.mark.parametrize("largest", [3, 300, 70_000])
def test_trees_are_those_of_floats(n_classes, random_cuts, largest, monkeypatch):
    rng = np.random.default_rng(n_classes)
    n_rows = 2500
    X = np.column_stack(
        [
            rng.normal(size=n_rows),
            rng.integers(0, 3, n_rows),
            rng.normal(size=n_rows).round(1),
            rng.integers(0, 2, n_rows),
        ]
    )
    label = rng.integers(0, n_classes, n_rows)
    label[: n_rows // 2] = (X[: n_rows // 2, 2] > 0) & (X[: n_rows // 2, 3] > 0)
    weight = rng.integers(0, largest, n_rows).astype(float)
    if largest == 70_000:  # the sums must stay exact
        weight[rng.random(n_rows) < 0.7] = 0.0
    own = (X, label, n_classes, weight, random_cuts)
    packed = grow(*own)
    monkeypatch.setattr(forest_grower, "sums_exactly", lambda settings, weight: False)
    for tree, other in zip(packed, grow(*own), strict=True):
        for name, value in vars(tree).items():
            assert np.array_equal(value, getattr(other, name)), name
