"""``explain``: SHAP values of fitted models, and of weighted sums of models."""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sumwise.docstrings import fill_docstring
from sumwise.errors import ExplanationError
from sumwise.estimators.input.jobs import start_team
from sumwise.tree import LinearEnsemble, Model

if TYPE_CHECKING:  # imported when something is explained
    from sumwise.inspection.attribution import Attribution
    from sumwise.inspection.explanation import Explanation

# What the contributions add up to. Only the first three can be averaged over models: a mean of
# probabilities is not a function of the mean of log odds.
PREDICTION, PROBABILITY, SHARE = "prediction", "probability", "share of votes"
LOG_ODDS, LOG_PREDICTION, VOTES = "log odds", "logarithm of the prediction", "weighted votes"
RAW_SCORE, UNCALIBRATED = "raw score", "probability before calibration"

EXPLAIN_TEXTS = {
    "summary": """
For each row, the contributions of the features and a base value add up to the score of the
model, to about 12 digits.""",
    "scores": """
======================================  =======================================================
model                                   score that is explained
======================================  =======================================================
boosting, regression                    raw score: the prediction, or its logarithm if the loss
                                        has a log link
boosting, classification                raw score (``decision_function``): log odds of the second
                                        of two classes; one score per class for more
trees, forests, bagging, soft votes     prediction or probability, before it is calibrated; of
                                        two classes, that of the second
hard votes of decision trees            share of the votes
AdaBoost, classification                ``decision_function``: the sum of the weighted votes
averages, Bayesian averages, selection  weighted mean of the members' predictions or probabilities
======================================  =======================================================""",
    "parameters": """
X : frame, array-like or sparse matrix of shape (n_rows, n_features)
    Rows to explain.
background : frame, array-like or sparse matrix, default=None
    Rows that stand for "a feature is not known": its value is replaced by theirs, and the base
    value is their mean score (interventional SHAP values). Time grows with their number; a
    hundred or a few hundred rows are usually enough. None: the training rows that passed each
    node of the trees stand in for them (path-dependent SHAP values), which is fast. A linear
    model without background compares with a row of zeros.
interactions : bool, default=False
    Whether to split the contributions further into those of pairs of features:
    n_rows * n_features**2 numbers per output.""",
    "returns": """
Explanation
    With the values of X and the names of features and outputs. Categories that were encoded by
    target statistics are explained as the original features; those of a combination share its
    contribution equally.""",
}


class Question(NamedTuple):
    """The rows to explain, as the user passed them, and how."""

    X: Any
    background: Any
    interactions: bool

    def read(self, read: Callable[[Any], Any]) -> "Question":
        """Return the question with rows as an ensemble reads them."""
        background = None if self.background is None else read(self.background)
        return self._replace(X=read(self.X), background=background)

    def take_features(self, features: np.ndarray | None) -> "Question":
        """Return the question to a model of some features; None for all."""
        from sumwise.data.frames.selection import take_features

        if features is None:
            return self
        background = self.background
        if background is not None:
            background = take_features(background, features)
        return self._replace(X=take_features(self.X, features), background=background)


class ExplainMixin:
    """Adds ``explain`` to estimators that have an attribution."""

    n_features_in_: int

    @property
    def _scale(self) -> str:
        """What the contributions add up to."""
        raise NotImplementedError

    def _attribute(self, question: Question) -> "Attribution":
        """Return the contributions to the outputs; of two classes, to that of the second."""
        raise NotImplementedError

    def _name_targets(self, n_outputs: int) -> tuple[str, ...]:
        """Return the names of outputs that are no classes."""
        return tuple(f"output {k}" for k in range(n_outputs))

    def _vote_with_labels(self) -> "ExplainMixin":
        """Return a classifier whose probabilities are 0 and 1, for votes with labels."""
        raise ExplanationError(
            "it votes with labels, which jump from one class to another and are no sums of "
            "contributions, unless members are decision trees; use votes='soft'"
        )

    @fill_docstring(**EXPLAIN_TEXTS)
    def explain(
        self, X: Any, *, background: Any = None, interactions: bool = False
    ) -> "Explanation":
        """Return how much each feature contributes to the score of each row (SHAP values).

        {summary}

        Parameters
        ----------
        {parameters}

        Returns
        -------
        {returns}

        Notes
        -----
        {scores}
        """
        return explain_rows(self, Question(X, background, bool(interactions)))


def explain_rows(model: Any, question: Question) -> "Explanation":
    """Return the contributions with the values of X and with names."""
    from sumwise.data.frames.values import show_values
    from sumwise.estimators.describing.members import name_inputs
    from sumwise.inspection.explanation import Explanation

    check_is_fitted(model)
    attribution = model._attribute(question)
    n_rows, _, n_outputs = attribution.values.shape
    names = getattr(model, "feature_names_in_", None)
    ignores = names is not None and getattr(model, "extra_columns", "error") == "ignore"
    absent = np.nan if getattr(model, "sparse_zeros", "value") == "missing" else 0.0
    is_single = n_outputs == 1
    pairs = attribution.interactions
    return Explanation(
        values=attribution.values[..., 0] if is_single else attribution.values,
        base_values=np.tile(attribution.base, (n_rows, 1))[:, 0 if is_single else slice(None)],
        data=show_values(question.X, names if ignores else None, absent),
        feature_names=tuple(name_inputs(model)),
        output_names=_name_outputs(model, n_outputs),
        interactions=pairs[..., 0] if pairs is not None and is_single else pairs,
        scale=model._scale,
    )


def _name_outputs(model: Any, n_outputs: int) -> tuple[str, ...] | str | None:
    """Return the classes, or names of targets; a single output has a name or None."""
    classes = getattr(model, "classes_", None)
    if isinstance(classes, list):
        return tuple(f"{k}: {label}" for k, own in enumerate(classes) for label in own.tolist())
    if classes is not None and n_outputs == 1:
        return str(classes[-1])
    if classes is not None and n_outputs == len(classes):
        return tuple(map(str, classes.tolist()))
    return None if n_outputs == 1 else model._name_targets(n_outputs)


# --- attributions of models, for the methods ``_attribute`` ---


def attribute_model(
    model: Model,
    question: Question,
    read: Callable[[Any], Any],
    n_jobs: int | None,
    device: str = "cpu",
) -> "Attribution":
    """Return the contributions to the raw scores of trees, or of a linear model.

    ``read`` checks X and returns it as kernels read it. The attribution is to its columns, and is
    found on a device, if one is named.
    """
    from sumwise.inspection.attribution import attribute_rows

    X = read(question.X)
    background = None if question.background is None else read(question.background)
    n_leaves = model.n_features if isinstance(model, LinearEnsemble) else model.n_leaves
    n_compared = 1 if background is None else background.shape[0]
    with start_team(n_jobs, X.shape[0] * n_leaves * n_compared) as team:
        return attribute_rows(model, X, background, question.interactions, team, device)


class WeightedMember(NamedTuple):
    """A fitted member of an ensemble, and what is needed to add it up."""

    label: str  # in error messages
    model: Any
    weight: float
    features: np.ndarray | None = None  # those it was fitted on; None for all
    places: np.ndarray | None = None  # its classes among all; None if it knows them by these


def attribute_numbers(
    members: Iterable[WeightedMember], question: Question, n_features: int
) -> "Attribution":
    """Return the contributions to a weighted sum of regressors."""
    from sumwise.inspection.attribution import add_attributions

    parts = []
    for member in members:
        own = _ask_member(member, question, n_features, (PREDICTION,))
        parts.append(own.scale(member.weight))
    return add_attributions(parts)


def attribute_classes(
    members: Iterable[WeightedMember],
    question: Question,
    n_features: int,
    n_classes: int,
    by_label: bool = False,
) -> "Attribution":
    """Return the contributions to a weighted sum of the probabilities, or votes, of classifiers.

    Members know the classes by their indices; a member may know only some of them.
    """
    from sumwise.estimators.describing.members import find_class_places
    from sumwise.inspection.attribution import add_attributions

    parts = []
    for member in members:
        own = _ask_member(member, question, n_features, (PROBABILITY, SHARE), by_label)
        places = member.places
        if places is None:
            places = find_class_places(member.model, n_classes)
        slopes, offset = _place_classes(places, n_classes)
        parts.append(own.mix_outputs(member.weight * slopes, member.weight * offset))
    return add_attributions(parts)


def _place_classes(places: np.ndarray, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the linear function from a member's outputs to probabilities of all classes.

    The output of a member of two classes is the probability of the second, and so is that of an
    ensemble of two classes.
    """
    offset = np.zeros(n_classes)
    if places.size > 2:
        slopes = np.zeros((places.size, n_classes))
        slopes[np.arange(places.size), places] = 1.0
    else:
        slopes = np.zeros((1, n_classes))
        offset[places[0]] = 1.0
        if places.size == 2:
            slopes[0, places] = -1.0, 1.0
    return (slopes[:, 1:], offset[1:]) if n_classes == 2 else (slopes, offset)


def _ask_member(
    member: WeightedMember,
    question: Question,
    n_features: int,
    scales: Collection[str],
    by_label: bool = False,
) -> "Attribution":
    """Return the contributions to the outputs of one member, by features of the ensemble."""
    from sumwise.estimators.members import name_failure

    model = _unwrap(member.model)
    with name_failure(member.label, model, "explain"):
        if not isinstance(model, ExplainMixin):
            raise ExplanationError(
                "it is not a model of sumwise with a method explain; sumwise.from_sklearn, "
                "from_xgboost, from_lightgbm and from_catboost convert trees of other libraries"
            )
        if by_label:
            model = model._vote_with_labels()
        if model._scale not in scales:
            is_class = PROBABILITY in scales
            raise ExplanationError(
                f"its contributions add up to its {model._scale}, and the ensemble averages "
                f"{'probabilities' if is_class else 'predictions'}, which are another "
                "function of the features; explain the members one by one (the mean of their "
                f"explanations explains their mean {model._scale}), or use members whose "
                "contributions add up to what is averaged, such as forests"
                f"{' without calibrate' if is_class else ''}"
            )
        own = model._attribute(question.take_features(member.features))
    if member.features is None:
        return own
    return own.place_features(member.features, n_features)


def _unwrap(model: Any) -> Any:
    """Return a model that was wrapped to keep it from being fitted."""
    from sklearn.frozen import FrozenEstimator

    while isinstance(model, FrozenEstimator):
        model = model.estimator
    return model


def weigh_members(
    labels: Sequence[str], models: Sequence[Any], weights: np.ndarray | None
) -> list[WeightedMember]:
    """Return members with their weights, equal ones if there are none; leave out those of 0."""
    if weights is None:
        weights = np.full(len(models), 1.0 / len(models))
    items = zip(labels, models, weights.tolist(), strict=True)
    return [WeightedMember(*item) for item in items if item[2] != 0.0]
