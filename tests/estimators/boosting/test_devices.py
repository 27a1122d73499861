"""Fits with device="cuda", on an emulated GPU: the model files of the CPU, or a clear error."""

import io
import pickle
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.metrics import mean_absolute_error
from sklearn.model_selection import GridSearchCV

import sumwise as sw
from benchmarks.on_gpu.settings import LIMITS, SETTINGS, dump
from benchmarks.on_gpu.settings import fit as fit_setting
from sumwise.cuda.runtime import bindings, choosing
from sumwise.errors import DataError, DeviceError, ParameterError
from tests.cuda.arrays import FakeArray
from tests.cuda.emulator import EmulatedDevice
from tests.estimators.boosting.fits import BINARY, FOUR, X, Y

DEVICES = ["cuda", "cuda:0,0"]
# An emulated thread per bin takes its time.
FEW_BINS = {"max_bins": 60}
SMALL = {
    **FEW_BINS,
    "n_estimators": 4,
    "max_leaves": 8,
    "min_samples_leaf": 5,
    "learning_rate": 0.3,
    "random_state": 0,
}
WEIGHT = np.where(np.arange(len(Y)) % 7 == 0, 0.0, 1.0 + np.arange(len(Y)) % 3)
GROUPS = np.arange(len(Y)) // 5


@pytest.fixture
def opened(monkeypatch):
    """Let emulated devices take the place of GPUs; return all that have been opened."""
    devices = []

    def open_emulated(number):
        devices.append(EmulatedDevice(number))
        return devices[-1]

    monkeypatch.setattr(choosing, "device_maker", open_emulated)
    return devices


@pytest.fixture(params=DEVICES)
def device(opened, request):
    return request.param


def regress(device="cpu", **params):
    return sw.GradientBoostingRegressor(**{**SMALL, **params, "device": device})


def classify(device="cpu", **params):
    return sw.GradientBoostingClassifier(**{**SMALL, **params, "device": device})


def assert_same(model, other):
    assert dump(model) == dump(other)


def assert_all_freed(devices):
    assert devices
    for device in devices:
        assert device.count_free() == device.memory_limit
        with pytest.raises(Exception, match="closed"):
            device.allocate(1, np.uint8)


# --- the same model ---

CHOSEN = [
    "leaf-squared_error-numbers-all-free",
    "leaf-multinomial-mixed-goss-free",
    "leaf-exponential-sparse-bayesian-monotone",
    "leaf-gamma-numbers-subsample-interaction",
    "leaf-huber-numbers-goss-interaction",
    "depth-binomial-sparse-goss-monotone",
    "depth-tweedie-sparse-bayesian-monotone",
    "depth-absolute_error-numbers-subsample-interaction",
    "symmetric-poisson-sparse-goss-monotone",
    "symmetric-cross_entropy-events-subsample-interaction",
    "symmetric-quantile-sparse-bayesian-free",
    "extreme-depth",
    "categories-leaf",
    "weights-symmetric",
    "extra_trees-depth",
    "regularized-leaf",
    "columns-symmetric",
    "custom",
    "init_score-poisson",
    "class_weight",
    "ordered-statistics",
    "dart",
    "forest-per-round",
    "trees_per_round",
    "columns-weights",
    "deep",
    "both-constraints",
    "rates",
    "max_bins-by-feature",
    "stop",
    "continued-multinomial",
    "targets",
    "sampler-class",
    "stop-oob",
]


@pytest.mark.parametrize(("name", "device"), list(zip(CHOSEN, cycle(DEVICES))))
def test_models_have_the_bytes_of_the_cpu(opened, name, device):
    """They take turns; the benchmark of the GPU has all settings on both."""
    setting = {**SETTINGS, **LIMITS}[name]
    setting = setting._replace(params={**FEW_BINS, **setting.params})
    expected, found = (dump(fit_setting(setting, 250, 2, own)) for own in ("cpu", device))
    assert found == expected


@pytest.mark.parametrize("params", [{}, {"loss": "quantile", "growth": "depth"}], ids=str)
def test_trees_that_were_dropped(device, params):
    params = {"booster": sw.Dart(drop_rate=0.9, skip_drop=0.0), **params}
    assert_same(*(regress(own, **params).fit(X, Y) for own in ("cpu", device)))


# --- what is refused ---


class OwnGoss(sw.Goss):
    """May draw in a way of its own, which no kernel knows."""


REFUSED = [
    {"booster": "linear"},
    {"booster": sw.Ordered()},
    {"sampler": "mvs"},
    {"sampler": OwnGoss()},
    {"splits": "approx"},
    {"splits": "exact"},
    {"leaves": "linear"},
    {"leaves": sw.LinearLeaves()},
    {"multi_strategy": "multi_output_tree"},
    {"max_bins": 256},
    {"max_bins": [255, 255, 300, 10]},
    {"max_bins": {"a": 1000}},
]


@pytest.mark.parametrize("params", REFUSED, ids=str)
def test_what_a_gpu_cannot_do_is_refused_before_data_is_read(params):
    ((name, value),) = params.items()
    model = regress("cuda", **params)
    with pytest.raises(ParameterError) as refused:
        model.fit(None, None)
    assert str(refused.value) == (
        f"GradientBoostingRegressor: {name}={value!r} is not available with device='cuda'; "
        "use device='cpu'"
    )


@pytest.mark.parametrize(
    "spec", ["gpu", "cuda:", "cuda:0,", "cuda:-1", "CUDA", "", None, 0, ["cuda"], np.array(["cpu"])]
)
def test_malformed_devices(spec):
    with pytest.raises(ParameterError, match="GradientBoostingClassifier: device must be 'cpu', "):
        classify(spec).fit(None, None)


def test_many_categories_are_refused(opened):
    rng = np.random.default_rng(0)
    many = np.char.add("c", rng.integers(0, 400, 3000).astype(str))[:, None].astype(object)
    y = rng.normal(size=3000)
    params = {"categorical_encoding": sw.Native(smoothing=1.0)}
    with pytest.raises(DataError, match=r"feature 0 has more than 255 .* device='cpu'"):
        regress("cuda", **params).fit(many, y)
    assert_all_freed(opened)


# --- without a GPU ---


def test_what_is_missing_is_told_before_data_is_read(monkeypatch):
    def fail(number):
        raise DeviceError(f"there is no GPU {number}")

    monkeypatch.setattr(choosing, "device_maker", fail)
    model = regress().fit(X, Y).set_params(device="cuda:1")
    with pytest.raises(DeviceError, match="there is no GPU 1"):
        model.fit(["this is no table"], None)
    assert not hasattr(model, "ensemble_")
    assert not hasattr(model, "n_features_in_")


def test_without_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "cuda.bindings.driver", None)
    with pytest.raises(DeviceError, match=r"cuda-bindings.*sumwise\[cuda13\].*device='cpu' gives"):
        classify("cuda").fit(X, BINARY)


def test_without_a_driver(monkeypatch):
    def find_no_library():
        raise RuntimeError("libcuda.so.1 was not found")

    driver = SimpleNamespace(cuDriverGetVersion=find_no_library)
    monkeypatch.setitem(sys.modules, "cuda.bindings.driver", driver)
    monkeypatch.setattr(bindings, "_started_by", None)
    with pytest.raises(DeviceError, match=r"no NVIDIA driver is installed.*device='cpu' gives"):
        classify("cuda").fit(X, BINARY)


def test_parameters_come_before_devices(monkeypatch):
    monkeypatch.setattr(choosing, "device_maker", lambda number: pytest.fail("was opened"))
    with pytest.raises(ParameterError, match="max_leaves"):
        regress("cuda", max_leaves=1).fit(X, Y)


# --- the parameter ---


def test_the_device_is_a_parameter_and_no_part_of_the_model(opened, monkeypatch):
    model = regress("cuda").fit(X, Y)
    assert model.get_params()["device"] == "cuda"
    assert clone(model).device == "cuda"
    assert clone(model).set_params(device="cpu").device == "cpu"
    file = io.BytesIO()
    model.save(file)
    monkeypatch.setattr(choosing, "device_maker", lambda number: pytest.fail("was opened"))
    file.seek(0)
    loaded = sw.load(file)
    assert loaded.device == "cpu"
    copied = pickle.loads(pickle.dumps(model))
    assert copied.device == "cuda"
    expected = regress().fit(X, Y).predict(X)
    assert np.array_equal(loaded.predict(X), expected)
    assert np.array_equal(copied.predict(X), expected)


def test_grid_search(opened):
    grid = {"device": ["cpu", "cuda"], "max_leaves": [3, 8]}
    search = GridSearchCV(regress(), grid, cv=2, refit=False).fit(X, Y)
    by_device = search.cv_results_["mean_test_score"].reshape(2, 2)
    assert np.array_equal(*by_device)


# --- continued training ---


@pytest.mark.parametrize("params", [{}, {"sampler": "subsample", "growth": "depth"}], ids=str)
def test_training_continues_on_another_device(device, params):
    whole = regress(n_estimators=6, **params).fit(X, Y)
    for first, then in ((device, "cpu"), ("cpu", device)):
        half = regress(first, n_estimators=3, **params).fit(X, Y)
        assert_same(whole, regress(then, n_estimators=6, **params).fit(X, Y, init_model=half))
        half.set_params(device=then, n_estimators=6, warm_start=True).fit(X, Y)
        assert_same(whole, half)


def test_refit_needs_no_device(opened):
    model = regress("cuda").fit(X, Y)
    opened.clear()
    assert_same(regress().fit(X, Y).refit(X, 2 * Y), model.refit(X, 2 * Y))
    assert not opened


# --- rounds ---


def score_by_error(model, X, y):
    return -mean_absolute_error(y, model.predict(X))


@pytest.mark.parametrize(
    "scoring",
    ["neg_mean_absolute_error", score_by_error, ["r2", mean_absolute_error]],
    ids=["name", "function", "several"],
)
def test_scorers(device, scoring):
    params = {"early_stopping": True, "n_iter_no_change": 2, "scoring": scoring}
    expected, found = (regress(own, **params).fit(X, Y) for own in ("cpu", device))
    assert_same(expected, found)
    assert expected.history_.keys() == found.history_.keys()
    for name, scores in expected.history_.items():
        assert np.array_equal(scores, found.history_[name])


def test_evaluated_sets_weights_and_groups(device):
    params = {"early_stopping": True, "n_iter_no_change": 2, "n_estimators": 3, "max_leaves": 4}
    sets = {
        "eval_set": [(X[:40], FOUR[:40]), (X[40:90], FOUR[40:90])],
        "eval_names": ["first", "second"],
        "eval_sample_weight": [None, WEIGHT[40:90]],
    }
    for arguments in (sets, {"groups": GROUPS}):
        own = [
            classify(each, **params).fit(X, FOUR, sample_weight=WEIGHT, **arguments)
            for each in ("cpu", device)
        ]
        assert_same(*own)


def test_groups_are_drawn_together(device):
    params = {"sampler": sw.GroupSubsample(0.5)}
    assert_same(*(regress(own, **params).fit(X, Y, groups=GROUPS) for own in ("cpu", device)))


def test_callbacks_progress_and_snapshots(device, tmp_path, capsys):
    seen = {}
    for own in ("cpu", device):
        seen[own] = rounds = []

        def watch(state, rounds=rounds):
            rounds.append((state.round_number, dict(state.scores), dump(state.model())))
            return state.round_number == 3

        path = tmp_path / f"{own.replace(':', '-')}.sumwise"
        callbacks = [watch, sw.Snapshot(path, every=2)]
        regress(own, callbacks=callbacks, verbose=True).fit(X, Y)
        seen[own].append(path.read_bytes())
        assert "3" in capsys.readouterr().err
    assert seen["cpu"] == seen[device]
    assert len(seen["cpu"]) == 4


def test_cross_validation(opened):
    expected, found = (sw.cv(regress(own), X, Y, cv=3) for own in ("cpu", "cuda"))
    for name, scores in expected.to_dict().items():
        assert np.array_equal(scores, found.to_dict()[name])
    assert_all_freed(opened)


# --- what is made of several fits ---


@pytest.mark.parametrize("rows", [2, "holdout"])
def test_calibrated_and_conformal_models(device, rows):
    params = {"calibrate": "isotonic", "conformal": True, "calibration_rows": rows}
    assert_same(*(classify(own, **params).fit(X, BINARY) for own in ("cpu", device)))


def stack(device, **params):
    other = {"n_estimators": 2, "growth": "depth"}
    members = [("leaf", regress(device, **params)), ("depth", regress(device, **other))]
    return sw.StackingRegressor(members, cv=2)


SPARSE = sp.random(150, 40, density=0.1, random_state=0, format="csr")


FRAME = pd.DataFrame(X, columns=list("abcd")).assign(
    kind=pd.Categorical(np.array(["u", "v", "w"])[GROUPS % 3])
)


@pytest.mark.parametrize("table", [X, SPARSE, FRAME], ids=["dense", "sparse", "frame"])
def test_members_on_a_shared_table(device, table, opened):
    # The draw depends on which features are usable.
    params = {"columns": sw.Columns(by_node=0.5), "n_estimators": 2, "max_leaves": 4}
    expected, found = (stack(own, **params).fit(table, Y) for own in ("cpu", device))
    for own, other in zip(expected.estimators_, found.estimators_, strict=True):
        assert_same(own, other)
    assert np.array_equal(expected.predict(table), found.predict(table))
    assert_all_freed(opened)


def test_members_on_different_devices(opened):
    members = [("a", classify("cuda")), ("b", classify()), ("c", classify("cuda:0,0"))]
    voting = sw.VotingClassifier(members).fit(X, BINARY)
    first, *others = (dump(model) for model in voting.estimators_)
    assert others == [first, first]


@pytest.mark.parametrize(
    "ensemble",
    [
        stack("cuda"),
        sw.VotingClassifier([("a", classify("cuda")), ("b", classify("cuda"))]),
        sw.BaggingRegressor(regress("cuda")),
        sw.AdaBoostRegressor(regress("cuda")),
    ],
    ids=lambda ensemble: type(ensemble).__name__,
)
def test_ensembles_of_others_read_the_memory_of_the_host(opened, ensemble):
    with pytest.raises(DataError, match=r"X is in the memory of a GPU.*reads the memory of the"):
        ensemble.fit(FakeArray(X), BINARY)
    assert not opened


def test_members_that_see_resampled_rows(opened):
    for make in (sw.BaggingRegressor, sw.AdaBoostRegressor):
        options = {"n_estimators": 2, "random_state": 0}
        expected, found = (make(regress(own), **options).fit(X, Y) for own in ("cpu", "cuda"))
        assert np.array_equal(expected.predict(X), found.predict(X))


# --- several threads ---


def test_threads_fit_at_once(opened):
    models = [("leaf", "cuda"), ("depth", "cuda"), ("symmetric", "cuda:0,0"), ("leaf", "cpu")]
    expected = {growth: dump(regress(growth=growth).fit(X, Y)) for growth, _ in models}
    together = threading.Barrier(len(models))

    def fit(what):
        growth, device = what
        together.wait()
        return dump(regress(device, growth=growth).fit(X, Y)) == expected[growth]

    with ThreadPoolExecutor(len(models)) as pool:
        assert all(pool.map(fit, models))


# --- the end of a fit ---


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_memory_is_freed_after_an_error(opened, error):
    def fail(state):
        assert opened[0].count_free() < opened[0].memory_limit
        if state.round_number == 2:
            raise error("stop")

    model = regress("cuda:0,0", callbacks=[fail])
    with pytest.raises(error, match="stop"):
        model.fit(X, Y)
    assert_all_freed(opened)
    assert not hasattr(model, "ensemble_")


def test_memory_is_freed_after_a_fit(opened):
    model = regress("cuda").fit(X, Y)
    assert_all_freed(opened)
    assert model.n_trees_ == SMALL["n_estimators"]
