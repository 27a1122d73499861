"""Fits and predictions on rows that are read in batches: the same bytes as in memory."""

import io
import os
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from sumwise import (
    Dart,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    GroupSubsample,
    RandomForestClassifier,
    load,
)
from sumwise.errors import DataError, DataWarning, MemoryLimitError, ParameterError
from sumwise.estimators.boosting import out_of_core
from sumwise.tree import GrowthSettings
from tests.threaded_peers import run_together

pa = pytest.importorskip("pyarrow")
import pyarrow.dataset as ds  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402

N_ROWS = 900
TARGETS = ["label", "kind", "amount", "second"]
EXTRA = ["weight", "offset", "group"]


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    own = pd.DataFrame(rng.normal(size=(N_ROWS, 4)), columns=list("abcd"))
    own["few"] = rng.integers(0, 4, N_ROWS)
    own["color"] = rng.choice(["red", "green", "blue", None], N_ROWS)
    own.loc[rng.random(N_ROWS) < 0.1, "b"] = np.nan
    own.loc[5, "c"] = np.inf
    score = own.a + own.b.fillna(1) * own.few + (own.color == "red") + rng.normal(size=N_ROWS)
    own["label"] = np.where(score > 0, "yes", "no")
    own["kind"] = np.digitize(score, [-1, 1])
    own["amount"] = np.exp(score / 3)
    own["second"] = score * own.a
    own["weight"] = rng.integers(0, 3, N_ROWS).astype(float)
    own["offset"] = rng.normal(size=N_ROWS)
    own["group"] = rng.integers(0, 40, N_ROWS)
    return own


@pytest.fixture(scope="module")
def path(frame, tmp_path_factory):
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    frame.to_parquet(path, row_group_size=130)
    return path


@pytest.fixture(scope="module")
def X(frame):
    return frame.drop(columns=[*TARGETS, *EXTRA])


def read_table(path):
    return pq.read_table(path)


def features_of(path, target, *others):
    """Return a function that yields batches of the features, the target and some other columns."""
    dropped = [name for name in (*TARGETS, *EXTRA) if name not in (target, *others)]
    return partial(yield_batches, path, dropped, 137)


def yield_batches(path, dropped, n_rows):
    table = pq.read_table(path).drop_columns(dropped)
    return iter(table.to_batches(max_chunksize=n_rows))


@pytest.fixture
def small_pages(monkeypatch):
    """Cut every table into pages of a few rows, in mapped files."""

    def cut(page_rows):
        original = out_of_core.plan_pages

        def plan(*arguments):
            own = original(*arguments)
            return replace(own, page_rows=page_rows, keeps_pages=False, keeps_sample=False)

        monkeypatch.setattr(out_of_core, "plan_pages", plan)

    cut(211)
    return cut


def save(model):
    file = io.BytesIO()
    model.save(file)
    return file.getvalue()


CLASSIFIERS = {
    "leaf": {},
    "depth": {"growth": "depth"},
    "symmetric": {"growth": "symmetric"},
    "goss": {"sampler": "goss"},
    "subsample": {"sampler": "subsample", "early_stopping": True},
    "bayesian": {"sampler": "bayesianbootstrap"},
    "mvs": {"sampler": "mvs"},
    "oob": {"sampler": "subsample", "early_stopping": "oob"},
    "dart": {"booster": Dart(drop_rate=0.5)},
    "forest": {"booster": "forest", "sampler": "subsample"},
    "held out": {"early_stopping": True, "n_iter_no_change": 2, "scoring": "roc_auc"},
    "balanced": {"class_weight": "balanced"},
    "few bins": {"max_bins": 7, "columns": {"by_tree": 0.7}},
    "monotonic": {"monotonic_cst": {"a": 1}},
    "exponential": {"loss": "exponential"},
    "one hot": {"categorical_encoding": "onehot"},
    "numbers as categories": {"categorical_features": ["few", "color"]},
    "rates": {"learning_rate": [0.3, 0.2, 0.1, 0.1, 0.1], "extra_trees": True},
}


def make_classifier(**settings):
    columns = settings.pop("columns", None)
    if columns is not None:
        from sumwise import Columns

        settings["columns"] = Columns(**columns)
    shared = {"n_estimators": 5, "random_state": 3, "max_leaves": 8}
    return GradientBoostingClassifier(**{**shared, **settings})


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifier_has_the_bytes_of_a_fit_in_memory(name, frame, X, path, small_pages):
    n_jobs = 1 + len(name) % 2
    small_pages(97 + 10 * len(name))
    expected = make_classifier(**CLASSIFIERS[name], n_jobs=n_jobs).fit(X, frame["label"])
    found = make_classifier(**CLASSIFIERS[name], n_jobs=3 - n_jobs)
    found.fit(features_of(path, "label"), "label")
    assert save(found.set_params(n_jobs=n_jobs)) == save(expected)


@pytest.mark.parametrize("seed", range(8))
def test_random_batches_pages_and_threads(seed, frame, X, path, small_pages):
    rng = np.random.default_rng(seed)
    small_pages(int(rng.integers(1, 40) if seed == 0 else rng.integers(40, 1000)))
    settings = {
        "growth": rng.choice(["leaf", "depth", "symmetric"]),
        "sampler": rng.choice(["goss", "subsample", "none"]),
        "early_stopping": bool(rng.integers(2)),
        "min_samples_leaf": int(rng.integers(1, 30)),
    }
    if settings["sampler"] == "none":
        settings["sampler"] = None
    target = rng.choice(["label", "kind"])
    expected = make_classifier(**settings).fit(X, frame[target])
    dropped = [name for name in (*TARGETS, *EXTRA) if name != target]
    source = partial(yield_batches, path, dropped, int(rng.integers(1, 400)))
    found = make_classifier(**settings, n_jobs=int(rng.integers(1, 3))).fit(source, target)
    assert save(found.set_params(n_jobs=None)) == save(expected)


@pytest.mark.parametrize(
    "loss",
    ["squared_error", "absolute_error", "quantile", "huber", "poisson", "gamma", "tweedie"],
)
def test_regressor_has_the_bytes_of_a_fit_in_memory(loss, frame, X, path, small_pages):
    make = partial(GradientBoostingRegressor, loss=loss, n_estimators=4, random_state=0)
    expected = make().fit(X, frame["amount"], sample_weight=frame["weight"])
    found = make().fit(features_of(path, "amount", "weight"), "amount", sample_weight="weight")
    assert save(found) == save(expected)


def test_classes_weights_scores_and_groups_may_be_columns(frame, X, path, small_pages):
    make = partial(make_classifier, early_stopping=True, sampler=GroupSubsample(0.5))
    others = {"sample_weight": "weight", "groups": "group"}
    arrays = {key: frame[name] for key, name in others.items()}
    expected = make().fit(X, frame["kind"], **arrays)
    found = make().fit(features_of(path, "kind", *others.values()), "kind", **others)
    assert save(found) == save(expected)

    regressor = partial(GradientBoostingRegressor, n_estimators=3)
    expected = regressor().fit(X, frame["amount"], init_score=frame["offset"])
    source = features_of(path, "amount", "offset")
    found = regressor().fit(source, "amount", init_score="offset")
    assert save(found) == save(expected)
    found = regressor().fit(
        features_of(path, "amount"), "amount", init_score=frame["offset"].to_numpy()
    )
    assert save(found) == save(expected)


def test_several_targets(frame, X, path, small_pages):
    names = ["amount", "second"]
    expected = GradientBoostingRegressor(n_estimators=3).fit(X, frame[names])
    found = GradientBoostingRegressor(n_estimators=3)
    found.fit(features_of(path, *names), names)
    assert save(found) == save(expected)


def test_all_kinds_of_sources(frame, X, path, small_pages, tmp_path):
    expected = save(make_classifier().fit(X, frame["label"]))
    plain = read_table(path).drop_columns([n for n in (*TARGETS, *EXTRA) if n != "label"])
    folder = tmp_path / "parts"
    (folder / "more").mkdir(parents=True)
    pq.write_table(plain.slice(0, 300), folder / "1.parquet")
    pq.write_table(plain.slice(300, 1), folder / "2.parquet")
    pq.write_table(plain.slice(301), folder / "more" / "3.parquet")
    own = plain.to_pandas()
    sources = {
        "file": folder / "1.parquet",
        "folder": str(folder),
        "dataset": ds.dataset(plain),
        "frames": lambda: (own[i : i + 250] for i in range(0, N_ROWS, 250)),
    }
    pq.write_table(plain, tmp_path / "all.parquet", row_group_size=77)
    sources["file"] = tmp_path / "all.parquet"
    for source in sources.values():
        assert save(make_classifier().fit(source, "label")) == expected


def test_what_fits_into_memory_stays_there(frame, X, path):
    expected = make_classifier().fit(X, frame["label"])
    for limit in (None, "2GB", 500_000_000):
        found = make_classifier().fit(features_of(path, "label"), "label", memory_limit=limit)
        assert save(found) == save(expected)


@pytest.mark.parametrize("is_source", [True, False])
def test_validation_sets(is_source, frame, X, path, small_pages, tmp_path):
    valid, file = frame[::3].reset_index(drop=True), tmp_path / "valid.parquet"
    valid.to_parquet(file)
    X_val = valid[X.columns]
    make = partial(make_classifier, n_estimators=8, scoring=["loss", "accuracy"])
    expected = make().fit(
        X,
        frame["label"],
        X_val=X_val,
        y_val=valid["label"],
        sample_weight_val=valid["weight"],
        eval_set=[(X_val[:50], valid["label"][:50])],
    )
    sets = {"X_val": X_val, "y_val": valid["label"], "sample_weight_val": valid["weight"]}
    if is_source:
        sets = {"X_val": file, "y_val": "label", "sample_weight_val": "weight"}
    sets["eval_set"] = [(X_val[:50], valid["label"][:50])]
    found = make().fit(features_of(path, "label"), "label", **sets)
    assert save(found) == save(expected)
    in_memory = make().fit(X, frame["label"], **sets)
    assert save(in_memory) == save(expected)


def test_continued_training(frame, X, path, small_pages, tmp_path):
    source = features_of(path, "label")
    make = partial(make_classifier, early_stopping=True, n_iter_no_change=20)
    at_once = make(n_estimators=6).fit(X, frame["label"])
    first = make(n_estimators=3).fit(source, "label")
    found = make(n_estimators=6).fit(source, "label", init_model=first)
    assert save(found) == save(at_once)


def test_dates_warn_as_in_memory(frame, small_pages, tmp_path):
    dated = pd.DataFrame(
        {
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(N_ROWS), unit="D"),
            "large": np.arange(N_ROWS) + 2**60,
            "amount": frame["amount"],
        }
    )
    dated.to_parquet(tmp_path / "dated.parquet")
    make = partial(GradientBoostingRegressor, n_estimators=2)
    with pytest.warns(DataWarning) as expected:
        in_memory = make().fit(dated[["day", "large"]], dated["amount"])
    with pytest.warns(DataWarning) as found:
        model = make().fit(tmp_path / "dated.parquet", "amount")
    assert {str(w.message) for w in found} == {str(w.message) for w in expected}
    assert save(model) == save(in_memory)


def test_progress_shows_the_time_left(path, small_pages, capsys):
    make_classifier(verbose=True).fit(features_of(path, "label"), "label")
    shown = capsys.readouterr().err
    assert "read 900 rows of 6 features" in shown
    assert "on disk" in shown
    assert "left" in shown


# --- predictions ---


@pytest.fixture(scope="module")
def model(frame, X):
    return make_classifier().fit(X, frame["kind"])


def test_predictions_of_sources(model, X, path, tmp_path):
    named = {"predict": "prediction", "predict_proba": "probability", "decision_function": "score"}
    for method, name in named.items():
        expected = getattr(model, method)(X)
        for source in (path, ds.dataset(path), partial(yield_batches, path, [], 100)):
            assert np.array_equal(getattr(model, method)(source), expected)
        output = tmp_path / f"{method}.parquet"
        for rows in (path, X):
            assert getattr(model, method)(rows, output=output) is None
            written = pd.read_parquet(output)
            assert np.array_equal(np.squeeze(written.to_numpy()), expected)
        columns = [name] if expected.ndim == 1 else [f"{name}_{c}" for c in model.classes_]
        assert list(written.columns) == columns
    assert sorted(os.listdir(tmp_path)) == sorted(f"{method}.parquet" for method in named)
    assert np.array_equal(model.predict(path, rounds=2), model.predict(X, rounds=2))


def test_labels_scores_and_encoded_categories(frame, X, path, tmp_path):
    fitted = make_classifier(categorical_encoding="ordered").fit(X, frame["label"])
    assert np.array_equal(fitted.predict(path), fitted.predict(X))
    fitted.predict(path, output=tmp_path / "labels.parquet")
    assert list(pd.read_parquet(tmp_path / "labels.parquet")["prediction"]) == list(
        fitted.predict(X)
    )
    assert fitted.score(path, "label") == fitted.score(X, frame["label"])
    weighted = fitted.score(X, frame["label"], frame["weight"])
    assert fitted.score(path, "label", "weight") == weighted


def test_several_outputs_and_raw_scores(frame, X, path, tmp_path):
    fitted = GradientBoostingRegressor(loss="poisson", n_estimators=3)
    fitted.fit(X, frame[["amount", "weight"]])
    assert np.array_equal(fitted.predict(path, raw=True), fitted.predict(X, raw=True))
    fitted.predict(path, output=tmp_path / "two.parquet")
    written = pd.read_parquet(tmp_path / "two.parquet")
    assert list(written.columns) == ["prediction_0", "prediction_1"]
    assert np.array_equal(written.to_numpy(), fitted.predict(X))


def test_failed_predictions_keep_the_old_file(model, path, tmp_path):
    output = tmp_path / "predictions.parquet"
    model.predict(path, output=output)
    before = output.read_bytes()

    def break_off():
        yield from list(yield_batches(path, [], 100))[:3]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model.predict(break_off, output=output)
    assert os.listdir(tmp_path) == ["predictions.parquet"]
    assert output.read_bytes() == before
    with pytest.raises(ParameterError, match="output=3"):
        model.predict(path, output=3)


@pytest.mark.filterwarnings("ignore:X has feature names")
def test_sources_that_predict_cannot_use(model, frame, X, path, tmp_path):
    pq.write_table(read_table(path).drop_columns(["c"]), tmp_path / "without.parquet")
    with pytest.raises(ValueError, match=r"(?s)feature names.*- c"):
        model.predict(tmp_path / "without.parquet")
    unnamed = make_classifier().fit(X[["a", "b"]].to_numpy(), frame["label"])
    with pytest.raises(ValueError, match="expecting 2 features"):
        unnamed.predict(path)
    two = partial(yield_batches, path, [n for n in frame.columns if n not in "ab"], 100)
    assert np.array_equal(unnamed.predict(two), unnamed.predict(X[["a", "b"]].to_numpy()))
    for method in ("apply", "explain", "staged_predict"):
        with pytest.raises(DataError, match="in batches"):
            list(getattr(model, method)(str(path)))


# --- errors ---


UNSUPPORTED = {
    "splits": "exact",
    "leaves": "linear",
    "booster": "ordered",
    "device": "cuda",
    "calibrate": "isotonic",
    "conformal": True,
    "max_bins": 300,
    "categorical_encoding": "ordered",
}


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_what_needs_memory_is_refused_by_name(name, path):
    fit = make_classifier(**{name: UNSUPPORTED[name]}).fit
    with pytest.raises(ParameterError, match=f"{name}=.*into memory"):
        fit(features_of(path, "label"), "label")


def test_shared_trees_and_wide_categories_are_refused(frame, path, tmp_path):
    shared = GradientBoostingRegressor(multi_strategy="multi_output_tree")
    with pytest.raises(ParameterError, match=r"multi_strategy=.*into memory"):
        shared.fit(path, ["amount", "second"])
    codes = np.arange(5200) % 260
    wide = pd.DataFrame({"code": codes.astype(str), "y": codes % 7.0})
    wide.to_parquet(tmp_path / "wide.parquet")
    native = GradientBoostingRegressor(categorical_encoding="native")
    with pytest.raises(DataError, match="column 'code' has 260 categories"):
        native.fit(tmp_path / "wide.parquet", "y")


def test_scorers_that_read_features_are_refused(path):
    def by_first_feature(estimator, X, y):
        return float(np.asarray(X)[0, 0])

    fitting = make_classifier(early_stopping=True, scoring=by_first_feature)
    with pytest.raises(DataError, match="scoring: the scorer reads"):
        fitting.fit(features_of(path, "label"), "label")


def test_missing_columns_files_and_kinds(frame, X, path, tmp_path):
    fit = make_classifier().fit
    with pytest.raises(DataError, match="no column 'labels'"):
        fit(path, "labels")
    with pytest.raises(DataError, match="no column 'weights'"):
        fit(path, "label", sample_weight="weights")
    with pytest.raises(DataError, match="neither a Parquet file nor a folder"):
        fit(tmp_path / "nothing.parquet", "label")
    with pytest.raises(DataError, match="has no Parquet files"):
        fit(tmp_path, "label")
    (tmp_path / "text.parquet").write_text("a,b")
    with pytest.raises(DataError, match="cannot be read as Parquet"):
        fit(tmp_path / "text.parquet", "label")
    with pytest.raises(DataError, match="y is a Series"):
        fit(path, frame["label"])
    with pytest.raises(DataError, match="y_val is a Series"):
        fit(features_of(path, "label"), "label", X_val=path, y_val=frame["label"])
    with pytest.raises(DataError, match="pass the function"):
        fit(iter([X]), "label")
    with pytest.raises(DataError, match="must be numbers"):
        GradientBoostingRegressor().fit(path, "label")
    with pytest.raises(ParameterError, match=r"memory_limit='much'"):
        fit(path, "label", memory_limit="much")
    with pytest.raises(ParameterError, match="cache_dir"):
        fit(path, "label", memory_limit="2GB", cache_dir=3)
    with pytest.raises(ParameterError, match="memory_limit='2GB': X is in memory"):
        fit(X, frame["label"], memory_limit="2GB")
    with pytest.raises(DataError, match="in batches"):
        RandomForestClassifier().fit(str(path), frame["label"])


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_sparse_validation_rows_are_refused(path):
    source = partial(yield_batches, path, [*TARGETS[1:], *EXTRA, "color"], 100)
    sets = {"X_val": sparse.eye(5, format="csr"), "y_val": ["no"] * 5}
    with pytest.raises(DataError, match="cannot be sparse"):
        make_classifier().fit(source, "label", **sets)


def test_a_function_must_yield_the_same_rows_again(path):
    lengths = iter([900, 900, 800, 800, 800])

    def shrink():
        n_rows = next(lengths)
        dropped = [n for n in (*TARGETS, *EXTRA) if n != "label"]
        return iter(read_table(path).drop_columns(dropped).slice(0, n_rows).to_batches())

    with pytest.raises(DataError, match="900 rows"):
        make_classifier().fit(shrink, "label")


def test_a_small_memory_limit_says_what_would_suffice(path):
    fitting = make_classifier()
    with pytest.raises(MemoryLimitError, match=r"need at least \d+ kB"):
        fitting.fit(path, "label", memory_limit="100kB")
    assert not hasattr(fitting, "classes_")


# --- nothing is left on the disk ---


class _StopError(Exception):
    """Ends a fit."""


@pytest.mark.parametrize("error", [None, _StopError, KeyboardInterrupt])
def test_no_page_is_left(error, path, small_pages, tmp_path):
    def stop(state):
        assert not os.listdir(tmp_path)
        if error is not None:
            raise error

    fitting = make_classifier(callbacks=[stop])
    options = {"memory_limit": "2GB", "cache_dir": tmp_path}
    if error is None:
        fitting.fit(features_of(path, "label"), "label", **options)
    else:
        with pytest.raises(error):
            fitting.fit(features_of(path, "label"), "label", **options)
    assert not os.listdir(tmp_path)
    descriptors = "/proc/self/fd"
    if os.path.isdir(descriptors):
        links = [os.path.join(descriptors, own) for own in os.listdir(descriptors)]
        targets = [os.readlink(link) for link in links if os.path.islink(link)]
        assert not [target for target in targets if str(tmp_path) in target]


LIMITED = """
    import resource, sys, time
    import numpy as np
    import pyarrow as pa
    from sumwise import GradientBoostingRegressor

    folder, mode = sys.argv[1:]
    # 192 MB of float64; otherwise just so many that their pages are on disk.
    N_ROWS, N_FEATURES, LIMIT = 600_000, 40, "70MB"
    if mode == "wait":
        N_ROWS, LIMIT = 40_000, "7MB"

    def yield_batches():
        rng = np.random.default_rng(0)
        for _ in range(N_ROWS // 20_000):
            X = rng.normal(size=(N_FEATURES, 20_000))
            columns = {f"f{i}": own for i, own in enumerate(X)}
            yield pa.record_batch({**columns, "y": X[0] + X[1]})

    def wait(state):
        print("training", flush=True)
        if mode == "wait":
            time.sleep(60)

    options = {"max_leaves": 4, "n_estimators": 2, "n_jobs": 1}
    warm = GradientBoostingRegressor(**options).fit(np.eye(50), np.arange(50.0))
    if mode == "limited":
        used = int(open("/proc/self/statm").read().split()[5]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_DATA, (used + 110_000_000,) * 2)
        try:
            np.ones((N_ROWS, N_FEATURES))
            sys.exit("the limit does not hold")
        except MemoryError:
            pass
    model = GradientBoostingRegressor(**options, callbacks=[wait])
    model.fit(yield_batches, "y", memory_limit=LIMIT, cache_dir=folder)
    print(model.n_trees_)
"""


def start_fit(folder, mode):
    command = [sys.executable, "-c", textwrap.dedent(LIMITED), str(folder), mode]
    # Arrow's own allocators reserve memory in advance, which the limit would not count.
    environment = {**os.environ, "ARROW_DEFAULT_MEMORY_POOL": "system"}
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


@pytest.mark.skipif(sys.platform != "linux", reason="needs RLIMIT_DATA")
def test_a_fit_stays_within_its_memory(tmp_path):
    with start_fit(tmp_path, "limited") as process:
        shown, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    assert shown.split()[-1] == "2"
    assert not os.listdir(tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
def test_nothing_is_left_after_kill(tmp_path):
    with start_fit(tmp_path, "wait") as process:
        assert process.stdout.readline() == "training\n"
        process.send_signal(signal.SIGKILL)
    for _ in range(100):
        if not os.listdir(tmp_path):
            break
        time.sleep(0.01)
    assert not os.listdir(tmp_path)


def test_saved_models_load(path, small_pages, tmp_path):
    found = make_classifier().fit(features_of(path, "label"), "label")
    found.save(tmp_path / "model.sumwise")
    again = load(tmp_path / "model.sumwise")
    assert np.array_equal(again.predict_proba(path), found.predict_proba(path))


def test_peers_plan_their_own_pages_and_fail_alike():
    settings = SimpleNamespace(growth=GrowthSettings(), loss=SimpleNamespace(n_outputs=1))

    def plan(limit, peers):
        n_rows = 1000 * peers.rank
        rows = SimpleNamespace(n_rows=n_rows, n_train=1000, peers=peers)
        data = SimpleNamespace(rows=rows, train=SimpleNamespace(matrix=np.empty((n_rows, 3))))
        budget = out_of_core.Budget(limit * (1 + 99 * (1 - peers.rank)), None)
        team = SimpleNamespace(n_threads=2)
        return out_of_core.plan_pages(budget, data, settings, team, False).page_rows

    assert run_together(2, partial(plan, 1 << 24)) == [1, 500]
    with pytest.raises(MemoryLimitError, match="1000 rows of 3 features"):
        run_together(2, partial(plan, 1 << 17))
