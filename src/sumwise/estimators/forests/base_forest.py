"""What random forests and extremely randomized trees share."""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted

from sumwise.docstrings import document_rows
from sumwise.errors import DataError, DataWarning, ParameterError
from sumwise.estimators.forests.base import BaseTrees, copy_features
from sumwise.estimators.forests.calibrating import (
    BaseCalibratedClassifier,
    BaseCalibratedTrees,
    BaseConformalRegressor,
)
from sumwise.estimators.forests.decision_tree import (
    BaseDecisionTree,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
)
from sumwise.estimators.forests.encoding import spread_features
from sumwise.estimators.forests.outputs import BaseTreeClassifier, BaseTreeRegressor
from sumwise.estimators.forests.parameters import count_features, find_rate
from sumwise.estimators.forests.targets import scale_weight
from sumwise.estimators.forests.training_set import TrainingSet
from sumwise.estimators.input.class_weights import weigh_classes
from sumwise.estimators.input.jobs import start_team
from sumwise.estimators.input.parameters import (
    check_choice,
    check_integer,
    check_nested,
    extend_parameters,
    resolve_part,
)
from sumwise.estimators.input.targets import check_sample_weight, read_target
from sumwise.estimators.out_of_bag import score_out_of_bag
from sumwise.estimators.scoring import KnownClassifier, KnownRegressor, resolve_oob_score
from sumwise.estimators.warn import warn_user
from sumwise.inspection.forest_importance import (
    ForestImportance,
    OutOfBag,
    permutation_importance,
    unbiased_importance,
)
from sumwise.kernels.forest.many_outputs import Vectors
from sumwise.kernels.forest.one_output import Numbers
from sumwise.kernels.runtime.threads import Team
from sumwise.sampling import BayesianBootstrap, Bootstrap, Pasting, PoissonBootstrap, Resampler
from sumwise.sampling.resample import list_drawn_rows
from sumwise.training.forest import (
    ForestPlan,
    GrownForest,
    Reweigher,
    draw_bags,
    draw_subspaces,
)
from sumwise.tree.forest import ForestTree
from sumwise.tree.forest_grower import ForestSettings, Table, Target
from sumwise.tree.prune import estimate_by_rows, prune_by_rows, weigh_out_of_bag

_RESAMPLERS = (Bootstrap, Pasting, PoissonBootstrap, BayesianBootstrap)
_OWN_SAVED = ("oob_score_", "oob_score_is_optimistic_", "_seed")
# Levels of a tree in which all rows are visited; an estimate.
_LEVELS = 16


class BaseForest(BaseCalibratedTrees):
    """What forests share."""

    _fitted_privately = (*BaseTrees._fitted_privately, "_draws")
    _tree_class: ClassVar[type[BaseDecisionTree]]
    _is_extra: ClassVar[bool] = False

    _draws: "_Draws"

    @extend_parameters(BaseTrees)
    def __init__(
        self,
        n_estimators: int = 100,
        *,
        bootstrap: bool = True,
        oob_score: Any = False,
        max_samples: Any = None,
        resampling: Any = None,
        max_features_per_tree: Any = None,
        prune: str | None = None,
        leaf_posterior: str | None = None,
        conformal: bool = False,
        calibration_rows: Any = "auto",
        warm_start: bool = False,
        verbose: int = 0,
        **shared: Any,
    ) -> None:
        super().__init__(**shared)
        self.n_estimators = n_estimators
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.max_samples = max_samples
        self.resampling = resampling
        self.max_features_per_tree = max_features_per_tree
        self.prune = prune
        self.leaf_posterior = leaf_posterior
        self.conformal = conformal
        self.calibration_rows = calibration_rows
        self.warm_start = warm_start
        self.verbose = verbose

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name; those of a part as ``resampling__rate=...``."""
        check_nested(self, params, {"resampling": "Bootstrap"})
        return super().set_params(**params)

    def _check_parameters(self) -> None:
        check_integer(self, "n_estimators", 1)
        count_features(self, "max_features_per_tree")
        resolve_oob_score(self.oob_score, self)
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
        self._check_calibration()
        if self.leaf_posterior is not None and self.monotonic_cst is not None:
            raise ParameterError(
                f"{type(self).__name__}: leaf_posterior={self.leaf_posterior!r} and monotonic_cst "
                "do not go together: posteriors from other rows may violate the constraints"
            )
        super()._check_parameters()

    def _resolve_resampler(self, n_rows: int, total_weight: float) -> Resampler | None:
        """Return the part that draws rows; None for all rows."""
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

    def _find_start(self) -> BaseTrees | None:
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
            warn_user(
                "Warm-start fitting without increasing n_estimators does not fit new trees.",
            )
        return copy(self)

    @abstractmethod
    def _know(self, values: np.ndarray) -> KnownClassifier | KnownRegressor:
        """Return a model that knows the predictions of some rows, from the values of trees."""

    @abstractmethod
    def _store_out_of_bag(self, values: np.ndarray) -> None:
        """Set the out-of-bag predictions, from the values of trees."""

    def _check_scored(self, y: np.ndarray) -> None:
        """Refuse targets that have no out-of-bag score."""

    def _has_unseen_rows(self) -> bool:
        resampler = self._resolve_resampler(1, 1.0)
        return resampler is not None and resampler.leaves_rows_out and not self._judges_trees()

    def _grow(self, train: TrainingSet, table: Table, team: Team) -> None:
        plan = self._make_plan(train, table)
        grown = train.grow(plan, table, team, bool(self.verbose))
        self._take_trees(train, table, plan, grown, team)

    def _make_plan(self, train: TrainingSet, table: Table) -> ForestPlan:
        """Return the plan of all trees that are to be grown."""
        n_own = count_features(self, "max_features_per_tree", self.n_features_in_)
        n_columns = None  # of a tree
        if n_own is not None:
            n_columns = max(1, n_own * table.n_features // self.n_features_in_)
        return replace(
            train.make_plan(table, n_columns, int(self.n_estimators)),
            resampler=self._resolve_resampler(table.n_rows, train.total_weight),
            tree_features=self._draw_subspaces(train.seed, n_own),
            keep_bags=bool(self.oob_score) or self._learns_out_of_bag(),
        )

    def _draw_subspaces(self, seed: int, n_drawn: int | None) -> Callable[[int], np.ndarray] | None:
        """Return a function from a tree's number to its columns; None for all columns."""
        if n_drawn is None:
            return None
        draw, encoder = draw_subspaces(seed, n_drawn, self.n_features_in_), self._encoder
        return lambda number: spread_features(draw(number), encoder)

    def _take_trees(
        self, train: TrainingSet, table: Table, plan: ForestPlan, grown: GrownForest, team: Team
    ) -> None:
        """Set the fitted attributes, given all trees; learn from their out-of-bag rows."""
        self.forest_ = grown.forest
        self._draws = _Draws(plan.resampler, train.seed, table.n_rows, train.weight)
        if self.oob_score:
            self._check_scored(train.y)
        if not plan.keep_bags:
            return
        own, values, n_trees = self._sum_out_of_bag(table, team, grown.in_bag, train.seed)
        if self.oob_score:
            self._score_out_of_bag(train, values, n_trees)
        if self._learns_out_of_bag():  # last: the score is that of the trees alone
            self._learn_out_of_bag(own, train, n_trees)

    def _score_out_of_bag(
        self, train: TrainingSet, values: np.ndarray, n_trees: np.ndarray
    ) -> None:
        """Set the out-of-bag predictions and their score; ``n_trees`` have not seen a row."""
        self._store_out_of_bag(values)
        self.oob_score_ = score_out_of_bag(
            self, n_trees > 0, train.y, train.weight, lambda rows: self._know(values[rows])
        )
        self.oob_score_is_optimistic_ = self._judges_trees()
        if self.oob_score_is_optimistic_:
            warn_user(
                f"{type(self).__name__}: oob_score_ uses the same rows as prune and "
                "leaf_posterior: it is optimistic",
                DataWarning,
            )

    def _judges_trees(self) -> bool:
        """Whether out-of-bag rows change the trees."""
        return self.prune is not None or self.leaf_posterior is not None

    def _judge_tree(
        self, train: TrainingSet, table: Table, tree: ForestTree, weight: np.ndarray
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
        """Measure the importance of features on the out-of-bag rows of each tree.

        Parameters
        ----------
        X, y, sample_weight
            The arguments of ``fit``, in the same order: the rows of each tree are drawn again.
        kind : {"permutation", "unbiased"}, default="permutation"
            "permutation": the increase in a tree's error when a feature is shuffled among these
            rows. "unbiased": the gain of the splits on a feature, measured on these rows. Both are
            about 0 for irrelevant features.

        Returns
        -------
        ForestImportance
            ``mean`` and ``std`` over the trees, one number per feature.

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
        if kind not in ("permutation", "unbiased"):
            raise ParameterError(f"kind={kind!r}: must be 'permutation' or 'unbiased'")
        if self._encoder is not None:
            raise ParameterError(
                f"{type(self).__name__}: oob_importances: each tree has statistics of its own in "
                "place of categories, which are not kept. Use "
                "sumwise.inspection.permutation_importance on rows that were not trained on, or "
                "categorical_encoding='native'"
            )
        matrix = self._check_input(X)
        n_rows, is_class = matrix.shape[0], is_classifier(self)
        weight, total_weight = scale_weight(check_sample_weight(sample_weight, n_rows), n_rows)
        encoded = self._encode_target(read_target(y, is_regressor(self), many=True), self)
        if encoded.shape[0] != n_rows:
            raise DataError(f"X has {n_rows} rows, and y {encoded.shape[0]}")
        in_bag = self._redraw_bags(encoded, weight, total_weight)
        target: Target
        if is_class:
            target = self._make_target(encoded, weight).target
        else:  # like the trees' values, neither shifted nor scaled
            numbers = encoded.astype(np.float64)
            target = Numbers(numbers) if numbers.ndim == 1 else Vectors(numbers)
        with start_team(self.n_jobs, self._count_steps(*matrix.shape)) as team:
            bins = self.forest_.mapper.map_to_rows(matrix, team)
            rows = OutOfBag(bins, target, is_class, in_bag, weight)
            if kind == "unbiased":
                return unbiased_importance(self.forest_, rows, team)
            return permutation_importance(self.forest_, rows, team, self._seed)

    def _redraw_bags(
        self, encoded: np.ndarray, weight: np.ndarray | None, total_weight: float
    ) -> np.ndarray:
        """Return the rows that each tree has seen, given all rows of ``fit`` again."""
        n_rows, forest = encoded.shape[0], self.forest_
        row_weight, reweigh = self._weigh_classes(encoded, weight)
        resampler = self._resolve_resampler(n_rows, total_weight)
        plan = ForestPlan(
            ForestSettings(), self._seed, 0, forest.n_trees, resampler, reweigh=reweigh
        )
        in_bag = draw_bags(plan, n_rows, weight, row_weight)
        n_seen = np.unpackbits(in_bag, axis=1).sum(axis=1)
        if not np.array_equal(n_seen, forest.n_rows[forest.start[:-1]]):
            raise DataError(
                "X, y and sample_weight are not those of fit: other rows would have been drawn "
                "from them. Out-of-bag importances need the same rows in the same order"
            )
        return in_bag

    def _count_steps(self, n_rows: int, n_features: int) -> int:
        n_drawn = count_features(self, "max_features", n_features) or n_features
        in_trees = self.n_estimators * n_rows * n_drawn * _LEVELS
        return super()._count_steps(n_rows, n_features) + in_trees

    @property
    def estimators_(self) -> list[Any]:
        """The trees as separate estimators."""
        return [self[number] for number in range(len(self))]

    @property
    def estimator_(self) -> Any:
        """An unfitted tree with the parameters of the forest's trees."""
        check_is_fitted(self)
        names = set(self._tree_class._get_param_names()) & set(self._get_param_names())
        params = {name: getattr(self, name) for name in sorted(names)}
        if params.get("class_weight") == "balanced_subsample":
            params["class_weight"] = "balanced"
        params["splitter"] = "random" if self._is_extra else "best"
        return self._tree_class(**params)

    def _make_member(self, number: int) -> Any:
        """Return one tree as an estimator that shares the arrays of the forest."""
        tree = self.estimator_
        copy_features(self, tree)
        tree.forest_ = self.forest_.select(number, number + 1)
        if self._encoder is not None:
            tree._encoder = self._encoder
        return tree

    @property
    def estimators_samples_(self) -> list[np.ndarray]:
        """Rows that each tree saw, ascending; a row drawn twice occurs twice. Drawn on access."""
        if "_draws" not in self.__dict__:
            raise AttributeError(
                f"{type(self).__name__} has no estimators_samples_: it is not fitted, or was read "
                "from a model file, which does not contain the seeds of its rows"
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

    def __iter__(self) -> Iterator[Any]:
        return (self[number] for number in range(len(self)))

    @document_rows
    def apply(self, X: Any) -> np.ndarray:
        """Return the leaf each row reaches in each tree.

        {rows}
        ndarray of int64, shape (n_rows, n_trees)
            Node numbers within each tree.
        """
        return self._find_leaves(X)

    @document_rows
    def decision_path(self, X: Any) -> tuple[Any, np.ndarray]:
        """Return the nodes that each row passes.

        {rows}
        CSR matrix of shape (n_rows, n_nodes)
            1 if a row passes a node. The columns are the nodes of all trees, tree by tree.
        ndarray of int64, shape (n_trees + 1,)
            First column of each tree.
        """
        return self._trace_paths(X), self.forest_.start.copy()


class _Draws(NamedTuple):
    """All that determines the rows of the trees."""

    resampler: Resampler | None
    seed: int
    n_rows: int
    weight: np.ndarray | None

    def list_rows(self, number: int) -> np.ndarray:
        """Return the rows of a tree; all rows if those drawn have no weight."""
        everything = np.arange(self.n_rows)
        if self.resampler is None:
            return everything
        drawn = self.resampler.draw_member(self.seed, number, self.n_rows, self.weight)
        return list_drawn_rows(drawn) if drawn.any() else everything


class BaseForestClassifier(BaseCalibratedClassifier, BaseForest):
    """What forests of classification trees share."""

    _saved_attributes = (*BaseTreeClassifier._saved_attributes, *_OWN_SAVED)
    _tree_class = DecisionTreeClassifier

    @extend_parameters(BaseForest)
    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "gini",
        max_features: Any = "sqrt",
        class_weight: Any = None,
        calibrate: str | None = None,
        **shared: Any,
    ) -> None:
        super().__init__(n_estimators, **shared)
        self.criterion = criterion
        self.max_features = max_features
        self.class_weight = class_weight
        self.calibrate = calibrate

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

    def _check_scored(self, y: np.ndarray) -> None:
        if y.ndim == 1 or not isinstance(self.oob_score, (bool, np.bool_)):
            return
        if y.dtype.kind not in "biuf" or type_of_target(y) != "multilabel-indicator":
            raise ParameterError(
                f"{type(self).__name__}: oob_score=True: The type of target cannot be used to "
                "compute OOB estimates: y is multiclass-multioutput, which has no accuracy; pass a "
                "metric of (y_true, y_pred)"
            )


class BaseForestRegressor(BaseConformalRegressor, BaseForest):
    """What forests of regression trees share."""

    _saved_attributes = (*BaseTreeRegressor._saved_attributes, *_OWN_SAVED)
    _tree_class = DecisionTreeRegressor

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


def _balance_outputs(
    outputs: list[tuple[np.ndarray, Any, np.ndarray]], weight: np.ndarray
) -> np.ndarray:
    """Return weights of rows, scaled so that the classes of each output have equal totals."""
    balanced = weight
    for classes, _, indices in outputs:
        balanced = balanced * weigh_classes(classes, "balanced", indices, weight)[indices]
    return balanced
