"""Random forests and extremely randomized trees."""

import threading
import time
import warnings
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sumwise.data.matrix import Matrix
from sumwise.errors import DataWarning, ParameterError
from sumwise.estimators.forests.base import (
    BaseTrees,
    TrainingSet,
    TreeClassifierMixin,
    TreeRegressorMixin,
    copy_features,
    document_trees,
)
from sumwise.estimators.forests.decision_tree import (
    BaseDecisionTree,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
)
from sumwise.estimators.forests.out_of_bag import (
    check_oob_score,
    measure_importances,
    score_out_of_bag,
)
from sumwise.estimators.forests.parameters import count_features, find_rate
from sumwise.estimators.input.class_weights import weigh_classes
from sumwise.estimators.input.parameters import (
    check_choice,
    check_integer,
    check_nested,
    extend_parameters,
    resolve_part,
)
from sumwise.inspection.forest_importance import ForestImportance
from sumwise.kernels.runtime.threads import Team
from sumwise.sampling import BayesianBootstrap, Bootstrap, Pasting, PoissonBootstrap
from sumwise.sampling.resample import list_drawn_rows
from sumwise.training.callbacks import Callback, RoundState
from sumwise.training.forest import (
    ForestPlan,
    Reweigher,
    draw_bags,
    draw_subspaces,
    grow_forest,
)
from sumwise.training.progress import show_progress
from sumwise.tree.forest import ForestTree
from sumwise.tree.forest_grower import RowTable
from sumwise.tree.prune import estimate_by_rows, prune_by_rows, weigh_out_of_bag

_RESAMPLERS = (Bootstrap, Pasting, PoissonBootstrap, BayesianBootstrap)
_OWN_SAVED = ("oob_score_", "oob_score_is_optimistic_", "_seed")
# Levels of a tree whose nodes look at every row.
_LEVELS = 16

_PARAMETERS = """n_estimators : int, default=100
        Number of trees.
    bootstrap : bool, default={bootstrap}
        Whether each tree sees rows drawn with replacement, or all rows.
    max_features : {"sqrt", "log2"}, int, float or None, default={max_features}
        Features drawn in every node; a float is a share, None means all.
    {tree_parameters}
    oob_score : bool, str or callable, default=False
        Whether to score the forest on out-of-bag rows: each is predicted by the trees that have not
        seen it. The score is that of :meth:`score`, or of a metric ``(y_true, y_pred)``, or of a
        scorer, which may be given by name.
    max_samples : int, float or None, default=None
        Rows drawn for a tree: a number, at most 2**32 - 1, or a share of the rows, or of the sum
        of the sample weights if there are any. None for as many as there are rows.
    resampling : part or None, default=None
        How rows are drawn, in place of ``bootstrap`` and ``max_samples``: :class:`Bootstrap`,
        :class:`Pasting`, :class:`PoissonBootstrap` or :class:`BayesianBootstrap`.
    max_features_per_tree : {"sqrt", "log2"}, int, float or None, default=None
        Features drawn once for each tree (a random subspace); None for all.
    prune : {"oob"} or None, default=None
        Prune each tree by the rows out of its bag: a node becomes a leaf where that makes no more
        errors on them.
    leaf_posterior : {"oob"} or None, default=None
        Estimate the values of leaves from the rows out of the bag, drawn towards those of their
        parents where there are few.
    warm_start : bool, default=False
        Whether ``fit`` keeps the trees it has and adds more; ``n_estimators`` is the total. On the
        same data the result is that of one fit.
    verbose : int or bool, default=0
        Show trees and time left on standard error."""

_ATTRIBUTES = """{attributes}
    estimator_ : tree
        A tree that is not fitted, with the parameters of the trees.
    estimators_ : list of trees
        The trees as estimators of their own, made when asked for.
    estimators_samples_ : list of ndarray
        Rows that each tree saw, those drawn twice twice; drawn anew when asked for.
    oob_score_ : float
        With ``oob_score``: the score on out-of-bag rows, except rows that every tree has seen.
    oob_score_is_optimistic_ : bool
        Whether the same rows have also changed the trees (``prune``, ``leaf_posterior``)."""


_CLASS_WEIGHT = """class_weight : "balanced", "balanced_subsample", dict, list of dict or None, \\
            default=None
        Factors on the weights of drawn rows: a dict from classes to weights (1 for those it lacks),
        "balanced" for weights that make all classes weigh the same, or "balanced_subsample" for
        such weights in each tree. With several outputs a list of one dict per output; the factors
        of all outputs are multiplied."""

_OOB_CLASSES = """oob_decision_function_ : ndarray of shape (n_rows, n_classes) or \\
            (n_rows, n_classes, n_outputs)
        Out-of-bag probabilities; NaN for rows that every tree has seen. Outputs with fewer classes
        than others have zeros after theirs."""


class BaseForest(BaseTrees):
    """What forests share."""

    _tree_class: ClassVar[type[BaseDecisionTree]]
    _is_extra: ClassVar[bool] = False

    bootstrap: bool
    oob_score_: float
    _draws: "_Draws"
    _shape_oob_values: Callable[[np.ndarray], dict[str, np.ndarray]]

    @extend_parameters(BaseTrees)
    def __init__(
        self,
        n_estimators: int = 100,
        *,
        oob_score: Any = False,
        max_samples: Any = None,
        resampling: Any = None,
        max_features_per_tree: Any = None,
        prune: str | None = None,
        leaf_posterior: str | None = None,
        warm_start: bool = False,
        verbose: int = 0,
        **shared: Any,
    ) -> None:
        super().__init__(**shared)
        self.n_estimators = n_estimators
        self.oob_score = oob_score
        self.max_samples = max_samples
        self.resampling = resampling
        self.max_features_per_tree = max_features_per_tree
        self.prune = prune
        self.leaf_posterior = leaf_posterior
        self.warm_start = warm_start
        self.verbose = verbose

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, those of parts as ``resampling__rate=...``."""
        check_nested(self, params, {"resampling": "Bootstrap"})
        return super().set_params(**params)

    def _check_parameters(self) -> None:
        check_integer(self, "n_estimators", 1)
        count_features(self, "max_features_per_tree")
        check_oob_score(self)
        resampler = self._resolve_resampler(1, 1.0)
        for name in ("prune", "leaf_posterior"):
            if getattr(self, name) is not None:
                check_choice(self, name, ("oob",))
        for name in ("oob_score", "prune", "leaf_posterior"):
            value = getattr(self, name)
            if value and (resampler is None or not resampler.leaves_rows_out):
                how = "bootstrap=False" if self.resampling is None else f"resampling={resampler!r}"
                raise ParameterError(
                    f"{type(self).__name__}: {name}={value!r}: Out of bag estimation only "
                    f"available if bootstrap=True; with {how} no rows are left out of a bag"
                )
        if self.leaf_posterior is not None and self.monotonic_cst is not None:
            raise ParameterError(
                f"{type(self).__name__}: leaf_posterior={self.leaf_posterior!r} and monotonic_cst "
                "do not go together: posteriors from other rows need not be in order"
            )
        super()._check_parameters()

    def _resolve_resampler(self, n_rows: int, total_weight: float) -> Any:
        """Return the Resampler that draws rows, None for all rows."""
        part = resolve_part(self, "resampling", _RESAMPLERS, names=True)
        rate = find_rate(self, "max_samples", n_rows, total_weight)
        if self.max_samples is not None and (part is not None or not self.bootstrap):
            raise ParameterError(
                f"{type(self).__name__}: max_samples={self.max_samples!r} is for bootstrap=True"
                + ("; give resampling the rate instead" if part is not None else "")
            )
        return Bootstrap(rate) if part is None and self.bootstrap else part

    def _cuts_at_random(self) -> bool:
        return self._is_extra

    def _find_start(self) -> Any:
        if not self.warm_start or not self.__sklearn_is_fitted__():
            return None
        check_integer(self, "n_estimators", 1)
        n_trees = self.forest_.n_trees
        if self.n_estimators < n_trees:
            raise ParameterError(
                f"{type(self).__name__}: n_estimators={self.n_estimators} must be at least the "
                f"{n_trees} trees of the forest when warm_start=True"
            )
        if self.n_estimators == n_trees:
            warnings.warn(
                "Warm-start fitting without increasing n_estimators does not fit new trees.",
                stacklevel=3,
            )
        return copy(self)

    def _forget_fit(self) -> None:
        super()._forget_fit()
        self.__dict__.pop("_draws", None)
        for name in ("score_", "score_is_optimistic_", "decision_function_", "prediction_"):
            self.__dict__.pop(f"oob_{name}", None)

    def _grow(self, train: TrainingSet, table: RowTable, team: Team) -> dict[str, Any]:
        n_own = count_features(self, "max_features_per_tree", self.n_features_in_)
        plan = replace(
            self._make_plan(train, table, n_own, int(self.n_estimators)),
            resampler=self._resolve_resampler(table.n_rows, train.total_weight),
            tree_features=None
            if n_own is None
            else draw_subspaces(train.seed, n_own, self.n_features_in_),
            keep_bags=bool(self.oob_score),
        )
        forest = None if train.start is None else train.start.forest_
        in_bag = np.empty((0, 0), dtype=np.uint8)
        if plan.first < plan.last:
            with show_progress(bool(self.verbose)) as shown:
                grown = grow_forest(
                    table,
                    train.target.target,
                    train.target.n_columns,
                    tell_trees(plan, shown),
                    train.weight,
                    train.row_weight,
                    team,
                )
            forest = grown.forest if forest is None else forest.append(grown.forest)
            in_bag = grown.in_bag
        assert forest is not None
        fitted: dict[str, Any] = {
            "forest_": forest,
            "_draws": _Draws(plan.resampler, train.seed, table.n_rows, train.weight),
        }
        if self.oob_score:
            bags = [in_bag] if in_bag.size else []
            if plan.first:
                old = replace(plan, first=0, last=plan.first)
                bags.insert(0, draw_bags(old, table.n_rows, train.weight, train.row_weight))
            total, n_trees = forest.sum_values(table.bins, team, np.concatenate(bags))
            fitted |= self._score_out_of_bag(fitted, train, total, n_trees)
        return fitted

    def _score_out_of_bag(
        self, fitted: dict[str, Any], train: TrainingSet, total: np.ndarray, n_trees: np.ndarray
    ) -> dict[str, Any]:
        """Return the attributes of out-of-bag rows, from sums of trees that have not seen them."""
        with np.errstate(invalid="ignore"):
            values = total / n_trees[:, np.newaxis]
        model = copy(self)
        model.__dict__.update(fitted)
        score = score_out_of_bag(model, values, train.y, train.weight, n_trees > 0)
        is_optimistic = self._judges_trees()
        if is_optimistic:
            warnings.warn(
                f"{type(self).__name__}: oob_score_ is of the rows that also changed the trees "
                "(prune, leaf_posterior): it is optimistic",
                DataWarning,
                stacklevel=4,
            )
        return {
            **self._shape_oob_values(values),
            "oob_score_": score,
            "oob_score_is_optimistic_": is_optimistic,
        }

    def _judges_trees(self) -> bool:
        """Whether rows out of the bag change trees."""
        return self.prune is not None or self.leaf_posterior is not None

    def _judge_tree(
        self, train: TrainingSet, table: RowTable, tree: ForestTree, weight: np.ndarray
    ) -> ForestTree:
        if not self._judges_trees():
            return tree
        target, own_weight = train.target, train.weight
        if train.row_weight is not None:
            own_weight = train.row_weight * (1.0 if own_weight is None else own_weight)
        unseen = weigh_out_of_bag(weight, own_weight)
        if self.prune is not None and unseen.any():
            tree = prune_by_rows(tree, table, target.target, unseen, target.is_class)
        if self.leaf_posterior is not None:
            tree = estimate_by_rows(tree, table, target.target, unseen, target.is_class)
        return tree

    def oob_importances(
        self, X: Any, y: Any, sample_weight: Any = None, kind: str = "permutation"
    ) -> ForestImportance:
        """Measure what features are worth on the rows out of each tree's bag.

        Parameters
        ----------
        X, y, sample_weight
            What ``fit`` was given, in the same order: which rows each tree has seen is drawn again.
        kind : {"permutation", "unbiased"}, default="permutation"
            By how much a tree errs more when a feature is shuffled among these rows; or what the
            splits on a feature gain on them. Both are about 0 for features that say nothing.

        Returns
        -------
        ForestImportance
            ``mean`` and ``std`` over the trees, one number a feature.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from sumwise import RandomForestRegressor
        >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
        >>> forest = RandomForestRegressor(max_features=0.3, random_state=0).fit(X, y)
        >>> X.columns[forest.oob_importances(X, y).mean.argmax()]
        's5'
        """
        check_is_fitted(self)
        return measure_importances(self, X, y, sample_weight, kind)

    def _count_steps(self, matrix: Matrix) -> int:
        n_drawn = count_features(self, "max_features", matrix.shape[1]) or matrix.shape[1]
        in_trees = self.n_estimators * matrix.shape[0] * n_drawn * _LEVELS
        return super()._count_steps(matrix) + in_trees

    @property
    def estimators_(self) -> list[Any]:
        """The trees as estimators of their own."""
        return [self[number] for number in range(len(self))]

    @property
    def estimator_(self) -> Any:
        """A tree that is not fitted, with the parameters of the trees."""
        check_is_fitted(self)
        names = set(self._tree_class._get_param_names()) & set(self._get_param_names())
        params = {name: getattr(self, name) for name in sorted(names)}
        if params.get("class_weight") == "balanced_subsample":
            params["class_weight"] = "balanced"
        params["splitter"] = "random" if self._is_extra else "best"
        return self._tree_class(**params)

    def _make_member(self, number: int) -> Any:
        """Return a tree as an estimator that shares the arrays of the forest."""
        tree = self.estimator_
        copy_features(self, tree)
        tree.forest_ = self.forest_.select(number, number + 1)
        return tree

    @property
    def estimators_samples_(self) -> list[np.ndarray]:
        """Rows that each tree saw, ascending; those drawn twice twice. Drawn anew when asked."""
        if "_draws" not in self.__dict__:
            raise AttributeError(
                f"{type(self).__name__} has no estimators_samples_: it is not fitted, or was read "
                "from a model file, which does not hold what rows are drawn by"
            )
        return [self._draws.list_rows(number) for number in range(self.forest_.n_trees)]

    def __len__(self) -> int:
        check_is_fitted(self)
        return self.forest_.n_trees

    def __getitem__(self, number: Any) -> Any:
        numbers = range(len(self))[number]
        if isinstance(numbers, range):
            return [self._make_member(own) for own in numbers]
        return self._make_member(numbers)

    def __iter__(self) -> Any:
        return (self[number] for number in range(len(self)))

    def apply(self, X: Any) -> np.ndarray:
        """Return the leaf each row reaches in each tree.

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of int64, shape (n_rows, n_trees)
            Node numbers within each tree.
        """
        return self._find_leaves(X)

    def decision_path(self, X: Any) -> tuple[Any, np.ndarray]:
        """Return which nodes each row passes.

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        CSR matrix of shape (n_rows, n_nodes)
            1 where a row passes a node; the nodes of all trees, one after the other.
        ndarray of int64, shape (n_trees + 1,)
            Where the nodes of each tree begin.
        """
        return self._trace_paths(X), self.forest_.start.copy()


class _Draws(NamedTuple):
    """What the rows of trees were drawn by."""

    resampler: Any
    seed: int
    n_rows: int
    weight: np.ndarray | None

    def list_rows(self, number: int) -> np.ndarray:
        """Return the rows of a tree; all where a draw has none with weight."""
        everything = np.arange(self.n_rows)
        if self.resampler is None:
            return everything
        drawn = self.resampler.draw_member(self.seed, number, self.n_rows, self.weight)
        return list_drawn_rows(drawn) if drawn.any() else everything


def tell_trees(plan: ForestPlan, shown: list[Callback]) -> ForestPlan:
    """Return a plan that shows each tree when it is finished."""
    if not shown:
        return plan
    finish, lock, began = plan.finish, threading.Lock(), time.perf_counter()
    n_done = plan.first

    def finish_and_tell(tree: ForestTree, weight: np.ndarray) -> ForestTree:
        nonlocal n_done
        tree = tree if finish is None else finish(tree, weight)
        with lock:
            n_done += 1
            seconds = time.perf_counter() - began
            for show in shown:
                show(RoundState(n_done, plan.last, {}, seconds, lambda: None))
        return tree

    return replace(plan, finish=finish_and_tell)


class BaseForestClassifier(TreeClassifierMixin, BaseForest):
    """What forests of classification trees share."""

    _saved_attributes = (*TreeClassifierMixin._saved_attributes, *_OWN_SAVED)
    _tree_class = DecisionTreeClassifier

    oob_decision_function_: np.ndarray

    @extend_parameters(BaseForest)
    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "gini",
        max_features: Any = "sqrt",
        class_weight: Any = None,
        **shared: Any,
    ) -> None:
        super().__init__(n_estimators, **shared)
        self.criterion = criterion
        self.max_features = max_features
        self.class_weight = class_weight

    def _check_parameters(self) -> None:
        if self.class_weight != "balanced_subsample":
            self._check_class_weight()
        super()._check_parameters()

    def _weigh_classes(
        self, encoded: np.ndarray, weight: np.ndarray | None
    ) -> tuple[np.ndarray | None, Reweigher | None]:
        if self.class_weight != "balanced_subsample":
            return super()._weigh_classes(encoded, weight)
        return None, partial(_balance_outputs, list(self._list_outputs(encoded)))

    def _shape_oob_values(self, values: np.ndarray) -> dict[str, np.ndarray]:
        shares = self._find_shares(values)
        if isinstance(shares, list):
            widest = max(own.shape[1] for own in shares)
            padded = [np.pad(own, ((0, 0), (0, widest - own.shape[1]))) for own in shares]
            shares = np.stack(padded, axis=2)
        return {"oob_decision_function_": shares}


class BaseForestRegressor(TreeRegressorMixin, BaseForest):
    """What forests of regression trees share."""

    _saved_attributes = (*TreeRegressorMixin._saved_attributes, *_OWN_SAVED)
    _tree_class = DecisionTreeRegressor

    oob_prediction_: np.ndarray

    @extend_parameters(BaseForest)
    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "squared_error",
        max_features: Any = 1.0,
        **shared: Any,
    ) -> None:
        super().__init__(n_estimators, **shared)
        self.criterion = criterion
        self.max_features = max_features

    def _shape_oob_values(self, values: np.ndarray) -> dict[str, np.ndarray]:
        return {"oob_prediction_": self._flatten(values)}


def _balance_outputs(
    outputs: list[tuple[np.ndarray, Any, np.ndarray]], weight: np.ndarray
) -> np.ndarray:
    """Return weights of rows, multiplied so that the classes of each output weigh the same."""
    balanced = weight
    for classes, _, indices in outputs:
        balanced = balanced * weigh_classes(classes, "balanced", indices, weight)[indices]
    return balanced


def _make_pieces(bootstrap: bool, max_features: str | float) -> dict[str, str]:
    """Pieces of docstrings, with the defaults of a class."""
    parameters = _PARAMETERS.replace("{bootstrap}", str(bootstrap))
    parameters = parameters.replace("{max_features}", repr(max_features).replace("'", '"'))
    return {
        "parameters": parameters,
        "forest_attributes": _ATTRIBUTES,
        "class_weight": _CLASS_WEIGHT,
        "oob_decision_function": _OOB_CLASSES,
    }


@document_trees(**_make_pieces(bootstrap=True, max_features="sqrt"))
class RandomForestClassifier(BaseForestClassifier):
    """A random forest for classification.

    Parameters
    ----------
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        What splits lower: Gini impurity or entropy, which is also called "log_loss".
    {parameters}
    {class_weight}

    Attributes
    ----------
    {class_attributes}
    {forest_attributes}
    {oob_decision_function}

    Notes
    -----
    A fresh set of features is drawn **in every node** (Breiman 2001). ``max_features=None`` makes
    it bagging of plain trees; ``max_features_per_tree`` draws a set for each tree.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sumwise import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(oob_score=True, random_state=0).fit(X, y)
    >>> forest.oob_score_ > 0.9
    True
    >>> forest.predict_proba(X[:1]).round(1)
    array([[1., 0., 0.]])
    """

    @extend_parameters(BaseForestClassifier)
    def __init__(self, n_estimators: int = 100, *, bootstrap: bool = True, **shared: Any) -> None:
        super().__init__(n_estimators, **shared)
        self.bootstrap = bootstrap


@document_trees(**_make_pieces(bootstrap=True, max_features=1.0))
class RandomForestRegressor(BaseForestRegressor):
    """A random forest for regression.

    Parameters
    ----------
    criterion : {"squared_error", "poisson"}, default="squared_error"
        What splits lower: the squared error or the Poisson deviance, for counts.
    {parameters}

    Attributes
    ----------
    {forest_attributes}
    oob_prediction_ : ndarray of shape (n_rows,) or (n_rows, n_outputs)
        Out-of-bag predictions; NaN for rows that every tree has seen.

    Notes
    -----
    A fresh set of features is drawn **in every node** (Breiman 2001). ``max_features=None`` makes
    it bagging of plain trees; ``max_features_per_tree`` draws a set for each tree.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sumwise import RandomForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = RandomForestRegressor(max_features=0.3, oob_score=True, random_state=0).fit(X, y)
    >>> forest.oob_score_ > 0.4
    True
    """

    @extend_parameters(BaseForestRegressor)
    def __init__(self, n_estimators: int = 100, *, bootstrap: bool = True, **shared: Any) -> None:
        super().__init__(n_estimators, **shared)
        self.bootstrap = bootstrap


@document_trees(**_make_pieces(bootstrap=False, max_features="sqrt"))
class ExtraTreesClassifier(BaseForestClassifier):
    """Extremely randomized trees for classification.

    Parameters
    ----------
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        What splits lower: Gini impurity or entropy, which is also called "log_loss".
    {parameters}
    {class_weight}

    Attributes
    ----------
    {class_attributes}
    {forest_attributes}
    {oob_decision_function}

    Notes
    -----
    For each of the features that a node draws, one cut is drawn at random among the bins of its
    rows, and the best of these is taken (Geurts, Ernst and Wehenkel 2006). All rows train every
    tree, unless they are resampled.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sumwise import ExtraTreesClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = ExtraTreesClassifier(random_state=0).fit(X[::2], y[::2])
    >>> forest.score(X[1::2], y[1::2]) > 0.9
    True
    """

    _is_extra = True

    @extend_parameters(BaseForestClassifier)
    def __init__(self, n_estimators: int = 100, *, bootstrap: bool = False, **shared: Any) -> None:
        super().__init__(n_estimators, **shared)
        self.bootstrap = bootstrap


@document_trees(**_make_pieces(bootstrap=False, max_features=1.0))
class ExtraTreesRegressor(BaseForestRegressor):
    """Extremely randomized trees for regression.

    Parameters
    ----------
    criterion : {"squared_error", "poisson"}, default="squared_error"
        What splits lower: the squared error or the Poisson deviance, for counts.
    {parameters}

    Attributes
    ----------
    {forest_attributes}
    oob_prediction_ : ndarray of shape (n_rows,) or (n_rows, n_outputs)
        Out-of-bag predictions; NaN for rows that every tree has seen.

    Notes
    -----
    For each of the features that a node draws, one cut is drawn at random among the bins of its
    rows, and the best of these is taken (Geurts, Ernst and Wehenkel 2006). All rows train every
    tree, unless they are resampled.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sumwise import ExtraTreesRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = ExtraTreesRegressor(random_state=0).fit(X[::2], y[::2])
    >>> forest.score(X[1::2], y[1::2]) > 0.3
    True
    """

    _is_extra = True

    @extend_parameters(BaseForestRegressor)
    def __init__(self, n_estimators: int = 100, *, bootstrap: bool = False, **shared: Any) -> None:
        super().__init__(n_estimators, **shared)
        self.bootstrap = bootstrap
