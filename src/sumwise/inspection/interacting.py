"""Which feature interacts most with another, as far as an explanation can tell."""

import numpy as np

from sumwise.inspection.explanation import Explanation, read_numbers, show_value

# Groups of a feature's values that are compared.
_MOST_GROUPS = 5


def find_interacting(explanation: Explanation, feature: int) -> int | None:
    """Return the feature that interacts most with a feature; None if there is no other.

    With interactions, it is the one of the largest mean interaction. Otherwise contributions are
    compared among rows with similar values of the feature: it is the other feature whose values
    explain most of their differences, by the adjusted R².
    """
    others = [k for k in range(len(explanation.feature_names)) if k != feature]
    if not others:
        return None
    if explanation.interactions is not None:
        strength = np.abs(explanation.interactions[:, feature]).mean(axis=0)
        return max(others, key=lambda k: float(strength[k]))
    y, data = explanation.values[:, feature], explanation.data
    own = _group_values(data[:, feature], int(np.clip(y.size // 50, 1, 12)))
    rest = y - _average_groups(own, y)

    def explain_rest(k: int) -> float:
        """Return the adjusted share of the variance that cells of both features explain."""
        pairs = own * (_MOST_GROUPS + 2) + _group_values(data[:, k], _MOST_GROUPS)
        cells = np.unique(pairs, return_inverse=True)[1]
        n_free = y.size - int(cells.max()) - 1
        total = float((rest**2).sum())
        if n_free < 1 or total == 0.0:
            return 0.0
        within = float(((rest - _average_groups(cells, rest)) ** 2).sum())
        return 1.0 - (within / n_free) / (total / y.size)

    return max(others, key=explain_rest)


def _group_values(column: np.ndarray, n_groups: int) -> np.ndarray:
    """Return the group of each row, at most ``n_groups`` and one for missing values.

    Groups are ranges of numbers, or the most frequent categories and all others.
    """
    numbers = read_numbers(column)
    is_known = ~np.isnan(numbers)
    groups = np.zeros(numbers.size, dtype=np.int64)
    known = numbers[is_known]
    found, places, counts = np.unique(known, return_inverse=True, return_counts=True)
    if found.size > n_groups and has_order(column):
        cuts = np.quantile(known, np.linspace(0, 1, n_groups + 1)[1:-1], method="nearest")
        places = np.searchsorted(cuts, known, side="right")
    elif found.size > n_groups:
        by_count = np.empty(found.size, dtype=np.int64)
        by_count[np.argsort(-counts, kind="stable")] = np.arange(found.size)
        places = np.minimum(by_count[places], n_groups - 1)
    groups[is_known] = places + 1
    return groups


def _average_groups(groups: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the mean of each row's group."""
    counts = np.maximum(np.bincount(groups), 1)
    return (np.bincount(groups, y) / counts)[groups]


def has_order(column: np.ndarray) -> bool:
    """Whether the values are numbers or dates, not categories."""
    if column.dtype.kind in "buifMm":
        return True
    known = (value for value in column if show_value(value) != "missing")
    first = next(known, None)
    return not isinstance(first, str) and first is not None
