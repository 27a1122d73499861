"""A rank program: processes that mpiexec starts train one model, each on rows of its own.

Four processes on this machine, which share its cores::

    mpiexec -n 4 --bind-to none python -m mpi4py examples/train_with_mpi.py

The last line shows a checksum of the model: it is the same for any number of processes, also for
one alone (``python examples/train_with_mpi.py``), because they share out the same rows in the same
order. Here rows are random numbers; mostly each rank would read files of its own, as in::

    model = fit(model, f"rows/part-{rank}.parquet", "label")

``python -m mpi4py`` ends all processes if one of them fails outside of ``fit``, where the others
would wait for it forever. ``fit`` itself tells the others of errors.
"""

import argparse
import zlib
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

import numpy as np
from mpi4py import MPI

from sumwise import GradientBoostingClassifier
from sumwise.mpi import fit

N_CHUNKS = 12


def make_rows(chunks: Sequence[int], n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of some chunks of the data, which depend on their numbers alone."""
    X = [np.random.default_rng(chunk).normal(size=(n_rows, 8)) for chunk in chunks]
    rows = np.concatenate([np.empty((0, 8)), *X])
    return rows, np.where(rows[:, 0] * rows[:, 1] + rows[:, 2] > 0, "yes", "no")


def main(argv: Sequence[str] | None = None) -> None:
    """Train a model on the rows of all ranks, and measure it on rows that are shared out, too."""
    parser = argparse.ArgumentParser(description="Train one model in several processes.")
    parser.add_argument("--rows", type=int, default=240_000, help="rows of all processes together")
    parser.add_argument("--out", type=Path, help="file for the model; none is written without it")
    options = parser.parse_args(argv)

    ranks = MPI.COMM_WORLD
    own = np.array_split(np.arange(N_CHUNKS), ranks.size)[ranks.rank]
    X, y = make_rows(own, options.rows // N_CHUNKS)
    X_val, y_val = make_rows(own + N_CHUNKS, options.rows // N_CHUNKS // 4)

    # All ranks make this call, with the same parameters, and get the same model.
    model = GradientBoostingClassifier(n_estimators=100, n_iter_no_change=5, random_state=0)
    fit(model, X, y, X_val=X_val, y_val=y_val)

    n_right = ranks.allreduce(int((model.predict(X_val) == y_val).sum()) if len(y_val) else 0)
    n_val = ranks.allreduce(len(y_val))
    if ranks.rank == 0:  # one process reports for all
        print(f"{ranks.size} process(es), the first with {len(y):,} rows")
        print(f"{model.best_iteration_} rounds, accuracy on new rows {n_right / n_val:.3f}")
        file = BytesIO()
        model.save(file)
        print(f"checksum of the model {zlib.crc32(file.getvalue()):08x}")
        if options.out:
            model.save(options.out)


if __name__ == "__main__":
    main()
