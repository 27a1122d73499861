"""What ensembles of given members share: names, parameters, fitting and predicting."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    MetaEstimatorMixin,
    RegressorMixin,
    clone,
    is_classifier,
    is_regressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.utils import Bunch, get_tags
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    _raise_for_params,
    _routing_enabled,
    process_routing,
)
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from sumwise.combine.classes import normalize_probabilities, place_classes
from sumwise.errors import DataError, ParameterError
from sumwise.estimators.inputs import check_sample_weight, read_target
from sumwise.estimators.out_of_fold import make_folds, predict_out_of_fold
from sumwise.estimators.parameters import check_choice
from sumwise.estimators.persistence import NotSavedMixin
from sumwise.estimators.validation import encode_labels

DROPPED = "drop"

MEMBER_PARAMETERS = """estimators : list of (str, estimator) pairs, or of estimators
        The members. Clones of them are fitted; those set to "drop" are left out, and those wrapped
        in :class:`sklearn.frozen.FrozenEstimator` are taken as they are. Without names, members
        are called by their class in lower case."""

MORE_PARAMETERS = """cv : int, splitter or iterable, default=5
        Folds of the out-of-fold predictions that something is learned from.
    prefit : bool, default=False
        Whether the members are fitted models that are taken as they are; rows passed to ``fit``
        should then be new to them.
    n_jobs : int or None, default=None
        Members, or folds, that joblib fits at once; None for 1, -1 for all CPUs."""

MEMBER_ATTRIBUTES = """estimators_ : list of estimators
        The fitted members, without dropped ones.
    named_estimators_ : Bunch
        The same by name.
    n_features_in_ : int
        Features seen in ``fit``.
    feature_names_in_ : ndarray
        Their names, if X had any."""


def document_members(**texts: str) -> Callable[[Any], Any]:
    """Put what several ensembles share into their docstrings, in place of ``{key}``."""
    texts |= {
        "members": MEMBER_PARAMETERS,
        "more": MORE_PARAMETERS,
        "attributes": MEMBER_ATTRIBUTES,
    }

    def document(kind: Any) -> Any:
        assert kind.__doc__ is not None
        for key, text in texts.items():
            kind.__doc__ = kind.__doc__.replace(f"{{{key}}}", text)
        return kind

    return document


@dataclass(frozen=True)
class FitJob:
    """What ``fit`` was given, checked.

    Attributes
    ----------
    names : list of str
    members : list of estimators
        Those to fit, without dropped ones.
    X : Any
        As the user passed it.
    y : ndarray
        Numbers or class indices.
    params : list of dict
        Arguments of each member's ``fit``.
    weight : ndarray or None
        Sample weights, to learn from the members' predictions with.
    split_params : mapping
        Arguments of the splitter: groups.
    """

    names: list[str]
    members: list[Any]
    X: Any
    y: np.ndarray
    params: list[dict[str, Any]]
    weight: np.ndarray | None
    split_params: Mapping[str, Any]

    def choose(self, indices: Sequence[int]) -> "FitJob":
        """Return the job of some of the members."""
        return FitJob(
            [self.names[i] for i in indices],
            [self.members[i] for i in indices],
            self.X,
            self.y,
            [self.params[i] for i in indices],
            self.weight,
            self.split_params,
        )


@dataclass(frozen=True)
class HeldOut:
    """Predictions of rows that the members did not see, members first.

    Attributes
    ----------
    predictions : ndarray of shape (n_members, n_rows) or (n_members, n_rows, n_classes)
    y : ndarray of shape (n_rows,)
    weight : ndarray of shape (n_rows,) or None
    rows : ndarray of int
        Their numbers; not all rows, where folds do not test all.
    """

    predictions: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None
    rows: np.ndarray


class FrozenClassifier(FrozenEstimator):
    """A fitted classifier that is not fitted again, with class indices in place of its labels."""

    def __init__(self, estimator: Any, labels: np.ndarray) -> None:
        super().__init__(estimator)
        self.labels = labels

    @property
    def classes_(self) -> np.ndarray:
        """Indices of its classes among all."""
        return encode_labels("a fitted member", self.estimator.classes_, self.labels)

    def predict(self, X: Any) -> np.ndarray:
        """Class index of each row."""
        return encode_labels("a fitted member", self.estimator.predict(X), self.labels)


class MemberEnsemble(NotSavedMixin, MetaEstimatorMixin, BaseEstimator):
    """Base of ensembles whose members the user gives, of any kind."""

    def __init__(
        self, estimators: Any, *, cv: Any = 5, prefit: bool = False, n_jobs: int | None = None
    ) -> None:
        self.estimators = estimators
        self.cv = cv
        self.prefit = prefit
        self.n_jobs = n_jobs

    # --- members and their parameters ---

    def _name_members(self) -> list[tuple[str, Any]]:
        """Pairs of name and member, whether or not the user named them; raise if it is no list."""
        items = self.estimators
        if not isinstance(items, (list, tuple)) or len(items) == 0:
            raise ParameterError(
                f"{type(self).__name__}: estimators must be a non-empty list of estimators or of "
                "(name, estimator) pairs"
            )
        if all(isinstance(i, (list, tuple)) and len(i) == 2 for i in items):
            return [(name, member) for name, member in items]
        names = [type(item).__name__.lower() for item in items]
        counts, seen = Counter(names), Counter[str]()
        for place, name in enumerate(names):
            if counts[name] > 1:
                seen[name] += 1
                names[place] = f"{name}-{seen[name]}"
        return list(zip(names, items, strict=True))

    @property
    def named_estimators(self) -> Bunch:
        """The members as they were given, by name."""
        return Bunch(**dict(self._name_members()))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return parameters by name; with ``deep`` members and their parameters, too."""
        params = super().get_params(deep=False)
        if not deep:
            return params
        for name, value in list(params.items()):
            if hasattr(value, "get_params") and not isinstance(value, type):
                params.update({f"{name}__{k}": v for k, v in value.get_params().items()})
        try:
            named = self._name_members()
        except ParameterError:
            return params
        for name, member in named:
            params[name] = member
            if hasattr(member, "get_params") and not isinstance(member, type):
                params.update({f"{name}__{k}": v for k, v in member.get_params().items()})
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters, members by name, and their parameters as ``name__parameter=...``."""
        if "estimators" in params:
            self.estimators = params.pop("estimators")
        try:
            names = [name for name, _ in self._name_members()]
        except ParameterError:
            names = []
        own = super().get_params(deep=False)
        for place, name in enumerate(names):
            if name in params and name not in own:
                items = list(self.estimators)
                is_pair = isinstance(items[place], (list, tuple))
                member = params.pop(name)
                items[place] = (name, member) if is_pair else member
                self.estimators = items
        super().set_params(**params)
        return self

    def _check_members(self) -> tuple[list[str], list[Any]]:
        """Return names and members, without dropped ones; raise for what is no member."""
        pairs = self._name_members()
        own = type(self).__name__
        names = [name for name, _ in pairs]
        if not all(isinstance(name, str) for name in names):
            raise ParameterError(f"{own}: names of estimators must be strings, not {names}")
        if len(set(names)) < len(names):
            raise ParameterError(f"{own}: Names provided are not unique: {names}")
        taken = sorted(set(names) & set(super().get_params(deep=False)))
        if taken:
            raise ParameterError(
                f"{own}: Estimator names conflict with constructor arguments: {taken}"
            )
        nested = [name for name in names if "__" in name]
        if nested:
            raise ParameterError(f"{own}: Estimator names must not contain __: got {nested}")
        kept = [(name, m) for name, m in pairs if not _is_dropped(m)]
        if not kept:
            raise ParameterError(
                f"{own}: All estimators are dropped. At least one is required to be an estimator."
            )
        is_kind = is_classifier if is_classifier(self) else is_regressor
        for name, member in kept:
            if isinstance(member, type) or not hasattr(member, "fit") or not is_kind(member):
                shown = member.__name__ if isinstance(member, type) else type(member).__name__
                instance = " instance" if isinstance(member, type) else ""
                raise ParameterError(
                    f"{own}: The estimator {shown} ({name!r}) should be a {is_kind.__name__[3:]}"
                    f"{instance}."
                )
        return [name for name, _ in kept], [m for _, m in kept]

    def _keep(self, values: Sequence[Any]) -> list[Any]:
        """Return the values, one a member, of those that are not dropped."""
        pairs = self._name_members()
        return [v for v, (_, m) in zip(values, pairs, strict=True) if not _is_dropped(m)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        try:
            inner = [get_tags(m).input_tags for _, m in self._name_members() if not _is_dropped(m)]
        except Exception:  # what is no list of members is refused in fit
            return tags
        tags.input_tags.allow_nan = all(t.allow_nan for t in inner)
        tags.input_tags.sparse = all(t.sparse for t in inner)
        return tags

    def get_metadata_routing(self) -> MetadataRouter:
        """Return where ``fit`` passes metadata on: to members and to the splitter."""
        from sklearn.model_selection import check_cv

        router = MetadataRouter(owner=self)
        for name, member in zip(*self._check_members(), strict=True):
            mapping = MethodMapping().add(caller="fit", callee="fit")
            router.add(**{name: self._wrap(member)}, method_mapping=mapping)
        return router.add(
            splitter=check_cv(self.cv),
            method_mapping=MethodMapping().add(caller="fit", callee="split"),
        )

    # --- fitting ---

    def _wrap(self, member: Any) -> Any:
        """Return what is fitted for a member; subclasses may put something around it."""
        return member

    def _start_fit(self, X: Any, y: Any, fit_params: dict[str, Any]) -> FitJob:
        """Check everything but the parameters of the subclass."""
        self.__dict__.pop("estimators_", None)  # a fit that fails leaves no old model
        check_choice(self, "prefit", (True, False))
        names, members = self._check_members()
        validate_data(self, X, y, skip_check_array=True)
        fit_params = {k: v for k, v in fit_params.items() if v is not None}
        if not _routing_enabled():
            _raise_for_params(fit_params, self, "fit", allow=["sample_weight", "groups"])
        if self.prefit:
            members = [m if _is_frozen(m) else FrozenEstimator(m) for m in members]
        for name, member in zip(names, members, strict=True):
            if _is_frozen(member):
                _check_fitted(name, member, self.prefit)
        y = self._encode_target(read_target(y, is_number=is_regressor(self)), members)
        check_consistent_length(X, y)
        weight = check_sample_weight(fit_params.get("sample_weight"), len(y))
        wrapped = [self._wrap(self._freeze(m) if _is_frozen(m) else clone(m)) for m in members]
        params, split_params = self._route(names, fit_params)
        return FitJob(names, wrapped, X, y, params, weight, split_params)

    def _route(
        self, names: list[str], fit_params: dict[str, Any]
    ) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """Return the arguments of each member's ``fit``, and those of the splitter."""
        if _routing_enabled():
            routed = process_routing(self, "fit", **fit_params)
            return [dict(routed[name]["fit"]) for name in names], dict(routed["splitter"]["split"])
        of_members = {k: v for k, v in fit_params.items() if k == "sample_weight"}
        of_splitter = {k: v for k, v in fit_params.items() if k == "groups"}
        return [dict(of_members) for _ in names], of_splitter

    def _encode_target(self, y: np.ndarray, members: list[Any]) -> np.ndarray:
        """Return y as the members learn it."""
        return y

    def _freeze(self, member: Any) -> Any:
        """Return a fitted member as one that speaks as all others do."""
        return member

    def _fit_members(self, job: FitJob) -> None:
        """Fit the members of a job; with this the ensemble is fitted."""
        fitted = Parallel(n_jobs=self.n_jobs)(
            delayed(_fit_member)(member, job.X, job.y, params)
            for member, params in zip(job.members, job.params, strict=True)
        )
        self._models = fitted
        self.estimators_ = [_unwrap(model) for model in fitted]
        self.named_estimators_ = Bunch(**dict(zip(job.names, self.estimators_, strict=True)))

    def _predict_held_out(self, job: FitJob, method: str) -> HeldOut:
        """Return out-of-fold predictions; fitted members predict rows as they are."""
        all_rows = np.arange(len(job.y))
        if all(_is_frozen(member) for member in job.members):
            folds = [(all_rows, all_rows)]
        else:
            folds = make_folds(self.cv, job.X, job.y, is_classifier(self), **job.split_params)
        predictions = np.stack(
            [
                self._read(member, job.X, method)
                if _is_frozen(member)
                else predict_out_of_fold(
                    member,
                    job.X,
                    job.y,
                    folds,
                    method,
                    n_jobs=self.n_jobs,
                    fit_params=params,
                    n_classes=self.classes_.size if is_classifier(self) else None,
                )
                for member, params in zip(job.members, job.params, strict=True)
            ]
        )
        rows = np.sort(np.concatenate([test for _, test in folds]))
        predictions = predictions[:, rows]
        if is_classifier(self):
            is_label = method == "predict"
            predictions = (
                predictions.astype(np.intp) if is_label else normalize_probabilities(predictions)
            )
        weight = None if job.weight is None else job.weight[rows]
        return HeldOut(predictions, job.y[rows], weight, rows)

    # --- prediction ---

    def _read(self, model: Any, X: Any, method: str) -> np.ndarray:
        """Return what one model predicts."""
        return column_or_1d(getattr(model, method)(X))

    def _collect(self, X: Any, method: str) -> np.ndarray:
        """Return what each fitted member predicts, members first."""
        check_is_fitted(self)
        if getattr(X, "ndim", 2) > 1:  # one row without its second dimension is for members to tell
            validate_data(self, X, reset=False, skip_check_array=True)
        return np.stack([self._read(model, X, method) for model in self._models])

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimators_")


class RegressorEnsemble(RegressorMixin, MemberEnsemble):
    """Base of ensembles of regressors that are averaged."""

    weights_: np.ndarray

    def predict_members(self, X: Any) -> np.ndarray:
        """Return what each member predicts.

        Parameters
        ----------
        X : frame, array-like or sparse matrix
            Rows, as the members take them.

        Returns
        -------
        ndarray of shape (n_members, n_rows)
            In the order of ``estimators_``.
        """
        return self._collect(X, "predict")


class ClassifierEnsemble(ClassifierMixin, MemberEnsemble):
    """Base of ensembles of classifiers; members learn class indices, as scikit-learn's do."""

    classes_: np.ndarray

    def _encode_target(self, y: np.ndarray, members: list[Any]) -> np.ndarray:
        check_classification_targets(y)
        known = [m.classes_ for m in members if _is_frozen(m)]
        try:
            self.classes_ = np.unique(np.concatenate([np.unique(y), *known]))
        except TypeError:
            self.classes_ = np.empty(0)
        kinds = {labels.dtype.kind in "biuf" for labels in (y, *known) if labels.dtype != object}
        if self.classes_.size == 0 or len(kinds) > 1:
            raise DataError(
                "y and the classes of fitted members are of different kinds; numbers and strings "
                "cannot be the same classes"
            )
        return encode_labels("y", y, self.classes_)

    def _freeze(self, member: Any) -> Any:
        return FrozenClassifier(member.estimator, self.classes_)

    def _read(self, model: Any, X: Any, method: str) -> np.ndarray:
        predicted = getattr(model, method)(X)
        if method == "predict":
            return column_or_1d(predicted).astype(np.intp)
        places = np.asarray(model.classes_).astype(np.intp)
        return normalize_probabilities(place_classes(predicted, places, self.classes_.size))


def _fit_member(member: Any, X: Any, y: np.ndarray, params: Mapping[str, Any]) -> Any:
    try:
        return member.fit(X, y, **params)
    except TypeError as error:
        if "unexpected keyword argument 'sample_weight'" in str(error):
            raise TypeError(
                f"Underlying estimator {type(member).__name__} does not support sample weights."
            ) from error
        raise


def _is_dropped(member: Any) -> bool:
    return isinstance(member, str) and member == DROPPED


def _is_frozen(member: Any) -> bool:
    return isinstance(member, FrozenEstimator)


def _unwrap(model: Any) -> Any:
    """A fitted member as the user knows it."""
    return model.estimator if _is_frozen(model) else model


def _check_fitted(name: str, member: Any, prefit: bool) -> None:
    if member.__sklearn_is_fitted__():
        return
    hint = (
        "; prefit=True needs fitted members, and cloning (as cross-validation does) unfits them "
        "unless they are wrapped in sklearn.frozen.FrozenEstimator"
    )
    raise ParameterError(f"member {name!r} is not fitted{hint if prefit else ''}")
