"""Partial dependence of predictions on one or two features."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats.mstats import mquantiles  # type: ignore[import-untyped]
from sklearn import inspection
from sklearn.base import is_classifier
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from sumwise.data.categories.dictionary import Dictionary
from sumwise.data.categories.encoder import read_column
from sumwise.data.frames.columns import is_missing as is_missing_value
from sumwise.data.sparse import SparseMatrix
from sumwise.errors import DataError, ParameterError
from sumwise.estimators.boosting.fitted import UNKNOWN
from sumwise.estimators.grid_predictions import Grid, can_predict_grid, predict_grid
from sumwise.estimators.input.features import FeatureSchema, read_rows
from sumwise.estimators.input.targets import check_sample_weight
from sumwise.inspection.dependence import depend_on
from sumwise.inspection.tree_view import get_trees

_METHODS = ("auto", "recursion", "brute")


def partial_dependence(
    estimator: Any,
    X: Any,
    features: Any,
    *,
    sample_weight: Any = None,
    categorical_features: Any = None,
    feature_names: Sequence[str] | None = None,
    response_method: str = "auto",
    percentiles: tuple[float, float] = (0.05, 0.95),
    grid_resolution: int = 100,
    custom_values: Mapping[Any, Any] | None = None,
    method: str = "auto",
    kind: str = "average",
) -> Bunch:
    """Return the mean response of a model as a function of some features.

    Parameters and result are those of :func:`sklearn.inspection.partial_dependence`, which also
    accepts models of sumwise, but only with ``method="brute"``.

    Parameters
    ----------
    estimator : fitted estimator
        A model of sumwise; with ``method="brute"`` any classifier or regressor.
    X : frame, array-like or sparse matrix of shape (n_rows, n_features)
        Rows from which the grid is made. With "brute", predictions are averaged over them.
    features : int, str or list of these
        The feature, or two or more features for their joint grid.
    sample_weight : array-like of shape (n_rows,), default=None
        Weights of the mean; only with "brute".
    categorical_features : array-like, default=None
        Features whose grid has all of their values: indices, names or booleans. None for the
        categorical features of the model.
    feature_names : sequence of str, default=None
        Names of features; None for those of ``fit``.
    response_method : {"auto", "predict_proba", "decision_function"}, default="auto"
        Which output of a classifier "brute" averages.
    percentiles : tuple of float, default=(0.05, 0.95)
        Percentiles of a feature at the ends of the grid.
    grid_resolution : int, default=100
        Points of the grid per feature. A feature with fewer values has a point for each of them.
    custom_values : dict, default=None
        Values of the grid by feature, instead of those above.
    method : {"auto", "recursion", "brute"}, default="auto"
        "brute": every row is predicted with every value of the grid; X of boosting, forests and
        trees of sumwise is read only once. "recursion": only the grid is
        passed through the trees of gradient boosting, a forest or a decision tree; the two sides of
        splits on other features are weighted by their training rows. This is much faster. The
        result is the raw score of boosting, including the initial constant (which scikit-learn
        leaves out), or the prediction or probability of a forest. "auto": "recursion" if it gives
        the predictions of a regressor, or the scores of a classifier whose ``response_method`` is
        "auto" or "decision_function" (of a forest, "auto" or "predict_proba"); otherwise "brute".
    kind : {"average", "individual", "both"}, default="average"
        The mean, one curve per row, or both; only "average" can use "recursion".

    Returns
    -------
    Bunch
        ``grid_values``, a list of arrays; ``average`` of shape (n_outputs, n_values, ...), with one
        output for two classes; and ``individual`` of shape (n_outputs, n_rows, n_values, ...).

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sumwise import GradientBoostingRegressor
    >>> from sumwise.inspection import partial_dependence
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = GradientBoostingRegressor(n_estimators=100).fit(X, y)
    >>> result = partial_dependence(model, X, "bmi", grid_resolution=3)
    >>> result.grid_values[0].round(3)
    array([-0.067,  0.01 ,  0.087])
    >>> result.average.round()
    array([[123., 172., 212.]])
    """
    if method not in _METHODS:
        raise ParameterError(f"method={method!r}: must be one of {', '.join(map(repr, _METHODS))}")
    check_is_fitted(estimator)
    obstacle = _find_obstacle(estimator, sample_weight, response_method, kind)
    if method == "recursion" and obstacle is not None:
        raise ParameterError(f"method='recursion': {obstacle}; use method='brute'")
    is_recursive = method == "recursion" or (
        method == "auto" and obstacle is None and _predicts(estimator)
    )
    if is_recursive or can_predict_grid(estimator, X, response_method, kind):
        maker = _GridMaker(estimator, X, feature_names, percentiles, grid_resolution)
        grid = maker.make_grid(features, categorical_features, custom_values or {})
        if is_recursive:
            trees = get_trees(estimator)
            assert trees is not None
            average = depend_on(trees, grid.features, grid.numbers)
            return Bunch(grid_values=grid.values, average=average)
        weight = check_sample_weight(sample_weight, maker.matrix.shape[0])
        return predict_grid(estimator, maker.matrix, grid, response_method, kind, weight)
    if categorical_features is None:
        schema = getattr(estimator, "schema_", None)
        categorical_features = sorted(getattr(schema, "dictionaries", ())) or None
    return inspection.partial_dependence(
        estimator,
        X,
        features,
        sample_weight=sample_weight,
        categorical_features=categorical_features,
        feature_names=feature_names,
        response_method=response_method,
        percentiles=percentiles,
        grid_resolution=grid_resolution,
        custom_values=custom_values,
        method="brute",
        kind=kind,
    )


def _find_obstacle(
    estimator: Any, sample_weight: Any, response_method: str, kind: str
) -> str | None:
    """Say why the trees alone cannot tell the answer; None if they can."""
    name = type(estimator).__name__
    trees = get_trees(estimator)
    if trees is None:
        return f"{name} has no trees of sumwise to walk through"
    if getattr(estimator, "_encoder", None) is not None:
        return "the trees split on statistics of categories, which several features may share"
    if trees.models is not None:
        return "the leaves hold linear models, which depend on other features, too"
    if trees.averages and hasattr(estimator, "calibration_"):
        return "the probabilities are calibrated, and only their means before that are known"
    if sample_weight is not None:
        return "sample_weight is for means of predictions"
    if kind != "average":
        return f"kind={kind!r} is of predictions of rows"
    raw = "predict_proba" if trees.averages else "decision_function"
    allowed = ("auto", raw) if is_classifier(estimator) else ("auto",)
    if response_method not in allowed:
        return f"response_method={response_method!r} must be {' or '.join(map(repr, allowed))}"
    return None


def _predicts(estimator: Any) -> bool:
    """Whether what the trees add up to is a prediction, or the score of a classifier."""
    trees = get_trees(estimator)
    if is_classifier(estimator) or trees is None:
        return trees is not None
    return trees.link == "identity" and getattr(estimator, "_custom_link", None) is None


class _GridMaker:
    """Finds the grid values of features as scikit-learn does; missing values are left out."""

    def __init__(
        self,
        estimator: Any,
        X: Any,
        names: Sequence[str] | None,
        percentiles: tuple[float, float],
        resolution: int,
    ) -> None:
        low, high = percentiles
        if not 0 <= low < high <= 1:
            raise ParameterError(
                f"percentiles={percentiles}: must be two ascending numbers in [0, 1]"
            )
        if resolution <= 1:
            raise ParameterError(f"grid_resolution={resolution}: must be at least 2")
        has_encoder = getattr(estimator, "_encoder", None) is not None
        self._unknown = UNKNOWN if has_encoder else np.nan
        self.matrix = read_rows(estimator, X, self._unknown)
        self._schema: FeatureSchema = estimator.schema_
        self._names = getattr(estimator, "feature_names_in_", ()) if names is None else names
        self._names = [str(name) for name in self._names]
        self._percentiles, self._resolution = percentiles, resolution

    def make_grid(self, features: Any, categorical: Any, custom_values: Mapping[Any, Any]) -> Grid:
        """Return the grid of some features, given by names or indices."""
        if isinstance(features, (str, int, np.integer)):
            features = [features]
        if all(isinstance(feature, (bool, np.bool_)) for feature in features):
            features = np.flatnonzero(features)
        indices = [self.find_feature(feature) for feature in features]
        is_category = self.find_categories(categorical)
        grid = Grid(indices, [], [])
        for feature, index in zip(features, indices, strict=True):
            own = custom_values.get(feature)
            values, numbers = self.make_axis(index, bool(is_category[index]), own)
            grid.values.append(values)
            grid.numbers.append(numbers)
        return grid

    def find_feature(self, feature: Any) -> int:
        """Return the index of a feature given by name or index."""
        if isinstance(feature, str):
            if feature not in self._names:
                raise ParameterError(f"features: there is no feature named {feature!r}")
            return self._names.index(feature)
        if not 0 <= feature < self.matrix.shape[1]:
            last = self.matrix.shape[1] - 1
            raise ParameterError(
                f"features: {feature!r} must be a name or an index from 0 to {last}"
            )
        return int(feature)

    def find_categories(self, chosen: Any) -> np.ndarray:
        """Return a mask of the features whose grid has all of their values."""
        mask = np.zeros(self.matrix.shape[1], dtype=np.bool_)
        mask[list(self._schema.dictionaries)] = True
        if chosen is not None:
            items = np.asarray(chosen).ravel()
            if items.dtype == np.bool_:
                mask |= items
            else:
                mask[[self.find_feature(item) for item in items.tolist()]] = True
        return mask

    def make_axis(self, feature: int, is_all: bool, custom: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the grid values of a feature, and the numbers that trees use for them."""
        dictionary = self._schema.dictionaries.get(feature)
        if custom is not None:
            return _read_custom(custom, dictionary, self._unknown)
        column = self._read(feature)
        values = np.unique(column[~np.isnan(column)])
        if values.size == 0:
            raise DataError(f"X has no value of feature {feature}; pass custom_values")
        if dictionary is not None:
            values = values[values >= 0]  # unknown ones are none of its values
            return dictionary.values[values.astype(np.intp)], values
        if not is_all and values.size >= self._resolution:
            finite = column[np.isfinite(column)]
            low, high = mquantiles(finite, prob=self._percentiles)
            if np.isclose(low, high):
                raise DataError(
                    f"the percentiles {self._percentiles} of feature {feature} are too close; "
                    "choose others, or pass custom_values"
                )
            values = np.linspace(low, high, num=self._resolution)
        return values, values

    def _read(self, feature: int) -> np.ndarray:
        matrix = self.matrix
        if isinstance(matrix, SparseMatrix):
            stored = matrix.given.tocsc()[:, [feature]].tocoo()
            column = np.full(matrix.shape[0], matrix.absent)
            column[stored.row] = stored.data
            return column
        return read_column(matrix, feature)(0, matrix.shape[0]).astype(np.float64)


def _read_custom(
    values: Any, dictionary: Dictionary | None, unknown: float
) -> tuple[np.ndarray, np.ndarray]:
    array = np.asarray(values)
    if array.ndim != 1:
        raise ParameterError(f"custom_values must have one dimension, not {array.ndim}")
    if dictionary is None:
        return array, array.astype(np.float64)
    if dictionary.holds == "strings":
        array = np.asarray(values, dtype=object)
    codes = dictionary.find(array).astype(np.float64)
    is_missing = np.array([is_missing_value(value) for value in array.tolist()], dtype=np.bool_)
    codes[codes < 0] = unknown
    codes[is_missing] = np.nan
    return array, codes
