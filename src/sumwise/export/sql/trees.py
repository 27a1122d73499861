"""Trees as SQL: CASE expressions whose nesting is at most log2 of the number of leaves."""

import numpy as np

from sumwise.errors import ExportError
from sumwise.export.portable import TreeSum
from sumwise.export.program import count_leaves, follow_large
from sumwise.export.sql.dialects import LARGEST, Dialect

# DuckDB plans long lists slowly, 20 us for each member; a string of bits takes the same time
# whatever its length.
_MOST_LISTED = 8


class TreeCases:
    """Writes trees as CASE expressions.

    Parameters
    ----------
    trees : TreeSum
    numbers, codes : list of str
        The names of the columns of the trees: as numbers, and as codes for sets of categories.
    dialect : Dialect
    """

    def __init__(
        self, trees: TreeSum, numbers: list[str], codes: list[str], dialect: Dialect
    ) -> None:
        self._nodes, self._dialect = trees.trees, dialect
        self._numbers, self._codes = numbers, codes
        self._n_leaves = count_leaves(trees.trees)
        self._sets = trees.trees.left_categories
        largest = int(self._n_leaves[trees.start[:-1]].max(initial=0))
        if largest > dialect.most_leaves:
            raise ExportError(
                f"a tree has {largest:,} leaves, and {dialect.name} can read at most "
                f"{dialect.most_leaves:,}; limit them by max_leaves or max_depth"
            )

    def write(self, root: int, column: int) -> str:
        """Return the value that a row has in a tree, in a column of its values."""
        *turns, (leaf, _, _) = follow_large(self._nodes, self._n_leaves, root)
        last = self._write_leaf(leaf, column)
        if not turns:
            return last
        whens = [
            f"WHEN {self._write_test(node, is_left)} THEN {self.write(child, column)}"
            for node, child, is_left in turns
        ]
        return f"CASE {' '.join(whens)} ELSE {last} END"

    def _write_test(self, node: int, is_left: bool) -> str:
        """Return the condition under which a row goes to a child; NULL is as good as false."""
        feature = int(self._nodes.feature[node])
        takes_missing = bool(self._nodes.missing_left[node]) == is_left
        name = self._codes[feature] if node in self._sets else self._numbers[feature]
        test = (
            self._test_set(name, self._sets[node], is_left, name == self._numbers[feature])
            if node in self._sets
            else self._test_number(name, float(self._nodes.threshold[node]), is_left)
        )
        if not takes_missing:
            return test
        return f"({test} OR {name} IS NULL)" if test != "1 = 0" else f"{name} IS NULL"

    def _test_set(self, name: str, codes: np.ndarray, is_left: bool, is_category: bool) -> str:
        """Return whether a code is in a set; that of a category is a small integer or NULL."""
        if codes.size == 0:
            return "1 = 0" if is_left else f"{name} IS NOT NULL"
        if self._dialect.name == "duckdb" and is_category and codes.size > _MOST_LISTED:
            bits = np.zeros(codes.max() + 1, dtype=np.uint8)
            bits[codes] = 1
            text = "".join(map(str, bits.tolist()))
            return f"SUBSTRING('{text}', {name} + 1, 1) {'=' if is_left else '<>'} '1'"
        kept = ", ".join(map(str, codes.tolist()))
        return f"{name} {'IN' if is_left else 'NOT IN'} ({kept})"

    def _test_number(self, name: str, threshold: float, is_left: bool) -> str:
        if threshold == np.inf:  # databases write infinity in different ways, if at all
            return f"{name} IS NOT NULL" if is_left else "1 = 0"
        if threshold == -np.inf:
            bound = self._dialect.write_number(-LARGEST)
            return f"{name} {'<' if is_left else '>='} {bound}"
        return f"{name} {'<=' if is_left else '>'} {self._dialect.write_number(threshold)}"

    def _write_leaf(self, leaf: int, column: int) -> str:
        write, models = self._dialect.write_number, self._nodes.models
        value = write(float(self._nodes.value[leaf, column]))
        if models is None or models.size[leaf] == 0:
            return value
        terms = slice(*models.first[[leaf, leaf + 1]])
        total = write(float(models.constant[leaf]))
        for slope, feature in zip(models.coefficient[terms], models.feature[terms], strict=True):
            total += f" + {write(float(slope))} * {self._numbers[feature]}"
        limits = [
            f"WHEN {total} {sign} {write(float(limit))} THEN {write(float(limit))}"
            for sign, limit in (("<", models.low[leaf]), (">", models.high[leaf]))
            if np.isfinite(limit)
        ]
        inside = f"CASE {' '.join(limits)} ELSE {total} END" if limits else total
        # False if a term is NULL, infinite or NaN: then the leaf has its plain value.
        is_finite = f"ABS({total}) <= {write(LARGEST)}"
        return f"CASE WHEN {is_finite} THEN {inside} ELSE {value} END"
