"""What ensembles of given members share: names, parameters, fitting and predicting."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin, clone, is_classifier, is_regressor
from sklearn.frozen import FrozenEstimator
from sklearn.utils import Bunch
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
)

from sumwise.combine.classes import normalize_probabilities, place_classes
from sumwise.errors import DataError, ParameterError
from sumwise.estimators.features import check_features
from sumwise.estimators.inputs import check_sample_weight, read_target
from sumwise.estimators.member_list import MEMBER_PARAMETERS, MemberList
from sumwise.estimators.meta_features import Columns
from sumwise.estimators.out_of_fold import Folds, Member, find_splitter, fit_clone, fit_members
from sumwise.estimators.parameters import check_choice
from sumwise.estimators.validation import encode_labels

_FROZEN = """Those wrapped
        in :class:`sklearn.frozen.FrozenEstimator` are taken as they are."""

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
        "members": f"{MEMBER_PARAMETERS} {_FROZEN}",
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
        Numbers, probabilities, or labels as probabilities of 0 and 1.
    y : ndarray of shape (n_rows,)
    weight : ndarray of shape (n_rows,) or None
    """

    predictions: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None


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


class MemberEnsemble(MemberList):
    """Base of ensembles that average their members' predictions, or count their votes."""

    def __init__(
        self, estimators: Any, *, cv: Any = 5, prefit: bool = False, n_jobs: int | None = None
    ) -> None:
        self.estimators = estimators
        self.cv = cv
        self.prefit = prefit
        self.n_jobs = n_jobs

    def _keep(self, values: Sequence[Any]) -> list[Any]:
        """Return the values, one a member, of those that are not dropped."""
        kept = dict(self._list_kept())
        pairs = zip(values, self._name_members(), strict=True)
        return [value for value, (name, _) in pairs if name in kept]

    def get_metadata_routing(self) -> MetadataRouter:
        """Return where ``fit`` passes metadata on: to members and to the splitter."""
        from sklearn.model_selection import check_cv

        router = self._route_to_members(MetadataRouter(owner=self))
        return router.add(
            splitter=check_cv(self.cv),
            method_mapping=MethodMapping().add(caller="fit", callee="split"),
        )

    # --- fitting ---

    def _start_fit(self, X: Any, y: Any, fit_params: dict[str, Any]) -> FitJob:
        """Check everything but the parameters of the subclass."""
        self.__dict__.pop("estimators_", None)  # a fit that fails leaves no old model
        check_choice(self, "prefit", (True, False))
        names, members = map(list, zip(*self._check_members(), strict=True))
        check_features(self, X, y)
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
            delayed(fit_clone)(member, job.X, job.y, params)
            for member, params in zip(job.members, job.params, strict=True)
        )
        self._models = fitted
        self.estimators_ = [_unwrap(model) for model in fitted]
        self.named_estimators_ = Bunch(**dict(zip(job.names, self.estimators_, strict=True)))

    def _predict_held_out(self, job: FitJob, method: str) -> HeldOut:
        """Return out-of-fold predictions; fitted members predict rows as they are."""
        reader = Columns(self._list_labels(), of_all_classes=True)
        members = [
            Member(name, member, method, params)
            for name, member, params in zip(job.names, job.members, job.params, strict=True)
        ]
        rows, outputs = np.arange(len(job.y)), {}
        unfitted = [member for member in members if not _is_frozen(member.estimator)]
        if unfitted:
            folds = self._split(job)
            rows = folds.predicted
            options: dict[str, Any] = {"refit": False, "keep_folds": False, "share_bins": False}
            fitted = fit_members(
                unfitted, job.X, job.y, folds, reader, n_jobs=self.n_jobs, **options
            )
            outputs = {m.name: each.output for m, each in zip(unfitted, fitted, strict=True)}
        for member in members:
            if member.name not in outputs:
                outputs[member.name] = reader.predict(member, member.estimator, job.X)
        predictions = np.stack([outputs[name][rows] for name in job.names])
        if reader.labels is None:
            predictions = predictions[:, :, 0]
        else:
            predictions = normalize_probabilities(predictions)
        weight = None if job.weight is None else job.weight[rows]
        return HeldOut(predictions, job.y[rows], weight)

    def _split(self, job: FitJob) -> Folds:
        """Return folds that do not overlap, so that a row has one prediction a member."""
        keeps_groups = job.split_params.get("groups") is not None
        splitter = find_splitter(self.cv, job.y, is_classifier(self), keeps_groups)
        folds = Folds.split(splitter, job.X, job.y, job.split_params)
        if folds.repeats:
            raise DataError(
                "cv tests some rows more than once; out-of-fold predictions need folds that do not "
                "overlap, such as KFold, StratifiedKFold, GroupKFold, LeaveOneOut or "
                "TimeSeriesSplit"
            )
        return folds

    def _list_labels(self) -> np.ndarray | None:
        """Return the classes as members know them; None for regression."""
        return None

    # --- prediction ---

    def _read(self, model: Any, X: Any, method: str) -> np.ndarray:
        """Return what one model predicts."""
        return column_or_1d(getattr(model, method)(X))

    def _collect(self, X: Any, method: str) -> np.ndarray:
        """Return what each fitted member predicts, members first."""
        check_is_fitted(self)
        if getattr(X, "ndim", 2) > 1:  # one row without its second dimension is for members to tell
            check_features(self, X, reset=False)
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

    def _list_labels(self) -> np.ndarray | None:
        return np.arange(self.classes_.size)

    def _freeze(self, member: Any) -> Any:
        return FrozenClassifier(member.estimator, self.classes_)

    def _read(self, model: Any, X: Any, method: str) -> np.ndarray:
        predicted = getattr(model, method)(X)
        if method == "predict":
            return column_or_1d(predicted).astype(np.intp)
        places = np.asarray(model.classes_).astype(np.intp)
        return normalize_probabilities(place_classes(predicted, places, self.classes_.size))


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
