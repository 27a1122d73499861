"""Column sampling by tree, level and node."""

from sumwise.parts import Part, check_rate


class Columns(Part):
    """Search splits among a random share of the features.

    The shares multiply: a level draws from its tree's features, a node from its level's. At least
    one feature is always drawn. In symmetric growth a level has one split, so ``by_node`` draws
    once a level.

    Parameters
    ----------
    by_tree, by_level, by_node : float, default=1.0
        Share of the features drawn anew for each tree, level and node, in (0, 1].

    Examples
    --------
    >>> from sumwise import Columns, GradientBoostingClassifier
    >>> GradientBoostingClassifier(columns=Columns(by_tree=0.8, by_node=0.5)).columns
    Columns(by_tree=0.8, by_node=0.5)
    """

    def __init__(self, by_tree: float = 1.0, by_level: float = 1.0, by_node: float = 1.0) -> None:
        self.by_tree = by_tree
        self.by_level = by_level
        self.by_node = by_node

    def check(self) -> None:
        for name in ("by_tree", "by_level", "by_node"):
            check_rate(self, name)
