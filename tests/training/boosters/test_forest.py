"""Forest mode against a slow twin."""

import numpy as np
import pytest

from sumwise import Columns, Forest, Subsample
from sumwise.errors import ParameterError
from sumwise.kernels.runtime.threads import Team
from sumwise.losses import Absolute
from sumwise.sampling import RowSource
from sumwise.sampling.bootstrap import BootstrapRows
from sumwise.training.stopping import EarlyStopping
from tests.naive.predict import predict_binned
from tests.training.boosters.fits import fit, grow_naive, make_data, predict

ALL_FEATURES = Columns()


@pytest.mark.parametrize("trees_per_round", [1, 3])
def test_equals_a_naive_loop(trees_per_round):
    X, y, train, _ = make_data()
    result, data = fit(Forest(trees_per_round), columns=ALL_FEATURES)
    ensemble = result.ensemble
    start = float(ensemble.base_score[0])
    total = np.zeros_like(y)
    for k in range(8 * trees_per_round):
        with Team(1) as team:
            nothing = np.empty((1, y.size))
            source = RowSource(train, 0, k, nothing, nothing, y, team)
        drawn = BootstrapRows().draw(source)
        gradient, hessian = start - y, np.ones_like(y)
        gradient[drawn.rows] *= drawn.factor
        hessian[drawn.rows] *= drawn.factor
        twin = grow_naive(data, gradient, hessian, drawn.rows, learning_rate=1.0)
        nodes = slice(ensemble.start[k], ensemble.start[k] + twin.n_nodes)
        assert ensemble.feature[nodes].tolist() == twin.feature
        total += np.array(twin.value)[predict_binned(twin, data.table.columns)]
    assert ensemble.n_trees == 8 * trees_per_round
    assert ensemble.n_rounds == 8
    expected = start + total / (8 * trees_per_round)
    np.testing.assert_allclose(predict(ensemble, X)[:, 0], expected, rtol=1e-12)


def test_fewer_rounds_are_means_of_fewer_trees():
    X, *_ = make_data()
    whole = fit(Forest(2))[0].ensemble
    with Team(1) as team:
        stages = list(whole.staged_predict_raw(X, team))
    for n_rounds in (1, 5, 8):
        exact = predict(fit(Forest(2), n_rounds=n_rounds)[0].ensemble, X)
        np.testing.assert_allclose(predict(whole.truncate(n_rounds), X), exact, rtol=1e-12)
        np.testing.assert_allclose(stages[n_rounds - 1], exact, rtol=1e-12)


def test_early_stopping_keeps_the_mean_of_the_best_round():
    stopped = fit(Forest(), n_rounds=40, stopping=EarlyStopping(3))[0]
    best = stopped.ensemble.n_rounds
    assert best == int(np.argmin(stopped.history["validation_loss"])) + 1
    exact = fit(Forest(), n_rounds=best)[0]
    assert np.array_equal(stopped.ensemble.value, exact.ensemble.value)


def test_rows_and_features_of_the_estimator_come_first():
    plain = fit(Forest())[0].ensemble
    for settings in ({"sampler": Subsample(0.5)}, {"columns": ALL_FEATURES}):
        other = fit(Forest(), **settings)[0].ensemble
        assert not np.array_equal(plain.value, other.value)
    one = fit(Forest(bootstrap=False), columns=ALL_FEATURES)[0].ensemble
    assert len({tuple(one.feature[k : k + 3].tolist()) for k in one.start[:-1]}) == 1


def test_refitted_leaves_are_whole_steps_from_the_start():
    X, y, train, _ = make_data()
    ensemble = fit(Forest(bootstrap=False), loss=Absolute(), n_rounds=2, columns=ALL_FEATURES)[
        0
    ].ensemble
    assert ensemble.base_score[0] == np.median(y[train])
    with Team(1) as team:
        leaf = ensemble.apply(X, team)[train, 0]
    for node in np.unique(leaf):
        median = np.median(y[train][leaf == node])
        assert 2 * ensemble.value[node] + ensemble.base_score[0] == pytest.approx(median)


@pytest.mark.parametrize(
    "part", [Forest(0), Forest(1.5), Forest(bootstrap="yes"), Forest(feature_rate=0)]
)
def test_parameters_that_cannot_be(part):
    with pytest.raises(ParameterError, match=r"Forest\("):
        part.check()
