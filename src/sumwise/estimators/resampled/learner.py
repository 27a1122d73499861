"""The base learner of an ensemble: what it may be, and the rows that its members get."""

from typing import Any

from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    MetaEstimatorMixin,
    is_classifier,
    is_regressor,
)
from sklearn.utils import get_tags, indexable
from sklearn.utils.validation import check_is_fitted

from sumwise.errors import DataError, ParameterError
from sumwise.estimators.combined.member_list import read_members_rows
from sumwise.estimators.combined.out_of_fold import count_rows
from sumwise.estimators.input.features import check_features
from sumwise.estimators.persistence import NotSavedMixin
from sumwise.estimators.serving.mixin import CompilesMixin


class LearnerEnsemble(NotSavedMixin, CompilesMixin, MetaEstimatorMixin, BaseEstimator):
    """Base of ensembles whose members are clones of one base learner, ``estimator``."""

    estimator: Any

    def _get_estimator(self) -> Any:
        """Return the base learner: the given one, or the default."""
        return self.estimator

    def _check_estimator(self) -> Any:
        """Return the base learner; refuse what is no estimator, or one of the wrong type."""
        learner, own = self._get_estimator(), type(self).__name__
        is_instance = hasattr(learner, "fit") and not isinstance(learner, type)
        if not is_instance or not hasattr(learner, "predict"):
            raise ParameterError(
                f"{own}: estimator={learner!r}; must be an estimator with fit and predict"
            )
        is_class = isinstance(self, ClassifierMixin)
        if is_regressor(learner) if is_class else is_classifier(learner):
            needed, found = ("classifier", "regressor")[:: 1 if is_class else -1]
            raise ParameterError(
                f"{own}: estimator={learner!r} is a {found}; members must be {needed}s"
            )
        return learner

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        try:
            inner = get_tags(self._get_estimator()).input_tags
        except Exception:  # fit refuses what is no estimator
            return tags
        for name in ("allow_nan", "sparse", "string", "categorical"):
            setattr(tags.input_tags, name, getattr(inner, name))
        return tags

    def _open_rows(self, X: Any, y: Any) -> Any:
        """Return the rows of ``fit`` in a form that can be indexed; remember its features."""
        X = read_members_rows(X)
        check_features(self, X, y)
        X = _make_indexable(X)
        if count_rows(X) == 0:
            raise DataError("Found array with 0 sample(s): there is nothing to learn from")
        return X

    def _check_rows(self, X: Any) -> Any:
        """Return rows to predict in a form that can be indexed."""
        check_is_fitted(self)
        X = read_members_rows(X)
        if getattr(X, "ndim", 2) > 1:
            check_features(self, X, reset=False)
        elif hasattr(self, "n_features_in_"):  # a fit on texts sets none
            raise DataError(
                "Expected 2D array, got 1D array instead. Reshape your data: X.reshape(1, -1) is "
                "one row, X.reshape(-1, 1) one feature"
            )
        return _make_indexable(X)


def _make_indexable(X: Any) -> Any:
    """Return X as something that can be indexed by row; CSR and CSC matrices as they are."""
    return X if getattr(X, "format", None) in ("csr", "csc") else indexable(X)[0]
