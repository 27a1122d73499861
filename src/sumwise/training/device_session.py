"""A boosting fit on a device: scores, gradients and rows are there, and stay there.

What differs from a fit on the CPU is where arrays live, not what is done: boosters, losses and
samplers are the same. Work is queued and nothing waits for it, unless a number is needed on the
host: a loss that early stopping watches, or the scores that a scorer takes.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

import numpy as np

from sumwise.cuda.runtime.arrays import DeviceArray, number_rows
from sumwise.cuda.runtime.team import DeviceTeam
from sumwise.kernels.runtime.threads import Team
from sumwise.lazy import lazy
from sumwise.losses.base import take_target
from sumwise.sampling import Columns, RowSource
from sumwise.sampling.device_draws import DeviceDraws
from sumwise.training.rounds import BoostingResult, replay_rounds
from sumwise.training.session import (
    BoostingSettings,
    Sample,
    Session,
    TrainingRows,
    TrainingTable,
)
from sumwise.tree import Ensemble


class DeviceSession(Session):
    """One fit on one device, or on several of which the first has the scores.

    Attributes
    ----------
    device : Device
    host_rows : TrainingRows
        The rows as the user gave them; ``rows`` has the same arrays on the device.
    """

    def __init__(
        self,
        table: TrainingTable,
        rows: TrainingRows,
        settings: BoostingSettings,
        team: Team,
        past: BoostingResult | None,
    ) -> None:
        self.device = table.on_devices[0].device
        self.host_rows, self._host_team = rows, team
        self._uploaded: dict[int, tuple[np.ndarray, DeviceArray]] = {}
        super().__init__(table, rows, settings, team, past)
        self.team: Any = DeviceTeam(self.device)
        self.settings = replace(settings, loss=settings.loss.on_device(self.team))
        self.rows = self._move_rows(rows)

    # --- rows ---

    def _move_rows(self, rows: TrainingRows) -> TrainingRows:
        upload: Any = self.device.upload
        target = rows.target
        moved: Any = (
            upload(target)
            if target.ndim == 1
            else tuple(upload(np.ascontiguousarray(column)) for column in target.T)
        )
        numbers = (self._move_numbers(rows.train), self._move_numbers(rows.valid))
        return TrainingRows(moved, upload(rows.weight), *numbers, None, rows.groups, rows.classes)

    def _move_numbers(self, rows: np.ndarray) -> Any:
        """Return row numbers on the device; without a gap they need not travel."""
        if rows.size and int(rows[-1]) - int(rows[0]) == rows.size - 1:
            return number_rows(self.device, rows.size, int(rows[0]))
        return self.device.upload(rows.astype(np.uint32, copy=False))

    def _find_rows(self, rows: Any) -> Any:
        """Return rows on the device; those that come again are uploaded once."""
        if isinstance(rows, DeviceArray):
            return rows
        if id(rows) not in self._uploaded:
            self._uploaded[id(rows)] = rows, self._move_numbers(rows)
        return self._uploaded[id(rows)][1]

    # --- trees ---

    @lazy
    def grower(self) -> Any:
        from sumwise.tree.cuda_grower import CudaGrower

        settings, table = self.settings, self.table
        assert table.mapper is not None
        columns, n_rows = settings.columns or Columns(), self.rows.train.size
        return CudaGrower(table.on_devices, table.mapper, settings.growth, columns, n_rows)

    def make_solver(self) -> Any:
        from sumwise.tree.device_solver import DeviceLeafSolver

        return DeviceLeafSolver(self.grower, self.team)

    @lazy
    def _refitters(self) -> list[Any]:
        from sumwise.tree.cuda_refit import CudaRefitter  # few losses need it

        sampler, device = self.settings.sampler, self.device
        refitters = []
        for output, weight in enumerate(self._location_weights):
            own: Any = weight
            if sampler is not None and sampler.has_factors and not weight.size:
                own = device.allocate(self.host_rows.n_rows, np.float64)
                own.fill(1.0)
            target, rows = take_target(self.rows.target, output), cast(Any, self.rows.train)
            refitters.append(CudaRefitter(self.grower, target, own, rows, self.team))
        return refitters

    @lazy
    def _location_weights(self) -> list[Any]:
        loss, rows, upload = self.settings.loss, self.host_rows, self.device.upload
        return [
            upload(loss.at_output(k).location_weight(take_target(rows.target, k), rows.weight))
            for k in range(rows.n_targets)
        ]

    def draw_rows(self, number: int) -> Sample:
        rows, nothing = self.rows, self.rows.train[:0]
        if self.settings.sampler is None:
            return Sample(rows.train, rows.valid, nothing, nothing)
        gradient: Any = self.gradient
        drawn: Any = self._draws.draw(number, gradient)
        self._apply_factors(drawn)
        unseen = self._join(drawn.left_out, rows.valid)
        return Sample(drawn.rows, unseen, drawn.left_out, drawn.factor)

    @lazy
    def _draws(self) -> DeviceDraws:
        settings, rows, none = self.settings, self.host_rows, np.empty((0, 0))
        assert settings.sampler is not None
        host = RowSource(
            rows=rows.train,
            seed=settings.seed,
            number=0,
            gradient=none,
            hessian=none,
            target=rows.target,
            team=self._host_team,
            groups=rows.groups,
            classes=rows.classes,
        )
        train: Any = self.rows.train
        return DeviceDraws(settings.sampler, train, host, self.team)

    @lazy
    def used_rows(self) -> Any:
        return self._join(self.rows.train, self.rows.valid)

    def _join(self, first: Any, second: Any) -> Any:
        """Return two arrays of rows as one."""
        if not (first.size and second.size):
            return first if first.size else second
        joined = self.device.allocate(first.size + second.size, np.uint32)
        joined[: first.size], joined[first.size :] = first, second
        return joined

    # --- scores ---

    def _start_scores(self) -> Any:
        if self.rows.init_score is not None:
            return self.device.upload(super()._start_scores())
        raw = self.device.allocate((self.base_score.size, self.rows.n_rows), np.float64)
        for own, score in zip(raw, self.base_score, strict=True):
            own.fill(score)
        return raw

    def empty_scores(self) -> Any:
        return self.device.allocate(self.raw.shape, np.float64)

    def zero_scores(self) -> Any:
        return self.device.zeros(self.raw.shape, np.float64)

    def has_finite_scores(self) -> bool:
        return bool(self.raw.is_finite())  # type: ignore[attr-defined]

    def take_scores(self, rows: Any) -> np.ndarray:
        own: Any = self.raw
        taken = [output.take(self._find_rows(rows)).to_host() for output in own]
        return np.ascontiguousarray(np.stack(taken, axis=1))

    def _choose_left_out(self, left_out: Any, step: int) -> Any:
        return left_out if step == 1 else left_out.take_every(step)

    def _find_loss(self, raw: Any, rows: Any) -> float:
        own: Any = self.rows
        loss, found = self.settings.loss, self._find_rows(rows)
        return loss.measure(self.team, own.target, raw, own.weight, found).get()

    def replay(self, ensemble: Ensemble) -> Iterator[int]:
        device_raw: Any = self.raw
        host_raw = device_raw.to_host()
        for number in replay_rounds(ensemble, self.table.matrices, host_raw, self._host_team):
            self.device.write(host_raw, device_raw)
            yield number
