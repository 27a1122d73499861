"""Permutation importance of features, or of groups of features that are permuted together."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from typing import Any

import numpy as np
from sklearn.utils import Bunch, check_random_state
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from sumwise.data.frames.reading import collect_lazy, open_frame, read_list
from sumwise.data.frames.selection import shuffle_features
from sumwise.data.sparse import is_sparse
from sumwise.errors import ParameterError
from sumwise.estimators.boosting.fitted import UNKNOWN, BaseFittedBoosting
from sumwise.estimators.forests.base import BaseTrees
from sumwise.estimators.input.features import ReadRows, read_rows
from sumwise.estimators.scoring import Scorer, resolve_scoring
from sumwise.inspection.tree_view import get_trees

# Scores after the features are permuted in some order; a dict if there are several metrics.
_Measure = Callable[[np.ndarray, np.ndarray], Any]


def permutation_importance(
    model: Any,
    X: Any,
    y: Any,
    *,
    groups: Mapping[str, Any] | None = None,
    n_repeats: int = 5,
    scoring: Any = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    sample_weight: Any = None,
) -> Any:
    """Measure how much worse a model predicts if the values of features are permuted among rows.

    It is :func:`sklearn.inspection.permutation_importance` for features and for groups of them,
    with the same permutations for the same ``random_state``. X stays what it is: frames keep
    their types and categories. X of boosting, forests and trees of sumwise is read only once, and
    features that they do not use are not permuted, which is faster.

    Parameters
    ----------
    model : fitted estimator
        A classifier or regressor of any library.
    X : frame, array-like or sparse matrix of shape (n_rows, n_features)
        Rows to predict; better those that the model has not seen.
    y : array-like of shape (n_rows,) or (n_rows, n_outputs)
        Their targets.
    groups : dict of str to list, default=None
        Features, by name or index, that are permuted together: those that mean nothing apart,
        such as the columns of one category, or that could stand in for each other because they
        are correlated. Features in no group are measured one by one, after the groups.
    n_repeats : int, default=5
        Number of permutations.
    scoring : str, callable, list, dict or None, default=None
        The name of a scikit-learn scorer, a function of (estimator, X, y), or a metric, a function
        of (y_true, y_pred). None for the ``score`` of the model. A list of names, or a dict of
        names and scorers, for several.
    random_state : int, RandomState or None, default=None
        Seed of the permutations.
    n_jobs : int or None, default=None
        For boosting, forests and trees of sumwise, threads that predict; None for as many as the
        model uses. For all other models, groups and features that joblib measures in parallel.
    sample_weight : array-like of shape (n_rows,), default=None
        Weights of the rows in the score.

    Returns
    -------
    Bunch
        ``names`` of the groups and features, ``importances`` of shape (n_names, n_repeats), the
        decreases of the score, their ``importances_mean`` and ``importances_std``. With several
        scorers, a dict of these by name.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sumwise import GradientBoostingClassifier
    >>> from sumwise.inspection import permutation_importance
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = GradientBoostingClassifier(n_estimators=10).fit(X, y)
    >>> leaves = {"petal": list(X.columns[2:]), "sepal": list(X.columns[:2])}
    >>> result = permutation_importance(model, X, y, groups=leaves, random_state=0)
    >>> result.names
    ('petal', 'sepal')
    >>> bool(result.importances_mean[0] > 0.5 > result.importances_mean[1])
    True
    """
    check_is_fitted(model)
    if not isinstance(n_repeats, (int, np.integer)) or isinstance(n_repeats, bool) or n_repeats < 1:
        raise ParameterError(f"n_repeats={n_repeats!r}: must be at least 1")
    X = collect_lazy(X)
    if isinstance(X, (list, tuple)):
        X = read_list(X)
    check_consistent_length(X, y)
    named = _name_groups(groups, _name_features(model, X))
    scorer = _find_scorer(model, scoring)
    orders = list(_draw_orders(random_state, int(n_repeats), X.shape[0]))
    weights = {} if sample_weight is None else {"sample_weight": sample_weight}

    is_quick = _can_read_once(model, X) and _only_predicts(scorer)
    make = _measure_read_rows if is_quick else _measure_rows
    measure = make(_use_threads(model, n_jobs) if is_quick else model, X, y, scorer, weights)
    before = measure(np.empty(0, dtype=np.int64), orders[0])
    after = Parallel(n_jobs=1 if is_quick else n_jobs)(
        delayed(_measure_all)(measure, features, orders) for features in named.values()
    )
    names = tuple(named)
    if not isinstance(before, dict):
        return _collect(names, before, after)
    by_metric = {metric: [[scores[metric] for scores in own] for own in after] for metric in before}
    return {metric: _collect(names, before[metric], by_metric[metric]) for metric in before}


def _collect(names: tuple[str, ...], before: float, after: Sequence[Sequence[float]]) -> Bunch:
    importances = float(before) - np.array(after, dtype=np.float64)
    return Bunch(
        names=names,
        importances_mean=importances.mean(axis=1),
        importances_std=importances.std(axis=1),
        importances=importances,
    )


def _draw_orders(random_state: Any, n_repeats: int, n_rows: int) -> Iterator[np.ndarray]:
    """Yield the orders of rows, the same for all features, as scikit-learn draws them."""
    seed = check_random_state(random_state).randint(np.iinfo(np.int32).max + 1)
    draws = np.random.RandomState(seed)
    shuffled, order = np.arange(n_rows), np.arange(n_rows)
    for _ in range(n_repeats):
        draws.shuffle(shuffled)
        order = order[shuffled]  # it permutes what it has permuted before
        yield order


# --- names and groups ---


def _name_features(model: Any, X: Any) -> list[str]:
    names = getattr(model, "feature_names_in_", None)
    if names is None and not isinstance(X, np.ndarray) and not is_sparse(X):
        frame = open_frame(X)
        names = None if frame is None else frame.columns
    if names is None:
        return [f"x{k}" for k in range(X.shape[1])]
    return [str(name) for name in names]


def _name_groups(groups: Any, names: list[str]) -> dict[str, np.ndarray]:
    """Return the features of each group, then those of no group, by name."""
    if groups is None:
        groups = {}
    if not isinstance(groups, Mapping):
        raise ParameterError(
            f"groups={groups!r}: must be a dict from names to lists of features, or None"
        )
    found = {str(name): _find_features(name, own, names) for name, own in groups.items()}
    grouped = {int(feature) for own in found.values() for feature in own}
    for feature, name in enumerate(names):
        if feature not in grouped:
            # A group may have the name of a feature in another group.
            found[name if name not in found else f"{name} (feature)"] = np.array([feature])
    return found


def _find_features(group: Any, features: Any, names: list[str]) -> np.ndarray:
    items = [features] if isinstance(features, (str, int, np.integer)) else list(features)
    places = []
    for item in items:
        if isinstance(item, str) and item in names:
            places.append(names.index(item))
        elif isinstance(item, (int, np.integer)) and 0 <= item < len(names):
            places.append(int(item))
        else:
            raise ParameterError(
                f"groups[{group!r}]: {item!r} must be the name of a feature, or an index from 0 to "
                f"{len(names) - 1}"
            )
    if not places:
        raise ParameterError(f"groups[{group!r}] has no features")
    return np.unique(places)


# --- scores ---


def _find_scorer(model: Any, scoring: Any) -> Scorer:
    if isinstance(scoring, str) or callable(scoring):
        return resolve_scoring(scoring, model)
    from sklearn.metrics import check_scoring

    return check_scoring(model, scoring=scoring)


def _measure_all(
    measure: _Measure, features: np.ndarray, orders: Sequence[np.ndarray]
) -> list[Any]:
    return [measure(features, order) for order in orders]


def _can_read_once(model: Any, X: Any) -> bool:
    """Whether predictions can be made from rows that are read already."""
    return isinstance(model, (BaseFittedBoosting, BaseTrees)) and not is_sparse(X)


def _only_predicts(scorer: Any) -> bool:
    """Whether a scorer does nothing with X but predict it; a function of the user's own may."""
    from sklearn.metrics._scorer import _MultimetricScorer, _PassthroughScorer

    if isinstance(scorer, _MultimetricScorer):
        return all(_only_predicts(own) for own in scorer._scorers.values())
    return isinstance(scorer, _PassthroughScorer) or hasattr(scorer, "_score_func")


def _use_threads(model: Any, n_jobs: int | None) -> Any:
    """Return the model, or a copy that predicts with so many threads."""
    if n_jobs is None:
        return model
    model = copy(model)
    model.n_jobs = n_jobs
    return model


def _measure_rows(model: Any, X: Any, y: Any, scorer: Scorer, weights: dict[str, Any]) -> _Measure:
    """Return a function that permutes features of X and scores the model."""

    def measure(features: np.ndarray, order: np.ndarray) -> Any:
        rows = shuffle_features(X, features, order) if features.size else X
        return scorer(model, rows, y, **weights)

    return measure


def _measure_read_rows(
    model: Any, X: Any, y: Any, scorer: Scorer, weights: dict[str, Any]
) -> _Measure:
    """Return a function that permutes features in rows that are read, and scores the model."""
    has_encoder = getattr(model, "_encoder", None) is not None
    rows = read_rows(model, X, UNKNOWN if has_encoder else np.nan)
    rows = rows if isinstance(rows, np.ndarray) else rows.convert(0, rows.shape[0])
    permuted, is_used = np.array(rows), _find_used(model)

    def measure(features: np.ndarray, order: np.ndarray) -> Any:
        features = features[is_used[features]]
        if not features.size:
            return unchanged
        permuted[:, features] = rows[np.ix_(order, features)]
        score = scorer(model, ReadRows(permuted), y, **weights)
        permuted[:, features] = rows[:, features]
        return score

    unchanged = scorer(model, ReadRows(rows), y, **weights)
    return measure


def _find_used(model: Any) -> np.ndarray:
    """Return which features the predictions depend on."""
    trees, encoder = get_trees(model), getattr(model, "_encoder", None)
    if trees is None:  # a linear model
        return np.ones(model.n_features_in_, dtype=np.bool_)
    n_splits = np.bincount(trees.feature[trees.feature >= 0], minlength=trees.n_features)
    if trees.models is not None:
        n_splits += np.bincount(trees.models.feature, minlength=trees.n_features)
    by_feature = n_splits if encoder is None else encoder.fold(n_splits.astype(np.float64))
    return by_feature > 0
