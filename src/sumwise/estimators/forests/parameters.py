"""Parameters of trees and forests: their documentation, and what numbers, shares and names mean.

The texts are pieces of docstrings, for :func:`sumwise.docstrings.fill_docstring`.
"""

import math
from numbers import Integral, Real
from typing import Any, NoReturn

import numpy as np
from sklearn.utils import check_random_state

from sumwise.errors import DataWarning, ParameterError
from sumwise.estimators.warn import warn_user

_CLASS_CRITERION = """criterion : {"gini", "entropy", "log_loss"}, default="gini"
    Impurity that splits reduce: Gini impurity, or entropy, which is also called "log_loss"."""

_NUMBER_CRITERION = """criterion : {"squared_error", "poisson"}, default="squared_error"
    Impurity that splits reduce: the squared error, or the Poisson deviance, for counts."""

_TREE_PARAMETERS = """max_depth : int or None, default=None
    Maximum number of splits from the root to a leaf; None for no limit.
min_samples_split : int or float, default=2
    Minimum number of rows in a node that is split; a float is a share of the rows.
min_samples_leaf : int or float, default=1
    Minimum number of rows in a leaf; a float is a share of the rows.
min_weight_fraction_leaf : float, default=0.0
    Minimum weight of a leaf, as a share of the weight of the tree's rows.
max_leaf_nodes : int or None, default=None
    Maximum number of leaves. With a limit, the node with the best split is split first.
min_impurity_decrease : float, default=0.0
    A split must reduce the impurity by at least this much, weighted by the share of its rows.
ccp_alpha : float, default=0.0
    Minimal cost-complexity pruning: subtrees that gain less than this per leaf are removed.
monotonic_cst : array-like of int, dict or None, default=None
    For each feature 1 for predictions that must not decrease as it increases, -1 for predictions
    that must not increase, or 0. A dict maps feature names to these. For classifiers the
    constraint is on the probability of the second of two classes.
max_bins : int, default=255
    Maximum number of bins of a feature, from 2 to 255. Splits are exact for features with no more
    distinct values.
categorical_features : "auto", list or None, default="auto"
    Features whose values are categories: "auto" for strings and categorical types, a list of
    names, indices or booleans, or None for none.
categorical_encoding : {"auto", "native", "statistics"}, default="auto"
    How trees use categories. "native": splits divide them into two sets. "statistics": features
    with more than two categories are replaced by the mean target of each category (for several
    classes, the shares of these), anew for each tree from the rows that it sees. "auto":
    "statistics" if a feature has more than 20 categories, else "native".
unknown_category : {"missing", "error"}, default="missing"
    Whether a category that ``fit`` has not seen is a missing value or an error at prediction.
extra_columns : {"error", "ignore"}, default="error"
    What to do with columns of a frame that ``fit`` has not seen.
n_jobs : int or None, default=None
    Number of threads; None or -1 for all CPUs. The model is bit-identical for any number.
random_state : int, RandomState or None, default=None
    Seed of all random draws."""

_DECISION_TREE_PARAMETERS = f"""splitter : {{"best", "random"}}, default="best"
    Whether a feature's best split is considered, or a random one.
max_features : {{"sqrt", "log2"}}, int, float or None, default=None
    Features drawn in every node; a float is a share, None means all.
{_TREE_PARAMETERS}"""

_JOBS = "The model is bit-identical for any number."
_FOREST_JOBS = f"""{_JOBS} Within
    ``joblib.parallel_config("dask")`` the trees grow on the workers of the cluster, except with
    ``n_jobs=1``."""

_FOREST_PARAMETERS = f"""n_estimators : int, default=100
    Number of trees.
bootstrap : bool, default={{bootstrap}}
    Whether each tree sees rows drawn with replacement, or all rows.
max_features : {{"sqrt", "log2"}}, int, float or None, default={{max_features}}
    Features drawn in every node; a float is a share, None means all.
{_TREE_PARAMETERS.replace(_JOBS, _FOREST_JOBS)}
oob_score : bool, str or callable, default=False
    Whether to score the forest on out-of-bag rows: each row is predicted by the trees that have
    not seen it. True for the score of :meth:`score`; otherwise a metric, a function of (y_true,
    y_pred), or a scorer or its name.
max_samples : int, float or None, default=None
    Rows drawn for a tree: a number, at most 2**32 - 1, or a share of the rows or, with sample
    weights, of their sum. None for as many as there are rows.
resampling : part or None, default=None
    How rows are drawn, in place of ``bootstrap`` and ``max_samples``: :class:`Bootstrap`,
    :class:`Pasting`, :class:`PoissonBootstrap` or :class:`BayesianBootstrap`.
max_features_per_tree : {{"sqrt", "log2"}}, int, float or None, default=None
    Features drawn once per tree (a random subspace); None for all.
prune : {{"oob"}} or None, default=None
    Prune each tree with its out-of-bag rows: a node becomes a leaf if that makes no more errors
    on them.
leaf_posterior : {{"oob"}} or None, default=None
    Estimate the values of leaves from out-of-bag rows, shrunk towards the values of their parents
    where there are few.
conformal : bool, default=False
    Whether to learn prediction intervals (of a classifier: sets) from ``calibration_rows``, for
    ``predict_interval`` and ``predict_set``. See ``docs/guide/intervals.md``.
calibration_rows : {{"auto", "oob", "cv"}} or int, default="auto"
    Rows unseen by the trees, which ``conformal`` and ``calibrate`` learn from. "oob": out-of-bag
    rows, each predicted by the trees that have not seen it. "cv": all rows, predicted in five-fold
    cross-validation (a number: with so many folds). "auto": "oob" if there are such rows and they
    have not changed the trees, otherwise "cv".
warm_start : bool, default=False
    Whether ``fit`` keeps the existing trees and adds more; ``n_estimators`` is the total. On the
    same data the result equals that of one fit.
verbose : int or bool, default=0
    Show the number of trees and the remaining time on standard error."""

_CLASS_WEIGHT = """class_weight : "balanced", dict, list of dict or None, default=None
    Factors on the sample weights: a dict from classes to weights (1 for missing classes), or
    "balanced" for weights that give all classes the same total. With several outputs, a list of
    one dict per output; the factors of all outputs are multiplied."""

_FOREST_CLASS_WEIGHT = """class_weight : "balanced", "balanced_subsample", dict, list of dict or \
None, default=None
    Factors on the weights of drawn rows: a dict from classes to weights (1 for missing classes),
    "balanced" for weights that give all classes the same total, or "balanced_subsample" for such
    weights in each tree. With several outputs, a list of one dict per output; the factors of all
    outputs are multiplied."""

_CALIBRATE = """calibrate : {"isotonic", "logistic"} or None, default=None
    How probabilities are calibrated, on ``calibration_rows``: by nondecreasing curves, or by
    logistic functions. The labels of ``predict`` follow. See ``docs/guide/calibration.md``."""

_CALIBRATION = """calibration_ : Calibration
    With ``calibrate``: the functions that were learned. Out-of-bag scores and probabilities are
    those before calibration."""

_CLASS_ATTRIBUTES = """classes_ : ndarray or list of ndarray
    Class labels, sorted; with several outputs, a list of one array per output.
n_classes_ : int or list of int
    Number of classes."""

_TREE_ATTRIBUTES = """feature_importances_ : ndarray of shape (n_features,)
    Share of each feature in the decrease of the criterion, averaged over the trees.
forest_ : BinnedForest
    The trees.
n_features_in_ : int
    Number of features seen in ``fit``.
feature_names_in_ : ndarray
    Their names, if X had any.
n_outputs_ : int
    Number of targets predicted per row.
max_features_ : int
    Number of features drawn in a node.
schema_ : FeatureSchema
    Types of the features, and the categories of categorical ones."""

_DECISION_TREE_ATTRIBUTES = f"""{_TREE_ATTRIBUTES}
tree_ : TreeNodes
    The nodes, named as in scikit-learn."""

_FOREST_ATTRIBUTES = f"""{_TREE_ATTRIBUTES}
estimator_ : tree
    An unfitted tree with the parameters of the forest's trees.
estimators_ : list of trees
    The trees as separate estimators, created on access.
estimators_samples_ : list of ndarray
    Rows that each tree saw; a row drawn twice occurs twice. Drawn again on access.
oob_score_ : float
    With ``oob_score``: the score on out-of-bag rows, except rows that every tree has seen.
oob_score_is_optimistic_ : bool
    Whether the same rows have also changed the trees (``prune``, ``leaf_posterior``).
conformal_ : ConformalIntervals or ConformalSets
    With ``conformal``: the scores of ``calibration_rows``."""

_OOB_DECISION_FUNCTION = """oob_decision_function_ : ndarray of shape (n_rows, n_classes) or \
(n_rows, n_classes, n_outputs)
    Out-of-bag probabilities; NaN for rows that every tree has seen. Outputs with fewer classes
    than others are padded with zeros."""

_OOB_PREDICTION = """oob_prediction_ : ndarray of shape (n_rows,) or (n_rows, n_outputs)
    Out-of-bag predictions; NaN for rows that every tree has seen."""


def describe_tree(is_class: bool) -> str:
    """Return the sections of a decision tree's docstring."""
    parameters = [_DECISION_TREE_PARAMETERS, *([_CLASS_WEIGHT] if is_class else [])]
    return _describe(is_class, parameters, [_DECISION_TREE_ATTRIBUTES])


def describe_forest(is_class: bool, bootstrap: bool) -> str:
    """Return the sections of a forest's docstring, with the defaults of its class."""
    own = _FOREST_PARAMETERS.replace("{bootstrap}", str(bootstrap))
    own = own.replace("{max_features}", '"sqrt"' if is_class else "1.0")
    if is_class:
        attributes = [_FOREST_ATTRIBUTES, _OOB_DECISION_FUNCTION, _CALIBRATION]
        return _describe(is_class, [own, _FOREST_CLASS_WEIGHT, _CALIBRATE], attributes)
    return _describe(is_class, [own], [_FOREST_ATTRIBUTES, _OOB_PREDICTION])


def _describe(is_class: bool, parameters: list[str], attributes: list[str]) -> str:
    parameters = [_CLASS_CRITERION if is_class else _NUMBER_CRITERION, *parameters]
    attributes = [*([_CLASS_ATTRIBUTES] if is_class else []), *attributes]
    lines = ["Parameters", "-" * 10, *parameters, "", "Attributes", "-" * 10, *attributes]
    return "\n".join(lines)


_RULES = ("sqrt", "log2")
# Rows are counted in 32 bits.
_MOST_DRAWN = (1 << 32) - 1
# A share that draws fewer rows than this per tree is probably a mistake.
_FEW_DRAWN = 10


def count_features(owner: object, name: str, n_features: int | None = None) -> int | None:
    """Return the number of features that a parameter like ``max_features`` means; None for all.

    Without ``n_features``, only the parameter itself is checked.
    """
    value = getattr(owner, name)
    rule = "must be 'sqrt', 'log2', a positive integer, a share in (0, 1] or None"
    if value is None:
        return None
    if isinstance(value, str):
        if value not in _RULES:
            _refuse(owner, name, rule)
        root = math.sqrt if value == "sqrt" else math.log2
        return max(1, int(root(n_features or 1)))
    if _is_integer(value):
        if value < 1:
            _refuse(owner, name, rule)
        if n_features is not None and value > n_features:
            _refuse(owner, name, f"there are {n_features} features to choose from")
        return int(value)
    if not _is_number(value) or not 0 < value <= 1:
        _refuse(owner, name, rule)
    return max(1, int(value * (n_features or 1)))


def count_rows(owner: object, name: str, low: int, n_rows: int | None = None) -> int:
    """Return the number of rows that ``min_samples_leaf`` means: a number, or a share of rows."""
    value = getattr(owner, name)
    if _is_integer(value) and value >= low:
        return int(value)
    if _is_integer(value) or not _is_number(value) or not 0 < value <= 1:
        _refuse(owner, name, f"must be an integer of at least {low}, or a share in (0, 1]")
    return max(low, math.ceil(value * (n_rows or 1)))


def find_rate(owner: object, name: str, n_rows: int, total_weight: float) -> float:
    """Return ``max_samples``, a number, a share or None for all, as a share of the rows.

    A share refers to the sum of weights, as in scikit-learn since version 1.9: a weight of 2 equals
    a repeated row. Without weights the sum is the number of rows.
    """
    value = getattr(owner, name)
    if value is None:
        return 1.0
    if not _is_number(value) or not value > 0 or not math.isfinite(value):
        _refuse(owner, name, "must be a positive integer, a positive share of the rows or None")
    n_drawn = value if _is_integer(value) else value * total_weight
    if n_drawn > _MOST_DRAWN:
        _refuse(owner, name, f"a tree cannot draw more than {_MOST_DRAWN} rows")
    if n_drawn < _FEW_DRAWN and not _is_integer(value) and total_weight < n_rows:
        warn_user(
            f"{type(owner).__name__}: {name}={value!r} of weights that sum to {total_weight:g} "
            f"draws only {max(1, round(n_drawn))} rows for a tree; pass a number of rows instead",
            DataWarning,
        )
    return n_drawn / n_rows


def draw_seed(random_state: Any) -> int:
    """Return the seed that an estimator with this ``random_state`` draws first."""
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def _is_integer(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, (bool, np.bool_))


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_))


def _refuse(owner: object, name: str, rule: str) -> NoReturn:
    raise ParameterError(f"{type(owner).__name__}: {name}={getattr(owner, name)!r}; {rule}")
