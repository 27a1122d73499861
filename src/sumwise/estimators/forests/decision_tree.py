"""Decision trees: forests of one tree that sees all rows."""

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from sumwise.docstrings import document_rows, fill_docstring
from sumwise.estimators.forests.base import BaseTrees
from sumwise.estimators.forests.outputs import (
    BaseTreeClassifier,
    BaseTreeRegressor,
    vote_with_labels,
)
from sumwise.estimators.forests.parameters import describe_tree
from sumwise.estimators.forests.training_set import TrainingSet
from sumwise.estimators.input.jobs import start_team
from sumwise.estimators.input.parameters import check_choice, extend_parameters
from sumwise.kernels.runtime.threads import Team
from sumwise.tree.forest import ForestTree
from sumwise.tree.forest_grower import Table
from sumwise.tree.prune import cost_complexity_path, measure_impurity
from sumwise.tree.tree_nodes import TreeNodes


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

    def _grow(self, train: TrainingSet, table: Table, team: Team) -> None:
        self.forest_ = train.grow(train.make_plan(table), table, team).forest.drop_unused_bins()

    @document_rows
    def apply(self, X: Any) -> np.ndarray:
        """Return the leaf each row reaches.

        {rows}
        ndarray of int64, shape (n_rows,)
        """
        return self._find_leaves(X)[:, 0]

    @document_rows
    def decision_path(self, X: Any) -> Any:
        """Return the nodes that each row passes.

        {rows}
        CSR matrix of shape (n_rows, n_nodes)
            1 if a row passes a node.
        """
        return self._trace_paths(X)

    @property
    def tree_(self) -> TreeNodes:
        """The nodes, named as in scikit-learn's ``tree_``."""
        check_is_fitted(self)
        return TreeNodes(self.forest_)

    def cost_complexity_pruning_path(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Return the values of ``ccp_alpha`` at which the tree of these rows loses branches.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`fit`.

        Returns
        -------
        Bunch
            ``ccp_alphas``, ascending from 0, and ``impurities``, the total impurity of the
            remaining leaves. Each value of ``ccp_alphas`` gives a different tree.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sumwise import DecisionTreeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> path = DecisionTreeClassifier().cost_complexity_pruning_path(X, y)
        >>> path.ccp_alphas[-1].round(3), path.impurities[-1].round(3)
        (np.float64(0.333), np.float64(0.667))
        """
        train = TrainingSet.read(clone(self), X, y, sample_weight)
        grown: list[tuple[ForestTree, np.ndarray]] = []

        def keep(tree: ForestTree, weight: np.ndarray, table: Table) -> ForestTree:
            grown.append((tree, weight.copy()))
            return tree

        with start_team(self.n_jobs, train.n_steps) as team:
            table = train.bin_rows(team)
            train.grow(replace(train.make_plan(table), finish=keep), table, team)
        ((tree, weight),) = grown
        impurity = measure_impurity(self.criterion, train.target.target, weight)
        path = cost_complexity_path(tree, impurity, train.target.unit)
        ccp_alphas, impurities = map(train.target.scale_up, path)
        return Bunch(ccp_alphas=ccp_alphas, impurities=impurities)

    def get_depth(self) -> int:
        """Return the maximum number of splits from the root to a leaf."""
        return self.tree_.max_depth

    def get_n_leaves(self) -> int:
        """Return the number of leaves."""
        return self.tree_.n_leaves


@fill_docstring(sections=describe_tree(is_class=True))
class DecisionTreeClassifier(BaseTreeClassifier, BaseDecisionTree):
    """A decision tree for classification.

    {sections}

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

    def _vote_with_labels(self) -> "DecisionTreeClassifier":
        return vote_with_labels(self)

    def _check_parameters(self) -> None:
        self._check_class_weight()
        super()._check_parameters()


@fill_docstring(sections=describe_tree(is_class=False))
class DecisionTreeRegressor(BaseTreeRegressor, BaseDecisionTree):
    """A decision tree for regression.

    {sections}

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
