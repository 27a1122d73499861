"""AutoEnsembleRegressor."""

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import RegressorMixin

from sumwise.docstrings import document_rows, fill_docstring
from sumwise.estimators.auto.bags import RegressorBag
from sumwise.estimators.auto.base import BaseAutoEnsemble
from sumwise.estimators.auto.distilling import distill_numbers
from sumwise.estimators.auto.docs import TEXTS
from sumwise.estimators.auto.explaining import attribute_ensemble
from sumwise.estimators.explaining import PREDICTION, Question, attribute_numbers

if TYPE_CHECKING:
    from sumwise.inspection.attribution import Attribution


@fill_docstring(**TEXTS)
class AutoEnsembleRegressor(RegressorMixin, BaseAutoEnsemble):
    """The best regressor that some seconds suffice for: many members, chosen and combined.

    Members are gradient boosting of several kinds, forests, linear models, nearest neighbors and
    networks. Their predictions for rows that they have not seen decide how they are combined.

    Parameters
    ----------
    metric : str, callable or None, default=None
        What to optimize: "rmse" (None), "mae", the name of a scikit-learn scorer, a scorer, or a
        function of (y_true, y_pred). With "mae", boosting predicts medians.
    {parameters}

    Attributes
    ----------
    diversity_ : PairwiseMatrix
        The correlation of the errors of each pair of members.
    {attributes}

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sumwise import AutoEnsembleRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = AutoEnsembleRegressor(preset="fast", n_folds=3, random_state=0).fit(X, y)
    >>> [entry.name for entry in model.leaderboard_][0]
    'ensemble'
    >>> model.decomposition_.ambiguity > 0.0  # what averaging gains
    True
    """

    _bag_class = RegressorBag

    @document_rows
    def predict(self, X: Any) -> np.ndarray:
        """Return predicted numbers.

        {rows}
        ndarray of shape (n_rows,)
        """
        return self._combine(X)

    @property
    def _scale(self) -> str:
        return PREDICTION

    def _attribute(self, question: Question) -> "Attribution":
        return attribute_ensemble(
            self,
            question,
            lambda members, own: attribute_numbers(members, own, self.n_features_in_),
        )

    def _encode_truth(self, y: np.ndarray) -> np.ndarray:
        return y

    def _distill(
        self, X: Any, predictions: np.ndarray, weight: np.ndarray | None, params: dict[str, Any]
    ) -> Any:
        return distill_numbers(X, predictions, weight, self._choose_parameters(params))
