from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks.datasets import (
    EVENTS_PER_BLOCK,
    MANY_CATEGORIES,
    MissingDataError,
    find_table,
    load_higgs_like,
    load_many_categories,
    make_higgs_like,
    read_frame,
    read_table,
    simulate_events,
)


def test_higgs_like_shape() -> None:
    data = load_higgs_like(1_000, 200)
    assert data.X_train.shape == (1_000, 28)
    assert data.X_train.dtype == np.float32
    assert data.X_train.flags.c_contiguous
    assert data.shape == "1,000 x 28, tested on 200 rows"
    assert np.isfinite(data.X_train).all()
    assert 0.4 < data.y_train.mean() < 0.6


def test_a_smaller_set_is_the_head_of_a_larger_one() -> None:
    large, labels = make_higgs_like(EVENTS_PER_BLOCK + 10)
    small, small_labels = make_higgs_like(100)
    np.testing.assert_array_equal(small, large[:100])
    np.testing.assert_array_equal(small_labels, labels[:100])
    assert not np.array_equal(large[:10], large[EVENTS_PER_BLOCK:])


def test_two_jets_have_the_mass_of_their_momenta() -> None:
    X, _ = simulate_events(100, np.random.default_rng(0))
    # Massless particles: m^2 = 2 p1 p2 (cosh(rapidity difference) - cos(angle difference)).
    p1, eta1, phi1, p2, eta2, phi2 = X[:, [13, 14, 15, 17, 18, 19]].astype(np.float64).T
    mass = np.sqrt(2.0 * p1 * p2 * (np.cosh(eta1 - eta2) - np.cos(phi1 - phi2)))
    np.testing.assert_allclose(X[:, 21], mass, rtol=1e-3, atol=1e-3)


def test_many_categories_of_all_sizes() -> None:
    data = load_many_categories(4_000, 500)
    assert data.shape == "4,000 x 68, tested on 500 rows"
    frame = pd.concat([data.X_train, data.X_test])
    assert list(frame.select_dtypes("category")) == list(MANY_CATEGORIES)
    assert [frame[name].nunique() for name in MANY_CATEGORIES] == list(MANY_CATEGORIES.values())
    assert min(MANY_CATEGORIES.values()) == 2
    assert max(MANY_CATEGORIES.values()) == 2_000


def test_categories_become_codes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = pd.DataFrame(
        {"x": [0.5, 1.5, 2.5], "color": pd.Categorical(["b", "a", "b"]), "target": [3, 1, 2]}
    )
    table.to_parquet(tmp_path / "tiny.parquet")
    monkeypatch.setenv("SUMWISE_DATA", str(tmp_path))

    X, y = read_table("tiny", "regression", max_rows=3)
    np.testing.assert_array_equal(X, np.float32([[0.5, 1], [1.5, 0], [2.5, 1]]))
    assert y.dtype == np.float64
    assert y.tolist() == [3.0, 1.0, 2.0]

    X, y = read_table("tiny", "multiclass", max_rows=2)
    assert len(X) == len(y) == 2
    assert y.dtype == np.int64

    frame, _ = read_frame("tiny", "regression", max_rows=3)
    assert frame["color"].tolist() == ["b", "a", "b"]
    assert [str(kind) for kind in frame.dtypes] == ["float32", "category"]


def test_missing_data_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SUMWISE_DATA", raising=False)
    with pytest.raises(MissingDataError, match=r"not set.*covertype\.parquet"):
        find_table("covertype")
    monkeypatch.setenv("SUMWISE_DATA", str(tmp_path))
    with pytest.raises(MissingDataError, match=r"holds no covertype\.parquet"):
        find_table("covertype")
