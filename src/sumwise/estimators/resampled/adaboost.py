"""What AdaBoost of classes and of numbers share: parameters, the rounds, and their learners."""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy, deepcopy
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import check_random_state
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    has_fit_parameter,
)

from sumwise.data.categories.encoder import CategoryEncoder
from sumwise.data.matrix import Matrix
from sumwise.errors import ParameterError
from sumwise.estimators.describing.members import DescribedMembers, describe_members
from sumwise.estimators.describing.models import describe_columns, describe_inputs, describe_trees
from sumwise.estimators.explaining import ExplainMixin
from sumwise.estimators.fitted_state import fit_as_a_whole
from sumwise.estimators.forests.base import copy_features
from sumwise.estimators.forests.parameters import draw_seed
from sumwise.estimators.forests.training_set import TrainingSet
from sumwise.estimators.input.features import read_rows
from sumwise.estimators.input.jobs import start_team
from sumwise.estimators.input.parameters import check_choice, check_integer, check_number
from sumwise.estimators.input.targets import check_sample_weight, read_target
from sumwise.estimators.resampled.boosted_members import (
    BoostedLearners,
    Learner,
    MemberLearner,
    normalize_weights,
)
from sumwise.estimators.resampled.boosted_trees import BoostedTrees, TreeLearner, can_share_table
from sumwise.estimators.resampled.learner import LearnerEnsemble
from sumwise.estimators.resampled.shallow_trees import (
    VALUES_PER_STEP,
    BaseShallowTree,
    NumbersReader,
    ShallowLearner,
    ShallowTrees,
)
from sumwise.estimators.resampled.table_trees import DecisionTree, MembersMixin, use_threads
from sumwise.export.portable import Node, PortableModel, TreeSum
from sumwise.kernels.runtime.threads import Team
from sumwise.training.adaboost import AdaBoostResult, Rule, boost_learners
from sumwise.training.progress import show_progress
from sumwise.tree import Tree, Trees

REWEIGHT, RESAMPLE = "reweight", "resample"


class _Rounds(NamedTuple):
    """What the rounds of a fit need: a learner, the rule of weights, and the first weights."""

    learn: Learner
    rule: Rule
    weight: np.ndarray


class BaseAdaBoost(ExplainMixin, MembersMixin, NumbersReader, LearnerEnsemble):
    """What AdaBoost of classes and of numbers share."""

    _fitted_privately = (*MembersMixin._fitted_privately, "_learners")
    _learners: BoostedLearners
    _trees: BoostedTrees
    estimator_weights_: np.ndarray
    estimator_errors_: np.ndarray

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 50,
        learning_rate: float = 1.0,
        method: str = "auto",
        max_restarts: int = 10,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.method = method
        self.max_restarts = max_restarts
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @fit_as_a_whole
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train the learners.

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n_rows, n_features)
            The default base learner and decision trees of sumwise take numbers, strings or
            categories, with missing values. Other base learners get X unchanged, except that lists
            of rows become an array.
        y : array-like of shape (n_rows,)
        sample_weight : array-like of shape (n_rows,), default=None
            Weights of the first round; None for equal weights.

        Returns
        -------
        self
        """
        self._check_parameters()
        self.estimator_ = self._check_estimator()
        self.method_ = self._choose_method()
        y = read_target(y, is_number=is_regressor(self))
        random = check_random_state(self.random_state)
        with (
            self._open_rounds(X, y, sample_weight, random) as rounds,
            show_progress(bool(self.verbose)) as shown,
        ):
            result = boost_learners(
                rounds.learn,
                rounds.rule,
                rounds.weight,
                int(self.n_estimators),
                int(self.max_restarts) if self._draws_rows else 0,
                shown,
            )
        if not result.members:
            self._keep_rejected(result)
        self._store(result, rounds.learn)
        return self

    # --- what differs between classes and numbers ---

    @abstractmethod
    def _make_default(self) -> BaseShallowTree:
        """Return the default base learner."""

    @abstractmethod
    def _make_tree(self, **parameters: Any) -> DecisionTree:
        """Return a decision tree, which unlike a shallow tree splits categories."""

    @abstractmethod
    def _encode_target(self, y: np.ndarray) -> np.ndarray:
        """Return class indices or numbers."""

    @abstractmethod
    def _make_rule(self, target: np.ndarray, team: Team) -> Rule:
        """Return how errors are measured and weights changed."""

    @abstractmethod
    def _make_reader(self) -> Callable[[Any], np.ndarray]:
        """Return a function from a member's predictions to class indices or numbers."""

    @abstractmethod
    def _keep_rejected(self, result: AdaBoostResult) -> None:
        """Handle a first learner that is too weak."""

    @abstractmethod
    def _resolve_method(self, takes_weights: bool) -> str:
        """Return what "auto" stands for."""

    def _list_votes(self) -> np.ndarray | None:
        """Return what a vote for each class adds to the sum; None for numbers."""
        return None

    def _count_classes(self) -> int:
        """Return the number of classes, 0 for numbers."""
        return 0

    # --- fitting ---

    def _get_estimator(self) -> Any:
        return self._make_default() if self.estimator is None else self.estimator

    @property
    def _is_shallow(self) -> bool:
        """Whether the base learner is a shallow tree, grown on one binned table."""
        return isinstance(self.estimator_, BaseShallowTree)

    @property
    def _draws_rows(self) -> bool:
        return self.method_ == RESAMPLE

    def _check_parameters(self) -> None:
        check_integer(self, "n_estimators", 1)
        check_number(self, "learning_rate", 0.0, open_low=True)
        check_choice(self, "method", ("auto", REWEIGHT, RESAMPLE))
        check_integer(self, "max_restarts", 0)

    def _choose_method(self) -> str:
        takes_weights = has_fit_parameter(self.estimator_, "sample_weight")
        if self.method == REWEIGHT and not takes_weights:
            raise ParameterError(
                f"{type(self).__name__}: method='reweight' needs a base learner whose fit takes "
                f"sample_weight, and {type(self.estimator_).__name__} does not; use "
                "method='resample'"
            )
        return self._resolve_method(takes_weights) if self.method == "auto" else self.method

    @contextmanager
    def _open_rounds(
        self, X: Any, y: np.ndarray, sample_weight: Any, random: np.random.RandomState
    ) -> Iterator[_Rounds]:
        """Yield what the rounds need, while threads are available."""
        if self._is_shallow:
            self.estimator_._check_parameters()
            matrix, labels = self._read_training_data(X, y)
            if not self.schema_.dictionaries:
                yield from self._open_shallow(matrix, labels, sample_weight, random)
                return
            base = self.estimator_
            self.estimator_ = self._make_tree(max_depth=base.max_depth, max_bins=base.max_bins)
        if can_share_table(self.estimator_, self._draws_rows):
            yield from self._open_trees(X, y, sample_weight, random)
        else:
            yield self._open_members(X, y, sample_weight, random)

    def _open_shallow(
        self, X: Matrix, y: np.ndarray, sample_weight: Any, random: np.random.RandomState
    ) -> Iterator[_Rounds]:
        """Yield rounds of shallow trees on one table."""
        base, n_rows = self.estimator_, X.shape[0]
        target = self._encode_target(y)
        weight = check_sample_weight(sample_weight, n_rows)
        seed = draw_seed(random) if self._draws_rows else None
        with start_team(self.n_jobs, n_rows * X.shape[1] // VALUES_PER_STEP) as team:
            learn = ShallowLearner(base, X, target, weight, self._count_classes(), seed, team)
            rule = self._make_rule(target, team)
            yield _Rounds(learn, rule, normalize_weights(weight, n_rows))

    def _open_trees(
        self, X: Any, y: np.ndarray, sample_weight: Any, random: np.random.RandomState
    ) -> Iterator[_Rounds]:
        """Yield rounds of decision trees on one table."""
        base = self.estimator_
        reader = use_threads(clone(base), self.n_jobs)
        # A copy: statistics of categories have a seed without another draw for the rounds.
        seed = draw_seed(deepcopy(random))
        train = TrainingSet.read(reader, X, y, sample_weight, seed=seed)
        copy_features(reader, self)
        target = self._encode_target(train.y)
        weight = normalize_weights(train.weight, train.matrix.shape[0])
        with (
            start_team(reader.n_jobs, train.n_steps) as team,
            start_team(1, train.n_steps) as grow_team,
        ):
            teams = team, grow_team
            learn = TreeLearner(base, reader, train, self._draws_rows, random, teams)
            yield _Rounds(learn, self._make_rule(target, team), weight)

    def _open_members(
        self, X: Any, y: np.ndarray, sample_weight: Any, random: np.random.RandomState
    ) -> _Rounds:
        """Return rounds of any base learner."""
        X = self._open_rows(X, y)
        check_consistent_length(X, y)
        target = self._encode_target(y)
        weight = check_sample_weight(sample_weight, len(y))
        learn = MemberLearner(
            self.estimator_,
            X,
            y,
            self._draws_rows,
            random,
            self._make_reader(),
            needs_classes=self._count_classes() > 1,
        )
        # The members may use all other threads.
        return _Rounds(learn, self._make_rule(target, Team(1)), normalize_weights(weight, len(y)))

    def _store(self, result: AdaBoostResult, learn: Learner) -> None:
        self.stop_reason_, self.n_restarts_ = result.stop_reason, result.n_restarts
        self.estimator_weights_ = np.array(result.weights)
        self.estimator_errors_ = np.array(result.errors)
        self._learners = learn.join(result.members, self.estimator_weights_, self._list_votes())
        if isinstance(self._learners, BoostedTrees):
            self._trees = self._learners
        elif self._is_shallow:
            self.estimators_ = [self._adopt(tree) for tree in result.members]
        else:
            self.estimators_ = result.members

    def _adopt(self, tree: Tree) -> BaseShallowTree:
        """Return a tree as a fitted estimator."""
        member: BaseShallowTree = copy(self.estimator_)
        copy_features(self, member)
        member.tree_ = tree
        return member

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if isinstance(self._get_estimator(), BaseShallowTree):  # decision trees replace it
            tags.input_tags.categorical = True
        return tags

    # --- prediction ---

    def _read_rows(self, X: Any) -> Any:
        """Check X against the features of ``fit``; return it as the learners read it."""
        check_is_fitted(self)
        if "_trees" in self.__dict__:
            return self._trees.read_rows(X)
        return read_rows(self, X) if self._is_shallow else self._check_rows(X)

    # --- export ---

    @abstractmethod
    def _describe_trees(self, trees: TreeSum) -> Node:
        """Return the predictions, from trees with weighted votes or numbers in their leaves."""

    @abstractmethod
    def _describe_members(self, members: DescribedMembers) -> Node:
        """Return the predictions, from what the members predict."""

    def _describe(self) -> PortableModel:
        """Return the model in plain terms, for export."""
        check_is_fitted(self)
        classes = (self.classes_,) if is_classifier(self) else ()
        name, shared = type(self).__name__, self._find_trees()
        if shared is not None:
            columns = describe_columns(self.n_features_in_, self._find_encoder())
            trees = replace(describe_trees(shared, columns), divisor=1.0)
            output = self._describe_trees(trees)
            return PortableModel(name, describe_inputs(self), output, classes)
        labels = [f"learner {k}" for k in range(len(self.estimators_))]
        methods = ["predict"] * len(labels)
        members = describe_members(self, labels, self.estimators_, methods)
        return PortableModel(name, members.inputs, self._describe_members(members), classes)

    def _find_encoder(self) -> CategoryEncoder | None:
        """Return what replaces categories by statistics in front of trees on one table."""
        return self._learners.model._encoder if isinstance(self._learners, BoostedTrees) else None

    def _find_trees(self) -> Trees | None:
        """Return the trees of all rounds; None if the learners are not trees on one table."""
        if isinstance(self._learners, ShallowTrees):
            return self._learners.ensemble
        if not isinstance(self._learners, BoostedTrees):
            return None
        return self._learners.voter if is_classifier(self) else self._learners.model.forest_

    # --- rounds ---

    @abstractmethod
    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Yield :meth:`predict` after each round."""

    def staged_score(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[float]:
        """Yield :meth:`score` after each round.

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
        sample_weight : array-like of shape (n_rows,), default=None
        """
        score = accuracy_score if is_classifier(self) else r2_score
        for predicted in self.staged_predict(X):
            yield float(score(y, predicted, sample_weight=sample_weight))

    @property
    def feature_importances_(self) -> np.ndarray:
        """Mean of the learners' importances, weighted by their weights."""
        check_is_fitted(self)
        if not all(hasattr(member, "feature_importances_") for member in self.estimators_):
            kind = type(self.estimators_[0]).__name__
            raise AttributeError(f"{kind} has no feature_importances_, so AdaBoost has none")
        each = [member.feature_importances_ for member in self.estimators_]
        # All weights are 0 if the only learner is just better than chance.
        weights = self.estimator_weights_ if self.estimator_weights_.any() else None
        return np.average(each, axis=0, weights=weights)
