"""The sequence of kernels: how many families a step has, and where devices meet."""

import pytest

from sumwise.kernels.grow import layout
from sumwise.tree.cuda_sequence import MEET, list_begin, list_end, list_steps


def test_levels_have_as_many_families_as_they_may():
    launches = list_steps(layout.LEVEL_WISE, 5, 0, 5)
    n_families = [launch[1] for launch in launches if launch[0] == "score_nodes"]
    assert n_families == [1, 1, 2, 4, 5]


@pytest.mark.parametrize("growth", [layout.LEAF_WISE, layout.LEVEL_WISE, layout.SYMMETRIC])
def test_devices_meet_before_and_after_histograms_are_built(growth):
    assert list_begin()[-2:] == [("build_histograms",), MEET]
    assert list_steps(growth, 4, 3, 4)[-4:] == [
        MEET,
        ("partition_rows",),
        ("build_histograms",),
        MEET,
    ]


def test_values_that_are_not_final_are_not_added():
    assert list_end(True) == [*list_end(False), ("add_leaf_values",)]
