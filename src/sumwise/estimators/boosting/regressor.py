"""GradientBoostingRegressor."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from sumwise.estimators.boosting.base import BaseGradientBoosting
from sumwise.estimators.boosting.docs import document
from sumwise.estimators.boosting.losses import (
    REGRESSION_LINKS,
    make_regression_loss,
    needs_positive_targets,
    score_quantiles,
)
from sumwise.estimators.boosting.multi_target import check_strategy, resolve_strategy
from sumwise.estimators.boosting.tasks import Regression, Task, as_target, count_targets
from sumwise.estimators.calibrated.mixins import ConformalRegressorMixin
from sumwise.estimators.input.parameters import extend_parameters
from sumwise.losses import is_custom_loss
from sumwise.training.boosters import Booster
from sumwise.tree import GrowthSettings


@document
class GradientBoostingRegressor(RegressorMixin, ConformalRegressorMixin, BaseGradientBoosting):
    """Gradient boosted trees for regression.

    Parameters
    ----------
    loss : str, object or function, default="auto"
        "squared_error" (which is "auto"); "absolute_error", "huber", "fair", "log_cosh" and
        "quantile" for medians and quantiles, "mape" for relative errors; "poisson" for counts,
        "gamma" for positive amounts and "tweedie" for amounts with zeros, all with a log link;
        "squared_log_error" for errors of logarithms; "cross_entropy" for targets that are
        probabilities. :class:`Fair`, :class:`Huber`, :class:`Quantile` (also of several levels) and
        :class:`Tweedie` have parameters. Or an object with a method ``gradient(y, raw)``, or a
        function of (y, raw) that returns gradient and hessian; see :func:`sumwise.check_loss` and
        ``docs/guide/losses.md``. The loss of several targets is the sum of theirs.
    {parameters}
    multi_strategy : {"one_output_per_tree", "multi_output_tree"}, default="one_output_per_tree"
        How several targets are learned: "one_output_per_tree", each round adds one tree per target,
        as if each were learned alone; "multi_output_tree", each round adds one tree for all, with
        one value per target in each leaf. See ``docs/guide/multi_target.md``.

    Attributes
    ----------
    n_outputs_ : int
        Number of targets that the model predicts.
    {attributes}

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sumwise import GradientBoostingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = GradientBoostingRegressor(growth="symmetric").fit(X, y)
    >>> bool(model.score(X, y) > 0.5)
    True
    """

    _links = REGRESSION_LINKS

    @extend_parameters(BaseGradientBoosting)
    def __init__(self, *, multi_strategy: str = "one_output_per_tree", **shared: Any) -> None:
        super().__init__(**shared)
        self.multi_strategy = multi_strategy

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = needs_positive_targets(self.loss)
        # A custom loss decides its number of outputs. scikit-learn's check of several targets uses
        # negative ones even with positive_only.
        is_free = not is_custom_loss(self.loss) and not tags.target_tags.positive_only
        tags.target_tags.multi_output = is_free
        return tags

    def _check_parameters(self) -> GrowthSettings:
        make_regression_loss(self)
        check_strategy(self)
        return super()._check_parameters()

    def _adapt_booster(self, booster: Booster, task: Task) -> Booster:
        return resolve_strategy(self, booster, task.n_targets)

    def _learn_task(
        self, y: np.ndarray, classes: np.ndarray | None
    ) -> tuple[Regression, np.ndarray]:
        n_targets = count_targets(y)
        return Regression(make_regression_loss(self, n_targets), n_targets), as_target(y)

    @property
    def n_outputs_(self) -> int:
        """Number of outputs: one per target."""
        check_is_fitted(self)
        return self.ensemble_.n_outputs

    def predict(
        self, X: Any, rounds: Any = None, raw: bool = False, *, output: Any = None
    ) -> np.ndarray:
        """Return the predicted value of each row.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Or rows that are read in batches, as in :meth:`fit`; columns that are no features are
            ignored.
        rounds : int, pair of int, slice or None, default=None
            Rounds to predict with: the number of first rounds, a pair (first round, round after
            the last) or a slice. None for all.
        raw : bool, default=False
            Whether to return raw scores, before the link: logarithms of means with a log link.
        output : path or None, default=None
            A Parquet file to write, with the column "prediction", or
            "prediction_0" and so on for several outputs. It appears when it is complete.

        Returns
        -------
        ndarray of shape (n_rows,), or (n_rows, n_outputs) for several targets or quantiles; None
        with ``output``
        """
        model = self._take_rounds(rounds)
        if raw:
            return model._predict(X, model._scores, model._give_scores, output)
        return model._predict(X, model._predict_mean, model._give_mean, output)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R² (the mean over several targets), or D² of several quantiles.

        D² is the relative reduction of a constant's pinball loss, on average over the quantiles.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        y : array-like of shape (n_rows,) or (n_rows, n_targets)
        sample_weight : array-like of shape (n_rows,), default=None

        Returns
        -------
        float
            1 for perfect predictions, 0 for those of a constant.
        """
        X, y, sample_weight = self._read_scored(X, y, sample_weight)
        if self.__sklearn_is_fitted__() and self.ensemble_.link == "sorted":
            return score_quantiles(self.loss, y, self.predict(X), sample_weight)
        return super().score(X, y, sample_weight)

    def _name_targets(self, n_outputs: int) -> tuple[str, ...]:
        levels = getattr(self.loss, "levels", ())
        if self.ensemble_.link == "sorted" and len(levels) == n_outputs:
            return tuple(f"quantile {level:g}" for level in levels)
        return super()._name_targets(n_outputs)

    def _predict_spread(self, X: Any) -> tuple[np.ndarray, None]:
        return self._predict_columns(self._predict_raw(X)), None

    def _predict_columns(self, raw: np.ndarray) -> np.ndarray:
        """Return predictions with a column per output, even if there is only one."""
        return self._predict_mean(raw).reshape(raw.shape)

    def _learn_from_unseen(self, raw: np.ndarray, y: np.ndarray, weight: np.ndarray | None) -> None:
        """Learn from the raw scores of rows that the trees have not seen."""
        from sumwise.estimators.boosting.calibrating import describe_residuals
        from sumwise.estimators.calibrated.conformal import ConformalIntervals

        base, about = self._predict_columns(raw), describe_residuals(self)
        self.conformal_ = ConformalIntervals.learn(y, base, None, weight, **about)

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Yield :meth:`predict` after each round."""
        return map(self._predict_mean, self._staged_predict_raw(X))
