"""What ``fit`` measures after each round: the metrics of ``scoring`` on validation sets."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from sumwise.errors import DataError, ParameterError
from sumwise.estimators.boosting.fitted import BaseFittedBoosting, know_scores
from sumwise.estimators.boosting.parameters import BoostingParameters
from sumwise.estimators.boosting.rows import FitData, LabeledRows
from sumwise.estimators.scoring import Scorer, resolve_scoring, score_known
from sumwise.losses.links import LINKS
from sumwise.training.boost import EvaluatedRows, ValidationScorer
from sumwise.tree import Ensemble

# Name of the rows of X_val, or of those held out of X.
VALIDATION = "validation"
# Names of the loss, and of a single metric.
_LOSS, _SCORE = "loss", "score"

# Metrics by name, in their order; None stands for the loss.
Metrics = Mapping[str, Scorer | None]


def read_eval_sets(
    read: Callable[[str, Any, Any, Any, Any], LabeledRows | None],
    eval_set: Any,
    eval_names: Any,
    eval_sample_weight: Any,
    eval_init_score: Any,
) -> list[LabeledRows]:
    """Check the validation sets that ``fit`` got as pairs (X, y), and their names.

    ``read`` returns the checked rows of a name, X, y, weights and initial scores.
    """
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
    for k, (name, (X, y), *more) in enumerate(zip(names, pairs, weights, scores, strict=True)):
        try:
            rows = read(name, X, y, *more)
        except (DataError, ParameterError) as error:
            raise type(error)(f"eval_set[{k}]: {error}") from None
        if rows is None:
            raise DataError(f"eval_set[{k}] has no X")
        sets.append(rows)
    return sets


def _list_pairs(eval_set: Any) -> list[Any]:
    """Return a list of pairs; a single pair may be given as a tuple."""
    if eval_set is None:
        return []
    if isinstance(eval_set, tuple) and not all(isinstance(item, tuple) for item in eval_set):
        eval_set = [eval_set]
    is_list = isinstance(eval_set, (list, tuple))
    if not is_list or not all(isinstance(p, (list, tuple)) and len(p) == 2 for p in eval_set):
        raise DataError("eval_set must be a list of pairs (X, y)")
    return list(eval_set)


def resolve_metrics(params: BoostingParameters) -> Metrics:
    """Return the metrics of ``scoring``."""
    scoring = params.scoring
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
            f"{type(params).__name__}: scoring={scoring!r}; several metrics need different names, "
            "as the keys of a dict, and 'loss' is the name of the loss"
        )
    return {name: None if _is_loss(m) else resolve_scoring(m, params) for name, m in named}


def _is_loss(metric: Any) -> bool:
    return isinstance(metric, str) and metric == _LOSS


def _name_metric(metric: Any) -> str:
    if isinstance(metric, str):
        return metric
    function = getattr(metric, "_score_func", metric)  # of a scorer made by make_scorer
    function = function.func if isinstance(function, partial) else function
    return getattr(function, "__name__", type(function).__name__)


def name_watched(metrics: Metrics, set_name: str) -> tuple[str, bool]:
    """Return the score that early stopping watches, and whether lower is better.

    It is the last metric on a set, by its name in the history.
    """
    name = list(metrics)[-1]
    return f"{set_name}_{name}", metrics[name] is None


def make_evaluations(
    model: BaseFittedBoosting, metrics: Metrics, data: FitData, link: str
) -> list[EvaluatedRows]:
    """Return what is measured after each round.

    ``model`` has everything that ``fit`` learns before training; scorers get copies of it.
    """
    scorers = {name: scorer for name, scorer in metrics.items() if scorer is not None}
    valid = data.rows.valid

    def evaluate(name: str, source: LabeledRows, rows: np.ndarray, first: int) -> EvaluatedRows:
        if not scorers:
            return EvaluatedRows(name, rows)
        taken = source.take(rows - first)
        own = {n: _make_scorer(model, scorer, *taken, link) for n, scorer in scorers.items()}
        return EvaluatedRows(name, rows, own)

    if data.train.measured:
        return [evaluate(name, data.train, own, 0) for name, own in data.train.measured.items()]
    if not data.sets:
        return [evaluate(VALIDATION, data.train, valid, 0)] if data.rows.n_valid else []
    # The rows of the sets are numbered after those of X, one set after the other.
    firsts = np.cumsum([data.train.n_rows, *(rows.n_rows for rows in data.sets)])
    places = np.searchsorted(valid, firsts)
    return [
        evaluate(rows.name, rows, valid[places[k] : places[k + 1]], int(firsts[k]))
        for k, rows in enumerate(data.sets)
    ]


def _make_scorer(
    model: BaseFittedBoosting,
    scorer: Scorer,
    X: Any,
    y: np.ndarray,
    weight: np.ndarray | None,
    link: str,
) -> ValidationScorer:
    """Return a function that scores rows by their raw scores in training, without predicting them.

    The scorer gets a copy of ``model`` with the rounds so far, which can predict other rows.
    """

    def score(raw: np.ndarray, make_ensemble: Callable[[], Ensemble]) -> float:
        so_far: Any = know_scores(model, X, raw)
        so_far.ensemble_ = _EnsembleSoFar(link, make_ensemble)
        return score_known(scorer, so_far, y, weight, X)

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
