"""Numbers of labels against numpy.unique."""

from itertools import product

import numpy as np
import pytest

from sumwise.errors import DataError
from sumwise.estimators.input.labels import look_up, number_labels, unite_classes
from sumwise.estimators.input.targets import read_target
from sumwise.kernels.runtime.threads import Team
from sumwise.peers import ALONE
from tests.threaded_peers import run_together

TEAM = Team(3)


@pytest.mark.parametrize(
    "y",
    [
        np.array([3, 1, 3, -2]),
        np.array([-128, 127, 0], dtype=np.int8),
        np.array([2**64 - 1, 2**64 - 3], dtype=np.uint64),
        np.array([2**63 - 1, 2**63 - 4, 2**63 - 1]),
        np.array([-(2**63), 2**63 - 1]),
        np.array([True, False, True]),
        np.array([True]),
        np.array([0, 1 << 20, 5]),
        np.array([7, 7, 1], dtype=">i4"),
        np.array([[1, 2], [3, 4]])[:, 1],
        np.array([0.5, -1.0, 0.5]),
        np.array(["b", "a", "b"]),
        np.empty(0, dtype=np.int64),
    ],
)
def test_labels_are_numbered_as_numpy_does(y):
    labels, indices = number_labels(y)
    expected_labels, expected_indices = np.unique(y, return_inverse=True)
    assert labels.dtype == expected_labels.dtype
    assert indices.dtype == expected_indices.dtype
    assert labels.tolist() == expected_labels.tolist()
    assert indices.tolist() == expected_indices.tolist()


@pytest.mark.parametrize("kind", ["?", "i1", "u1", "<i2", ">i4", "i8", "u8"])
@pytest.mark.parametrize("values", [[0], [1], [0, 1], [0, 0, 1, 1], [5, 7], [9, 3, 4, 3]])
@pytest.mark.parametrize("n_repeats", [1, 30_000])
def test_labels_are_numbered_in_blocks(kind, values, n_repeats):
    y = np.tile(np.array(values, dtype=kind), n_repeats)
    expected_labels, expected_indices = np.unique(y, return_inverse=True)
    for narrow, team in product((False, True), (None, TEAM)):
        labels, indices = number_labels(y, narrow, team)
        assert labels.dtype == expected_labels.dtype
        assert indices.dtype == (np.uint8 if narrow else np.intp)
        assert np.array_equal(labels, expected_labels)
        assert np.array_equal(indices, expected_indices)


def test_a_rare_label_in_the_last_block():
    y = np.zeros(100_000, dtype=np.int32)
    y[0], y[-1], y[-2] = 300, -300, 299
    labels, indices = number_labels(y, narrow=True)
    assert labels.tolist() == [-300, 0, 299, 300]
    assert indices[[0, 1, -2, -1]].tolist() == [3, 1, 2, 0]


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, ">f8"])
@pytest.mark.parametrize(
    "values",
    [
        [0.0, 1.0],
        [1.0, -1.0],
        [0.0, -0.0, 1.0],
        [0.0, 0.5],
        [np.nan, 1.0],
        [1.0, np.inf],
        [3.0, 1.0, 8.0],
        [-60000.0, 60000.0],
        [60000.0, 60032.0],
    ],
)
def test_labels_that_are_floats(kind, values):
    for y in (np.array(values, dtype=kind), np.tile(np.array(values, dtype=kind), 500)):
        labels, indices = number_labels(y, narrow=True)
        expected_labels, expected_indices = np.unique(y, return_inverse=True)
        assert labels.dtype == expected_labels.dtype
        assert labels.tobytes() == expected_labels.tobytes()
        assert np.array_equal(indices, expected_indices)


def test_narrow_indices_have_room_for_all_labels():
    y = np.arange(1000)[::-1]
    _, indices = number_labels(y, narrow=True)
    assert indices.dtype == np.uint16
    assert np.array_equal(indices, y)


@pytest.mark.parametrize("kind", [np.uint8, np.int64, np.float64])
@pytest.mark.parametrize("n_rows", [0, 5, 70_000])
def test_items_of_a_table(kind, n_rows):
    rng = np.random.default_rng(0)
    table, indices = rng.random(7), rng.integers(0, 7, n_rows)
    assert np.array_equal(look_up(table, indices.astype(kind)), table[indices])


def unite(*own):
    return run_together(len(own), lambda peers: unite_classes(own[peers.rank], peers))


@pytest.mark.parametrize(
    "y",
    [
        np.array(["b", "a", "longer", "b"]),
        np.array(["b", "a", "longer", "b"], dtype=object),
        np.array([3, -1, 3, 7]),
        np.array([3, 1, 0, 1], dtype=np.uint8),
        np.array([True, False, True, True]),
        np.array([0.5, -1.0, 2.0, 0.5]),
        np.array([1.0, 2.0, 1.0, 3.0], dtype=np.float32),
    ],
    ids=lambda y: str(y.dtype),
)
def test_peers_have_the_classes_of_all_rows(y):
    expected = number_labels(y)[0]
    for parts in ([y[:2], y[2:]], [y[:0], y[1:], y[:1]], [y, y[:0]], [y[3:], y[:3]]):
        for found in unite(*(number_labels(part)[0] for part in parts)):
            assert found.dtype == expected.dtype
            assert np.array_equal(found, expected)
    assert unite_classes(expected, ALONE) is expected


def test_the_type_of_no_labels_does_not_count():
    for found in unite(np.empty(0), np.array(["a"]), np.empty(0, dtype=object)):
        assert found.tolist() == ["a"]
    assert [found.size for found in unite(np.empty(0), np.empty(0))] == [0, 0]


@pytest.mark.parametrize("other", [np.array([1]), np.array([1], dtype=object), np.array([True])])
def test_strings_beside_other_labels_are_refused_as_in_one_process(other):
    rule = "y mixes labels of different types: 'a'.* is a string, and .* is of type .*; convert all"
    with pytest.raises(DataError, match=rule):
        read_target(["a", *other.tolist()], is_number=False)
    with pytest.raises(DataError, match=rule):
        unite(other, np.array(["a"]))
