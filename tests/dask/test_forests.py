"""Forests on a cluster of processes: the same bytes as in one process, whoever is lost."""

import io
import itertools
import pickle
import warnings
from functools import partial

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask import delayed
from distributed import Client, LocalCluster
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError

import sumwise
from sumwise import dask as on_dask
from sumwise.dask import growing, placement
from sumwise.errors import DataError, DataWarning, ParameterError, PeersError, UnknownParameterError
from tests.dask.faults import kill, list_pids, stop
from tests.dask.forest_faults import fail, run_with_fault

N_ROWS, N_TREES = 240, 9
FEATURES = ["a", "b", "color"]
NAMES = [
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
]
STEPS = ["bin_rows", "grow_trees", "join_trees"]


def make_frame(n_rows):
    rng = np.random.default_rng(0)
    own = pd.DataFrame(rng.normal(size=(n_rows, 2)), columns=list("ab"))
    own.loc[rng.random(n_rows) < 0.1, "b"] = np.nan
    own["color"] = rng.choice(["red", "green", "blue"], n_rows)
    score = own.a + own.b.fillna(1) + (own.color == "red") + rng.normal(size=n_rows)
    own["amount"] = score
    own["more"] = score * own.a
    own["label"] = np.select([score < 0, score > 1], ["no", "yes"], "maybe")
    own["weight"] = rng.integers(0, 3, n_rows).astype(float)
    return own


FRAME = make_frame(N_ROWS)


def cut(frame, ends):
    """Return a Dask DataFrame whose partitions end at these rows; some may be empty."""
    bounds = [0, *ends, len(frame)]
    parts = [delayed(frame[i:j]) for i, j in itertools.pairwise(bounds)]
    return dd.from_delayed(parts, meta=frame[:0], verify_meta=False)


def write(model):
    file = io.BytesIO()
    model.save(file)
    return file.getvalue()


def fit_both(name, params, X, y, weight, *in_memory):
    """Fit on the cluster and in this process; the bytes are the same."""
    params = {"n_estimators": N_TREES, "random_state": 5, **params}
    model = getattr(on_dask, name)(**params)
    assert model.fit(X, y, weight) is model
    plain = getattr(sumwise, name)(**params).fit(*in_memory)
    local = model.to_local()
    assert type(local) is type(plain)
    assert vars(local).keys() == vars(plain).keys()
    if not isinstance(getattr(plain, "classes_", None), list):
        assert write(model) == write(plain)
    for array in ("start", "feature", "split_bin", "value"):
        np.testing.assert_array_equal(getattr(model.forest_, array), getattr(plain.forest_, array))
    return model, plain


CASES = {
    "classes": ("RandomForestClassifier", "label", {"oob_score": True}),
    "balanced": ("ExtraTreesClassifier", "label", {"class_weight": "balanced", "bootstrap": True}),
    "calibrated": ("RandomForestClassifier", "label", {"calibrate": "isotonic"}),
    "numbers": ("RandomForestRegressor", "amount", {"oob_score": True, "max_features": 0.5}),
    "by folds": ("ExtraTreesRegressor", "amount", {"conformal": True, "calibration_rows": 3}),
    "pruned": ("RandomForestRegressor", "amount", {"prune": "oob", "min_samples_leaf": 0.02}),
    "targets": ("ExtraTreesRegressor", ["amount", "more"], {"max_leaf_nodes": 9}),
    "outputs": ("RandomForestClassifier", ["label", "color"], {"max_features_per_tree": 1}),
}


@pytest.mark.filterwarnings("ignore::sumwise.errors.DataWarning")
@pytest.mark.parametrize("weight", [None, "weight"])
@pytest.mark.parametrize("case", CASES)
def test_the_forest_has_the_bytes_of_a_fit_in_one_process(client, case, weight):
    name, target, params = CASES[case]
    names = FEATURES[:2] if case == "outputs" else FEATURES
    frame, own = cut(FRAME, [50, 50, 180]), None if weight is None else FRAME[weight]
    in_memory = (FRAME[names], FRAME[target], own)
    model, plain = fit_both(
        name,
        params,
        frame[names],
        frame[target],
        None if weight is None else frame[weight],
        *in_memory,
    )
    for attribute in ("oob_score_", "oob_prediction_", "oob_decision_function_"):
        if hasattr(plain, attribute):
            np.testing.assert_array_equal(getattr(model, attribute), getattr(plain, attribute))
    np.testing.assert_array_equal(model.feature_importances_, plain.feature_importances_)
    np.testing.assert_array_equal(model.estimators_samples_, plain.estimators_samples_)


@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    ends=st.lists(st.integers(0, N_ROWS), max_size=5).map(sorted),
    kind=st.sampled_from(["frame", "array", "sparse"]),
    n_trees=st.integers(1, 30),
    only=st.integers(0, N_ROWS - 1),
)
def test_the_forest_does_not_depend_on_partitions(client, ends, kind, n_trees, only):
    """A category, and a missing value, may be in one partition only."""
    frame = FRAME.astype({"color": "category"})
    frame.color = frame.color.cat.add_categories("violet")
    frame.loc[only, ["a", "color"]] = [np.nan, "violet"]
    y, params = frame.amount.to_numpy(), {"n_estimators": n_trees, "max_features": 0.5}
    if kind == "frame":
        own = cut(frame, ends)
        X, target, rows = own[FEATURES], own["amount"], frame[FEATURES]
    else:
        chunks = tuple(np.diff([0, *ends, N_ROWS]))
        rows = frame[["a", "b", "weight"]].to_numpy()
        target = da.from_array(y, chunks=(chunks,))
        if kind == "sparse":
            rows = csr_array(np.nan_to_num(rows))
            X = da.from_array(rows.toarray(), chunks=(chunks, 3)).map_blocks(csr_array)
        else:
            X = da.from_array(rows, chunks=(chunks, 2))
    fit_both("RandomForestRegressor", params, X, target, None, rows, y)


# --- one estimator like any other ---


def test_predictions_are_lazy_for_collections(client):
    frame = cut(FRAME, [100, 100])
    rows, X = FRAME[FEATURES], frame[FEATURES]
    model = on_dask.RandomForestClassifier(N_TREES).fit(frame[[*FEATURES, "label"]], "label")
    plain = model.to_local()
    predicted = model.predict(X)
    assert isinstance(predicted, dd.Series)
    np.testing.assert_array_equal(predicted.compute(), plain.predict(rows))
    shares = model.predict_proba(X)
    assert list(shares.columns) == ["maybe", "no", "yes"]
    np.testing.assert_array_equal(shares.compute(), plain.predict_proba(rows))
    np.testing.assert_array_equal(model.apply(X).compute(), plain.apply(rows))
    logs = model.predict_log_proba(X).compute()
    np.testing.assert_array_equal(logs, plain.predict_log_proba(rows))
    np.testing.assert_array_equal(model.predict(rows), plain.predict(rows))
    score = model.score(X, frame["label"], frame["weight"])
    assert score == pytest.approx(plain.score(rows, FRAME.label, FRAME.weight))
    assert model.score(rows, FRAME.label) == plain.score(rows, FRAME.label)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_predictions_of_several_outputs(client):
    names, targets = ["a", "b"], ["label", "color"]
    frame = cut(FRAME, [100])
    model = on_dask.ExtraTreesClassifier(3).fit(frame[names], frame[targets])
    plain, X = model.to_local(), da.from_array(FRAME[names].to_numpy(), chunks=(100, 1))
    np.testing.assert_array_equal(model.predict(X).compute(), plain.predict(FRAME[names]))
    for found, own in zip(model.predict_proba(X), plain.predict_proba(X.compute()), strict=True):
        np.testing.assert_array_equal(found.compute(), own)
    assert len(model.predict_log_proba(FRAME[names])) == 2
    model = on_dask.ExtraTreesRegressor(3).fit(frame[names], frame[["amount", "more"]])
    found = model.predict(frame[names])
    assert list(found.columns) == [0, 1]
    np.testing.assert_array_equal(found.compute(), model.to_local().predict(FRAME[names]))


@pytest.mark.parametrize("name", NAMES)
def test_parameters_are_those_of_the_plain_estimator(name):
    kind, plain = getattr(on_dask, name), getattr(sumwise, name)
    model = kind(7, max_depth=3, resampling=sumwise.PoissonBootstrap(0.5))
    own = {"client": None, "silence": 30.0}
    assert kind().get_params() == plain().get_params() | own
    model.set_params(silence=5, max_depth=4, resampling__rate=0.25)
    assert (model.n_estimators, model.max_depth, model.resampling.rate) == (7, 4, 0.25)
    assert clone(model).get_params()["silence"] == 5
    assert is_classifier(model) == is_classifier(plain())
    assert is_regressor(model) == is_regressor(plain())
    with pytest.raises(UnknownParameterError, match="max_depth"):
        kind(max_dept=3)
    with pytest.raises(NotFittedError):
        model.to_local()


def test_pickles_have_no_client(client):
    frame = cut(FRAME, [100])
    model = on_dask.ExtraTreesRegressor(2, client=client).fit(frame[["a", "b"]], frame["amount"])
    again = pickle.loads(pickle.dumps(model))
    assert again.client is None
    assert clone(model).client is client
    assert write(again) == write(model) == write(model.to_local())
    assert sumwise.load(io.BytesIO(write(model))).forest_.n_trees == 2


def test_more_trees_after_those_of_an_earlier_fit(client):
    frame = cut(FRAME, [100])
    given = frame[FEATURES], frame["label"], frame["weight"]
    model = on_dask.RandomForestClassifier(3, warm_start=True, oob_score=True, random_state=1)
    with pytest.warns(DataWarning, match="in the bag of every member"):
        model.fit(*given)
    model.set_params(n_estimators=40).fit(*given)
    rows = FRAME[FEATURES], FRAME.label, FRAME.weight
    plain = sumwise.RandomForestClassifier(40, oob_score=True, random_state=1).fit(*rows)
    assert write(model) == write(plain)
    assert model.oob_score_ == plain.oob_score_
    with pytest.warns(UserWarning, match="without increasing n_estimators"):
        model.fit(*given)
    assert write(model) == write(plain)
    with pytest.raises(ParameterError, match="must be at least the 40 trees"):
        model.set_params(n_estimators=2).fit(*given)
    assert write(model.set_params(n_estimators=40)) == write(plain)
    with pytest.raises(DataError, match="has 2 features"):
        model.set_params(n_estimators=50).fit(frame[["a", "b"]], frame["label"])
    assert model.forest_.n_trees == 40  # those of the earlier fit


def test_a_generator_gives_the_forests_of_plain_fits(client):
    frame = cut(FRAME, [100])
    X, y, rows = frame[["a", "b"]], frame["amount"], FRAME[["a", "b"]]
    own, other = np.random.RandomState(3), np.random.RandomState(3)
    for _ in range(2):  # it goes on from fit to fit
        model = on_dask.ExtraTreesRegressor(2, random_state=own).fit(X, y)
        plain = sumwise.ExtraTreesRegressor(2, random_state=other).fit(rows, FRAME.amount)
        np.testing.assert_array_equal(model.forest_.value, plain.forest_.value)


def test_warnings_of_workers_are_those_of_the_fit(client):
    frame = cut(FRAME, [100])
    given = frame[["a", "b"]], frame["amount"]
    model = on_dask.RandomForestRegressor(30, prune="oob", oob_score=True)
    with pytest.warns(DataWarning, match="it is optimistic") as told:
        model.fit(*given)
    assert told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.set_params(oob_score=False).fit(*given)


def test_progress_is_shown(client, capfd):
    frame = cut(FRAME, [100])
    given = frame[["a", "b"]], frame["amount"]
    on_dask.RandomForestRegressor(5, verbose=1).fit(*given)
    assert "round 5/5" in capfd.readouterr().err
    on_dask.RandomForestRegressor(5).fit(*given)
    assert capfd.readouterr().err == ""


def fit_in_task(n_partitions):
    """Fit by the client of the worker."""
    frame = dd.from_pandas(FRAME[["a", "b", "amount"]], npartitions=n_partitions, sort=False)
    return write(on_dask.RandomForestRegressor(4, random_state=2).fit(frame, "amount"))


def test_fits_at_once_and_within_tasks(client):
    expected = sumwise.RandomForestRegressor(4, random_state=2).fit(FRAME[["a", "b"]], FRAME.amount)
    found = client.map(fit_in_task, [2, 3, 4, 5], pure=False)
    assert [own.result(timeout=60) for own in found] == [write(expected)] * 4


def test_bad_data_and_parameters_are_refused(client):
    frame = cut(FRAME, [100])
    X, y = frame[["a", "b"]], frame["amount"]
    model = on_dask.RandomForestRegressor(2)
    with pytest.raises(DataError, match=r"sumwise\.RandomForestRegressor fits data in memory"):
        model.fit(FRAME[["a", "b"]], FRAME.amount)
    with pytest.raises(DataError, match="has 2 partitions, and y has 1"):
        model.fit(X, y.repartition(npartitions=1))
    with pytest.raises(DataError, match="partition 0 has 100 rows in X, and 90 in y"):
        model.fit(X, cut(FRAME, [90])["amount"])
    with pytest.raises(DataError, match=r"y.*must be numbers"):
        model.fit(X, frame["label"])
    with pytest.raises(DataError, match="negative"):
        model.set_params(criterion="poisson").fit(X, y)
    with pytest.raises(DataError, match="0 sample"):
        on_dask.RandomForestRegressor().fit(
            cut(FRAME[:0], [0])[["a", "b"]], cut(FRAME[:0], [0])["a"]
        )
    with pytest.raises(ParameterError, match="max_depth=0"):
        on_dask.RandomForestRegressor(max_depth=0).fit(X, y)
    with pytest.raises(ParameterError, match="silence=0"):
        on_dask.RandomForestRegressor(silence=0).fit(X, y)
    with pytest.raises(ParameterError, match=r"must be a distributed\.Client or None"):
        on_dask.RandomForestRegressor(client="tcp://somewhere").fit(X, y)
    assert not hasattr(model, "forest_")


# --- faults ---


@pytest.fixture
def break_task(tmp_path, monkeypatch):
    """Let the first workers that run a task act before."""

    def replace(step, act, times=1):
        fault = partial(run_with_fault, str(tmp_path), step, act, times)
        monkeypatch.setattr(growing, step, fault)

    return replace


def check_fit(**options):
    frame = cut(FRAME, [60, 120])
    params = {"n_estimators": N_TREES, "oob_score": True, "random_state": 7}
    model = on_dask.RandomForestClassifier(**params, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        model.fit(frame[FEATURES], frame["label"])
        plain = sumwise.RandomForestClassifier(**params).fit(FRAME[FEATURES], FRAME.label)
    assert write(model) == write(plain)
    np.testing.assert_array_equal(model.oob_decision_function_, plain.oob_decision_function_)


def test_tasks_that_fail_are_repeated(healing, break_task, tmp_path):
    break_task("grow_trees", fail, times=2)
    check_fit()
    assert len(list_pids(tmp_path)) == 2


def test_a_task_that_always_fails(healing, break_task):
    break_task("bin_rows", fail, times=9)
    with pytest.raises(OSError, match="a disk has failed"):
        check_fit()


def test_a_cluster_without_workers(monkeypatch):
    monkeypatch.setattr(placement, "PATIENCE", 0.5)
    options = {"n_workers": 0, "processes": False, "dashboard_address": None}
    with (
        LocalCluster(**options) as cluster,
        Client(cluster, set_as_default=False) as client,
        pytest.raises(PeersError, match="because the cluster has had no workers"),
    ):
        check_fit(client=client)


@pytest.mark.parametrize("step", ["bin_rows", "join_trees"])
def test_a_killed_worker_does_not_change_the_forest(healing, break_task, tmp_path, step):
    break_task(step, kill)
    check_fit()
    assert len(list_pids(tmp_path)) == 1


def test_two_workers_killed_while_trees_grow(healing, break_task, tmp_path):
    break_task("grow_trees", kill, times=2)
    check_fit()
    assert len(list_pids(tmp_path)) == 2


def test_data_that_a_killed_worker_alone_had(healing, break_task):
    break_task("bin_rows", kill)
    part = delayed(healing.scatter(FRAME[["a", "b"]]))
    X = dd.from_delayed([part], meta=FRAME[["a", "b"]][:0], verify_meta=False)
    with pytest.raises(PeersError, match="alone had some of the data"):
        on_dask.RandomForestRegressor(2).fit(X, X["a"])


def set_allowed_failures(number, dask_scheduler):
    before, dask_scheduler.allowed_failures = dask_scheduler.allowed_failures, number
    return before


def test_a_task_that_ends_its_worker(healing, break_task, tmp_path):
    break_task("bin_rows", kill)
    before = healing.run_on_scheduler(partial(set_allowed_failures, 0))
    try:
        with pytest.raises(PeersError, match="workers have ended again and again"):
            check_fit()
    finally:
        healing.run_on_scheduler(partial(set_allowed_failures, before))


@pytest.mark.parametrize("step", STEPS)
def test_a_stopped_worker_does_not_change_the_forest(healing, break_task, tmp_path, step):
    break_task(step, stop)
    check_fit(silence=1.5)
    (pid,) = list_pids(tmp_path)
    assert read_state(pid) == "T"  # the fit went on without it


def read_state(pid):
    """Return how Linux describes a process: T if it is stopped."""
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0]
