"""What ``fit`` measures after each round: validation sets, and the metrics of ``scoring``."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from sumwise.errors import DataError, ParameterError
from sumwise.estimators.boosting.fitted import know_scores
from sumwise.estimators.boosting.validation import LabeledRows, read_validation
from sumwise.estimators.scoring import Scorer, resolve_scoring, score_known
from sumwise.losses import Loss
from sumwise.losses.links import LINKS
from sumwise.training.boost import EvaluatedRows
from sumwise.training.session import ValidationScorer
from sumwise.tree import Ensemble

# Rows of X_val, or held out of X.
VALIDATION = "validation"
# Names of the loss, and of the one metric that has no name of its own.
_LOSS, _SCORE = "loss", "score"


class ValidationSet(NamedTuple):
    """Rows that only get scores, and what the history calls them."""

    name: str
    rows: LabeledRows


def read_eval_sets(
    estimator: Any,
    loss: Loss,
    eval_set: Any,
    eval_names: Any,
    eval_sample_weight: Any,
    eval_init_score: Any,
) -> list[ValidationSet]:
    """Check the validation sets that ``fit`` got as pairs (X, y), and their names."""
    pairs = _list_pairs(eval_set)
    names = [f"valid_{k}" for k in range(len(pairs))]
    if eval_names is not None:
        names = [eval_names] if isinstance(eval_names, str) else list(eval_names)
    nothing = [None] * len(pairs)
    weights = nothing if eval_sample_weight is None else eval_sample_weight
    scores = nothing if eval_init_score is None else eval_init_score
    others = {"eval_names": names, "eval_sample_weight": weights, "eval_init_score": scores}
    for what, values in others.items():
        if len(values) != len(pairs):
            raise DataError(f"{what} has {len(values)} entries for {len(pairs)} sets of eval_set")
    if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise DataError(f"eval_names={names!r}: must be different strings")
    if "training" in names:
        raise DataError("eval_names: 'training' is what track_training_loss records; rename it")
    sets = []
    for k, (name, (X, y), weight, score) in enumerate(
        zip(names, pairs, weights, scores, strict=True)
    ):
        try:
            rows = read_validation(estimator, loss, X, y, weight, score)
        except (DataError, ParameterError) as error:
            raise type(error)(f"eval_set[{k}]: {error}") from None
        if rows is None:
            raise DataError(f"eval_set[{k}] has no X")
        sets.append(ValidationSet(name, rows))
    return sets


def _list_pairs(eval_set: Any) -> list[Any]:
    """Return a list of pairs; one pair alone is a tuple."""
    if eval_set is None:
        return []
    if isinstance(eval_set, tuple) and not all(isinstance(item, tuple) for item in eval_set):
        eval_set = [eval_set]
    is_list = isinstance(eval_set, (list, tuple))
    if not is_list or not all(isinstance(p, (list, tuple)) and len(p) == 2 for p in eval_set):
        raise DataError("eval_set must be a list of pairs (X, y)")
    return list(eval_set)


def resolve_metrics(estimator: Any) -> dict[str, Scorer | None]:
    """Return the metrics of ``scoring`` by name, in their order; None stands for the loss."""
    scoring = estimator.scoring
    if isinstance(scoring, Mapping):
        named = list(scoring.items())
    elif isinstance(scoring, (list, tuple)):
        named = [(_name_metric(metric), metric) for metric in scoring]
    else:
        named = [(_LOSS if _is_loss(scoring) else _SCORE, scoring)]
    names = [name for name, _ in named]
    fits = all(isinstance(name, str) and (name == _LOSS) is _is_loss(m) for name, m in named)
    if not named or not fits or len(set(names)) < len(names):
        raise ParameterError(
            f"{type(estimator).__name__}: scoring={scoring!r}; several metrics need different "
            "names, as the keys of a dict, and 'loss' is the name of the loss"
        )
    return {name: None if _is_loss(m) else resolve_scoring(m, estimator) for name, m in named}


def _is_loss(metric: Any) -> bool:
    return isinstance(metric, str) and metric == _LOSS


def _name_metric(metric: Any) -> str:
    if isinstance(metric, str):
        return metric
    function = getattr(metric, "_score_func", metric)  # of a scorer made by make_scorer
    function = function.func if isinstance(function, partial) else function
    return getattr(function, "__name__", type(function).__name__)


def find_watched(estimator: Any, sets: Sequence[ValidationSet]) -> tuple[str, bool]:
    """Return what early stopping watches, the last metric on the last set, as the history calls it.

    And whether lower is better.
    """
    return name_watched(estimator, sets[-1].name if sets else VALIDATION)


def name_watched(estimator: Any, set_name: str) -> tuple[str, bool]:
    """Return the name of the last metric on a set, and whether lower is better."""
    name, metric = list(resolve_metrics(estimator).items())[-1]
    return f"{set_name}_{name}", metric is None


def make_evaluations(
    estimator: Any, train: LabeledRows, sets: Sequence[ValidationSet], valid: np.ndarray, link: str
) -> list[EvaluatedRows]:
    """Return what is measured after each round.

    ``valid`` are the numbers of all rows that only get scores: held out of the training rows, or
    those of the sets, which come after them, one set after the other.
    """
    metrics = {name: metric for name, metric in resolve_metrics(estimator).items() if metric}

    def evaluate(name: str, source: LabeledRows, rows: np.ndarray, first: int) -> EvaluatedRows:
        if not metrics:
            return EvaluatedRows(name, rows)
        taken = source.take(rows - first)
        own = {n: _make_scorer(estimator, metric, *taken, link) for n, metric in metrics.items()}
        return EvaluatedRows(name, rows, own)

    if not sets:
        return [evaluate(VALIDATION, train, valid, 0)] if valid.size else []
    firsts = np.cumsum([train.n_rows, *(part.rows.n_rows for part in sets)])
    places = np.searchsorted(valid, firsts)
    return [
        evaluate(part.name, part.rows, valid[places[k] : places[k + 1]], int(firsts[k]))
        for k, part in enumerate(sets)
    ]


def _make_scorer(
    estimator: Any, scorer: Scorer, X: Any, y: np.ndarray, weight: np.ndarray | None, link: str
) -> ValidationScorer:
    """Return the score of some rows as a function of the raw scores that training has of them.

    ``estimator`` has all that ``fit`` knows before training. Asked for other rows, the model that
    the scorer sees predicts them by the rounds so far.
    """

    def score(raw: np.ndarray, make_ensemble: Callable[[], Ensemble]) -> float:
        model = know_scores(estimator, X, raw)
        model.ensemble_ = _EnsembleSoFar(link, make_ensemble)
        return score_known(scorer, model, y, weight, X)

    return score


class _EnsembleSoFar:
    """An ensemble that is made of its trees only when something other than its link is needed."""

    def __init__(self, link: str, make_ensemble: Callable[[], Ensemble]) -> None:
        self.link = link
        self._make_ensemble = make_ensemble
        self._made: Ensemble | None = None

    def predict_mean(self, raw: np.ndarray) -> np.ndarray:
        return LINKS[self.link](raw)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # copy and pickle ask before __init__ has run
            raise AttributeError(name)
        if self._made is None:
            self._made = self._make_ensemble()
        return getattr(self._made, name)
