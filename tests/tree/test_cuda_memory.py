"""How much memory trees need on a device, and how their results are read."""

from dataclasses import replace

import numpy as np
import pytest

from sumwise.sampling import Columns
from sumwise.tree import GrowthSettings
from sumwise.tree.cuda_memory import Sizes, count_bytes


@pytest.mark.parametrize(
    ("settings", "sizes"),
    [
        # The last split needs no histograms. Guesses wait for their turn.
        (GrowthSettings(max_leaves=31), (61, 62, 5, 30, 31, 125)),
        (GrowthSettings(max_leaves=300), (599, 299, 1, 299, 0, 599)),
        (GrowthSettings(max_leaves=2), (3, 1, 1, 1, 0, 3)),
        # Nodes of depth 5 have histograms, and those of depth 4 families.
        (GrowthSettings("depth", max_depth=6), (127, 32, 16, 6, 0, 127)),
        (GrowthSettings("depth", max_depth=1), (3, 1, 1, 1, 0, 3)),
        (GrowthSettings("symmetric", max_depth=6), (127, 32, 16, 6, 0, 127)),
        (GrowthSettings("depth", max_leaves=100), (199, 99, 50, 99, 0, 199)),
        (GrowthSettings("depth", max_leaves=10), (19, 9, 5, 9, 0, 19)),
    ],
)
def test_sizes(settings, sizes):
    options = settings.make_options(Columns(), 100_000, 4)
    assert tuple(Sizes.find(options, 100_000)) == (100_000, *sizes)


def test_what_is_drawn_for_nodes_cannot_be_guessed():
    settings = GrowthSettings(max_leaves=31)
    for columns in (Columns(by_level=0.5), Columns(by_node=0.5)):
        options = settings.make_options(columns, 1000, 4)
        assert Sizes.find(options, 1000).n_guesses == 0
    options = replace(settings, extra_trees=True).make_options(Columns(), 1000, 4)
    assert Sizes.find(options, 1000).n_guesses == 0


def test_guesses_take_limited_memory():
    options = GrowthSettings(max_leaves=31).make_options(Columns(), 1000, 4)
    assert Sizes.find(options, 1000, (1 << 27) // 31).n_guesses == 31
    assert Sizes.find(options, 1000, 1 << 27).n_guesses == 0


def test_bytes():
    assert count_bytes({"a": ((2, 3), np.int32), "b": (5, np.float64)}) == 64
