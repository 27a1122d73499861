"""GradientBoostingRegressor."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from sumwise.errors import DataError
from sumwise.estimators.boosting.base import BaseGradientBoosting, document_parameters
from sumwise.estimators.boosting.losses import (
    REGRESSION_LINKS,
    make_regression_loss,
    needs_positive_targets,
    score_quantiles,
)
from sumwise.estimators.boosting.multi_target import check_strategy, resolve_strategy
from sumwise.estimators.input.parameters import (
    extend_parameters,
)
from sumwise.losses import Loss, is_custom_loss
from sumwise.training.boosters import Booster
from sumwise.tree import GrowthSettings


@document_parameters
class GradientBoostingRegressor(RegressorMixin, BaseGradientBoosting):
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
        as if each were learned alone; "multi_output_tree", each round adds one tree for all, whose
        leaves hold a value per target. See ``docs/guide/multi_target.md``.

    Attributes
    ----------
    n_trees_ : int
        Number of trees; a tree for several targets counts as one per target.
    best_iteration_ : int
        Rounds in the model; with early stopping, the best number of rounds.
    n_estimators_, n_iter_ : int
        The same, under scikit-learn's names.
    best_score_ : float
        Its validation loss, or validation score with ``scoring``, if there were validation rows.
    feature_importances_ : ndarray of shape (n_features,)
        Shares of the total gain.
    oob_improvement_ : ndarray of shape (n_rounds,)
        With a ``sampler`` that leaves rows out at random, how much lower each round made the loss
        of these rows; also of rounds that were cut off.
    coef_, intercept_ : ndarray and float
        Of a model with ``booster="linear"``; by target, if there are several.
    history_ : dict of ndarray
        What was measured after each round, also of rounds that were cut off: "validation_loss" and
        "validation_score" (with ``scoring``; "validation_" and its name, if it has several metrics)
        if there were validation rows, "valid_0_loss" and so on of an ``eval_set``,
        "oob_improvement" as above, "training_loss" with ``track_training_loss``, if verbose or
        with callbacks. The loss of several targets is the mean of theirs. A model file does not
        hold the training loss.
    ensemble_ : TreeEnsemble or LinearEnsemble
        The trees, or the linear model.
    n_outputs_ : int
        Targets that the model predicts.
    n_features_in_ : int
        Features seen in ``fit``.
    feature_names_in_ : ndarray
        Their names, if X had any.
    schema_ : FeatureSchema
        Their kinds, and the values of those that are categories.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sumwise import GradientBoostingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = GradientBoostingRegressor(growth="symmetric").fit(X, y)
    >>> bool(model.score(X, y) > 0.5)
    True
    """

    _saved_attributes = (
        "n_features_in_",
        "feature_names_in_",
        "schema_",
        "history_",
        "_seed",
        "_watched",
    )
    _links = REGRESSION_LINKS
    _takes_many_targets = True
    _n_targets = 1

    @extend_parameters(BaseGradientBoosting)
    def __init__(self, *, multi_strategy: str = "one_output_per_tree", **shared: Any) -> None:
        super().__init__(**shared)
        self.multi_strategy = multi_strategy

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = needs_positive_targets(self.loss)
        # A custom loss decides its number of outputs. scikit-learn's check of several targets has
        # negative ones, whatever positive_only says.
        is_free = not is_custom_loss(self.loss) and not tags.target_tags.positive_only
        tags.target_tags.multi_output = is_free
        return tags

    def _check_parameters(self) -> GrowthSettings:
        make_regression_loss(self)
        check_strategy(self)
        return super()._check_parameters()

    def _adapt_booster(self, booster: Booster) -> Booster:
        return resolve_strategy(self, booster, self._n_targets)

    def _encode_target(self, y: np.ndarray, start: Any) -> np.ndarray:
        self._n_targets = _count_targets(y)
        return y

    def _encode_validation(self, y: np.ndarray) -> np.ndarray:
        if _count_targets(y) != self._n_targets:
            raise DataError(f"y_val has {_count_targets(y)} targets, and y {self._n_targets}")
        return y

    def _make_loss(self) -> Loss:
        return make_regression_loss(self, self._n_targets)

    @property
    def n_outputs_(self) -> int:
        """Number of outputs: one per target."""
        check_is_fitted(self)
        return self.ensemble_.n_outputs

    def predict(self, X: Any, rounds: Any = None, raw: bool = False) -> np.ndarray:
        """Return the predicted value of each row.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        rounds : int, pair of int, slice or None, default=None
            Rounds to predict by: the first so many, those from the first of a pair up to, not
            including, the second, or a slice. None for all.
        raw : bool, default=False
            Whether to return raw scores, before the link: logarithms of means with a log link.

        Returns
        -------
        ndarray of shape (n_rows,), or (n_rows, n_outputs) for several targets or quantiles
        """
        scores = self._predict_rounds(X, rounds)
        return self._scores(scores) if raw else self._predict_mean(scores)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R² (the mean over several targets), or D² of several quantiles.

        D² is the mean over the quantiles of the share of the pinball loss that is saved.

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
        if self.__sklearn_is_fitted__() and self.ensemble_.link == "sorted":
            return score_quantiles(self.loss, y, self.predict(X), sample_weight)
        return super().score(X, y, sample_weight)

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Yield :meth:`predict` after each round."""
        return map(self._predict_mean, self._staged_predict_raw(X))


def _count_targets(y: np.ndarray) -> int:
    return 1 if y.ndim == 1 else y.shape[1]
