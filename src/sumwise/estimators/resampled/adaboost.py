"""AdaBoost of any base learner, and of trees on one binned table."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from copy import copy
from itertools import accumulate
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
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    has_fit_parameter,
)

from sumwise.combine.classes import log_probabilities
from sumwise.combine.median import weighted_median
from sumwise.data.frames.selection import take_rows
from sumwise.data.matrix import ColumnMatrix, Matrix
from sumwise.data.sparse import SparseMatrix
from sumwise.errors import DataError, ParameterError
from sumwise.estimators.combined.member_list import read_members_rows
from sumwise.estimators.fitted_state import fit_as_a_whole
from sumwise.estimators.forests.base import copy_features
from sumwise.estimators.forests.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from sumwise.estimators.input.features import check_features, read_rows
from sumwise.estimators.input.jobs import start_team
from sumwise.estimators.input.parameters import (
    check_choice,
    check_integer,
    check_number,
    extend_parameters,
)
from sumwise.estimators.input.targets import check_sample_weight, find_classes, read_target
from sumwise.estimators.members import fit_member
from sumwise.estimators.persistence import NotSavedMixin
from sumwise.estimators.resampled.base import open_rows
from sumwise.estimators.resampled.boosted_trees import TreeLearner, can_share_table, raise_weights
from sumwise.estimators.resampled.shallow_trees import (
    VALUES_A_STEP,
    BaseShallowTree,
    NumbersReader,
    ShallowLearner,
    ShallowTreeClassifier,
    ShallowTreeRegressor,
    find_answers,
    join_trees,
    normalize_weights,
)
from sumwise.estimators.resampled.table_trees import MembersMixin
from sumwise.kernels.runtime.threads import Team
from sumwise.losses.links import LINKS
from sumwise.training.adaboost import (
    LOSSES,
    AdaBoostResult,
    ClassRule,
    Learn,
    NumberRule,
    Rule,
    boost_learners,
)
from sumwise.training.progress import show_progress
from sumwise.tree import Tree, TreeEnsemble

REWEIGHT, RESAMPLE = "reweight", "resample"
_LARGEST_SEED = np.iinfo(np.int32).max
# Rows through this many trees are about as much work as an elementary step of a thread.
_TREES_A_STEP = 4
# Rows whose predictions of all members are kept at once.
_CHUNK = 1 << 14

_PARAMETERS = """n_estimators : int, default=50
        Most rounds. Training ends before, if a learner is perfect or none is better than chance.
    learning_rate : float, default=1.0
        What the weight of every learner is multiplied by.
    method : {"auto", "reweight", "resample"}, default="auto"
        How the base learner is told the weights of rows. "reweight" passes them as
        ``sample_weight``; "resample" draws as many rows as there are, with replacement and by
        weight. {auto}
    max_restarts : int, default=10
        How often, in a round that draws rows, a learner that is no better than chance is thrown
        away and another sample drawn, from the same weights. Learners that are given the weights
        would come out the same, so there training ends at once.
    n_jobs : int or None, default=None
        Threads of the default base learner and of decision trees of sumwise, which learn and
        predict with the same result for any number; None and -1 for all CPUs. Other base learners
        have an ``n_jobs`` of their own.
    random_state : int, RandomState or None, default=None
        Seed of the rows drawn, and of base learners that have a ``random_state``.
    verbose : int, default=0
        Whether to show the rounds on standard error, with the error of each."""

_ATTRIBUTES = """estimator_ : estimator
        The base learner that was used.
    estimators_ : list of estimators
        The fitted learners, also as ``model[0]`` and so on; decision trees of sumwise are made when
        they are asked for.
    estimator_errors_ : ndarray
        Error of each, by the weights that rows had in its round, over all rows.
    method_ : {"reweight", "resample"}
        How the weights of rows were told.
    stop_reason_ : {"n_estimators", "perfect", "too_weak"}
        Why training ended: all rounds done, a learner without error, or none that is better than
        chance.
    n_restarts_ : int
        Learners that were thrown away and replaced.
    feature_importances_ : ndarray of shape (n_features,)
        Weighted mean of the learners' importances, if they have any.
    n_features_in_ : int
        Features seen in ``fit``.
    feature_names_in_ : ndarray
        Their names, if X had any."""


def _document(auto: str) -> Callable[[Any], Any]:
    """Put what both estimators share into their docstrings."""

    def document(kind: Any) -> Any:
        text = kind.__doc__.replace("{parameters}", _PARAMETERS.replace("{auto}", auto))
        kind.__doc__ = text.replace("{attributes}", _ATTRIBUTES)
        return kind

    return document


class MemberLearner:
    """Learns a clone of any base learner, as :func:`boost_learners` asks it to.

    Parameters
    ----------
    base : estimator
    X : Any
        As the user passed it.
    y : ndarray
        Labels or numbers.
    method : {"reweight", "resample"}
    random : RandomState
    read : callable
        From predictions of a member to class indices or numbers.
    needs_classes : bool
        Whether a sample must have two classes, or learners may refuse it.
    """

    def __init__(
        self,
        base: Any,
        X: Any,
        y: np.ndarray,
        method: str,
        random: np.random.RandomState,
        read: Callable[[Any], np.ndarray],
        needs_classes: bool,
    ) -> None:
        self._base, self._X, self._y = base, X, y
        self._method, self._random, self._read = method, random, read
        self._needs_classes, self._n_tries = needs_classes, 0

    def __call__(self, weight: np.ndarray) -> tuple[Any, np.ndarray] | None:
        """Return a fitted member, and what it predicts of the rows."""
        member = clone(self._base)
        _seed(member, self._random)
        label = f"learner {self._n_tries}"
        self._n_tries += 1
        if self._method == REWEIGHT:
            params = {"sample_weight": raise_weights(weight)}
            fit_member(label, member, self._X, self._y, params)
        else:
            rows = self._random.choice(weight.size, weight.size, p=weight)
            y = self._y[rows]
            if self._needs_classes and (y == y[0]).all():
                return None
            fit_member(label, member, take_rows(self._X, rows), y, {})
        return member, self._read(member.predict(self._X))


def _seed(member: Any, random: np.random.RandomState) -> None:
    """Give a member and its parts seeds of their own, as scikit-learn's ensembles do."""
    names = [
        name
        for name in sorted(member.get_params(deep=True))
        if name == "random_state" or name.endswith("__random_state")
    ]
    if names:
        member.set_params(**{name: random.randint(_LARGEST_SEED) for name in names})


class BaseAdaBoost(MembersMixin, NumbersReader, NotSavedMixin, MetaEstimatorMixin, BaseEstimator):
    """What AdaBoost of classes and of numbers share."""

    _ensemble: TreeEnsemble | None
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
            Numbers, strings or categories, with missing values, for the default base learner and
            decision trees of sumwise; whatever another one takes for that, to which it is passed as
            it is, but that lists of rows become an array.
        y : array-like of shape (n_rows,)
        sample_weight : array-like of shape (n_rows,), default=None
            Weights of the first round; equal ones, if None.

        Returns
        -------
        self
        """
        self._forget_members()
        self._check_parameters()
        self.estimator_ = self._make_default() if self.estimator is None else self.estimator
        self._check_base()
        self.method_ = self._choose_method()
        y = read_target(y, is_number=is_regressor(self))
        random = check_random_state(self.random_state)
        with (
            self._open_learner(X, y, sample_weight, random) as (learn, rule, weight),
            show_progress(bool(self.verbose)) as shown,
        ):
            result = boost_learners(
                learn,
                rule,
                weight,
                int(self.n_estimators),
                int(self.max_restarts) if self.method_ == RESAMPLE else 0,
                shown,
            )
        self._store(result, learn)
        return self

    # --- what classes and numbers do in different ways ---

    def _make_default(self) -> BaseShallowTree:
        """Return the base learner that is used where none is given."""
        raise NotImplementedError

    def _make_tree(self, **parameters: Any) -> Any:
        """Return a decision tree, which unlike a shallow one splits categories."""
        raise NotImplementedError

    def _encode_target(self, y: np.ndarray) -> np.ndarray:
        """Return class indices or numbers."""
        raise NotImplementedError

    def _make_rule(self, target: np.ndarray, team: Team) -> Rule:
        """Return how errors are measured and weights changed."""
        raise NotImplementedError

    def _read_predictions(self, predicted: Any) -> np.ndarray:
        """Return class indices or numbers from what a member predicts."""
        raise NotImplementedError

    def _describe_member(self, member: Any) -> None:
        """Tell a tree that was grown here what it would know from a fit of its own."""

    def _keep_rejected(self, result: AdaBoostResult) -> None:
        """Do what there is to do if the first learner of all is too weak."""
        raise NotImplementedError

    def _make_ensemble(self, trees: list[Tree]) -> TreeEnsemble:
        """Return the trees ready for predictions."""
        raise NotImplementedError

    def _list_votes(self) -> np.ndarray | None:
        """The vote for each class; None for numbers."""
        return None

    def _count_classes(self) -> int:
        """Number of classes, 0 for numbers."""
        return 0

    # --- fitting ---

    @property
    def _is_shallow(self) -> bool:
        """Whether the base learner is a tree that is grown here, on one binned table."""
        return isinstance(self.estimator_, BaseShallowTree)

    def _check_parameters(self) -> None:
        check_integer(self, "n_estimators", 1)
        check_number(self, "learning_rate", 0.0, open_low=True)
        check_choice(self, "method", ("auto", REWEIGHT, RESAMPLE))
        check_integer(self, "max_restarts", 0)

    def _check_base(self) -> None:
        """Refuse what is no estimator, or one of another kind."""
        base, own = self.estimator_, type(self).__name__
        is_estimator = hasattr(base, "fit") and hasattr(base, "predict")
        if isinstance(base, type) or not is_estimator:
            raise ParameterError(
                f"{own}: estimator={base!r}; must be an estimator with fit and predict, or None"
            )
        if (is_regressor if is_classifier(self) else is_classifier)(base):
            needed = "classifier" if is_classifier(self) else "regressor"
            raise ParameterError(f"{own}: estimator={base!r}; must be a {needed}")

    def _choose_method(self) -> str:
        takes_weights = has_fit_parameter(self.estimator_, "sample_weight")
        if self.method == REWEIGHT and not takes_weights:
            raise ParameterError(
                f"{type(self).__name__}: method='reweight' needs a base learner whose fit takes "
                f"sample_weight, and {type(self.estimator_).__name__} does not; use "
                "method='resample'"
            )
        return self._resolve_method(takes_weights) if self.method == "auto" else self.method

    def _resolve_method(self, takes_weights: bool) -> str:
        raise NotImplementedError

    @contextmanager
    def _open_learner(
        self, X: Any, y: Any, sample_weight: Any, random: np.random.RandomState
    ) -> Iterator[tuple[Learn, Rule, np.ndarray]]:
        """Yield what learns, the rule, and the weights to begin with, while threads are there."""
        if self._is_shallow:
            self.estimator_._check_parameters()
            matrix, labels = self._read_training_data(X, y)
            if not self.schema_.dictionaries:
                yield from self._open_shallow(matrix, labels, sample_weight, random)
                return
            base = self.estimator_
            self.estimator_ = self._make_tree(max_depth=base.max_depth, max_bins=base.max_bins)
        if can_share_table(self.estimator_, self.method_ == RESAMPLE):
            yield from self._open_trees(X, y, sample_weight, random)
        else:
            yield self._open_members(X, y, sample_weight, random)

    def _open_shallow(
        self, X: Matrix, y: np.ndarray, sample_weight: Any, random: np.random.RandomState
    ) -> Iterator[tuple[Learn, Rule, np.ndarray]]:
        """Shallow trees of numbers, on one table."""
        n_rows = X.shape[0]
        target = self._encode_target(y)
        weight = check_sample_weight(sample_weight, n_rows)
        seed = int(random.randint(_LARGEST_SEED)) if self.method_ == RESAMPLE else None
        with start_team(self.n_jobs, n_rows * X.shape[1] // VALUES_A_STEP) as team:
            learn = ShallowLearner(
                self.estimator_, X, target, weight, self._count_classes(), seed, team
            )
            yield learn, self._make_rule(target, team), normalize_weights(weight, n_rows)

    def _open_trees(
        self, X: Any, y: Any, sample_weight: Any, random: np.random.RandomState
    ) -> Iterator[tuple[Learn, Rule, np.ndarray]]:
        """Decision trees of sumwise, on one table."""
        reader = clone(self.estimator_)
        if self.n_jobs is not None:
            reader.n_jobs = self.n_jobs
        train = reader._read_training(X, y, sample_weight)
        copy_features(reader, self)
        target, n_rows = self._encode_target(train.y), train.matrix.shape[0]
        weight = normalize_weights(train.weight, n_rows)
        n_steps = reader._count_steps(train.matrix)
        with start_team(reader.n_jobs, n_steps) as team, start_team(1, n_steps) as grow_team:
            teams = team, grow_team
            learn = TreeLearner(reader, train, self.method_ == RESAMPLE, random, teams)
            yield learn, self._make_rule(target, team), weight

    def _open_members(
        self, X: Any, y: Any, sample_weight: Any, random: np.random.RandomState
    ) -> tuple[Learn, Rule, np.ndarray]:
        """Any base learner, fitted anew in every round."""
        X = open_rows(self, X, y)
        check_consistent_length(X, y)
        target = self._encode_target(y)
        weight = check_sample_weight(sample_weight, len(y))
        learn = MemberLearner(
            self.estimator_,
            X,
            y,
            self.method_,
            random,
            self._read_predictions,
            needs_classes=self._count_classes() > 1,
        )
        # All other threads are for the members.
        return learn, self._make_rule(target, Team(1)), normalize_weights(weight, len(y))

    def _store(self, result: AdaBoostResult, learn: Learn) -> None:
        if not result.members:
            self._keep_rejected(result)
        self.stop_reason_, self.n_restarts_ = result.stop_reason, result.n_restarts
        self.estimator_weights_ = np.array(result.weights)
        self.estimator_errors_ = np.array(result.errors)
        self._ensemble, members = None, result.members
        if isinstance(learn, TreeLearner):
            weights, votes = self.estimator_weights_, self._list_votes()
            self._trees = learn.join(self.estimator_, members, weights, votes)
            return
        if self._is_shallow:
            self._ensemble = self._make_ensemble(members)
            members = [self._adopt(member) for member in members]
        self.estimators_ = members

    def _adopt(self, tree: Tree) -> BaseShallowTree:
        """Return a tree as a fitted estimator."""
        member: BaseShallowTree = copy(self.estimator_)
        for name in ("n_features_in_", "feature_names_in_", "schema_"):
            if hasattr(self, name):
                setattr(member, name, getattr(self, name))
        self._describe_member(member)
        member.tree_ = tree
        return member

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        base = self._make_default() if self.estimator is None else self.estimator
        try:
            inner = get_tags(base).input_tags
        except Exception:  # what is no estimator is refused in fit
            return tags
        for name in ("allow_nan", "sparse", "string", "categorical"):
            setattr(tags.input_tags, name, getattr(inner, name))
        if isinstance(base, BaseShallowTree):  # decision trees take their place
            tags.input_tags.categorical = True
        return tags

    # --- prediction ---

    def _read_rows(self, X: Any) -> Any:
        """Check X against what ``fit`` has seen."""
        check_is_fitted(self)
        if "_trees" in self.__dict__:
            return self._trees.read_rows(X)
        if self._is_shallow:
            return read_rows(self, X)
        X = read_members_rows(X)
        if getattr(X, "ndim", 2) > 1:  # one row without its second dimension is for members to tell
            check_features(self, X, reset=False)
        return X

    def _start_team(self, X: Any, n_trees: int) -> AbstractContextManager[Team]:
        """Threads that predict rows by this many trees."""
        return start_team(self.n_jobs, X.shape[0] * n_trees // _TREES_A_STEP)

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Yield :meth:`predict` after each round."""
        raise NotImplementedError

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
        """Mean of the learners' importances, by their weights."""
        check_is_fitted(self)
        if not all(hasattr(member, "feature_importances_") for member in self.estimators_):
            kind = type(self.estimators_[0]).__name__
            raise AttributeError(f"{kind} has no feature_importances_, so AdaBoost has none")
        each = [member.feature_importances_ for member in self.estimators_]
        # Weights of zero: a learner that is just better than chance, and the only one.
        weights = self.estimator_weights_ if self.estimator_weights_.any() else None
        return np.average(each, axis=0, weights=weights)


@_document('"auto" passes them if ``fit`` takes them; otherwise it draws rows, and warns.')
class AdaBoostClassifier(ClassifierMixin, BaseAdaBoost):
    """AdaBoost: each learner minds more the rows that those before it got wrong.

    For two classes as Freund and Schapire have it, for more SAMME (Zhu and others).

    Parameters
    ----------
    estimator : estimator or None, default=None
        The base learner, of which clones are fitted; any classifier. None for decision stumps,
        which are grown on one binned table and so are much faster than others; where X has
        categories, for decision trees of depth one, which split them by sets.
    {parameters}

    Attributes
    ----------
    classes_ : ndarray
        Class labels, sorted.
    n_classes_ : int
        Their number.
    estimator_weights_ : ndarray
        Weight of each learner: ``ln((1 - error) / error) / 2``, for K classes plus
        ``ln(K - 1) / 2``, times the learning rate. scikit-learn's are twice these.
    exponential_loss_ : ndarray
        Exponential loss of the training rows after each round: for two classes the mean of
        ``exp(-y * decision_function(X))`` with y of -1 and 1.
    {attributes}

    Notes
    -----
    ``decision_function`` is the sum of the weighted votes. scikit-learn divides it by the sum of
    the weights; probabilities, too, are those of the sum here, as in the articles.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sumwise import AdaBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AdaBoostClassifier(n_estimators=50).fit(X, y)
    >>> model.score(X, y) > 0.98
    True
    >>> bool((model.exponential_loss_[1:] < model.exponential_loss_[:-1]).all())
    True
    """

    classes_: np.ndarray

    def _make_default(self) -> BaseShallowTree:
        return ShallowTreeClassifier(max_depth=1)

    def _make_tree(self, **parameters: Any) -> Any:
        return DecisionTreeClassifier(**parameters)

    def _encode_target(self, y: np.ndarray) -> np.ndarray:
        self.classes_, indices = find_classes(y, at_least=1)
        self.n_classes_ = int(self.classes_.size)
        return indices

    def _count_classes(self) -> int:
        return self.n_classes_

    def _make_rule(self, target: np.ndarray, team: Team) -> Rule:
        return ClassRule(target, self.n_classes_, float(self.learning_rate), team)

    def _resolve_method(self, takes_weights: bool) -> str:
        if takes_weights:
            return REWEIGHT
        warnings.warn(
            f"{type(self.estimator_).__name__} takes no sample_weight, so rows are drawn by their "
            "weights instead, at random; method='resample' says that this is what you want",
            UserWarning,
            stacklevel=5,
        )
        return RESAMPLE

    def _read_predictions(self, predicted: Any) -> np.ndarray:
        predicted = np.asarray(predicted)
        places = np.searchsorted(self.classes_, predicted).clip(max=self.n_classes_ - 1)
        unknown = self.classes_[places] != predicted
        if np.any(unknown):
            raise DataError(
                f"{type(self.estimator_).__name__} predicts {predicted[unknown].tolist()[0]!r}, "
                "which is not a class of y"
            )
        return places

    def _describe_member(self, member: Any) -> None:
        member.classes_ = self.classes_

    def _keep_rejected(self, result: AdaBoostResult) -> None:
        found = "" if result.rejected is None else f" (error {result.rejected[1]:.3g})"
        hint = "; raise max_restarts" if self.method_ == RESAMPLE else ""
        raise DataError(
            f"the first {type(self.estimator_).__name__} is no better than chance{found}, so there "
            f"is nothing to boost: use another base learner or other features{hint}"
        )

    def _store(self, result: AdaBoostResult, learn: Learn) -> None:
        super()._store(result, learn)
        with np.errstate(over="ignore"):
            self.exponential_loss_ = np.exp(result.log_losses)

    def _make_ensemble(self, trees: list[Tree]) -> TreeEnsemble:
        votes = self._list_votes()
        values = [
            weight * votes[find_answers(tree, True)]
            for tree, weight in zip(trees, self.estimator_weights_, strict=True)
        ]
        return join_trees(trees, values, votes.shape[1], self.n_features_in_)

    # --- prediction ---

    def _list_votes(self) -> np.ndarray:
        """The vote for each class: -1 or 1 if there are two, otherwise 1 in the class's column."""
        return np.array([[-1.0], [1.0]]) if self.n_classes_ == 2 else np.eye(self.n_classes_)

    def _add_up(self, X: Any) -> np.ndarray:
        """Return weighted votes: (n_rows, 1) for the second class, or (n_rows, n_classes)."""
        X = self._read_rows(X)
        if "_trees" in self.__dict__:
            with self._start_team(X, self._trees.n_members) as team:
                return self._trees.add_up(X, team)
        if self._ensemble is None:
            *_, total = accumulate(self._vote(X))
            return total
        with self._start_team(X, self._ensemble.n_trees) as team:
            return self._ensemble.predict_raw(X, team)

    def _staged_add_up(self, X: Any) -> Iterator[np.ndarray]:
        X = self._read_rows(X)
        if "_trees" in self.__dict__:
            with self._start_team(X, self._trees.n_members) as team:
                votes = self._trees.list_votes(X, team)
            yield from accumulate(votes)
        elif self._ensemble is None:
            yield from accumulate(self._vote(X))
        else:
            with start_team(self.n_jobs, X.shape[0] * self._ensemble.n_outputs) as team:
                yield from self._ensemble.staged_predict_raw(X, team)

    def _vote(self, X: Any) -> Iterator[np.ndarray]:
        """Yield the weighted vote of one member after the other."""
        votes = self._list_votes()
        for member, weight in zip(self.estimators_, self.estimator_weights_, strict=True):
            yield weight * votes[self._read_predictions(member.predict(X))]

    def _decide(self, votes: np.ndarray) -> np.ndarray:
        if self.n_classes_ == 2:
            return votes[:, 0]
        if self.n_classes_ == 1:  # there is nothing to decide
            return np.zeros_like(votes)
        # A learner gives 1 to the class it predicts, and -1 / (K - 1) to the others.
        total = votes.sum(axis=1, keepdims=True)
        return (self.n_classes_ * votes - total) / (self.n_classes_ - 1)

    def _label(self, votes: np.ndarray) -> np.ndarray:
        places = votes[:, 0] > 0.0 if self.n_classes_ == 2 else votes.argmax(axis=1)
        return self.classes_[places.astype(np.intp)]

    def _find_probabilities(self, votes: np.ndarray) -> np.ndarray:
        """Minimizers of the exponential loss: a vote is half a log odds."""
        if self.n_classes_ == 2:
            return LINKS["half_logistic"](votes)
        return LINKS["softmax"](2.0 * votes)

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the weighted votes.

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
            For two classes the sum of the weights of learners that predict the second one, less
            that of the others. For K classes, a learner adds its weight to the class that it
            predicts, and subtracts 1 / (K - 1) of it from the others.
        """
        return self._decide(self._add_up(X))

    def predict(self, X: Any) -> np.ndarray:
        """Return the class with the largest weighted vote; of equal ones, the first.

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        return self._label(self._add_up(X))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities that the votes stand for.

        They are those for which the exponential loss would be least: with two classes,
        ``1 / (1 + exp(-2 * decision_function(X)))``. After many rounds they are too sure.

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Columns in the order of ``classes_``.
        """
        return self._find_probabilities(self._add_up(X))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithm of :meth:`predict_proba`."""
        return log_probabilities(self.predict_proba(X))

    def staged_decision_function(self, X: Any) -> Iterator[np.ndarray]:
        """Yield :meth:`decision_function` after each round."""
        return map(self._decide, self._staged_add_up(X))

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Yield :meth:`predict` after each round."""
        return map(self._label, self._staged_add_up(X))

    def staged_predict_proba(self, X: Any) -> Iterator[np.ndarray]:
        """Yield :meth:`predict_proba` after each round."""
        return map(self._find_probabilities, self._staged_add_up(X))


@_document('"auto" draws rows, as Drucker does.')
class AdaBoostRegressor(RegressorMixin, BaseAdaBoost):
    """AdaBoost.R2: each learner minds more the rows that those before it were far from.

    Parameters
    ----------
    estimator : estimator or None, default=None
        The base learner, of which clones are fitted; any regressor. None for trees of three
        levels, which are grown on one binned table and so are much faster than others; where X has
        categories, for decision trees of depth three, which split them by sets.
    {parameters}
    loss : {"linear", "square", "exponential"}, default="linear"
        The loss of a row, from its distance d relative to the largest of all rows: d, d squared,
        or 1 - exp(-d).

    Attributes
    ----------
    estimator_weights_ : ndarray
        Weight of each learner in the median: ``ln((1 - error) / error)``, times the learning rate.
    {attributes}

    Notes
    -----
    If not even the first learner has a mean loss below one half, it is the only one, and a warning
    says so.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sumwise import AdaBoostRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = AdaBoostRegressor(random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.5
    True
    """

    @extend_parameters(BaseAdaBoost)
    def __init__(self, estimator: Any = None, *, loss: str = "linear", **shared: Any) -> None:
        super().__init__(estimator, **shared)
        self.loss = loss

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice(self, "loss", tuple(LOSSES))

    def _make_default(self) -> BaseShallowTree:
        return ShallowTreeRegressor(max_depth=3)

    def _make_tree(self, **parameters: Any) -> Any:
        return DecisionTreeRegressor(**parameters)

    def _encode_target(self, y: np.ndarray) -> np.ndarray:
        return y.astype(np.float64)

    def _make_rule(self, target: np.ndarray, team: Team) -> Rule:
        return NumberRule(target, self.loss, float(self.learning_rate), team)

    def _resolve_method(self, takes_weights: bool) -> str:
        return RESAMPLE

    def _read_predictions(self, predicted: Any) -> np.ndarray:
        predicted = np.asarray(predicted, dtype=np.float64)
        if predicted.ndim != 1 or not np.isfinite(predicted).all():
            raise DataError(
                f"{type(self.estimator_).__name__} predicts an array of shape {predicted.shape} "
                "or with numbers that are not finite; expected one number a row"
            )
        return predicted

    def _keep_rejected(self, result: AdaBoostResult) -> None:
        if result.rejected is None:
            raise DataError("no sample could be learned from")
        member, error = result.rejected
        result.members, result.weights, result.errors = [member], [1.0], [error]
        warnings.warn(
            f"the mean loss of the first {type(self.estimator_).__name__} is {error:.3g} of the "
            "largest, not below one half: it is the only learner. Another loss or base learner may "
            "help",
            UserWarning,
            stacklevel=5,
        )

    def _make_ensemble(self, trees: list[Tree]) -> TreeEnsemble:
        return join_trees(trees, [tree.value for tree in trees], 1, self.n_features_in_)

    # --- prediction ---

    def _collect(self, X: Any) -> Iterator[np.ndarray]:
        """Yield what all members predict of some rows after the other, members first."""
        X = self._read_rows(X)
        if "_trees" in self.__dict__:
            with self._start_team(X, self._trees.n_members) as team:
                yield from (self._trees.list_numbers(part, team) for part in _split_rows(X))
            return
        if self._ensemble is None:
            yield np.stack([self._read_predictions(m.predict(X)) for m in self.estimators_])
            return
        ensemble = self._ensemble
        with self._start_team(X, ensemble.n_trees) as team:
            for part in _split_rows(X):
                leaves = ensemble.apply(part, team)
                yield ensemble.value[leaves + ensemble.start].T

    def predict(self, X: Any) -> np.ndarray:
        """Return the weighted median of what the learners predict.

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        parts = [weighted_median(part, self.estimator_weights_) for part in self._collect(X)]
        return np.concatenate(parts)

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Yield :meth:`predict` after each round."""
        predictions = np.concatenate(list(self._collect(X)), axis=1)
        for n in range(1, len(predictions) + 1):
            yield weighted_median(predictions[:n], self.estimator_weights_[:n])


def _split_rows(X: Matrix) -> Iterator[Matrix]:
    """Yield some rows after the other."""
    if isinstance(X, SparseMatrix):
        X = X.sort_by_row()
    for first in range(0, X.shape[0], _CHUNK):
        last = min(first + _CHUNK, X.shape[0])
        yield X.convert(first, last) if isinstance(X, ColumnMatrix) else X[first:last]
