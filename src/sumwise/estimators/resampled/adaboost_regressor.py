"""AdaBoost for regression: AdaBoost.R2."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import RegressorMixin

from sumwise.combine.median import weighted_median
from sumwise.docstrings import document_rows, fill_docstring
from sumwise.errors import DataError, ExplanationError, ExportError
from sumwise.estimators.describing.members import DescribedMembers
from sumwise.estimators.explaining import PREDICTION, Question
from sumwise.estimators.forests.decision_tree import DecisionTreeRegressor
from sumwise.estimators.input.parameters import check_choice, extend_parameters
from sumwise.estimators.resampled.adaboost import RESAMPLE, BaseAdaBoost
from sumwise.estimators.resampled.boosted_members import check_numbers
from sumwise.estimators.resampled.parameters import ADABOOST_REGRESSOR
from sumwise.estimators.resampled.shallow_trees import BaseShallowTree, ShallowTreeRegressor
from sumwise.estimators.warn import warn_user
from sumwise.export.portable import Median, Node, TreeSum
from sumwise.export.tree_sums import add_trees
from sumwise.kernels.runtime.threads import Team
from sumwise.training.adaboost import LOSSES, AdaBoostResult, NumberRule, Rule

if TYPE_CHECKING:
    from sumwise.inspection.attribution import Attribution


@fill_docstring(**ADABOOST_REGRESSOR)
class AdaBoostRegressor(RegressorMixin, BaseAdaBoost):
    """AdaBoost.R2: each learner gives more weight to the rows with large errors so far.

    Parameters
    ----------
    {parameters}
    loss : {"linear", "square", "exponential"}, default="linear"
        The loss of a row, from its error d relative to the largest error of all rows: d, d squared,
        or 1 - exp(-d).

    Attributes
    ----------
    estimator_weights_ : ndarray
        Weight of each learner in the median: ``ln((1 - error) / error)``, times the learning rate.
    {attributes}

    Notes
    -----
    If even the first learner has a mean loss of one half or more, it is the only one, with a
    warning.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sumwise import AdaBoostRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = AdaBoostRegressor(random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.5
    True
    """

    @extend_parameters(BaseAdaBoost)
    def __init__(self, estimator: Any = None, *, loss: str = "linear", **shared: Any) -> None:
        super().__init__(estimator, **shared)
        self.loss = loss

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice(self, "loss", tuple(LOSSES))

    def _make_default(self) -> BaseShallowTree:
        return ShallowTreeRegressor(max_depth=3)

    def _make_tree(self, **parameters: Any) -> DecisionTreeRegressor:
        return DecisionTreeRegressor(**parameters)

    def _encode_target(self, y: np.ndarray) -> np.ndarray:
        return y.astype(np.float64)

    def _make_rule(self, target: np.ndarray, team: Team) -> Rule:
        return NumberRule(target, self.loss, float(self.learning_rate), team)

    def _resolve_method(self, takes_weights: bool) -> str:
        return RESAMPLE

    def _make_reader(self) -> Callable[[Any], np.ndarray]:
        return partial(check_numbers, learner=type(self.estimator_).__name__)

    def _keep_rejected(self, result: AdaBoostResult) -> None:
        if result.rejected is None:
            raise DataError("no sample could be learned from")
        member, error = result.rejected
        result.members, result.weights, result.errors = [member], [1.0], [error]
        warn_user(
            f"the mean loss of the first {type(self.estimator_).__name__} is {error:.3g} of the "
            "largest, not below one half: it is the only learner. Another loss or base learner may "
            "help",
            UserWarning,
        )

    # --- prediction ---

    @property
    def _scale(self) -> str:
        return PREDICTION

    def _attribute(self, question: Question) -> "Attribution":
        raise ExplanationError(
            "AdaBoostRegressor predicts the weighted median of its learners, which is no sum of "
            "contributions of features; explain its learners (model.estimators_[0].explain(X)), "
            "or use GradientBoostingRegressor or BaggingRegressor"
        )

    def _collect(self, X: Any) -> Iterator[np.ndarray]:
        """Yield what the learners predict, shape (n_learners, n_rows), for successive rows."""
        X = self._read_rows(X)
        return self._learners.list_numbers(X, self.n_jobs)

    @document_rows
    def predict(self, X: Any) -> np.ndarray:
        """Return the weighted median of the learners' predictions.

        {rows}
        ndarray of shape (n_rows,)
        """
        parts = [weighted_median(part, self.estimator_weights_) for part in self._collect(X)]
        return np.concatenate(parts)

    def _describe_trees(self, trees: TreeSum) -> Node:
        return Median(trees, self.estimator_weights_)

    def _describe_members(self, members: DescribedMembers) -> Node:
        trees = []
        for node in members.nodes:
            if not isinstance(node, TreeSum) or node.n_trees > 1 or node.n_outputs > 1:
                raise ExportError(
                    f"the median of {type(self.estimator_).__name__}s cannot be exported: its "
                    "learners must be single trees"
                )
            trees.append((node, np.ones((1, 1))))
        return Median(add_trees(trees, np.zeros(1)), self.estimator_weights_)

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Yield :meth:`predict` after each round."""
        predictions = np.concatenate(list(self._collect(X)), axis=1)
        for n in range(1, len(predictions) + 1):
            yield weighted_median(predictions[:n], self.estimator_weights_[:n])
