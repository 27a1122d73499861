"""Calibrated boosting: a fit that also learns from rows unseen by its trees.

By cross-validation, models of the folds predict the rows that they have not seen, and the final
model learns from all rows. Otherwise rows are held out. Rows that early stopping watches are not
unseen, because they have chosen the number of rounds.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import is_classifier

from sumwise.data.frames.reading import collect_lazy
from sumwise.data.frames.selection import take_rows
from sumwise.errors import DataError, ParameterError
from sumwise.estimators.boosting.boosters import stops_by_oob
from sumwise.estimators.boosting.losses import make_regression_loss
from sumwise.estimators.boosting.parameters import BoostingParameters
from sumwise.estimators.boosting.validation import hold_out_rows, number_groups
from sumwise.estimators.calibrated.unseen import (
    HELD_OUT,
    clone_for_fold,
    count_folds,
    draw_folds,
    predict_unseen,
    refuse_missing_classes,
)
from sumwise.estimators.fitted_state import forget_fit
from sumwise.estimators.forests.parameters import draw_seed
from sumwise.estimators.input.targets import check_sample_weight, encode_labels, read_target
from sumwise.losses import CrossEntropy, Quantile, SquaredLog

if TYPE_CHECKING:
    from sumwise.estimators.boosting.base import BaseGradientBoosting


def fit_calibrated(
    model: "BaseGradientBoosting",
    X: Any,
    y: Any,
    sample_weight: Any,
    init_score: Any,
    options: dict[str, Any],
) -> None:
    """Fit a model, and let it learn from unseen rows; ``options`` are further ones of ``fit``."""
    model._check_parameters()
    if init_score is not None or options["init_score_val"] is not None:
        raise ParameterError(
            f"{type(model).__name__}: calibrate and conformal cannot be combined with init_score, "
            "which predictions do not contain"
        )
    validates = model.calibration_rows == HELD_OUT and _is_validation_unseen(model, options)
    _check_continuing(model, options, validates)
    try:
        if validates:
            model._fit_trees(X, y, sample_weight, None, **options)
            X, y, weight = (options[f"{name}_val"] for name in ("X", "y", "sample_weight"))
            rows = _Rows.read(model, X, y, weight, suffix="_val")
            assert rows is not None
            model._learn_from_unseen(*rows.take(np.arange(rows.n_rows), model))
        elif model.calibration_rows == HELD_OUT:
            _hold_out(model, X, y, sample_weight, options)
        else:
            _cross_validate(model, X, y, sample_weight, options)
    except BaseException:
        forget_fit(model)
        raise


def _is_validation_unseen(params: BoostingParameters, options: dict[str, Any]) -> bool:
    """Whether there is X_val, and early stopping does not watch it."""
    return options["X_val"] is not None and (not params.early_stopping or stops_by_oob(params))


def _drop_unwatched(params: BoostingParameters, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a fold: without validation sets that early stopping does not watch."""
    watches = params.early_stopping is True or options["X_val"] is not None
    if watches and params.early_stopping and not stops_by_oob(params):
        return options
    return {name: None if "val" in name else value for name, value in options.items()}


def _check_continuing(
    model: "BaseGradientBoosting", options: dict[str, Any], validates: bool
) -> None:
    """Refuse to continue a model that may have seen the rows to calibrate on."""
    continues = options["init_model"] is not None
    continues = continues or (model.warm_start and hasattr(model, "ensemble_"))
    if continues and not validates:
        raise ParameterError(
            f"{type(model).__name__}: a model that continues another can be calibrated on rows "
            "that neither has seen only: pass X_val and y_val, with calibration_rows='holdout' and "
            "early_stopping=False"
        )


@dataclass(frozen=True)
class _Rows:
    """Rows to learn from or to predict, except those of weight zero."""

    X: Any
    y: np.ndarray
    weight: np.ndarray | None
    used: np.ndarray  # their numbers in X, y and so on
    groups: np.ndarray | None = None

    @classmethod
    def read(
        cls,
        model: "BaseGradientBoosting",
        X: Any,
        y: Any,
        sample_weight: Any,
        groups: Any = None,
        suffix: str = "",
    ) -> "_Rows | None":
        """Return rows; None if X and y have different lengths, which a fit will refuse."""
        is_number = not is_classifier(model)
        labels = read_target(y, is_number, f"y{suffix}", many=is_number)
        X = collect_lazy(X)
        if not hasattr(X, "shape") and not hasattr(X, "__len__"):
            X = np.asarray(X)
        n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
        if labels is None or n_rows != len(labels):
            return None
        weight = check_sample_weight(sample_weight, n_rows, f"sample_weight{suffix}")
        used = np.arange(n_rows) if weight is None else np.flatnonzero(weight)
        own = None if groups is None else number_groups(groups, n_rows)
        return cls(X, labels, weight, used, own)

    @property
    def n_rows(self) -> int:
        return int(self.used.size)

    @property
    def used_groups(self) -> np.ndarray | None:
        return None if self.groups is None else self.groups[self.used]

    def encode(self, model: Any) -> np.ndarray:
        """Return class indices, or numbers, of the used rows."""
        own = self.y[self.used]
        return encode_labels("y", own, model.classes_) if is_classifier(model) else own

    def fit(self, model: "BaseGradientBoosting", chosen: np.ndarray, options: Any) -> None:
        """Fit a model on some of the used rows."""
        rows = self.used[chosen]
        weight = None if self.weight is None else self.weight[rows]
        groups = None if self.groups is None else self.groups[rows]
        X, y = take_rows(self.X, rows), self.y[rows]
        model._fit_trees(X, y, weight, None, **{**options, "groups": groups})

    def take(
        self, chosen: np.ndarray, model: "BaseGradientBoosting"
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Return raw scores, class indices or numbers, and weights of some of the used rows."""
        rows = self.used[chosen]
        weight = None if self.weight is None else self.weight[rows]
        return model._predict_raw(take_rows(self.X, rows)), self.encode(model)[chosen], weight


def _hold_out(
    model: "BaseGradientBoosting", X: Any, y: Any, sample_weight: Any, options: dict[str, Any]
) -> None:
    """Fit on some rows and learn from the others."""
    rows = _Rows.read(model, X, y, sample_weight, options["groups"])
    if rows is None:
        model._fit_trees(X, y, sample_weight, None, **options)
        raise AssertionError("a fit with as many targets as rows")
    fraction, which = float(model.validation_fraction), model.validation_rows
    n_held_out = int(np.ceil(fraction * rows.n_rows))
    if n_held_out >= rows.n_rows:
        raise DataError(
            f"calibration_rows='holdout' with validation_fraction={fraction} would hold out "
            f"{n_held_out} of {rows.n_rows} rows (n_samples={rows.n_rows}) and leave none to train "
            "on"
        )
    if which == "last" and rows.groups is not None:
        raise ParameterError(
            f"{type(model).__name__}: validation_rows='last' holds out rows by their number, and "
            "groups as a whole: pass only one of them"
        )
    labels = rows.y[rows.used] if is_classifier(model) else None
    train, unseen = hold_out_rows(
        np.arange(rows.n_rows, dtype=np.uint32),
        fraction,
        which,
        rows.used_groups,
        labels,
        draw_seed(model.random_state),
    )
    if labels is not None:
        _refuse_unknown_classes(labels[train], labels[unseen])
    rows.fit(model, train, options)
    model._learn_from_unseen(*rows.take(unseen, model))


def _refuse_unknown_classes(train: np.ndarray, unseen: np.ndarray) -> None:
    """Refuse a class that only rows held out have."""
    unknown = np.setdiff1d(unseen, train).tolist()
    if unknown:
        raise DataError(
            f"calibration_rows='holdout': class {unknown[0]!r} has too few rows, all of them are "
            f"held out (n_samples={train.size + unseen.size}); pass more rows, or X_val and y_val"
        )


def _cross_validate(
    model: "BaseGradientBoosting", X: Any, y: Any, sample_weight: Any, options: dict[str, Any]
) -> None:
    """Fit on all rows, and learn from the predictions of models that have not seen them."""
    model._fit_trees(X, y, sample_weight, None, **options)
    rows = _Rows.read(model, X, y, sample_weight, options["groups"])
    assert rows is not None  # otherwise the fit would have failed
    encoded = rows.encode(model)
    labels = encoded if is_classifier(model) else None
    seed = draw_seed(model.random_state)
    folds = draw_folds(count_folds(model), rows.n_rows, labels, rows.used_groups, seed)

    own_options = _drop_unwatched(model, options)

    def fit_fold(train: np.ndarray, test: np.ndarray) -> np.ndarray:
        member = clone_for_fold(model)
        rows.fit(member, train, own_options)
        if is_classifier(model):
            refuse_missing_classes(member.classes_, model.classes_)
        return rows.take(test, member)[0]

    raw = predict_unseen(fit_fold, folds)
    weight = None if rows.weight is None else rows.weight[rows.used]
    model._learn_from_unseen(raw, encoded, weight)


def describe_residuals(params: BoostingParameters) -> dict[str, Any]:
    """Return what the loss says of residuals: see the attributes of ConformalIntervals.

    The standard deviation of a target with a log link is a power of its mean.
    """
    loss = make_regression_loss(params)
    if isinstance(loss, Quantile) and loss.is_list:
        return {"levels": np.array(loss.levels, dtype=np.float64)}
    if isinstance(loss, SquaredLog):
        return {"power": 1.0, "shift": 1.0, "support": (-1.0, np.inf)}
    if isinstance(loss, CrossEntropy):
        return {"support": (0.0, 1.0)}
    variance_power = getattr(loss, "_variance_power", None)
    if variance_power is None:
        return {}
    return {"power": 0.5 * float(variance_power), "support": (0.0, np.inf)}
