"""Cross-entropy of probabilities."""

import math

import numpy as np
import pytest

from sumwise.errors import DataError
from sumwise.losses import CrossEntropy

NO_WEIGHT = np.empty(0)


def test_initial_score_is_the_log_odds_of_the_mean():
    target, rows = np.array([0.1, 0.4, 0.7, 1.0]), np.arange(4, dtype=np.uint32)
    start = CrossEntropy().initial_score(target, NO_WEIGHT, rows)
    assert start == pytest.approx([math.log(0.55 / 0.45)])
    best, *others = (
        CrossEntropy().value(target, np.full((1, 4), start + step), NO_WEIGHT, rows)
        for step in (0.0, -0.01, 0.01)
    )
    assert best < min(others)


@pytest.mark.parametrize("bad", [-0.01, 1.01, 5.0])
def test_targets_out_of_range(bad):
    with pytest.raises(DataError, match=r"y\[1\] is .*'cross_entropy' needs probabilities in \[0"):
        CrossEntropy().check_target(np.array([0.5, bad]), NO_WEIGHT)
    CrossEntropy().check_target(np.array([0.5, bad]), np.array([1.0, 0.0]))
