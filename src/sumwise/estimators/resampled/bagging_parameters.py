"""Parameters of bagging: checks, and what they mean for the rows and features of members."""

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, Protocol

from sumwise.errors import ParameterError
from sumwise.estimators.resampled.stopping import OobStopping
from sumwise.sampling import BayesianBootstrap, Bootstrap, Pasting, PoissonBootstrap, Resampler

_SAMPLINGS: dict[str, type] = {
    "bootstrap": Bootstrap,
    "pasting": Pasting,
    "poisson": PoissonBootstrap,
    "bayesian": BayesianBootstrap,
}

# Limits on the rows drawn for a member: the larger of a number, and a multiple of the rows of X.
# Members without sample weights get copies of all of them.
_MOST_ROWS, _LARGEST_RATE = 10_000_000, 100


class BaggingParameters(Protocol):
    """The parameters of bagging that are read here."""

    max_samples: Any
    max_features: Any
    bootstrap: bool | None
    bootstrap_features: bool
    sampling: Any
    perturb: Any
    early_stopping: Any


def resolve_sampling(owner: BaggingParameters, n_rows: int) -> Resampler:
    """Return the part that draws rows; raise ParameterError if parameters contradict."""
    given, own = owner.sampling, type(owner).__name__
    if isinstance(given, str) and given in _SAMPLINGS:
        part: Any = _SAMPLINGS[given]()
    elif given is None:
        part = Pasting(1.0) if owner.bootstrap is False else Bootstrap()
    elif isinstance(given, Resampler):
        part = given
    else:
        raise ParameterError(
            f"{own}: sampling={given!r}; must be {', '.join(map(repr, _SAMPLINGS))}, a part "
            "such as Bootstrap(rate=0.5), or None"
        )
    if owner.bootstrap is not None and owner.bootstrap == isinstance(part, Pasting):
        raise ParameterError(
            f"{own}: bootstrap={owner.bootstrap} contradicts sampling={given!r}; leave one of "
            "them None"
        )
    if owner.max_samples is not None:
        if part is given or not hasattr(part, "rate"):
            raise ParameterError(
                f"{own}: max_samples={owner.max_samples!r} and sampling={given!r}: how many "
                "rows are drawn is a parameter of the part, if at all; leave max_samples None"
            )
        part.rate = _read_max_samples(owner, n_rows, isinstance(part, Pasting))
    part.check()
    n_drawn = getattr(part, "rate", 0.0) * n_rows
    if n_drawn > max(_MOST_ROWS, _LARGEST_RATE * n_rows):
        raise ParameterError(
            f"{own}: max_samples={owner.max_samples!r} and sampling={given!r} would draw "
            f"{n_drawn:.0f} rows for every member, and X has {n_rows}; draw fewer"
        )
    return part


def _read_max_samples(owner: BaggingParameters, n_rows: int, without_replacement: bool) -> float:
    """Return ``max_samples`` as a share of the rows."""
    value, own = owner.max_samples, type(owner).__name__
    if _is_count(value):
        if without_replacement and value > n_rows:
            raise ParameterError(
                f"{own}: max_samples={value}, and X has {n_rows} rows: without replacement no "
                "more can be drawn"
            )
        return float(value) / n_rows
    if not _is_share(value):
        raise ParameterError(
            f"{own}: max_samples={value!r}; must be a number of rows, a share in (0, 1] or None"
        )
    return float(value)


def count_drawn_features(owner: BaggingParameters, n_features: int | None) -> int:
    """Return the number of features drawn for a member; ``n_features`` is None if X has none."""
    value, own = owner.max_features, type(owner).__name__
    if not _is_count(value) and not _is_share(value):
        raise ParameterError(
            f"{own}: max_features={value!r}; must be a number of features or a share in (0, 1]"
        )
    if n_features is None:
        if value != 1.0 or owner.bootstrap_features:
            raise ParameterError(f"{own}: X has no features that could be drawn")
        return 0
    if _is_count(value) and value > n_features:
        raise ParameterError(
            f"{own}: max_features={value}, and X has {n_features}: max_features must be <= "
            "n_features"
        )
    return int(value) if _is_count(value) else max(1, int(value * n_features))


def check_perturb(owner: BaggingParameters, learner: Any) -> Mapping[str, Any] | None:
    """Return the parameters that are drawn for each member; raise if they are not valid."""
    if owner.perturb is None:
        return None
    own = type(owner).__name__
    if not isinstance(owner.perturb, Mapping):
        raise ParameterError(
            f"{own}: perturb={owner.perturb!r}; must be a dict from parameters to lists of "
            "values or distributions"
        )
    known = learner.get_params()
    for name, choices in owner.perturb.items():
        if name not in known:
            raise ParameterError(
                f"{own}: perturb has {name!r}, which is no parameter of "
                f"{type(learner).__name__}; it has {', '.join(sorted(known))}"
            )
        is_list = hasattr(choices, "__getitem__") and not isinstance(choices, (str, Mapping))
        if not hasattr(choices, "rvs") and not (is_list and len(choices) > 0):
            raise ParameterError(
                f"{own}: perturb[{name!r}]={choices!r}; must be a non-empty list of values or "
                "a distribution with rvs"
            )
    return dict(owner.perturb)


def resolve_stopping(
    owner: BaggingParameters, learner: Any, sampling: Resampler
) -> OobStopping | None:
    """Return how members are stopped early, None if they are not."""
    given, own = owner.early_stopping, type(owner).__name__
    if given is None:
        return None
    stopping = OobStopping() if isinstance(given, str) and given == "oob" else given
    if not isinstance(stopping, OobStopping):
        raise ParameterError(
            f"{own}: early_stopping={given!r}; must be 'oob', OobStopping(...) or None"
        )
    stopping.check()
    if not hasattr(learner, "partial_fit"):
        raise ParameterError(
            f"{own}: early_stopping needs a base learner with partial_fit, which "
            f"{type(learner).__name__} has not"
        )
    if not sampling.leaves_rows_out:
        raise ParameterError(
            f"{own}: early_stopping='oob', and sampling={owner.sampling!r} leaves no row out of "
            "a bag"
        )
    return stopping


def _is_count(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 1


def _is_share(value: Any) -> bool:
    is_real = isinstance(value, Real) and not isinstance(value, Integral)
    return is_real and 0.0 < float(value) <= 1.0
