"""Predictions on a device have the bits of the CPU's."""

import numpy as np
import pytest

from sumwise.data import device_sending
from sumwise.data.device_reading import read_device_matrix
from sumwise.data.matrix import ColumnMatrix
from sumwise.kernels.runtime.threads import Team
from sumwise.tree import device_predictor
from sumwise.tree.device_predictor import DevicePredictor
from tests.cuda.arrays import FakeArray
from tests.ensembles import SHAPES, draw_ensemble

TEAM = Team(1)


def draw_many(seed, n_outputs=1, n_rows=700, **options):
    """Draw an ensemble, and rows around its thresholds, with every kind of odd value."""
    ensemble, rows = draw_ensemble(seed, n_outputs, **options)
    rng = np.random.default_rng(seed)
    known = ensemble.threshold[ensemble.feature >= 0]
    with np.errstate(over="ignore"):
        odd = [np.nextafter(known, -np.inf), known, np.nextafter(known, np.inf)]
    odd = np.concatenate([*odd, rows.ravel(), [np.nan, np.inf, -np.inf, -0.0, 0.0, 5e-324, 2.5]])
    X = rng.choice(odd, (n_rows, ensemble.n_features))
    X[:, 3] = rng.choice([0.0, 1.0, 2.0, 3.0, 4.0, 7.0, -1.0, 1.5, np.nan, np.inf], n_rows)
    return ensemble, X


def assert_same_predictions(device, ensemble, X, matrix):
    predictor = DevicePredictor(device, ensemble, ensemble.output, ensemble.code_columns)
    raw = device.upload(np.tile(ensemble.base_score, (len(X), 1)))
    predictor.add_values(matrix, raw, TEAM)
    expected = ensemble.predict_raw(X, TEAM)
    assert np.array_equal(raw.to_host().view(np.int64), expected.view(np.int64))
    leaves = device.allocate((len(X), ensemble.n_trees), np.int32)
    predictor.find_leaves(matrix, leaves, TEAM)
    assert np.array_equal(leaves.to_host(), ensemble.apply(X, TEAM))


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_rows_on_a_device(device, emulated, n_outputs, dtype, order):
    ensemble, X = draw_many(7, n_outputs)
    with np.errstate(over="ignore"):
        X = X.astype(dtype, order=order)
    assert_same_predictions(device, ensemble, X, read_device_matrix(FakeArray(X)))


@pytest.mark.parametrize("is_sent", [False, True])
@pytest.mark.parametrize("n_rows", [1, 256, 257])
def test_rows_on_the_host(device, n_rows, is_sent, monkeypatch):
    monkeypatch.setattr(DevicePredictor, "_is_better_sent", lambda *_: is_sent)
    ensemble, X = draw_many(11, 2, n_rows)
    assert_same_predictions(device, ensemble, X, X)


@pytest.mark.parametrize("batch_bytes", [1, 7000, 1 << 20])
@pytest.mark.parametrize("kind", [np.float32, np.float64, "F", "strided", "columns"])
def test_rows_that_are_sent(device, kind, batch_bytes, monkeypatch):
    monkeypatch.setattr(device_sending, "_BATCH_BYTES", batch_bytes)
    monkeypatch.setattr(device_sending, "_PIECE_BYTES", 1000)
    monkeypatch.setattr(device_predictor, "_DEVICE_CODE_BYTES", 1)
    monkeypatch.setattr(DevicePredictor, "_is_better_sent", lambda *_: True)
    ensemble, X = draw_many(31, 2, 60 if batch_bytes == 1 else 600)
    matrix = X
    if kind == "F":
        X = matrix = np.asfortranarray(X)
    elif kind == "strided":
        X = matrix = np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3]
    elif kind == "columns":
        readers = [lambda first, last, own=own: own[first:last] for own in X.T]
        matrix = ColumnMatrix(readers, len(X), X.dtype)
    else:
        with np.errstate(over="ignore"):
            X = matrix = X.astype(kind)
    assert_same_predictions(device, ensemble, X, matrix)


def test_which_rows_are_sent(device):
    ensemble, X = draw_many(11, 1, 256)
    numbers, _ = draw_many(11, 1, 256, set_share=0.0)
    for trees, rows, is_sent in ((ensemble, X, False), (numbers, X[1:], False), (numbers, X, True)):
        predictor = DevicePredictor(device, trees, trees.output, trees.code_columns)
        assert predictor._is_better_sent(rows, TEAM) == is_sent


def test_rows_in_batches(device, emulated, monkeypatch):
    monkeypatch.setattr(device_predictor, "_HOST_CODE_BYTES", 1)
    monkeypatch.setattr(device_predictor, "_DEVICE_CODE_BYTES", 1)
    ensemble, X = draw_many(29, 2, 900)
    assert_same_predictions(device, ensemble, X, X)
    assert_same_predictions(device, ensemble, X, read_device_matrix(FakeArray(X)))


def test_large_trees_are_walked_where_they_are(device, emulated):
    shapes = [(20, "left"), (4000, "random"), (3, "random")]
    ensemble, X = draw_many(13, 1, 300, shapes=shapes)
    assert 16 * np.diff(ensemble.start).max() > device.shared_memory // 2
    assert_same_predictions(device, ensemble, X, read_device_matrix(FakeArray(X)))
    with emulated(shared_memory=2048, order="shuffled") as small:
        ensemble, X = draw_many(17, 2, 300)
        assert_same_predictions(small, ensemble, X, read_device_matrix(FakeArray(X)))


def test_trees_are_divided_by_shared_memory(emulated):
    with emulated(shared_memory=6_000, order="reversed") as device:
        ensemble, X = draw_many(19, 3, 300, shapes=4 * SHAPES)
        predictor = DevicePredictor(device, ensemble, ensemble.output, ensemble.code_columns)
        assert len(list(predictor._divide_trees())) > 2
        assert_same_predictions(device, ensemble, X, read_device_matrix(FakeArray(X)))


def test_ensemble_without_splits(device, emulated):
    ensemble, X = draw_many(23, 1, 20, shapes=[(1, "random"), (1, "random")])
    assert_same_predictions(device, ensemble, X, X)
    assert_same_predictions(device, ensemble, X, read_device_matrix(FakeArray(X)))
