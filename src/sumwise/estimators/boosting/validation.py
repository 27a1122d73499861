"""Validation rows: given by the user, or held out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from sumwise.data.matrix import Matrix
from sumwise.data.table import take_rows
from sumwise.errors import DataError, ParameterError
from sumwise.estimators.input.features import read_rows
from sumwise.estimators.input.targets import check_init_score, check_sample_weight, read_target
from sumwise.losses import Loss
from sumwise.training.boost import TrainingRows

_MOST_ROWS = (1 << 32) - 1


@dataclass(frozen=True)
class LabeledRows:
    """X, y and what belongs to them.

    Attributes
    ----------
    given : Any
        X as the user passed it.
    matrix : ndarray or ColumnMatrix
        X as trees read it.
    y : ndarray
        The target as users know it.
    target : ndarray of float64
        The target as the loss takes it.
    weight : ndarray or None
        None where all weights are one.
    init_score : ndarray of shape (n_outputs, n_rows) or None
    rows : ndarray or None
        Numbers of the rows that take part, None for all.
    """

    given: Any
    matrix: Matrix
    y: np.ndarray
    target: np.ndarray
    weight: np.ndarray | None
    init_score: np.ndarray | None
    rows: np.ndarray | None = None

    @property
    def n_rows(self) -> int:
        return len(self.target)

    def find_rows(self) -> np.ndarray:
        """Row numbers; rows of weight zero take no part."""
        if self.rows is None:
            return _number_rows(self.n_rows, self.weight)
        return self.rows if self.weight is None else self.rows[self.weight[self.rows] > 0]

    def number(self, train: np.ndarray, valid: np.ndarray) -> TrainingRows:
        """Return them for training, with the numbers of rows that train and that validate."""
        weight = np.empty(0) if self.weight is None else self.weight
        return TrainingRows(self.target, weight, train, valid, self.init_score)

    def take(self, rows: np.ndarray) -> tuple[Any, np.ndarray, np.ndarray | None]:
        """Return X, y and weights of some rows; X is a frame if it was given as one."""
        weight = None if self.weight is None else self.weight[rows]
        return take_rows(self.given, rows), self.y[rows], weight


def as_target(y: np.ndarray) -> np.ndarray:
    """Return y as losses take it: floats, several targets one after the other."""
    return np.asarray(y, dtype=np.float64, order="F")


def _number_rows(n_rows: int, weight: np.ndarray | None) -> np.ndarray:
    if n_rows > _MOST_ROWS:
        raise DataError(f"{n_rows} rows are too many; the limit is {_MOST_ROWS}")
    rows = np.arange(n_rows, dtype=np.uint32)
    return rows if weight is None else rows[weight > 0]


def read_validation(
    estimator: Any, loss: Loss, X: Any, y: Any, sample_weight: Any, init_score: Any
) -> LabeledRows | None:
    """Check what ``fit`` got as X_val, y_val and so on; None where there is no X_val.

    ``estimator`` knows the features and classes of the training data.
    """
    if X is None:
        others = {"y_val": y, "sample_weight_val": sample_weight, "init_score_val": init_score}
        useless = [name for name, value in others.items() if value is not None]
        if useless:
            raise DataError(f"{useless[0]} belongs to X_val, which is missing")
        return None
    if y is None:
        raise DataError("X_val needs y_val, the target of its rows")
    matrix = read_rows(estimator, X)
    n_rows = matrix.shape[0]
    many = getattr(estimator, "_takes_many_targets", False)
    labels = read_target(y, is_number=not is_classifier(estimator), name="y_val", many=many)
    if len(labels) != n_rows:
        raise DataError(f"X_val has {n_rows} rows, and y_val {len(labels)}")
    target = as_target(estimator._encode_validation(labels))
    weight = check_sample_weight(sample_weight, n_rows, "sample_weight_val")
    weight = estimator._weigh_classes(target, weight)
    loss.check_target(target, np.empty(0) if weight is None else weight)
    scores = check_init_score(init_score, n_rows, loss.n_outputs, "init_score_val")
    return LabeledRows(X, matrix, labels, target, weight, scores)


def append_rows(train: LabeledRows, sets: Sequence[LabeledRows]) -> TrainingRows:
    """Put validation sets after the training rows, one after the other."""
    parts, n_train = (train, *sets), train.n_rows
    if len({part.init_score is None for part in parts}) > 1:
        raise DataError(
            "scores to start from belong to training and to validation rows: pass both init_score "
            "and init_score_val, or neither (with eval_set, eval_init_score for each of its sets)"
        )
    weight = init_score = None
    if any(part.weight is not None for part in parts):
        weight = np.concatenate(
            [np.ones(p.n_rows) if p.weight is None else p.weight for p in parts]
        )
    if train.init_score is not None:
        known = [part.init_score for part in parts if part.init_score is not None]
        init_score = np.concatenate(known, axis=1)
    target = np.concatenate([part.target for part in parts])
    rows = _number_rows(len(target), weight)
    n_first = np.searchsorted(rows, n_train)
    no_weight = np.empty(0) if weight is None else weight
    return TrainingRows(target, no_weight, rows[:n_first], rows[n_first:], init_score)


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
        Class of each of ``rows``, whose shares are kept where there are enough rows.
    seed : int
    """
    n_valid = int(np.ceil(fraction * rows.size))
    if n_valid >= rows.size:
        raise DataError(
            f"early stopping with validation_fraction={fraction} would "
            f"hold out {n_valid} of {rows.size} rows (n_samples={rows.size}) and leave none to "
            "train on"
        )
    if groups is not None:
        is_valid = _choose_groups(groups, n_valid, seed)
        return rows[~is_valid], rows[is_valid]
    if which == "last":
        return rows[:-n_valid], rows[-n_valid:]
    # Its import takes a tenth of a second, which no other fit should wait for.
    from sklearn.model_selection import train_test_split

    if labels is not None:
        counts = np.unique(labels, return_counts=True)[1]
        if counts.min() < 2 or counts.size > min(n_valid, rows.size - n_valid):
            labels = None
    train, valid = train_test_split(rows, test_size=fraction, random_state=seed, stratify=labels)
    return np.sort(train), np.sort(valid)


def _choose_groups(groups: np.ndarray, n_valid: int, seed: int) -> np.ndarray:
    """Return whether each row is held out: whole groups, drawn until there are about enough."""
    _, group_idx, counts = np.unique(groups, return_inverse=True, return_counts=True)
    if counts.size < 2:
        raise DataError(
            "all rows belong to one group: to hold some out for early stopping, groups must have "
            "at least two; drop groups, or pass X_val and y_val"
        )
    order = np.random.RandomState(seed).permutation(counts.size)
    totals = np.cumsum(counts[order])[:-1]  # at least one group trains
    n_groups = int(np.abs(totals - n_valid).argmin()) + 1
    return np.isin(group_idx, order[:n_groups])


def check_groups(estimator: Any, groups: Any, n_rows: int) -> np.ndarray | None:
    """Return one group a row, as numbers, or None."""
    if groups is None:
        return None
    if estimator.validation_rows == "last":
        raise ParameterError(
            f"{type(estimator).__name__}: validation_rows='last' holds out rows by their number, "
            "and groups as a whole: pass only one of them"
        )
    return _number_groups(groups, n_rows)


def require_groups(estimator: Any, groups: Any, n_rows: int) -> np.ndarray:
    """Return one group a row, as numbers, for a sampler that needs them."""
    if groups is None:
        raise ParameterError(
            f"{type(estimator).__name__}: sampler={estimator.sampler!r} draws whole groups; pass "
            "groups=... to fit, one entry a row"
        )
    return _number_groups(groups, n_rows)


def _number_groups(groups: Any, n_rows: int) -> np.ndarray:
    values = np.asarray(groups)
    if values.shape != (n_rows,):
        raise DataError(f"groups has shape {values.shape}, expected ({n_rows},), one a row")
    try:
        return np.unique(values, return_inverse=True)[1]
    except TypeError:
        raise DataError("groups must be of one kind: all numbers or all strings") from None


def encode_labels(name: str, y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the place of each label among the classes."""
    place = {label: k for k, label in enumerate(classes.tolist())}
    found, inverse = np.unique(y, return_inverse=True)
    unknown = [label for label in found.tolist() if label not in place]
    if unknown:
        raise DataError(
            f"{name} has classes that are not among those to learn: {unknown[:5]}; "
            f"known are {classes.tolist()[:20]}"
        )
    return np.array([place[label] for label in found.tolist()], dtype=np.intp)[inverse]
