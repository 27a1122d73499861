"""Fits of the boosting estimators: steps, weights, scores to start from, and kinds of data."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from sumwise import Columns, GradientBoostingClassifier, GradientBoostingRegressor, Subsample
from sumwise.errors import DataWarning, ParameterError, TrainingError
from sumwise.estimators.boosting import base as boosting_base
from tests.estimators.boosting.fits import BINARY, FITS, FOUR, GROWTHS, PLAIN, SMALL, X, Y, raw_of

# The four ages


def fit_ages(**params):
    X = [[0, 0], [0, 1], [1, 0], [1, 1]]
    init_score = params.pop("init_score", None)
    model = GradientBoostingRegressor(n_estimators=2, max_leaves=2, **PLAIN, **params)
    return model.fit(X, [14, 16, 24, 26], init_score=init_score), X


@pytest.mark.parametrize("growth", GROWTHS)
def test_four_ages(growth):
    model, X = fit_ages(growth=growth)
    first, second = model.staged_predict(X)
    assert first.tolist() == [15, 15, 25, 25]
    assert (second - first).tolist() == [-1, 1, -1, 1]
    assert second.tolist() == [14, 16, 24, 26]
    assert model.ensemble_.feature.tolist() == [0, -1, -1, 1, -1, -1]
    assert model.ensemble_.gain.tolist() == [50, 0, 0, 2, 0, 0]


def test_four_ages_from_zero():
    # Without the mean as a start the first tree itself says 15 and 25.
    model, _ = fit_ages(init_score=np.zeros(4))
    assert model.ensemble_.base_score.tolist() == [0]
    assert model.ensemble_.value.tolist() == [20, 15, 25, 0, -1, 1]


def test_learning_rate_scales_each_step():
    X = [[0], [1]]
    params = {**PLAIN, "n_estimators": 3, "learning_rate": 0.5}
    model = GradientBoostingRegressor(**params).fit(X, [0, 8])
    assert [stage.tolist() for stage in model.staged_predict(X)] == [[2, 6], [1, 7], [0.5, 7.5]]


def test_scores_without_bound_are_an_error():
    for n_estimators in (1, 2):
        model = GradientBoostingRegressor(
            n_estimators=n_estimators, learning_rate=1e300, min_samples_leaf=1
        )
        with pytest.raises(TrainingError, match="learning_rate"):
            model.fit([[0], [1]], [0, 1e10])


# Initial scores


def test_predictions_do_not_contain_the_initial_score(fit):
    shape = (len(X), fit.loss.n_outputs)
    init_score = np.random.default_rng(0).normal(size=shape)
    model = fit(init_score=init_score)
    # With a log link the best constant is still added: 0 may be far from any sensible mean.
    assert model.ensemble_.base_score.any() == (fit.loss.link == "log")
    rows = np.arange(len(X), dtype=np.uint32)
    raw = raw_of(model, X)
    start, end = (
        fit.loss.value(fit.target, np.ascontiguousarray(scores), np.empty(0), rows)
        for scores in (init_score.T, init_score.T + raw)
    )
    assert end < 0.8 * start


def test_the_best_constant_as_initial_score_gives_the_same_trees(fit):
    plain = fit()
    constant = np.tile(plain.ensemble_.base_score, (len(X), 1))
    model = fit(init_score=constant)
    for name in ("feature", "threshold", "left", "value", "gain", "n_rows"):
        assert np.array_equal(getattr(model.ensemble_, name), getattr(plain.ensemble_, name))


def test_training_continues_from_the_scores_of_another_model(fit):
    first = fit(n_estimators=3)
    start = raw_of(first, X)
    second = fit(n_estimators=3, init_score=start.T)
    if fit.loss.link == "log":  # the best constant comes first, and it is not quite zero
        ratio = fit.target.mean() / np.exp(start).mean()
        np.testing.assert_allclose(second.ensemble_.base_score, np.log(ratio), rtol=1e-12)
        return
    whole = fit(n_estimators=6)
    raw = start + raw_of(second, X)
    np.testing.assert_allclose(raw, raw_of(whole, X), rtol=1e-12, atol=1e-12)


def test_initial_score_of_one_output_may_be_flat_or_a_column(bytes_of):
    init_score = np.linspace(-1, 1, len(X))
    flat, column, listed = (
        GradientBoostingClassifier(**SMALL).fit(X, BINARY, init_score=score)
        for score in (init_score, init_score[:, None], init_score.tolist())
    )
    assert bytes_of(flat) == bytes_of(column) == bytes_of(listed)


# Weights


@pytest.mark.parametrize("growth", GROWTHS)
@pytest.mark.parametrize(
    "params", [{}, {"sampler": Subsample()}, {"early_stopping": True}], ids=str
)
def test_weight_zero_is_the_same_as_no_row(fit, growth, params, bytes_of):
    weight = np.random.default_rng(2).choice([0.0, 0.5, 1.0, 3.0], len(X))
    kept = weight > 0
    params = {**params, "growth": growth, "random_state": 5}
    with_zeros = fit(sample_weight=weight, **params)
    y = fit.target[kept]
    y = y if isinstance(with_zeros, GradientBoostingRegressor) else y.astype(int)
    without = fit(X=X[kept], y=y, sample_weight=weight[kept], **params)
    assert bytes_of(with_zeros) == bytes_of(without)


def test_weights_of_one_are_the_same_as_none(fit, bytes_of):
    plain = bytes_of(fit())
    assert bytes_of(fit(sample_weight=np.ones(len(X)))) == plain
    assert bytes_of(fit(sample_weight=1)) == plain
    assert bytes_of(fit(sample_weight=[1] * len(X))) == plain


def test_a_common_factor_of_the_weights_changes_no_prediction(fit):
    # A power of two rounds nothing; without penalties it cancels.
    weight = np.random.default_rng(2).uniform(0.1, 1, len(X))
    params = {"l2": 0.0, "min_child_weight": 0.0}
    light, heavy = (fit(sample_weight=factor * weight, **params) for factor in (0.25, 8.0))
    assert np.array_equal(raw_of(light, X), raw_of(heavy, X))


def test_the_class_of_all_the_weight_wins():
    model = GradientBoostingClassifier(**SMALL).fit(X, BINARY, sample_weight=BINARY)
    assert model.classes_.tolist() == [0, 1]
    assert model.predict(X).tolist() == [1] * len(X)
    assert np.isfinite(model.predict_proba(X)).all()


# Sampling


@pytest.mark.parametrize(
    "params",
    [{"sampler": Subsample(rate=0.5)}, {"columns": Columns(by_tree=0.5, by_node=0.7)}],
    ids=str,
)
def test_sampling_follows_the_seed(fit, params, bytes_of):
    models = [bytes_of(fit(**params, random_state=seed)) for seed in (0, 0, 1)]
    assert models[0] == models[1] != models[2]


def test_a_generator_as_random_state():
    params = {**SMALL, "sampler": Subsample(rate=0.5)}

    def predict(random_state):
        model = GradientBoostingRegressor(**params, random_state=random_state)
        return model.fit(X, Y).predict(X)

    assert np.array_equal(predict(np.random.RandomState(3)), predict(3))
    assert not np.array_equal(predict(None), predict(None))


def test_without_sampling_the_seed_does_not_matter(fit):
    assert np.array_equal(raw_of(fit(random_state=0), X), raw_of(fit(random_state=1), X))


def test_the_name_of_a_sampler_means_its_defaults():
    params = {**SMALL, "random_state": 0}
    by_name = GradientBoostingRegressor(**params, sampler="subsample").fit(X, Y)
    by_object = GradientBoostingRegressor(**params, sampler=Subsample()).fit(X, Y)
    assert by_name.sampler == "subsample"
    assert np.array_equal(by_name.predict(X), by_object.predict(X))


# Data


def replace_item(array, value):
    array = np.array(array, dtype=np.float64)
    array[5] = value
    return array


ONES = np.ones(len(X))
BAD_DATA = {
    "nan in y": ({"y": replace_item(Y, np.nan)}, "y contains NaN"),
    "inf in y": ({"y": replace_item(Y, np.inf)}, "y contains infinity"),
    "no y": ({"y": None}, "requires y"),
    "short y": ({"y": Y[:-1]}, r"inconsistent numbers of samples: \[150, 149\]"),
    "deep y": ({"y": np.stack([Y, Y], axis=1)[None]}, "y"),
    "flat X": ({"X": Y}, "Expected 2D array"),
    "three dimensions": ({"X": X[None]}, "dim 3"),
    "complex": ({"X": X + 1j}, "Complex data not supported"),
    "no rows": ({"X": X[:0], "y": Y[:0]}, r"0 sample\(s\)"),
    "no features": ({"X": X[:, :0]}, r"0 feature\(s\)"),
    "negative weight": ({"sample_weight": replace_item(ONES, -1)}, r"sample_weight\[5\] is -1"),
    "nan weight": ({"sample_weight": replace_item(ONES, np.nan)}, r"sample_weight\[5\] is nan"),
    "inf weight": ({"sample_weight": replace_item(ONES, np.inf)}, r"sample_weight\[5\] is inf"),
    "no weight": ({"sample_weight": 0 * ONES}, "all sample weights are zero"),
    "short weight": ({"sample_weight": ONES[1:]}, r"sample_weight.*\(149,\), expected \(150,\)"),
    "wide weight": ({"sample_weight": ONES[:, None]}, "Sample weights must be 1D"),
    "words as weight": ({"sample_weight": ["a"] * 150}, "sample_weight must be numbers"),
    "short init_score": ({"init_score": ONES[1:]}, r"init_score.*\(149,\), expected \(150,\)"),
    "wide init_score": ({"init_score": np.ones((150, 2))}, r"init_score.*expected \(150,\)"),
    "nan init_score": ({"init_score": replace_item(ONES, np.nan)}, "init_score must be finite"),
    "words as init_score": ({"init_score": ["a"] * 150}, "init_score"),
}


@pytest.mark.parametrize("name", BAD_DATA)
def test_bad_data(name):
    changes, message = BAD_DATA[name]
    with pytest.raises(ValueError, match=message):
        GradientBoostingRegressor().fit(**{"X": X, "y": Y, **changes})


@pytest.mark.parametrize("name", ["regression", "quantile", "four classes"])
def test_a_training_curve_without_words(name, capsys, bytes_of):
    kind, options, target, loss = FITS[name]
    model = kind(**SMALL, **options, track_training_loss=True).fit(X, target)
    raw = np.array([s.reshape(150, -1).T for s in model._staged_predict_raw(X)])
    expected = [
        loss.value(np.asarray(target, float), np.ascontiguousarray(r), np.empty(0), np.arange(150))
        for r in raw
    ]
    np.testing.assert_allclose(model.history_["training_loss"], expected)
    assert capsys.readouterr() == ("", "")
    assert bytes_of(model) == bytes_of(kind(**SMALL, **options).fit(X, target))


@pytest.mark.parametrize(
    ("params", "y", "sample_weight", "message"),
    [
        ({"l2": -1}, BINARY, None, "l2=-1"),
        ({}, BINARY, np.zeros(len(X)), "weights are zero"),
        ({"loss": "exponential"}, FOUR, None, "two classes"),
        ({"n_jobs": 0}, BINARY, None, "n_jobs=0"),
    ],
)
def test_a_failed_fit_leaves_no_model(params, y, sample_weight, message):
    model = GradientBoostingClassifier(**SMALL).fit(X, BINARY)
    with pytest.raises(ValueError, match=message):
        model.set_params(**params).fit(X, y, sample_weight)
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    assert not hasattr(model, "best_iteration_")
    assert not hasattr(model, "history_")


def fail(*args):
    raise RuntimeError("broken")


@pytest.mark.parametrize(
    "params",
    [
        {"callbacks": [fail]},
        {"early_stopping": True, "scoring": fail},
        {"early_stopping": True, "random_state": None, "callbacks": [fail]},
        {"loss": "exponential", "l2": -1.0},
    ],
    ids=["callback", "scorer", "seed", "parameter"],
)
@pytest.mark.parametrize("warm_start", [False, True])
def test_a_failed_fit_leaves_nothing_of_both_fits(params, warm_start):
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = GradientBoostingClassifier(**SMALL, early_stopping=True, n_iter_no_change=20)
    model.fit(frame, BINARY)
    learned = set(vars(model)) - set(model.get_params())
    assert {"classes_", "feature_names_in_", "n_features_in_", "schema_"} <= learned
    model.set_params(n_estimators=20, n_iter_no_change=20, warm_start=warm_start, **params)
    with pytest.raises((RuntimeError, ParameterError)):
        model.fit(*((frame, BINARY) if warm_start else (X[:, :3], FOUR % 2)))
    assert set(vars(model)) == set(model.get_params())


def test_an_interrupted_fit_leaves_no_model(monkeypatch):
    def interrupt(*args):
        raise KeyboardInterrupt

    model = GradientBoostingRegressor(**SMALL).fit(X, Y)
    monkeypatch.setattr(boosting_base, "boost", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)
    with pytest.raises(NotFittedError):
        check_is_fitted(model)


def test_refit_starts_anew(fit, bytes_of):
    model = fit()
    model.fit(X[:60, :2], fit.target[:60])
    fresh = clone(model).fit(X[:60, :2], fit.target[:60])
    assert bytes_of(model) == bytes_of(fresh)


# Values of X


@pytest.mark.parametrize("growth", GROWTHS)
def test_missing_values_take_a_learned_direction(growth):
    X = np.array([[0.0], [1.0], [np.nan]] * 10)
    for y_missing in (0, 10):
        y = np.array([0, 10, y_missing] * 10)
        model = GradientBoostingRegressor(n_estimators=1, growth=growth, **PLAIN).fit(X, y)
        np.testing.assert_allclose(model.predict(X), y, atol=1e-9)
    alone = np.array([3, 3, 8] * 10)
    model = GradientBoostingRegressor(n_estimators=1, growth=growth, **PLAIN).fit(X, alone)
    np.testing.assert_allclose(model.predict(X), alone, atol=1e-9)
    assert model.ensemble_.threshold[0] == np.inf


def test_missing_values_unseen_in_training_go_with_the_larger_child():
    X = [[0.0], [1.0], [1.0]]
    model = GradientBoostingRegressor(n_estimators=1, **PLAIN).fit(X, [0, 9, 9])
    assert model.predict([[np.nan]])[0] == model.predict([[1.0]])[0]
    model = GradientBoostingRegressor(n_estimators=1, **PLAIN).fit(X, [0, 9, 9], [9, 1, 0])
    assert model.predict([[np.nan]])[0] == model.predict([[0.0]])[0]


@pytest.mark.parametrize("growth", GROWTHS)
def test_infinities_are_values(growth):
    X = np.array([[-np.inf], [-1e308], [0.0], [1e308], [np.inf], [np.nan]])
    y = np.array([5.0, -3.0, 8.0, 1.0, 9.0, -6.0])
    params = {**PLAIN, "n_estimators": 1, "growth": growth, "max_depth": 6}
    model = GradientBoostingRegressor(**params).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, atol=1e-9)
    largest = np.finfo(np.float64).max
    assert np.array_equal(model.predict([[largest]]), model.predict([[1e308]]))


def test_columns_that_say_nothing(fit, bytes_of):
    useless = np.column_stack([np.full(len(X), np.nan), np.full(len(X), 3.0), X])
    model, plain = fit(X=useless), fit()
    assert np.array_equal(raw_of(model, useless), raw_of(plain, X))
    assert model.feature_importances_[:2].tolist() == [0, 0]
    useless[:, :2] = 99
    assert np.array_equal(raw_of(model, useless), raw_of(plain, X))


def test_only_columns_that_say_nothing(fit):
    model = fit(X=np.column_stack([np.full(len(X), np.nan), np.full(len(X), 3.0)]))
    raw = raw_of(model, np.array([[1.0, 2.0], [np.nan, np.inf]]))
    assert np.array_equal(raw[:, 0], raw[:, 1])
    np.testing.assert_allclose(raw[:, 0], model.ensemble_.base_score, atol=1e-12)


@pytest.mark.parametrize("growth", GROWTHS)
def test_one_row(growth):
    model = GradientBoostingRegressor(growth=growth, n_estimators=3).fit([[1.0, 2.0]], [7.5])
    assert model.predict([[1.0, 2.0], [np.nan, 9.0]]).tolist() == [7.5, 7.5]
    assert model.n_trees_ == 3


@pytest.mark.parametrize(
    "dtype",
    ["f2", "f4", "g", ">f8", ">f4", "i1", "u1", "i2", "i4", "i8", "u8", ">i4", "O"],
)
def test_types_of_numbers_give_the_same_model(dtype, fit, bytes_of):
    numbers = np.random.default_rng(0).integers(0, 100, (len(X), 3))
    expected = fit(X=numbers.astype(np.float64))
    model = fit(X=numbers.astype(dtype))
    assert bytes_of(model) == bytes_of(expected)
    as_float, as_given = (raw_of(expected, numbers.astype(kind)) for kind in (np.float64, dtype))
    assert np.array_equal(as_float, as_given)


def test_booleans(bytes_of):
    flags = np.random.default_rng(0).random((len(X), 3)) < 0.5
    models = (
        GradientBoostingRegressor(**SMALL).fit(table, Y)
        for table in (flags, flags.astype(float), flags.tolist())
    )
    assert len(set(map(bytes_of, models))) == 1


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_layouts_give_the_same_model(kind, fit, bytes_of):
    table = X.astype(kind)
    wide = np.repeat(np.repeat(table, 2, axis=0), 3, axis=1)
    read_only = table.copy()
    read_only.flags.writeable = False
    layouts = [np.asfortranarray(table), wide[::2, ::3], table[::-1].copy()[::-1], read_only]
    expected = fit(X=table)
    for layout in layouts:
        model = fit(X=layout)
        assert bytes_of(model) == bytes_of(expected)
        assert np.array_equal(raw_of(model, layout), raw_of(expected, table))


def test_memory_mapped_data(tmp_path, fit, bytes_of):
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    model = fit(X=mapped)
    assert bytes_of(model) == bytes_of(fit())
    assert np.array_equal(raw_of(model, mapped), raw_of(model, X))


def test_fit_changes_no_input(fit):
    table, y, weight = X.copy(), fit.target.copy(), np.linspace(0, 1, len(X))
    copies = weight.copy(), np.ones((len(X), fit.loss.n_outputs))
    fit(X=table, y=y, sample_weight=weight, init_score=copies[1])
    assert np.array_equal(table, X, equal_nan=True)
    assert np.array_equal(y, fit.target)
    assert np.array_equal(weight, copies[0])
    assert np.all(copies[1] == 1)


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_integers_too_large_for_floats_give_a_warning(dtype):
    numbers = (np.arange(40)[:, None] + 2**60).astype(dtype)
    with pytest.warns(DataWarning, match=r"beyond 2\*\*53.*rounded") as record:
        GradientBoostingRegressor(**SMALL).fit(numbers, np.arange(40))
    assert [warning.filename for warning in record] == [__file__]


def test_integers_that_floats_hold_give_no_warning():
    numbers = np.arange(40)[:, None] + (2**53 - 40)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = GradientBoostingRegressor(n_estimators=1, max_leaves=40, **PLAIN)
        model.fit(numbers, np.arange(40))
    np.testing.assert_allclose(model.predict(numbers), np.arange(40))


# Frames


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_give_names(frame, bytes_of):
    table = frame({"size": X[:, 0], "count": X[:, 1].astype(int)})
    model = GradientBoostingRegressor(**SMALL).fit(table, Y)
    assert model.feature_names_in_.tolist() == ["size", "count"]
    plain = GradientBoostingRegressor(**SMALL).fit(X[:, :2], Y)
    assert not hasattr(plain, "feature_names_in_")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.array_equal(model.predict(table), plain.predict(X[:, :2]))
    with pytest.raises(ValueError, match="same order"):
        model.predict(table[["count", "size"]])
    with pytest.raises(ValueError, match="unseen at fit time"):
        model.predict(frame({"size": X[:, 0], "number": X[:, 1]}))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X[:, :2])


def test_missing_values_of_pandas():
    numbers = pd.DataFrame({"a": pd.array([1, 2, None] * 20, dtype="Int64")})
    floats = pd.DataFrame({"a": [1.0, 2.0, np.nan] * 20})
    y = np.tile([1.0, 2.0, 3.0], 20)
    models = (GradientBoostingRegressor(**SMALL).fit(table, y) for table in (numbers, floats))
    first, second = (model.predict(floats) for model in models)
    assert np.array_equal(first, second)
    assert first[2] > first[1] > first[0]


# What is written


def test_silent_by_default(fit, capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = fit(early_stopping=True, sampler=Subsample(), columns=Columns(by_tree=0.5))
        model.predict(X)
        list(model.staged_predict(X))
    assert capfd.readouterr() == ("", "")
    assert list(tmp_path.iterdir()) == []


def test_verbose_writes_losses_to_standard_error(fit, capfd):
    plain = fit(early_stopping=True, random_state=0)
    model = fit(early_stopping=True, random_state=0, verbose=True)
    out, err = capfd.readouterr()
    lines = err.splitlines()
    assert out == ""
    assert len(lines) == len(model.history_["validation_loss"]) + 1  # the best round
    assert lines[0].startswith("round 1/6  training_loss ")
    assert f"validation_loss {model.history_['validation_loss'][0]:.6g}" in lines[0]
    assert np.array_equal(raw_of(model, X), raw_of(plain, X))
