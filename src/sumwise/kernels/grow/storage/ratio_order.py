"""Sort the bins of a categorical feature by the ratio of gradient to hessian."""

from sumwise.kernels.runtime.jit import routine

# Runs of this length are sorted by insertion, then merged.
_RUN = 16


@routine
def _is_after(ratio, b, other_ratio, other_b):
    return ratio > other_ratio or (ratio == other_ratio and b > other_b)


@routine
def sort_by_ratio(ratios, orders, n):
    """Sort the first ``n`` bins by ratio, equal ones by number; the second rows are scratch."""
    ratio, order, other_ratio, other_order = ratios[0], orders[0], ratios[1], orders[1]
    for first in range(0, n, _RUN):
        for i in range(first + 1, min(first + _RUN, n)):
            own_ratio, own = ratio[i], order[i]
            j = i
            while j > first and _is_after(ratio[j - 1], order[j - 1], own_ratio, own):
                ratio[j], order[j] = ratio[j - 1], order[j - 1]
                j -= 1
            ratio[j], order[j] = own_ratio, own
    width = _RUN
    in_other = False
    while width < n:
        for first in range(0, n, 2 * width):
            middle, last = min(first + width, n), min(first + 2 * width, n)
            i, j = first, middle
            for k in range(first, last):
                takes_second = i == middle or (
                    j < last and _is_after(ratio[i], order[i], ratio[j], order[j])
                )
                source = j if takes_second else i
                other_ratio[k], other_order[k] = ratio[source], order[source]
                i, j = (i, j + 1) if takes_second else (i + 1, j)
        ratio, other_ratio = other_ratio, ratio
        order, other_order = other_order, order
        in_other = not in_other
        width *= 2
    if in_other:
        for i in range(n):
            other_ratio[i], other_order[i] = ratio[i], order[i]


@routine
def _insert(ratio, order, n, length, own_ratio, own, highest):
    """Put a bin into a sorted list of the ``length`` lowest or highest so far, of ``n`` seen."""
    last = min(n, length - 1)
    if n >= length and _is_after(ratio[last], order[last], own_ratio, own) == highest:
        return
    while last > 0 and _is_after(ratio[last - 1], order[last - 1], own_ratio, own) != highest:
        ratio[last], order[last] = ratio[last - 1], order[last - 1]
        last -= 1
    ratio[last], order[last] = own_ratio, own


@routine
def select_ends(ratios, orders, n, length):
    """Of ``n`` bins, keep the ``length`` that come first and last by ratio, then number, in order.

    There are more than both together. Most bins need two comparisons and no move.
    """
    low, low_order = ratios[1, :length], orders[1, :length]
    high, high_order = ratios[1, length : 2 * length], orders[1, length : 2 * length]
    for i in range(n):
        _insert(low, low_order, i, length, ratios[0, i], orders[0, i], False)
        _insert(high, high_order, i, length, ratios[0, i], orders[0, i], True)
    for i in range(length):
        ratios[0, i], orders[0, i] = low[i], low_order[i]
        ratios[0, 2 * length - 1 - i], orders[0, 2 * length - 1 - i] = high[i], high_order[i]
