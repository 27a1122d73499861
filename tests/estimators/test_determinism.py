"""The number of threads changes no byte of a model, and no bit of a prediction."""

import numpy as np
import pytest

from sumwise import Columns, GradientBoostingClassifier, GradientBoostingRegressor, Subsample
from sumwise.estimators.input import jobs
from sumwise.kernels.grow.layout import EXACT_ROWS, PACKED_ROWS

GROWTHS = ["leaf", "depth", "symmetric"]
THREADS = [1, 2, 4]
OPTIONS = {
    "plain": {},
    "sampling": {
        "sampler": Subsample(rate=0.7),
        "columns": Columns(by_tree=0.8, by_level=0.8, by_node=0.7),
    },
    "weights": {},
    "heavy tail": {},
    "four classes": {},
    "constraints": {"interaction_cst": [[0, 1]]},
    "early stopping": {"early_stopping": True, "n_iter_no_change": 2},
}
# Rows on either side of the limits: histograms of exact values, packed ones, and both kinds of
# packed ones in a tree.
SIZES = [(EXACT_ROWS - 56, 3), (PACKED_ROWS - 1000, 17), (2 * PACKED_ROWS + 800, 40)]


@pytest.fixture
def teams(monkeypatch):
    """Let four threads run however few CPUs there are and however small the work; list them."""
    monkeypatch.setattr(jobs, "count_cpus", lambda: 4)
    monkeypatch.setattr(jobs, "STEPS_PER_THREAD", 1)
    monkeypatch.setattr(jobs, "count_growers", lambda n_values: 99)
    started = []

    class RecordedTeam(jobs.Team):
        def __enter__(self):
            started.append(self.n_threads)
            return super().__enter__()

    monkeypatch.setattr(jobs, "Team", RecordedTeam)
    return started


def make_table(n_rows, n_features):
    """Return X of few and many values, some missing, a target and weights."""
    rng = np.random.default_rng(n_features)
    X = rng.normal(size=(n_rows, n_features))
    X[:, ::3] = X[:, ::3].round(1)
    X[rng.random(X.shape) < 0.05] = np.nan
    X[:, -1] = 1.0
    signal = np.nan_to_num(X[:, 0] + np.abs(X[:, 1]))
    return X, signal + rng.normal(size=n_rows), rng.exponential(size=n_rows)


def fit(option, growth, n_rows, n_features, n_jobs):
    X, y, weight = make_table(n_rows, n_features)
    kind = GradientBoostingRegressor
    if option == "four classes":
        kind, y = GradientBoostingClassifier, np.digitize(y, np.quantile(y, [0.2, 0.5, 0.9]))
    if option == "heavy tail":
        y[7] = 1e5
    directions = np.resize([1, -1, 0], n_features) if option == "constraints" else None
    model = kind(
        n_estimators=4,
        max_leaves=24,
        min_samples_leaf=5,
        growth=growth,
        random_state=0,
        n_jobs=n_jobs,
        monotonic_cst=directions,
        **OPTIONS[option],
    )
    return model.fit(X, y, weight if option == "weights" else None), X


@pytest.mark.parametrize(("n_rows", "n_features"), SIZES)
@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("growth", GROWTHS)
def test_threads_change_no_byte(growth, option, n_rows, n_features, teams, bytes_of):
    files = [bytes_of(fit(option, growth, n_rows, n_features, n_jobs)[0]) for n_jobs in THREADS]
    n_teams = 2 if option == "four classes" else 1  # labels are numbered by one, too
    assert teams == [n_threads for n_threads in THREADS for _ in range(n_teams)]
    assert files[0] == files[1] == files[2]


@pytest.mark.parametrize("growth", GROWTHS)
def test_threads_change_no_byte_of_a_larger_model(growth, teams, all_cpus, bytes_of):
    # Enough rows that a thread's packed sums are flushed several times.
    files = [bytes_of(fit("weights", growth, 20_000, 5, n_jobs)[0]) for n_jobs in THREADS]
    assert teams == THREADS
    assert files[0] == files[1] == files[2]


@pytest.mark.parametrize("growth", GROWTHS)
def test_threads_change_no_bit_of_a_prediction(growth, teams):
    model, X = fit("four classes", growth, *SIZES[1], 1)
    for method in ("predict_proba", "decision_function", "predict", "apply"):
        results = []
        for n_jobs in THREADS:
            results.append(getattr(model.set_params(n_jobs=n_jobs), method)(X))
            assert teams[-1] == n_jobs
        assert np.array_equal(results[0], results[1])
        assert np.array_equal(results[0], results[2])
    stages = [list(model.set_params(n_jobs=n)._staged_predict_raw(X)) for n in THREADS]
    assert np.array_equal(stages[0], stages[1])
    assert np.array_equal(stages[0], stages[2])


def test_more_threads_than_rows_or_features(teams, bytes_of):
    X, y = [[1.0], [2.0], [3.0]], [1.0, 2.0, 9.0]
    models = [
        GradientBoostingRegressor(n_estimators=3, min_samples_leaf=1, n_jobs=n).fit(X, y)
        for n in THREADS
    ]
    assert len(set(map(bytes_of, models))) == 1
    assert teams[-1] == 4


def test_the_same_fit_twice(bytes_of):
    first, second = (fit("sampling", "leaf", *SIZES[0], None)[0] for _ in range(2))
    assert bytes_of(first) == bytes_of(second)


def test_a_clear_split_is_found_on_either_side_of_the_limit():
    for n_rows in (EXACT_ROWS, EXACT_ROWS + 1):
        X = np.arange(n_rows)[:, None] % 100
        model = GradientBoostingRegressor(n_estimators=1, max_leaves=2).fit(X, X[:, 0] < 30)
        assert model.ensemble_.threshold[0] == 29.5
