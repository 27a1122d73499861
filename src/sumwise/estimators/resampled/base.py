"""What bagging and output noise share: many members of one base learner, averaged or voting."""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    _raise_for_params,
    _routing_enabled,
    process_routing,
)
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from sumwise.combine.classes import log_probabilities
from sumwise.data.frames.selection import take_rows
from sumwise.docstrings import document_rows
from sumwise.errors import ParameterError
from sumwise.estimators.combined.votes import HARD, SOFT, decide_votes
from sumwise.estimators.describing.members import (
    DescribedMembers,
    describe_members,
    find_class_places,
    place_outputs,
)
from sumwise.estimators.explaining import (
    PREDICTION,
    PROBABILITY,
    SHARE,
    ExplainMixin,
    Question,
    WeightedMember,
    attribute_classes,
    attribute_numbers,
)
from sumwise.estimators.forests.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from sumwise.estimators.input.parameters import check_choice, check_integer
from sumwise.estimators.input.targets import check_sample_weight, encode_labels, read_target
from sumwise.estimators.resampled.averaging import (
    NumberedMember,
    Reader,
    average_members,
    read_numbers,
    read_votes,
)
from sumwise.estimators.resampled.bagged_trees import BaggedTrees
from sumwise.estimators.resampled.learner import LearnerEnsemble
from sumwise.estimators.resampled.recipe import Recipe
from sumwise.estimators.resampled.table_trees import MembersMixin, use_threads
from sumwise.export.joining import average_nodes
from sumwise.export.portable import Node, PortableModel

if TYPE_CHECKING:
    from sumwise.inspection.attribution import Attribution


class RepeatedEnsemble(ExplainMixin, MembersMixin, LearnerEnsemble):
    """Base of ensembles that repeat one base learner."""

    _trees: BaggedTrees
    _seed: int
    _method = "predict"  # the method of members whose results are averaged

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 10,
        *,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _get_estimator(self) -> Any:
        if self.estimator is not None:
            return self.estimator
        # is_classifier would ask for tags, which ask for the base learner.
        is_class = isinstance(self, ClassifierMixin)
        return DecisionTreeClassifier() if is_class else DecisionTreeRegressor()

    # --- metadata ---

    def _map_methods(self) -> dict[str, str]:
        """Return the method of the base learner that gets the metadata of each method."""
        return {"fit": "fit", "predict": "predict"}

    def get_metadata_routing(self) -> MetadataRouter:
        """Return how metadata is routed: to the base learner."""
        mapping = MethodMapping()
        for caller, callee in self._map_methods().items():
            mapping.add(caller=caller, callee=callee)
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(estimator=self._get_estimator(), method_mapping=mapping)
        )

    def _route(self, caller: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of the base learner's method."""
        if not _routing_enabled():
            _raise_for_params(params, self, caller)
            return dict(params)
        if not params:
            return {}
        routed = process_routing(self, caller, **params)
        return dict(routed["estimator"][self._map_methods()[caller]])

    # --- fitting ---

    def _start_fit(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[Any, np.ndarray, np.ndarray | None]:
        """Return X, y and weights, checked; classes as indices."""
        check_integer(self, "n_estimators", 1)
        self.estimator_ = self._check_estimator()
        X = self._open_rows(X, y)
        y = self._read_target(y)
        check_consistent_length(X, y)
        return X, y, check_sample_weight(sample_weight, len(y))

    def _read_target(self, y: Any) -> np.ndarray:
        raise NotImplementedError

    def _fit_members(
        self, recipe: Recipe, X: Any, y: np.ndarray, weight: np.ndarray | None, first: int = 0
    ) -> list[Any]:
        """Return what the recipe makes of each number from ``first`` on."""
        return list(
            Parallel(n_jobs=self.n_jobs, verbose=self.verbose)(
                delayed(recipe.fit)(number, X, y, weight)
                for number in range(first, self.n_estimators)
            )
        )

    # --- prediction ---

    def _list_features(self) -> Sequence[np.ndarray | None]:
        """Return the features of each member, None for all."""
        return [None] * self._count_members()

    def _list_members(self) -> list[NumberedMember]:
        pairs = zip(self.estimators_, self._list_features(), strict=True)
        return [NumberedMember(k, *pair) for k, pair in enumerate(pairs)]

    def _get_reader(self, method: str, params: Mapping[str, Any]) -> Reader:
        """Return a function that reads what a member predicts, in the form that is averaged."""
        raise NotImplementedError

    def _average(self, X: Any, method: str, params: Mapping[str, Any]) -> np.ndarray:
        """Return the mean of what the members predict."""
        if "_trees" in self.__dict__ and not params:
            return self._trees.average(X, method, self.n_jobs)
        read = self._get_reader(method, params)
        return average_members(self._list_members(), X, read, self.n_jobs, self.verbose)

    # --- export ---

    def _describe(self) -> PortableModel:
        """Return the model in plain terms, for export."""
        check_is_fitted(self)
        classes = (self.classes_,) if isinstance(self, RepeatedClassifier) else ()
        if "_trees" in self.__dict__:
            described = self._trees.choose_model(self._method)._describe()
            name = type(self).__name__
            return replace(described, estimator=name, classes=classes)
        n_members = self._count_members()
        labels = [f"member {k}" for k in range(n_members)]
        methods = [self._method] * n_members
        members = describe_members(self, labels, self.estimators_, methods, self._list_features())
        nodes = self._describe_nodes(members)
        output = average_nodes(nodes, [1.0 / n_members] * n_members)
        return PortableModel(type(self).__name__, members.inputs, output, classes)

    def _describe_nodes(self, members: DescribedMembers) -> list[Node]:
        """Return what is averaged, from what the members predict."""
        return members.nodes

    @document_rows
    def predict_members(self, X: Any) -> np.ndarray:
        """Return what each member predicts.

        {rows}
        ndarray of shape (n_members, n_rows, ...)
            Numbers; for classifiers, what members vote with: labels or probabilities.
        """
        X = self._check_rows(X)
        return np.stack([item.predict(X, self._show) for item in self._list_members()])

    def _show(self, member: Any, X: Any) -> np.ndarray:
        return np.asarray(member.predict(X))

    def _weigh_members(self) -> list[WeightedMember]:
        """Return the members to explain; trees on one table are one."""
        if "_trees" in self.__dict__:
            model = use_threads(copy(self._trees.choose_model(self._method)), self.n_jobs)
            return [WeightedMember("the trees", model, 1.0)]
        weight = 1.0 / self._count_members()
        return [
            WeightedMember(f"member {number}", member, weight, features)
            for number, member, features in self._list_members()
        ]


class RepeatedRegressor(RegressorMixin, RepeatedEnsemble):
    """Regressors that are averaged; with several outputs if the base learner supports them."""

    def _read_target(self, y: Any) -> np.ndarray:
        y = read_target(y, is_number=True, many=True)
        self.n_outputs_ = 1 if y.ndim == 1 else y.shape[1]
        return y

    def _get_reader(self, method: str, params: Mapping[str, Any]) -> Reader:
        return partial(read_numbers, method=method, params=params)

    @property
    def _scale(self) -> str:
        return PREDICTION

    def _attribute(self, question: Question) -> "Attribution":
        question = question.read(self._check_rows)
        return attribute_numbers(self._weigh_members(), question, self.n_features_in_)

    def predict(self, X: Any, **params: Any) -> np.ndarray:
        """Return the mean of the members' predictions.

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n_rows, n_features)
        **params : dict
            Metadata that the base learner's ``predict`` requests.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_outputs)
        """
        return self._average(self._check_rows(X), "predict", self._route("predict", params))


def _has_decisions(ensemble: "RepeatedClassifier") -> bool:
    """Whether there are decision values; votes with labels could contradict their mean."""
    return ensemble.votes != HARD and hasattr(ensemble._get_estimator(), "decision_function")


class RepeatedClassifier(ClassifierMixin, RepeatedEnsemble):
    """Classifiers that vote. Members learn class indices, as in scikit-learn."""

    classes_: np.ndarray
    votes: str
    votes_: str
    tie: str

    def _read_target(self, y: Any) -> np.ndarray:
        y = read_target(y, is_number=False)
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        return encode_labels("y", y, self.classes_)

    @property
    def n_classes_(self) -> int:
        """Number of classes."""
        check_is_fitted(self)
        return int(self.classes_.size)

    def _resolve_votes(self) -> str:
        """Return "hard" or "soft"; raise if the base learner lacks probabilities for it."""
        check_choice(self, "votes", ("auto", HARD, SOFT))
        check_choice(self, "tie", ("random", "confidence"))
        learner = self._check_estimator()
        has_probabilities = hasattr(learner, "predict_proba")
        for name, value in (("votes", SOFT), ("tie", "confidence")):
            if getattr(self, name) == value and not has_probabilities:
                raise ParameterError(
                    f"{type(self).__name__}: {name}={value!r} needs probabilities, and "
                    f"{type(learner).__name__} has no predict_proba"
                )
        if self.votes == "auto":
            return SOFT if has_probabilities else HARD
        return self.votes

    def _map_methods(self) -> dict[str, str]:
        has_probabilities = hasattr(self._get_estimator(), "predict_proba")
        callee = "predict" if self.votes == HARD or not has_probabilities else "predict_proba"
        return {
            "fit": "fit",
            "predict": callee,
            "predict_proba": callee,
            "predict_log_proba": callee,
            "decision_function": "decision_function",
        }

    def _get_reader(self, method: str, params: Mapping[str, Any]) -> Reader:
        return partial(read_votes, method=method, params=params, n_classes=self.classes_.size)

    @property
    def _method(self) -> str:  # type: ignore[override]
        return "predict" if self.votes_ == HARD else "predict_proba"

    def _show(self, member: Any, X: Any) -> np.ndarray:
        if self.votes_ == SOFT:
            return self._get_reader("predict_proba", {})(member, X)
        return self.classes_[np.asarray(member.predict(X)).astype(np.intp)]

    def _describe_nodes(self, members: DescribedMembers) -> list[Node]:
        n_classes = self.classes_.size
        return [
            place_outputs(node, find_class_places(model, n_classes), n_classes)
            for node, model in zip(members.nodes, self.estimators_, strict=True)
        ]

    @property
    def _scale(self) -> str:
        return SHARE if self.votes_ == HARD else PROBABILITY

    def _attribute(self, question: Question) -> "Attribution":
        return attribute_classes(
            self._weigh_members(),
            question.read(self._check_rows),
            self.n_features_in_,
            self.classes_.size,
            by_label=self.votes_ == HARD and "_trees" not in self.__dict__,
        )

    def _decide(self, X: Any, shares: np.ndarray) -> np.ndarray:
        """Return class indices."""
        if self.tie == "random":
            return decide_votes(shares, X, self._seed)

        def find_confidence(rows: np.ndarray) -> np.ndarray:
            if self.votes_ == SOFT:
                return shares[rows]
            return self._average(take_rows(X, rows), "predict_proba", {})

        return decide_votes(shares, X, self._seed, find_confidence)

    def predict(self, X: Any, **params: Any) -> np.ndarray:
        """Return the class that wins the vote.

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n_rows, n_features)
        **params : dict
            Metadata that the base learner requests for the method that it votes with.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        X = self._check_rows(X)
        params = self._route("predict", params)
        return self.classes_[self._decide(X, self._average(X, self._method, params))]

    def predict_proba(self, X: Any, **params: Any) -> np.ndarray:
        """Return the mean of the members' probabilities; for hard votes, their shares.

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n_rows, n_features)
        **params : dict
            Metadata that the base learner requests for the method that it votes with.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Columns in the order of ``classes_``.
        """
        X = self._check_rows(X)
        return self._average(X, self._method, self._route("predict_proba", params))

    def predict_log_proba(self, X: Any, **params: Any) -> np.ndarray:
        """Return the logarithm of :meth:`predict_proba`, which has the same parameters."""
        X = self._check_rows(X)
        shares = self._average(X, self._method, self._route("predict_log_proba", params))
        return log_probabilities(shares)

    @available_if(_has_decisions)  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any, **params: Any) -> np.ndarray:
        """Return the mean of the members' decision values, if the base learner has them.

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n_rows, n_features)
        **params : dict
            Metadata that the base learner's ``decision_function`` requests.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
        """
        params = self._route("decision_function", params)
        return self._average(self._check_rows(X), "decision_function", params)
