"""Fits that the ranks of tests make together: ``mpiexec -n 3 python -m tests.mpi.fits NAME``."""

import os
import sys
import tempfile
from io import BytesIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from mpi4py import MPI
from sklearn.base import clone

from sumwise import GradientBoostingClassifier, GradientBoostingRegressor
from sumwise.errors import DataError, ParameterError, PeersError
from sumwise.mpi import MpiPeers, fit
from sumwise.mpi.fitting import _find_share

COMM = MPI.COMM_WORLD
RANK, SIZE = COMM.rank, COMM.size


def make_frame(n_rows, seed=0):
    """Return rows with missing values, and categories that are rare."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n_rows, 3)).round(2), columns=["a", "b", "c"])
    frame.loc[n_rows // 2 : n_rows // 2 + 9, "a"] = np.nan
    frame["kind"] = np.where(frame["b"] > 1.5, "rare", rng.choice(["x", "y"], n_rows))
    frame["label"] = np.where(frame["a"].fillna(1) * frame["b"] > 0, "yes", "no")
    frame["weight"] = rng.uniform(0.5, 2, n_rows)
    return frame


def check_same_bytes() -> None:
    """Fits on rows in memory, of any number of ranks, have the bytes of a fit of one process."""
    frame, more = make_frame(600), make_frame(200, seed=1)
    X, X_val = (own[["a", "b", "c", "kind"]] for own in (frame, more))
    y, y_val = frame["label"], more["label"]
    params = {"n_estimators": 4, "max_leaves": 8, "random_state": 0}
    _compare(GradientBoostingClassifier(**params), X, y)
    weighted = {"sample_weight": frame["weight"], "X_val": X_val, "y_val": y_val}
    stopping = GradientBoostingClassifier(**params, sampler="goss", n_iter_no_change=2)
    _compare(stopping, X, y, **weighted, sample_weight_val=more["weight"])
    numbers = X[["b", "c"]].to_numpy()
    targets = np.stack([numbers[:, 0] ** 2, numbers[:, 1]], axis=1)
    _compare(GradientBoostingRegressor(**params), numbers, targets)
    scores = {"init_score": numbers[:, 0]}
    robust = GradientBoostingRegressor(**params, loss="absolute_error")
    model = _compare(robust, numbers, targets[:, 0], **scores)
    longer = GradientBoostingRegressor(**{**params, "n_estimators": 6}, loss="absolute_error")
    _compare(longer, numbers, targets[:, 0], **scores, init_model=model)
    _compare(stopping, X, y, groups=np.arange(len(X)) // 7)
    assert stopping.n_jobs is None
    by_feature = GradientBoostingRegressor(**params).fit(numbers, targets[:, 0])
    by_votes = GradientBoostingRegressor(**params)
    own = _own(numbers), _own(targets[:, 0])
    assert _save(by_feature) == _save(fit(clone(by_feature), *own, parallel="feature"))
    every = COMM.allgather(_save(fit(by_votes, *own, parallel="voting", top_k=1)))
    assert len(set(every)) == 1


def check_sources() -> None:
    """Ranks that read files of their own have the model of a fit on the folder of these files."""
    params = {"n_estimators": 3, "random_state": 0}
    path = COMM.bcast(tempfile.mkdtemp() if RANK == 0 else None)
    folder = Path(path)
    frame = make_frame(400)
    _own(frame).to_parquet(folder / f"{RANK}.parquet", index=False)
    COMM.Barrier()
    own = folder / f"{RANK}.parquet"
    sources = {"sample_weight": "weight", "y_val": "label", "sample_weight_val": "weight"}
    model = GradientBoostingClassifier(**params)
    mine = _save(fit(model, own, "label", **sources, X_val=own))
    with pytest.raises(DataError, match=r"0\.parquet has no column 'brand'"):
        fit(model, own, "brand")
    with pytest.raises(DataError, match="y must be the name of a column"):
        fit(model, own, frame["label"])
    with pytest.raises(DataError, match=r"0\.parquet has \d+ rows, but sample_weight 3"):
        fit(model, own, "label", sample_weight=np.ones(3))
    several = GradientBoostingRegressor(**params)
    features = own if RANK else (lambda: iter([_own(frame)]))
    zeros = np.zeros((len(frame), 2))
    weight = _own(frame["weight"])  # a series
    chosen = _save(fit(several, features, ["b", "c"], weight, _own(zeros)))
    if RANK == 0:
        whole = GradientBoostingClassifier(**params)
        assert mine == _save(whole.fit(folder, "label", **sources, X_val=folder))
        assert chosen == _save(several.fit(folder, ["b", "c"], frame["weight"], zeros))
    COMM.Barrier()
    own.unlink()
    COMM.Barrier()
    if RANK == 0:
        folder.rmdir()


def check_parts() -> None:
    """A part of the ranks trains a model of its own, on pages that do not fit into memory."""
    frame = make_frame(300, seed=RANK % 2)
    model = GradientBoostingRegressor(n_estimators=2, random_state=0)
    group = COMM.Split(RANK % 2)
    own = frame.iloc[group.rank :: group.size][["b", "c"]]
    with tempfile.TemporaryDirectory() as folder:
        paged = fit(model, own, own["b"], comm=group, memory_limit="20MB", cache_dir=folder)
    every = group.allgather(_save(paged))
    assert len(set(every)) == 1
    plain = GradientBoostingRegressor(n_estimators=2, random_state=0)
    order = np.concatenate([np.arange(k, 300, group.size) for k in range(group.size)])
    rows = frame.iloc[order][["b", "c"]]
    assert every[0] == _save(plain.fit(rows, rows["b"]))


def check_errors() -> None:
    """Errors of one rank's rows are raised by all, which can go on."""
    X, y = np.arange(40.0).reshape(-1, 2) + 40 * RANK, np.arange(20) % 2
    model = GradientBoostingClassifier(n_estimators=2, random_state=0)
    last = RANK == SIZE - 1
    with pytest.raises(DataError, match=f"partition {SIZE - 1} has 20 rows in X, and 19 in y"):
        fit(model, X if last or RANK == 0 else None, y[last:] if last or RANK == 0 else None)
    with pytest.raises(DataError, match="y belongs to X, which is missing"):
        fit(model, None if last else X, y)
    with pytest.raises(DataError, match="y_val belongs to X_val, which is missing"):
        fit(model, X, y, y_val=y if last else None)
    with pytest.raises(DataError, match="X is empty"):
        fit(model, None, None)
    with pytest.raises(ParameterError, match="model=None must be a GradientBoosting"):
        fit(None if last else model, X, y)
    with pytest.raises(ParameterError, match="scoring"):
        fit(GradientBoostingClassifier(scoring="accuracy"), X, y)
    with pytest.raises(
        ParameterError, match="parallel='rows' must be one of data, voting, feature"
    ):
        fit(model, X, y, parallel="rows" if last else "data")
    fit(model.set_params(n_jobs=RANK + 1), X, y)
    if SIZE > 1:
        other = GradientBoostingClassifier(n_estimators=2, random_state=RANK)
        with pytest.raises(ParameterError, match="random_state is 0 on rank 0 and 1 on rank 1;"):
            fit(other, X, y)
        with pytest.raises(ParameterError, match="init_model is given on rank 0 and not given"):
            fit(model, X, y, init_model=None if RANK else model)
        other = GradientBoostingClassifier(callbacks=None if RANK else [_divide])
        with pytest.raises(ParameterError, match="callbacks is given on rank 0 and not given on"):
            fit(other, X, y)
        with pytest.raises(PeersError if RANK else ZeroDivisionError) as error:
            fit(GradientBoostingClassifier(callbacks=[_divide]), X, y)
        assert RANK == 0 or "rank 0 has failed: ZeroDivisionError" in str(error.value)
        assert RANK == 0 or error.value.fitted.ensemble_.n_rounds == 2


def check_share() -> None:
    """Cores and memory of a machine are divided among the ranks on it."""
    with MpiPeers() as peers:
        assert peers.neighbors == list(range(SIZE))
        n_cores = len(os.sched_getaffinity(0))
        shares = COMM.allgather(_find_share(peers))
        assert {share.n_threads for share in shares} == {max(1, n_cores // SIZE)}
        # Ranks that are bound to cores of their own share them with nobody.
        cores = sorted(os.sched_getaffinity(0))
        if len(cores) >= SIZE:
            os.sched_setaffinity(0, cores[RANK::SIZE])
            assert _find_share(peers).n_threads == len(cores[RANK::SIZE])
        assert all(share.memory * SIZE < 1 << 50 for share in shares)


def fail_in_a_fit() -> None:
    """An exception that nobody catches; the exit code of the program is that of Python."""
    X = np.arange(40.0).reshape(-1, 2)
    fit(GradientBoostingRegressor(n_estimators=20, callbacks=[_divide]), X, X[:, 0])


# --- parts of the checks ---


def _find_ends(n_rows):
    """Return where the rows of each rank end: the second of several ranks has none."""
    ends = np.linspace(0, n_rows, SIZE + 1).astype(int)
    if SIZE > 2:
        ends[2] = ends[1]
    return ends


def _own(rows):
    begin, end = _find_ends(len(rows))[RANK : RANK + 2]
    return rows.iloc[begin:end] if hasattr(rows, "iloc") else rows[begin:end]


def _compare(model, X, y, init_model=None, **others):
    """Fit a model among the ranks, and compare it with a plain fit; return it.

    The last of several ranks leaves its validation rows out.
    """
    given = {name: _own(values) for name, values in {"X": X, "y": y, **others}.items()}
    if "X_val" in others and SIZE > 1:
        n_kept = _find_ends(len(others["X_val"]))[-2]
        for name in [name for name in others if name.endswith("_val")]:
            others[name] = others[name][:n_kept]
            if RANK == SIZE - 1:
                given[name] = None
    if len(given["X"]) == 0:
        given = dict.fromkeys(given)
    assert fit(model, **given, init_model=init_model) is model
    plain = type(model)(**model.get_params(deep=False))
    assert _save(model) == _save(plain.fit(X, y, **others, init_model=init_model))
    return model


def _save(model) -> bytes:
    file = BytesIO()
    model.save(file)
    return file.getvalue()


def _divide(state):
    return 1 / (2 - state.round_number) > 2


if __name__ == "__main__":
    for name in sys.argv[1:]:
        globals()[name]()
    if RANK == 0:
        sys.stdout.write("done\n")
