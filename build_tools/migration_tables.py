"""Writes the tables of docs/migration from those that translate parameters.

Run ``python -m build_tools.migration_tables`` after a change of ``sumwise.compat``. The tests check
that the pages are up to date.
"""

import re
from pathlib import Path

from sumwise.compat.catboost import objectives as catboost_objectives
from sumwise.compat.catboost.parameters import TABLE as CATBOOST
from sumwise.compat.lightgbm import objectives as lightgbm_objectives
from sumwise.compat.lightgbm.parameters import TABLE as LIGHTGBM
from sumwise.compat.xgboost import objectives as xgboost_objectives
from sumwise.compat.xgboost.parameters import TABLE as XGBOOST

FOLDER = Path(__file__).parents[1] / "docs" / "migration"


def describe_losses(library: str, rows: list[tuple[tuple[str, ...], str]]) -> str:
    """Return a table of losses: their names, and what they are in sumwise."""
    lines = [f"| {library} | sumwise |", "|---|---|"]
    lines += [f"| {', '.join(f'`{name}`' for name in names)} | {text} |" for names, text in rows]
    return "\n".join(lines) + "\n"


def describe_refused(refused: dict[str, str]) -> str:
    """Return a table of losses that are refused."""
    lines = ["| not supported | instead |", "|---|---|"]
    lines += [f"| `{name}` | {text} |" for name, text in refused.items()]
    return "\n".join(lines) + "\n"


def make_tables() -> dict[str, dict[str, str]]:
    """Return the tables of each page, by the name of their place."""
    classes = ('"log_loss"',)
    lightgbm = [(row.names, row.text) for row in lightgbm_objectives.REGRESSION]
    xgboost = [(row.names, row.text) for row in xgboost_objectives.REGRESSION]
    catboost = [((row.name,), row.text) for row in catboost_objectives.REGRESSION]
    return {
        "from_lightgbm.md": {
            "parameters": LIGHTGBM.to_markdown(),
            "losses": describe_losses(
                "LightGBM", [*lightgbm, (lightgbm_objectives.CLASSIFICATION, *classes)]
            ),
            "refused losses": describe_refused(lightgbm_objectives.REFUSED),
        },
        "from_xgboost.md": {
            "parameters": XGBOOST.to_markdown(),
            "losses": describe_losses(
                "XGBoost", [*xgboost, (xgboost_objectives.CLASSIFICATION, *classes)]
            ),
            "refused losses": describe_refused(xgboost_objectives.REFUSED),
        },
        "from_catboost.md": {
            "parameters": CATBOOST.to_markdown(),
            "losses": describe_losses(
                "CatBoost", [*catboost, (("Logloss", "MultiClass"), *classes)]
            ),
            "refused losses": describe_refused(catboost_objectives.REFUSED),
        },
    }


def fill(text: str, tables: dict[str, str]) -> str:
    """Return a page with new tables between its marks."""
    for name, table in tables.items():
        begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
        pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
        if not pattern.search(text):
            raise ValueError(f"there is no place for the table of {name}")
        whole = f"{begin}\n{table}{end}"
        text = pattern.sub(lambda _, whole=whole: whole, text)
    return text


def main() -> None:
    """Write all pages."""
    for page, tables in make_tables().items():
        path = FOLDER / page
        path.write_text(fill(path.read_text(encoding="utf-8"), tables), encoding="utf-8")


if __name__ == "__main__":
    main()
