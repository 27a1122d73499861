"""Random forests: trees on bootstrap samples that draw features in every node."""

from sumwise.docstrings import fill_docstring
from sumwise.estimators.forests.base_forest import BaseForestClassifier, BaseForestRegressor
from sumwise.estimators.forests.parameters import describe_forest

_NOTES = """
Notes
-----
A fresh set of features is drawn **in every node** (Breiman 2001). ``max_features=None`` gives
bagging of plain trees; ``max_features_per_tree`` draws one set per tree."""


@fill_docstring(sections=describe_forest(is_class=True, bootstrap=True), notes=_NOTES)
class RandomForestClassifier(BaseForestClassifier):
    """A random forest for classification.

    {sections}

    {notes}

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


@fill_docstring(sections=describe_forest(is_class=False, bootstrap=True), notes=_NOTES)
class RandomForestRegressor(BaseForestRegressor):
    """A random forest for regression.

    {sections}

    {notes}

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sumwise import RandomForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = RandomForestRegressor(max_features=0.3, oob_score=True, random_state=0).fit(X, y)
    >>> forest.oob_score_ > 0.4
    True
    """
