import numpy as np

from sumwise.cli.comparing.contenders import Contender
from sumwise.cli.comparing.datasets import Dataset
from sumwise.cli.comparing.markdown import describe_dataset, format_markdown
from sumwise.cli.comparing.scores import METRICS
from sumwise.cli.comparing.validation import Decomposition, Result

NAMES = np.array([f"color {i // 2}" for i in range(600)], dtype=object)
COLORS = Dataset(
    "colors", "regression", np.column_stack([np.arange(600.0), NAMES]), np.arange(600.0)
)


def test_description_tells_of_categories():
    COLORS.X[:3, 1] = None
    text = describe_dataset(COLORS)
    assert text.startswith("600 rows, 2 features, regression; categories (299 of them), missing")
    assert "sharing one where there are more than 255" in text
    few = COLORS._replace(X=COLORS.X[10:20])
    assert "missing" not in describe_dataset(few)
    assert "sharing" not in describe_dataset(few)
    numbers = COLORS._replace(X=COLORS.X[:, :1].astype(float))
    assert describe_dataset(numbers) == "600 rows, 1 features, regression"


def test_section_has_scores_and_decompositions():
    result = Result(
        Contender("forest", "x", None),
        600,
        [0.5, 0.7],
        [1, 2],
        [0.1, 0.1],
        [3, 3],
        [Decomposition(1, 3, 2)],
    )
    text = format_markdown(COLORS, [result], METRICS["regression"]["r2"], 2)
    assert text.startswith("## colors\n\n600 rows")
    assert "| method |        R² ± 95 % | fit s |" in text.replace("      R²", "       R²")
    assert "| forest | 0.6000 ± " in text
    assert "Squared error = mean error of the members" in text
