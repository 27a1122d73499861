"""The base of stacked classifiers and regressors: out-of-fold outputs train a meta-learner."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import TransformerMixin, clone, is_classifier
from sklearn.utils import Bunch
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    _routing_enabled,
    process_routing,
)
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import (
    _check_feature_names_in,
    check_consistent_length,
    check_is_fitted,
)

from sumwise.data.frames.selection import join_columns, take_rows
from sumwise.docstrings import document_rows
from sumwise.errors import DataError, ParameterError
from sumwise.estimators.boosting.base import BaseGradientBoosting
from sumwise.estimators.calibrated.unseen import needs_unseen
from sumwise.estimators.combined.described_stack import describe_stack
from sumwise.estimators.combined.member_list import MEMBER_PARAMETERS, MemberList, read_members_rows
from sumwise.estimators.combined.member_progress import report_fit
from sumwise.estimators.combined.meta_features import (
    FoldRecord,
    LeakReport,
    OutputColumns,
    choose_method,
)
from sumwise.estimators.combined.multi_response import MultiResponseLinear
from sumwise.estimators.combined.out_of_fold import (
    FoldModels,
    Folds,
    Member,
    find_splitter,
    fit_clone,
    fit_members,
    is_frozen,
    predict_frozen,
    take_if_by_row,
)
from sumwise.estimators.fitted_state import fit_as_a_whole
from sumwise.estimators.input.parameters import check_choice
from sumwise.estimators.input.targets import read_target
from sumwise.estimators.members import name_failure
from sumwise.export.portable import Node, PortableModel

STACKING_TEXTS = {
    "members": MEMBER_PARAMETERS,
    "parameters": """
cv : int, splitter, iterable, "prefit" or None, default=None
    How rows are held out: the number of folds (stratified for a classifier), any scikit-learn
    splitter (by groups, in time order, leave-one-out), or pairs of training and test rows. None:
    5 folds. Rows that are never held out do not train the meta-learner; the outputs for rows that
    are held out several times are averaged. "prefit": the members are fitted already, on other
    rows than these. To use single fitted members as they are, wrap them in
    :class:`sklearn.frozen.FrozenEstimator`.
passthrough : bool, default=False
    Whether the meta-learner also gets the columns of X.
refit : bool, default=True
    Whether members are fitted again on all rows, to predict new ones. False: the models of the
    folds are kept and their outputs averaged, which saves one fit per member.
share_bins : "auto" or bool, default="auto"
    Whether gradient boosting members of sumwise share one table of bins: X is read and binned
    once, not by each member in each fold. Thresholds then come from all rows of X, without y.
    "auto": if members can. True: an error if none can. False: each fit bins its own rows, as if
    the members were fitted alone.
n_jobs : int or None, default=None
    Jobs for members that do not share bins, as in joblib. Members that share bins are fitted side
    by side on as many threads as the largest ``n_jobs`` among them, None for all CPUs. Within
    ``joblib.parallel_config("dask")`` all members are fitted on the workers of the cluster; those
    that share bins get the table, which is binned in this process.
verbose : bool, default=False
    Whether to write a line to standard error for each fitted member. Members are then fitted one
    after another, the folds of a member side by side.""",
    "attributes": """
estimators_ : list
    The fitted members, without dropped ones; with ``refit=False``, their :class:`FoldModels`.
named_estimators_ : Bunch
    The fitted members by name, "drop" for dropped ones.
final_estimator_ : estimator
    The fitted meta-learner.
stack_method_ : list of str
    The method of each of ``estimators_`` whose outputs are used.
n_features_in_ : int
    Number of features seen in ``fit``.
feature_names_in_ : ndarray
    Their names, if the members have them.""",
    "folds": """
Each member is trained on the rows outside a fold and predicts the rows in it, so the meta-learner
is trained on outputs of models that have not seen the rows. Then the members are fitted on all
rows, to predict new ones.""",
}


def final_has(method: str) -> Any:
    """Make a method available if the meta-learner has one of that name."""

    def check(stack: "BaseStacking") -> bool:
        getattr(stack._find_final(), method)  # its error says what is missing
        return True

    return available_if(check)


class BaseStacking(TransformerMixin, MemberList):
    """Shared by classifier and regressor."""

    # Class labels as the members know them; None for regression and before fit.
    _labels: np.ndarray | None = None

    final_estimator_: Any

    def __init__(
        self,
        estimators: Sequence[Any],
        final_estimator: Any = None,
        *,
        cv: Any = None,
        passthrough: bool = False,
        refit: bool = True,
        share_bins: str | bool = "auto",
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.estimators = estimators
        self.final_estimator = final_estimator
        self.cv = cv
        self.passthrough = passthrough
        self.refit = refit
        self.share_bins = share_bins
        self.n_jobs = n_jobs
        self.verbose = verbose

    # --- parameters ---

    def _list_readers(self) -> list[Any]:
        members = super()._list_readers()
        return [*members, self._find_final()] if self.passthrough is True else members

    def get_metadata_routing(self) -> MetadataRouter:
        """Return where metadata is passed on: to members, splitter and meta-learner.

        Returns
        -------
        MetadataRouter
        """
        router = self._route_to_members(MetadataRouter(owner=type(self).__name__))
        if hasattr(self.cv, "split") and hasattr(self.cv, "get_metadata_routing"):
            to_split = MethodMapping().add(caller="fit", callee="split")
            router.add(splitter=self.cv, method_mapping=to_split)
        to_final = (
            MethodMapping().add(caller="fit", callee="fit").add(caller="predict", callee="predict")
        )
        router.add(final_estimator_=self._find_final(), method_mapping=to_final)
        return router

    def _find_final(self) -> Any:
        """Return the meta-learner: fitted, given, or the default one."""
        if hasattr(self, "final_estimator_"):
            return self.final_estimator_
        if self.final_estimator is not None:
            return self.final_estimator
        final = self._make_default()
        return final.set_fit_request(sample_weight=True) if _routing_enabled() else final

    @abstractmethod
    def _make_default(self) -> Any:
        """Return the default meta-learner."""

    def _check_final(self, final: Any) -> None:
        """Refuse a meta-learner that cannot use the meta-features."""
        is_kind = self._is_own_kind()
        if not is_kind(final):
            raise ParameterError(
                f"{type(self).__name__}: final_estimator={final!r}; must be a "
                f"{is_kind.__name__[3:]}"
            )

    # --- fit ---

    @fit_as_a_whole
    def fit(self, X: Any, y: Any, **fit_params: Any) -> Self:
        """Fit the members and the meta-learner.

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n_rows, n_features)
            Anything that the members take.
        y : array-like of shape (n_rows,)
            Target: class labels or numbers.
        **fit_params : dict
            ``sample_weight`` for all members and the meta-learner; ``groups`` for ``cv``, and for
            members that hold out rows themselves. With scikit-learn's metadata routing, whatever
            the members, the splitter and the meta-learner request.

        Returns
        -------
        self
        """
        y = read_target(y, is_number=not is_classifier(self))
        if y is None:
            raise DataError("requires y to be passed, but the target y is None")
        y = self._encode_target(y)
        self._check_parameters()
        used = self._check_members()
        final = clone(self._find_final())
        self._check_final(final)
        X = read_members_rows(X)
        check_consistent_length(X, y)
        given = {name: value for name, value in fit_params.items() if value is not None}
        params = self._route(final, given)
        self._members = self._list_members(used, params)
        self._columns = OutputColumns(self._labels, isinstance(final, MultiResponseLinear))
        outputs, rows = self._hold_out_outputs(X, y, params["splitter"], given.get("groups"))
        # Parameters of fit are as long as X: the model must not keep them.
        self._members = [replace(member, params={}) for member in self._members]
        self._store_members()
        self._n_columns = [values.shape[1] for values in outputs]
        self._check_columns(final)
        features, to_final = np.hstack(outputs), params["final_estimator_"]
        if rows.size < y.size:
            to_final = {k: take_if_by_row(v, rows, y.size) for k, v in to_final.items()}
            features, X, y = features[rows], take_rows(X, rows), y[rows]
        features = self._pass_through(features, X)
        with report_fit("the meta-learner" if self.verbose else None):
            self.final_estimator_ = fit_clone("final_estimator", final, features, y, to_final)
        return self

    def _check_parameters(self) -> None:
        for name in ("passthrough", "refit"):
            check_choice(self, name, (True, False))
        check_choice(self, "share_bins", ("auto", True, False))

    def _list_members(
        self, used: Sequence[tuple[str, Any]], params: Mapping[str, Mapping[str, Any]]
    ) -> list[Member]:
        """Return members to fit, with the method to use and the parameters of ``fit``."""
        return [
            Member(
                name,
                estimator,
                choose_method(name, estimator, self._wanted_method),
                params[name],
                self._labels_of_frozen() if is_frozen(estimator) else None,
            )
            for name, estimator in used
        ]

    @property
    def _wanted_method(self) -> str:
        """The method whose outputs are used; "auto" for the first that a member has."""
        return "predict"

    def _encode_target(self, y: np.ndarray) -> np.ndarray:
        """Return y as members and meta-learner learn it: numbers, or class indices."""
        return y

    def _labels_of_frozen(self) -> np.ndarray | None:
        """Return the classes as fitted members know them; None for regression."""
        return None

    def _route(self, final: Any, given: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """Return the parameters of ``fit`` for each member, the splitter and the meta-learner."""
        if _routing_enabled():
            routed = process_routing(self, "fit", **given)
            names = [name for name, _ in self._list_kept()]
            params = {name: dict(routed[name].fit) for name in (*names, "final_estimator_")}
            params["splitter"] = dict(routed.get("splitter", Bunch(split={})).split)
            return params
        unknown = set(given) - {"sample_weight", "groups"}
        if unknown:
            raise ParameterError(
                f"{type(self).__name__}.fit got {sorted(unknown)}; without scikit-learn's metadata "
                "routing it takes sample_weight and groups. "
                "sklearn.set_config(enable_metadata_routing=True) turns it on"
            )
        groups = {name: value for name, value in given.items() if name == "groups"}
        weight = {name: value for name, value in given.items() if name == "sample_weight"}
        takers = {**dict(self._list_kept()), "final_estimator_": final}
        params = {
            name: {**weight, **(groups if _uses_groups(each) else {})}
            for name, each in takers.items()
        }
        return {**params, "splitter": groups}

    def _hold_out_outputs(
        self, X: Any, y: np.ndarray, split_params: Mapping[str, Any], groups: Any
    ) -> tuple[list[np.ndarray], np.ndarray]:
        """Fit the members; return their outputs as columns, and the rows that have outputs."""
        if isinstance(self.cv, str) and self.cv == "prefit":
            self._record = None
            self.estimators_ = [member.estimator for member in self._members]
            outputs = [predict_frozen(member, X, self._columns) for member in self._members]
            return outputs, np.arange(y.size)
        splitter = find_splitter(self.cv, y, is_classifier(self))
        folds = Folds.split(splitter, X, y, split_params)
        if groups is not None:
            check_consistent_length(X, groups)
        self._record = FoldRecord.of(folds, None if groups is None else np.asarray(groups))
        if folds.repeats and not self._columns.of_all_classes and self._labels is not None:
            for member in self._members:
                if member.method == "predict" and is_classifier(member.estimator):
                    raise ParameterError(
                        f"cv predicts rows several times, and labels of member {member.name!r} "
                        "cannot be averaged; use probabilities or another cv"
                    )
        fitted = fit_members(
            self._members,
            X,
            y,
            folds,
            self._columns,
            refit=bool(self.refit),
            keep_folds=not self.refit,
            share_bins=self.share_bins,
            n_jobs=self.n_jobs,
            verbose=bool(self.verbose),
        )
        self.estimators_ = [each.model for each in fitted]
        return [each.output for each in fitted], folds.predicted

    def _store_members(self) -> None:
        """Set the attributes by which users find members."""
        names = [member.name for member in self._members]
        self.named_estimators_ = self._name_fitted(names, self.estimators_)
        self.stack_method_ = [member.method for member in self._members]
        for model in self.estimators_:
            single = model[0] if isinstance(model, FoldModels) else model
            if hasattr(single, "feature_names_in_"):
                self.feature_names_in_ = single.feature_names_in_

    def _check_columns(self, final: Any) -> None:
        if not getattr(final, "own_class_only", False) or self._labels is None:
            return
        if self.passthrough or set(self._n_columns) != {self._labels.size}:
            raise ParameterError(
                "own_class_only needs one column per class from every member, and nothing else; "
                "use probabilities or labels of classifiers, and passthrough=False"
            )

    # --- after fit ---

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "final_estimator_")

    @property
    def n_features_in_(self) -> int:
        """Number of features seen in ``fit``, if the members have it."""
        if not hasattr(self, "final_estimator_"):
            raise AttributeError(f"{type(self).__name__} is not fitted and has no n_features_in_")
        first = self.estimators_[0]
        return (first[0] if isinstance(first, FoldModels) else first).n_features_in_

    def leak_check(self) -> LeakReport:
        """Check whether some row's meta-features come from a model that saw the row.

        The check compares the rows that each model was trained on with those that it predicted. If
        ``groups`` were passed to ``fit``, a model must not have seen other rows of a row's group
        either.

        Returns
        -------
        LeakReport
            False in a condition if there is no leak. With ``cv="prefit"`` or frozen members the
            training rows are unknown, and the report is true.
        """
        check_is_fitted(self)
        if self._record is None:
            none = np.empty(0, dtype=np.intp)
            return LeakReport(None, none, none, 0)
        report = self._record.report()
        if not report.leaks and any(map(is_frozen, self.estimators_)):
            return replace(report, leaks=None)
        return report

    @document_rows
    def transform(self, X: Any) -> Any:
        """Return the meta-features of new rows: the members' outputs, side by side.

        Members have seen the training rows. For these, the result differs from the meta-features
        that the meta-learner was trained on.

        {rows}
        ndarray of shape (n_rows, n_meta_features)
            With ``passthrough`` the columns of X follow; if X is sparse or a frame with categories,
            so is the result.
        """
        check_is_fitted(self)
        X = read_members_rows(X)
        return self._pass_through(np.hstack(self._predict_members(X)), X)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the meta-features.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names of the columns of X, for ``passthrough``; None for those seen in ``fit``.

        Returns
        -------
        ndarray of str
        """
        check_is_fitted(self)
        own = self._name_columns()
        given = _check_feature_names_in(self, input_features, generate_names=self.passthrough)
        return np.array([*own, *given] if self.passthrough else own, dtype=object)

    def _predict_members(self, X: Any) -> list[np.ndarray]:
        outputs = []
        for member, model in zip(self._members, self.estimators_, strict=True):
            with name_failure(member.label, member.estimator, "predict"):
                outputs.append(self._columns.predict(member, model, X))
        return outputs

    def _describe(self) -> PortableModel:
        """Return the model in plain terms, for export."""
        check_is_fitted(self)
        return describe_stack(self)

    def _describe_output(self, final: Node) -> Node:
        """Return the predictions, from those of the meta-learner."""
        return final

    def _pass_through(self, features: np.ndarray, X: Any) -> Any:
        return join_columns(features, X, self._name_columns()) if self.passthrough else features

    def _name_columns(self) -> list[str]:
        """Name each meta-feature after its member, numbered where it has several."""
        names = []
        for member, n_columns in zip(self._members, self._n_columns, strict=True):
            name = f"{type(self).__name__.lower()}_{member.name}"
            names += [name] if n_columns == 1 else [f"{name}{k}" for k in range(n_columns)]
        return names

    @final_has("predict")  # type: ignore[untyped-decorator]
    def predict(self, X: Any, **predict_params: Any) -> np.ndarray:
        """Return the prediction of the meta-learner for each row.

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n_rows, n_features)
        **predict_params : dict
            For ``predict`` of the meta-learner.

        Returns
        -------
        ndarray of shape (n_rows,)
            Class labels or numbers.
        """
        check_is_fitted(self)
        if _routing_enabled() and predict_params:
            routed = process_routing(self, "predict", **predict_params)
            predict_params = routed.final_estimator_.predict
        return self._decode(self.final_estimator_.predict(self.transform(X), **predict_params))

    def _decode(self, predicted: Any) -> Any:
        """Return the meta-learner's predictions in the user's terms."""
        return predicted


def _uses_groups(estimator: Any) -> bool:
    """Whether an estimator of sumwise holds out rows itself, and so needs their groups."""
    if isinstance(estimator, BaseStacking):
        return True
    return (
        isinstance(estimator, BaseGradientBoosting)
        and (estimator.early_stopping is True or needs_unseen(estimator))
        and estimator.validation_rows == "random"
    )
