"""A fitted boosting model: its predictions and attributes."""

from collections.abc import Callable, Iterator
from copy import copy
from functools import partial
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from sumwise.data.batches.sources import is_source
from sumwise.data.categories.encoder import CategoryEncoder
from sumwise.data.device_matrix import DeviceMatrix
from sumwise.data.on_device import fetch, give, is_on_device
from sumwise.docstrings import fill_docstring
from sumwise.errors import ExportError, ParameterError
from sumwise.estimators.boosting.round_ranges import read_rounds
from sumwise.estimators.describing.models import describe_columns, describe_inputs, describe_raw
from sumwise.estimators.explaining import (
    EXPLAIN_TEXTS,
    LOG_ODDS,
    LOG_PREDICTION,
    PREDICTION,
    PROBABILITY,
    RAW_SCORE,
    ExplainMixin,
    Question,
    attribute_model,
    explain_rows,
)
from sumwise.estimators.input.features import ReadRows, needs_no_check, read_rows
from sumwise.estimators.input.jobs import count_threads, start_team
from sumwise.estimators.persistence import SavedModelMixin
from sumwise.estimators.serving.mixin import CompilesMixin
from sumwise.export.portable import Link, Node, PortableModel
from sumwise.inspection.importance import importance
from sumwise.kernels.runtime.threads import Team
from sumwise.losses import CustomLoss
from sumwise.parts import is_number
from sumwise.training.stopping import LOSS, OOB, SCORE
from sumwise.tree import Ensemble, LinearEnsemble, TreeEnsemble

if TYPE_CHECKING:  # imported when something is explained
    from sumwise.estimators.boosting.device_scores import DeviceScores
    from sumwise.inspection.attribution import Attribution
    from sumwise.inspection.explanation import Explanation

# Number of trees that a row passes in one elementary step of count_threads.
_TREES_PER_STEP = 4

# What the raw score is, by link function; otherwise it is just a score.
_SCALES = {
    "identity": PREDICTION,
    "log": LOG_PREDICTION,
    "log1p": "logarithm of 1 + prediction",
    "sigmoid": LOG_ODDS,
    "logistic": LOG_ODDS,
    "half_logistic": "half the log odds",
    "sorted": "prediction before sorting",
}

# Code of a category that fit has not seen; an encoder distinguishes it from a missing value.
UNKNOWN = -1.0

# Up to here rows of the host are predicted there before they would have come to a device.
_FEW_ROWS = 1000
CPU = "cpu"

_Model = TypeVar("_Model", bound="BaseFittedBoosting")
T = TypeVar("T")


class _KnownScores(NamedTuple):
    """Rows, and their raw scores (n_rows, n_outputs)."""

    X: Any
    raw: np.ndarray


class BaseFittedBoosting(ExplainMixin, CompilesMixin, SavedModelMixin, BaseEstimator):
    """Methods of a gradient boosting estimator that has an ensemble."""

    _saved_attributes: ClassVar[tuple[str, ...]] = (
        "n_features_in_",
        "feature_names_in_",
        "schema_",
        "history_",
        "_seed",
        "_watched",
    )

    ensemble_: Ensemble
    history_: dict[str, np.ndarray]
    # The user's loss, if it has its own link function.
    _custom_link: CustomLoss | None = None
    # Where many rows are predicted, and rows are explained.
    device: str = CPU
    # Replaces categories by statistics of the target.
    _encoder: CategoryEncoder | None = None
    _known_scores: _KnownScores | None = None

    def _check_input(self, X: Any) -> Any:
        if needs_no_check(self, X):
            return X
        check_is_fitted(self)
        if self._encoder is None:
            return read_rows(self, X)
        return self._encoder.transform(read_rows(self, X, UNKNOWN))

    def _with_team(self, X: Any, work: Callable[[Team], T]) -> T:
        n_steps = X.shape[0] * self.ensemble_.n_trees // _TREES_PER_STEP
        with start_team(self.n_jobs, n_steps) as team:
            return work(team)

    def _predict_raw(self, X: Any) -> np.ndarray:
        if self._known_scores is not None and X is self._known_scores.X:
            return self._known_scores.raw.copy()
        matrix = self._check_input(X)
        if self._predicts_on_device(matrix):
            return self._score_on_device(matrix, X).to_host()
        return self._predict_on_host(matrix)

    def _predict_on_host(self, X: Any) -> np.ndarray:
        return self._with_team(X, lambda team: self.ensemble_.predict_raw(X, team))

    def _predicts_on_device(self, X: Any) -> bool:
        """Whether read rows are on a device, or are many and meant for one."""
        if isinstance(X, DeviceMatrix):
            is_plain = isinstance(self.ensemble_, TreeEnsemble) and self.ensemble_.models is None
            return is_plain  # otherwise their codes go to the host
        return self.device != CPU and X.shape[0] > _FEW_ROWS

    def _score_on_device(self, X: Any, given: Any) -> "DeviceScores":
        """Return raw scores on a device; ``given`` are the rows as the user has passed them."""
        from sumwise.estimators.boosting.device_scores import DeviceScores  # needs a GPU

        known: Any = self.ensemble_
        return self._with_team(
            X, lambda team: DeviceScores.predict(known, self.device, X, given, team)
        )

    def _predict(
        self,
        X: Any,
        on_host: Callable[[np.ndarray], Any],
        on_device: "Callable[[DeviceScores], Any] | None" = None,
        output: Any = None,
        name: str = "prediction",
        labels: Any = None,
    ) -> Any:
        """Return what is made of the raw scores of rows, where the rows are.

        Those of a source are read in batches. With ``output``, columns of this ``name`` (for
        several outputs, followed by their ``labels``) are written to a Parquet file.

        Without ``on_device``, scores of a device are brought to the host for this.
        """
        if output is not None or is_source(X):
            from sumwise.estimators.boosting.batch_predictions import predict_source

            predict = partial(self._predict, on_host=on_host, on_device=on_device)
            return predict_source(self, X, predict, output, name, labels)
        is_known = self._known_scores is not None and X is self._known_scores.X
        if is_known or (self.device == CPU and not is_on_device(X)):
            return on_host(self._predict_raw(X))
        matrix = self._check_input(X)
        if not self._predicts_on_device(matrix):
            return give(on_host(self._predict_on_host(matrix)), X)
        scores = self._score_on_device(matrix, X)
        return on_device(scores) if on_device else give(on_host(scores.to_host()), X)

    def _give_scores(self, scores: "DeviceScores") -> Any:
        return scores.give_raw()

    def _give_mean(self, scores: "DeviceScores") -> Any:
        """Do on a device what :meth:`_predict_mean` does; a user's own link is of the host."""
        if self._custom_link is not None:
            return give(self._predict_mean(scores.to_host()), scores.like)
        return scores.give_mean(self.ensemble_.link)

    def _take_rounds(self, rounds: Any) -> Self:
        """Return the model of some rounds; itself for all (None)."""
        if rounds is None:
            return self
        check_is_fitted(self)
        taken = self.ensemble_.take_rounds(*read_rounds(rounds, self.best_iteration_))
        return self._replace_ensemble(taken)

    def _replace_ensemble(self, ensemble: Ensemble) -> Self:
        """Return a fitted copy with other rounds; it is not calibrated."""
        model = self._drop_calibration()
        model.ensemble_, model._known_scores = ensemble, None
        return model

    def _drop_calibration(self) -> Self:
        """Return a copy without what was learned from the predictions of all rounds."""
        model = copy(self)
        for name in ("calibration_", "conformal_"):
            model.__dict__.pop(name, None)
        return model

    def _read_scored(self, X: Any, *others: Any) -> tuple[Any, ...]:
        """Return X, y and weights of ``score`` so that predictions are made on the host."""
        if is_source(X):
            from sumwise.estimators.boosting.batch_predictions import read_scored_columns

            return X, *read_scored_columns(self, X, *others)
        rows = ReadRows(self._check_input(X)) if is_on_device(X) else X
        return rows, *map(fetch, others)

    def _scores(self, raw: np.ndarray) -> np.ndarray:
        """Return raw scores as users see them: a single output has no axis."""
        return raw[:, 0] if raw.shape[1] == 1 else raw

    def _staged_predict_raw(self, X: Any) -> Iterator[np.ndarray]:
        X = self._check_input(X)
        n_threads = count_threads(self.n_jobs, X.shape[0] * self.ensemble_.n_outputs)
        with Team(n_threads) as team:
            yield from self.ensemble_.staged_predict_raw(X, team)

    def _predict_mean(self, raw: np.ndarray) -> np.ndarray:
        """Return predictions or class probabilities from raw scores."""
        model = self.ensemble_ if self._custom_link is None else self._custom_link
        return model.predict_mean(raw)

    def _describe(self) -> PortableModel:
        """Return the model in plain terms, for export."""
        check_is_fitted(self)
        if self._custom_link is not None:
            raise ExportError("a link function of your own is code, which cannot be exported")
        known = getattr(self, "classes_", [])  # a list if there are several targets, or none
        classes = tuple(known) if isinstance(known, list) else (known,)
        output = self._describe_output(self._describe_raw())
        return PortableModel(type(self).__name__, describe_inputs(self), output, classes)

    def _describe_raw(self) -> Node:
        """Return raw scores in plain terms."""
        return describe_raw(self.ensemble_, describe_columns(self.n_features_in_, self._encoder))

    def _describe_output(self, raw: Node) -> Node:
        """Return predictions or class probabilities in plain terms."""
        return raw if self.ensemble_.link == "identity" else Link(raw, self.ensemble_.link)

    @property
    def _scale(self) -> str:
        if self._custom_link is not None:
            return RAW_SCORE
        scale = _SCALES.get(self.ensemble_.link, RAW_SCORE)
        # Shares of classes in the leaves, as in forests of other libraries.
        return PROBABILITY if scale == PREDICTION and hasattr(self, "classes_") else scale

    def _attribute(self, question: Question) -> "Attribution":
        known = self.ensemble_, question, self._check_input, self.n_jobs
        found = attribute_model(*known, self.device)
        if self._encoder is not None:
            found = found.fold_features(self._encoder.fold)
        is_pair = found.n_outputs == 2 and not isinstance(getattr(self, "classes_", []), list)
        if is_pair and self._scale == PROBABILITY:
            return found.mix_outputs(np.array([[0.0], [1.0]]), np.zeros(1))
        return found

    @fill_docstring(**EXPLAIN_TEXTS)
    def explain(
        self, X: Any, *, background: Any = None, interactions: bool = False, rounds: Any = None
    ) -> "Explanation":
        """Return how much each feature contributes to the raw score of each row (SHAP values).

        {summary}

        Parameters
        ----------
        {parameters}
        rounds : int, pair of int, slice or None, default=None
            Rounds to explain, as in :meth:`predict`.

        Returns
        -------
        {returns}

        Notes
        -----
        The raw score of a regressor is the prediction, or its logarithm if the loss has a log link.
        That of a classifier, ``decision_function``, is the log odds of the second of two classes;
        for more there is one score per class.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from sumwise import GradientBoostingClassifier
        >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
        >>> model = GradientBoostingClassifier(n_estimators=10).fit(X, y)
        >>> explanation = model.explain(X[:5])
        >>> explanation.scale, explanation.values.shape
        ('log odds', (5, 30))
        >>> bool(abs(explanation.outputs - model.decision_function(X[:5])).max() < 1e-9)
        True
        """
        model = self._take_rounds(rounds)
        question = Question(fetch(X), fetch(background), bool(interactions))
        return explain_rows(model, question)

    def apply(self, X: Any) -> np.ndarray:
        """Return the leaf each row reaches in each tree.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of int32, shape (n_rows, n_trees)
            Node numbers within each tree.
        """
        matrix = self._check_input(X)
        if self._predicts_on_device(matrix):
            from sumwise.estimators.boosting.device_scores import apply_on_device  # needs a GPU

            known: Any = self.ensemble_
            return self._with_team(
                matrix, lambda team: apply_on_device(known, self.device, matrix, X, team)
            )
        return self._with_team(matrix, lambda team: self.ensemble_.apply(matrix, team))

    def truncate(self, n_rounds: int) -> Self:
        """Return a fitted copy that has only the first rounds.

        Parameters
        ----------
        n_rounds : int
            Rounds to keep, from 1 to ``best_iteration_``.
        """
        check_is_fitted(self)
        if not is_number(n_rounds, Integral) or not 1 <= n_rounds <= self.best_iteration_:
            raise ParameterError(
                f"n_rounds={n_rounds!r}: must be an integer from 1 to {self.best_iteration_}, "
                "the rounds of the model"
            )
        return self._replace_ensemble(self.ensemble_.truncate(int(n_rounds)))

    @property
    def best_iteration_(self) -> int:
        """Rounds in the model."""
        check_is_fitted(self)
        return self.ensemble_.n_rounds

    @property
    def n_estimators_(self) -> int:
        """Rounds in the model, as in scikit-learn."""
        return self.best_iteration_

    @property
    def n_iter_(self) -> int:
        """Rounds in the model, as in scikit-learn."""
        return self.best_iteration_

    @property
    def best_score_(self) -> float:
        """Validation loss, or validation score with ``scoring``, of the model."""
        check_is_fitted(self)
        for name in (getattr(self, "_watched", SCORE), SCORE, LOSS):
            if name in self.history_:
                return float(self.history_[name][self.best_iteration_ - 1])
        raise AttributeError("best_score_: the model was fitted without validation rows")

    @property
    def oob_improvement_(self) -> np.ndarray:
        """Decrease of the loss in each round on the rows that its sampler left out."""
        check_is_fitted(self)
        if OOB not in self.history_:
            raise AttributeError(
                "oob_improvement_: needs a sampler that leaves rows out at random, as Subsample, "
                "and a booster that adds one tree per round"
            )
        return self.history_[OOB]

    @property
    def coef_(self) -> np.ndarray:
        """Coefficients of a linear model, (n_features,) or (n_outputs, n_features)."""
        last = self._linear("coef_").coefficient[-1]
        return last[0] if len(last) == 1 else last

    @property
    def intercept_(self) -> float | np.ndarray:
        """Raw score of a linear model if all features are zero or missing."""
        model = self._linear("intercept_")
        last = model.base_score + model.intercept[-1]
        return float(last[0]) if last.size == 1 else last

    def _linear(self, name: str) -> LinearEnsemble:
        check_is_fitted(self)
        if not isinstance(self.ensemble_, LinearEnsemble):
            raise AttributeError(f"{name}: only a model with booster='linear' has it")
        return self.ensemble_

    @property
    def n_trees_(self) -> int:
        """Number of trees."""
        check_is_fitted(self)
        return self.ensemble_.n_trees

    @property
    def feature_importances_(self) -> np.ndarray:
        """Total gain of each feature's splits, as shares of one."""
        if isinstance(getattr(self, "ensemble_", None), LinearEnsemble):
            raise AttributeError("feature_importances_: a linear model has none; see coef_")
        return self.get_feature_importances()

    def get_feature_importances(self, kind: str = "gain", normalize: bool = True) -> np.ndarray:
        """Return the importance of each feature.

        Parameters
        ----------
        kind : {"gain", "count"}, default="gain"
            Sum of the gains of a feature's splits, or their number.
        normalize : bool, default=True
            Whether they are shares of one.
        """
        check_is_fitted(self)
        if isinstance(self.ensemble_, LinearEnsemble):
            raise ParameterError("a linear model has coefficients (coef_) and no splits")
        by_column = importance(self.ensemble_, kind, normalize)
        return by_column if self._encoder is None else self._encoder.fold(by_column)


def know_scores(model: _Model, X: Any, raw: np.ndarray) -> _Model:
    """Return a copy that takes the raw scores of X from ``raw`` in place of predicting them.

    It recognizes X by identity: X may be any object. Other rows are predicted.
    """
    knowing = copy(model)
    knowing._known_scores = _KnownScores(X, raw)
    return knowing
