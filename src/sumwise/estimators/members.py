"""The members of an ensemble: their fits, their predictions, and how similar they are."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from sumwise.diversity import PairwiseMatrix, pairwise_matrix
from sumwise.errors import DataError, ParameterError


@contextmanager
def name_failure(label: str, estimator: Any, doing: str = "fit") -> Iterator[None]:
    """Name the member, ``label``, in an error that it raises.

    The error is raised again with the member's name before its message and the original as its
    cause. If its type cannot be created from a message alone, it gets a note instead.
    """
    try:
        yield
    except Exception as error:
        prefix = f"{label} ({type(estimator).__name__}) failed to {doing}"
        named = _extend_message(error, prefix)
        if named is None:
            error.add_note(prefix)
            raise
        raise named from error


def _extend_message(error: Exception, prefix: str) -> Exception | None:
    """Return an error of the same type with a longer message; None if there is no such error."""
    message = f"{prefix}: {error}"
    if error.args != (str(error),):
        return None
    try:
        named = type(error)(message)
    except Exception:
        return None
    return named if str(named) == message else None


def fit_member(label: str, estimator: Any, X: Any, y: Any, params: Mapping[str, Any]) -> Any:
    """Fit an estimator and return it; an error names it."""
    with name_failure(label, estimator):
        try:
            estimator.fit(X, y, **params)
        except TypeError as error:
            if "unexpected keyword argument 'sample_weight'" not in str(error):
                raise
            raise TypeError(
                f"Underlying estimator {type(estimator).__name__} does not support sample weights."
            ) from error
    return estimator


class MemberPredictions(NamedTuple):
    """What each member of an ensemble predicts.

    Attributes
    ----------
    labels : tuple of str
        Names of the members.
    values : ndarray of shape (n_rows, n_learners)
        Labels of the ensemble's classes, or numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import MemberPredictions, diversity_matrix
    >>> known = MemberPredictions(("tree", "forest"), np.array([[0, 0], [1, 0]]))
    >>> diversity_matrix(known, measure="disagreement").values[0, 1]
    np.float64(0.5)
    """

    labels: tuple[str, ...]
    values: np.ndarray


def member_predictions(models: Any, X: Any) -> MemberPredictions:
    """Return what each member of an ensemble predicts.

    Parameters
    ----------
    models : fitted ensemble, or list or dict of fitted models
        An ensemble has its members in ``estimators_``, like bagging, forests, voting, stacking and
        AdaBoost of scikit-learn. The trees of gradient boosting are not members: they are summed.
        A list contains models, or pairs of a name and a model.
    X : array-like of shape (n_rows, n_features)
        Rows to predict; each member gets the features that it was fitted on.

    Returns
    -------
    MemberPredictions

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from sumwise import member_predictions
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(5, random_state=0).fit(X, y)
    >>> member_predictions(forest, X).values.shape
    (150, 5)
    """
    if hasattr(models, "predict"):
        names, members = open_ensemble(models)
        answers = _let_predict(models, members, X)
        if is_classifier(models):
            answers = _decode(models, members, answers)
        return MemberPredictions(tuple(names), np.column_stack(answers))
    named = _list_models(models)
    if named is None:
        raise ParameterError(
            "models must be a fitted ensemble, or a list or dict of fitted models, "
            f"got {type(models).__name__}"
        )
    answers = [_predict(name, model, X) for name, model in named]
    return MemberPredictions(tuple(name for name, _ in named), np.column_stack(answers))


def member_probabilities(ensemble: Any, X: Any) -> np.ndarray | None:
    """Return the probabilities that each member of a classifier predicts for its classes.

    Parameters
    ----------
    ensemble : fitted ensemble of classifiers
    X : array-like of shape (n_rows, n_features)

    Returns
    -------
    ndarray of shape (n_rows, n_learners, n_classes) or None
        Classes that a member has not seen have probability 0. None if a member has no
        probabilities.
    """
    _, members = open_ensemble(ensemble)
    classes = np.asarray(ensemble.classes_)
    if not all(hasattr(m, "predict_proba") and hasattr(m, "classes_") for m in members):
        return None
    answers = _let_predict(ensemble, members, X, _predict_shares)
    know_labels = _know_labels(
        ensemble, {label for m in members for label in np.asarray(m.classes_).tolist()}
    )
    shares = np.zeros((len(answers[0]), len(members), classes.size))
    for k, (member, answer) in enumerate(zip(members, answers, strict=True)):
        own = np.asarray(member.classes_)
        places = np.searchsorted(classes, own) if know_labels else own.astype(np.intp)
        shares[:, k, places] = answer
    return shares


def _predict_shares(name: str, model: Any, X: Any) -> np.ndarray:
    return np.asarray(model.predict_proba(X), dtype=np.float64)


def diversity_matrix(
    models: Any, X: Any = None, y: Any = None, measure: str = "kappa", *, sample_weight: Any = None
) -> PairwiseMatrix:
    """Measure the similarity of each pair of members of an ensemble.

    Parameters
    ----------
    models : fitted ensemble, list or dict of fitted models, or predictions
        What :func:`member_predictions` takes or returns, or labels of shape (n_rows, n_learners).
    X : array-like of shape (n_rows, n_features), default=None
        Rows to predict; None with predictions.
    y : array-like of shape (n_rows,), default=None
        True labels. With them, it is compared which predictions are correct; without, the labels.
    measure : {"kappa", "disagreement", "correlation", "q_statistic", "double_fault"}
        Name of a function of :mod:`sumwise.diversity`.
    sample_weight : array-like of shape (n_rows,), default=None
        Weights of rows.

    Returns
    -------
    PairwiseMatrix
        With ``labels`` and ``values``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sumwise import diversity_matrix
    >>> X, y = load_iris(return_X_y=True)
    >>> models = [GaussianNB().fit(X, y), KNeighborsClassifier().fit(X, y)]
    >>> matrix = diversity_matrix(models, X)
    >>> matrix.labels
    ('GaussianNB', 'KNeighborsClassifier')
    >>> matrix.values.round(2)
    array([[1.  , 0.95],
           [0.95, 1.  ]])
    """
    labels: Sequence[str] | None = None
    named = [("", models)] if hasattr(models, "predict") else _list_models(models)
    if isinstance(models, MemberPredictions):
        labels, predictions = models
    elif named is not None:
        if X is None:
            raise ParameterError("diversity_matrix of models needs X, the rows to predict")
        for _, model in named:
            if is_regressor(model):
                raise ParameterError(
                    f"diversity_matrix compares labels, and {type(model).__name__} predicts "
                    "numbers: use sumwise.diversity.ambiguity_decomposition"
                )
        labels, predictions = member_predictions(models, X)
    else:
        predictions = models
    return pairwise_matrix(predictions, y, measure, labels=labels, sample_weight=sample_weight)


def open_ensemble(ensemble: Any) -> tuple[list[str], list[Any]]:
    """Return the names and members of a fitted ensemble."""
    check_is_fitted(ensemble)
    kind = type(ensemble).__name__
    members = getattr(ensemble, "estimators_", None)
    # Boosted trees of scikit-learn are in a matrix, whose rows have no predict.
    if members is None or not all(hasattr(member, "predict") for member in members):
        raise DataError(
            f"{kind} has no members that predict on their own (estimators_); to compare several "
            "models, pass a list of them"
        )
    if _splits_classes(ensemble):
        raise DataError(f"members of {kind} each distinguish only some of the classes")
    members = list(members)
    named: Mapping[str, Any] = getattr(ensemble, "named_estimators_", {})
    names = [name for name, model in named.items() if not isinstance(model, str)]
    return names if len(names) == len(members) else list(map(str, range(len(members)))), members


def _splits_classes(ensemble: Any) -> bool:
    """Whether members predict something else than the ensemble's classes."""
    if hasattr(ensemble, "code_book_"):  # output codes of scikit-learn and sumwise
        return True
    # Imported late: otherwise `import sumwise` would load a hundred modules.
    from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier

    return isinstance(ensemble, (OneVsOneClassifier, OneVsRestClassifier))


def _let_predict(
    ensemble: Any,
    members: list[Any],
    X: Any,
    predict: Callable[[str, Any, Any], np.ndarray] | None = None,
) -> list[np.ndarray]:
    """Return the predictions of members; each gets the features and the type it was fitted on."""
    predict = _predict if predict is None else predict
    features = getattr(ensemble, "estimators_features_", None)
    has_names = hasattr(ensemble, "feature_names_in_")
    answers = []
    for i, member in enumerate(members):
        takes_array = hasattr(member, "n_features_in_") and not hasattr(member, "feature_names_in_")
        rows = np.asarray(X) if has_names and takes_array else X
        if features is not None:
            rows = _safe_indexing(rows, features[i], axis=1)
        answers.append(predict(f"member {i}", member, rows))
    return answers


def _predict(name: str, model: Any, X: Any) -> np.ndarray:
    answer = np.asarray(model.predict(X))
    if answer.ndim != 1:
        raise DataError(
            f"{name} predicts an array of shape {answer.shape}; expected one value per row"
        )
    return answer


def _decode(ensemble: Any, members: list[Any], answers: list[np.ndarray]) -> list[np.ndarray]:
    """Convert class indices to labels: most ensembles fit their members on indices, some do not.

    A single member may have seen only some classes; all members together show which case it is.
    """
    pairs = zip(members, answers, strict=True)
    seen = {label for m, a in pairs for label in np.asarray(getattr(m, "classes_", a)).tolist()}
    if _know_labels(ensemble, seen):
        return answers
    classes = np.asarray(ensemble.classes_)
    return [classes[answer.astype(np.intp)] for answer in answers]


def _know_labels(ensemble: Any, seen: set[Any]) -> bool:
    """Whether what members have seen are labels of the ensemble, not their indices."""
    classes = np.asarray(ensemble.classes_)
    labels, indices = set(classes.tolist()), set(range(classes.size))
    if seen == labels:
        return True
    if seen <= indices:
        return False
    if seen <= labels:
        return True
    raise DataError(
        f"members of {type(ensemble).__name__} predict {sorted(seen - labels, key=str)[:5]}, "
        "which are neither its classes nor their indices"
    )


def _list_models(models: Any) -> list[tuple[str, Any]] | None:
    """Return the names and models of a list or a dict; None if it does not hold models."""
    if isinstance(models, Mapping):
        named = [(str(name), model) for name, model in models.items()]
    elif not isinstance(models, (list, tuple)):
        return None
    elif all(isinstance(m, tuple) and len(m) == 2 and isinstance(m[0], str) for m in models):
        named = list(models)
    else:
        kinds = [type(model).__name__ for model in models]
        counts = Counter(kinds)
        names = [f"{kind} {i}" if counts[kind] > 1 else kind for i, kind in enumerate(kinds)]
        named = list(zip(names, models, strict=True))
    return named if named and all(hasattr(model, "predict") for _, model in named) else None
