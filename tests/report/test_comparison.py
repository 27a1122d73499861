"""Reports of comparisons: sections follow from what is known."""

from dataclasses import replace

import numpy as np
import pytest

from sumwise.report import Contender, report_comparison


def list_titles(report):
    return [section.title for section in report.sections]


def test_sections_of_both_tasks(reports):
    assert list_titles(reports["classification"]) == [
        "Leaderboard",
        "Diversity of the models",
        "Confusion",
        "Probabilities",
        "Learning curves",
        "Features",
        "Data",
        "How to reproduce it",
    ]
    # Without a fitted model, nothing is said of its features.
    assert list_titles(reports["regression"]) == [
        "Leaderboard",
        "Diversity of the models",
        "Residuals",
        "Data",
        "How to reproduce it",
    ]


def test_facts(reports):
    facts = reports["classification"].to_dict()["facts"]
    assert facts["Recommended"] == "forest"
    assert facts["log loss"].startswith("0.32 ± ")
    assert facts["Data"] == "160 rows, 3 features"
    assert facts["Classes"] == "2"


def test_settings_and_command(reports):
    html = reports["classification"].to_html()
    assert (
        "sumwise compare &quot;rows" in html or 'sumwise compare "rows &amp; columns.csv"' in html
    )
    table = reports["classification"].to_dict()["sections"][-1]["blocks"][2]
    assert table["columns"]["Value"][0] == "4"


def test_without_predictions_there_are_scores_only(regression):
    contenders = [replace(c, out_of_fold=None) for c in regression.contenders]
    report = report_comparison(replace(regression, contenders=contenders))
    assert list_titles(report) == ["Leaderboard", "Data", "How to reproduce it"]


def test_contenders_with_fewer_rows_are_not_compared(regression):
    """A contender that missed a fold has no predictions for its rows."""
    first, second, third = regression.contenders
    torn = np.array(first.out_of_fold)
    torn[:9] = np.nan
    contenders = [replace(first, out_of_fold=torn), second, third]
    report = report_comparison(replace(regression, contenders=contenders))
    pairs = report.to_dict()["figures"]["pairs"]
    assert set(pairs["members"]) == {second.name, third.name}


def test_names_of_features_can_be_given(regression):
    named = replace(regression, X=regression.X.to_numpy(), feature_names=["p", "q", "r"])
    data = report_comparison(named).to_dict()["sections"][-2]
    (table,) = [block for block in data["blocks"] if block["kind"] == "table"]
    assert table["columns"]["Column"] == ["p", "q", "r"]


def test_one_contender_is_a_comparison(regression):
    alone = Contender("only", [1.0, 2.0], 1.0, 0.1, 3)
    report = report_comparison(replace(regression, contenders=[alone], best_name="only"))
    assert report.title == "houses: 1 model compared"


def test_labels_out_of_fold(classification):
    contenders = [
        replace(c, out_of_fold=classification.y[::step])
        for c, step in zip(classification.contenders, (1, -1, 1), strict=True)
    ]
    report = report_comparison(replace(classification, contenders=contenders))
    assert "Probabilities" not in list_titles(report)
    confusion = report.to_dict()["figures"]["confusion"]["counts"]
    assert np.trace(confusion) == pytest.approx(160)
