"""Multi-response linear regression: the meta-learner of stacked classifiers."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from sumwise.combine.stack import fit_responses, respond, to_probabilities
from sumwise.data.sparse import is_sparse
from sumwise.docstrings import document_rows
from sumwise.errors import DataError
from sumwise.estimators.describing.members import name_inputs
from sumwise.estimators.fitted_state import fit_as_a_whole
from sumwise.estimators.input.parameters import NamedParametersMixin, check_choice
from sumwise.estimators.input.targets import check_sample_weight, read_target
from sumwise.estimators.log_probabilities import LogProbabilitiesMixin
from sumwise.estimators.reporting import ReportMixin
from sumwise.export.portable import Affine, Column, Input, PortableModel, Share

# The triangle of as many features takes half a gigabyte.
_MOST_SPARSE_FEATURES = 1 << 13


class MultiResponseLinear(
    ReportMixin, NamedParametersMixin, LogProbabilitiesMixin, ClassifierMixin, BaseEstimator
):
    """Classifier that regresses the indicator of each class on the features (MLR).

    The default meta-learner of :class:`StackingClassifier`, where features are class probabilities.
    Because these sum to 1, least squares have no unique solution; the one of minimum norm is taken.
    Responses become probabilities: negative responses are set to 0, rows are divided by their sums,
    and rows without a positive response become uniform.

    Parameters
    ----------
    nonnegative : bool, default=False
        Whether coefficients must not be negative.
    own_class_only : bool, default=False
        Whether the regression of each class uses only the columns of that class (StackingC).
        Columns must then come in groups of one per class, in the order of the classes.
    fit_intercept : bool, default=True
        Whether to add a constant. With probabilities it has no effect unless ``own_class_only`` or
        ``nonnegative``, because probabilities sum to a constant.

    Attributes
    ----------
    classes_ : ndarray
        Class labels, sorted.
    coef_ : ndarray of shape (n_classes, n_features)
        Coefficients.
    intercept_ : ndarray of shape (n_classes,)
        Constants.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray
        Their names, if X had any.

    References
    ----------
    K. M. Ting and I. H. Witten, "Issues in stacked generalization", JAIR 10, 1999.

    A. K. Seewald, "How to make stacking better and faster while also taking care of an unknown
    weakness", ICML 2002.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sumwise import MultiResponseLinear
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MultiResponseLinear().fit(X, y)
    >>> model.predict_proba(X[:2]).round(2)
    array([[0.89, 0.11, 0.  ],
           [0.71, 0.29, 0.  ]])
    """

    def __init__(
        self,
        *,
        nonnegative: bool = False,
        own_class_only: bool = False,
        fit_intercept: bool = True,
    ) -> None:
        self.nonnegative = nonnegative
        self.own_class_only = own_class_only
        self.fit_intercept = fit_intercept

    @fit_as_a_whole
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the regressions.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Finite numbers.
        y : array-like of shape (n_rows,)
            Class labels.
        sample_weight : array-like of shape (n_rows,), default=None
            Weights.

        Returns
        -------
        self
        """
        options = {
            name: bool(check_choice(self, name, (True, False)))
            for name in ("nonnegative", "own_class_only", "fit_intercept")
        }
        y = read_target(y, is_number=False)
        X, y = validate_data(self, X, y, dtype=np.float64, accept_sparse="csr")
        if is_sparse(X) and X.shape[1] > _MOST_SPARSE_FEATURES:
            raise DataError(
                f"MultiResponseLinear: X is sparse with {X.shape[1]} features; its least squares "
                f"are dense and allow at most {_MOST_SPARSE_FEATURES}. In a stack, use "
                "passthrough=False or a final_estimator such as LogisticRegression"
            )
        check_classification_targets(y)
        self.classes_, class_idx = np.unique(y, return_inverse=True)
        weight = check_sample_weight(sample_weight, X.shape[0])
        self.coef_, self.intercept_ = fit_responses(
            X, class_idx, self.classes_.size, weight, **options
        )
        return self

    @document_rows
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return class probabilities.

        {rows}
        ndarray of shape (n_rows, n_classes)
            Columns in the order of ``classes_``.
        """
        return to_probabilities(self._respond(X))

    @document_rows
    def predict(self, X: Any) -> np.ndarray:
        """Return the class of the largest response.

        {rows}
        ndarray of shape (n_rows,)
        """
        responses = self._respond(X)
        return self.classes_[responses.argmax(axis=1)]

    def _describe(self) -> PortableModel:
        """Return the model in plain terms, for export."""
        check_is_fitted(self)
        columns = tuple(Column((k,)) for k in range(self.n_features_in_))
        nothing = np.zeros((self.classes_.size, 0))
        responses = Affine((), nothing, self.intercept_, columns, self.coef_)
        inputs = tuple(map(Input, name_inputs(self)))
        return PortableModel(type(self).__name__, inputs, Share(responses), (self.classes_,))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _respond(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64, accept_sparse="csr")
        return respond(X, self.coef_, self.intercept_)
