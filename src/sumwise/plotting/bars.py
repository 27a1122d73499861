"""Weights of members, and importances of features."""

from typing import Any, NamedTuple

import numpy as np

from sumwise.errors import DataError, ParameterError
from sumwise.estimators.members import open_ensemble
from sumwise.inspection.colors import COLORS
from sumwise.plotting.axes import MOST_LABELS, Axes, check_data, document_plot, get_axes


class LabeledValues(NamedTuple):
    """Values with names.

    Attributes
    ----------
    labels : tuple of str
        Names.
    values : ndarray of float
        One value per name.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.plotting import LabeledValues, plot_weights
    >>> ax = plot_weights(LabeledValues(("tree", "forest"), np.array([0.3, 0.7])))
    """

    labels: tuple[str, ...]
    values: np.ndarray


def ensemble_weights(model: Any) -> LabeledValues:
    """Read the weights that an ensemble gives to its members.

    Parameters
    ----------
    model : fitted ensemble
        Its weights are ``estimator_weights_`` (as in AdaBoost), ``weights_`` or ``weights`` (as in
        voting); without any of these, all members have the same weight. Stacks are refused,
        because a meta-learner need not weight members.

    Returns
    -------
    LabeledValues

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import AdaBoostClassifier
    >>> from sumwise.plotting import ensemble_weights
    >>> model = AdaBoostClassifier(n_estimators=3, random_state=0).fit(*load_iris(return_X_y=True))
    >>> ensemble_weights(model).labels
    ('0', '1', '2')
    """
    names, members = open_ensemble(model)
    if hasattr(model, "final_estimator_"):
        raise DataError(
            f"{type(model).__name__} has no weights of members: a meta-learner combines them"
        )
    weights = None
    for attribute in ("estimator_weights_", "weights_", "weights"):
        weights = getattr(model, attribute, None) if weights is None else weights
    if weights is None:
        return LabeledValues(tuple(names), np.full(len(members), 1.0 / len(members)))
    values = np.asarray(weights, dtype=np.float64)
    given = getattr(model, "named_estimators", {})
    if values.size > len(members) and set(names) <= set(given):
        # One weight per given member, or one per member that was not dropped.
        kept = [name for name, member in given.items() if not isinstance(member, str)]
        owners = list(given) if values.size == len(given) else kept
        values = values[[owners.index(name) for name in names]]
    # AdaBoost of scikit-learn has entries for members that it did not fit.
    values = values[: len(members)]
    if values.shape != (len(members),):
        raise DataError(f"{len(members)} members have weights of shape {np.shape(weights)}")
    return LabeledValues(tuple(names), values)


def feature_importances(model: Any, *, n_features: int | None = 20) -> LabeledValues:
    """Read the importances of features, the largest first.

    Parameters
    ----------
    model : fitted model
        A model with ``feature_importances_``.
    n_features : int or None, default=20
        Number of features to return; None for all.

    Returns
    -------
    LabeledValues

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sumwise import GradientBoostingClassifier
    >>> from sumwise.plotting import feature_importances
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = GradientBoostingClassifier(n_estimators=5).fit(X, y)
    >>> feature_importances(model, n_features=1).labels[0].split()[0]
    'petal'
    """
    if n_features is not None and n_features < 1:
        raise ParameterError(f"n_features={n_features!r}: must be at least 1, or None")
    values = getattr(model, "feature_importances_", None)
    if values is None:
        raise DataError(f"{type(model).__name__} has no feature_importances_")
    names = getattr(model, "feature_names_in_", [f"x{i}" for i in range(len(values))])
    order = np.argsort(-np.asarray(values), kind="stable")[:n_features]
    return LabeledValues(tuple(str(names[i]) for i in order), np.asarray(values)[order])


@document_plot
def plot_weights(data: LabeledValues, ax: Axes | None = None) -> Axes:
    """Draw weights of members as bars.

    Parameters
    ----------
    data : LabeledValues
        From :func:`ensemble_weights`.
    {ax}

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.plotting import LabeledValues, plot_weights
    >>> ax = plot_weights(LabeledValues(("tree", "forest"), np.array([0.3, 0.7])))
    >>> ax.get_xlabel()
    'weight'
    """
    check_data(LabeledValues, data, "ensemble_weights")
    return _draw_bars(data, "weight", ax)


@document_plot
def plot_importances(data: LabeledValues, ax: Axes | None = None) -> Axes:
    """Draw importances of features as bars.

    Parameters
    ----------
    data : LabeledValues
        From :func:`feature_importances`.
    {ax}

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.plotting import LabeledValues, plot_importances
    >>> ax = plot_importances(LabeledValues(("age", "size"), np.array([0.7, 0.3])))
    >>> ax.get_xlabel()
    'importance'
    """
    check_data(LabeledValues, data, "feature_importances")
    return _draw_bars(data, "importance", ax)


def _draw_bars(data: LabeledValues, name: str, ax: Axes | None) -> Axes:
    """Bars from top to bottom, in the order of the data."""
    n_bars = len(data.labels)
    ax = get_axes(ax, 6.4, float(np.clip(0.28 * n_bars + 1.0, 2.4, 12.0)))
    places = np.arange(n_bars)
    ax.barh(places, data.values, color=COLORS[0])
    named = places[:: -(-n_bars // MOST_LABELS)]
    ax.set_yticks(named, [data.labels[place] for place in named])
    ax.invert_yaxis()
    ax.axvline(0.0, color="black", linewidth=0.8)
    ax.set_xlabel(name)
    return ax
