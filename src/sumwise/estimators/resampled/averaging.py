"""Means of what members predict, for all rows or for the rows out of their bags."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from sumwise.combine.classes import normalize_probabilities, one_hot, place_classes
from sumwise.combine.out_of_bag import OutOfBagMean
from sumwise.data.frames.selection import take_features, take_rows
from sumwise.errors import DataError

# Members whose predictions one job sums up. Fixed: the order of additions, and thus the last bits
# of the sums, must not depend on the number of jobs.
MEMBERS_PER_BLOCK = 4

# From (member, X) to what is averaged.
Reader = Callable[[Any, Any], np.ndarray]


class NumberedMember(NamedTuple):
    """A fitted member, its number, and the features it was fitted on, None for all."""

    number: int
    member: Any
    features: np.ndarray | None

    def predict(self, X: Any, read: Reader) -> np.ndarray:
        """Return what the member predicts."""
        return read(self.member, take_features(X, self.features))


class OutOfBagValues(NamedTuple):
    """Means over the members that have not seen a row, and which rows have any."""

    values: np.ndarray
    is_covered: np.ndarray


def average_members(
    members: Sequence[NumberedMember], X: Any, read: Reader, n_jobs: int | None, verbose: int
) -> np.ndarray:
    """Return the mean of what the members predict."""
    sums = Parallel(n_jobs=n_jobs, verbose=verbose)(
        delayed(_sum_block)(block, X, read) for block in _split(members)
    )
    return _add_up(sums) / len(members)


def average_out_of_bag(
    members: Sequence[NumberedMember],
    X: Any,
    read: Reader,
    find_rows: Callable[[int], np.ndarray],
    shape: tuple[int, ...],
    n_rows: int,
    n_jobs: int | None,
    verbose: int,
) -> OutOfBagValues:
    """Return the mean over the members that have not seen a row.

    ``find_rows`` returns the out-of-bag rows of a member by its number. ``shape`` is that of one
    row's prediction.
    """
    mean = OutOfBagMean(n_rows, shape)
    for part in Parallel(n_jobs=n_jobs, verbose=verbose)(
        delayed(_sum_out_of_bag)(block, X, read, find_rows, shape, n_rows)
        for block in _split(members)
    ):
        mean.merge(part)
    return OutOfBagValues(mean.mean(), mean.is_covered)


def read_numbers(member: Any, X: Any, method: str, params: Mapping[str, Any]) -> np.ndarray:
    """Return what a regressor predicts."""
    return np.asarray(getattr(member, method)(X, **params), dtype=np.float64)


def read_votes(
    member: Any, X: Any, method: str, params: Mapping[str, Any], n_classes: int
) -> np.ndarray:
    """Return a classifier's values for all classes; labels as probabilities of 0 and 1."""
    places = np.asarray(getattr(member, "classes_", np.arange(n_classes))).astype(np.intp)
    if method == "decision_function" and places.size < n_classes:
        raise DataError(
            f"a member has seen {places.size} of {n_classes} classes, so the members' decision "
            "values are not comparable: use predict_proba"
        )
    predicted = np.asarray(getattr(member, method)(X, **params))
    if method == "predict":
        return one_hot(predicted.astype(np.intp), n_classes)
    if method == "predict_proba":
        return normalize_probabilities(place_classes(predicted, places, n_classes))
    return predicted


def _split(members: Sequence[NumberedMember]) -> list[Sequence[NumberedMember]]:
    firsts = range(0, len(members), MEMBERS_PER_BLOCK)
    return [members[first : first + MEMBERS_PER_BLOCK] for first in firsts]


def _sum_block(block: Sequence[NumberedMember], X: Any, read: Reader) -> np.ndarray:
    return _add_up([item.predict(X, read) for item in block])


def _add_up(arrays: list[np.ndarray]) -> np.ndarray:
    """Return the sum, added in the order of the list."""
    total = arrays[0].copy()
    for array in arrays[1:]:
        total += array
    return total


def _sum_out_of_bag(
    block: Sequence[NumberedMember],
    X: Any,
    read: Reader,
    find_rows: Callable[[int], np.ndarray],
    shape: tuple[int, ...],
    n_rows: int,
) -> OutOfBagMean:
    result = OutOfBagMean(n_rows, shape)
    for item in block:
        rows = find_rows(item.number)
        if rows.size:
            result.add(rows, item.predict(take_rows(X, rows), read))
    return result
