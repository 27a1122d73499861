"""Decision trees: forests of one tree that sees all rows."""

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from sumwise.estimators.forests.base import (
    BaseTrees,
    TrainingSet,
    TreeClassifierMixin,
    TreeRegressorMixin,
    document_trees,
)
from sumwise.estimators.input.jobs import start_team
from sumwise.estimators.input.parameters import check_choice, extend_parameters
from sumwise.kernels.runtime.threads import Team
from sumwise.training.forest import ForestPlan, grow_forest
from sumwise.tree.forest import Forest, ForestTree
from sumwise.tree.forest_grower import RowTable
from sumwise.tree.forest_view import TreeNodes, drop_unused_bins
from sumwise.tree.prune import cost_complexity_path, measure_impurity

_PARAMETERS = """splitter : {"best", "random"}, default="best"
        Whether the best split of a feature is taken, or one is drawn.
    max_features : {"sqrt", "log2"}, int, float or None, default=None
        Features drawn in every node; a float is a share, None means all."""


class BaseDecisionTree(BaseTrees):
    """What both decision trees share."""

    @extend_parameters(BaseTrees)
    def __init__(self, *, splitter: str = "best", max_features: Any = None, **shared: Any) -> None:
        super().__init__(**shared)
        self.splitter = splitter
        self.max_features = max_features

    def _check_parameters(self) -> None:
        check_choice(self, "splitter", ("best", "random"))
        super()._check_parameters()

    def _cuts_at_random(self) -> bool:
        return self.splitter == "random"

    def _grow(self, train: TrainingSet, table: RowTable, team: Team) -> dict[str, Any]:
        plan = self._make_plan(train, table, None, last=1)
        return {"forest_": drop_unused_bins(_grow_tree(plan, train, table, team))}

    def apply(self, X: Any) -> np.ndarray:
        """Return the leaf each row reaches.

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of int64, shape (n_rows,)
        """
        return self._find_leaves(X)[:, 0]

    def decision_path(self, X: Any) -> Any:
        """Return which nodes each row passes.

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        CSR matrix of shape (n_rows, n_nodes)
            1 where a row passes a node.
        """
        return self._trace_paths(X)

    @property
    def tree_(self) -> TreeNodes:
        """The nodes, named as in scikit-learn's ``tree_``."""
        check_is_fitted(self)
        return TreeNodes(self.forest_)

    def cost_complexity_pruning_path(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Return the prices of a leaf at which branches fall off the tree of these rows.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`fit`.

        Returns
        -------
        Bunch
            With ``ccp_alphas``, ascending from 0, and the ``impurities`` of the leaves that are
            left. Each is a value of ``ccp_alpha`` that gives another tree.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sumwise import DecisionTreeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> path = DecisionTreeClassifier().cost_complexity_pruning_path(X, y)
        >>> path.ccp_alphas[-1].round(3), path.impurities[-1].round(3)
        (np.float64(0.333), np.float64(0.667))
        """
        model = clone(self)
        train = model._read_training(X, y, sample_weight)
        grown: list[tuple[ForestTree, np.ndarray]] = []

        def keep(tree: ForestTree, weight: np.ndarray) -> ForestTree:
            grown.append((tree, weight.copy()))
            return tree

        with start_team(self.n_jobs, model._count_steps(train.matrix)) as team:
            table = model._bin_rows(train, team)
            plan = replace(model._make_plan(train, table, None, last=1), finish=keep)
            _grow_tree(plan, train, table, team)
        ((tree, weight),) = grown
        impurity = measure_impurity(self.criterion, train.target.target, weight)
        path = cost_complexity_path(tree, impurity, train.target.unit)
        ccp_alphas, impurities = map(train.target.scale_up, path)
        return Bunch(ccp_alphas=ccp_alphas, impurities=impurities)

    def get_depth(self) -> int:
        """Return the most splits from the root to a leaf."""
        return self.tree_.max_depth

    def get_n_leaves(self) -> int:
        """Return the number of leaves."""
        return self.tree_.n_leaves


def _grow_tree(plan: ForestPlan, train: TrainingSet, table: RowTable, team: Team) -> Forest:
    grown = grow_forest(
        table,
        train.target.target,
        train.target.n_columns,
        plan,
        train.weight,
        train.row_weight,
        team,
    )
    return grown.forest


@document_trees(parameters=_PARAMETERS)
class DecisionTreeClassifier(TreeClassifierMixin, BaseDecisionTree):
    """A decision tree for classification.

    Parameters
    ----------
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        What splits lower: Gini impurity or entropy, which is also called "log_loss".
    {parameters}
    {tree_parameters}
    class_weight : "balanced", dict, list of dict or None, default=None
        Factors on the sample weights: a dict from classes to weights (1 for those it lacks), or
        "balanced" for weights that make all classes weigh the same. With several outputs a list of
        one dict per output; the factors of all outputs are multiplied.

    Attributes
    ----------
    {class_attributes}
    {attributes}
    tree_ : TreeNodes
        The nodes, named as in scikit-learn.

    See Also
    --------
    RandomForestClassifier

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sumwise import DecisionTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = DecisionTreeClassifier(max_depth=2).fit(X, y)
    >>> tree.predict(X[:3])
    array([0, 0, 0])
    >>> tree.get_n_leaves()
    3
    """

    @extend_parameters(BaseDecisionTree)
    def __init__(self, *, criterion: str = "gini", class_weight: Any = None, **shared: Any) -> None:
        super().__init__(**shared)
        self.criterion = criterion
        self.class_weight = class_weight

    def _check_parameters(self) -> None:
        self._check_class_weight()
        super()._check_parameters()


@document_trees(parameters=_PARAMETERS)
class DecisionTreeRegressor(TreeRegressorMixin, BaseDecisionTree):
    """A decision tree for regression.

    Parameters
    ----------
    criterion : {"squared_error", "poisson"}, default="squared_error"
        What splits lower: the squared error or the Poisson deviance, for counts.
    {parameters}
    {tree_parameters}

    Attributes
    ----------
    {attributes}
    tree_ : TreeNodes
        The nodes, named as in scikit-learn.

    See Also
    --------
    RandomForestRegressor

    Examples
    --------
    >>> from sumwise import DecisionTreeRegressor
    >>> tree = DecisionTreeRegressor().fit([[14], [16], [24], [26]], [1.0, 1.0, 3.0, 3.0])
    >>> tree.predict([[15], [25]])
    array([1., 3.])
    """

    @extend_parameters(BaseDecisionTree)
    def __init__(self, *, criterion: str = "squared_error", **shared: Any) -> None:
        super().__init__(**shared)
        self.criterion = criterion
