"""Kappa-error diagrams, and matrices of pairwise measures."""

from collections.abc import Mapping

import numpy as np

from sumwise.diversity import KappaErrorPoints, PairwiseMatrix
from sumwise.inspection.colors import COLORS
from sumwise.plotting.axes import (
    MARKERS,
    MOST_LABELS,
    Axes,
    check_data,
    document_plot,
    get_axes,
    name_data,
)

# Values are written into the cells of matrices up to this size.
_MOST_WRITTEN = 12


@document_plot
def plot_kappa_error(
    points: KappaErrorPoints | Mapping[str, KappaErrorPoints], ax: Axes | None = None
) -> Axes:
    """Draw a kappa-error diagram: one point per pair of members of an ensemble.

    Parameters
    ----------
    points : KappaErrorPoints or dict of str to KappaErrorPoints
        From :func:`sumwise.diversity.kappa_error_points`; a dict compares ensembles.
    {ax}

    Examples
    --------
    >>> from sumwise.diversity import kappa_error_points
    >>> from sumwise.plotting import plot_kappa_error
    >>> points = kappa_error_points([[0, 0, 1], [0, 1, 1], [1, 1, 0]], y=[0, 1, 1])
    >>> ax = plot_kappa_error({"three learners": points})
    >>> ax.get_xlabel()
    'kappa of two members'
    """
    named = name_data(KappaErrorPoints, points, "sumwise.diversity.kappa_error_points")
    ax = get_axes(ax)
    for i, (name, data) in enumerate(named.items()):
        color, marker = COLORS[i % len(COLORS)], MARKERS[i % len(MARKERS)]
        alpha = 0.7 if data.kappa.size < 200 else 0.35
        ax.scatter(data.kappa, data.error, s=18, c=color, marker=marker, alpha=alpha, linewidths=0)
        # The center is large, and only the center is in the legend.
        center = float(data.kappa.mean()), float(data.error.mean())
        ax.scatter(
            *center, s=110, c=color, marker=marker, edgecolors="white", linewidths=1.5, label=name
        )
    ax.set_xlabel("kappa of two members")
    ax.set_ylabel("mean of their errors")
    if any(named):
        ax.legend(title="large: mean of all pairs")
    return ax


@document_plot
def plot_diversity_matrix(matrix: PairwiseMatrix, ax: Axes | None = None) -> Axes:
    """Draw a pairwise measure of the members as colors, small matrices also with numbers.

    Parameters
    ----------
    matrix : PairwiseMatrix
        From :func:`sumwise.diversity_matrix` or :func:`sumwise.diversity.pairwise_matrix`.
    {ax}

    Examples
    --------
    >>> from sumwise import diversity_matrix
    >>> from sumwise.plotting import plot_diversity_matrix
    >>> ax = plot_diversity_matrix(diversity_matrix([[0, 0, 1], [0, 1, 1], [1, 1, 0]]))
    >>> ax.get_title()
    'kappa'
    """
    check_data(PairwiseMatrix, matrix, "sumwise.diversity_matrix")
    n_learners = len(matrix.labels)
    ax = get_axes(ax, 6.4, 5.4)
    image = ax.imshow(matrix.values, cmap="cividis")
    ax.figure.colorbar(image, ax=ax)
    ax.set_title(matrix.measure.replace("_", " "))
    places = np.arange(0, n_learners, -(-n_learners // MOST_LABELS))
    names = [matrix.labels[place] for place in places]
    turn = 90 if max(map(len, names)) * len(names) > 50 else 0
    ax.set_xticks(places, names, rotation=turn)
    ax.set_yticks(places, names)
    if n_learners <= _MOST_WRITTEN:
        middle = (matrix.values.min() + matrix.values.max()) / 2
        for (i, j), value in np.ndenumerate(matrix.values):
            color = "white" if value <= middle else "black"
            ax.text(j, i, f"{value:.2f}", ha="center", va="center", color=color, fontsize=9)
    return ax
