"""Refitting: new leaf values for a fitted model from other rows, with the same splits."""

from dataclasses import replace

import numpy as np

from sumwise.data.matrix import Matrix
from sumwise.kernels.leaves.refit import add_leaf_values
from sumwise.kernels.runtime.elementary import natural_log
from sumwise.kernels.runtime.threads import Team
from sumwise.lazy import lazy
from sumwise.losses import Loss
from sumwise.losses.base import take_target
from sumwise.training.boosters import Plain
from sumwise.training.session import BoostingSettings, TrainingRows, find_base_score
from sumwise.tree import (
    GrowthSettings,
    LocationFinder,
    StepFinder,
    TreeEnsemble,
    smooth_paths,
)

_CLASS_LINKS = ("logistic", "half_logistic", "softmax")


def refit_ensemble(
    ensemble: TreeEnsemble,
    X: Matrix,
    rows: TrainingRows,
    settings: BoostingSettings,
    decay: float,
    team: Team,
) -> TreeEnsemble:
    """Return the ensemble with the same splits and leaf values updated by other rows.

    The constant and every leaf become ``decay`` times their old value plus ``1 - decay`` times the
    value that a fit on ``rows`` would give them, round by round: each round is fitted to the errors
    of the updated rounds before. A leaf that no row reaches keeps its value.
    """
    settings = (settings.booster or Plain()).adapt(settings)
    return _Refit(ensemble, X, rows, settings, decay, team).run()


class _Refit:
    """The state of a refit: scores of the rows so far, and new values of trees."""

    def __init__(
        self,
        ensemble: TreeEnsemble,
        X: Matrix,
        rows: TrainingRows,
        settings: BoostingSettings,
        decay: float,
        team: Team,
    ) -> None:
        self._ensemble, self._X, self._rows, self._settings = ensemble, X, rows, settings
        self._decay, self._team = decay, team
        self._base_score = self._blend(ensemble.base_score, _find_constant(settings, rows))
        self._raw = np.repeat(self._base_score[:, None], X.shape[0], axis=1)
        if rows.init_score is not None:
            self._raw += rows.init_score
        self._gradient, self._hessian = np.empty_like(self._raw), np.empty_like(self._raw)
        self._value = ensemble.value.copy()
        self._n_nodes = int(np.diff(ensemble.start).max())
        # Trees of a mean do not build on each other; their values are scaled by their share.
        self._is_mean = ensemble.stages == "mean"
        self._share = ensemble.n_outputs / ensemble.n_trees if self._is_mean else 1.0

    @lazy
    def _steps(self) -> StepFinder:
        return StepFinder(self._n_nodes, self._team)

    @lazy
    def _locations(self) -> list[LocationFinder]:
        """One finder per target."""
        rows, loss = self._rows, self._settings.loss
        targets = [take_target(rows.target, k) for k in range(rows.n_targets)]
        rest = (rows.train, self._n_nodes, self._team)
        return [
            LocationFinder(own, loss.at_output(k).location_weight(own, rows.weight), *rest)
            for k, own in enumerate(targets)
        ]

    def run(self) -> TreeEnsemble:
        start = self._raw.copy()
        for first_tree, leaves in self._ensemble.read_rounds(self._X, self._team):
            scores = start if self._is_mean else self._raw.copy()
            loss = self._take_gradient(scores)
            for k, leaf in enumerate(leaves.T.astype(np.uint32, order="C")):
                self._refit_tree(first_tree + k, leaf, loss, scores)
        return replace(self._ensemble, value=self._value, base_score=self._base_score)

    def _blend(self, old: np.ndarray, new: np.ndarray) -> np.ndarray:
        return self._decay * old + (1.0 - self._decay) * new

    def _growth_of(self, tree: int) -> GrowthSettings:
        """Return the settings of a tree, with the learning rate of its round."""
        growth, rates = self._settings.growth, self._settings.rates
        if rates is None:
            return growth
        n_trees = self._ensemble.n_outputs * self._ensemble.trees_per_round
        return replace(growth, learning_rate=float(rates[tree // n_trees]))

    def _take_gradient(self, scores: np.ndarray) -> Loss:
        rows = self._rows
        loss = self._settings.loss.at_round(rows.target, scores, rows.weight, rows.train)
        found = self._gradient, self._hessian
        loss.gradient(self._team, rows.target, scores, rows.weight, *found)
        return loss

    def _refit_tree(self, tree: int, leaf: np.ndarray, loss: Loss, scores: np.ndarray) -> None:
        """Update the values of a tree by the gradients at ``scores``, and add it to the scores."""
        ensemble, train = self._ensemble, self._rows.train
        output, nodes = tree % ensemble.n_outputs, slice(*ensemble.start[tree : tree + 2])
        left = ensemble.left[nodes].copy()
        anchor = np.arange(left.size, dtype=np.int32)
        location, growth = loss.at_output(output).location, self._growth_of(tree)
        n_rows = _count_rows(leaf[train], left)
        if location is None:
            own = self._gradient[output], self._hessian[output]
            found = self._steps.find(growth, train, leaf, left, anchor, *own)
            smooth_paths(growth, left, anchor, n_rows, found)
        else:
            weight = ensemble.weight[nodes].copy()
            found = self._locations[output % len(self._locations)].find(
                growth, train, leaf, left, anchor, weight, scores[output], location
            )
        old = self._value[nodes]
        value = np.where(n_rows > 0, self._blend(old, self._share * found[:, 0]), old)
        self._value[nodes] = value
        self._team.run(add_leaf_values, train, leaf, value[:, None], self._raw[output])


def _find_constant(settings: BoostingSettings, rows: TrainingRows) -> np.ndarray:
    """Return the constant to start from; a class that is not among the rows counts as half a row.

    Otherwise a few rows without a rare class would make it almost impossible.
    """
    constant = find_base_score(settings, rows)
    if settings.loss.link not in _CLASS_LINKS:
        return constant
    most = natural_log(2.0 * rows.train.size)
    return np.clip(constant, -most, most)


def _count_rows(leaf: np.ndarray, left: np.ndarray) -> np.ndarray:
    """Return the number of rows of each node."""
    n_rows = np.bincount(leaf, minlength=left.size)
    for node in range(left.size - 1, -1, -1):  # children come after parents
        if left[node] >= 0:
            n_rows[node] = n_rows[left[node]] + n_rows[left[node] + 1]
    return n_rows
