"""Codes of values, against counting the thresholds below them."""

import numpy as np
import pytest

from sumwise.kernels.predict.blocks import BLOCK
from sumwise.kernels.predict.coding import CodeColumns, code_rows, make_coder, round_down
from sumwise.kernels.runtime.threads import SYNC_LENGTH
from tests.naive.trees import MAX, SPECIAL

FLOATS = [np.float32, np.float64]
pytestmark = pytest.mark.filterwarnings("error")


def count_below(values, thresholds):
    """The naive codes of a column; float32 and float64 compare exactly as Python floats do."""
    return [
        0 if np.isnan(value) else 1 + sum(threshold < value for threshold in thresholds)
        for value in values.tolist()
    ]


def code_together(codes, values, *arguments, n_threads=1):
    """Call the kernel for all threads, one after the other."""
    shape, sync = (n_threads, BLOCK), np.zeros(SYNC_LENGTH, dtype=np.int64)
    scratch = np.zeros(shape, dtype=values.dtype), np.empty(shape, dtype=np.int32)
    for thread in range(n_threads):
        code_rows(thread, n_threads, sync, values, *arguments, *scratch, codes)


def code(X, thresholds_by_column, features):
    """The codes of a matrix, one column after the other."""
    sizes = [len(thresholds) for thresholds in thresholds_by_column]
    columns = CodeColumns(
        feature=np.array(features),
        threshold=np.concatenate(thresholds_by_column).astype(np.float64),
        start=np.concatenate(([0], np.cumsum(sizes))),
    )
    n_rows = X.shape[0]
    values = X.ravel(order="K")
    strides = (X.shape[1], 1) if X.flags.c_contiguous else (1, n_rows)
    codes = np.full((-(-n_rows // BLOCK), len(features), BLOCK), 77, dtype=np.uint8)
    code_together(codes, values, *strides, 0, n_rows, make_coder(columns, X.dtype))
    return codes.transpose(1, 0, 2).reshape(len(features), -1)[:, :n_rows]


def values_around(thresholds, kind):
    """Thresholds as floats of a type, their neighbors, and what is no number."""
    with np.errstate(over="ignore"):
        values = np.array([*thresholds, *SPECIAL, 0.3], dtype=kind)
        low, high = (np.nextafter(values, kind(end)) for end in (-np.inf, np.inf))
    return np.concatenate([values, low, high, np.array([np.nan, -np.nan], dtype=kind)])


rng = np.random.default_rng(0)
THRESHOLDS = {
    "none": np.empty(0),
    "one": np.array([0.5]),
    "only inf": np.array([np.inf]),
    "only -inf": np.array([-np.inf]),
    "both ends": np.array([-np.inf, np.inf]),
    "special": np.unique(SPECIAL),
    "the whole range": np.concatenate(([-MAX], np.arange(30), [MAX])),
    "32 for comparing": np.arange(32.0),
    "33 for a search": np.arange(33.0),
    "even": np.linspace(-1, 1, 254),
    "normal": np.sort(rng.normal(size=200)),
    "heavy tail": np.sort(rng.pareto(0.3, 254)),
    "all but one far away": np.concatenate((np.linspace(0, 1, 100), [1e30])),
    "denormal": np.arange(40) * 5e-324,
    "closer than float32": 1 + np.arange(50) * 1e-14,
    "from -inf": np.concatenate(([-np.inf], np.linspace(3, 4, 60))),
    "to inf": np.concatenate((np.linspace(-4, -3, 60), [np.inf])),
}


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("thresholds", THRESHOLDS.values(), ids=THRESHOLDS)
def test_codes_count_the_thresholds_below(thresholds, kind):
    values = values_around(thresholds, kind)
    assert code(values[:, None], [thresholds], [0])[0].tolist() == count_below(values, thresholds)


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("n_rows", [1, 255, 256, 257, 700])
def test_blocks_and_layouts(n_rows, order, kind):
    X = np.asarray(rng.normal(size=(n_rows, 3)).astype(kind), order=order)
    features = [2, 0, 2]
    thresholds = [np.sort(rng.normal(size=n)) for n in (5, 90, 30)]
    found = code(X, thresholds, features)
    expected = [count_below(X[:, f], t) for f, t in zip(features, thresholds, strict=True)]
    assert found.tolist() == expected


@pytest.mark.parametrize("n_threads", [1, 2, 3])
def test_rows_from_the_middle(n_threads):
    X = rng.normal(size=(1000, 1))
    thresholds = np.sort(rng.normal(size=50))
    columns = CodeColumns(np.array([0]), thresholds, np.array([0, 50]))
    codes = np.full((3, 1, BLOCK), 77, dtype=np.uint8)
    coder = make_coder(columns, X.dtype)
    code_together(codes, X.ravel(), 1, 1, 300, 700, coder, n_threads=n_threads)
    assert codes[:2].ravel()[:400].tolist() == count_below(X[300:700, 0], thresholds)
    assert (codes[2] == 77).all()


def test_thresholds_rounded_down_compare_alike():
    thresholds = np.concatenate((SPECIAL, rng.normal(size=100), 10.0 ** rng.integers(-50, 50, 100)))
    rounded = round_down(thresholds, np.dtype(np.float32))
    assert rounded.dtype == np.float32
    for value in values_around(thresholds, np.float32):
        assert ((value <= rounded) == (float(value) <= thresholds)).all()
    assert round_down(thresholds, np.dtype(np.float64)).tolist() == thresholds.tolist()
