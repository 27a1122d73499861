"""What an automatic ensemble has tried: its leaderboard, with weights and times."""

from typing import Any

import numpy as np

from sumwise.report.blocks import Block, Cell, Column, Figure, Section, Table, Text
from sumwise.report.charts.bars import draw_intervals
from sumwise.report.charts.scales import choose_decimals, find_focus, format_number
from sumwise.report.scores import NORMAL_95

_MOST_DRAWN = 25


def describe_tried(model: Any, key: str = "tried") -> Section | None:
    """Return the section about the leaderboard of an automatic ensemble; None for others."""
    board = getattr(model, "leaderboard_", None)
    if board is None or not len(board):
        return None
    columns = [
        Column("Model"),
        Column(board.metric, "", "Of rows that the models had not seen"),
        Column("Weight", ".3f", "Share in the ensemble"),
        Column("Fits", ",d", "Finished fits, one per fold"),
        Column("Rounds", ",.0f", "Mean number of rounds or trees"),
        Column("Seconds", ",.1f", "Training over all folds"),
        Column("Status"),
    ]
    n_decimals = choose_decimals(board[0].score)
    rows = []
    for entry in board:
        text = f"{entry.score:,.{n_decimals}f}" if np.isfinite(entry.score) else ""
        around = NORMAL_95 * entry.std_error
        if text and np.isfinite(around):
            text += f" ± {format_number(around, 2)}"
        rows.append(
            [
                entry.name,
                Cell(entry.score, text),
                entry.weight or None,
                entry.n_folds or None,
                entry.n_rounds or None,
                entry.seconds,
                entry.status,
            ]
        )
    blocks: list[Block] = [
        Table(f"{len(board)} entries by {board.metric}", columns, rows, 0),
        *_draw_board(board),
        Text(
            "Scores come from rows that the models had not seen; the ensemble's come from weights "
            "that were learned from other rows."
        ),
    ]
    return Section(key, "What was tried", blocks)


def _draw_board(board: Any) -> list[Figure]:
    known = [entry for entry in board if np.isfinite(entry.score)][:_MOST_DRAWN]
    if not known:
        return []
    names = [entry.name for entry in known]
    score = np.array([entry.score for entry in known])
    half = NORMAL_95 * np.array([entry.std_error for entry in known])
    series = ["s0" if entry.weight or k == 0 else "s6" for k, entry in enumerate(known)]
    alt = f"{board.metric} of {len(known)} models; {names[0]}: {format_number(score[0])}."
    svg = draw_intervals(
        names,
        score,
        score - half,
        score + half,
        series,
        board.metric,
        alt,
        float(score[0]),
        find_focus(score, float(score[0])),
    )
    data = {"models": names, "score": score, "low": score - half, "high": score + half}
    caption = "With 95 % intervals over rows; gray models are not part of the ensemble."
    return [Figure("tried-scores", "Scores of what was tried", svg, data, caption)]
