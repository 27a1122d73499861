"""What the type of the constraints decides; tests/tree/test_grower.py judges what they do."""

import pytest

from sumwise.kernels.grow import constraints
from sumwise.kernels.grow.constraints import Constraints, Unconstrained

NAMES = ["node_score", "split_gain", "fill_gains", "best_split", "best_packed_split"]
NAMES += ["child_value", "note_children", "restrict_features", "constrain_values", "clip_value"]


@pytest.mark.parametrize("name", NAMES)
def test_not_for_python(name):
    with pytest.raises(TypeError, match=f"{name} is called from kernels only"):
        getattr(constraints, name)(None, None, None)


def test_no_constraints_take_no_room():
    assert Unconstrained() == ()
    assert "direction" in Constraints._fields
