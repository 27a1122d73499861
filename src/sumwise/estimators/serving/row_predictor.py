"""RowPredictor: a compiled model that predicts one row at a time."""

import ctypes
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import accumulate, pairwise
from operator import itemgetter
from struct import Struct
from typing import Any, NamedTuple

import numpy as np

from sumwise.errors import ParameterError
from sumwise.estimators.serving.program import Program, compile_labels, compile_outputs
from sumwise.estimators.serving.row_reading import UNUSUAL, RowReader
from sumwise.export.portable import Link, PortableModel, describe
from sumwise.kernels.predict.row_operations import Row

OUTPUTS = ("predict", "proba", "proba_dict", "raw")
ABSENT = ("error", "missing")
# Code of a category that fit has not seen, if lookups distinguish it from a missing value.
_UNKNOWN = -1.0
# The entry of a kernel: it takes a block of words. Python's global lock is released.
_ENTRY = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_char_p)


class _Slot(NamedTuple):
    """Memory of one prediction at a time, and the call of the kernel that uses it."""

    values: memoryview
    outputs: memoryview
    words: bytes
    run: Callable[[bytes], int]
    array: np.ndarray  # the values, as an array
    row: Row  # whose addresses are in the words


class RowPredictor:
    """A compiled model: a function of one row, made by the method ``compile`` of fitted models.

    It takes a list or tuple of values, a dict by feature name, a 1-D NumPy array, or a row of a
    pandas frame, and returns Python numbers and labels. These are the same, bit by bit, as
    ``predict`` and ``predict_proba`` of the model return for that row; for ensembles of members, up
    to rounding. A call takes a few microseconds. Several threads may use one predictor at the same
    time. It can be pickled.

    Attributes
    ----------
    feature_names : list of str
        Names of the features; those of a model without names are x0, x1, ...
    classes : list
        Labels of the classes, with several targets one list per target; empty for a regressor.
    output : str
        What a call returns, as it was given to ``compile``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sumwise import GradientBoostingClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = GradientBoostingClassifier(n_estimators=20).fit(X, y)
    >>> predict = model.compile()
    >>> predict([5.1, 3.5, 1.4, 0.2])
    0
    >>> row = {"sepal length (cm)": 5.1, "sepal width (cm)": 3.5}
    >>> predict = model.compile("proba", absent="missing")
    >>> predict(row) == model.predict_proba(X.iloc[:1].assign(**{
    ...     "petal length (cm)": None, "petal width (cm)": None}))[0].tolist()
    True
    """

    def __init__(
        self, program: Program, reader: RowReader, classes: list[Any], output: str, name: str
    ) -> None:
        self._program, self._reader, self._name = program, reader, name
        self.classes, self.output = classes, output
        self._n_trees = np.unique(program.trees.roots).size
        self._size, self._is_numeric = len(reader), reader.is_numeric
        self._pack = Struct(f"{self._size}d").pack_into
        self._finish = _choose_finish(output, classes, program.n_outputs)
        # Memory that no thread uses now. Taking from a list and giving back are atomic.
        self._free: list[_Slot] = []
        self._free.append(self._allocate())

    @property
    def feature_names(self) -> list[str]:
        return list(self._reader.names)

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__} of {self._name}: {self._n_trees:,} trees, "
            f"{self._size:,} features, output {self.output!r}>"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        parts = self._program, self._reader, self.classes, self.output, self._name
        return RowPredictor, parts

    def __call__(self, row: Any) -> Any:
        """Return the prediction of a row.

        Parameters
        ----------
        row : list, tuple, dict, ndarray of shape (n_features,) or pandas.Series
            One value per feature, as in a row of the frames of ``fit``: numbers, categories, dates.
            None and NaN are missing values.

        Returns
        -------
        float, label, list or dict
            As the ``output`` of the predictor says.
        """
        try:
            slot = self._free.pop()
        except IndexError:
            slot = self._allocate()
        memory, outputs, words, run, array, _ = slot
        try:
            kind, is_plain = type(row), True
            if kind is np.ndarray and self._fits(row):
                array[:] = row
            else:
                is_list = kind is list or kind is tuple
                values = row if is_list else self._reader.list_values(row)
                try:
                    numbers = values if self._is_numeric else self._reader.convert(values)
                    self._pack(memory, 0, *numbers)
                except UNUSUAL:
                    is_plain = False
            if not is_plain:  # not in the handler: errors would show what it handles
                self._read_unusual(values, memory)
            run(words)
            return self._finish(outputs)
        finally:
            self._free.append(slot)

    def _fits(self, row: np.ndarray) -> bool:
        """Whether an array has the numbers of all features."""
        return self._is_numeric and row.shape == (self._size,) and row.dtype.kind in "fiub"

    def _read_unusual(self, values: Any, memory: memoryview) -> None:
        """Read a row that has missing or other values; raise DataError if it cannot be read."""
        try:
            self._pack(memory, 0, *self._reader.convert_gaps(values))
            return
        except UNUSUAL:
            pass
        self._pack(memory, 0, *self._reader.convert_any(values))

    def _allocate(self) -> _Slot:
        row = self._program.allocate()
        address, words = self._program.find_entry(row)
        outputs = memoryview(row.state)[: self._program.n_outputs]
        values = row.values[: self._size]
        return _Slot(memoryview(values), outputs, words, _ENTRY(address), values, row)


# --- what a call returns ---


def _choose_finish(output: str, classes: list[Any], n_outputs: int) -> Callable[[memoryview], Any]:
    """Return the function from the outputs of a program to what users get."""
    has_many = bool(classes) and isinstance(classes[0], list)
    if output == "predict" and classes:
        return partial(_name_all if has_many else _name_one, classes)
    if output == "proba_dict":
        return partial(_pair_all if has_many else _pair_one, classes)
    if output == "proba" and has_many:
        return partial(_split, classes)
    is_list = output == "proba" or n_outputs > 1
    return memoryview.tolist if is_list else itemgetter(0)


def _name_one(labels: list[Any], outputs: memoryview) -> Any:
    return labels[int(outputs[0])]


def _name_all(labels: list[list[Any]], outputs: memoryview) -> list[Any]:
    return [own[int(place)] for own, place in zip(labels, outputs, strict=True)]


def _pair_one(labels: list[Any], outputs: memoryview) -> dict[Any, float]:
    return dict(zip(labels, outputs.tolist(), strict=True))


def _split(labels: list[list[Any]], outputs: memoryview) -> list[list[float]]:
    numbers: list[Any] = outputs.tolist()
    ends = list(accumulate(map(len, labels), initial=0))
    return [numbers[first:last] for first, last in pairwise(ends)]


def _pair_all(labels: list[list[Any]], outputs: memoryview) -> list[dict[Any, float]]:
    pairs = zip(labels, _split(labels, outputs), strict=True)
    return [dict(zip(own, shares, strict=True)) for own, shares in pairs]


# --- from a model ---


def compile_model(model: Any, output: str = "predict", absent: str = "error") -> RowPredictor:
    """Return the predictor of a fitted model.

    Parameters
    ----------
    model : estimator
        Any that can describe itself; see :mod:`sumwise.export.portable`.
    output, absent : str
        As in the method ``compile`` of models.
    """
    for name, value, choices in (("output", output, OUTPUTS), ("absent", absent, ABSENT)):
        if value not in choices:
            listed = ", ".join(map(repr, choices))
            raise ParameterError(f"compile: {name}={value!r}: must be one of {listed}")
    portable = describe(model, nested=True)
    program = _compile(model, portable, output)
    reader = RowReader(
        portable.inputs,
        "error" if "error" in _list_parameters(model, "unknown_category") else "missing",
        _UNKNOWN if program.lookups.category.size else np.nan,
        _list_parameters(model, "extra_columns") == {"ignore"},
        absent == "missing",
    )
    classes = [own.tolist() for own in portable.classes]
    own_classes = classes[0] if len(classes) == 1 else classes
    return RowPredictor(program, reader, own_classes, output, portable.estimator)


def _list_parameters(model: Any, name: str) -> set[str]:
    """Return the values of a parameter of a model and its members."""
    parameters = model.get_params() if hasattr(model, "get_params") else {}
    return {value for key, value in parameters.items() if key.rpartition("__")[2] == name}


def _compile(model: Any, portable: PortableModel, output: str) -> Program:
    name, is_classifier = portable.estimator, portable.is_classifier
    if output == "raw":
        return compile_outputs(_describe_scores(model, portable))
    if output == "predict" and is_classifier:
        return compile_labels(portable)
    if output != "predict" and not is_classifier:
        raise ParameterError(f"compile: output={output!r}: a {name} has no classes")
    return compile_outputs(portable)


def _describe_scores(model: Any, portable: PortableModel) -> PortableModel:
    """Return what a link function is applied to, or what ``decision_function`` returns."""
    if hasattr(model, "_describe_decision"):
        return model._describe_decision()
    if portable.is_classifier:
        raise ParameterError(f"compile: output='raw': a {portable.estimator} has no raw scores")
    if isinstance(portable.output, Link):
        return replace(portable, output=portable.output.of)
    return portable
