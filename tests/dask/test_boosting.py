import io
import pickle
from itertools import pairwise

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import sklearn
from dask import delayed
from distributed import get_worker
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError

import sumwise
from sumwise import GroupSubsample, Quantile, Subsample
from sumwise.dask import GradientBoostingClassifier, GradientBoostingRegressor
from sumwise.errors import DataError, ParameterError, UnknownParameterError

N_ROWS = 300
PLAIN = {
    GradientBoostingClassifier: sumwise.GradientBoostingClassifier,
    GradientBoostingRegressor: sumwise.GradientBoostingRegressor,
}


def make_frame(n_rows, seed):
    rng = np.random.default_rng(seed)
    own = pd.DataFrame(rng.normal(size=(n_rows, 2)).astype(np.float32), columns=list("ab"))
    own["color"] = rng.choice(["red", "green", "blue"], n_rows)
    own.loc[rng.random(n_rows) < 0.1, "b"] = np.nan
    score = own.a + own.b.fillna(1) + (own.color == "red") + rng.normal(size=n_rows)
    own["amount"] = score.astype(float)
    own["more"] = own.amount * own.a
    own["label"] = np.where(score > 0, "yes", "no")
    own["weight"] = rng.integers(0, 3, n_rows).astype(float)
    own["start"] = rng.normal(size=n_rows)
    own["group"] = rng.integers(0, 30, n_rows)
    return own


OWN = {"client": None, "parallel": "data", "top_k": 20, "silence": 30.0}
FRAME, VALID = make_frame(N_ROWS, 0), make_frame(80, 1)
FEATURES = ["a", "b", "color"]


def cut(frame, ends):
    """Return a Dask DataFrame whose partitions end at these rows; some may be empty."""
    bounds = [0, *ends, len(frame)]
    parts = [frame[begin:end] for begin, end in pairwise(bounds)]
    return dd.from_delayed([delayed(part) for part in parts], meta=frame[:0], verify_meta=False)


def save(model):
    file = io.BytesIO()
    model.save(file)
    return file.getvalue()


def fit_both(kind, params, X, y, rows, target, fit, plain_fit):
    """Return the model of the cluster, after comparing its bytes with the plain one."""
    params = {"n_estimators": 5, "random_state": 4, **params}
    model = kind(**params).fit(X, y, **fit)
    shared = {name: value for name, value in params.items() if name not in OWN}
    plain = PLAIN[kind](**shared).fit(rows, target, **plain_fit)
    assert save(model.to_local()) == save(plain)
    return model, plain


# Parameters, and names of arguments of fit.
SETTINGS = {
    "classifier": (GradientBoostingClassifier, "label", {}, ()),
    "weights": (GradientBoostingRegressor, "amount", {}, ("sample_weight", "init_score")),
    "groups": (GradientBoostingClassifier, "label", {"sampler": GroupSubsample(0.5)}, ("groups",)),
    "validation": (
        GradientBoostingRegressor,
        "amount",
        {"n_estimators": 40, "learning_rate": 0.5, "n_iter_no_change": 2},
        ("X_val", "y_val", "eval_set", "sample_weight_val"),
    ),
    "held out": (GradientBoostingClassifier, "label", {"early_stopping": True}, ()),
    "targets": (GradientBoostingRegressor, ["amount", "more"], {}, ()),
    "feature": (GradientBoostingClassifier, "label", {"parallel": "feature"}, ()),
    "voting": (GradientBoostingClassifier, "label", {"parallel": "voting", "top_k": 3}, ()),
}
COLUMNS = {"sample_weight": "weight", "init_score": "start", "groups": "group"}


@pytest.mark.parametrize("name", SETTINGS)
def test_the_model_has_the_bytes_of_a_fit_in_one_process(client, name):
    kind, target, params, arguments = SETTINGS[name]
    frame, valid = cut(FRAME, [50, 50, 180]), cut(VALID, [30])
    given = {key: (frame[own], FRAME[own]) for key, own in COLUMNS.items()}
    given |= {
        "X_val": (valid[FEATURES], VALID[FEATURES]),
        "y_val": (valid[target], VALID[target]),
        "sample_weight_val": (valid["weight"], VALID.weight),
        # in memory for both
        "eval_set": ([(FRAME[FEATURES][:40], FRAME[target][:40])],) * 2,
    }
    fit = {key: given[key][0] for key in arguments}
    plain_fit = {key: given[key][1] for key in arguments}
    own = (frame[FEATURES], frame[target], FRAME[FEATURES], FRAME[target])
    model, plain = fit_both(kind, params, *own, fit, plain_fit)
    assert model.history_.keys() == plain.history_.keys()
    for key, values in model.history_.items():
        np.testing.assert_array_equal(values, plain.history_[key])


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    ends=st.lists(st.integers(0, N_ROWS), max_size=6).map(sorted),
    is_array=st.booleans(),
    only=st.integers(0, N_ROWS - 1),
)
def test_the_model_does_not_depend_on_partitions(client, ends, is_array, only):
    """A category, and a missing value, may be in one partition only."""
    frame = FRAME.assign(label=FRAME.label == "yes", b=FRAME.b.fillna(0.5))
    frame.loc[only, "color"] = "violet"
    frame.loc[only, "a"] = np.nan
    if is_array:
        frame["color"] = frame.color.str.len().astype(np.float32)
        chunks = np.diff([0, *ends, N_ROWS])
        values = frame[FEATURES].to_numpy(np.float32)
        X = da.from_array(values, chunks=(tuple(chunks), 2))
        y = da.from_array(frame.label.to_numpy(), chunks=(tuple(chunks),))
        own = (X, y, values, frame.label)
    else:
        cut_frame = cut(frame, ends)
        own = (cut_frame[FEATURES], cut_frame["label"], frame[FEATURES], frame.label)
    params = {"min_samples_leaf": 2, "sampler": Subsample(0.7)}
    fit_both(GradientBoostingClassifier, params, *own, {}, {})


def test_predictions_are_lazy_for_collections(client):
    frame = cut(FRAME, [100, 100])
    model = GradientBoostingClassifier(n_estimators=3).fit(frame[[*FEATURES, "label"]], "label")
    plain = model.to_local()
    X, rows = frame[FEATURES], FRAME[FEATURES]
    predicted = model.predict(X)
    assert isinstance(predicted, dd.Series)
    np.testing.assert_array_equal(predicted.compute(), plain.predict(rows))
    shares = model.predict_proba(X)
    assert list(shares.columns) == ["no", "yes"]
    np.testing.assert_array_equal(shares.compute(), plain.predict_proba(rows))
    log_odds = model.decision_function(X, rounds=2)
    np.testing.assert_array_equal(log_odds.compute(), plain.decision_function(rows, rounds=2))
    np.testing.assert_array_equal(
        model.predict_log_proba(X).compute(), plain.predict_log_proba(rows)
    )
    # In memory, predictions are there at once.
    np.testing.assert_array_equal(model.predict(rows), plain.predict(rows))
    with pytest.raises(DataError, match="pass a Dask DataFrame or a Dask Array"):
        model.predict(X["a"])


def test_predictions_of_arrays_have_known_shapes(client):
    X = da.from_array(FRAME[["a", "b"]].to_numpy(), chunks=(70, 1))
    y = da.from_array(FRAME[["amount", "more"]].to_numpy(), chunks=(70, 1))
    params = {"n_estimators": 3, "loss": "squared_error"}
    model = GradientBoostingRegressor(**params).fit(X, y)
    lazy = model.predict(X)
    assert lazy.shape == (N_ROWS, 2)
    np.testing.assert_array_equal(lazy.compute(), model.to_local().predict(X.compute()))
    model = GradientBoostingRegressor(loss="poisson", n_estimators=3).fit(X, abs(y[:, 0]))
    lazy = model.predict(X, raw=True)
    assert (lazy.shape, lazy.dtype) == ((N_ROWS,), float)
    np.testing.assert_array_equal(lazy.compute(), model.to_local().predict(X.compute(), raw=True))


@pytest.mark.parametrize(
    ("kind", "target", "params"),
    [
        (GradientBoostingClassifier, "label", {}),
        (GradientBoostingRegressor, "amount", {}),
        (GradientBoostingRegressor, ["amount", "more"], {}),
        (GradientBoostingRegressor, "amount", {"loss": Quantile([0.2, 0.8])}),
    ],
)
def test_scores_are_those_of_all_rows(client, kind, target, params):
    frame = cut(FRAME, [0, 100])
    model = kind(n_estimators=3, **params).fit(frame[FEATURES], frame[target])
    plain, rows = model.to_local(), FRAME[FEATURES]
    expected = plain.score(rows, FRAME[target], FRAME.weight)
    found = model.score(frame[FEATURES], frame[target], frame["weight"])
    assert found == pytest.approx(expected, rel=1e-12)
    assert model.score(frame[FEATURES], frame[target]) == pytest.approx(
        plain.score(rows, FRAME[target]), rel=1e-12
    )
    assert model.score(rows, FRAME[target]) == plain.score(rows, FRAME[target])


def test_a_fit_continues_a_model(client, tmp_path):
    frame = cut(FRAME, [120])
    X, y = frame[FEATURES], frame["label"]
    params = {"random_state": 4, "sampler": "subsample"}
    whole = sumwise.GradientBoostingClassifier(n_estimators=6, **params)
    whole.fit(FRAME[FEATURES], FRAME.label)
    half = GradientBoostingClassifier(n_estimators=3, warm_start=True, **params).fit(X, y)
    half.save(tmp_path / "half")
    more = GradientBoostingClassifier(n_estimators=6, **params)
    for start in (half, half.to_local(), tmp_path / "half"):
        assert save(more.fit(X, y, init_model=start)) == save(whole)
    half.set_params(n_estimators=6).fit(X, y)
    assert save(half) == save(whole)


def test_a_generator_of_random_numbers_goes_on(client):
    X, y = da.ones((60, 1), chunks=20).cumsum(axis=0), da.arange(60.0, chunks=20)
    found = []
    for kind, data in (
        (GradientBoostingRegressor, (X, y)),
        (sumwise.GradientBoostingRegressor, (X.compute(), y.compute())),
    ):
        model = kind(
            n_estimators=2,
            min_samples_leaf=2,
            sampler="subsample",
            random_state=np.random.RandomState(3),
        )
        found.append([save(model.fit(*data)) for _ in range(2)])
    assert found[0] == found[1]
    assert found[0][0] != found[0][1]


class StopAt:
    def __init__(self, n_rounds):
        self.n_rounds = n_rounds

    def __call__(self, state):
        get_worker()  # or it is called in another place
        return state.round_number == self.n_rounds


def test_callbacks_are_called_on_a_worker(client):
    frame = cut(FRAME, [120])
    model = GradientBoostingRegressor(callbacks=[StopAt(3)], n_jobs=4)
    model.fit(frame[FEATURES], frame["amount"])
    assert model.best_iteration_ == 3
    assert model.to_local().n_jobs == 4


# --- scikit-learn ---


def test_parameters_are_those_of_the_plain_estimator():
    for kind, plain in PLAIN.items():
        assert kind().get_params(deep=False) == {**plain().get_params(deep=False), **OWN}
    model = GradientBoostingClassifier(sampler=Subsample(0.5), silence=3)
    assert repr(model) == "GradientBoostingClassifier(sampler=Subsample(rate=0.5), silence=3)"
    model.set_params(sampler__rate=0.25, l2=2.0, parallel="voting")
    assert (model.sampler.rate, model.l2, model.parallel) == (0.25, 2.0, "voting")
    assert is_classifier(model)
    assert is_regressor(GradientBoostingRegressor())
    with pytest.raises(UnknownParameterError, match="did you mean 'silence'"):
        GradientBoostingClassifier(silense=3)
    with pytest.raises(UnknownParameterError, match="did you mean 'max_depth'"):
        model.set_params(max_depht=3)
    with pytest.raises(NotFittedError):
        model.to_local()
    with pytest.raises(AttributeError, match="has no attribute 'classes_'"):
        _ = model.classes_


def test_clones_share_the_client_and_pickles_have_none(client):
    X = da.ones((20, 1), chunks=10).cumsum(axis=0)
    model = GradientBoostingRegressor(client=client, n_estimators=2, min_samples_leaf=2)
    model.fit(X, X[:, 0])
    with sklearn.config_context(enable_metadata_routing=True):
        model.set_fit_request(sample_weight=True)
    again = clone(model)
    assert again.get_metadata_routing().fit.requests["sample_weight"] is True
    assert again.client is client
    assert not hasattr(again, "ensemble_")
    known = pickle.loads(pickle.dumps(model))
    assert known.client is None
    assert save(known) == save(model)
    assert isinstance(sumwise.load(save(model)), sumwise.GradientBoostingRegressor)
    assert known.n_features_in_ == 1
    assert list(known.feature_importances_) == [1.0]


BAD = {
    "memory": (FRAME[FEATURES], FRAME.label, {}, {}, DataError, "pass a Dask DataFrame"),
    "parallel": (None, None, {"parallel": "all"}, {}, ParameterError, "data, voting"),
    "top_k": (None, None, {"top_k": 0}, {}, ParameterError, "top_k=0 must be"),
    "silence": (None, None, {"silence": 0}, {}, ParameterError, "above 0"),
    "parameter": (None, None, {"splits": "exact"}, {}, ParameterError, "several processes"),
    "y_val": (None, None, {}, {"y_val": 1}, DataError, "belongs to X_val"),
    "names": (None, None, {}, {"eval_names": ["a"]}, DataError, "1 entries for 0 sets"),
    "values": (None, "labels", {}, {}, DataError, "no such column"),
}


@pytest.mark.parametrize("name", BAD)
def test_errors_that_need_no_cluster(name):
    X, y, params, fit, kind, message = BAD[name]
    frame = dd.from_pandas(FRAME, npartitions=2)
    X = frame[[*FEATURES, "label"]] if X is None else X
    with pytest.raises(kind, match=message):
        GradientBoostingClassifier(**params).fit(X, "label" if y is None else y, **fit)


def test_errors_of_data_are_raised_as_they_are(client):
    frame = cut(FRAME.assign(bad=FRAME.amount.where(FRAME.index != 200)), [120])
    model = GradientBoostingRegressor(n_estimators=2)
    model.fit(frame[FEATURES], frame["amount"])
    with pytest.raises(DataError, match=r"y of partition 1"):
        model.fit(frame[FEATURES], frame["bad"])
    assert not hasattr(model, "ensemble_")
    short = cut(FRAME[:200], [120])
    with pytest.raises(DataError, match="partition 1 has 180 rows in X, and 80 in y"):
        model.fit(frame[FEATURES], short["amount"])
    one = frame.map_partitions(lambda part: part.assign(b=1 / int(len(part) != 180)))
    with pytest.raises(ZeroDivisionError):
        model.fit(one[FEATURES], one["amount"])
