"""Operations on the numbers of a row are those of NumPy."""

import numpy as np
import pytest

from sumwise.combine.median import weighted_median
from sumwise.kernels.predict import row_operations as operations

ODD = [0.0, -0.0, 1.0, -1.0, 5e-324, np.inf, -np.inf, np.nan]


def draw(seed, size):
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.normal(size=size).round(1), rng.choice(ODD, size)])


@pytest.mark.parametrize("seed", range(10))
def test_sort(seed):
    numbers = draw(seed, seed)
    out = np.empty_like(numbers)
    operations._sort.py_func(numbers, out)
    np.testing.assert_array_equal(out, np.sort(numbers))


@pytest.mark.parametrize("seed", range(10))
def test_find_largest(seed):
    numbers = draw(seed, 1 + seed // 3)
    for own in (numbers, numbers[~np.isnan(numbers)]):
        assert operations._find_largest.py_func(own) == own.argmax()


@pytest.mark.parametrize("seed", range(10))
def test_find_median(seed):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 4, 1 + seed).astype(float)
    weights = rng.integers(0, 3, 1 + seed).astype(float)
    found = operations._find_median.py_func(values, weights, np.empty_like(values))
    assert found == weighted_median(values[:, None], weights)[0]


def test_interpolate():
    x, y = np.array([-1.0, 0.0, 0.25, 2.0]), np.array([0.0, 0.5, 0.5, -3.0])
    for at in (*x, *np.linspace(-2, 3, 23), np.inf, -np.inf, np.nan):
        np.testing.assert_equal(operations._interpolate.py_func(at, x, y), np.interp(at, x, y))


@pytest.mark.parametrize(
    ("numbers", "shares"),
    [([1.0, 3.0], [0.25, 0.75]), ([-1.0, 2.0], [0.0, 1.0]), ([0.0, -2.0], [0.5, 0.5])],
)
def test_share(numbers, shares):
    out = np.empty(2)
    operations._share.py_func(np.array(numbers), out)
    assert out.tolist() == shares
