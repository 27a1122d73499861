"""Stacking: a meta-learner combines members by their out-of-fold outputs."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from sumwise.combine.classes import place_classes
from sumwise.docstrings import document_rows, fill_docstring
from sumwise.estimators.combined.base_stacking import STACKING_TEXTS, BaseStacking, final_has
from sumwise.estimators.combined.meta_features import METHODS
from sumwise.estimators.combined.multi_response import MultiResponseLinear
from sumwise.estimators.describing.members import place_outputs
from sumwise.estimators.input.parameters import check_choice, extend_parameters
from sumwise.estimators.log_probabilities import LogProbabilitiesMixin
from sumwise.export.portable import Node


@fill_docstring(**STACKING_TEXTS)
class StackingClassifier(LogProbabilitiesMixin, ClassifierMixin, BaseStacking):
    """Classifier that combines the outputs of its members by a meta-learner.

    {folds}

    Parameters
    ----------
    {members}
    final_estimator : estimator or None, default=None
        The meta-learner; None for :class:`MultiResponseLinear`. A stack here makes a further layer.
    {parameters}
    stack_method : {"auto", "predict_proba", "decision_function", "predict"}, default="auto"
        Which outputs of the members are used. "auto": the first of these three that a member has.
        With two classes, the probability of the second is used. :class:`MultiResponseLinear` gets
        one column per class instead, also for labels.

    Attributes
    ----------
    classes_ : ndarray
        Class labels, sorted. Members learn their indices.
    {attributes}

    See Also
    --------
    StackingRegressor : The same for numbers.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sumwise import GradientBoostingClassifier, StackingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> members = [
    ...     ("leaf", GradientBoostingClassifier(n_estimators=20)),
    ...     ("symmetric", GradientBoostingClassifier(n_estimators=20, growth="symmetric")),
    ...     ("linear", LogisticRegression(max_iter=1000)),
    ... ]
    >>> stack = StackingClassifier(members).fit(X, y)
    >>> bool(stack.score(X, y) > 0.95)
    True
    >>> print(stack.leak_check())
    no leak; 0 rows are left out
    """

    @extend_parameters(BaseStacking)
    def __init__(
        self,
        estimators: Sequence[Any],
        final_estimator: Any = None,
        *,
        stack_method: str = "auto",
        **shared: Any,
    ) -> None:
        super().__init__(estimators, final_estimator, **shared)
        self.stack_method = stack_method

    def _make_default(self) -> Any:
        return MultiResponseLinear()

    def _is_member(self, estimator: Any) -> bool:
        return True  # numbers of any kind can be meta-features

    @property
    def _wanted_method(self) -> str:
        return self.stack_method

    def _encode_target(self, y: np.ndarray) -> np.ndarray:
        check_choice(self, "stack_method", ("auto", *METHODS))
        check_classification_targets(y)
        self.classes_, class_idx = np.unique(y, return_inverse=True)
        is_fitted = isinstance(self.cv, str) and self.cv == "prefit"
        self._labels = self.classes_ if is_fitted else np.arange(self.classes_.size)
        return class_idx

    def _labels_of_frozen(self) -> np.ndarray | None:
        return self.classes_

    def _decode(self, predicted: Any) -> Any:
        return self.classes_[predicted]

    @final_has("predict_proba")  # type: ignore[untyped-decorator]
    @document_rows
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return class probabilities.

        {rows}
        ndarray of shape (n_rows, n_classes)
            Columns in the order of ``classes_``.
        """
        check_is_fitted(self)
        probability = self.final_estimator_.predict_proba(self.transform(X))
        places = np.asarray(self.final_estimator_.classes_)
        if places.size == self.classes_.size:
            return probability
        # The meta-learner lacks classes whose rows were never held out.
        return place_classes(probability, places, self.classes_.size)

    def _describe_output(self, final: Node) -> Node:
        places = np.asarray(self.final_estimator_.classes_)
        return place_outputs(final, places, self.classes_.size)

    @final_has("decision_function")  # type: ignore[untyped-decorator]
    @document_rows
    def decision_function(self, X: Any) -> np.ndarray:
        """Return the decision values of the meta-learner.

        {rows}
        ndarray of shape (n_rows,) or (n_rows, n_classes)
        """
        check_is_fitted(self)
        return self.final_estimator_.decision_function(self.transform(X))


@fill_docstring(**STACKING_TEXTS)
class StackingRegressor(RegressorMixin, BaseStacking):
    """Regressor that combines the predictions of its members by a meta-learner.

    {folds}

    Parameters
    ----------
    {members}
    final_estimator : estimator or None, default=None
        The meta-learner; None for linear least squares. A stack here makes a further layer.
    {parameters}

    Attributes
    ----------
    {attributes}

    See Also
    --------
    StackingClassifier : The same for classes.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import RidgeCV
    >>> from sumwise import GradientBoostingRegressor, StackingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> members = [("trees", GradientBoostingRegressor(n_estimators=30)), ("ridge", RidgeCV())]
    >>> stack = StackingRegressor(members, cv=3).fit(X, y)
    >>> stack.transform(X).shape
    (442, 2)
    >>> bool(stack.score(X, y) > 0.5)
    True
    """

    def _make_default(self) -> Any:
        from sklearn.linear_model import LinearRegression

        return LinearRegression()
