"""Tables with aligned columns: of Markdown, and plain ones for a terminal."""

from collections.abc import Sequence


def format_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Format an aligned Markdown table: the first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    return "\n".join(
        f"| {row[0]:<{widths[0]}} | "
        + " | ".join(f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True))
        + " |"
        for row in (header, rule, *rows)
    )


def align_columns(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Format a table without rules: the first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    return "\n".join(
        "  ".join(
            [
                f"{line[0]:<{widths[0]}}",
                *(f"{cell:>{width}}" for cell, width in zip(line[1:], widths[1:], strict=True)),
            ]
        ).rstrip()
        for line in (header, *rows)
    )
