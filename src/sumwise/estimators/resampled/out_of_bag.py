"""Out-of-bag rows at work: predictions and scores, importances, and stopping members early."""

import copy
import inspect
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier
from sklearn.utils import Bunch, check_random_state
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from sumwise.combine.out_of_bag import OutOfBagMean
from sumwise.data.frames.reading import collect_lazy
from sumwise.data.frames.selection import shuffle_feature, take_features, take_rows
from sumwise.errors import DataError, DataWarning, ParameterError
from sumwise.estimators.boosting.validation import encode_labels
from sumwise.estimators.input.parameters import check_integer, check_number
from sumwise.estimators.input.targets import check_sample_weight, read_target
from sumwise.estimators.scoring import takes_weight
from sumwise.parts import Part, check_rate

# Probabilities are kept from 0 by this much, so that one sure error does not decide alone.
_SMALLEST_PROBABILITY = 1e-15

OOB_PARAMETER = """oob_score : bool, str or callable, default=False
        Whether to score the ensemble on out-of-bag rows, and how: True for accuracy or R², the
        name of a scikit-learn scorer, a scorer, or a function of (y_true, y_pred), whose result is
        taken as it is."""

OOB_ATTRIBUTES = """oob_score_ : float
        The score of out-of-bag predictions, weighted by sample weights if the metric takes them;
        NaN if no row has one.
        With ``oob_score`` only, as all that follow."""


# --- predictions and scores ---


def check_oob_score(owner: Any) -> None:
    """Refuse an ``oob_score`` that says nothing about how to score."""
    value = owner.oob_score
    if isinstance(value, (bool, np.bool_)) or callable(value):
        return
    from sklearn.metrics import get_scorer_names

    if not isinstance(value, str) or value not in get_scorer_names():
        raise ParameterError(
            f"{type(owner).__name__}: oob_score={value!r}; must be True, False, the name of a "
            "scikit-learn scorer, a scorer or a function of (y_true, y_pred)"
        )


def store_out_of_bag(
    owner: Any,
    values: np.ndarray,
    is_covered: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray | None,
    decide: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> None:
    """Set ``oob_score_`` and the predictions it comes from; warn of rows that have none.

    Parameters
    ----------
    owner : estimator
        With ``oob_score`` and, for classifiers, ``classes_``.
    values : ndarray
        Means of the members that did not see a row, NaN where there are none.
    is_covered : ndarray of bool
        Which rows have some.
    y : ndarray
        Numbers or class indices.
    weight : ndarray or None
        Sample weights.
    decide : callable of (rows, shares of votes)
        Returns the class indices of some rows.
    """
    n_uncovered = int(np.sum(~is_covered))
    if n_uncovered:
        warnings.warn(
            f"{type(owner).__name__}: no member is left to predict {n_uncovered} of "
            f"{is_covered.size} rows out of bag: these are NaN, and the score is that of the other "
            "rows. Fit more members",
            DataWarning,
            stacklevel=4,
        )
    if is_classifier(owner):
        owner.oob_decision_function_ = values
    else:
        owner.oob_prediction_ = values
    rows = np.flatnonzero(is_covered)
    if rows.size == 0:
        owner.oob_score_ = float("nan")
        return
    known = values[rows]
    y_true, model = y[rows], _KnownNumbers(known)
    if is_classifier(owner):
        classes = owner.classes_
        y_true = classes[y_true]
        model = _KnownVotes(classes[decide(rows, known)], known, classes)
    row_weight = None if weight is None else weight[rows]
    owner.oob_score_ = float(_score(owner.oob_score, model, y_true, row_weight))


class _KnownNumbers(RegressorMixin, BaseEstimator):
    """Stands for a regressor towards a scorer: its predictions are known, whatever X is."""

    def __init__(self, predictions: np.ndarray) -> None:
        self.predictions = predictions

    def fit(self, X: Any, y: Any) -> "_KnownNumbers":
        """Scorers take for an estimator only what could be fitted."""
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return what is known."""
        return self.predictions

    def __sklearn_is_fitted__(self) -> bool:
        return True


class _KnownVotes(ClassifierMixin, _KnownNumbers):
    """The same for a classifier."""

    def __init__(self, predictions: np.ndarray, shares: np.ndarray, classes: np.ndarray) -> None:
        super().__init__(predictions)
        self.shares = shares
        self.classes = classes
        self.classes_ = classes

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return what is known."""
        return self.shares


def _score(scoring: Any, model: _KnownNumbers, y: np.ndarray, weight: np.ndarray | None) -> float:
    from sklearn.metrics import accuracy_score, get_scorer, r2_score

    if isinstance(scoring, (bool, np.bool_)):
        scoring = accuracy_score if is_classifier(model) else r2_score
    elif isinstance(scoring, str):
        scoring = get_scorer(scoring)
    is_weighted = weight is not None and takes_weight(scoring)
    weights = {"sample_weight": weight} if is_weighted else {}
    if hasattr(scoring, "_score_func"):  # a scorer
        return scoring(model, np.zeros((len(y), 1)), y, **weights)
    return scoring(y, model.predictions, **weights)


def sum_out_of_bag(
    members: Iterable[tuple[Any, np.ndarray | None, np.ndarray]],
    X: Any,
    read: Callable[[Any, Any], np.ndarray],
    n_rows: int,
    shape: tuple[int, ...],
) -> OutOfBagMean:
    """Sum up what members predict for the rows that they did not see.

    ``members`` has triples of a member, its features (None for all) and the rows out of its bag.
    """
    result = OutOfBagMean(n_rows, shape)
    for member, features, rows in members:
        if rows.size:
            taken = take_rows(X, rows)
            result.add(rows, read(member, take_features(taken, features)))
    return result


# --- importances ---


def oob_permutation_importance(
    model: Any,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    n_repeats: int = 1,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> Bunch:
    """Measure how much worse members predict their out-of-bag rows if a feature is shuffled.

    Breiman's importance (2001): the drop in accuracy of each member, or the growth of its mean
    squared error, averaged over the members. No other rows are needed than those of training.

    Parameters
    ----------
    model : fitted ensemble
        Bagging or a forest, of sumwise or of scikit-learn: with ``estimators_`` and
        ``estimators_samples_``.
    X, y : array-like
        The rows that it was fitted on, in the same order.
    sample_weight : array-like of shape (n_rows,), default=None
        Weights of the rows in accuracies and errors.
    n_repeats : int, default=1
        How often each feature is shuffled for each member.
    n_jobs : int or None, default=None
        Members that joblib looks at at once.
    random_state : int, RandomState or None, default=None
        Seed of the orders.

    Returns
    -------
    Bunch
        ``importances_mean`` and ``importances_std`` of shape (n_features,), over the members, and
        ``importances`` of shape (n_features, n_members). Members without out-of-bag rows are left
        out.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sumwise import BaggingClassifier, oob_permutation_importance
    >>> X, y = load_iris(return_X_y=True)
    >>> model = BaggingClassifier(n_estimators=50, random_state=0).fit(X, y)
    >>> result = oob_permutation_importance(model, X, y, random_state=0)
    >>> sorted(int(f) for f in result.importances_mean.argsort()[-2:])  # the petals
    [2, 3]
    """
    check_is_fitted(model)
    kind = type(model).__name__
    if not hasattr(model, "estimators_samples_"):
        raise DataError(f"{kind} does not tell which rows its members saw (estimators_samples_)")
    if not isinstance(n_repeats, (int, np.integer)) or n_repeats < 1:
        raise ParameterError(f"n_repeats={n_repeats!r}: must be at least 1")
    X = collect_lazy(X)
    y = read_target(y, is_number=not is_classifier(model))
    if is_classifier(model):
        class_idx = encode_labels("y", y, model.classes_)
        # Most members know classes by their indices, trees of our forests by their labels.
        first = np.asarray(getattr(model.estimators_[0], "classes_", ()))
        y = y if np.array_equal(first, model.classes_) else class_idx
    weight = check_sample_weight(sample_weight, len(y))
    samples = model.estimators_samples_
    n_features = int(model.n_features_in_)
    features = getattr(model, "estimators_features_", None) or [None] * len(samples)
    seeds = check_random_state(random_state).randint(np.iinfo(np.int32).max, size=len(samples))
    tasks = [
        (member, chosen, _find_out_of_bag(rows, len(y)), int(seed))
        for member, chosen, rows, seed in zip(
            model.estimators_, features, samples, seeds, strict=True
        )
    ]
    tasks = [task for task in tasks if task[2].size]
    if not tasks:
        raise DataError(f"no member of {kind} has out-of-bag rows; draw fewer rows for each")
    columns = Parallel(n_jobs=n_jobs)(
        delayed(_measure_drops)(
            member,
            chosen,
            take_rows(X, rows),
            y[rows],
            _take(weight, rows),
            n_features,
            n_repeats,
            seed,
        )
        for member, chosen, rows, seed in tasks
    )
    importances = np.column_stack(columns)
    return Bunch(
        importances_mean=importances.mean(axis=1),
        importances_std=importances.std(axis=1),
        importances=importances,
    )


def _take(weight: np.ndarray | None, rows: np.ndarray) -> np.ndarray | None:
    return None if weight is None or not weight[rows].any() else weight[rows]


def _find_out_of_bag(rows_in_bag: np.ndarray, n_rows: int) -> np.ndarray:
    is_out = np.ones(n_rows, dtype=bool)
    is_out[rows_in_bag] = False
    return np.flatnonzero(is_out)


def _measure_drops(
    member: Any,
    features: np.ndarray | None,
    X: Any,
    y: np.ndarray,
    weight: np.ndarray | None,
    n_features: int,
    n_repeats: int,
    seed: int,
) -> np.ndarray:
    """Return the importance of each feature for one member; those it has not got have none."""
    if not hasattr(member, "feature_names_in_") and hasattr(member, "n_features_in_"):
        X = np.asarray(X) if not hasattr(X, "tocsr") else X  # fitted on what a frame became
    draws = np.random.RandomState(seed)
    n_rows = len(y)
    used = np.arange(n_features) if features is None else np.unique(features)
    before = _measure_loss(member, take_features(X, features), y, weight)
    drops = np.zeros(n_features)
    for feature in used:
        for _ in range(n_repeats):
            shuffled = shuffle_feature(X, int(feature), draws.permutation(n_rows))
            after = _measure_loss(member, take_features(shuffled, features), y, weight)
            drops[feature] += (after - before) / n_repeats
    return drops


def _measure_loss(member: Any, X: Any, y: np.ndarray, weight: np.ndarray | None) -> float:
    """Return the share of wrong labels, or the mean squared error."""
    predicted = np.asarray(member.predict(X))
    if is_classifier(member):
        return float(np.average(predicted != y, weights=weight))
    return float(np.average((predicted - y) ** 2, weights=weight))


# --- early stopping ---


class OobStopping(Part):
    """Train each member epoch by epoch, and keep it as it was when its out-of-bag loss was least.

    For base learners with ``partial_fit``, such as networks and stochastic gradient descent. The
    loss is the log loss of classifiers with probabilities, the share of errors of others, and the
    squared error of regressors.

    Parameters
    ----------
    patience : int, default=5
        Epochs without a better loss before training stops.
    max_epochs : int, default=200
        Epochs at most.
    tol : float, default=1e-4
        A loss is better if it is lower by more than this share.
    share : float, default=1.0
        Share of a member's out-of-bag rows that stop it, in (0, 1]. The out-of-bag score is taken
        from the others. With 1 there are none: the score is that of the rows that stopped the
        members, too good, and flagged by ``oob_score_is_optimistic_``.

    Examples
    --------
    >>> from sumwise import OobStopping
    >>> OobStopping(patience=10)
    OobStopping(patience=10)
    """

    def __init__(
        self, patience: int = 5, max_epochs: int = 200, tol: float = 1e-4, share: float = 1.0
    ) -> None:
        self.patience = patience
        self.max_epochs = max_epochs
        self.tol = tol
        self.share = share

    def check(self) -> None:
        """Raise ParameterError if a parameter cannot be used."""
        check_integer(self, "patience", 1)
        check_integer(self, "max_epochs", 1)
        check_number(self, "tol", 0.0)
        check_rate(self, "share")


def fit_until_stopped(
    member: Any,
    stopping: OobStopping,
    training: tuple[Any, np.ndarray, np.ndarray | None],
    watched: tuple[Any, np.ndarray, np.ndarray | None],
    n_classes: int | None,
    fit_params: Mapping[str, Any],
) -> tuple[Any, list[float]]:
    """Return the member at its best, and its loss on the watched rows after each epoch.

    ``training`` and ``watched`` are X, y and weights; ``n_classes`` is None for regressors.
    """
    X, y, weight = training
    params = dict(fit_params)
    if weight is not None:
        params["sample_weight"] = weight
    first = {} if n_classes is None else {"classes": np.arange(n_classes)}
    losses: list[float] = []
    best, best_loss, best_epoch = member, np.inf, -1
    for epoch in range(stopping.max_epochs):
        member.partial_fit(X, y, **params, **(first if epoch == 0 else {}))
        loss = _watch(member, *watched, n_classes)
        losses.append(loss)
        if best_epoch < 0 or loss < best_loss - stopping.tol * abs(best_loss):
            best, best_loss, best_epoch = copy.deepcopy(member), loss, epoch
        elif epoch - best_epoch >= stopping.patience:
            break
    return best, losses


def takes_partial_weights(member: Any) -> bool:
    """Whether ``partial_fit`` may be given ``sample_weight``."""
    return "sample_weight" in inspect.signature(member.partial_fit).parameters


def _watch(
    member: Any, X: Any, y: np.ndarray, weight: np.ndarray | None, n_classes: int | None
) -> float:
    if n_classes is None:
        errors = (np.asarray(member.predict(X)) - y) ** 2
        return float(np.average(errors.reshape(len(y), -1).mean(axis=1), weights=weight))
    if hasattr(member, "predict_proba"):
        chosen = np.asarray(member.predict_proba(X))[np.arange(len(y)), y]
        return float(np.average(-np.log(np.maximum(chosen, _SMALLEST_PROBABILITY)), weights=weight))
    return float(np.average(np.asarray(member.predict(X)) != y, weights=weight))
