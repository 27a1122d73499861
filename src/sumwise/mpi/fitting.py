"""Fits on the rows of all ranks, and the share of a rank in its machine."""

import os
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple, TypeVar

import joblib
import numpy as np

from sumwise.data.batches.agreement import agree, do_alike
from sumwise.data.batches.memory import find_free_memory
from sumwise.data.batches.sources import is_source, open_source
from sumwise.data.frames.reading import read_array
from sumwise.errors import DataError, ParameterError
from sumwise.estimators.boosting.among_peers import fit_among_peers
from sumwise.estimators.boosting.base import BaseGradientBoosting
from sumwise.estimators.boosting.evaluation import VALIDATION
from sumwise.estimators.input.parts import Part
from sumwise.mpi.peers import MpiPeers
from sumwise.peers import Peers, add_up
from sumwise.tree.parallel import Parallel

# Rows of a file that make one partition.
_PART_ROWS = 1 << 20

Model = TypeVar("Model", bound=BaseGradientBoosting)


def fit(
    model: Model,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    init_score: Any = None,
    *,
    groups: Any = None,
    X_val: Any = None,
    y_val: Any = None,
    sample_weight_val: Any = None,
    init_score_val: Any = None,
    init_model: Any = None,
    parallel: str = "data",
    top_k: int = 20,
    comm: Any = None,
    memory_limit: int | str | None = None,
    cache_dir: Any = None,
) -> Model:
    """Fit a model on the rows of all ranks; each of them makes this call.

    The order of all rows is that of the ranks. If ``model.n_jobs`` is None, a rank uses its share
    of the cores of its machine.

    Parameters
    ----------
    model : GradientBoostingClassifier or GradientBoostingRegressor
        Has the same parameters on all ranks, except for ``n_jobs``. Progress is shown, and
        callbacks are called, on rank 0 only.
    X : frame, array-like of shape (n_rows, n_features), or a source of batches; or None
        The rows of this rank, in the same columns as those of the others; None if it has no rows. A
        Parquet file or folder, a ``pyarrow.dataset.Dataset``, or a function that returns an
        iterator of record batches is read into memory.
    y : array-like of shape (n_rows,) or (n_rows, n_targets); or None
        Target of these rows. If X is a source, the name of its column, or a list of names.
    sample_weight, init_score, groups : array-like, default=None
        As for ``model.fit``: for these rows, on all ranks or on none. If X is a source, they may be
        names of columns, too.
    X_val, y_val, sample_weight_val, init_score_val : default=None
        This rank's rows of the validation set; some ranks may have none.
    init_model : fitted estimator or path of a model file, default=None
        Model to continue, the same on all ranks.
    parallel : {"data", "voting", "feature"}, default="data"
        How ranks share the work of growing a tree. With "data" and "feature" the model has the same
        bytes as a fit of one process; with "feature" all ranks receive all rows. See
        ``docs/guide/scale.md``.
    top_k : int, default=20
        Features that a rank votes for, with "voting".
    comm : mpi4py.MPI.Intracomm, default=None
        The ranks that train together; None for all: ``MPI.COMM_WORLD``.
    memory_limit : int, str or None, default=None
        The memory that this rank may use besides, in bytes or as "4GB"; None for its share of what
        is free. If the binned rows do not fit into it, they are cut into pages on disk.
    cache_dir : path, default=None
        The folder for these pages.

    Returns
    -------
    model
        The fitted ``model``; it has the same bytes on all ranks.

    Raises
    ------
    DataError, ParameterError, TrainingError
        On all ranks, if data, parameters or gradients cannot be used.
    PeersError
        If another rank has failed, or made other calls. Its attribute ``fitted`` may have a model
        of the rounds so far, which ``init_model`` continues.

    Examples
    --------
    ::

        import pandas as pd
        from mpi4py import MPI
        from sumwise import GradientBoostingClassifier
        from sumwise.mpi import fit

        frame = pd.read_parquet(f"rows-{MPI.COMM_WORLD.rank}.parquet")
        model = fit(GradientBoostingClassifier(), frame.drop(columns="label"), frame["label"])
        if MPI.COMM_WORLD.rank == 0:
            model.save("model.sumwise")
    """
    with MpiPeers(comm) as peers:
        _refuse_differences(peers, model, init_model, parallel, top_k)
        parts = _number_parts(peers, X, y, sample_weight, init_score, groups)
        own_val = (X_val, y_val, sample_weight_val, init_score_val, None)
        parts_val = _number_parts(peers, *own_val, suffix="_val")
        has_val = add_up(peers, len(parts_val))[0] > 0
        share = _find_share(peers)
        fit_among_peers(
            model,
            parts,
            peers,
            sets={VALIDATION: parts_val} if has_val else {},
            init_model=init_model,
            memory_limit=share.memory if memory_limit is None else memory_limit,
            cache_dir=cache_dir,
            n_jobs=share.n_threads if model.n_jobs is None else None,
            parallel=parallel,
            top_k=top_k,
        )
    return model


def _refuse_differences(
    peers: Peers, model: Any, init_model: Any, parallel: str, top_k: int
) -> None:
    """Raise ParameterError if the ranks have different parameters.

    Objects whose text is an address, such as functions, are not compared.
    """

    def describe() -> dict[str, str]:
        if not isinstance(model, BaseGradientBoosting):
            raise ParameterError(
                f"model={model!r} must be a GradientBoostingClassifier or GradientBoostingRegressor"
            )
        Parallel(parallel, top_k)  # checks them
        params = model.get_params(deep=False) | {"parallel": parallel, "top_k": top_k}
        del params["n_jobs"]
        shown = {
            "model": type(model).__name__,
            "init_model": "not given" if init_model is None else "given",
            "callbacks": "given" if params.pop("callbacks") else "not given",
        }
        texts = {name: repr(value) for name, value in params.items()}
        return shown | {name: text for name, text in texts.items() if " at 0x" not in text}

    first, *others = agree(peers, describe)
    for rank, other in enumerate(others, 1):
        for name, text in first.items():
            if other.get(name, text) != text:
                raise ParameterError(
                    f"{name} is {text} on rank 0 and {other[name]} on rank {rank}; all ranks must "
                    "train the same model"
                )


# --- rows ---


def _number_parts(peers: Peers, X: Any, *others: Any, suffix: str = "") -> list[Part]:
    """Return the partitions of this rank, numbered in the order of the ranks.

    If none has more than one, they have the numbers of the ranks.
    """
    parts = do_alike(peers, lambda: list(_read_parts(X, *others, suffix=suffix)))
    first = peers.rank * int(peers.largest(np.array([len(parts)]))[0])
    return [part._replace(number=first + k) for k, part in enumerate(parts)]


def _read_parts(X: Any, *others: Any, suffix: str) -> Iterator[Part]:
    """Yield the rows of this rank in partitions, which are not numbered yet."""
    named = dict(zip(Part._fields[2:], others, strict=True))
    if X is None:
        for name, value in named.items():
            if value is not None:
                raise DataError(f"{name}{suffix} belongs to X{suffix}, which is missing")
        return
    if not is_source(X):
        yield Part(0, X, *others)
        return
    names = {name for value in others for name in _list_names(value)}
    if not _list_names(named["y"]):
        raise DataError(f"y{suffix} must be the name of a column, because X{suffix} is a source")
    source = open_source(X)
    columns = source.list_columns()
    for name in sorted(names.difference(columns)):
        raise DataError(f"{source.name} has no column {name!r}")
    features = [name for name in columns if name not in names and name not in source.index]
    others = tuple(_read_values(value) for value in others)
    first = 0
    for batch in source.read(None, _PART_ROWS):
        rows = slice(first, first + batch.n_rows)
        own = [_take(value, batch.frame, rows) for value in others]
        yield Part(0, batch.frame.select(features).to_native(), *own)
        first = rows.stop
    for field, value in zip(named, others, strict=True):
        if isinstance(value, np.ndarray) and len(value) != first:
            raise DataError(f"{source.name} has {first} rows, but {field}{suffix} {len(value)}")


def _list_names(value: Any) -> list[str]:
    """Return the columns that an argument names; none if it has values."""
    names = [value] if isinstance(value, str) else value
    is_named = isinstance(names, (list, tuple)) and all(isinstance(name, str) for name in names)
    return list(names) if is_named else []


def _read_values(value: Any) -> Any:
    """Return an argument as an array, unless it names columns or is None."""
    is_array = value is not None and not _list_names(value)
    return np.atleast_1d(read_array(value)) if is_array else value


def _take(value: Any, frame: Any, rows: slice) -> Any:
    """Return the columns that an argument names, or its values for some rows."""
    names = _list_names(value)
    if not names:
        return None if value is None else value[rows]
    chosen = frame.get_column(names[0]) if len(names) == 1 else frame.select(names)
    return chosen.to_native()


# --- the share of a rank in its machine ---


class _Share(NamedTuple):
    """What a rank may use of its machine."""

    n_threads: int
    memory: int


def _find_share(peers: MpiPeers) -> _Share:
    """Divide cores and free memory among the ranks that share them."""
    if hasattr(os, "sched_getaffinity"):
        own = sorted(os.sched_getaffinity(0))
    else:
        own = list(range(os.cpu_count() or 1))
    every = peers.gather(np.array(own))
    known = [set(every[rank].tolist()) for rank in peers.neighbors]
    cores = sum(Fraction(1, sum(cpu in other for other in known)) for cpu in own)
    # A container may have a quota of fewer cores.
    n_threads = max(1, int(joblib.cpu_count() * cores / len(own)))
    return _Share(n_threads, find_free_memory() // len(known))
