"""Decision regions of a classifier of two features."""

from typing import Any, NamedTuple

import numpy as np

from sumwise.errors import DataError, ParameterError
from sumwise.inspection.colors import COLORS
from sumwise.plotting.axes import MARKERS, Axes, check_data, document_plot, get_axes


class DecisionRegions(NamedTuple):
    """Predictions of a classifier on a grid.

    Attributes
    ----------
    horizontal, vertical : ndarray of shape (n_steps,)
        Values of the two features.
    regions : ndarray of int of shape (n_steps, n_steps)
        Index of the predicted class, by vertical and horizontal position.
    classes : ndarray
        The classes.
    points : ndarray of shape (n_rows, 2)
        The given rows.
    point_classes : ndarray of int or None
        Indices of their true classes, if ``y`` was given.
    names : tuple of str
        Names of the two features.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sumwise.plotting import decision_regions
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GaussianNB().fit(X[:, [0, 2]], y)
    >>> decision_regions(model, X[:, [0, 2]], y).regions.shape
    (200, 200)
    """

    horizontal: np.ndarray
    vertical: np.ndarray
    regions: np.ndarray
    classes: np.ndarray
    points: np.ndarray
    point_classes: np.ndarray | None
    names: tuple[str, str]


def decision_regions(
    model: Any, X: Any, y: Any = None, *, n_steps: int = 200, margin: float = 0.08
) -> DecisionRegions:
    """Predict a grid around rows of two features.

    Parameters
    ----------
    model : fitted classifier
        A classifier of two features.
    X : frame, array-like or sparse matrix of shape (n_rows, 2)
        Rows that the grid covers.
    y : array-like of shape (n_rows,), default=None
        Their true labels.
    n_steps : int, default=200
        Points of the grid in each direction.
    margin : float, default=0.08
        How far the grid extends beyond the rows, as a share of their range.

    Returns
    -------
    DecisionRegions

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sumwise.plotting import decision_regions, plot_decision_regions
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> X = X[["sepal length (cm)", "petal length (cm)"]]
    >>> data = decision_regions(GaussianNB().fit(X, y), X, y, n_steps=50)
    >>> data.names
    ('sepal length (cm)', 'petal length (cm)')
    """
    if n_steps < 2:
        raise ParameterError(f"n_steps={n_steps!r}: must be at least 2")
    points = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != 2 or points.shape[0] == 0:
        raise DataError(f"X has shape {points.shape}; regions need two features")
    if not np.isfinite(points).all():
        raise DataError("X has missing or infinite values, which cannot be drawn")
    low, high = points.min(axis=0), points.max(axis=0)
    space = margin * np.where(high > low, high - low, 1.0)
    horizontal, vertical = np.linspace(low - space, high + space, n_steps).T
    grid = np.stack(np.meshgrid(horizontal, vertical), axis=-1).reshape(-1, 2)
    is_frame = hasattr(X, "columns")
    names = tuple(map(str, X.columns)) if is_frame else ("x0", "x1")
    # Frames of pandas and polars can be made from a dict of columns.
    rows = type(X)(dict(zip(X.columns, grid.T, strict=True))) if is_frame else grid
    answers = np.asarray(model.predict(rows))
    labels = None if y is None else np.asarray(y)
    if labels is not None and labels.shape != points.shape[:1]:
        raise DataError(f"y has shape {labels.shape}; X has {points.shape[0]} rows")
    known = answers if labels is None else np.concatenate([answers, labels])
    classes = np.unique(np.concatenate([known, getattr(model, "classes_", known[:0])]))
    return DecisionRegions(
        horizontal,
        vertical,
        np.searchsorted(classes, answers).reshape(n_steps, n_steps),
        classes,
        points,
        None if labels is None else np.searchsorted(classes, labels),
        (names[0], names[1]),
    )


@document_plot
def plot_decision_regions(data: DecisionRegions, ax: Axes | None = None) -> Axes:
    """Draw decision regions, and the rows on top of them.

    Parameters
    ----------
    data : DecisionRegions
        From :func:`decision_regions`.
    {ax}

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sumwise.plotting import decision_regions, plot_decision_regions
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GaussianNB().fit(X[:, [0, 2]], y)
    >>> ax = plot_decision_regions(decision_regions(model, X[:, [0, 2]], y, n_steps=50))
    >>> ax.get_xlabel()
    'x0'
    """
    check_data(DecisionRegions, data, "decision_regions")
    ax = get_axes(ax)
    from matplotlib.colors import ListedColormap, to_rgb

    n_classes = len(data.classes)
    colors = [COLORS[k % len(COLORS)] for k in range(n_classes)]
    tints = ListedColormap([0.65 + 0.35 * np.array(to_rgb(color)) for color in colors])
    grid = (data.horizontal, data.vertical, data.regions)
    ax.pcolormesh(*grid, cmap=tints, vmin=-0.5, vmax=n_classes - 0.5, rasterized=True)
    for k in range(n_classes - 1):
        # Borders, so that regions do not differ by color alone.
        above = (data.regions > k).astype(np.float64)
        if above.min() < above.max():
            ax.contour(*grid[:2], above, levels=[0.5], colors="0.35", linewidths=0.8)
    if data.point_classes is not None:
        for k, label in enumerate(data.classes):
            place = data.points[data.point_classes == k]
            ax.scatter(
                place[:, 0],
                place[:, 1],
                s=24,
                c=colors[k],
                marker=MARKERS[k % len(MARKERS)],
                edgecolors="white",
                linewidths=0.6,
                label=str(label),
            )
        ax.legend(title="true class")
    ax.set_xlabel(data.names[0])
    ax.set_ylabel(data.names[1])
    return ax
