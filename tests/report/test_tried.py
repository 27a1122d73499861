"""What automatic ensembles have tried."""

from types import SimpleNamespace

import numpy as np

from sumwise.estimators.auto.leaderboard import Leaderboard, LeaderboardEntry
from sumwise.report.tried import describe_tried

NAN = float("nan")


def make(*entries):
    return SimpleNamespace(leaderboard_=Leaderboard(entries, "rmse", False))


def test_scores_weights_and_reasons():
    section = describe_tried(
        make(
            LeaderboardEntry("ensemble", 1.0, 0.1, 1.0, 9.0, 5, 0, ""),
            LeaderboardEntry("<tree>", 1.5, 0.2, 0.0, 1.0, 5, 0, "not chosen"),
            LeaderboardEntry("forest", 1.2, 0.1, 1.0, 7.0, 5, 100, "chosen"),
            LeaderboardEntry("late", NAN, NAN, 0.0, 0.0, 0, 0, "no time left"),
        )
    )
    table, figure, _ = section.blocks
    columns = table.to_dict()["columns"]
    assert columns["Model"] == ["ensemble", "forest", "<tree>", "late"]
    assert columns["rmse"] == [1.0, 1.2, 1.5, None]
    assert columns["Weight"] == [1.0, 1.0, None, None]
    assert columns["Status"][3] == "no time left"
    assert table.rows[0][1].text == "1.000 ± 0.2"
    assert figure.data["models"] == ["ensemble", "forest", "<tree>"]
    assert np.allclose(figure.data["high"] - figure.data["score"], [0.196, 0.196, 0.392])
    assert figure.svg.count('"dot s6"') == 1  # not part of the ensemble


def test_other_models_have_no_section():
    assert describe_tried(SimpleNamespace()) is None
    assert describe_tried(make()) is None


def test_without_any_score_there_is_a_table_alone():
    section = describe_tried(make(LeaderboardEntry("late", NAN, NAN, 0.0, 0.0, 0, 0, "no time")))
    assert [type(block).__name__ for block in section.blocks] == ["Table", "Text"]
