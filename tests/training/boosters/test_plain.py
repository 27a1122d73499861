"""Plain boosting with several trees per round; with one, see test_boost."""

import numpy as np
import pytest

from sumwise import Goss, Plain, Subsample
from sumwise.errors import ParameterError
from sumwise.kernels.runtime.threads import Team
from sumwise.losses import Absolute, Multinomial
from sumwise.sampling import RowSource
from tests.naive.predict import predict_binned
from tests.training.boosters.fits import LEARNING_RATE, fit, grow_naive, make_data, predict


@pytest.mark.parametrize("sampler", [Subsample(0.5), Goss(0.3, 0.2)])
@pytest.mark.parametrize("n_trees", [1, 3])
def test_equals_a_naive_loop(n_trees, sampler):
    X, y, train, _ = make_data()
    result, data = fit(Plain(n_trees), n_rounds=3, sampler=sampler)
    ensemble = result.ensemble
    raw = np.full(y.size, ensemble.base_score[0])
    for round_idx in range(3):
        gradient, hessian, added = raw - y, np.ones_like(y), []
        for k in range(round_idx * n_trees, (round_idx + 1) * n_trees):
            with Team(1) as team:
                source = RowSource(train, 0, k, gradient[None], hessian[None], y, team)
                drawn = sampler.draw(source)
            g, h = gradient.copy(), hessian.copy()
            if drawn.factor.size:
                g[drawn.rows] *= drawn.factor
                h[drawn.rows] *= drawn.factor
            twin = grow_naive(data, g, h, drawn.rows, LEARNING_RATE / n_trees)
            nodes = slice(ensemble.start[k], ensemble.start[k] + twin.n_nodes)
            assert ensemble.feature[nodes].tolist() == twin.feature
            assert ensemble.value[nodes].tolist() == twin.value
            added.append(np.array(twin.value)[predict_binned(twin, data.table.columns)])
        for values in added:
            raw = raw + values
    assert ensemble.n_rounds == 3
    assert predict(ensemble, X)[:, 0].tolist() == raw.tolist()


@pytest.mark.parametrize("loss", [None, Multinomial(3), Absolute()])
def test_losses_of_the_history_are_those_of_the_model(loss):
    X, y, _, valid = make_data()
    result, _ = fit(Plain(2), loss=loss, sampler=Subsample(0.6))
    with Team(1) as team:
        stages = list(result.ensemble.staged_predict_raw(X, team))
    assert len(stages) == result.ensemble.n_rounds == 8
    assert result.ensemble.truncate(5).n_trees == 10 * result.ensemble.n_outputs
    if loss is None:
        losses = [0.5 * np.mean((raw[valid, 0] - y[valid]) ** 2) for raw in stages]
        assert result.history["validation_loss"] == pytest.approx(losses, rel=1e-14)
    assert np.array_equal(stages[4], predict(result.ensemble.truncate(5), X))


@pytest.mark.parametrize("value", [0, -1, 1.5, None, True])
def test_numbers_that_cannot_be(value):
    with pytest.raises(ParameterError, match=r"Plain\(trees_per_round="):
        Plain(value).check()
