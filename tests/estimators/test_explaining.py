"""``explain`` of every estimator: sums, Shapley values by brute force, names, errors."""

from itertools import combinations
from math import factorial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_matrix
from sklearn.ensemble import RandomForestClassifier as OtherForestClassifier
from sklearn.ensemble import RandomForestRegressor as OtherForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.tree import DecisionTreeClassifier as OtherTree

from sumwise import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    AveragingRegressor,
    BaggingClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    TargetStatistics,
    VotingClassifier,
    from_sklearn,
    load,
)
from sumwise.errors import DataError, ExplanationError
from tests.estimators.explained_models import (
    BACKGROUND,
    COUNT,
    FORESTS,
    MEMBERS,
    MODELS,
    N_ROWS,
    NEW,
    NUMBER,
    NUMERIC,
    RNG,
    SMALL,
    THREE,
    TREE,
    TWO,
    Fitted,
    X,
    boost,
    second,
)


@pytest.fixture(scope="module")
def fitted():
    return Fitted()


def make_game(score, rows, background):
    """Return the mean score if some features are known; others are those of the background."""
    n_rows = len(rows)
    repeated = rows.loc[rows.index.repeat(len(background))].reset_index(drop=True)
    tiled = pd.concat([background] * n_rows, ignore_index=True)

    def value(known):
        mixed = tiled.copy()
        for name in known:
            mixed[name] = repeated[name]
        found = score(mixed)
        return found.reshape(n_rows, len(background), -1).mean(axis=1)

    return value


def count_shapley(score, rows, background):
    """Shapley values by their definition."""
    n_rows, n_features = rows.shape
    value = make_game(score, rows, background)
    total = np.zeros((n_rows, n_features, value([]).shape[1]))
    for k, name in enumerate(rows.columns):
        others = [other for other in rows.columns if other != name]
        for size in range(n_features):
            weight = factorial(size) * factorial(n_features - size - 1) / factorial(n_features)
            for known in combinations(others, size):
                total[:, k] += weight * (value([*known, name]) - value(known))
    return total, value([])[0]


@pytest.mark.parametrize("name", MODELS)
def test_contributions_add_up_to_the_score(fitted, name):
    _, _, score, scale = MODELS[name]
    explanation = fitted[name].explain(X)
    np.testing.assert_allclose(explanation.outputs, score(fitted[name], X), rtol=0, atol=1e-9)
    assert explanation.feature_names == ("age", "size", "city")
    assert explanation.scale == scale
    assert (explanation.data[:, 2] == X["city"]).all()
    assert np.ptp(explanation.base_values, axis=0).max() == 0


@pytest.mark.parametrize("name", MODELS)
def test_contributions_are_shapley_values(fitted, name):
    """With a background there is a definition that needs predictions only."""
    score, rows, background = MODELS[name][2], X[NEW], X[BACKGROUND]
    explanation = fitted[name].explain(rows, background=background)
    values, base = count_shapley(lambda own: score(fitted[name], own), rows, background)
    np.testing.assert_allclose(explanation.values.reshape(values.shape), values, rtol=0, atol=1e-9)
    np.testing.assert_allclose(explanation.base_values[0], base.squeeze(), rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", MODELS)
def test_interactions_add_up_to_contributions(fitted, name):
    explanation = fitted[name].explain(X[:20], interactions=True)
    pairs = explanation.interactions
    assert pairs.shape == (20, 3, *explanation.shape[1:])
    np.testing.assert_allclose(pairs.sum(axis=2), explanation.values, rtol=0, atol=1e-9)
    np.testing.assert_allclose(pairs, np.swapaxes(pairs, 1, 2), rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", ["boosting, three classes", "forest, two classes", "average"])
def test_interactions_with_a_background(fitted, name):
    """Of three features, by the definition: half the effect of a pair beyond those of each."""
    score, rows, background = MODELS[name][2], X[NEW], X[BACKGROUND]
    explanation = fitted[name].explain(rows, background=background, interactions=True)
    value = make_game(lambda own: score(fitted[name], own), rows, background)
    names = list(rows.columns)
    for i, j, k in [(0, 1, 2), (0, 2, 1), (1, 2, 0)]:
        total = 0.0
        for rest in ([], [names[k]]):
            both = value([*rest, names[i], names[j]]) - value([*rest, names[i]])
            total += (both - value([*rest, names[j]]) + value(rest)) / 4
        found = explanation.interactions[:, i, j]
        np.testing.assert_allclose(found, total.reshape(found.shape), rtol=0, atol=1e-9)
    only = fitted[name].explain(rows, background=background)
    np.testing.assert_allclose(explanation.values, only.values, rtol=0, atol=1e-9)


def test_names_of_outputs(fitted):
    def name(model):
        return fitted[model].explain(X[:2]).output_names

    assert name("boosting") is None
    assert name("boosting, two classes") == "yes"
    assert name("forest, two classes") == "yes"
    assert name("forest, one class") == "yes"
    assert name("boosting, three classes") == ("low", "mid", "top")
    assert name("boosting, two targets") == ("output 0", "output 1")
    assert name("boosting, quantiles") == ("quantile 0.2", "quantile 0.8")
    assert name("forest, several labels") == ("0: no", "0: yes", "1: low", "1: mid", "1: top")


def test_a_mean_of_explanations_explains_the_mean(fitted):
    average = fitted["average"]
    parts = [m.explain(X) * w for m, w in zip(average.estimators_, average.weights_, strict=True)]
    np.testing.assert_allclose(sum(parts).values, average.explain(X).values, atol=1e-12)


# --- boosting ---


def test_explaining_some_rounds(fitted):
    model = fitted["boosting"]
    for rounds in (2, (1, 4), slice(-2, None)):
        explanation = model.explain(X, rounds=rounds)
        np.testing.assert_allclose(explanation.outputs, model.predict(X, rounds), atol=1e-9)
    with pytest.raises(ValueError, match="rounds"):
        model.explain(X, rounds=99)


def test_a_linear_model():
    model = GradientBoostingRegressor(booster="linear", n_estimators=5).fit(NUMERIC, NUMBER)
    explanation = model.explain(NUMERIC)
    np.testing.assert_allclose(explanation.outputs, model.predict(NUMERIC), atol=1e-9)
    np.testing.assert_allclose(explanation.values, NUMERIC.fillna(0) * model.coef_, atol=1e-9)
    rows, background = NUMERIC[NEW], NUMERIC[BACKGROUND]
    explanation = model.explain(rows, background=background)
    values, _ = count_shapley(model.predict, rows, background)
    np.testing.assert_allclose(explanation.values, values[..., 0], atol=1e-9)


@pytest.mark.parametrize("is_number", [True, False], ids=["numbers", "classes"])
@pytest.mark.parametrize("combinations", [0, 5])
def test_statistics_of_categories_belong_to_their_features(is_number, combinations):
    rows = pd.concat([X] * 6, ignore_index=True)
    rows["side"] = RNG.choice(["left", "right"], len(rows))
    is_odd = (rows["side"] == "left") != rows["city"].isin(["Bern", "Thun"])
    kind = GradientBoostingRegressor if is_number else GradientBoostingClassifier
    target = is_odd + 0.1 * rows["size"] if is_number else is_odd * 1 + (rows["size"] > 0)
    encoding = TargetStatistics(combinations=combinations, native_limit=0)
    model = kind(**SMALL, categorical_encoding=encoding, random_state=0).fit(rows, target)
    has_pairs = any(len(column.features) > 1 for column in model._encoder.columns)
    assert has_pairs == (combinations > 0)
    explanation = model.explain(rows, interactions=True)
    assert explanation.feature_names == ("age", "size", "city", "side")
    score = model.predict(rows) if is_number else model.decision_function(rows)
    np.testing.assert_allclose(explanation.outputs, score, atol=1e-9)
    np.testing.assert_allclose(
        explanation.interactions.sum(axis=2), explanation.values, rtol=0, atol=1e-9
    )
    assert np.abs(explanation[:, "city"].values).max() > 0


def test_trees_of_vectors():
    y = np.column_stack([NUMBER, -(NUMBER**2)])
    model = GradientBoostingRegressor(**SMALL, multi_strategy="multi_output_tree").fit(NUMERIC, y)
    explanation = model.explain(NUMERIC)
    np.testing.assert_allclose(explanation.outputs, model.predict(NUMERIC), atol=1e-9)
    rows, background = NUMERIC[NEW], NUMERIC[BACKGROUND]
    values, _ = count_shapley(model.predict, rows, background)
    np.testing.assert_allclose(
        model.explain(rows, background=background).values, values, rtol=0, atol=1e-9
    )


def test_the_statistic_of_one_feature_is_that_feature():
    model = GradientBoostingRegressor(
        **SMALL, categorical_encoding=TargetStatistics(combinations=0, counts=False), random_state=0
    ).fit(X, NUMBER)
    assert len(model._encoder.columns) == 3
    rows, background = X[NEW].copy(), X[BACKGROUND]
    rows.iloc[0, 2] = "Genf"  # unknown
    values, _ = count_shapley(model.predict, rows, background)
    explanation = model.explain(rows, background=background)
    np.testing.assert_allclose(explanation.values, values[..., 0], atol=1e-9)
    assert explanation.data[0, 2] == "Genf"


def test_any_container_has_the_same_explanation(fitted):
    model = fitted["boosting"]
    expected = model.explain(X)
    frame = pl.from_pandas(X)
    for rows in (frame, frame.lazy(), frame.to_arrow()):
        explanation = model.explain(rows, background=None)
        np.testing.assert_array_equal(explanation.values, expected.values)
        assert explanation.data[5, 2] == X["city"][5]
    objects = X.to_numpy()
    unnamed = boost(GradientBoostingRegressor).fit(objects, NUMBER)
    explanation = unnamed.explain(objects)
    np.testing.assert_array_equal(explanation.values, expected.values)
    assert explanation.feature_names == ("x0", "x1", "x2")


def test_sparse_rows():
    dense = np.where(RNG.random((60, 5)) < 0.5, RNG.normal(size=(60, 5)), 0.0)
    y = dense[:, 0] - dense[:, 1]
    model = GradientBoostingRegressor(**SMALL).fit(csr_matrix(dense), y)
    expected = model.explain(dense)
    explanation = model.explain(csr_matrix(dense), background=csr_matrix(dense[:5]))
    np.testing.assert_array_equal(explanation.data, dense)
    np.testing.assert_allclose(explanation.outputs, expected.outputs, atol=1e-9)
    forest = RandomForestRegressor(3, max_depth=3, random_state=0).fit(csr_matrix(dense), y)
    np.testing.assert_allclose(
        forest.explain(csr_matrix(dense)).values, forest.explain(dense).values, atol=1e-12
    )
    missing = GradientBoostingRegressor(**SMALL, sparse_zeros="missing").fit(csr_matrix(dense), y)
    explanation = missing.explain(csr_matrix(dense))
    assert np.isnan(explanation.data[dense == 0]).all()
    np.testing.assert_allclose(explanation.outputs, missing.predict(csr_matrix(dense)), atol=1e-9)


def test_further_columns_are_left_out():
    model = boost(GradientBoostingRegressor, extra_columns="ignore").fit(X, NUMBER)
    explanation = model.explain(X.assign(more=1.0)[["more", *X.columns]])
    np.testing.assert_array_equal(explanation.values, model.explain(X).values)
    assert explanation.data.shape == (N_ROWS, 3)


def test_dates_are_shown_as_dates():
    rows = X.assign(day=pd.date_range("2020-01-01", periods=N_ROWS))
    with pytest.warns(UserWarning, match="dates"):
        model = boost(GradientBoostingRegressor).fit(rows, np.arange(N_ROWS))
    explanation = model.explain(rows)
    assert "day = 2020-01-01" in repr(explanation[0])
    assert explanation.to_numbers()[1, 3] - explanation.to_numbers()[0, 3] == 86400


def test_a_loaded_model_explains_the_same(fitted, tmp_path):
    for name in ("boosting, three classes", "forest, two classes"):
        fitted[name].save(tmp_path / "model.sumwise")
        again = load(tmp_path / "model.sumwise")
        np.testing.assert_array_equal(again.explain(X).values, fitted[name].explain(X).values)


# --- members ---


def test_prefit_members_have_their_own_labels():
    first = RandomForestClassifier(3, max_depth=2, random_state=0).fit(X, TWO)
    rest = THREE != "low"
    second_model = RandomForestClassifier(3, max_depth=2, random_state=0).fit(X[rest], THREE[rest])
    labels = np.where(NUMBER > 1.5, "yes", "no")
    vote = VotingClassifier(
        [FrozenEstimator(first), FrozenEstimator(second_model)], votes="soft"
    ).fit(X, labels)
    explanation = vote.explain(X)
    np.testing.assert_allclose(explanation.outputs, vote.predict_proba(X), atol=1e-9)
    assert explanation.output_names == ("mid", "no", "top", "yes")


def test_members_without_weight_need_no_explanation():
    members = [*MEMBERS, LinearRegression()]
    model = AveragingRegressor(members, weights=[1, 1, 1, 0]).fit(NUMERIC.fillna(0), NUMBER)
    rows = NUMERIC.fillna(0)
    np.testing.assert_allclose(model.explain(rows).outputs, model.predict(rows), atol=1e-9)


@pytest.mark.parametrize(
    ("model", "target", "message"),
    [
        (AveragingRegressor([("line", LinearRegression())]), NUMBER, r"member 'line' \(LinearReg"),
        (
            AveragingRegressor([("rate", GradientBoostingRegressor(**SMALL, loss="poisson"))]),
            COUNT,
            "member 'rate'.*its logarithm of the prediction, and the ensemble averages predictions",
        ),
        (
            VotingClassifier([("odds", GradientBoostingClassifier(**SMALL))], votes="soft"),
            TWO,
            "member 'odds'.*its log odds, and the ensemble averages probabilities",
        ),
        (
            VotingClassifier([("forest", FORESTS[0])], votes="hard"),
            TWO,
            "member 'forest'.*votes with labels.*votes='soft'",
        ),
        (
            VotingClassifier([("tree", TREE), ("line", LogisticRegression())], calibrate="sigmoid"),
            TWO,
            r"member 'tree' \(CalibratedClassifierCV\)",
        ),
        (BaggingClassifier(OtherTree(), n_estimators=2), TWO, r"member 0 \(DecisionTreeClass"),
        (
            BaggingClassifier(GradientBoostingClassifier(**SMALL), n_estimators=2),
            TWO,
            "member 0.*log odds",
        ),
        (AdaBoostClassifier(OtherTree(max_depth=1), n_estimators=2), TWO, "learner 0.*sumwise"),
        (AdaBoostRegressor(n_estimators=2), NUMBER, "weighted median"),
        (GradientBoostingRegressor(**SMALL, leaves="linear"), NUMBER, "linear models"),
    ],
    ids=lambda case: type(case).__name__ if hasattr(case, "fit") else "",
)
def test_what_is_no_sum_says_so(model, target, message):
    rows = NUMERIC.fillna(0)
    with pytest.raises(ExplanationError, match=message):
        model.fit(rows, target).explain(rows)


def test_calibrated_models_are_explained_before_calibration():
    options = {"calibrate": "logistic", "random_state": 0}
    forest = RandomForestClassifier(20, max_depth=3, **options).fit(X, TWO)
    plain = RandomForestClassifier(20, max_depth=3, random_state=0).fit(X, TWO)
    explanation = forest.explain(X)
    assert explanation.scale == "probability before calibration"
    np.testing.assert_allclose(explanation.values, plain.explain(X).values, atol=1e-12)
    bagging = BaggingClassifier(TREE, n_estimators=20, **options).fit(X, TWO)
    assert bagging.explain(X).scale == "probability before calibration"
    boosting = GradientBoostingClassifier(**SMALL, **options).fit(X, TWO)
    scores = boosting.decision_function(X)
    np.testing.assert_allclose(boosting.explain(X).outputs, scores, rtol=0, atol=1e-9)
    vote = VotingClassifier([("forest", forest)], votes="soft").fit(X, TWO)
    with pytest.raises(ExplanationError, match=r"member 'forest'.*before calibration"):
        vote.explain(X)


def test_a_shallow_learner_explains_itself():
    rows = NUMERIC
    boosting = AdaBoostRegressor(n_estimators=2, random_state=0).fit(rows, NUMBER)
    learner = boosting.estimators_[0]
    np.testing.assert_allclose(learner.explain(rows).outputs, learner.predict(rows), atol=1e-9)
    for target in (TWO, THREE):
        learner = AdaBoostClassifier(n_estimators=2).fit(rows, target).estimators_[0]
        explanation = learner.explain(rows)
        shares = second(learner.predict_proba(rows))
        np.testing.assert_allclose(explanation.outputs, shares, atol=1e-9)


@pytest.mark.parametrize("target", [NUMBER, TWO, THREE], ids=["numbers", "two", "three"])
def test_imported_forests_are_explained_as_by_shap(target):
    import shap

    rows = NUMERIC.fillna(0).to_numpy()
    kind = OtherForestRegressor if target is NUMBER else OtherForestClassifier
    forest = kind(4, max_depth=3, random_state=0).fit(rows, target)
    explanation = from_sklearn(forest).explain(rows)
    theirs = shap.TreeExplainer(forest).shap_values(rows)
    theirs = theirs[..., 1] if target is TWO else theirs
    np.testing.assert_allclose(explanation.values, theirs, rtol=0, atol=1e-9)
    assert explanation.scale == ("prediction" if target is NUMBER else "probability")
    if target is not NUMBER:
        vote = VotingClassifier([from_sklearn(forest)], votes="soft", prefit=True)
        np.testing.assert_allclose(vote.fit(rows, target).explain(rows).values, theirs, atol=1e-9)


def test_wrong_rows(fitted):
    with pytest.raises(NotFittedError):
        GradientBoostingRegressor().explain(X)
    with pytest.raises(NotFittedError):
        VotingClassifier(FORESTS).explain(X)
    with pytest.raises(ValueError, match="feature names"):
        fitted["boosting"].explain(X[["age", "size"]])
    with pytest.raises(ValueError, match="feature names"):
        fitted["boosting"].explain(X, background=X[["age", "size"]])
    with pytest.raises(DataError, match="0 sample"):
        fitted["boosting"].explain(X, background=X[:0])


def test_threads_change_nothing():
    rows = pd.concat([X] * 40, ignore_index=True)
    model = boost(GradientBoostingClassifier).fit(X, THREE)
    one = model.explain(rows).values
    np.testing.assert_array_equal(one, model.set_params(n_jobs=2).explain(rows).values)
