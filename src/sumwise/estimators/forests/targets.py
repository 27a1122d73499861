"""Targets of trees in forests: in the form that kernels take, and back to the given units."""

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sumwise.errors import DataError
from sumwise.estimators.input.targets import refuse_huge_target
from sumwise.kernels.forest.layout import LOGARITHMIC, POISSON, QUADRATIC, TWO_CLASS_LOG
from sumwise.kernels.forest.many_outputs import Labels, MultiLabels, Vectors
from sumwise.kernels.forest.one_output import Numbers
from sumwise.tree.forest import ForestTree
from sumwise.tree.forest_grower import Target

CLASS_CRITERIA = ("gini", "entropy", "log_loss")
NUMBER_CRITERIA = ("squared_error", "poisson")
# Numbers within these powers of two are not scaled: sums of their squares neither overflow nor
# vanish, not even in float32.
_MODEST = 40
# Trees store gains as float32.
_LARGEST_GAIN = 2.0**120
# Bits of the shift: few enough that most targets lose no digits by subtracting it.
_SHIFT_BITS = 20


@dataclass(frozen=True)
class ForestTarget:
    """A target, and how trees that are grown on it are converted to the given units.

    Attributes
    ----------
    target : Numbers, Labels, Vectors or MultiLabels
    n_columns : int
        Columns of the trees' values.
    criterion : int
        A constant of ``kernels.forest.layout``.
    unit : float
        Factor from gains of the kernels to the criterion's unit, as scikit-learn defines it.
    shift : ndarray of float64
        Added to values after they are multiplied by ``scale``.
    scale : float
        A power of two.
    is_class : bool
        Whether the target has classes.
    """

    target: Target
    n_columns: int
    criterion: int
    unit: float = 1.0
    shift: np.ndarray = field(default_factory=lambda: np.zeros(1))
    scale: float = 1.0
    is_class: bool = False

    def find_decrease(self, decrease: float) -> float:
        """Return a decrease of the criterion in the unit of the kernels."""
        return self.scale_down(decrease) / self.unit

    def scale_down(self, impurity: float) -> float:
        """Return an impurity of the given target as one of the scaled target."""
        impurity /= self.scale
        return impurity if self.criterion == POISSON else impurity / self.scale

    def scale_up(self, impurities: np.ndarray) -> np.ndarray:
        """Return impurities of the scaled target as those of the given target."""
        impurities = impurities * self.scale
        return impurities if self.criterion == POISSON else impurities * self.scale

    def restore(self, tree: ForestTree) -> ForestTree:
        """Return a grown tree with gains and values in the units of the given target.

        Gains of a scaled target stay in the unit of the scaled target.
        """
        gain = np.maximum(tree.gain, 0.0) * self.unit  # rounding may make them negative
        if self.scale == 1.0 and not self.shift.any():
            return replace(tree, gain=gain)
        return replace(tree, gain=gain, value=tree.value * self.scale + self.shift)


def make_class_target(
    class_idx: np.ndarray, n_classes: int | list[int], criterion: str
) -> ForestTarget:
    """Return the target of a classifier: one column for two classes, otherwise one per class.

    With several outputs, ``class_idx`` has a column per output, ``n_classes`` is a list, and every
    class has a column.
    """
    is_gini = criterion == "gini"
    unit = 1.0 if is_gini else 1.0 / math.log(2.0)  # entropy is measured in bits
    if isinstance(n_classes, list):
        ends = np.cumsum(n_classes, dtype=np.int64)
        first = ends - n_classes
        columns = MultiLabels(np.ascontiguousarray(class_idx + first, dtype=np.int64), first)
        kind = QUADRATIC if is_gini else LOGARITHMIC
        return ForestTarget(columns, int(ends[-1]), kind, unit / len(n_classes), is_class=True)
    if n_classes <= 2:
        kind = QUADRATIC if is_gini else TWO_CLASS_LOG
        # Both classes contribute the same to Gini impurity.
        numbers = Numbers(class_idx.astype(np.float64))
        return ForestTarget(numbers, 1, kind, 2.0 if is_gini else unit, is_class=True)
    labels = Labels(np.ascontiguousarray(class_idx, dtype=np.int64))
    kind = QUADRATIC if is_gini else LOGARITHMIC
    return ForestTarget(labels, n_classes, kind, unit, is_class=True)


def make_number_target(y: np.ndarray, weight: np.ndarray | None, criterion: str) -> ForestTarget:
    """Return the target of a regressor, with one column per number to predict."""
    values = np.array(y, dtype=np.float64)
    columns = values.reshape(values.shape[0], -1)
    refuse_huge_target(columns)
    n_columns = columns.shape[1]
    shift = np.zeros(n_columns)
    scale = find_scale(columns)
    columns /= scale
    if criterion == "poisson":
        _check_counts(columns)
    else:
        shift = _find_shift(columns, weight)
        columns -= shift
        # The range around the shift may be much narrower than the numbers themselves.
        more = find_scale(columns)
        columns /= more
        rest = _find_gain_scale(columns, weight)
        columns /= rest
        more *= rest
        scale *= more
        shift /= more
    target: Any = Numbers(columns[:, 0].copy()) if n_columns == 1 else Vectors(columns)
    kind = POISSON if criterion == "poisson" else QUADRATIC
    return ForestTarget(target, n_columns, kind, 1.0 / n_columns, shift * scale, scale)


def find_scale(numbers: np.ndarray) -> float:
    """Return the power of two to divide by; 1 if the numbers are neither huge nor tiny."""
    largest = float(np.abs(numbers).max(initial=0.0))
    if largest == 0.0 or 2.0**-_MODEST <= largest <= 2.0**_MODEST:
        return 1.0
    return 2.0 ** min(math.frexp(largest)[1], 1023)


def scale_weight(weight: np.ndarray | None, n_rows: int) -> tuple[np.ndarray | None, float]:
    """Return weights that are neither huge nor tiny, and the sum of the given ones."""
    if weight is None:
        return None, float(n_rows)
    scale = find_scale(weight)
    weight = weight / scale
    return weight, float(weight.sum()) * scale


def _find_gain_scale(columns: np.ndarray, weight: np.ndarray | None) -> float:
    """Return the power of two to divide by so that no gain overflows float32; usually 1."""
    total = columns.shape[0] if weight is None else weight.sum()
    largest_gain = float(total) * float(np.abs(columns).max()) ** 2
    if largest_gain <= _LARGEST_GAIN:
        return 1.0
    return 2.0 ** math.ceil(math.log2(largest_gain / _LARGEST_GAIN) / 2.0)


def _find_shift(columns: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    """Return approximate means of the columns, as numbers of few digits.

    Far from zero, sums of squares would lose the digits in which targets differ.
    """
    mean = np.average(columns, axis=0, weights=weight)
    spread = np.abs(columns - mean).max(axis=0)
    step = 2.0 ** (np.frexp(spread)[1] - float(_SHIFT_BITS))
    rounded = np.round(mean / step) * step
    return np.where((spread > 0.0) & np.isfinite(rounded), rounded, mean)


def _check_counts(columns: np.ndarray) -> None:
    if (columns < 0).any():
        row = int(np.argwhere(columns < 0)[0, 0])
        raise DataError(
            f"criterion='poisson' is for targets that are not negative; Some value(s) of y are "
            f"negative, in row {row} first"
        )
    if (columns.sum(axis=0) <= 0).any():
        raise DataError("criterion='poisson': the sum of y is not positive, so it has no rate")
