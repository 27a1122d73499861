"""Learning curves."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

from sumwise import GradientBoostingRegressor
from sumwise.errors import DataError
from sumwise.plotting import LearningCurves, learning_curves, plot_learning_curves

X, Y = load_diabetes(return_X_y=True)


def test_curves_are_the_history():
    model = GradientBoostingRegressor(
        n_estimators=8, callbacks=[lambda state: None], scoring="r2", random_state=0
    )
    model.fit(X[:300], Y[:300], X_val=X[300:], y_val=Y[300:])
    data = learning_curves(model)
    assert set(data.scores) == {"training_loss", "validation_loss", "validation_score"}
    assert data.rounds.tolist() == list(range(1, 9))
    assert data.best_round == model.best_iteration_
    ax = plot_learning_curves(data)
    assert len(ax.lines) == 3  # two losses and the best round
    assert [other.get_ylabel() for other in ax.figure.axes] == ["loss", "score"]
    assert len(ax.get_legend().get_texts()) == 4


def test_scores_alone_need_one_axis():
    data = LearningCurves(np.arange(1, 4), {"validation_score": np.arange(3.0)}, 3)
    ax = plot_learning_curves(data)
    assert ax.get_ylabel() == "score"
    assert ax.figure.axes == [ax]


def test_without_a_history():
    with pytest.raises(DataError, match="has no history_"):
        learning_curves(GradientBoostingRegressor())
    with pytest.raises(DataError, match="fit with X_val or early_stopping"):
        learning_curves(GradientBoostingRegressor(n_estimators=1).fit(X, Y))
