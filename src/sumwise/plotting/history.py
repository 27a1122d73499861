"""Learning curves: losses and scores after each round of training."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from sumwise.errors import DataError
from sumwise.inspection.colors import COLORS
from sumwise.plotting.axes import LINES, Axes, check_data, document_plot, get_axes


class LearningCurves(NamedTuple):
    """Losses and scores after each round.

    Attributes
    ----------
    rounds : ndarray of int
        Numbers of rounds: 1, 2, ...
    scores : dict of str to ndarray of float
        By name, such as "training_loss", "validation_loss" and "validation_score".
    best_round : int
        Number of rounds that the model kept.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.plotting import LearningCurves, plot_learning_curves
    >>> loss = np.array([3.0, 2.0, 2.5])
    >>> ax = plot_learning_curves(LearningCurves(np.arange(1, 4), {"validation_loss": loss}, 2))
    """

    rounds: np.ndarray
    scores: Mapping[str, np.ndarray]
    best_round: int


def learning_curves(model: Any) -> LearningCurves:
    """Read the history of a boosted model.

    Parameters
    ----------
    model : fitted estimator
        A model with ``history_`` and ``best_iteration_``, such as gradient boosting of sumwise.

    Returns
    -------
    LearningCurves

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sumwise import GradientBoostingRegressor
    >>> from sumwise.plotting import learning_curves
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = GradientBoostingRegressor(early_stopping=True, random_state=0).fit(X, y)
    >>> list(learning_curves(model).scores)
    ['validation_loss']
    """
    history = getattr(model, "history_", None)
    if history is None:
        raise DataError(f"{type(model).__name__} has no history_: it is not fitted, or keeps none")
    scores = {name: np.asarray(values) for name, values in history.items() if len(values)}
    if not scores:
        raise DataError(
            "history_ is empty: fit with X_val or early_stopping=True, or with "
            "track_training_loss=True for the training loss"
        )
    n_rounds = max(values.size for values in scores.values())
    return LearningCurves(np.arange(1, n_rounds + 1), scores, int(model.best_iteration_))


@document_plot
def plot_learning_curves(data: LearningCurves, ax: Axes | None = None) -> Axes:
    """Draw losses against rounds, and scores, where higher is better, on a second axis.

    Parameters
    ----------
    data : LearningCurves
        From :func:`learning_curves`.
    {ax}

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.plotting import LearningCurves, plot_learning_curves
    >>> loss = np.array([3.0, 2.0, 2.5])
    >>> data = LearningCurves(np.arange(1, 4), {"validation_loss": loss}, best_round=2)
    >>> plot_learning_curves(data).get_ylabel()
    'loss'
    """
    check_data(LearningCurves, data, "learning_curves")
    ax = get_axes(ax)
    # A scorer such as neg_log_loss is a score: higher is better.
    losses = [name for name in data.scores if name.endswith("loss") and "neg_" not in name]
    others = [name for name in data.scores if name not in losses]
    other_ax = ax.twinx() if losses and others else ax
    lines = []
    for i, name in enumerate([*losses, *others]):
        values = data.scores[name]
        target = ax if name in losses else other_ax
        color, style = COLORS[i % len(COLORS)], LINES[i % len(LINES)]
        label = name.replace("_", " ")
        rounds = data.rounds[: values.size]
        lines += target.plot(rounds, values, color=color, linestyle=style, label=label)
    last = ax.axvline(data.best_round, color="0.3", linewidth=1.2, linestyle=":")
    last.set_label(f"best round: {data.best_round}")
    ax.set_xlabel("round")
    ax.set_ylabel("loss" if losses else "score")
    if other_ax is not ax:
        other_ax.set_ylabel("score")
    # Above the axes, where it cannot hide a line of the second axis.
    handles = [*lines, last]
    ax.legend(handles=handles, ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return ax
