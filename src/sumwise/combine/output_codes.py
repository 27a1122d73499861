"""Output codes: many classes told apart by two-class learners.

A code book has a row for each class and a column for each learner: 1 and -1 are the two sides that
the learner tells apart, 0 leaves the class out. A row's margins, one a learner and positive for the
side of 1, are decoded into the class whose code they fit best (Allwein, Schapire and Singer 2000).
"""

import numpy as np

from sumwise.errors import DataError

# 2^(K-1) - 1 columns: 1,023 for 11 classes.
MOST_EXHAUSTIVE_CLASSES = 11
_N_DRAWS = 200

# Probabilities of a row are settled once none changes by more than this.
_TOLERANCE = 1e-7
_MOST_STEPS = 1000

LOSSES = ("logistic", "exponential", "hinge", "squared", "linear")


def count_columns(n_classes: int) -> int:
    """Return how many ways there are to part the classes into two sides."""
    return 2 ** (n_classes - 1) - 1


def make_exhaustive_code(n_classes: int) -> np.ndarray:
    """Return all ways to part the classes into two sides (Dietterich and Bakiri 1995).

    Examples
    --------
    >>> from sumwise.combine.output_codes import make_exhaustive_code
    >>> make_exhaustive_code(3)
    array([[ 1,  1,  1],
           [-1,  1, -1],
           [ 1, -1, -1]], dtype=int8)
    """
    if n_classes > MOST_EXHAUSTIVE_CLASSES:
        raise DataError(
            f"an exhaustive code of {n_classes} classes would have {count_columns(n_classes)} "
            f"columns; it is for at most {MOST_EXHAUSTIVE_CLASSES} classes: use a random code"
        )
    return _decode_columns(np.arange(count_columns(n_classes)), n_classes)


def _decode_columns(numbers: np.ndarray, n_classes: int) -> np.ndarray:
    """Turn numbers below 2^(K-1) - 1 into columns; the first class is always on the side of 1."""
    others = np.arange(n_classes - 1)[:, np.newaxis]
    bits = (numbers[np.newaxis, :] >> others) & 1
    # All ones would put every class on one side.
    return np.vstack([np.ones(numbers.size, dtype=np.int64), 2 * bits - 1]).astype(np.int8)


def make_random_code(n_classes: int, n_columns: int, draws: np.random.RandomState) -> np.ndarray:
    """Return the best of many random codes: that whose nearest two classes differ most.

    No column is constant, and no two part the classes in the same way.
    """
    best, best_distance = None, -1
    n_ways = count_columns(n_classes)
    for _ in range(_N_DRAWS):
        if n_classes <= 20:
            numbers = _choose_without_replacement(n_ways, n_columns, draws)
            code = _decode_columns(numbers, n_classes)
        else:  # of so many ways no two are the same
            code = 2 * draws.randint(2, size=(n_classes, n_columns)).astype(np.int8) - 1
        distance = measure_row_distance(code)
        if distance > best_distance:
            best, best_distance = code, distance
    assert best is not None
    return best


def _choose_without_replacement(n: int, n_chosen: int, draws: np.random.RandomState) -> np.ndarray:
    if n_chosen * 3 > n:
        return draws.permutation(n)[:n_chosen]
    chosen: set[int] = set()
    while len(chosen) < n_chosen:
        chosen.add(int(draws.randint(n)))
    return np.array(sorted(chosen))


def measure_row_distance(code: np.ndarray) -> int:
    """Return in how many columns at least two classes are on different sides."""
    products = code.astype(np.int64) @ code.T.astype(np.int64)
    used = (code != 0).astype(np.int64)
    differ = (used @ used.T - products) // 2
    return int(differ[np.triu_indices(len(code), 1)].min())


def make_tree_code(similarity: np.ndarray) -> np.ndarray:
    """Return a code that parts classes again and again, least similar ones first.

    A column for each inner node of a tree of classes: its classes are parted where the cut through
    their similarities is cheapest, by the second eigenvector of the normalized Laplacian (after
    Pujol, Radeva and Vitria 2006, who part classes by mutual information, and Zhang, Liang and Shi
    2009, who use this eigenvector).

    Parameters
    ----------
    similarity : ndarray of shape (n_classes, n_classes)
        Symmetric and not negative, such as how often two classes are confused.

    Returns
    -------
    ndarray of int8, shape (n_classes, n_classes - 1)
    """
    n_classes = len(similarity)
    columns = []
    waiting = [np.arange(n_classes)]
    while waiting:
        classes = waiting.pop(0)
        if classes.size < 2:
            continue
        on_left = _cut(similarity[np.ix_(classes, classes)])
        column = np.zeros(n_classes, dtype=np.int8)
        column[classes] = np.where(on_left, 1, -1)
        columns.append(column)
        waiting += [classes[on_left], classes[~on_left]]
    return np.column_stack(columns)


def _cut(similarity: np.ndarray) -> np.ndarray:
    """Part classes into two sides that are little alike; neither is empty."""
    n = len(similarity)
    # A little likeness of all keeps the graph in one piece, and rows of zeros apart from 0 / 0.
    alike = similarity + max(1e-6, 1e-3 * float(similarity.max()))
    np.fill_diagonal(alike, 0.0)
    root = np.sqrt(alike.sum(axis=1))
    laplacian = np.eye(n) - alike / np.outer(root, root)
    vector = np.linalg.eigh(laplacian)[1][:, 1] / root
    order = np.argsort(vector, kind="stable")
    # The cheapest of all cuts along the eigenvector, relative to what its sides have in all.
    costs = []
    for size in range(1, n):
        left, right = order[:size], order[size:]
        cost = alike[np.ix_(left, right)].sum()
        costs.append(cost / (root[left] ** 2).sum() + cost / (root[right] ** 2).sum())
    on_left = np.zeros(n, dtype=bool)
    on_left[order[: int(np.argmin(costs)) + 1]] = True
    return on_left if on_left[0] else ~on_left


def measure_hamming(code: np.ndarray, margins: np.ndarray) -> np.ndarray:
    """Return how many learners contradict each class, one half for those that leave it out.

    Parameters
    ----------
    code : ndarray of shape (n_classes, n_columns)
    margins : ndarray of shape (n_rows, n_columns)

    Returns
    -------
    ndarray of shape (n_rows, n_classes)
    """
    signs = np.where(margins > 0.0, 1.0, -1.0)
    return 0.5 * (code.shape[1] - signs @ code.T.astype(np.float64))


def measure_loss(code: np.ndarray, margins: np.ndarray, loss: str) -> np.ndarray:
    """Return the loss of the margins if each class was right, summed over the learners.

    Parameters
    ----------
    code, margins : as in :func:`measure_hamming`
    loss : {"logistic", "exponential", "hinge", "squared", "linear"}

    Returns
    -------
    ndarray of shape (n_rows, n_classes)
    """
    result = np.zeros((margins.shape[0], code.shape[0]))
    for column, margin in zip(code.T, margins.T, strict=True):
        result += _find_loss(margin[:, np.newaxis] * column, loss)
    return result


def _find_loss(z: np.ndarray, loss: str) -> np.ndarray:
    if loss == "logistic":
        return np.logaddexp(0.0, -z)
    if loss == "exponential":
        return np.exp(np.minimum(-z, 700.0))
    if loss == "hinge":
        return np.maximum(0.0, 1.0 - z)
    return (1.0 - z) ** 2 if loss == "squared" else -z


def couple_probabilities(code: np.ndarray, sides: np.ndarray) -> np.ndarray:
    """Return the probabilities of classes that agree best with those of the learners' sides.

    With q the probabilities of classes, a learner's side of 1 has the probability r, the sum of q
    over the classes of 1 as a share of that over the classes of both sides. The q are those for
    which what the learners say is likeliest: they minimize the sum, over the learners, of the
    Kullback-Leibler divergences of r from ``sides``. Where some q explain all learners exactly,
    these are the result. This is the generalized Bradley-Terry model of Huang, Weng and Lin (2006),
    whose Algorithm 2 solves it.

    Parameters
    ----------
    code : ndarray of shape (n_classes, n_columns)
    sides : ndarray of shape (n_rows, n_columns)
        Probability of the side of 1, one per learner.

    Returns
    -------
    ndarray of shape (n_rows, n_classes)

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.combine.output_codes import couple_probabilities, make_exhaustive_code
    >>> code, q = make_exhaustive_code(3), np.array([[0.5, 0.2, 0.3]])
    >>> couple_probabilities(code, q @ (code == 1)).round(3)
    array([[0.5, 0.2, 0.3]])
    """
    n_rows, n_classes = sides.shape[0], code.shape[0]
    of_one, of_other = (code == 1).astype(np.float64), (code == -1).astype(np.float64)
    result = np.full((n_rows, n_classes), 1.0 / n_classes)
    active = np.arange(n_rows)  # each row ends on its own, whatever others it comes with
    for _ in range(_MOST_STEPS if code.shape[1] else 0):
        before, said = result[active], sides[active]
        after = _couple_once(before, said, of_one, of_other)
        result[active] = after
        active = active[np.abs(after - before).max(axis=1) > _TOLERANCE]
        if active.size == 0:
            break
    return result


def _couple_once(
    q: np.ndarray, sides: np.ndarray, of_one: np.ndarray, of_other: np.ndarray
) -> np.ndarray:
    """Multiply each probability by what learners say of its sides, relative to what q says."""
    tiny = np.finfo(np.float64).tiny
    one, other = np.maximum(q @ of_one, tiny), np.maximum(q @ of_other, tiny)
    # A side that has lost all its probability has none to be multiplied; it must not overflow.
    said = np.minimum(sides / one, 1e100) @ of_one.T
    said += np.minimum((1.0 - sides) / other, 1e100) @ of_other.T
    q = q * said / ((1.0 / (one + other)) @ (of_one + of_other).T)
    return q / q.sum(axis=1, keepdims=True)
