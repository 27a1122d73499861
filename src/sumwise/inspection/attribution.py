"""Attribution: contributions of features as numbers alone, before they get names."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sumwise.data.device_matrix import DeviceMatrix
from sumwise.data.matrix import Matrix
from sumwise.kernels.runtime.threads import Team
from sumwise.tree import Model


@dataclass(frozen=True, eq=False)
class Attribution:
    """Contributions that add up, with the base, to the outputs of a model.

    Contributions are linear in the model: those of a sum of models, or of a linear function of
    outputs, are computed from those of the parts.

    Attributes
    ----------
    values : ndarray of shape (n_rows, n_features, n_outputs)
    base : ndarray of shape (n_outputs,)
    interactions : ndarray of shape (n_rows, n_features, n_features, n_outputs) or None
    """

    values: np.ndarray
    base: np.ndarray
    interactions: np.ndarray | None = None

    @property
    def n_outputs(self) -> int:
        return int(self.base.size)

    def mix_outputs(self, slopes: np.ndarray, offset: np.ndarray) -> "Attribution":
        """Return the attribution of ``outputs @ slopes + offset``."""
        return Attribution(
            self.values @ slopes,
            self.base @ slopes + offset,
            None if self.interactions is None else self.interactions @ slopes,
        )

    def scale(self, factor: float) -> "Attribution":
        """Return the attribution of the outputs times a number."""
        interactions = None if self.interactions is None else self.interactions * factor
        return Attribution(self.values * factor, self.base * factor, interactions)

    def fold_features(self, fold: Callable[[np.ndarray], np.ndarray]) -> "Attribution":
        """Return the attribution to other features.

        ``fold`` distributes an array whose first axis has the features of this attribution.
        """

        def fold_axis(array: np.ndarray, axis: int) -> np.ndarray:
            return np.moveaxis(fold(np.moveaxis(array, axis, 0)), 0, axis)

        interactions = self.interactions
        if interactions is not None:
            interactions = fold_axis(fold_axis(interactions, 1), 2)
        return Attribution(fold_axis(self.values, 1), self.base, interactions)

    def place_features(self, features: np.ndarray, n_features: int) -> "Attribution":
        """Return the attribution to all features, given those that the model knows."""

        def place(by_feature: np.ndarray) -> np.ndarray:
            placed = np.zeros((n_features, *by_feature.shape[1:]))
            np.add.at(placed, features, by_feature)  # a feature may have been drawn twice
            return placed

        return self.fold_features(place)


def add_attributions(parts: Sequence[Attribution]) -> Attribution:
    """Return the attribution of the sum of models, added in their order."""
    first, *others = parts
    values, base = first.values.copy(), first.base.copy()
    interactions = None if first.interactions is None else first.interactions.copy()
    for part in others:
        values += part.values
        base += part.base
        if interactions is not None:
            assert part.interactions is not None
            interactions += part.interactions
    return Attribution(values, base, interactions)


def attribute_rows(
    model: Model,
    X: Matrix,
    background: Matrix | None,
    interactions: bool,
    team: Team,
    device: str = "cpu",
) -> Attribution:
    """Return the contributions of the columns of X to the raw scores of a model.

    ``device`` is where they are found; rows in the memory of a GPU are explained there.
    """
    if device != "cpu" or isinstance(X, DeviceMatrix):
        from sumwise.inspection.device_shap import explain_on_device  # needs a GPU

        found, base = explain_on_device(model, X, background, interactions, team, device)
    else:
        from sumwise.inspection.shap import shap_interactions, shap_values  # only needed here

        explain = shap_interactions if interactions else shap_values
        found, base = explain(model, X, team, background)
    if not interactions:
        return Attribution(found, base)
    return Attribution(found.sum(axis=2), base, found)
