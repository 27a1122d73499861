"""Outputs of members as columns, and a check whether their models had seen the rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from sumwise.combine.classes import one_hot, place_classes
from sumwise.combine.stack import average_models
from sumwise.errors import DataError, ParameterError
from sumwise.estimators.combined.out_of_fold import FoldModels, Folds, Member
from sumwise.estimators.input.targets import encode_labels

METHODS = ("predict_proba", "decision_function", "predict")


@dataclass(frozen=True, eq=False)
class FoldRecord:
    """Which rows the models of each fold learned from and predicted, one bit per row."""

    saw: np.ndarray  # packed bits, (n_folds, n_bytes)
    predicted: np.ndarray
    n_rows: int
    in_seen_group: np.ndarray  # rows predicted by a model that saw another row of their group

    @classmethod
    def of(cls, folds: Folds, groups: np.ndarray | None) -> "FoldRecord":
        sides = []
        for side in (folds.train, folds.test):
            bits = np.zeros((len(side), -(-folds.n_rows // 8)), dtype=np.uint8)
            for own, rows in zip(bits, side, strict=True):
                mask = np.zeros(folds.n_rows, dtype=np.bool_)
                mask[rows] = True
                own[:] = np.packbits(mask)
            sides.append(bits)
        near: list[np.ndarray] = [np.empty(0, dtype=np.uint32)]
        if groups is not None:
            for train, test in zip(folds.train, folds.test, strict=True):
                near.append(test[np.isin(groups[test], groups[train])])
        return cls(sides[0], sides[1], folds.n_rows, np.unique(np.concatenate(near)))

    def report(self) -> "LeakReport":
        """Find rows that were predicted by a model that saw them."""
        leaked = np.bitwise_or.reduce(self.saw & self.predicted, axis=0)
        used = np.bitwise_or.reduce(self.predicted, axis=0)
        rows = np.flatnonzero(np.unpackbits(leaked, count=self.n_rows))
        n_left_out = self.n_rows - int(np.unpackbits(used, count=self.n_rows).sum())
        leaks = bool(rows.size or self.in_seen_group.size)
        return LeakReport(leaks, rows, self.in_seen_group, n_left_out)


@dataclass(frozen=True, eq=False)
class LeakReport:
    """Whether meta-features come from models that saw their rows. True if they do or may.

    Attributes
    ----------
    leaks : bool or None
        None if unknown: some members were fitted before.
    rows : ndarray
        Rows that were predicted by a model trained on them.
    rows_of_seen_groups : ndarray
        Rows that were predicted by a model trained on other rows of their group.
    n_left_out : int
        Number of rows that no fold predicted; the meta-learner did not see them.
    """

    leaks: bool | None
    rows: np.ndarray
    rows_of_seen_groups: np.ndarray
    n_left_out: int

    def __bool__(self) -> bool:
        return self.leaks is not False

    def __str__(self) -> str:
        if self.leaks is None:
            return "unknown: members were fitted before, on rows that are not recorded"
        if not self.leaks:
            return f"no leak; {self.n_left_out} rows are left out"
        return (
            f"leak: {self.rows.size} rows were predicted by models that saw them, "
            f"{self.rows_of_seen_groups.size} by models that saw their group"
        )


@dataclass(frozen=True)
class OutputColumns:
    """Turns the outputs of a member into columns."""

    labels: np.ndarray | None  # the classes as members know them; None for regression
    of_all_classes: bool  # one column per class, also with two classes, and for labels

    def arrange(self, member: Member, model: Any, output: Any) -> np.ndarray:
        """Return outputs with the shape (n_rows, n_columns)."""
        values = np.asarray(output)
        if self.labels is None or not is_classifier(model):
            return self._check_numbers(member, values)
        labels = self.labels if member.labels is None else member.labels
        n_classes = labels.size
        if member.method == "predict":
            class_idx = encode_labels(f"the predictions of {member.name!r}", values, labels)
            return (
                one_hot(class_idx, n_classes)
                if self.of_all_classes
                else class_idx[:, None].astype(np.float64)
            )
        known = np.asarray(getattr(model, "classes_", labels))
        places = encode_labels(f"member {member.name!r}", known, labels)
        if member.method == "predict_proba":
            values = place_classes(values, places, n_classes)
            # With two classes, one probability determines the other.
            return values if n_classes != 2 or self.of_all_classes else values[:, 1:]
        if places.size < n_classes:
            raise DataError(
                f"member {member.name!r} was trained on rows without class number "
                f"{next(k for k in range(n_classes) if k not in places)}, and gives no decision "
                "value for it; use a cv that keeps all classes, or stack_method='predict_proba'"
            )
        return self._check_numbers(member, values)

    def _check_numbers(self, member: Member, values: np.ndarray) -> np.ndarray:
        if values.ndim > 2 or values.dtype.kind not in "buif":
            raise DataError(
                f"{member.method} of member {member.name!r} gives an array of shape "
                f"{values.shape} and type {values.dtype}; numbers in one or two dimensions are "
                "needed"
            )
        return values.reshape(values.shape[0], -1)

    def predict(self, member: Member, model: Any, X: Any) -> np.ndarray:
        """Return the columns of a fitted member, for new rows."""
        if isinstance(model, FoldModels):
            outputs = [self.predict(member, each, X) for each in model.models]
            is_class = self.labels is not None and is_classifier(model.models[0])
            is_label = is_class and member.method == "predict" and not self.of_all_classes
            return average_models(outputs, is_label)
        return self.arrange(member, model, getattr(model, member.method)(X))


def choose_method(name: str, estimator: Any, wanted: str) -> str:
    """Return the method whose outputs are used; "auto": the first available of ``METHODS``."""
    choices = METHODS if wanted == "auto" else (wanted,)
    for method in choices:
        if hasattr(estimator, method):
            return method
    raise ParameterError(
        f"member {name!r}, a {type(estimator).__name__}, has no method {' or '.join(choices)}"
    )
