"""The fitted attributes of an estimator as a whole: a fit that fails leaves none of them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial, wraps
from typing import Any, TypeVar, cast

Fit = TypeVar("Fit", bound=Callable[..., Any])


def fit_as_a_whole(fit: Fit) -> Fit:
    """Make ``fit`` start without old fitted attributes, and leave none where it fails.

    Otherwise a fit that fails in the middle would mix attributes of two fits.
    """

    @wraps(fit)
    def fit_all_or_nothing(self: Any, *args: Any, **params: Any) -> Any:
        with starting_anew(partial(forget_fit, self)):
            return fit(self, *args, **params)

    return cast(Fit, fit_all_or_nothing)


@contextmanager
def starting_anew(forget: Callable[[], None]) -> Iterator[None]:
    """Forget what was fitted before, and also what is fitted here if that fails."""
    forget()
    try:
        yield
    except BaseException:  # also an interrupt
        forget()
        raise


def forget_fit(estimator: Any) -> None:
    """Delete all attributes that end in an underscore, as those of a fit do."""
    for name in list(vars(estimator)):
        if name.endswith("_") and not name.startswith("_"):
            delattr(estimator, name)
