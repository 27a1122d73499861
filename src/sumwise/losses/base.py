"""Loss: gradient, hessian, value and initial score of a loss function."""

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from sumwise.errors import DataError, ParameterError
from sumwise.kernels.losses.influence import CLIPPED
from sumwise.kernels.runtime.reduce import exact_sum
from sumwise.kernels.runtime.sums import sum_exactly
from sumwise.kernels.runtime.threads import Team
from sumwise.losses.peer_sums import NO_WEIGHT, add_products
from sumwise.parts import Part
from sumwise.peers import ALONE, Peers, gather_objects

if TYPE_CHECKING:
    from sumwise.cuda.losses.mean import LaterLoss
    from sumwise.cuda.runtime.arrays import DeviceArray
    from sumwise.cuda.runtime.team import DeviceTeam

# Probabilities are clipped to this distance from 0 and 1 before they become scores.
SMALLEST_PROBABILITY = 1e-15
# For at most this many scores, one thread is faster than starting others.
_FEW_SCORES = 50_000


class Location(NamedTuple):
    """The statistic that leaves are refitted to; see ``kernels/leaves/location.py``."""

    level: float
    delta: float = np.inf  # inf: the quantile itself
    influence: int = CLIPPED  # of distances from the quantile, at most delta


class Loss:
    """A loss of (target, raw score); raw scores have shape (n_outputs, n_rows).

    Targets are the response, 0 or 1 for two classes, the class index for more. An empty ``weight``
    means that all weights are one.

    With ``peers``, arrays have the rows of this process, and results are those of all processes'
    rows: every process gets the bits that a single one would find.
    """

    link: str
    n_outputs: int = 1
    # The type of the targets that kernels are compiled for.
    target_type: ClassVar[type[np.number[Any]]] = np.float64
    # Whether the hessian is the second derivative; otherwise it is an upper bound.
    exact_hessian: ClassVar[bool] = True
    # Whether the hessian of a row is its weight for any score.
    hessian_is_weight: bool = False
    # Whether the loss is a sum over outputs, each with its own loss: see :meth:`at_output`.
    is_separable: bool = False
    # Kernels from kernels/losses.
    _gradient_kernel: Any
    _value_kernel: Any

    def gradient(
        self,
        team: Team,
        target: np.ndarray,
        raw: np.ndarray,
        weight: np.ndarray,
        gradient: np.ndarray,
        hessian: np.ndarray,
    ) -> None:
        """Fill gradient and hessian, which have the shape of ``raw``."""
        if self.is_separable:
            for own, loss, y in self._split(target):
                loss.gradient(team, y, raw[own], weight, gradient[own], hessian[own])
            return
        run = team.run if raw.size > _FEW_SCORES else team.run_alone
        kernel, arguments = type(self)._gradient_kernel, self._kernel_arguments()
        run(kernel, target, raw, weight, gradient, hessian, *arguments)

    def value(
        self,
        target: np.ndarray,
        raw: np.ndarray,
        weight: np.ndarray,
        rows: np.ndarray,
        peers: Peers = ALONE,
    ) -> float:
        """Return the weighted mean loss over ``rows``, independent of their order.

        A separable loss returns the mean over the outputs.
        """
        losses = self._list_losses(target, raw, weight, rows)
        means = mean_losses(losses, weight, rows, peers)
        return sum(means) / len(means)

    def _list_losses(
        self, target: np.ndarray, raw: np.ndarray, weight: np.ndarray, rows: np.ndarray
    ) -> Iterator[np.ndarray]:
        """Yield the losses of ``rows`` times their weights, for each output if separable."""
        if self.is_separable:
            for k, loss, y in self._split(target):
                yield from loss._list_losses(y, raw[k], weight, rows)
            return
        losses = np.empty(rows.size)
        type(self)._value_kernel(target, raw, weight, rows, losses, *self._kernel_arguments())
        yield losses

    def measure(
        self,
        team: "DeviceTeam",
        target: Any,
        raw: "DeviceArray",
        weight: "DeviceArray",
        rows: "DeviceArray",
    ) -> "LaterLoss":
        """Queue what :meth:`value` does on a device; ``get()`` of the result returns the bits."""
        # Import here: only a device needs it.
        from sumwise.cuda.losses.mean import MeanOfLosses, find_mean_loss

        if self.is_separable:
            parts = self._split(target)
            return MeanOfLosses(
                [loss.measure(team, y, raw[k], weight, rows) for k, loss, y in parts]
            )
        name, arguments = type(self)._value_kernel.__name__, self._kernel_arguments()
        return find_mean_loss(name, team, target, raw, weight, rows, *arguments)

    def on_device(self, team: "DeviceTeam") -> "Loss":
        """Return the adapted loss for arrays on a device.

        Its methods :meth:`at_round`, :meth:`gradient` and :meth:`measure` take DeviceArrays. The
        target of a separable loss is a tuple of arrays, one per output, if targets differ.
        """
        return self

    def initial_score(
        self,
        target: np.ndarray,
        weight: np.ndarray,
        rows: np.ndarray,
        team: Team | None = None,
        peers: Peers = ALONE,
    ) -> np.ndarray:
        """Return the constant scores that minimize the loss over ``rows``, one per output.

        No row is listed twice.
        """
        if self.is_separable:
            parts = self._split(target)
            scores = [loss.initial_score(y, weight, rows, team, peers) for _, loss, y in parts]
            return np.concatenate(scores)
        own = at_rows(target, rows), at_rows(weight, rows)
        return np.array([self._find_constant(*own, team, peers)])

    def _find_constant(
        self, target: np.ndarray, weight: np.ndarray, team: Team | None, peers: Peers = ALONE
    ) -> float:
        """Return the constant score that minimizes the loss of a single output."""
        raise NotImplementedError(f"{type(self).__name__} has no initial score")

    def _split(self, target: np.ndarray) -> Iterator[tuple[slice, "Loss", np.ndarray]]:
        """Yield the slice of each output, its loss and its target."""
        for k in range(self.n_outputs):
            yield slice(k, k + 1), self.at_output(k), take_target(target, k)

    def initial_shift(
        self,
        target: np.ndarray,
        weight: np.ndarray,
        rows: np.ndarray,
        init_score: np.ndarray,
        peers: Peers = ALONE,
    ) -> np.ndarray:
        """Return the constants to add to the user's initial scores, by default zero."""
        return np.zeros(self.n_outputs)

    def adapt(
        self,
        target: np.ndarray,
        weight: np.ndarray,
        rows: np.ndarray,
        scores: np.ndarray | None,
        peers: Peers = ALONE,
    ) -> "Loss":
        """Return the loss with parameters found from the training rows and the initial scores."""
        return self

    def at_round(
        self,
        target: np.ndarray,
        raw: np.ndarray,
        weight: np.ndarray,
        rows: np.ndarray,
        peers: Peers = ALONE,
    ) -> "Loss":
        """Return the loss for one round, if its parameters depend on the scores."""
        return self

    def at_output(self, output: int) -> "Loss":
        """Return the loss of one output of a separable loss."""
        return self

    def check_target(self, target: np.ndarray, weight: np.ndarray, peers: Peers = ALONE) -> None:
        """Raise DataError if the loss is not defined for a target with positive weight.

        All peers raise the same error.
        """
        return None

    @property
    def location(self) -> Location | None:
        """The statistic that leaves are refitted to; None if leaves keep their Newton steps."""
        return None

    @property
    def refits_leaves(self) -> bool:
        """Whether leaves have a location; known before :meth:`adapt` finds its parameters."""
        return type(self).location is not Loss.location

    def location_weight(self, target: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Return the weights of rows in locations; empty if all are one."""
        return weight

    @property
    def has_value(self) -> bool:
        """Whether :meth:`value` is available."""
        return True

    def _kernel_arguments(self) -> tuple[float, ...]:
        """Return the parameters for the kernels."""
        return ()


def take_target(target: Any, output: int) -> Any:
    """Return the target of an output: its column, or the target itself if there is only one.

    On a device, the columns are a tuple of arrays.
    """
    if isinstance(target, tuple):
        return target[output]
    return target if target.ndim == 1 else np.ascontiguousarray(target[:, output])


def mean_loss(losses: np.ndarray, weight: np.ndarray, rows: np.ndarray) -> float:
    """Return the weighted mean of losses of ``rows`` that already include their weights."""
    total = exact_sum(weight[rows]) if weight.size else float(rows.size)
    return float(exact_sum(losses) / total)


def mean_losses(
    losses: Iterable[np.ndarray], weight: np.ndarray, rows: np.ndarray, peers: Peers = ALONE
) -> list[float]:
    """Return :func:`mean_loss` of each of several losses, over the rows of all peers."""
    if peers.size == 1:
        return [mean_loss(own, weight, rows) for own in losses]
    weights = _ones(rows.size), weight[rows] if weight.size else weight
    *sums, total = add_products([*((own, NO_WEIGHT) for own in losses), weights], peers)
    return [own / total for own in sums]


def check_range(
    target: np.ndarray,
    weight: np.ndarray,
    is_right: np.ndarray,
    name: str,
    rule: str,
    peers: Peers = ALONE,
) -> None:
    """Raise DataError for the first invalid target with positive weight."""
    is_wrong = ~is_right & (weight > 0) if weight.size else ~is_right
    n_wrong = np.count_nonzero(is_wrong)
    row = int(is_wrong.argmax()) if n_wrong else 0
    own = (n_wrong, target.size, f"y[{row}]", target[row] if n_wrong else 0.0)
    every = gather_objects(peers, own)
    for rank, (n_wrong, _, place, value) in enumerate(every):
        if n_wrong:
            where = f" of process {rank}" if peers.size > 1 else ""
            raise DataError(
                f"{place}{where} is {value:g}; loss={name!r} needs {rule} "
                f"({sum(n for n, *_ in every)} of {sum(n for _, n, *_ in every)} targets are not)"
            )


def check_between(part: Part, name: str, low: float, high: float) -> None:
    """Raise ParameterError unless a parameter is a number strictly between two bounds."""
    value: Any = getattr(part, name)
    is_number = isinstance(value, (int, float, np.integer, np.floating))
    if isinstance(value, bool) or not is_number or not low < value < high:
        bounds = f"between {low:g} and {high:g}" if high < math.inf else f"above {low:g} and finite"
        raise ParameterError(f"{type(part).__name__}({name}={value!r}): must be {bounds}")


def weighted_mean(
    values: np.ndarray, weight: np.ndarray, team: Team | None = None, peers: Peers = ALONE
) -> float:
    """Return the mean under weights (all one if empty), independent of the order and the team."""
    if peers.size > 1:
        products = [(values, weight), (_ones(values.size), weight)]
        total, of_weights = add_products(products, peers, team)
        return total / of_weights
    if team is not None and values.size > _FEW_SCORES:
        total = float(values.size)
        if weight.size:
            total = sum_exactly(weight, weight[:0], team)
        return sum_exactly(values, weight, team) / total
    if weight.size:
        with np.errstate(over="ignore"):  # inf makes the mean nan, which the caller refuses
            return float(exact_sum(values * weight) / exact_sum(weight))
    return float(exact_sum(values) / values.size)


def _ones(n_rows: int) -> np.ndarray:
    """Return the values whose sum under weights is that of the weights."""
    return np.ones(n_rows, dtype=np.uint8)


def find_share(
    is_one: np.ndarray, weight: np.ndarray, team: Team | None = None, peers: Peers = ALONE
) -> float:
    """Return the share of the ones among zeros and ones (uint8): their mean under weights."""
    if weight.size or peers.size > 1:
        return weighted_mean(is_one, weight, team, peers)
    return int(np.count_nonzero(is_one)) / is_one.size


def at_rows(values: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the values of rows, of which none is listed twice; empty stays empty.

    All rows have the array itself, which is not copied: in its own order, not that of ``rows``. So
    what belongs together is taken by this function.
    """
    return values[rows] if values.size and values.size != rows.size else values
