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
        own_groups = number_groups(groups, train.n_rows)[rows]
    labels = train.target[rows] if is_classification else None
    fraction, which = params.validation_fraction, params.validation_rows
    return train.number(*hold_out_rows(rows, fraction, which, own_groups, labels, seed))


def hold_out_rows(
    rows: np.ndarray,
    fraction: float,
    which: str,
    groups: np.ndarray | None,
    labels: np.ndarray | None,
    seed: int,
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
    """
    n_valid = int(np.ceil(fraction * rows.size))
    if n_valid >= rows.size:
        raise DataError(
            f"early stopping with validation_fraction={fraction} would "
            f"hold out {n_valid} of {rows.size} rows (n_samples={rows.size}) and leave none to "
            "train on"
        )
    if which == "last" and groups is None:
        return rows[:-n_valid], rows[-n_valid:]
    key = random.make_key(seed, HELD_OUT, 0)
    if groups is not None:
        is_valid = _choose_groups(groups, n_valid, key)
        return rows[~is_valid], rows[is_valid]
    if labels is not None:
        _, class_idx, counts = np.unique(labels, return_inverse=True, return_counts=True)
        if counts.min() >= 2 and counts.size <= min(n_valid, rows.size - n_valid):
            valid, train = draw_strata(key, rows, class_idx, _share_out(n_valid, counts))
            return train, valid
    valid, train = draw_lowest(key, rows, n_valid)
    return train, valid


def _share_out(n_valid: int, counts: np.ndarray) -> np.ndarray:
    """Return how many rows of each class are held out, in proportion to their numbers of rows.

    Training rows are rounded down. The classes with the largest remainders train on one row more;
    of equal ones, the first.
    """
    n_rows = int(counts.sum())
    n_train, remainder = np.divmod(counts * (n_rows - n_valid), n_rows)
    n_missing = n_rows - n_valid - int(n_train.sum())
    n_train[np.argsort(-remainder, kind="stable")[:n_missing]] += 1
    return counts - n_train


def _choose_groups(groups: np.ndarray, n_valid: int, key: np.uint64) -> np.ndarray:
    """Return whether each row is held out: those of the groups with the lowest hashes.

    They are so many that about ``n_valid`` rows are held out.
    """
    _, group_idx, counts = np.unique(groups, return_inverse=True, return_counts=True)
    if counts.size < 2:
        raise DataError(
            "all rows belong to one group: to hold some out for early stopping, groups must have "
            "at least two; drop groups, or pass X_val and y_val"
        )
    order = np.argsort(hash_numbers(key, counts.size))
    totals = np.cumsum(counts[order])[:-1]  # at least one group trains
    n_groups = int(np.abs(totals - n_valid).argmin()) + 1
    return np.isin(group_idx, order[:n_groups])


def number_groups(groups: Any, n_rows: int) -> np.ndarray:
    """Return the groups of rows as numbers."""
    values = np.asarray(fetch(groups))
    if values.shape != (n_rows,):
        raise DataError(f"groups has shape {values.shape}, expected ({n_rows},), one per row")
    try:
        return np.unique(values, return_inverse=True)[1]
    except TypeError:
        raise DataError("groups must be of one kind: all numbers or all strings") from None
