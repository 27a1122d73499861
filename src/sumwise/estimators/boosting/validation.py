"""Validation rows: given by the user, or held out.

Rows given by the user are binned into the table of the training rows and follow them. They affect
neither bins nor trees. Scorers use the raw scores that training has of them, and do not predict.
"""

from typing import Any

import numpy as np

from sumwise.data.batches.sources import is_source
from sumwise.data.on_device import fetch
from sumwise.errors import DataError, ParameterError
from sumwise.estimators.boosting.parameters import BoostingParameters
from sumwise.estimators.boosting.rows import GivenRows, LabeledRows
from sumwise.estimators.boosting.tasks import Task
from sumwise.estimators.input.features import KnowsSchema, read_rows
from sumwise.kernels.runtime import random
from sumwise.kernels.sampling.lowest_hashes import HELD_OUT, draw_lowest, draw_strata, hash_numbers
from sumwise.peers import ALONE, Peers, Shards
from sumwise.training.boost import TrainingRows


def read_validation(
    model: KnowsSchema,
    task: Task,
    unknown_code: float,
    in_batches: bool,
    name: str,
    X: Any,
    y: Any,
    sample_weight: Any,
    init_score: Any,
) -> LabeledRows | None:
    """Check what ``fit`` got as X_val, y_val and so on; return None if there is no X_val.

    ``model`` knows the features of the training data; ``unknown_code`` is the code of categories
    that these do not have. With ``in_batches``, the training data is not in memory.
    """
    if not is_given(X, y, sample_weight, init_score):
        return None
    if is_source(X):
        from sumwise.estimators.boosting.out_of_core import read_source_set  # few fits need it

        given = GivenRows(X, y, sample_weight, init_score)
        matrix, given = read_source_set(model, given, unknown_code, in_batches)
        X, y, sample_weight, init_score, _ = given
    else:
        matrix = read_rows(model, X, unknown_code)
    labels = task.read(y, "y_val")
    if len(labels) != matrix.shape[0]:
        raise DataError(f"X_val has {matrix.shape[0]} rows, but y_val has {len(labels)}")
    target = task.encode(labels, "y_val")
    return LabeledRows.label(task, X, matrix, labels, target, sample_weight, init_score, name)


def is_given(X: Any, y: Any, sample_weight: Any, init_score: Any) -> bool:
    """Whether there is a validation set; refuse parts of one."""
    if X is None:
        others = {"y_val": y, "sample_weight_val": sample_weight, "init_score_val": init_score}
        useless = [other for other, value in others.items() if value is not None]
        if useless:
            raise DataError(f"{useless[0]} belongs to X_val, which is missing")
        return False
    if y is None:
        raise DataError("X_val needs y_val, the target of its rows")
    return True


def split_rows(
    params: BoostingParameters,
    train: LabeledRows,
    is_classification: bool,
    groups: Any,
    seed: int,
) -> TrainingRows:
    """Hold out some of the training rows for validation."""
    rows = train.find_rows()
    own_groups = None
    if groups is not None:
        if params.validation_rows == "last":
            raise ParameterError(
                f"{type(params).__name__}: validation_rows='last' holds out rows by their number, "
                "and groups as a whole: pass only one of them"
            )
        own_groups = number_groups(groups, train.n_rows, train.peers)[rows]
    labels = train.target[rows] if is_classification else None
    fraction, which = params.validation_fraction, params.validation_rows
    what = (rows, fraction, which, own_groups, labels, seed)
    return train.number(*hold_out_rows(*what, shards=train.shards))


def hold_out_rows(
    rows: np.ndarray,
    fraction: float,
    which: str,
    groups: np.ndarray | None,
    labels: np.ndarray | None,
    seed: int,
    shards: Shards | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Split ascending row numbers into those that train and those that validate.

    Parameters
    ----------
    rows : ndarray of uint32
    fraction : float
        Share of the rows to hold out.
    which : {"random", "last"}
    groups : ndarray or None
        Group of each of ``rows``; a group is held out as a whole.
    labels : ndarray or None
        Class of each of ``rows``, to stratify by if there are enough rows.
    seed : int
    shards : Shards or None
        Where the rows are among those of other processes, which make the same call and raise the
        same errors; None if there are none.
    """
    if shards is not None:
        from sumwise.estimators.boosting.peer_validation import (  # few fits have peers
            hold_out_among,
        )

        return hold_out_among(rows, fraction, which, groups, labels, seed, shards)
    n_valid = count_held_out(rows.size, fraction)
    if which == "last" and groups is None:
        return rows[:-n_valid], rows[-n_valid:]
    key = random.make_key(seed, HELD_OUT, 0)
    if groups is not None:
        _, group_idx, counts = np.unique(groups, return_inverse=True, return_counts=True)
        is_valid = np.isin(group_idx, choose_groups(counts, n_valid, key))
        return rows[~is_valid], rows[is_valid]
    if labels is not None:
        _, class_idx, counts = np.unique(labels, return_inverse=True, return_counts=True)
        n_drawn = share_out(n_valid, counts)
        if n_drawn is not None:
            valid, train = draw_strata(key, rows, class_idx, n_drawn)
            return train, valid
    valid, train = draw_lowest(key, rows, n_valid)
    return train, valid


def count_held_out(n_rows: int, fraction: float) -> int:
    """Return how many of some rows are held out."""
    n_valid = int(np.ceil(fraction * n_rows))
    if n_valid >= n_rows:
        raise DataError(
            f"early stopping with validation_fraction={fraction} would "
            f"hold out {n_valid} of {n_rows} rows (n_samples={n_rows}) and leave none to "
            "train on"
        )
    return n_valid


def share_out(n_valid: int, counts: np.ndarray) -> np.ndarray | None:
    """Return how many rows of each class are held out, in proportion to their numbers of rows.

    Training rows are rounded down. The classes with the largest remainders train on one row more;
    of equal ones, the first. None if there are too few rows for all classes to be on both sides.
    """
    n_rows = int(counts.sum())
    if counts.min() < 2 or counts.size > min(n_valid, n_rows - n_valid):
        return None
    n_train, remainder = np.divmod(counts * (n_rows - n_valid), n_rows)
    n_missing = n_rows - n_valid - int(n_train.sum())
    n_train[np.argsort(-remainder, kind="stable")[:n_missing]] += 1
    return counts - n_train


def choose_groups(counts: np.ndarray, n_valid: int, key: np.uint64) -> np.ndarray:
    """Return the groups with the lowest hashes, given the numbers of rows of all groups.

    They are so many that about ``n_valid`` rows are held out.
    """
    if counts.size < 2:
        raise DataError(
            "all rows belong to one group: to hold some out for early stopping, groups must have "
            "at least two; drop groups, or pass X_val and y_val"
        )
    order = np.argsort(hash_numbers(key, counts.size))
    totals = np.cumsum(counts[order])[:-1]  # at least one group trains
    n_groups = int(np.abs(totals - n_valid).argmin()) + 1
    return order[:n_groups]


def number_groups(groups: Any, n_rows: int, peers: Peers = ALONE) -> np.ndarray:
    """Return the groups of rows as numbers.

    Among peers, groups have the same numbers on all of them, and all raise the same errors.
    """
    if peers.size > 1:
        from sumwise.estimators.boosting.peer_validation import (  # few fits have peers
            number_groups_among,
        )

        return number_groups_among(groups, n_rows, peers)
    return find_groups(groups, n_rows)[1]


def find_groups(groups: Any, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the different groups, ascending, and the place of each row's group among them."""
    values = np.asarray(fetch(groups))
    if values.shape != (n_rows,):
        raise DataError(f"groups has shape {values.shape}, expected ({n_rows},), one per row")
    try:
        return np.unique(values, return_inverse=True)
    except TypeError:
        raise mixed_groups() from None


def mixed_groups() -> DataError:
    """Return the error for groups that cannot be compared with each other."""
    return DataError("groups must be of one kind: all numbers or all strings")
