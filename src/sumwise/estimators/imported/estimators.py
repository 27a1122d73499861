"""ImportedClassifier and ImportedRegressor: trees of another library that predict only."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, NoReturn

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from sumwise.docstrings import fill_docstring
from sumwise.errors import ParameterError
from sumwise.estimators.boosting.fitted import BaseFittedBoosting
from sumwise.estimators.boosting.losses import CLASS_LINKS, REGRESSION_LINKS
from sumwise.estimators.input.features import FeatureSchema
from sumwise.export.portable import PortableModel
from sumwise.inspection.importance import importance
from sumwise.tree import LinearEnsemble, Model, Trees

_TEXTS = {
    "parameters": """
unknown_category : {"missing", "error"}, default="missing"
    What a category is that the model does not know: the same as a missing value, or an error.
extra_columns : {"error", "ignore"}, default="error"
    What columns of a frame are that the model does not know.
sparse_zeros : {"value", "missing"}, default="value"
    What a sparse matrix does not store: zeros or missing values.
n_jobs : int or None, default=None
    Number of threads; None for all cores.""",
    "attributes": """
ensemble_ : Trees
    The trees.
schema_ : FeatureSchema
    Kinds of the features, and their categories.
n_features_in_ : int
    Number of features.
feature_names_in_ : ndarray of str
    Their names, if the model knows them.""",
}


class BaseImported(BaseFittedBoosting):
    """What imported classifiers and regressors share."""

    _model_type: ClassVar[Any] = Model
    categorical_features: ClassVar[str] = "auto"

    ensemble_: Any
    schema_: FeatureSchema
    n_features_in_: int

    def __init__(
        self,
        *,
        unknown_category: str = "missing",
        extra_columns: str = "error",
        sparse_zeros: str = "value",
        n_jobs: int | None = None,
    ) -> None:
        self.unknown_category = unknown_category
        self.extra_columns = extra_columns
        self.sparse_zeros = sparse_zeros
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> NoReturn:
        """Refuse: the trees come from another library, and none can be added to them.

        Parameters
        ----------
        X, y
            Not used.
        """
        raise ParameterError(
            f"{type(self).__name__} only predicts: its trees come from another library. Fit a "
            "model of sumwise, or the original model, and import it"
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "ensemble_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags

    @property
    def n_outputs_(self) -> int:
        """Number of outputs that the model predicts."""
        check_is_fitted(self)
        return int(self.ensemble_.n_outputs)

    @property
    def feature_importances_(self) -> np.ndarray:
        """Share of each feature in the gain of the splits.

        In a forest, the mean of the shares in its trees, as in scikit-learn.
        """
        check_is_fitted(self)
        trees = self.ensemble_
        if isinstance(trees, LinearEnsemble) or not trees.averages:
            return super().feature_importances_
        return _average_importance(trees)


def _average_importance(trees: Trees) -> np.ndarray:
    by_tree = [
        importance(trees.select(k, k + 1))
        for k in range(trees.n_trees)
        if trees.start[k + 1] - trees.start[k] > 1
    ]
    if not by_tree:
        return np.zeros(trees.n_features)
    mean = np.mean(by_tree, axis=0)
    return mean / mean.sum() if mean.sum() > 0 else mean


@fill_docstring(**_TEXTS)
class ImportedClassifier(ClassifierMixin, BaseImported):
    """A classifier of another library. It predicts, explains and exports; it cannot be fitted.

    :func:`sumwise.from_sklearn`, :func:`sumwise.from_xgboost`, :func:`sumwise.from_lightgbm` and
    :func:`sumwise.from_catboost` return one where the model is no gradient boosting that sumwise
    could continue, such as a forest.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    classes_ : ndarray, or list of ndarray for several targets
        Labels of the classes.
    {attributes}

    Examples
    --------
    >>> import sumwise
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(n_estimators=10, random_state=0).fit(X, y)
    >>> model = sumwise.from_sklearn(forest)
    >>> type(model).__name__
    'ImportedClassifier'
    >>> bool(abs(model.predict_proba(X) - forest.predict_proba(X)).max() < 1e-12)
    True
    """

    _saved_attributes = ("classes_", *BaseImported._saved_attributes)
    _links = ("identity", "sigmoid", *CLASS_LINKS)
    classes_: Any

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable class of each row.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,), or (n_rows, n_targets)
        """
        return self._predict(X, self._to_labels)

    def _to_labels(self, raw: np.ndarray) -> np.ndarray:
        if not isinstance(self.classes_, list):
            return _choose(raw, self.classes_)
        return np.column_stack(self._by_target(raw, _choose))

    def predict_proba(self, X: Any) -> Any:
        """Return class probabilities, one column per class in the order of ``classes_``.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_classes), or list of these for several targets
        """
        if isinstance(self.classes_, list):
            return self._by_target(self._predict_raw(X), lambda own, _: own)
        return self._predict(X, self._to_shares)

    def _to_shares(self, raw: np.ndarray) -> np.ndarray:
        if self.classes_.size == 1:
            return np.ones((raw.shape[0], 1))
        mean = self._predict_mean(raw)
        return mean[:, None] if mean.ndim == 1 else mean

    def predict_log_proba(self, X: Any) -> Any:
        """Return logarithms of :meth:`predict_proba`, -inf for a probability of 0."""
        from sumwise.combine.classes import log_probabilities  # only needed here

        shares = self.predict_proba(X)
        if isinstance(shares, list):
            return [log_probabilities(own) for own in shares]
        return log_probabilities(shares)

    def decision_function(self, X: Any) -> np.ndarray:
        """Return raw scores, before the link: the probabilities themselves for a forest.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
        """
        return self._predict(X, self._scores, self._give_scores)

    def _describe(self) -> PortableModel:
        described = super()._describe()
        if not isinstance(self.classes_, list):
            return described
        return replace(described, classes=tuple(self.classes_))

    def _by_target(
        self, raw: np.ndarray, work: Callable[[np.ndarray, np.ndarray], np.ndarray]
    ) -> list[np.ndarray]:
        """Apply a function to the columns of each target."""
        ends = np.cumsum([own.size for own in self.classes_])[:-1]
        parts = np.split(raw, ends, axis=1)
        return [work(part, own) for part, own in zip(parts, self.classes_, strict=True)]


def _choose(raw: np.ndarray, classes: np.ndarray) -> np.ndarray:
    if classes.size == 1:
        return np.repeat(classes, raw.shape[0])
    indices = (raw[:, 0] > 0).astype(np.intp) if raw.shape[1] == 1 else raw.argmax(axis=1)
    return classes[indices]


@fill_docstring(**_TEXTS)
class ImportedRegressor(RegressorMixin, BaseImported):
    """A regressor of another library. It predicts, explains and exports; it cannot be fitted.

    :func:`sumwise.from_sklearn`, :func:`sumwise.from_xgboost`, :func:`sumwise.from_lightgbm` and
    :func:`sumwise.from_catboost` return one where the model is no gradient boosting that sumwise
    could continue, such as a forest or a model of rankings.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    n_outputs_ : int
        Number of outputs that the model predicts.
    {attributes}

    Examples
    --------
    >>> import sumwise
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = RandomForestRegressor(n_estimators=10, random_state=0).fit(X, y)
    >>> model = sumwise.from_sklearn(forest)
    >>> bool(abs(model.predict(X) - forest.predict(X)).max() < 1e-9)
    True
    """

    _links = REGRESSION_LINKS

    def predict(self, X: Any, raw: bool = False) -> np.ndarray:
        """Return the predicted value of each row.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        raw : bool, default=False
            Whether to return raw scores, before the link.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_outputs)
        """
        if raw:
            return self._predict(X, self._scores, self._give_scores)
        return self._predict(X, self._predict_mean, self._give_mean)
