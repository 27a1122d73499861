"""The one rule for missing values that a node has not seen."""

from sumwise.kernels.grow.missing import follows_larger
from sumwise.kernels.runtime.jit import kernel


@kernel
def run(n_left, n_rows):
    return follows_larger(n_left, n_rows)


def test_with_the_larger_child_left_if_equal():
    assert run(3, 5)
    assert not run(2, 5)
    assert run(2, 4)
