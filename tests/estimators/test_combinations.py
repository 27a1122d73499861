"""Parts of the library in combination: every two choices meet in some case."""

import pickle
from itertools import combinations, product

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sumwise import (
    Columns,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    Native,
    Quantile,
    Subsample,
    load,
)
from sumwise.errors import DataError, ParameterError

N_ROWS, N_TRAIN = 700, 560
WORDS = ["city", "kind", "flag"]
LOOSE = Native(smoothing=0.0, l2=0.5, min_rows=2)


def make_frame():
    """Numbers with gaps; a wide, a narrow and a one-hot column of words; and a rough signal."""
    rng = np.random.default_rng(0)
    size, count = rng.normal(size=N_ROWS).round(2), rng.integers(0, 9, N_ROWS)
    city = rng.permutation(np.arange(N_ROWS) % 300)
    kind, flag = rng.integers(0, 12, N_ROWS), rng.integers(0, 3, N_ROWS)
    effects = rng.normal(size=300)
    signal = np.sin(4 * size) + size + 0.2 * count + effects[city] + effects[kind] * (flag == 1)
    signal += 0.3 * rng.normal(size=N_ROWS)
    frame = pd.DataFrame({"size": size, "city": city, "count": count, "kind": kind, "flag": flag})
    for name in WORDS:
        frame[name] = [f"{name} {value}" for value in frame[name]]
    frame["kind"] = frame["kind"].astype("category")
    frame.loc[rng.random(N_ROWS) < 0.1, "size"] = np.nan
    frame.loc[rng.random(N_ROWS) < 0.1, "flag"] = None
    return frame, signal


def code_words(frame):
    """The same with numbers for words."""
    codes = {}
    for name in WORDS:
        values = pd.factorize(frame[name], sort=True)[0].astype(float)
        codes[name] = np.where(values < 0, np.nan, values)
    return frame.assign(**codes)


FRAME, SIGNAL = make_frame()
CODED = code_words(FRAME)
LOW, HIGH = np.quantile(SIGNAL, [0.3, 0.7])
START = 0.1 * np.random.default_rng(1).normal(size=(N_ROWS, 3))
WEIGHT = np.random.default_rng(2).choice([0.0, 0.5, 1.0, 2.0], N_ROWS)

TARGETS = {
    "squared": (GradientBoostingRegressor, {}, SIGNAL),
    "absolute": (GradientBoostingRegressor, {"loss": "absolute_error"}, SIGNAL),
    "quantile": (GradientBoostingRegressor, {"loss": Quantile(0.8)}, SIGNAL),
    "poisson": (GradientBoostingRegressor, {"loss": "poisson"}, np.exp(0.4 * SIGNAL).round()),
    "logistic": (GradientBoostingClassifier, {}, np.where(SIGNAL > 1, "yes", "no")),
    "multinomial": (GradientBoostingClassifier, {}, np.digitize(SIGNAL, [LOW, HIGH])),
}
CHOICES = {
    "target": list(TARGETS),
    "growth": ["leaf", "depth", "symmetric"],
    "categories": ["words", "listed", "none"],
    "monotone": [False, True],
    "interaction": [None, "pairwise", [["size", "city"], ["count", "kind", "flag"]]],
    "sampler": [None, Subsample(0.6)],
    "columns": [None, Columns(by_tree=0.8, by_node=0.7)],
    "validation": ["no", "held out", "held out, scored", "given", "given, scored"],
    "weighted": [False, True],
    "started": [False, True],
}


# Refused: see the end of this file.
ILLEGAL = (("target", "multinomial"), ("monotone", "True"))


def list_pairs(case):
    return set(combinations([(name, str(value)) for name, value in case.items()], 2))


def list_legal_pairs():
    pairs = set()
    for (a, of_a), (b, of_b) in combinations(CHOICES.items(), 2):
        pairs |= {((a, str(i)), (b, str(j))) for i, j in product(of_a, of_b)}
    return pairs - {ILLEGAL}


def cover_pairs():
    """Return few cases in which all choices meet that may."""
    rng = np.random.default_rng(0)
    wanted, cases = list_legal_pairs(), []

    def draw():
        return {name: values[rng.integers(len(values))] for name, values in CHOICES.items()}

    while wanted:
        drawn = [case for case in (draw() for _ in range(60)) if ILLEGAL not in list_pairs(case)]
        best = max(drawn, key=lambda case: len(wanted & list_pairs(case)))
        if wanted & list_pairs(best):
            cases.append(best)
            wanted -= list_pairs(best)
    return cases


class Fit:
    """The estimator of a case, and what its ``fit`` gets."""

    def __init__(self, case):
        self.kind, loss, y = TARGETS[case["target"]]
        self.is_classifier = self.kind is GradientBoostingClassifier
        self.frame = FRAME if case["categories"] == "words" else CODED
        self.is_monotone = case["monotone"]
        chosen = {"words": "auto", "listed": WORDS, "none": None}
        self.params = {
            **loss,
            "growth": case["growth"],
            "n_estimators": 6,
            "learning_rate": 0.4,
            "min_samples_leaf": 3,
            "categorical_features": chosen[case["categories"]],
            "categorical_encoding": LOOSE,
            "monotonic_cst": {"size": 1, "count": -1} if self.is_monotone else None,
            "interaction_cst": case["interaction"],
            "sampler": case["sampler"],
            "columns": case["columns"],
            "early_stopping": case["validation"] != "no",
            "n_iter_no_change": 3,
            "random_state": 0,
        }
        train, valid = slice(0, N_TRAIN), slice(N_TRAIN, None)
        self.data = {"X": self.frame[train], "y": y[train]}
        if case["validation"].endswith("scored"):
            names = {"logistic": "roc_auc", "multinomial": "roc_auc_ovr"}
            self.params["scoring"] = names.get(case["target"], "r2")
        start = START if case["target"] == "multinomial" else START[:, 0]
        if case["started"]:
            self.data["init_score"] = start[train]
        if case["validation"].startswith("given"):
            self.data.update(X_val=self.frame[valid], y_val=y[valid])
            if case["started"]:
                self.data["init_score_val"] = start[valid]
        if case["weighted"] and self.is_classifier:
            self.params["class_weight"] = "balanced"
        elif case["weighted"]:
            self.data["sample_weight"] = WEIGHT[train]

    def make(self, **params):
        return self.kind(**{**self.params, **params})

    def run(self, model=None, **data):
        return (self.make() if model is None else model).fit(**self.data, **data)

    def predict(self, model, X):
        return model.predict_proba(X) if self.is_classifier else model.predict(X)


CASES = cover_pairs()


@pytest.fixture(params=CASES, ids=lambda case: "-".join(map(str, case.values())))
def case(request):
    return Fit(request.param)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_predictions_of_any_form(case, tmp_path):
    model = case.run()
    expected = case.predict(model, case.frame)
    objects = case.frame.astype(object).to_numpy()
    assert np.array_equal(case.predict(model, objects), expected)
    one_by_one = [case.predict(model, case.frame[i : i + 1]) for i in range(0, N_ROWS, 70)]
    assert np.array_equal(np.concatenate(one_by_one), expected[::70])
    model.save(tmp_path / "model")
    for again in (load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert np.array_equal(case.predict(again, case.frame), expected)
    assert np.array_equal(case.predict(case.run(clone(model)), case.frame), expected)
    if case.is_monotone:
        assert_monotone(case, model)


def assert_monotone(case, model):
    """Not even the last bit is out of order."""
    backgrounds = case.frame[::20]
    values = {"size": np.linspace(-4, 4, 60), "count": np.arange(-1, 11, 0.5)}
    for name, direction in (("size", 1), ("count", -1)):
        n_values = values[name].size
        grid = backgrounds.loc[backgrounds.index.repeat(n_values)]
        grid = grid.assign(**{name: np.tile(values[name], len(backgrounds))})
        predicted = case.predict(model, grid)
        second = predicted[:, 1] if case.is_classifier else predicted
        steps = np.diff(second.reshape(-1, n_values), axis=1)
        assert (direction * steps >= 0).all()


def test_threads_change_nothing(case, bytes_of, monkeypatch):
    monkeypatch.setattr("sumwise.estimators.input.jobs.count_cpus", lambda: 3)
    monkeypatch.setattr("sumwise.estimators.input.jobs.STEPS_PER_THREAD", 1)
    monkeypatch.setattr("sumwise.estimators.input.jobs.count_growers", lambda n_values: 99)
    models = [case.run(case.make(n_jobs=n_jobs)) for n_jobs in (1, 3)]
    assert bytes_of(models[0]) == bytes_of(models[1])


def test_continued_is_the_same_as_one_fit(case, tmp_path, bytes_of):
    whole = case.run()
    model = case.run(case.make(n_estimators=2, warm_start=True))
    model.save(tmp_path / "start")
    for start in (model, tmp_path / "start"):
        assert bytes_of(case.run(init_model=start)) == bytes_of(whole)
    assert bytes_of(case.run(model.set_params(n_estimators=6))) == bytes_of(whole)


def test_what_cannot_be_combined():
    multiclass = Fit({**CASES[0], "target": "multinomial", "monotone": True})
    with pytest.raises(ParameterError, match=r"monotonic_cst is for two classes.*; y has 3"):
        multiclass.run()
    one = Fit({**CASES[0], "target": "squared", "categories": "words"})
    with pytest.raises(ParameterError, match=r"constrains feature 3, which is categorical"):
        one.run(one.make(monotonic_cst={"kind": 1}))


# Frames with categories


UNUSED = pd.CategoricalDtype(["unused", *sorted(set(FRAME["city"]), reverse=True)])
FRAMES = {
    "pandas": FRAME,
    "pandas, unused categories": FRAME.astype({"city": UNUSED}),
    "polars": pl.from_pandas(FRAME),
    "polars, lazy": pl.from_pandas(FRAME).lazy(),
    "Arrow": pa.Table.from_pandas(FRAME),
    "objects": FRAME.astype(object).to_numpy(),
    "lists": FRAME.astype(object).to_numpy().tolist(),
}


def fit(X=FRAME, y=SIGNAL, params=(), **data):
    model = GradientBoostingRegressor(
        **{"n_estimators": 4, "min_samples_leaf": 3, "categorical_encoding": LOOSE, **dict(params)}
    )
    return model.fit(X, y, **data)


@pytest.mark.filterwarnings("ignore:X (has|does not have) .*feature names")
@pytest.mark.parametrize("name", FRAMES)
def test_any_frame_gives_the_same_model(name, bytes_of):
    expected, model = fit(), fit(FRAMES[name])
    assert expected.ensemble_.set_node.size > 4
    assert np.array_equal(model.predict(FRAMES["Arrow"]), expected.predict(FRAME))
    assert np.array_equal(expected.predict(FRAMES[name]), expected.predict(FRAME))
    if not hasattr(model, "feature_names_in_"):
        del expected.feature_names_in_
    assert bytes_of(model) == bytes_of(expected)


@pytest.mark.parametrize("name", FRAMES)
@pytest.mark.parametrize("scoring", ["r2", lambda model, X, y: model.score(X, y)])
def test_scorers_of_any_frame(name, scoring):
    """Rows are held out of what the user passed; the scorer gets them as it was."""
    params = {"early_stopping": True, "random_state": 0}
    expected = fit(FRAME, params=params)
    model = fit(FRAMES[name], params={**params, "scoring": scoring})
    losses = expected.history_["validation_loss"]
    assert np.array_equal(model.history_["validation_loss"], losses)
    scores = model.history_["validation_score"]
    assert np.array_equal(np.argsort(scores), np.argsort(-losses))


def test_scorers_get_frames():
    seen = []

    def score(model, X, y):
        seen.append(X)
        return model.score(X, y)

    params = {"early_stopping": True, "scoring": score}
    for X in (FRAME, FRAMES["polars"], FRAMES["Arrow"], FRAMES["objects"]):
        fit(X, params=params)
        assert type(seen[-1]) is type(X)
        fit(X, params=params, X_val=X[:50], y_val=SIGNAL[:50])
        assert type(seen[-1]) is type(X)


def test_unknown_categories_are_missing(bytes_of):
    seen = FRAME["city"].isin(FRAME["city"][:300])
    other = FRAME.assign(city=FRAME["city"].where(seen, None))
    assert (~seen[300:]).any()
    model = fit(FRAME[:300], SIGNAL[:300])
    assert np.array_equal(model.predict(FRAME), model.predict(other))
    fits = [
        fit(FRAME[:300], SIGNAL[:300], X_val=X[300:], y_val=SIGNAL[300:]) for X in (FRAME, other)
    ]
    assert bytes_of(fits[0]) == bytes_of(fits[1])
    # So are those of new rows to learn from.
    more = {"n_estimators": 8}
    fits = [fit(X[300:], SIGNAL[300:], more, init_model=model) for X in (FRAME, other)]
    assert bytes_of(fits[0]) == bytes_of(fits[1])
    with pytest.raises(DataError, match="column 'city' has categories that were not in"):
        fit(FRAME[300:], SIGNAL[300:], {**more, "unknown_category": "error"}, init_model=model)


def test_grid_search_over_the_encoding():
    model = GradientBoostingRegressor(n_estimators=4, categorical_encoding=LOOSE)
    grid = {"categorical_encoding__smoothing": [0.0, 1e6], "growth": ["leaf", "symmetric"]}
    search = GridSearchCV(model, grid, cv=2, error_score="raise").fit(FRAME, SIGNAL)
    assert np.unique(search.cv_results_["mean_test_score"]).size > 1
    assert LOOSE.smoothing == 0.0


def test_columns_of_a_pipeline():
    steps = ColumnTransformer(
        [("scaled", StandardScaler(), ["size", "count"])],
        remainder="passthrough",
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    model = GradientBoostingRegressor(
        n_estimators=4, categorical_encoding=LOOSE, monotonic_cst={"size": 1, "count": -1}
    )
    pipeline = make_pipeline(steps, model).fit(FRAME, SIGNAL)
    assert model.feature_names_in_.tolist() == ["size", "count", "city", "kind", "flag"]
    assert model.schema_.n_categories.tolist() == [0, 0, 300, 12, 3]
    assert cross_val_score(pipeline, FRAME, SIGNAL, cv=3).min() > 0
