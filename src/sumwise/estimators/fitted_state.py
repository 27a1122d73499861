"""The fitted attributes of an estimator as a whole: a fit that fails leaves none of them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar, cast

Fit = TypeVar("Fit", bound=Callable[..., Any])


def fit_as_a_whole(fit: Fit) -> Fit:
    """Make ``fit`` start without old fitted attributes, and leave none if it fails.

    Otherwise a fit that fails halfway would mix attributes of two fits.
    """

    @wraps(fit)
    def fit_all_or_nothing(self: object, *args: Any, **params: Any) -> Any:
        with starting_anew(self):
            return fit(self, *args, **params)

    return cast(Fit, fit_all_or_nothing)


@contextmanager
def starting_anew(estimator: object) -> Iterator[None]:
    """Forget what was fitted before, and also what is fitted here if that fails."""
    forget_fit(estimator)
    try:
        yield
    except BaseException:  # also an interrupt
        forget_fit(estimator)
        raise


def forget_fit(estimator: object) -> None:
    """Delete the fitted attributes: those that end in an underscore.

    Private ones are named by the class attribute ``_fitted_privately``.
    """
    private = getattr(estimator, "_fitted_privately", ())
    for name in list(vars(estimator)):
        if name in private or (name.endswith("_") and not name.startswith("_")):
            delattr(estimator, name)
