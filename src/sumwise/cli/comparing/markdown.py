"""The comparison on one data set as a section of Markdown."""

from collections.abc import Sequence

from sumwise.cli.comparing.contenders import MOST_CATEGORIES
from sumwise.cli.comparing.datasets import Dataset
from sumwise.cli.comparing.rows import (
    DECOMPOSITION_HEADER,
    format_decompositions,
    format_result,
    name_columns,
    sort_results,
)
from sumwise.cli.comparing.scores import Metric
from sumwise.cli.comparing.validation import Result
from sumwise.cli.tables import format_table


def format_markdown(data: Dataset, results: Sequence[Result], metric: Metric, n_folds: int) -> str:
    """Return the section of a data set."""
    ordered = sort_results(results, metric)
    rows = [format_result(result, n_folds) for result in ordered]
    parts = [f"## {data.name}", describe_dataset(data), format_table(name_columns(metric), rows)]
    decompositions = format_decompositions(ordered)
    if decompositions:
        what = "Squared error" if data.task == "regression" else "Error of the vote"
        parts += [
            f"{what} = mean error of the members - diversity + bad diversity:",
            format_table(DECOMPOSITION_HEADER, decompositions),
        ]
    return "\n\n".join(parts) + "\n"


def describe_dataset(data: Dataset) -> str:
    """Describe the size of a data set, its categories, and how each contender gets them."""
    n_rows, n_features = data.X.shape
    text = f"{n_rows:,} rows, {n_features} features, {data.task}"
    features = data.find_categories()
    if not features:
        return text
    counts = [len({v for v in data.X[:, f] if isinstance(v, str)}) for f in features]
    missing = ", missing values" if data.has_missing() else ""
    text += (
        f"; categories ({', '.join(map(str, counts))} of them){missing}\n\n"
        "sumwise gets the table as it is; HistGradientBoosting gets categories as ordinal codes"
    )
    if max(counts) > MOST_CATEGORIES:
        text += f", the rarest sharing one where there are more than {MOST_CATEGORIES}"
    return text
