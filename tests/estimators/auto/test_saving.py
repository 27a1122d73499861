"""Model files of automatic ensembles."""

import io
import json

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from sumwise import AutoEnsembleClassifier, AutoEnsembleRegressor, GradientBoostingRegressor, load
from sumwise.errors import DataError, ModelFileError
from sumwise.export.container import open_file, pack_file, read_arrays
from sumwise.export.members import MEMBERS_ARRAYS, MEMBERS_FORMAT
from sumwise.export.native import parse_model
from tests.estimators.auto.samples import make_classes, make_frame

QUICK = {"time_limit": None, "n_variants": 0, "n_folds": 2, "n_repeats": 1, "random_state": 0}
FAMILIES = ("leaf_quick", "symmetric_ordered", "extra_trees", "linear", "network", "neighbors")
MEMBERS = ["leaf_quick", "shallow", "extra_trees"]


def fit(kind, X, y, **params):
    return kind(**{**QUICK, "members": MEMBERS, "combination": "stacking", **params}).fit(X, y)


def save(model):
    file = io.BytesIO()
    model.save(file)
    return file.getvalue()


def predict(model, X):
    is_class = isinstance(model, AutoEnsembleClassifier)
    return model.predict_proba(X) if is_class else model.predict(X)


@pytest.fixture(scope="module", params=["regression", "classes"])
def fitted(request):
    if request.param == "regression":
        X, y = make_frame()
        return fit(AutoEnsembleRegressor, X, y), X, y
    X, y = make_classes()
    return fit(AutoEnsembleClassifier, X, y), X, y


@pytest.mark.parametrize("kind", [AutoEnsembleClassifier, AutoEnsembleRegressor])
@pytest.mark.parametrize("name", FAMILIES)
def test_members_of_all_kinds_predict_the_same_bits(name, kind):
    X, y = make_classes(110) if kind is AutoEnsembleClassifier else make_frame(110)
    model = fit(kind, X, y, members=[name])
    again = load(save(model))
    other, _ = make_frame(30, seed=1)
    assert predict(again, other).tobytes() == predict(model, other).tobytes()
    assert save(again) == save(model)


def test_everything_but_times_and_rows_is_kept(fitted, tmp_path):
    model, X, _ = fitted
    model.save(tmp_path / "model.sumwise")
    again = load(tmp_path / "model.sumwise")
    assert type(again) is type(model)
    assert again.get_params() == model.get_params()
    assert predict(again, X).tobytes() == predict(model, X).tobytes()
    assert list(again.named_estimators_) == list(model.named_estimators_)
    bags = zip(again.estimators_, model.estimators_, strict=True)
    assert all(predict_bag(a, X) == predict_bag(b, X) for a, b in bags)
    assert again.combination_ == model.combination_
    assert again.weights_.tolist() == model.weights_.tolist()
    assert again.decomposition_ == model.decomposition_
    assert again.diversity_.labels == model.diversity_.labels
    assert again.diversity_.values.tolist() == model.diversity_.values.tolist()
    assert again.feature_importances_.tolist() == model.feature_importances_.tolist()
    assert again.feature_names_in_.tolist() == model.feature_names_in_.tolist()
    assert repr(again.schema_) == repr(model.schema_)
    for own, known in zip(again.leaderboard_, model.leaderboard_, strict=True):
        assert np.isnan(own.seconds)
        assert own._replace(seconds=0.0) == known._replace(seconds=0.0)
    assert "nan" not in repr(again.leaderboard_)
    assert not hasattr(again, "out_of_fold_")


def predict_bag(bag, X):
    return (bag.predict_proba(X) if hasattr(bag, "predict_proba") else bag.predict(X)).tolist()


def test_a_loaded_ensemble_can_learn_again(fitted):
    model, X, y = fitted
    again = load(save(model))
    for method in (again.refit, again.distill):
        with pytest.raises(DataError, match="nor a model file contains the training rows; pass X"):
            method()
    expected = predict(model.refit(), X)
    assert np.array_equal(predict(again.refit(X, y), X), expected)
    assert np.array_equal(predict(load(save(model.refit())), X), expected)
    single = again.distill(X, n_estimators=5)
    assert np.array_equal(single.predict(X), model.distill(X, n_estimators=5).predict(X))
    assert predict(again.set_params(n_jobs=2).fit(X, y), X).shape == predict(model, X).shape


@pytest.mark.parametrize("kind", [AutoEnsembleClassifier, AutoEnsembleRegressor])
def test_the_bytes_do_not_depend_on_threads_or_progress(kind, capsys):
    X, y = make_classes() if kind is AutoEnsembleClassifier else make_frame()
    files = {save(fit(kind, X, y, n_jobs=n, verbose=n == 2)) for n in (1, 2)}
    assert len(files) == 1


def test_labels_keep_their_type_and_a_single_class_is_one():
    X, y = make_frame(60)
    many = load(save(fit(AutoEnsembleClassifier, X, np.digitize(y, [0.0, 1.0]) * 10)))
    assert many.classes_.tolist() == [0, 10, 20]
    assert set(many.predict(X)) <= {0, 10, 20}
    single = load(save(fit(AutoEnsembleClassifier, X, np.full(60, "a"), members=["linear"])))
    assert (single.predict(X) == "a").all()


def test_a_sparse_matrix():
    rng = np.random.default_rng(0)
    X = sparse.random(80, 5, 0.5, "csr", random_state=0)
    model = fit(AutoEnsembleRegressor, X, rng.normal(size=80), members=["leaf_quick", "linear"])
    assert np.array_equal(load(save(model)).predict(X), model.predict(X))


def test_a_metric_that_is_a_function_is_left_out():
    X, y = make_classes(60)
    model = fit(AutoEnsembleClassifier, X, y, members=["linear"], metric=lambda y, found: 0.5)
    assert load(save(model)).metric is None
    model = fit(AutoEnsembleClassifier, X, y, members=["linear"], metric="roc_auc")
    assert load(save(model)).metric == "roc_auc"


# --- files that are not sound ---


def change(content, alter):
    """Return a file whose description was changed, with a valid checksum."""
    file = open_file(content, MEMBERS_FORMAT)
    arrays = read_arrays(file, MEMBERS_ARRAYS)
    header = {key: value for key, value in file.header.items() if key != "arrays"}
    alter(header, arrays)
    return pack_file(MEMBERS_FORMAT, json.loads(json.dumps(header)), arrays)


def set_part_size(header, arrays):
    arrays["part_size"] = arrays["part_size"] + 1


def set_entry(*path):
    *keys, last, value = path

    def alter(header, arrays):
        own = header["about"]
        for key in keys:
            own = own[key]
        own[last] = value

    return alter


@pytest.mark.parametrize(
    "alter",
    [
        set_part_size,
        set_entry("estimator", "AutoEnsemble"),
        set_entry("estimator", "GradientBoostingRegressor"),
        set_entry("members", []),
        set_entry("members", 0, "n_models", 1),
        set_entry("members", 0, "recipe", "params", {"sampler": {"part": "Evil", "params": {}}}),
        set_entry("weights", [1.0] * 30),
        set_entry("combined", "kind", "eval"),
        set_entry("combined", "coef", [1.0] * 30),
        set_entry("fitted", "n_features_in_", 3),
        set_entry("leaderboard", "columns", {}),
        set_entry("decomposition", [1.0]),
        set_entry("seed", "x"),
    ],
)
def test_unsound_descriptions_are_refused(fitted, alter):
    with pytest.raises(ModelFileError):
        load(change(save(fitted[0]), alter))


def test_damaged_files_are_refused(fitted):
    content = save(fitted[0])
    for place in (30, len(content) // 2, len(content) - 40):
        damaged = bytearray(content)
        damaged[place] ^= 1
        with pytest.raises(ModelFileError):
            load(bytes(damaged))
    with pytest.raises(ModelFileError, match=r"truncated|checksum"):
        load(content[:1000])


def test_members_of_another_ensemble_are_refused(fitted):
    model, _, _ = fitted
    narrow = GradientBoostingRegressor(n_estimators=2).fit(np.zeros((30, 1)), np.arange(30.0))

    def replace(header, arrays):
        part = np.frombuffer(save(narrow), dtype=np.uint8)
        first = arrays["part_size"][0]
        arrays["parts"] = np.concatenate([part, arrays["parts"][first:]])
        arrays["part_size"][0] = part.size

    with pytest.raises(ModelFileError):
        load(change(save(model), replace))


def test_the_file_of_an_ensemble_is_no_single_model(fitted):
    with pytest.raises(ModelFileError, match="ensemble of several models"):
        parse_model(save(fitted[0]))


def test_not_fitted():
    with pytest.raises(NotFittedError):
        AutoEnsembleRegressor().save(io.BytesIO())
