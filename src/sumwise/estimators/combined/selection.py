"""Ensemble selection: from many candidates to the few that predict best together."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import check_random_state

from sumwise.combine.average import choose_exponent, scale_back
from sumwise.combine.bayes import score_classes
from sumwise.combine.classes import one_hot
from sumwise.combine.select import (
    Score,
    Step,
    count_selected,
    order_by_orientation,
    prune_by_reduced_error,
    select_by_kappa,
    select_greedily,
    select_in_bags,
)
from sumwise.docstrings import fill_docstring
from sumwise.errors import DataError
from sumwise.estimators.combined.base import MEMBER_TEXTS, FitJob, HeldOut, MemberEnsemble
from sumwise.estimators.combined.by_task import RegressorEnsemble
from sumwise.estimators.combined.votes import SOFT, VOTE_PARAMETERS, VotesEnsemble
from sumwise.estimators.fitted_state import fit_as_a_whole
from sumwise.estimators.input.parameters import (
    check_choice,
    check_integer,
    check_number,
    extend_parameters,
)
from sumwise.estimators.input.targets import encode_labels
from sumwise.estimators.scoring import (
    KnownClassifier,
    KnownRegressor,
    Scorer,
    resolve_scoring,
    score_known,
)

_METHODS = ("greedy", "reduced_error", "orientation", "kappa")  # the last two need classes

# Steps of greedy selection without n_selected.
_GREEDY_STEPS = 50

_TEXTS = {
    **MEMBER_TEXTS,
    "parameters": """
method : str, default="greedy"
    "greedy": repeatedly add the member that improves the ensemble most; a member may be added more
    than once, which gives it weight (Caruana et al., 2004). "reduced_error": members of equal
    weight, added greedily; after each addition, every member may be exchanged for a better one
    (Margineantu and Dietterich, 1997). For classifiers also "orientation": members that correct
    the errors of the ensemble (Martínez-Muñoz and Suárez, 2006); and "kappa": the pairs that agree
    least (Margineantu and Dietterich, 1997).
n_selected : int or None, default=None
    Number of members to choose; greedy selection tries as many steps and keeps the best number.
    None: 50 greedy steps, the members that pull in the right direction for "orientation", and half
    of the members otherwise.
n_start : int, default=5
    Number of best single members that greedy selection starts from.
n_bags : int, default=0
    Number of greedy selections from random subsets of the members, whose weights are averaged; 0
    for one selection from all members.
bag_fraction : float, default=0.5
    Share of the members in each subset.
scoring : str or callable, default="loss"
    What to optimize. "loss": the log loss of probabilities, or the squared error of labels and
    numbers. Otherwise the name of a scikit-learn scorer, a function of (estimator, X, y) that is
    higher for better predictions, or a metric, a function of (y_true, y_pred); lower is better if
    its name ends in "_loss", "_error" or "_deviance".
random_state : int, RandomState or None, default=None
    Seed of the random subsets.""",
    "own_attributes": """
selected_ : list of str
    Names of the chosen members.
weights_ : ndarray of shape (n_candidates,)
    Weight of every candidate, 0 for those that were not chosen; the sum is 1.
history_ : list of lists of Step
    The member added and the score reached in each step, one list per subset; one list if there are
    no subsets.""",
    "votes": VOTE_PARAMETERS,
}


class _EnsembleSelection(MemberEnsemble):
    """Shared by classifier and regressor."""

    @extend_parameters(MemberEnsemble)
    def __init__(
        self,
        estimators: Any,
        *,
        method: str = "greedy",
        n_selected: int | None = None,
        n_start: int = 5,
        n_bags: int = 0,
        bag_fraction: float = 0.5,
        scoring: str | Callable[..., float] = "loss",
        random_state: Any = None,
        **shared: Any,
    ) -> None:
        super().__init__(estimators, **shared)
        self.method = method
        self.n_selected = n_selected
        self.n_start = n_start
        self.n_bags = n_bags
        self.bag_fraction = bag_fraction
        self.scoring = scoring
        self.random_state = random_state

    @fit_as_a_whole
    def fit(self, X: Any, y: Any, *, out_of_fold: Any = None, **fit_params: Any) -> Self:
        """Choose members by their out-of-fold predictions, and fit the chosen ones.

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n_rows, n_features)
            Passed to the members unchanged, except that a list of rows becomes an array.
        y : array-like of shape (n_rows,)
            Target: numbers or class labels.
        out_of_fold : array-like of shape (n_members, n_rows, ...), default=None
            Predictions of each candidate for rows that it has not seen: numbers or probabilities;
            labels for classifiers that vote with labels. None: they are computed by ``cv``.
        **fit_params : dict
            ``sample_weight``, for the members and the score, and ``groups``, for the folds. With
            metadata routing, whatever the members and the splitter request.

        Returns
        -------
        self
        """
        self._check_parameters()
        job = self._start_fit(X, y, fit_params)
        if out_of_fold is None:
            held_out = self._predict_held_out(job)
        else:
            held_out = HeldOut(self._read_given(out_of_fold, job), job.y, job.weight)
        self._choose(held_out)
        self._fit(job)
        return self

    def _fit(self, job: FitJob) -> None:
        chosen = np.flatnonzero(self.weights_).tolist()
        self.selected_ = [job.names[i] for i in chosen]
        self._fit_members(job.choose(chosen))

    def _check_parameters(self) -> None:
        check_choice(self, "method", _METHODS if is_classifier(self) else _METHODS[:2])
        check_integer(self, "n_selected", 1, optional=True)
        check_integer(self, "n_start", 0)
        check_integer(self, "n_bags", 0)
        check_number(self, "bag_fraction", 0.0, 1.0, open_low=True)
        self._find_scorer()

    def _read_given(self, given: Any, job: FitJob) -> np.ndarray:
        """Return the user's out-of-fold predictions, checked."""
        predictions = np.asarray(given, dtype=np.float64)
        return _check_shape(predictions, (len(job.members), len(job.y)))

    def _choose(self, held_out: HeldOut) -> None:
        """Set weights and history."""
        exponent = choose_exponent(held_out.predictions, held_out.y)
        if exponent:  # squares and sums of such numbers would overflow
            predictions, y = (
                np.ldexp(each, -exponent) for each in (held_out.predictions, held_out.y)
            )
            held_out = HeldOut(predictions, y, held_out.weight)
        score = self._make_score(held_out, exponent)
        self.history_ = self._select(held_out, score)
        self.weights_ = count_selected(self.history_, len(held_out.predictions))
        if exponent and self.scoring == "loss":
            self.history_ = [
                [Step(m, float(scale_back(value, 2 * exponent))) for m, value in steps]
                for steps in self.history_
            ]

    def _select(self, held_out: HeldOut, score: Score) -> list[list[Step]]:
        """Return the steps of each bag; one list without bags."""
        predictions = held_out.predictions
        n_members = len(predictions)
        n_keep = self.n_selected or max(1, (n_members + 1) // 2)
        if self.method == "greedy":
            return self._select_greedily(predictions, score)
        if self.method == "reduced_error":
            steps = prune_by_reduced_error(predictions, score, n_keep)
        else:
            chosen = self._choose_by_labels(held_out, n_keep)
            means = [predictions[chosen[: i + 1]].mean(axis=0) for i in range(len(chosen))]
            steps = [Step(m, score(mean)) for m, mean in zip(chosen, means, strict=True)]
        return [steps]

    def _choose_by_labels(self, held_out: HeldOut, n_keep: int) -> list[int]:
        labels = held_out.predictions.argmax(axis=2)
        if self.method == "kappa":
            return select_by_kappa(labels, n_keep)
        order, angles = order_by_orientation(labels == held_out.y)
        if self.n_selected is None:
            n_keep = max(1, int(np.sum(angles < np.pi / 2)))
        return [int(member) for member in order[:n_keep]]

    def _select_greedily(self, predictions: np.ndarray, score: Score) -> list[list[Step]]:
        n_steps = self.n_selected or _GREEDY_STEPS
        n_start = min(int(self.n_start), n_steps)
        if self.n_bags == 0:
            return [select_greedily(predictions, score, n_steps, n_start)]
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        return select_in_bags(
            predictions,
            score,
            n_steps,
            n_start,
            int(self.n_bags),
            float(self.bag_fraction),
            seed,
        )

    def _make_score(self, held_out: HeldOut, exponent: int) -> Score:
        """Return the function that scores an average of predictions.

        A scorer gets numbers multiplied by 2**exponent.
        """
        scorer = self._find_scorer()
        if scorer is None:
            return self._make_loss_score(held_out)
        y = self._to_labels(scale_back(held_out.y, exponent) if exponent else held_out.y)

        def score(mean: np.ndarray) -> float:
            known = self._stand_in(scale_back(mean, exponent) if exponent else mean)
            return score_known(scorer, known, y, held_out.weight)

        return score

    def _find_scorer(self) -> Scorer | None:
        """Return what ``scoring`` stands for, None for the loss."""
        is_loss = isinstance(self.scoring, str) and self.scoring == "loss"
        return None if is_loss else resolve_scoring(self.scoring, self)

    def _make_loss_score(self, held_out: HeldOut) -> Score:
        y, weight = held_out.y, held_out.weight
        return lambda mean: -float(np.average((mean - y) ** 2, weights=weight))

    def _stand_in(self, mean: np.ndarray) -> Any:
        return KnownRegressor(mean)

    def _get_weights(self) -> np.ndarray | None:
        return self.weights_[self.weights_ > 0.0]


@fill_docstring(**_TEXTS)
class EnsembleSelectionClassifier(VotesEnsemble, _EnsembleSelection):
    """Choose from many classifiers those that vote best together.

    Parameters
    ----------
    {members}
    {parameters}
    {votes}
    {more}

    Attributes
    ----------
    classes_ : ndarray
        Class labels, sorted.
    votes_ : {"hard", "soft"}
        What members vote with.
    {own_attributes}
    {attributes}

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from sumwise import EnsembleSelectionClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> trees = [DecisionTreeClassifier(max_depth=d, random_state=0) for d in (1, 2, 3, 4)]
    >>> model = EnsembleSelectionClassifier(trees, scoring="accuracy").fit(X, y)
    >>> "decisiontreeclassifier-1" in model.selected_  # a stump
    False
    """

    @extend_parameters(_EnsembleSelection)
    def __init__(
        self, estimators: Any, *, votes: str = "auto", calibrate: Any = None, **shared: Any
    ) -> None:
        _EnsembleSelection.__init__(self, estimators, **shared)
        self.votes = votes
        self.calibrate = calibrate

    def _read_given(self, given: Any, job: FitJob) -> np.ndarray:
        shape = (len(job.members), len(job.y))
        n_classes = self.classes_.size
        if self.votes_ == SOFT:
            return _check_shape(np.asarray(given, dtype=np.float64), (*shape, n_classes))
        labels = _check_shape(np.asarray(given), shape)
        places = encode_labels("out_of_fold", labels.ravel(), self.classes_)
        return one_hot(places.reshape(shape), n_classes)

    def _make_loss_score(self, held_out: HeldOut) -> Score:
        y, weight = held_out.y, held_out.weight
        if self.votes_ == SOFT:
            return lambda mean: float(np.average(score_classes(mean, y), weights=weight))
        truth = one_hot(y, self.classes_.size)
        return lambda mean: -float(np.average(((mean - truth) ** 2).sum(axis=1), weights=weight))

    def _stand_in(self, mean: np.ndarray) -> Any:
        labels = self.classes_[mean.argmax(axis=1)]
        return KnownClassifier(labels, self.classes_, mean if self.votes_ == SOFT else None)


@fill_docstring(**_TEXTS)
class EnsembleSelectionRegressor(RegressorEnsemble, _EnsembleSelection):
    """Choose from many regressors those whose average is best.

    Parameters
    ----------
    {members}
    {parameters}
    {more}

    Attributes
    ----------
    {own_attributes}
    {attributes}

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import LinearRegression
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from sumwise import EnsembleSelectionRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> trees = [(f"tree{d}", DecisionTreeRegressor(max_depth=d, random_state=0)) for d in (3, 9)]
    >>> model = EnsembleSelectionRegressor([("line", LinearRegression()), *trees]).fit(X, y)
    >>> "line" in model.selected_, "tree9" in model.selected_
    (True, False)
    """


def _check_shape(predictions: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    if predictions.shape != shape:
        raise DataError(
            f"out_of_fold has shape {predictions.shape}, expected {shape}: candidates first, then "
            "rows"
        )
    if predictions.dtype.kind == "f" and not np.isfinite(predictions).all():
        raise DataError("out_of_fold has values that are not finite")
    return predictions
