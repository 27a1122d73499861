"""The leaderboard: order, columns and text."""

import numpy as np

from sumwise.estimators.auto.leaderboard import Leaderboard, LeaderboardEntry

ENTRIES = [
    LeaderboardEntry("poor", 0.9, 0.1, 0.0, 1.0, 5, 20.0, "not chosen"),
    LeaderboardEntry("late", np.nan, np.nan, 0.0, 0.5, 1, 0.0, "left out: time"),
    LeaderboardEntry("good", 0.2, 0.05, 0.75, 2.0, 5, 10.0, "chosen"),
    LeaderboardEntry("ensemble", 0.3, 0.05, 1.0, 3.5, 11, 0.0, "greedy"),
]


def names(board):
    return [entry.name for entry in board]


def test_the_ensemble_comes_first_then_the_best():
    assert names(Leaderboard(ENTRIES, "log_loss", False)) == ["ensemble", "good", "poor", "late"]
    assert names(Leaderboard(ENTRIES, "roc_auc", True)) == ["ensemble", "poor", "good", "late"]


def test_it_is_a_sequence():
    board = Leaderboard(ENTRIES, "log_loss", False)
    assert len(board) == 4
    assert board[1].name == "good"
    assert [entry.name for entry in board[1:3]] == ["good", "poor"]


def test_columns():
    board = Leaderboard(ENTRIES, "log_loss", False)
    columns = board.to_dict()
    assert list(columns) == list(LeaderboardEntry._fields)
    assert columns["weight"] == [1.0, 0.75, 0.0, 0.0]
    frame = board.to_frame()
    assert frame.shape == (4, 8)
    assert frame["score"].isna().sum() == 1


def test_text():
    lines = repr(Leaderboard(ENTRIES, "log_loss", False)).splitlines()
    assert lines[0].split() == ["log_loss", "std", "error", "weight", "seconds", "folds", "status"]
    assert lines[2].split() == ["good", "0.2", "0.05", "0.750", "2.0", "5", "chosen"]
    assert lines[4].split() == ["late", "0.5", "1", "left", "out:", "time"]
