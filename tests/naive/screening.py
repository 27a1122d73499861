"""Which features can be split at all: all splits tried."""

import numpy as np


def can_split(bins, min_rows):
    """Whether a split of these bins (0: missing) leaves enough rows on both sides."""
    for split_bin in range(int(bins.max(initial=0)) + 1):
        for missing_left in (False, True):
            left = (bins <= split_bin) & (bins > 0)
            if missing_left:
                left |= bins == 0
            n_left = np.count_nonzero(left)
            if min(n_left, bins.size - n_left) >= min_rows:
                return True
    return False
