"""DeviceDraws: the rows of a round, drawn on a device: the same ones as on the CPU."""

from typing import Any, cast

import numpy as np

from sumwise.cuda.runtime.arrays import DeviceArray
from sumwise.cuda.runtime.select import Groups
from sumwise.cuda.runtime.team import DeviceTeam
from sumwise.cuda.sampling.by_gradient import draw_bayesian_weights
from sumwise.cuda.sampling.drawing import RowDrawer, Strata, spread_factors
from sumwise.kernels.runtime import random
from sumwise.lazy import lazy
from sumwise.sampling.bayesian import BayesianBootstrap
from sumwise.sampling.bootstrap import BootstrapRows
from sumwise.sampling.goss import Goss
from sumwise.sampling.rows import DrawnRows, RowSampler, RowSource
from sumwise.sampling.strata import ClassSubsample, GroupSubsample, find_factors
from sumwise.sampling.subsample import Subsample


class DeviceDraws:
    """Draws rows of a table on a device.

    Arrays that it returns are valid until the next draw.

    Parameters
    ----------
    sampler : RowSampler
    rows : DeviceArray of uint32
        The rows to draw from, ascending.
    host : RowSource
        The same rows on the host; it has no gradients.
    team : DeviceTeam
    """

    def __init__(
        self, sampler: RowSampler, rows: DeviceArray, host: RowSource, team: DeviceTeam
    ) -> None:
        self._sampler, self._rows, self._host, self._team = sampler, rows, host, team

    def draw(self, number: int, gradient: DeviceArray) -> DrawnRows:
        """Return the rows of a draw, with arrays on the device."""
        sampler: Any = self._sampler
        key = random.make_key(self._host.seed, random.ROWS, number)
        if type(sampler) is Subsample:
            rows, left_out = self._drawer.draw_lowest(key, sampler.count_drawn(self._rows.size))
            return _make_draw(rows, self._nothing, left_out)
        if type(sampler) is ClassSubsample:
            return self._draw_by_class(sampler, key)
        if type(sampler) is Goss:
            return self._draw_by_gradient(sampler, key, gradient)
        if type(sampler) is BayesianBootstrap:
            factor = self._team.borrow("bayesian weights", self._rows.size, np.float64)
            numbers = (key, float(sampler.temperature), self._rows, factor)
            draw_bayesian_weights(self._team, *numbers)
            return _make_draw(self._rows, factor, self._rows[:0])
        if type(sampler) is GroupSubsample:
            return self._draw_groups(sampler, number)
        assert type(sampler) is BootstrapRows, "a fit refuses others"
        return _make_draw(*self._drawer.draw_bootstrap(key))

    @lazy
    def _drawer(self) -> RowDrawer:
        return RowDrawer(self._team, self._rows)

    @lazy
    def _nothing(self) -> DeviceArray:
        return self._team.device.allocate(0, np.float64)

    def _draw_by_gradient(self, sampler: Goss, key: np.uint64, gradient: DeviceArray) -> DrawnRows:
        n_drawn = sampler.count_drawn(self._rows.size)
        found = self._drawer.choose_by_gradient(gradient, *n_drawn, sampler.amplify, key)
        return _make_draw(*found)

    def _draw_by_class(self, sampler: ClassSubsample, key: np.uint64) -> DrawnRows:
        strata, factors = self._strata
        rows, left_out = self._drawer.draw_strata(key, strata)
        factor = self._nothing
        if sampler.reweigh:
            factor = self._team.borrow("factors of drawn rows", rows.size, np.float64)
            spread_factors(self._team, factors, strata.of_row, rows, factor)
        return _make_draw(rows, factor, left_out)

    @lazy
    def _strata(self) -> tuple[Strata, DeviceArray]:
        """The rows of each class, and their factors."""
        host, sampler = self._host, cast(ClassSubsample, self._sampler)
        assert host.classes is not None
        of_row = host.target.astype(np.uint32)
        class_idx, n_classes = of_row[host.rows], host.classes.size
        counts = np.bincount(class_idx, minlength=n_classes)
        n_drawn = sampler.count_drawn(host.classes, counts)
        upload = self._team.device.upload
        order = np.argsort(class_idx, kind="stable").astype(np.uint32)
        groups = Groups.upload(self._team, counts, n_drawn)
        strata = Strata(upload(order), upload(of_row), groups, int(n_drawn.sum()))
        return strata, upload(find_factors(counts, n_drawn))

    def _draw_groups(self, sampler: GroupSubsample, number: int) -> DrawnRows:
        numbers, sizes, group_of = self._groups
        is_drawn = np.isin(numbers, sampler.sample(numbers, self._host.seed, number))
        n_drawn = int(sizes[is_drawn].sum())
        rows, left_out = self._drawer.take_groups(group_of, is_drawn, n_drawn)
        return _make_draw(rows, self._nothing, left_out)

    @lazy
    def _groups(self) -> tuple[np.ndarray, np.ndarray, DeviceArray]:
        """The numbers and sizes of groups, and the group of each row."""
        host = self._host
        assert host.groups is not None
        found = np.unique(host.groups[host.rows], return_inverse=True, return_counts=True)
        numbers, group_of, sizes = found
        upload = self._team.device.upload
        return numbers.astype(np.uint32), sizes, upload(group_of.astype(np.uint32))


def _make_draw(rows: Any, factor: Any, left_out: Any) -> DrawnRows:
    return DrawnRows(rows, factor, left_out)


def count_draws(sampler: RowSampler | None, n_rows: int) -> int:
    """Return how many bytes of a device's memory draws from ``n_rows`` take, at least."""
    if sampler is None:
        return 0
    if isinstance(sampler, BayesianBootstrap):
        return 8 * n_rows
    if type(sampler) not in (Subsample, Goss, ClassSubsample):  # the number of each row
        return 4 * n_rows
    # Keys, the pool to select from, a flag, and the number of each row; factors.
    n_factors = sum(sampler.count_drawn(n_rows)) if isinstance(sampler, Goss) else 0
    return (8 + 8 + 1 + 4) * n_rows + 8 * n_factors
