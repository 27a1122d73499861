"""Estimators saved, loaded and pickled."""

import hashlib
import io
import json
import pickle
import tracemalloc
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from sumwise import (
    Columns,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    Subsample,
    load,
)
from sumwise.errors import DataWarning, ModelFileError
from sumwise.estimators.persistence import SavedModelMixin

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3)).round(1)
X[RNG.random(X.shape) < 0.1] = np.nan
Y = np.nan_to_num(X[:, 0]) + RNG.normal(size=80)
BINARY = (Y > 0).astype(int)
THREE = np.digitize(Y, [-0.5, 0.5])
SMALL = {"n_estimators": 3, "min_samples_leaf": 3, "max_leaves": 4}


def fit_classifier(y=BINARY, **params):
    return GradientBoostingClassifier(**{**SMALL, **params}).fit(X, y)


def fit_regressor(**params):
    return GradientBoostingRegressor(**{**SMALL, **params}).fit(X, Y)


def chosen_params(model):
    """What fit has chosen; beside explicit settings, "auto" stays the name of an encoding."""
    return {**model.resolved_params_, "categorical_encoding": model.categorical_encoding}


def save_and_load(model, path):
    model.save(path)
    return load(path)


MODELS = {
    "regression": fit_regressor,
    "two classes": fit_classifier,
    "exponential": lambda **params: fit_classifier(loss="exponential", **params),
    "three classes": lambda **params: fit_classifier(y=THREE, **params),
}


@pytest.fixture(params=MODELS)
def fit(request):
    return MODELS[request.param]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.sumwise"


# Identity


def assert_same_model(loaded, model):
    assert type(loaded) is type(model)
    for name in ("predict", "apply", "predict_proba", "decision_function"):
        if hasattr(model, name):
            assert np.array_equal(getattr(loaded, name)(X), getattr(model, name)(X))
    staged, expected = list(loaded.staged_predict(X)), list(model.staged_predict(X))
    assert np.array_equal(staged, expected)
    assert np.array_equal(loaded.feature_importances_, model.feature_importances_)
    assert loaded.best_iteration_ == model.best_iteration_
    assert loaded.n_features_in_ == model.n_features_in_
    assert list(loaded.history_) == list(model.history_)
    for name, losses in model.history_.items():
        assert np.array_equal(loaded.history_[name], losses)


@pytest.mark.parametrize("growth", ["leaf", "depth", "symmetric"])
def test_a_loaded_model_is_the_same(fit, growth, path, bytes_of):
    model = fit(growth=growth, early_stopping=True, random_state=0)
    loaded = save_and_load(model, path)
    assert_same_model(loaded, model)
    assert bytes_of(loaded) == path.read_bytes()
    assert loaded.get_params() == model.get_params() | chosen_params(model)


def test_parameters_and_parts_are_saved(path):
    model = fit_regressor(
        sampler=Subsample(rate=0.5),
        columns=Columns(by_tree=0.9, by_node=0.8),
        l1=0.25,
        random_state=np.int64(5),
        n_jobs=2,
    )
    loaded = save_and_load(model, path)
    expected = model.get_params(deep=False) | chosen_params(model) | {"n_jobs": None}
    assert loaded.get_params(deep=False) == expected
    assert np.array_equal(clone(loaded).fit(X, Y).predict(X), model.predict(X))


def test_a_part_by_name_stays_a_name(path):
    assert save_and_load(fit_regressor(sampler="subsample"), path).sampler == "subsample"


def test_a_generator_is_not_saved(path):
    model = fit_regressor(random_state=np.random.RandomState(3))
    assert save_and_load(model, path).random_state is None


def test_the_file_does_not_say_how_training_ran(bytes_of, capsys):
    plain = bytes_of(fit_regressor())
    for n_jobs in (1, 2, -1):
        assert bytes_of(fit_regressor(n_jobs=n_jobs)) == plain
    for params in ({"verbose": True}, {"callbacks": [lambda state: None]}, {"warm_start": True}):
        model = fit_regressor(**params)
        assert bytes_of(model) == plain
    for word in (b"n_jobs", b"verbose", b"callbacks", b"warm_start", b"training_loss"):
        assert word not in plain


@pytest.mark.parametrize(
    "labels",
    [
        np.array([0, 1]),
        np.array([-3, 7], dtype=np.int8),
        np.array([2**63, 2**64 - 1], dtype=np.uint64),
        np.array([-(2**63), 2**63 - 1]),
        np.array([0, 1], dtype=">i4"),
        np.array([False, True]),
        np.array([-1.0, 2.0]),
        np.array([0, 1], dtype=np.float16),
        np.array([0, 1], dtype=np.float32),
        np.array(["no", "yes"]),
        np.array(["", "é中\U0001f600"]),
        np.array(["no", "yes"], dtype=object),
        np.array(["a" * 1000, "b"]),
        np.array(["low", "middle", "top"]),
    ],
    ids=lambda labels: f"{labels.dtype.str[:5]} {len(labels)}",
)
def test_labels_are_saved_with_their_type(labels, path):
    y = labels[BINARY if len(labels) == 2 else THREE]
    model = fit_classifier(y=y)
    loaded = save_and_load(model, path)
    assert loaded.classes_.dtype == model.classes_.dtype == labels.dtype
    assert loaded.classes_.tolist() == labels.tolist()
    assert loaded.predict(X).tolist() == model.predict(X).tolist()


def test_labels_that_cannot_be_saved(path):
    days = np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]")
    model = fit_classifier(y=days[BINARY])
    with pytest.raises(TypeError, match=r"classes_ holds date; .* pickle, or encode the labels"):
        model.save(path)
    assert not path.exists()
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


def test_names_of_features_are_saved(path):
    table = pd.DataFrame(X, columns=["a", "größe", "x y"])
    model = GradientBoostingRegressor(**SMALL).fit(table, Y)
    loaded = save_and_load(model, path)
    assert loaded.feature_names_in_.dtype == object
    assert loaded.feature_names_in_.tolist() == ["a", "größe", "x y"]
    with pytest.raises(ValueError, match="same order"):
        loaded.predict(table[["größe", "a", "x y"]])
    assert not hasattr(save_and_load(fit_regressor(), path), "feature_names_in_")


def test_categories_are_saved(path, bytes_of):
    size = np.array(["small", None, "größe", "\U0001f600"], dtype=object)[np.arange(80) % 4]
    number = np.array([0.5, np.inf, -np.inf, np.nan])[np.arange(80) % 4]
    table = pd.DataFrame({"size": size, "number": number, "day": pd.Timestamp("2020-01-01")})
    model = GradientBoostingRegressor(**SMALL, categorical_features=["size", "number"])
    with pytest.warns(DataWarning, match="column 'day'"):
        model.fit(table, Y)
    loaded = save_and_load(model, path)
    assert bytes_of(loaded) == path.read_bytes()
    assert loaded.schema_.kinds == ("category", "category", "date")
    assert loaded.schema_.dictionaries[0].values.tolist() == ["größe", "small", "\U0001f600"]
    assert loaded.schema_.dictionaries[1].values.tolist() == [-np.inf, 0.5, np.inf]
    assert np.array_equal(loaded.predict(table), model.predict(table))
    with pytest.raises(ValueError, match="column 'size' held strings"):
        loaded.predict(table.assign(size=1))


def test_files_without_a_schema_are_loaded(path):
    """Version 0.1 wrote none, and had no parameters for it."""
    model = fit_regressor()
    model.save(path)

    def make_old(header):
        del header["about"]["fitted"]["schema_"]
        for name in ("categorical_features", "unknown_category", "extra_columns"):
            del header["about"]["params"][name]

    rewrite(path, make_old)
    loaded = load(path)
    assert loaded.schema_.is_numeric
    assert np.array_equal(loaded.predict(X), model.predict(X))
    assert np.array_equal(loaded.predict(pd.DataFrame(X)), model.predict(X))


def test_a_truncated_model_is_saved_short(path):
    model = fit_regressor().truncate(2)
    loaded = save_and_load(model, path)
    assert loaded.best_iteration_ == 2
    assert_same_model(loaded, model)


def test_a_loaded_model_can_be_fitted_again(path):
    loaded = save_and_load(fit_regressor(), path)
    assert np.array_equal(loaded.fit(X, Y).predict(X), fit_regressor().predict(X))


def test_models_go_to_open_files_and_come_from_bytes(path):
    model = fit_regressor()
    memory = io.BytesIO()
    model.save(memory)
    model.save(path)
    assert memory.getvalue() == path.read_bytes()
    with path.open("rb") as file:
        for source in (memory.getvalue(), io.BytesIO(memory.getvalue()), file):
            assert_same_model(load(source), model)
    with pytest.raises(ModelFileError, match="damaged or truncated"):
        load(memory.getvalue()[:-1])
    with pytest.raises(TypeError, match="text mode"):
        model.save(io.StringIO())


def test_paths_may_be_strings_or_paths(tmp_path):
    model = fit_regressor()
    for path in (str(tmp_path / "a"), tmp_path / "b", Path(tmp_path) / "c.model"):
        assert_same_model(save_and_load(model, path), model)


@pytest.mark.parametrize(
    "round_trip",
    [
        lambda model: pickle.loads(pickle.dumps(model)),
        lambda model: pickle.loads(pickle.dumps(model, protocol=2)),
        lambda model: _through_joblib(model),
    ],
    ids=["pickle", "old pickle", "joblib"],
)
def test_pickles(fit, round_trip, bytes_of):
    model = fit(sampler=Subsample(), columns=Columns(by_tree=0.5), random_state=0)
    again = round_trip(model)
    assert_same_model(again, model)
    assert again.get_params(deep=False) == model.get_params(deep=False)
    assert bytes_of(again) == bytes_of(model)


def _through_joblib(model):
    buffer = io.BytesIO()
    joblib.dump(model, buffer)
    buffer.seek(0)
    return joblib.load(buffer)


def test_a_model_from_memory_mapped_arrays_predicts(tmp_path):
    model = fit_regressor()
    joblib.dump(model, tmp_path / "model.joblib")
    mapped = joblib.load(tmp_path / "model.joblib", mmap_mode="r")
    assert np.array_equal(mapped.predict(X), model.predict(X))


def test_subclasses_of_users_are_not_registered():
    class GradientBoostingRegressor2(GradientBoostingRegressor):
        pass

    assert set(SavedModelMixin._by_name) >= {
        "GradientBoostingClassifier",
        "GradientBoostingRegressor",
    }
    assert GradientBoostingRegressor2.__name__ not in SavedModelMixin._by_name


def test_a_file_that_could_not_be_loaded_is_not_written(path):
    class Own(GradientBoostingRegressor):
        pass

    model = Own(**SMALL).fit(X, Y)
    with pytest.raises((TypeError, ValueError), match="Own"):
        model.save(path)
    assert not path.exists()


# Files made with ill intent


def rewrite(path, change):
    """Change the header of a file and make the checksum right again."""
    data = path.read_bytes()
    end = 24 + int.from_bytes(data[16:24], "little")
    header = json.loads(data[24:end])
    change(header)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    arrays = data[end + (-end % 8) : -32]
    data = data[:16] + len(text).to_bytes(8, "little") + text + arrays
    path.write_bytes(data + hashlib.sha256(data).digest())


@pytest.fixture
def saved(path):
    """The file of a classifier with all there is to save."""
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    params = {**SMALL, "n_estimators": 2, "early_stopping": True, "random_state": 0}
    model = GradientBoostingClassifier(**params, sampler=Subsample(), columns=Columns())
    model.fit(table, np.array(["low", "middle", "top"])[THREE]).save(path)
    return path


def set_about(*keys, value):
    def change(header):
        place = header["about"]
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = value

    return change


def remove_about(*keys):
    def change(header):
        place = header["about"]
        for key in keys[:-1]:
            place = place[key]
        del place[keys[-1]]

    return change


CATEGORY = {"kind": "category", "values": {"strings": ["b", "a"]}}  # not sorted
HOSTILE = {
    "estimator unknown": set_about("estimator", value="os.system"),
    "estimator private": set_about("estimator", value="BaseGradientBoosting"),
    "estimator a list": set_about("estimator", value=["GradientBoostingClassifier"]),
    "estimator missing": remove_about("estimator"),
    "estimator of another task": set_about("estimator", value="GradientBoostingRegressor"),
    "parameter unknown": set_about("params", "n_rounds", value=3),
    "parameters a list": set_about("params", value=[]),
    "parameters missing": remove_about("params"),
    "part unknown": set_about("params", "sampler", value={"part": "Popen", "params": {}}),
    "part a list": set_about("params", "sampler", value={"part": [], "params": {}}),
    "part without parameters": set_about("params", "sampler", value={"part": "Subsample"}),
    "parameter of a part unknown": set_about("params", "sampler", "params", "n", value=1),
    "parameters of a part a list": set_about("params", "sampler", "params", value=[1]),
    "fitted unknown": set_about("fitted", "ensemble_", value=3),
    "fitted a method": set_about("fitted", "predict", value=3),
    "fitted a list": set_about("fitted", value=[]),
    "fitted missing": remove_about("fitted"),
    "classes missing": remove_about("fitted", "classes_"),
    "classes a number": set_about("fitted", "classes_", value=3),
    "classes a list": set_about("fitted", "classes_", value=["low", "middle", "top"]),
    "too few classes": set_about("fitted", "classes_", "items", value=["low", "top"]),
    "too many classes": set_about("fitted", "classes_", "items", value=list("abcd")),
    "classes nested": set_about("fitted", "classes_", "items", value=[["a"], ["b"], ["c"]]),
    "classes null": set_about("fitted", "classes_", "items", value=[None, None, None]),
    "classes of objects": set_about(
        "fitted", "classes_", value={"dtype": "|O", "items": [{}, {}, {}]}
    ),
    "classes of text as numbers": set_about("fitted", "classes_", "dtype", value="<i8"),
    "classes too large": set_about(
        "fitted", "classes_", value={"dtype": "|i1", "items": [1, 2, 1000]}
    ),
    "classes of raw memory": set_about("fitted", "classes_", "dtype", value="|V8"),
    "classes of dates": set_about(
        "fitted", "classes_", value={"dtype": "<M8[s]", "items": [1, 2, 3]}
    ),
    "classes of complex": set_about(
        "fitted", "classes_", value={"dtype": "<c16", "items": [1, 2, 3]}
    ),
    "classes of records": set_about("fitted", "classes_", "dtype", value="i4,f8"),
    "classes of a made-up type": set_about("fitted", "classes_", "dtype", value="__import__('os')"),
    "classes of huge text": set_about("fitted", "classes_", "dtype", value="<U10000000"),
    "classes of no type": set_about("fitted", "classes_", "dtype", value=["a"]),
    "names missing one": set_about("fitted", "feature_names_in_", "items", value=["a", "b"]),
    "names not text": set_about("fitted", "feature_names_in_", "items", value=[1, [2], 3]),
    "features disagree": set_about("fitted", "n_features_in_", value=4),
    "features true": set_about("fitted", "n_features_in_", value=True),
    "features a fraction": set_about("fitted", "n_features_in_", value=3.0),
    "features missing": remove_about("fitted", "n_features_in_"),
    "schema a list": set_about("fitted", "schema_", value=[]),
    "schema of a feature too many": set_about("fitted", "schema_", value={"3": {"kind": "date"}}),
    "schema of an unknown kind": set_about("fitted", "schema_", value={"0": {"kind": "code"}}),
    "schema without values": set_about("fitted", "schema_", value={"0": {"kind": "category"}}),
    "schema of unsorted values": set_about("fitted", "schema_", value={"0": CATEGORY}),
    "fitted a property": set_about("fitted", "best_iteration_", value=1000),
    "history a list": set_about("fitted", "history_", value=[1]),
    "history of words": set_about("fitted", "history_", value={"validation_loss": ["a"]}),
    "history ragged": set_about("fitted", "history_", value={"validation_loss": [1, [2]]}),
    "history missing": remove_about("fitted", "history_"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_descriptions_are_refused(name, saved):
    rewrite(saved, HOSTILE[name])
    with pytest.raises(ModelFileError, match=r"model\.sumwise"):
        load(saved)


def test_a_small_file_cannot_fill_the_memory(saved):
    def name_many_features(header):
        header["n_features"] = header["about"]["fitted"]["n_features_in_"] = 4000
        names = {"dtype": "<U65536", "items": ["a"] * 4000}  # 1 GiB of text
        header["about"]["fitted"]["feature_names_in_"] = names

    rewrite(saved, name_many_features)
    with pytest.raises(ModelFileError):
        load(saved)


@pytest.mark.parametrize("n_features", [1 << 26, 10**9])
def test_features_that_a_file_claims_take_no_memory(path, n_features):
    fit_regressor().save(path)

    def claim_features(header):
        header["n_features"] = header["about"]["fitted"]["n_features_in_"] = n_features

    rewrite(path, claim_features)
    tracemalloc.start()
    try:
        if n_features > 1 << 26:
            with pytest.raises(ModelFileError, match="too many for a file"):
                load(path)
        else:
            assert load(path).n_features_in_ == n_features
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


def test_columns_that_an_encoder_claims_take_no_memory(path):
    table = pd.DataFrame({"a": list("abcd") * 20, "b": X[:, 0]})
    model = GradientBoostingRegressor(categorical_encoding="ordered", **SMALL).fit(table, Y)
    model.save(path)
    assert np.array_equal(load(path).predict(table), model.predict(table))

    def claim_features(header):
        header["n_features"] = header["about"]["fitted"]["n_features_in_"] = 1 << 26
        del header["about"]["fitted"]["feature_names_in_"]

    rewrite(path, claim_features)
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError, match="encoded as"):
            load(path)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


def test_sets_of_categories_that_no_feature_has_are_refused(path):
    table = pd.DataFrame({"a": list("abcd") * 20})
    GradientBoostingRegressor(**SMALL).fit(table, Y).save(path)
    load(path)

    def forget_a_category(header):
        header["about"]["fitted"]["schema_"]["0"]["values"]["strings"] = ["a"]

    rewrite(path, forget_a_category)
    with pytest.raises(ModelFileError, match="other categories than the features"):
        load(path)


def test_an_unchanged_rewrite_is_accepted(saved):
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    before = load(saved).predict_proba(table)
    rewrite(saved, lambda header: None)
    assert np.array_equal(load(saved).predict_proba(table), before)


def test_a_regressor_is_no_classifier(path):
    fit_regressor().save(path)

    def pretend(header):
        about = header["about"]
        about["estimator"] = "GradientBoostingClassifier"
        about["fitted"]["classes_"] = {"dtype": "<i8", "items": [0, 1]}

    rewrite(path, pretend)
    with pytest.raises(ModelFileError):
        load(path)


def list_places(value, place=()):
    """Yield the path of keys to everything in a JSON value, the whole first."""
    yield place
    if isinstance(value, (dict, list)):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from list_places(item, (*place, key))


JUNK = [None, True, -1, 2**70, float("nan"), "x", [], {"part": "Columns"}]


def test_junk_anywhere_is_refused_or_harmless(saved):
    """Put junk into every place of the header: never an error of another kind."""
    data = saved.read_bytes()
    header = json.loads(data[24 : 24 + int.from_bytes(data[16:24], "little")])
    n_refused = 0
    places = [place for place in list_places(header) if place]
    for place in places:
        for junk in JUNK:
            saved.write_bytes(data)

            def put(header, place=place, junk=junk):
                for key in place[:-1]:
                    header = header[key]
                header[place[-1]] = junk

            rewrite(saved, put)
            try:
                load(saved)
            except ModelFileError:
                n_refused += 1
    assert n_refused > len(places) * len(JUNK) / 2
