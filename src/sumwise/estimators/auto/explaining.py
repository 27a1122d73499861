"""``explain`` of an automatic ensemble: the weighted sum of the explanations of its models."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from sumwise.errors import ExplanationError
from sumwise.estimators.auto.pooling import LinearPool, LogPool
from sumwise.estimators.explaining import Question, WeightedMember

if TYPE_CHECKING:
    from sumwise.inspection.attribution import Attribution

_Attribute = Callable[[Sequence[WeightedMember], Question], "Attribution"]


def attribute_ensemble(ensemble: Any, question: Question, attribute: _Attribute) -> "Attribution":
    """Return the contributions to the predictions of an ensemble.

    ``attribute`` returns those of some models with weights, which read rows in the same form.
    """
    from sumwise.inspection.attribution import add_attributions

    combined = ensemble._combined
    if isinstance(combined, LogPool):
        raise ExplanationError(
            "its members are combined by stacking, which multiplies probabilities, and products "
            "are no sums of contributions; fit with combination='greedy' or 'weights', or explain "
            "the one model of distill()"
        )
    parts = []
    for is_shared in (True, False):
        members = ensemble._list_models(is_shared)
        if members:
            parts.append(attribute(members, question.read(partial(_feed, ensemble, is_shared))))
    total = add_attributions(parts)
    if isinstance(combined, LinearPool):
        return replace(total, base=total.base + combined.intercept)
    return total


def _feed(ensemble: Any, is_shared: bool, X: Any) -> Any:
    """Return rows as some of the models take them."""
    return ensemble._read_table(X).feed(is_shared)
