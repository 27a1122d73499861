import hashlib

import numpy as np
import pytest
from scipy.sparse import issparse

from benchmarks.on_gpu.tables import hash_rows, make_argument, make_table, make_target

NAMES = ("numbers", "events", "ties", "extreme", "sparse", "categories", "mixed")


def test_rows_are_hashed_by_splitmix64() -> None:
    # The first numbers of the reference implementation with the seed 0.
    assert [hex(value) for value in hash_rows(range(3), 0)] == [
        "0xe220a8397b1dcdaf",
        "0x6e789e6aa1b965f4",
        "0x6c45d188009454f",
    ]


def test_tables_are_the_same_everywhere() -> None:
    X, score = make_table("numbers", 100)
    found = hashlib.sha256(X.tobytes() + score.tobytes()).hexdigest()
    assert found[:16] == "42b8bbbb9f4bea86"


@pytest.mark.parametrize("name", NAMES)
def test_a_table_is_part_of_an_endless_one(name: str) -> None:
    (whole, score), (part, own) = make_table(name, 500), make_table(name, 60, 440)
    if issparse(whole):
        whole, part = whole.toarray(), part.toarray()
    if hasattr(whole, "iloc"):
        assert whole.iloc[440:].reset_index(drop=True).equals(part)
    else:
        assert whole[440:].tobytes() == part.tobytes()
    assert score[440:].tobytes() == own.tobytes()
    assert 0 <= score.min() < 1
    assert 1.5 < score.max() < 8


def test_extreme_values_are_there() -> None:
    X, _ = make_table("extreme", 1000)
    assert np.isinf(X[:, 1]).any()
    assert np.isnan(X[:, 5]).all()
    assert (X[:, 4] == 1).all()
    tiny = np.abs(X[:, 6][~np.isnan(X[:, 6])])
    assert tiny.max() < np.finfo(np.float64).tiny
    assert np.unique(tiny).size > 100
    assert np.signbit(X[X[:, 1] == 0, 1]).any()


def test_targets_and_arguments() -> None:
    _, score = make_table("numbers", 500)
    assert set(make_target("binary", score)) == {0, 1}
    assert set(make_target("classes", score)) == {0, 1, 2}
    assert set(make_target("seven", score)) == set(range(7))
    assert make_target("positive", score).min() > 0
    assert 0 <= make_target("share", score).min() <= make_target("share", score).max() <= 1
    assert set(make_argument("sample_weight", 500)) == {0.0, 0.5, 1.0, 1.5, 2.0}
    assert len(set(make_argument("groups", 500))) == 30
