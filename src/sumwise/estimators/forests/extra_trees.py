"""Extremely randomized trees: forests whose trees draw their cuts at random."""

from typing import Any

from sumwise.docstrings import fill_docstring
from sumwise.estimators.forests.base_forest import BaseForestClassifier, BaseForestRegressor
from sumwise.estimators.forests.parameters import describe_forest
from sumwise.estimators.input.parameters import extend_parameters

_NOTES = """
Notes
-----
For each feature drawn in a node, one cut is drawn at random among the bins of the node's rows,
and the best of these cuts is taken (Geurts, Ernst and Wehenkel 2006). Every tree is trained on
all rows, unless they are resampled."""


@fill_docstring(sections=describe_forest(is_class=True, bootstrap=False), notes=_NOTES)
class ExtraTreesClassifier(BaseForestClassifier):
    """Extremely randomized trees for classification.

    {sections}

    {notes}

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
        super().__init__(n_estimators, bootstrap=bootstrap, **shared)


@fill_docstring(sections=describe_forest(is_class=False, bootstrap=False), notes=_NOTES)
class ExtraTreesRegressor(BaseForestRegressor):
    """Extremely randomized trees for regression.

    {sections}

    {notes}

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
        super().__init__(n_estimators, bootstrap=bootstrap, **shared)
