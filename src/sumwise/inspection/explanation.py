"""Explanation: how much each feature adds to the score of each row."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np

from sumwise.errors import DataError, ParameterError
from sumwise.lazy import late_function

_ROW, _FEATURE, _OUTPUT = "row", "feature", "output"

_BASE_VALUE = "base value"

_EPOCH, _SECOND = np.datetime64(0, "s"), np.timedelta64(1, "s")

# Features or outputs that the summary lists.
_MOST_SHOWN = 5


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """Contributions (SHAP values) of the features to the scores of rows.

    For every row and output, the contributions and the base value add up to the score that is
    explained. Models make explanations by their method ``explain``.

    Indexing works as for a NumPy array of shape (rows, features, outputs), and as in
    ``shap.Explanation``: ``explanation[:10]`` are rows, ``explanation[3]`` is one row,
    ``explanation[:, "age"]`` one feature, ``explanation[..., "yes"]`` one output. Explanations
    of the same rows can be added, and multiplied by numbers: a weighted sum of models is explained
    by the weighted sum of their explanations.

    Attributes
    ----------
    values : ndarray of shape (n_rows, n_features) or (n_rows, n_features, n_outputs)
        Contributions. A model with one output, such as a regressor or a classifier of two classes,
        has no axis for it. An axis disappears if one item of it is selected.
    base_values : ndarray of shape (n_rows,) or (n_rows, n_outputs)
        The score if nothing is known about a row.
    data : ndarray of shape (n_rows, n_features)
        The values of the features, as in X: numbers, names of categories, dates.
    feature_names : tuple of str
        The name itself if one feature was selected.
    output_names : tuple of str, str or None
        Classes or targets; the name itself if there is one output, None if it has no name.
    interactions : ndarray of shape (n_rows, n_features, n_features, ...) or None
        Interactions of pairs of features, if they were asked for. They add up to ``values``; on
        the diagonal is what a feature contributes on its own.
    scale : str
        What the scores are, such as "log odds" or "probability".

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sumwise import GradientBoostingRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = GradientBoostingRegressor(n_estimators=20, random_state=0).fit(X, y)
    >>> explanation = model.explain(X)
    >>> explanation.values.shape
    (442, 10)
    >>> bool(abs(explanation.outputs - model.predict(X)).max() < 1e-9)
    True
    >>> explanation[0].feature_names[explanation[0].values.argmax()]
    'bmi'
    """

    values: np.ndarray
    base_values: np.ndarray
    data: np.ndarray
    feature_names: tuple[str, ...] | str
    output_names: tuple[str, ...] | str | None = None
    interactions: np.ndarray | None = None
    scale: str = ""

    # NumPy must not take it for a sequence: weight * explanation is an explanation.
    __array_ufunc__ = None

    def __post_init__(self) -> None:
        for name in ("values", "base_values", "data"):
            object.__setattr__(self, name, np.asarray(getattr(self, name)))
        for name in ("feature_names", "output_names"):
            names = getattr(self, name)
            if not (names is None or isinstance(names, str)):
                object.__setattr__(self, name, tuple(map(str, names)))
        base = self.base_values
        rows = base.shape[:1] if base.ndim > self._has_outputs else ()
        features = (len(self.feature_names),) if self._has_features else ()
        outputs = (len(self.output_names or ()),) if self._has_outputs else ()
        expected = (rows + features + outputs, rows + outputs, rows + features)
        found = (self.values.shape, base.shape, self.data.shape)
        if found != expected:
            raise DataError(
                f"values, base_values and data have shapes {', '.join(map(str, found))}, which do "
                f"not fit the names of features and outputs: {', '.join(map(str, expected))}"
            )

    @property
    def _has_features(self) -> bool:
        return not isinstance(self.feature_names, str)

    @property
    def _has_outputs(self) -> bool:
        return not (self.output_names is None or isinstance(self.output_names, str))

    @property
    def _axes(self) -> tuple[str, ...]:
        """The axes of ``values``."""
        has = {
            _ROW: self.base_values.ndim > self._has_outputs,
            _FEATURE: self._has_features,
            _OUTPUT: self._has_outputs,
        }
        return tuple(axis for axis, is_there in has.items() if is_there)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of ``values``."""
        return self.values.shape

    @property
    def outputs(self) -> np.ndarray:
        """The scores that are explained: base values plus contributions.

        If features were selected, only these count.
        """
        if not self._has_features:
            return self.base_values + self.values
        return self.base_values + self.values.sum(axis=self._axes.index(_FEATURE))

    @property
    def importances(self) -> np.ndarray:
        """Mean size of the contributions, (n_features,) or (n_features, n_outputs)."""
        sizes = np.abs(self.values)
        return sizes.mean(axis=0) if _ROW in self._axes else sizes

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Return ``values``, which NumPy would otherwise collect item by item."""
        return (np.array if copy else np.asarray)(self.values, dtype=dtype)

    def __len__(self) -> int:
        """Return the length of the first axis, usually the number of rows."""
        return len(self.values)

    # --- selections ---

    def __getitem__(self, key: Any) -> "Explanation":
        """Select rows, features and outputs, by numbers, names, slices or masks."""
        chosen = self._read_key(key)
        feature = chosen.get(_FEATURE, slice(None))
        names, interactions = self.feature_names, self.interactions
        if interactions is not None:
            if isinstance(feature, int):
                interactions = None  # those of one feature are not contributions of features
            else:
                axes = [a for axis in self._axes for a in [axis] * (2 if axis == _FEATURE else 1)]
                interactions = _take(interactions, axes, chosen)
        if self._has_features:
            names = _take_names(self.feature_names, feature)
        outputs = self.output_names
        if self._has_outputs:
            outputs = _take_names(outputs or (), chosen.get(_OUTPUT, slice(None)))
        by_row = [axis for axis in self._axes if axis != _FEATURE]
        of_data = [axis for axis in self._axes if axis != _OUTPUT]
        return replace(
            self,
            values=_take(self.values, self._axes, chosen),
            base_values=_take(self.base_values, by_row, chosen),
            data=_take(self.data, of_data, chosen),
            feature_names=names,
            output_names=outputs,
            interactions=interactions,
        )

    def _read_key(self, key: Any) -> dict[str, Any]:
        """Return what is selected of each axis, with numbers in place of names."""
        items = list(key) if isinstance(key, tuple) else [key]
        axes = self._axes
        places = [k for k, item in enumerate(items) if item is Ellipsis]
        if len(places) > 1 or len(items) - len(places) > len(axes):
            raise IndexError(f"too many indices for an explanation with axes {', '.join(axes)}")
        if places:
            fill = [slice(None)] * (len(axes) - len(items) + 1)
            items[places[0] : places[0] + 1] = fill
        names = {_FEATURE: self.feature_names, _OUTPUT: self.output_names or ()}
        return {
            axis: _find_names(axis, item, names.get(axis, ()))
            for axis, item in zip(axes, items, strict=False)
        }

    # --- sums ---

    def __add__(self, other: Any) -> "Explanation":
        if isinstance(other, Real) and other == 0:  # the start of sum()
            return self
        if not isinstance(other, Explanation):
            return NotImplemented
        if self._names != other._names or self.shape != other.shape:
            raise ParameterError(
                "explanations of different features, outputs or numbers of rows cannot be added: "
                f"{self.shape} and {other.shape}"
            )
        interactions = None
        if self.interactions is not None and other.interactions is not None:
            interactions = self.interactions + other.interactions
        return replace(
            self,
            values=self.values + other.values,
            base_values=self.base_values + other.base_values,
            interactions=interactions,
            scale=self.scale if self.scale == other.scale else "",
        )

    __radd__ = __add__

    def __sub__(self, other: Any) -> "Explanation":
        return self + (-1.0) * other

    def __neg__(self) -> "Explanation":
        return self * -1.0

    def __mul__(self, factor: Any) -> "Explanation":
        if not isinstance(factor, Real):
            return NotImplemented
        interactions = None if self.interactions is None else self.interactions * factor
        return replace(
            self,
            values=self.values * factor,
            base_values=self.base_values * factor,
            interactions=interactions,
        )

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> "Explanation":
        return self * (1.0 / divisor) if isinstance(divisor, Real) else NotImplemented

    @property
    def _names(self) -> tuple[Any, ...]:
        return self.feature_names, self.output_names

    # --- other forms ---

    def __repr__(self) -> str:
        parts = [
            _count(len(self), "row") if _ROW in self._axes else "one row",
            _count(len(self.feature_names), "feature") if self._has_features else "one feature",
        ]
        if self._has_outputs:
            parts.append(_count(len(self.output_names or ()), "output"))
        lines = [f"<Explanation of the {self.scale or 'score'}: {', '.join(parts)}>"]
        if self._has_outputs:
            names = list(self.output_names or ())
            more = ", ..." if len(names) > _MOST_SHOWN else ""
            lines.append(f"  outputs: {', '.join(names[:_MOST_SHOWN])}{more}")
        if self._has_features and not self._has_outputs and self.values.size:
            lines += self._summarize()
        return "\n".join(lines)

    def _summarize(self) -> list[str]:
        """Return a line for each of the features that contribute most."""
        is_row = _ROW not in self._axes
        order = np.argsort(-self.importances, kind="stable")
        sizes = self.values if is_row else self.importances
        lines = ["  feature: contribution" if is_row else "  feature: mean size of contributions"]
        if is_row:
            lines.append(f"  base value: {show_number(float(self.base_values), 4, '+')}")
        for k in order[:_MOST_SHOWN].tolist():
            name = self.feature_names[k]
            if is_row:
                known = f"{name} = {show_value(self.data[k])}"
                lines.append(f"  {known}: {show_number(sizes[k], 4, '+')}")
            else:
                lines.append(f"  {name}: {show_number(sizes[k], 4)}")
        if order.size > _MOST_SHOWN:
            lines.append(f"  and {order.size - _MOST_SHOWN:,} more")
        return lines

    _repr_html_ = late_function("sumwise.report.notebook", "show_explanation")

    def to_dict(self) -> dict[str, Any]:
        """Return the contributions by feature, for example to make a frame of them.

        Returns
        -------
        dict of str to ndarray
            ``"base value"`` first, then the features; or, with several outputs, such a dict for
            each output.
        """
        if self._has_outputs:
            return {name: self[..., k].to_dict() for k, name in enumerate(self.output_names or ())}
        names = (self.feature_names,) if isinstance(self.feature_names, str) else self.feature_names
        if _BASE_VALUE in names:
            raise DataError(f"a feature has the name {_BASE_VALUE!r}: rename it, or use ``values``")
        columns = np.moveaxis(self.values, -1, 0) if self._has_features else self.values[None]
        return {_BASE_VALUE: self.base_values, **dict(zip(names, columns, strict=True))}

    def to_frame(self, index: Any = None) -> Any:
        """Return the contributions as a frame of pandas, one row per row and column per feature.

        With several outputs, the columns have two levels, output and feature.

        Parameters
        ----------
        index : array-like, default=None
            Labels of the rows, such as ``X.index``; None for numbers from 0.
        """
        try:
            import pandas as pd  # type: ignore[import-untyped]
        except ImportError:
            raise ImportError("to_frame needs pandas; to_dict has the same numbers") from None
        by_output = self.to_dict()
        if not self._has_outputs:
            return pd.DataFrame({k: np.atleast_1d(v) for k, v in by_output.items()}, index)
        frames = {
            output: pd.DataFrame({k: np.atleast_1d(v) for k, v in by_feature.items()}, index)
            for output, by_feature in by_output.items()
        }
        return pd.concat(frames, axis=1)

    def to_shap(self) -> Any:
        """Return a ``shap.Explanation``, which the plots of shap draw.

        Names of categories become ``display_data``, and ``data`` has numbers in their place,
        because the plots need numbers for colors and positions. Needs ``pip install
        'sumwise[shap]'``.
        """
        try:
            import shap  # type: ignore[import-untyped]
        except ImportError:
            raise ImportError(
                "to_shap needs shap: install it with pip install 'sumwise[shap]'"
            ) from None
        numbers = self.to_numbers()
        is_same = self.data.dtype.kind in "buif"
        names = list(self.feature_names) if self._has_features else self.feature_names
        outputs = list(self.output_names or ()) if self._has_outputs else self.output_names
        return shap.Explanation(
            values=self.values[()],  # a scalar in place of an array without axes
            base_values=self.base_values[()],
            data=numbers[()],
            display_data=None if is_same else self.data[()],
            feature_names=names,
            output_names=outputs,
        )

    def to_numbers(self) -> np.ndarray:
        """Return ``data`` as floats.

        Categories are numbered by their order; dates and durations count in seconds.
        """
        if self.data.dtype.kind in "buif":
            return self.data.astype(np.float64)
        if self._has_features and self.data.ndim:
            columns = [read_numbers(column) for column in np.moveaxis(self.data, -1, 0)]
            return np.stack(columns, axis=-1)
        return read_numbers(self.data)


def read_numbers(column: np.ndarray) -> np.ndarray:
    """Return the values of one feature as floats, NaN for missing ones; categories as codes."""
    items = list(np.atleast_1d(column))
    is_known = np.array([not _is_missing(item) for item in items], dtype=np.bool_)
    known = np.array([item for item in items if not _is_missing(item)])
    numbers = np.full(len(items), np.nan)
    if known.dtype.kind == "M":
        known = known - _EPOCH
    if known.dtype.kind == "m":
        known = known / _SECOND
    if known.dtype.kind not in "buif":
        known = np.unique(known.astype(str), return_inverse=True)[1]
    numbers[is_known] = known
    return numbers.reshape(np.shape(column))


def _is_missing(item: Any) -> bool:
    """Whether an object is None, NaN, NA or NaT."""
    if item is None or type(item).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(item, (np.datetime64, np.timedelta64)):
        return bool(np.isnat(item))
    return isinstance(item, (float, np.floating)) and bool(item != item)


def show_value(value: Any) -> str:
    """Return the value of a feature as text."""
    if _is_missing(value):
        return "missing"
    if isinstance(value, (float, np.floating)):
        # Four digits, and all of an amount: 12345.6 is not 1.235e+04.
        is_plain = 100.0 <= abs(float(value)) < 1e15
        return f"{value:.2f}".rstrip("0").rstrip(".") if is_plain else f"{value:.4g}"
    if isinstance(value, np.datetime64):
        return str(value.astype("datetime64[s]")).removesuffix("T00:00:00")
    if isinstance(value, np.timedelta64):
        return str(value.astype("timedelta64[s]").item())  # 1 day, 2:30:00
    return str(value)


def show_number(number: float, n_digits: int = 3, sign: str = "") -> str:
    """Return a number with some digits; large ones in full. ``sign="+"`` shows that of all."""
    is_large = 10.0**n_digits <= abs(number) < 1e9
    return f"{number:{sign},.0f}" if is_large else f"{number:{sign}.{n_digits}g}"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" + ("" if number == 1 else "s")


def _take(array: np.ndarray, axes: Sequence[str], chosen: Mapping[str, Any]) -> Any:
    """Select from every axis on its own; the last axes first, because axes may disappear."""
    for place in range(len(axes) - 1, -1, -1):
        item = chosen.get(axes[place], slice(None))
        if not (isinstance(item, slice) and item == slice(None)):
            array = array[(slice(None),) * place + (item,)]
    return array


def _take_names(names: Sequence[str], item: Any) -> tuple[str, ...] | str:
    taken = np.array(names, dtype=object)[item]
    return str(taken) if isinstance(item, int) else tuple(taken.tolist())


def _find_names(axis: str, item: Any, names: Sequence[str]) -> Any:
    """Return a selection with numbers in place of names."""
    if isinstance(item, (int, np.integer)) and not isinstance(item, bool):
        return int(item)
    if isinstance(item, slice):
        return item
    if isinstance(item, str):
        return _find_name(axis, item, names)
    if not isinstance(item, Iterable):
        raise IndexError(
            f"{item!r} selects no {axis}: pass a number, a name, a slice, a mask or a list"
        )
    items = [_find_name(axis, i, names) if isinstance(i, str) else i for i in list(item)]
    return np.array(items) if items else np.empty(0, dtype=np.intp)


def _find_name(axis: str, name: str, names: Sequence[str]) -> int:
    if isinstance(names, str) or name not in names:
        hint = f"; explanation[:, {name!r}] selects a feature" if axis == _ROW else ""
        raise KeyError(f"the explanation has no {axis} {name!r}{hint}")
    return list(names).index(name)
