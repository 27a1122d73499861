"""What the estimators with the names of other libraries share."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier
from sklearn.utils.validation import check_is_fitted

from sumwise.compat.evaluation import Evaluation
from sumwise.compat.table import Table
from sumwise.errors import DataError, ModelFileError, ParameterError
from sumwise.estimators.boosting.classifier import GradientBoostingClassifier
from sumwise.estimators.boosting.regressor import GradientBoostingRegressor
from sumwise.estimators.fitted_state import starting_anew
from sumwise.estimators.persistence import load


@dataclass
class FitPlan:
    """A fit in terms of sumwise.

    Attributes
    ----------
    params : dict
        Parameters of the estimator of sumwise.
    X, y, sample_weight, init_score : Any
        Arguments of its ``fit``.
    evaluation : Evaluation
        What is measured after each round.
    init_model : estimator or None
        The model to continue; the rounds of ``params`` come after its own.
    measure_training : bool
        Whether the training loss is measured after each round.
    """

    params: dict[str, Any]
    X: Any
    y: Any
    evaluation: Evaluation
    sample_weight: Any = None
    init_score: Any = None
    init_model: Any = None
    measure_training: bool = False


def make_init(
    owner: str, table: Table, signature: Mapping[str, Any], by_position: bool = False
) -> Callable[..., None]:
    """Return a constructor whose parameters are those of another library.

    It also takes all other names of the table; scikit-learn reads those of the signature only.

    Parameters
    ----------
    owner : str
        The class, for messages.
    table : Table
    signature : mapping of str to Any
        Defaults by name, in order.
    by_position : bool, default=False
        Whether values may be passed by position.
    """
    kind: Any = inspect.Parameter.KEYWORD_ONLY
    if by_position:
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    parameters += [
        inspect.Parameter(name, kind, default=value) for name, value in signature.items()
    ]
    shown = inspect.Signature(parameters)

    def __init__(self: Any, *args: Any, **params: Any) -> None:  # noqa: N807 - becomes a method
        for name in params:
            if name not in signature:
                table.check_name(owner, name)
        if len(args) > (len(signature) if by_position else 0):
            raise ParameterError(f"{owner}: pass parameters by name")
        given = dict(zip(signature, args, strict=False))
        for name, value in {**signature, **given, **params}.items():
            setattr(self, name, value)

    __init__.__signature__ = shown  # type: ignore[attr-defined]
    return __init__


class CompatEstimator(BaseEstimator):
    """An estimator with the parameters of another library, fitted by sumwise.

    Attributes
    ----------
    model_ : GradientBoostingClassifier or GradientBoostingRegressor
        The fitted model of sumwise, with all of its methods: ``explain``, ``save``, export.
    """

    _table: ClassVar[Table]
    _signature: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    _fitted_privately: ClassVar[tuple[str, ...]] = ("_rounds", "_learned")

    model_: Any
    # Rounds to predict with unless told otherwise; None for all.
    _rounds: int | None = None

    # --- parameters ---

    @property
    def _owner(self) -> str:
        return type(self).__name__

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters under the names they were given by.

        Parameters
        ----------
        deep : bool, default=True
            Makes no difference: no parameter has parameters of its own.

        Returns
        -------
        dict
        """
        own = {name: getattr(self, name) for name in self._signature}
        more = {name: value for name, value in vars(self).items() if name in self._table}
        return own | more

    def set_params(self, **params: Any) -> Self:
        """Set parameters by any of their names.

        Parameters
        ----------
        **params : dict

        Returns
        -------
        self
        """
        for name in params:
            if name not in self._signature:
                self._table.check_name(self._owner, name)
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def _resolve(self) -> dict[str, Any]:
        """Return the values of all parameters by their main names."""
        known = {name: value for name, value in self.get_params().items() if name in self._table}
        return self._table.resolve(self._owner, known, self._signature)

    # --- fit ---

    def _train(self, plan: FitPlan) -> Any:
        """Return a fitted model of sumwise."""
        kind = GradientBoostingClassifier if is_classifier(self) else GradientBoostingRegressor
        params, options = dict(plan.params), plan.evaluation.fit_options
        if plan.init_model is not None:
            options["init_model"] = plan.init_model
            params["n_estimators"] += plan.init_model.best_iteration_
        told = [plan.evaluation] if self._wants_rounds(plan) else []
        model = kind(
            **params,
            scoring=plan.evaluation.scoring,
            early_stopping=False,
            track_training_loss=plan.measure_training,
            callbacks=told,
        )
        try:
            model.fit(plan.X, plan.y, plan.sample_weight, plan.init_score, **options)
        except (DataError, ParameterError) as error:
            hint = self._table.explain(str(error))
            if not hint:
                raise
            raise type(error)(f"{error} ({self._owner}: {hint})") from error
        model.callbacks, model.scoring = None, "loss"  # they know the rows of this fit
        return model

    def _wants_rounds(self, plan: FitPlan) -> bool:
        return bool(plan.evaluation.sets or plan.evaluation.listeners or plan.measure_training)

    def _keep(self, model: Any, best_round: int | None, keeps_all: bool = False) -> None:
        """Store a model, cut after its best round or used up to there."""
        if best_round is not None and best_round < model.best_iteration_:
            if keeps_all:
                self._rounds = best_round
            else:
                model = model.truncate(best_round)
        self.model_ = model

    # --- files ---

    def save_model(self, path: Any) -> None:
        """Write the fitted model to a file in the format of sumwise.

        Parameters
        ----------
        path : str, path-like or binary file object
            The file has the trees that predictions use. ``sumwise.load`` reads it, too.
        """
        check_is_fitted(self)
        self._model.save(path)

    def load_model(self, path: Any) -> Self:
        """Read a model that :meth:`save_model` has written.

        Parameters
        ----------
        path : str, path-like or binary file object
            A file of sumwise. Files of the other library are read by ``sumwise.from_lightgbm``,
            ``sumwise.from_xgboost`` and ``sumwise.from_catboost``.

        Returns
        -------
        self
        """
        library = self._table.library
        with starting_anew(self):
            try:
                model = load(path)
            except ModelFileError as error:
                reader = f"sumwise.from_{library.lower()}"
                raise ModelFileError(
                    f"{error}; a file that {library} has written is read by {reader}"
                ) from None
            expected = (
                GradientBoostingClassifier if is_classifier(self) else GradientBoostingRegressor
            )
            if not isinstance(model, expected):
                raise ModelFileError(
                    f"{self._owner} cannot hold a {type(model).__name__}: use sumwise.load"
                )
            self._learn_loaded(model)
            self.model_ = model
        return self

    def _learn_loaded(self, model: Any) -> None:
        """Set the fitted attributes of a model that was read from a file."""

    # --- predictions ---

    @property
    def _model(self) -> Any:
        """The model of the rounds that predictions use."""
        check_is_fitted(self)
        return self.model_ if self._rounds is None else self.model_.truncate(self._rounds)

    def _raw(self, X: Any, rounds: Any = None) -> np.ndarray:
        """Return raw scores, of ``rounds`` or of those that predictions use."""
        check_is_fitted(self)
        rounds = self._rounds if rounds is None else rounds
        if is_classifier(self):
            return self.model_.decision_function(X, rounds)
        return self.model_.predict(X, rounds, raw=True)

    def _mean(self, X: Any, rounds: Any = None) -> np.ndarray:
        """Return probabilities or predictions."""
        check_is_fitted(self)
        rounds = self._rounds if rounds is None else rounds
        if is_classifier(self):
            return self.model_.predict_proba(X, rounds)
        return self.model_.predict(X, rounds)

    def _labels(self, X: Any, rounds: Any = None) -> np.ndarray:
        check_is_fitted(self)
        return self.model_.predict(X, self._rounds if rounds is None else rounds)

    def _leaves(self, X: Any, rounds: Any = None) -> np.ndarray:
        """Return the node that each row reaches in each tree."""
        check_is_fitted(self)
        rounds = self._rounds if rounds is None else rounds
        return self.model_._take_rounds(rounds).apply(X)

    def _contributions(self, X: Any, rounds: Any = None) -> np.ndarray:
        """Return Shapley values and base value, (n_rows, n_features + 1), outputs in the middle."""
        check_is_fitted(self)
        rounds = self._rounds if rounds is None else rounds
        found = self.model_.explain(X, rounds=rounds)
        base = found.base_values[..., None]
        values = found.values if found.values.ndim == 2 else np.moveaxis(found.values, 2, 1)
        return np.concatenate([values, base], axis=-1)

    # --- fitted attributes ---

    @property
    def n_features_in_(self) -> int:
        """Number of features seen in ``fit``."""
        check_is_fitted(self)
        return int(self.model_.n_features_in_)

    @property
    def feature_names_in_(self) -> np.ndarray:
        """Names of the features, if X had any."""
        check_is_fitted(self)
        return self.model_.feature_names_in_

    def _name_features(self, pattern: str) -> list[str]:
        """Return the names of the features, or numbered ones."""
        names = getattr(self, "feature_names_in_", None)
        if names is not None:
            return [str(name) for name in names]
        return [pattern.format(k) for k in range(self.n_features_in_)]

    # --- scikit-learn ---

    def __sklearn_is_fitted__(self) -> bool:
        return "model_" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.string = True  # read by column: as categories, or refused by name
        return tags


class CompatClassifier(ClassifierMixin, CompatEstimator):
    """A classifier."""

    @property
    def classes_(self) -> np.ndarray:
        """Class labels, sorted."""
        check_is_fitted(self)
        return self.model_.classes_

    @property
    def n_classes_(self) -> int:
        """Number of classes."""
        return int(self.classes_.size)


class CompatRegressor(RegressorMixin, CompatEstimator):
    """A regressor."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def refuse_native(library: str, module: str, hints: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a module that has only some of the names of a library."""

    def refuse(name: str) -> Any:
        if name in hints:
            raise AttributeError(f"{module} has no {name}: {hints[name]}")
        raise AttributeError(
            f"{module} has no {name}: it has the estimators and callbacks of {library}; see "
            f"docs/migration/from_{library.lower()}.md"
        )

    return refuse
