"""Custom losses: any object with a method ``gradient(y, raw)``, or such a function.

===============================  ===================================================================
``gradient(y, raw)``             the first and second derivative of the loss by ``raw``: two arrays
                                 of the shape of ``raw``, the second not negative
``value(y, raw)``                optional: the loss of each row; needed for early stopping and
                                 ``verbose``
``initial_score(y, weight)``     optional: the initial score, one number per output; 0 if absent.
                                 ``weight`` is None if all weights are one
``link``                         optional: the name of a link in losses/links.py, or a method
                                 ``link(raw)`` that returns the predictions
``n_outputs``                    optional: 1 if absent
``arrays``                       optional: "cupy" if ``gradient`` and ``value`` take CuPy arrays,
                                 for ``device="cuda"``; NumPy arrays if absent
===============================  ===================================================================

With one output, ``y`` and ``raw`` have shape (n_rows,); with more, ``raw`` has (n_rows, n_outputs).
A regressor of several targets needs one output per target, and ``y`` then has the same shape.
In a cluster, each process calls ``gradient`` and ``value`` on its own rows, if it has any, so
both must treat rows independently. ``initial_score`` needs the targets of all rows: it is refused
there, unless ``base_score`` takes its place.
The object may keep or change these arrays. Weights are applied here, not by the object. The methods
are called from Python; ``gradient`` is called once per round, on the training rows.

A function ``f(y, raw)`` is an object with ``gradient`` only; ``raw`` has as many columns as the
classifier needs. It may have the attribute ``arrays``, too.

On a device, NumPy arrays are copied from there and back. CuPy arrays are in the device's memory.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from sumwise.errors import ParameterError
from sumwise.kernels.runtime.threads import Team
from sumwise.losses.base import Loss
from sumwise.losses.links import LINKS
from sumwise.peers import ALONE, Peers

if TYPE_CHECKING:
    from sumwise.cuda.runtime.team import DeviceTeam

NUMPY, CUPY = "numpy", "cupy"


def is_custom_loss(thing: Any) -> bool:
    """Whether an object or a function can be a custom loss."""
    is_ours = isinstance(thing, (Loss, type))
    return not is_ours and (callable(getattr(thing, "gradient", None)) or callable(thing))


def is_loss_function(thing: Any) -> bool:
    """Whether a custom loss is a function, which accepts any number of outputs."""
    return is_custom_loss(thing) and not callable(getattr(thing, "gradient", None))


class _FunctionLoss:
    """Wraps a function that returns both derivatives."""

    def __init__(self, function: Callable[..., Any], n_outputs: int) -> None:
        self.gradient, self.n_outputs = function, n_outputs
        self.arrays = getattr(function, "arrays", NUMPY)


class CustomLoss(Loss):
    """Adapts a custom loss to :class:`Loss`, and checks what its methods return.

    Parameters
    ----------
    source : object or function
        The user's loss.
    default_link : str
        The link of an object without one.
    rows : ndarray or None
        The rows that ``gradient`` is called on; None for all.
    n_outputs : int
        The number of outputs if the loss is a function.
    """

    # The library whose arrays the object takes.
    library: Any = np

    def __init__(
        self,
        source: Any,
        default_link: str = "identity",
        rows: np.ndarray | None = None,
        n_outputs: int = 1,
    ) -> None:
        source = _FunctionLoss(source, n_outputs) if is_loss_function(source) else source
        self.source = source
        self.n_outputs = self._read_n_outputs()
        link = getattr(source, "link", None)
        if isinstance(link, str) and link not in LINKS:
            names = ", ".join(map(repr, LINKS))
            raise ParameterError(f"{self.name}.link={link!r}: must be one of {names}")
        if not (link is None or isinstance(link, str) or callable(link)):
            raise ParameterError(f"{self.name}.link={link!r}: must be a name or a method")
        # A link that is a method is not stored in model files: the default link is.
        self.link = link if isinstance(link, str) else default_link
        self.inverse_link: Callable[[np.ndarray], Any] | None = link if callable(link) else None
        self._default_link, self._rows = default_link, rows
        self.arrays = self._read_arrays()

    def adapt(
        self,
        target: np.ndarray,
        weight: np.ndarray,
        rows: np.ndarray,
        scores: np.ndarray | None,
        peers: Peers = ALONE,
    ) -> "CustomLoss":
        return CustomLoss(
            self.source, self._default_link, rows if rows.size < len(target) else None
        )

    def gradient(
        self,
        team: Team,
        target: np.ndarray,
        raw: np.ndarray,
        weight: np.ndarray,
        gradient: np.ndarray,
        hessian: np.ndarray,
    ) -> None:
        self._check_arrays()
        rows: Any = slice(None) if self._rows is None else self._rows
        if self._rows is not None:
            gradient[:], hessian[:] = 0.0, 0.0
        y, scores = self._hand_over(target[rows], raw[:, rows])
        if not scores.size:  # of a process without training rows
            return
        result = self.source.gradient(y, scores)
        if not isinstance(result, (tuple, list)) or len(result) != 2:
            raise ParameterError(
                f"{self.gradient_name} must return two arrays, the first and the second "
                f"derivative; it returned {type(result).__name__}"
            )
        first, second = (
            self._read("gradient", array, scores.shape, which)
            for array, which in zip(result, ("first", "second"), strict=True)
        )
        if (second < 0).any():
            where = tuple(int(i) for i in self.library.argwhere(second < 0)[0])
            raise ParameterError(
                f"{self.gradient_name}: the second derivative is {float(second[where]):g} at "
                f"{list(where)}; it must not be negative. Return an upper bound in its place, or 1"
            )
        for found, out in ((first, gradient), (second, hessian)):
            columns = found.reshape(scores.shape[0], self.n_outputs).T
            out[:, rows] = columns * weight[rows] if weight.size else columns

    def on_device(self, team: "DeviceTeam") -> "CustomLoss":
        from sumwise.losses.device_custom import DeviceCustomLoss  # only a device needs it

        return DeviceCustomLoss(self, team)

    def _list_losses(
        self, target: np.ndarray, raw: np.ndarray, weight: np.ndarray, rows: np.ndarray
    ) -> Iterator[np.ndarray]:
        losses = self.row_values(target[rows], raw[:, rows])
        yield losses * weight[rows] if weight.size else losses

    def row_values(self, target: np.ndarray, raw: np.ndarray) -> np.ndarray:
        """Return the loss of each row, without weights."""
        if not self.has_value:
            lacks = "is a function, and has" if self._is_function else "has"
            raise ParameterError(
                f"{self.name} {lacks} no method value(y, raw), which early stopping needs: the "
                "loss of each row. Pass an object that has it, or scoring=..."
            )
        self._check_arrays()
        y, scores = self._hand_over(target, raw)
        if not scores.size:  # of a process without such rows
            return self.library.empty(0)
        return self._read("value", self.source.value(y, scores), y.shape[:1])

    @property
    def has_value(self) -> bool:
        return callable(getattr(self.source, "value", None))

    @property
    def name(self) -> str:
        """The name of the class or function."""
        own = self.source.gradient if self._is_function else type(self.source)
        return getattr(own, "__name__", type(own).__name__)

    @property
    def gradient_name(self) -> str:
        """The name in messages of the method or function that returns the derivatives."""
        return self.name if self._is_function else f"{self.name}.gradient"

    @property
    def _is_function(self) -> bool:
        return isinstance(self.source, _FunctionLoss)

    def initial_score(
        self,
        target: np.ndarray,
        weight: np.ndarray,
        rows: np.ndarray,
        team: Team | None = None,
        peers: Peers = ALONE,
    ) -> np.ndarray:
        if not callable(getattr(self.source, "initial_score", None)):
            return np.zeros(self.n_outputs)
        if peers.size > 1:
            raise ParameterError(
                f"{self.name}.initial_score(y, weight) needs the targets of all rows, and no "
                "process of a cluster has them; pass base_score=... to start from a score of "
                "your own, or remove the method to start from 0"
            )
        score = self.source.initial_score(target[rows], weight[rows] if weight.size else None)
        if np.ndim(score) == 0 and self.n_outputs == 1:
            score = np.reshape(score, 1)
        return self._read("initial_score", score, (self.n_outputs,)).copy()

    def predict_mean(self, raw: np.ndarray) -> np.ndarray:
        """Return the predictions of the object's own link for scores (n_rows, n_outputs)."""
        assert self.inverse_link is not None
        scores = raw[:, 0].copy() if self.n_outputs == 1 else raw.copy()
        return self._read("link", self.inverse_link(scores), scores.shape)

    def _read_n_outputs(self) -> int:
        n = getattr(self.source, "n_outputs", 1)
        if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 1:
            raise ParameterError(f"{self.name}.n_outputs={n!r}: must be a positive integer")
        return int(n)

    def _read_arrays(self) -> str:
        arrays = getattr(self.source, "arrays", NUMPY)
        if isinstance(arrays, str) and arrays not in (NUMPY, CUPY):
            raise ParameterError(f"{self.name}.arrays={arrays!r}: must be 'numpy' or 'cupy'")
        return CUPY if isinstance(arrays, str) and arrays == CUPY else NUMPY

    def _check_arrays(self) -> None:
        """Refuse to call an object that takes arrays on a device with others."""
        if self.arrays == CUPY and self.library is np:
            raise ParameterError(f"{self.name}.arrays='cupy' needs device='cuda'")

    def _hand_over(self, target: np.ndarray, raw: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return copies in the shapes that the object's methods expect."""
        return target.copy(), raw[0].copy() if self.n_outputs == 1 else raw.T.copy()

    def _read(
        self, method: str, values: Any, shape: tuple[int, ...], which: str = ""
    ) -> np.ndarray:
        """Convert the result of a method to floats; raise ParameterError if it is not valid."""
        is_gradient = method == "gradient"
        who = self.gradient_name if is_gradient else f"{self.name}.{method}"
        who += f": the {which} derivative" if which else ""
        try:
            array = self.library.asarray(values, dtype=np.float64)
        except (TypeError, ValueError):
            raise ParameterError(f"{who} must be numbers, not {type(values).__name__}") from None
        if array.shape != shape:
            raise ParameterError(f"{who} has shape {array.shape}, expected {shape}")
        is_finite = self.library.isfinite(array)
        if not is_finite.all():
            where = [int(i) for i in self.library.argwhere(~is_finite)[0]]
            raise ParameterError(f"{who} is {array[tuple(where)]} at {where}; it must be finite")
        return array
