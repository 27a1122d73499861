import numpy as np
import pandas as pd
import pytest

from benchmarks.categories import (
    PUBLISHED,
    describe_mean,
    leave_test_rows_out,
    load_splits,
    main,
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Tiny files in place of the real ones."""
    monkeypatch.setenv("SUMWISE_DATA", str(tmp_path))
    (tmp_path / "splits").mkdir()
    rng = np.random.default_rng(0)
    for name in (*PUBLISHED, "census_income_kdd"):
        codes = pd.Series(rng.integers(0, 5, 60).astype(str)).mask(rng.random(60) < 0.1)
        frame = pd.DataFrame({"a": codes.astype("category"), "b": rng.normal(size=60)})
        frame.assign(target=rng.integers(0, 2, 60)).to_parquet(tmp_path / f"{name}.parquet")
        part = np.where(np.arange(60) % 3 == 0, "test", "train")
        split = pd.DataFrame({"row": np.arange(60), "part": part})
        split.to_parquet(tmp_path / "splits" / f"{name}_catboost_paper.parquet")


def test_the_split_is_that_of_the_file(folder) -> None:
    (part,) = load_splits("adult", 5, 1000)
    assert (len(part.X_train), len(part.X_test)) == (40, 20)
    assert part.X_test.index.tolist() == list(range(0, 60, 3))
    assert len(list(load_splits("census_income_kdd", 3, 1000))) == 3


def test_a_tiny_run(folder, capsys) -> None:
    main(["--only", "kick", "census_income_kdd", "--rounds", "2", "--folds", "2"])
    lines = capsys.readouterr().out.splitlines()[2:]
    assert [line.split(":")[0] for line in lines] == [
        "kick Plain",
        "kick Ordered",
        "census_income_kdd Plain",
        "census_income_kdd Ordered",
    ]
    assert "published 0.2849" in lines[0]
    assert "ratio" in lines[-1]


def test_choices_see_no_test_row(folder) -> None:
    (part,) = load_splits("adult", 5, 1000)
    inner = [leave_test_rows_out(part, seed) for seed in range(2)]
    for own in inner:
        assert (len(own.X_train), len(own.X_test)) == (32, 8)
        rows = sorted([*own.X_train.index, *own.X_test.index])
        assert rows == part.X_train.index.tolist()
    assert inner[0].X_test.index.tolist() != inner[1].X_test.index.tolist()


def test_seeds_give_a_standard_error(folder, capsys) -> None:
    main(["--only", "kick", "--modes", "Plain", "--rounds", "2", "--seeds", "2", "--inner"])
    line = capsys.readouterr().out.splitlines()[-1]
    assert line.count(" +- ") == 2
    assert describe_mean([1.0, 2.0, 3.0]) == "2.00000 +- 0.57735"
    assert describe_mean([0.25]) == "0.25000"
