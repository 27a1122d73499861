"""Ensembles of given members: fitting, out-of-fold predictions, weights and prediction."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import TransformerMixin, clone, is_classifier, is_regressor
from sklearn.frozen import FrozenEstimator
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    _raise_for_params,
    _routing_enabled,
    process_routing,
)
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import (
    _check_feature_names_in,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
)

from sumwise.combine.classes import normalize_probabilities
from sumwise.docstrings import document_rows
from sumwise.errors import DataError, ParameterError
from sumwise.estimators.combined.member_list import MEMBER_PARAMETERS, MemberList, read_members_rows
from sumwise.estimators.combined.member_progress import describe_member, report_fit
from sumwise.estimators.combined.meta_features import OutputColumns
from sumwise.estimators.combined.out_of_fold import (
    Folds,
    Member,
    find_splitter,
    fit_clone,
    fit_members,
    is_frozen,
    predict_frozen,
)
from sumwise.estimators.describing.members import describe_members
from sumwise.estimators.explaining import ExplainMixin, WeightedMember, weigh_members
from sumwise.estimators.fitted_state import fit_as_a_whole
from sumwise.estimators.input.features import check_features
from sumwise.estimators.input.parameters import check_choice
from sumwise.estimators.input.targets import check_sample_weight, read_target
from sumwise.estimators.members import name_failure
from sumwise.export.joining import average_nodes
from sumwise.export.portable import Node, PortableModel

MEMBER_TEXTS = {
    "members": f"""{MEMBER_PARAMETERS} Members
    wrapped in :class:`sklearn.frozen.FrozenEstimator` are used as they are.""",
    "more": """
cv : int, splitter or iterable, default=5
    Folds for the out-of-fold predictions, where something is learned from these.
prefit : bool, default=False
    Whether the members are fitted already and are used as they are. The rows passed to ``fit``
    should then be new to them.
n_jobs : int or None, default=None
    Members, or folds, that joblib fits in parallel; None for 1, -1 for all CPUs.
verbose : bool, default=False
    Whether to write a line to standard error for each fitted member.""",
    "attributes": """
estimators_ : list of estimators
    The fitted members, without dropped ones.
named_estimators_ : Bunch
    The fitted members by name, "drop" for dropped ones.
n_features_in_ : int
    Number of features seen in ``fit``.
feature_names_in_ : ndarray
    Their names, if X had any.""",
}


@dataclass(frozen=True)
class FitJob:
    """The checked arguments of ``fit``."""

    names: list[str]
    given: list[Any]  # the user's estimators, without dropped ones
    members: list[Any]  # what is fitted for each of them; frozen ones are not
    X: Any  # as the members are given it
    y: np.ndarray  # numbers or class indices
    params: list[dict[str, Any]]  # arguments of each member's ``fit``
    weight: np.ndarray | None  # sample weights, for learning from the members' predictions
    split_params: Mapping[str, Any]  # arguments of the splitter: groups

    def choose(self, indices: Sequence[int]) -> "FitJob":
        """Return the job of some of the members."""
        return replace(
            self,
            names=[self.names[i] for i in indices],
            given=[self.given[i] for i in indices],
            members=[self.members[i] for i in indices],
            params=[self.params[i] for i in indices],
        )


class HeldOut(NamedTuple):
    """Predictions for rows that the members did not see, members first.

    They are numbers, probabilities, or labels as probabilities of 0 and 1.
    """

    predictions: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None


class MemberEnsemble(ExplainMixin, TransformerMixin, MemberList):
    """Base of ensembles that average their members' predictions or count their votes."""

    weights_: np.ndarray

    def __init__(
        self,
        estimators: Any,
        *,
        cv: Any = 5,
        prefit: bool = False,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.estimators = estimators
        self.cv = cv
        self.prefit = prefit
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _keep(self, values: Sequence[Any]) -> list[Any]:
        """Return the values, one per member, of the members that are not dropped."""
        kept = dict(self._list_kept())
        pairs = zip(values, self._name_members(), strict=True)
        return [value for value, (name, _) in pairs if name in kept]

    def _find_weights(
        self, given: Any, job: FitJob, learn: Callable[[HeldOut], np.ndarray]
    ) -> np.ndarray:
        """Return weights with sum 1: equal, the user's, or learned from held-out predictions."""
        if given is None or (isinstance(given, str) and given == "uniform"):
            return np.full(len(job.members), 1.0 / len(job.members))
        if isinstance(given, str):
            return learn(self._predict_held_out(job))
        return self._read_weights("weights")

    def _read_weights(self, parameter: str) -> np.ndarray:
        """Return the user's weights of the members that are not dropped, with sum 1."""
        given = getattr(self, parameter)
        shown = f"{type(self).__name__}: {parameter}={given!r}"
        try:
            weights = np.array(self._keep(np.asarray(given, dtype=np.float64).ravel().tolist()))
        except (TypeError, ValueError):
            n_members = len(self._name_members())
            raise ParameterError(f"{shown}; must be {n_members} numbers, one per member") from None
        if not np.isfinite(weights).all() or (weights < 0.0).any() or not weights.any():
            raise ParameterError(f"{shown}; must be finite, not negative and not all zero")
        return weights / weights.sum()

    def get_metadata_routing(self) -> MetadataRouter:
        """Return where ``fit`` passes metadata on: to the members and to the splitter."""
        from sklearn.model_selection import check_cv

        router = self._route_to_members(MetadataRouter(owner=self))
        return router.add(
            splitter=check_cv(self.cv),
            method_mapping=MethodMapping().add(caller="fit", callee="split"),
        )

    # --- fitting ---

    @fit_as_a_whole
    def fit(self, X: Any, y: Any, **fit_params: Any) -> Self:
        """Fit the members, and learn their weights where these depend on the data.

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n_rows, n_features)
            Passed to the members unchanged, except that a list of rows becomes an array.
        y : array-like of shape (n_rows,)
            Target: numbers or class labels.
        **fit_params : dict
            ``sample_weight``, for the members and their weights, and ``groups``, for the folds.
            With metadata routing, whatever the members and the splitter request.

        Returns
        -------
        self
        """
        self._check_parameters()
        self._fit(self._start_fit(X, y, fit_params))
        return self

    @abstractmethod
    def _check_parameters(self) -> None:
        """Check the parameters of the subclass."""

    @abstractmethod
    def _fit(self, job: FitJob) -> None:
        """Find the weights, and fit the members."""

    def _start_fit(self, X: Any, y: Any, fit_params: dict[str, Any]) -> FitJob:
        """Check everything that all ensembles of given members share."""
        check_choice(self, "prefit", (True, False))
        names, given = map(list, zip(*self._check_members(), strict=True))
        X = read_members_rows(X)
        check_features(self, X, y)
        fit_params = {k: v for k, v in fit_params.items() if v is not None}
        if not _routing_enabled():
            _raise_for_params(fit_params, self, "fit", allow=["sample_weight", "groups"])
        members = given
        if self.prefit:
            members = [m if is_frozen(m) else FrozenEstimator(m) for m in given]
        for name, member in zip(names, members, strict=True):
            if is_frozen(member):
                _check_fitted(name, member, self.prefit)
        y = self._encode_target(read_target(y, is_number=is_regressor(self)), members)
        check_consistent_length(X, y)
        weight = check_sample_weight(fit_params.get("sample_weight"), len(y))
        with np.errstate(over="ignore"):
            if weight is not None and not np.isfinite(weight.sum()):
                raise DataError("the sum of sample_weight is too large for a float; scale it down")
        wrapped = [self._wrap(self._freeze(m) if is_frozen(m) else clone(m)) for m in members]
        params, split_params = self._route(names, fit_params)
        return FitJob(names, given, wrapped, X, y, params, weight, split_params)

    def _route(
        self, names: list[str], fit_params: dict[str, Any]
    ) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """Return the arguments of each member's ``fit``, and those of the splitter."""
        if _routing_enabled():
            routed = process_routing(self, "fit", **fit_params)
            return [dict(routed[name]["fit"]) for name in names], dict(routed["splitter"]["split"])
        for_members = {k: v for k, v in fit_params.items() if k == "sample_weight"}
        for_splitter = {k: v for k, v in fit_params.items() if k == "groups"}
        return [dict(for_members) for _ in names], for_splitter

    def _encode_target(self, y: np.ndarray, members: list[Any]) -> np.ndarray:
        """Return y as the members learn it."""
        return y

    def _freeze(self, member: Any) -> Any:
        """Return a fitted member that predicts in the terms of the other members."""
        return member

    def _fit_members(self, job: FitJob) -> None:
        """Fit the members of a job; this makes the ensemble fitted."""
        fitted = Parallel(n_jobs=self.n_jobs)(
            delayed(_fit_reported)(
                self._report(job, k), f"member {job.names[k]!r}", member, job.X, job.y, params
            )
            for k, (member, params) in enumerate(zip(job.members, job.params, strict=True))
        )
        self._models = fitted
        self.estimators_ = [
            given if is_frozen(model) else model
            for given, model in zip(job.given, fitted, strict=True)
        ]
        self.named_estimators_ = self._name_fitted(job.names, self.estimators_)

    def _report(self, job: FitJob, k: int) -> str | None:
        """Return what to report about a member; None for nothing."""
        if not self.verbose or is_frozen(job.members[k]):
            return None
        return describe_member(k, len(job.members), job.names[k])

    def _predict_held_out(self, job: FitJob) -> HeldOut:
        """Return out-of-fold predictions; members fitted before predict all rows."""
        reader = OutputColumns(self._list_labels(), of_all_classes=True)
        members = [
            Member(name, member, self._method, params)
            for name, member, params in zip(job.names, job.members, job.params, strict=True)
        ]
        if all(is_frozen(member) for member in job.members):
            rows = np.arange(len(job.y))
            outputs = [predict_frozen(member, job.X, reader) for member in members]
        else:
            folds = self._split(job)
            rows = folds.predicted
            fitted = fit_members(
                members,
                job.X,
                job.y,
                folds,
                reader,
                n_jobs=self.n_jobs,
                verbose=bool(self.verbose),
            )
            outputs = [each.output for each in fitted]
        predictions = np.stack([output[rows] for output in outputs])
        _check_finite(job.names, predictions)
        if reader.labels is None:
            predictions = predictions[:, :, 0]
        else:
            predictions = normalize_probabilities(predictions)
        weight = None if job.weight is None else job.weight[rows]
        return HeldOut(predictions, job.y[rows], weight)

    def _split(self, job: FitJob) -> Folds:
        """Return folds that do not overlap: each member predicts a row once."""
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
        """Return the predictions of one model."""
        return column_or_1d(getattr(model, method)(X))

    def _collect(self, X: Any, method: str) -> np.ndarray:
        """Return the predictions of each fitted member, members first."""
        X = self._check_rows(X)
        outputs = []
        for name, model in zip(self._list_fitted(), self._models, strict=True):
            with name_failure(f"member {name!r}", model, "predict"):
                outputs.append(self._read(model, X, method))
        return np.stack(outputs)

    def _check_rows(self, X: Any) -> Any:
        """Return rows to predict as the members are given them."""
        X = read_members_rows(X)
        if getattr(X, "ndim", 2) > 1:  # members refuse one row without its second dimension
            check_features(self, X, reset=False)
        return X

    def _weigh_members(self) -> list[WeightedMember]:
        """Return the members to explain, with their weights."""
        labels = [f"member {name!r}" for name in self._list_fitted()]
        return weigh_members(labels, self._models, self._get_weights())

    def _list_fitted(self) -> list[str]:
        """Return the names of the fitted members, in the order of ``estimators_``."""
        named = self.named_estimators_.items()
        return [name for name, member in named if not isinstance(member, str)]

    @property
    def _method(self) -> str:
        """The method of the members whose outputs are combined."""
        return "predict"

    def _get_weights(self) -> np.ndarray | None:
        """Return the weights of the fitted members; None for equal ones."""
        return self.weights_

    def _describe(self) -> PortableModel:
        """Return the model in plain terms, for export."""
        check_is_fitted(self)
        labels = [f"member {name!r}" for name in self._list_fitted()]
        method = "predict_proba" if is_classifier(self) else "predict"
        members = describe_members(self, labels, self._models, [method] * len(labels))
        weights = self._get_weights()
        shares = np.full(len(labels), 1.0 / len(labels)) if weights is None else weights
        output = self._describe_output(members.nodes, shares / shares.sum())
        classes = (self.classes_,) if is_classifier(self) else ()
        return PortableModel(type(self).__name__, members.inputs, output, classes)

    def _describe_output(self, nodes: Sequence[Node], weights: np.ndarray) -> Node:
        """Return the predictions, from those of the members and weights with sum 1."""
        return average_nodes(nodes, weights)

    def _to_labels(self, predicted: np.ndarray) -> np.ndarray:
        """Return predictions of members in the user's terms: class indices become labels."""
        return predicted

    @document_rows
    def predict_members(self, X: Any) -> np.ndarray:
        """Return the predictions of each member.

        {rows}
        ndarray of shape (n_members, n_rows) or (n_members, n_rows, n_classes)
            Numbers or labels; or probabilities, where the ensemble combines these. Members are in
            the order of ``estimators_``.
        """
        check_is_fitted(self)
        outputs = self._collect(X, self._method)
        return self._to_labels(outputs) if self._method == "predict" else outputs

    @document_rows
    def transform(self, X: Any) -> np.ndarray:
        """Return the predictions of all members, side by side.

        {rows}
        ndarray of shape (n_rows, n_members) or (n_rows, n_members * n_classes)
            Numbers or class indices; or the probabilities of all classes, where the ensemble
            combines these.
        """
        check_is_fitted(self)
        return self._join(self._collect(X, self._method))

    def _join(self, outputs: np.ndarray) -> np.ndarray:
        """Return outputs, members first, as columns."""
        return np.hstack(list(outputs)) if outputs.ndim == 3 else outputs.T

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns that ``transform`` returns.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Only compared with ``feature_names_in_``.

        Returns
        -------
        ndarray of str
            The class of the ensemble and the name of the member, in lower case. Columns of
            probabilities end in the class index.
        """
        check_is_fitted(self)
        _check_feature_names_in(self, input_features, generate_names=False)
        return np.array(self._name_columns(), dtype=object)

    def _name_columns(self) -> list[str]:
        names = [f"{type(self).__name__.lower()}_{name}" for name in self._list_fitted()]
        labels = self._list_labels()
        if labels is None or self._method != "predict_proba":
            return names
        return [f"{name}{k}" for name in names for k in labels]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimators_")


def _fit_reported(report: str | None, *args: Any) -> Any:
    with report_fit(report):
        return fit_clone(*args)


def _check_finite(names: list[str], predictions: np.ndarray) -> None:
    """Refuse predictions from which nothing can be learned."""
    for name, predicted in zip(names, predictions, strict=True):
        bad = np.argwhere(~np.isfinite(predicted))
        if bad.size:
            raise DataError(
                f"member {name!r} predicts {predicted[tuple(bad[0])]} for held-out rows; its "
                "predictions must be finite"
            )


def _check_fitted(name: str, member: FrozenEstimator, prefit: bool) -> None:
    if member.__sklearn_is_fitted__():
        return
    hint = (
        "; prefit=True needs fitted members, and cloning (as in cross-validation) unfits them "
        "unless they are wrapped in sklearn.frozen.FrozenEstimator"
    )
    raise ParameterError(f"member {name!r} is not fitted{hint if prefit else ''}")
