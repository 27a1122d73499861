"""Ensembles of members in plain terms predict what the ensembles predict."""

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import sumwise
from sumwise.errors import ExportError
from sumwise.estimators.resampled.shallow_trees import ShallowTreeClassifier, ShallowTreeRegressor
from sumwise.export import from_json, to_json
from sumwise.export.portable import TreeSum, Vote, describe, list_nodes
from tests.naive.portable import predict_label, predict_row
from tests.tables import (
    CHOSEN,
    list_rows,
    make_new_rows,
    make_numbers,
    make_table,
    make_target,
)

TREE = {"random_state": 0, "max_depth": 3}
FEW = {"n_estimators": 3}


def find_outputs(model, rows):
    portable = describe(model)
    return np.array([predict_row(portable, row) for row in rows])


def check_classes(model, X, expected=None):
    """Compare probabilities and labels; ``expected`` replaces the probabilities."""
    rows = list_rows(X) if hasattr(X, "columns") else X.tolist()
    expected = model.predict_proba(X) if expected is None else expected
    np.testing.assert_allclose(find_outputs(model, rows), expected, rtol=1e-12, atol=1e-14)
    is_clear = np.sort(expected, axis=1)[:, -1] > np.sort(expected, axis=1)[:, -2] + 1e-9
    labels = np.array([predict_label(describe(model), row) for row in rows])
    assert (labels == model.predict(X))[is_clear].all()


def check_numbers(model, X):
    rows = list_rows(X) if hasattr(X, "columns") else X.tolist()
    expected = model.predict(X).reshape(len(rows), -1)
    np.testing.assert_allclose(find_outputs(model, rows), expected, rtol=1e-12, atol=1e-13)


TREE_CLASSIFIERS = [
    sumwise.AdaBoostClassifier(n_estimators=5),
    sumwise.AdaBoostClassifier(sumwise.DecisionTreeClassifier(**TREE), n_estimators=4),
    sumwise.AdaBoostClassifier(
        sumwise.DecisionTreeClassifier(min_samples_leaf=3, **TREE),
        n_estimators=3,
        method="resample",
        random_state=0,
    ),
    sumwise.AdaBoostClassifier(LogisticRegression(), n_estimators=3),
    sumwise.BaggingClassifier(n_estimators=4, random_state=0),
    sumwise.BaggingClassifier(n_estimators=4, votes="hard", random_state=0),
    sumwise.BaggingClassifier(n_estimators=4, max_features=2, random_state=0),
    sumwise.BaggingClassifier(
        n_estimators=4, max_features=3, bootstrap_features=True, votes="hard", random_state=0
    ),
    sumwise.BaggingClassifier(
        sumwise.GradientBoostingClassifier(**FEW), n_estimators=3, random_state=0
    ),
    sumwise.BaggingClassifier(LogisticRegression(), n_estimators=3, random_state=0),
    sumwise.OutputFlippingClassifier(n_estimators=3, random_state=0),
    sumwise.OutputFlippingClassifier(ShallowTreeClassifier(2), n_estimators=3, random_state=0),
    ShallowTreeClassifier(3),
]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("model", TREE_CLASSIFIERS)
def test_resampled_classifiers(model, n_classes):
    X, y = make_numbers(3)
    y = y if n_classes == 3 else (y == "x")
    check_classes(model.fit(X, y), X[:20])


@pytest.mark.parametrize(
    "model",
    [
        sumwise.AdaBoostRegressor(n_estimators=5, random_state=0),
        sumwise.AdaBoostRegressor(
            sumwise.DecisionTreeRegressor(**TREE), n_estimators=4, random_state=0
        ),
        sumwise.AdaBoostRegressor(
            sumwise.DecisionTreeRegressor(min_samples_leaf=3, **TREE),
            n_estimators=3,
            random_state=0,
        ),
        sumwise.BaggingRegressor(n_estimators=4, random_state=0),
        sumwise.BaggingRegressor(Ridge(), n_estimators=4, max_features=2, random_state=0),
        sumwise.BaggingRegressor(PoissonRegressor(), n_estimators=2, random_state=0),
        sumwise.OutputSmearingRegressor(n_estimators=3, random_state=0),
        ShallowTreeRegressor(3),
    ],
)
def test_resampled_regressors(model):
    X, y = make_numbers(0)
    check_numbers(model.fit(X, y - y.min()), X[:20])


@pytest.mark.parametrize(
    "model",
    [
        sumwise.AdaBoostClassifier(n_estimators=3),  # decision trees in place of shallow ones
        sumwise.BaggingClassifier(n_estimators=3, random_state=0),
        # These bags lack categories, so that members know different ones.
        sumwise.BaggingClassifier(
            sumwise.DecisionTreeClassifier(random_state=0, **CHOSEN),
            n_estimators=4,
            max_samples=0.15,
            perturb={"max_depth": [3, 4]},
            random_state=0,
        ),
        sumwise.BaggingClassifier(
            sumwise.GradientBoostingClassifier(
                categorical_encoding=sumwise.TargetStatistics(native_limit=0), **FEW, **CHOSEN
            ),
            n_estimators=2,
            max_samples=0.3,
            random_state=0,
        ),
    ],
)
def test_members_know_different_categories(model):
    table = make_table()
    model.fit(table, make_target(table, 3))
    check_classes(model, make_new_rows())


def test_bootstrapped_features_repeat_inputs():
    X, y = make_numbers(0)
    model = sumwise.BaggingRegressor(
        sumwise.DecisionTreeRegressor(**TREE),
        n_estimators=3,
        bootstrap_features=True,
        random_state=0,
    )
    check_numbers(model.fit(X, y), X[:20])


def test_classes_that_a_bag_lacks_have_no_probability():
    X, y = make_numbers(3)
    y[:] = "x"
    y[::15], y[1::30] = "y", "z"
    with pytest.warns(UserWarning, match="have one class"):
        model = sumwise.BaggingClassifier(
            LogisticRegression(), n_estimators=6, max_samples=8, random_state=0
        ).fit(X, y)
    assert any(isinstance(member, DummyClassifier) for member in model.estimators_)
    check_classes(model, X[:20])


@pytest.mark.parametrize("code", ["exhaustive", "data"])
def test_output_codes_are_described_by_votes(code):
    X, y = make_numbers(3)
    model = sumwise.OutputCodeClassifier(sumwise.DecisionTreeClassifier(**TREE), code=code)
    model.fit(X, y)
    with pytest.raises(ExportError, match="decoding='loss'"):
        describe(model)
    model.set_params(decoding="hamming")
    agreed = model.code_book_.shape[1] - model.predict_distances(X[:20])
    check_classes(model, X[:20], agreed / agreed.sum(axis=1, keepdims=True))


# --- given members ---

CLASSIFIERS = [
    ("boosting", sumwise.GradientBoostingClassifier(**FEW)),
    ("tree", sumwise.DecisionTreeClassifier(**TREE)),
    ("line", LogisticRegression()),
]
REGRESSORS = [
    ("boosting", sumwise.GradientBoostingRegressor(**FEW)),
    ("tree", sumwise.DecisionTreeRegressor(**TREE)),
    ("line", LinearRegression()),
]


@pytest.mark.parametrize(
    "model",
    [
        sumwise.VotingClassifier(CLASSIFIERS, votes="soft"),
        sumwise.VotingClassifier(CLASSIFIERS, votes="soft", rule="weighted", weights=[3, 1, 2]),
        sumwise.BayesianAveragingClassifier(CLASSIFIERS, cv=2, n_draws=10, random_state=0),
        sumwise.EnsembleSelectionClassifier(CLASSIFIERS, cv=2, votes="soft"),
        sumwise.StackingClassifier(CLASSIFIERS, cv=2),
        sumwise.StackingClassifier(CLASSIFIERS, LogisticRegression(), cv=2),
        sumwise.StackingClassifier(CLASSIFIERS, LogisticRegression(), cv=2, passthrough=True),
        sumwise.StackingClassifier(CLASSIFIERS, cv=2, refit=False, stack_method="predict"),
        sumwise.StackingClassifier(
            CLASSIFIERS, LogisticRegression(), cv=2, refit=False, stack_method="predict"
        ),
        sumwise.StackingClassifier(
            [*CLASSIFIERS[::2], ("ada", sumwise.AdaBoostClassifier(n_estimators=3))],
            sumwise.MultiResponseLinear(nonnegative=True),
            cv=2,
            stack_method="decision_function",
        ),
        sumwise.StackingClassifier(
            [("votes", sumwise.VotingClassifier(CLASSIFIERS[:2], votes="soft")), *CLASSIFIERS[2:]],
            sumwise.StackingClassifier(
                [("a", LogisticRegression()), ("b", LogisticRegression(C=0.1))], cv=2
            ),
            cv=2,
        ),
    ],
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_combined_classifiers(model, n_classes):
    X, y = make_numbers(3)
    y = y if n_classes == 3 else (y == "x")
    check_classes(model.fit(X, y), X[:15])


@pytest.mark.parametrize(
    "model",
    [
        sumwise.AveragingRegressor(REGRESSORS, weights="covariance", cv=2),
        sumwise.BayesianAveragingRegressor(REGRESSORS, cv=2, n_draws=10, random_state=0),
        sumwise.EnsembleSelectionRegressor(REGRESSORS, cv=2),
        sumwise.StackingRegressor(REGRESSORS, cv=2),
        sumwise.StackingRegressor(REGRESSORS, Ridge(), cv=2, passthrough=True, refit=False),
        sumwise.StackingRegressor(
            REGRESSORS, sumwise.GradientBoostingRegressor(booster="linear", n_estimators=5), cv=2
        ),
    ],
)
def test_combined_regressors(model):
    X, y = make_numbers(0)
    check_numbers(model.fit(X, y), X[:15])


@pytest.mark.parametrize("weights", [None, [1, 3, 1]])
def test_hard_votes_are_shares(weights):
    X, y = make_numbers(3)
    rule = "plurality" if weights is None else "weighted"
    members = [*CLASSIFIERS[:2], ("ridge", RidgeClassifier())]
    model = sumwise.VotingClassifier(members, rule=rule, weights=weights).fit(X, y)
    assert model.votes_ == "hard"
    check_classes(model, X[:20], model.predict_shares(X[:20]))
    assert any(isinstance(node, Vote) for node in list_nodes(describe(model).output))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("method", ["sigmoid", "isotonic", "temperature"])
def test_calibrated_members(method, n_classes):
    X, y = make_numbers(3)
    y = y if n_classes == 3 else (y == "x")
    members = CLASSIFIERS[::2] if method == "temperature" else CLASSIFIERS
    model = sumwise.VotingClassifier(members, calibrate=method, cv=2).fit(X, y)
    check_classes(model, X[:15])


def test_constants():
    X, y = make_numbers(0)
    members = [("constant", DummyRegressor()), *REGRESSORS[:1]]
    check_numbers(sumwise.AveragingRegressor(members).fit(X, y), X[:5])
    check_numbers(sumwise.StackingRegressor(members, cv=2).fit(X, y), X[:5])
    check_numbers(sumwise.StackingRegressor(members, DummyRegressor(), cv=2).fit(X, y), X[:5])


def test_members_that_are_trees_of_scikit_learn():
    X, y = make_numbers(3)
    members = [
        ("forest", RandomForestClassifier(3, max_depth=3, random_state=0)),
        ("boosting", GradientBoostingClassifier(n_estimators=3)),
        ("tree", DecisionTreeClassifier(max_depth=3)),
    ]
    check_classes(sumwise.StackingClassifier(members, cv=2).fit(X, y), X[:15])
    bagging = sumwise.BaggingClassifier(members[2][1], n_estimators=3, random_state=0)
    check_classes(bagging.fit(X, y), X[:15])


def test_a_majority_vote_is_refused():
    X, y = make_numbers(3)
    model = sumwise.VotingClassifier(CLASSIFIERS, rule="majority").fit(X, y)
    with pytest.raises(ExportError, match="rule='plurality'"):
        describe(model)
    check_classes(model.set_params(rule="plurality"), X[:5], model.predict_shares(X[:5]))


def test_members_that_were_fitted_before():
    X, y = make_numbers(3)
    part = y != "z"
    frozen = FrozenEstimator(sumwise.GradientBoostingClassifier(**FEW).fit(X[part], y[part]))
    members = [("frozen", frozen), ("line", LogisticRegression())]
    check_classes(sumwise.VotingClassifier(members, votes="soft").fit(X, y), X[:10])
    check_classes(sumwise.StackingClassifier(members, cv=2).fit(X, y), X[:10])


def test_members_with_categories_in_a_stack():
    table, rows = make_table(), make_new_rows()
    encoding = {"categorical_encoding": sumwise.TargetStatistics(), **FEW, **CHOSEN}
    members = [
        ("native", sumwise.GradientBoostingClassifier(categorical_encoding="native", **CHOSEN)),
        ("encoded", sumwise.GradientBoostingClassifier(**encoding)),
    ]
    model = sumwise.StackingClassifier(members, cv=3, refit=False)
    model.set_params(native__n_estimators=3)
    check_classes(model.fit(table, make_target(table, 2)), rows)


def test_what_a_member_cannot_say_is_named():
    X, y = make_numbers(3)
    members = [("near", KNeighborsClassifier()), ("tree", sumwise.DecisionTreeClassifier())]
    with pytest.raises(ExportError, match=r"member 'near' \(KNeighborsClassifier\)"):
        describe(sumwise.VotingClassifier(members).fit(X, y))
    scaled = make_pipeline(StandardScaler(), LogisticRegression())
    with pytest.raises(ExportError, match=r"step 'standardscaler' \(StandardScaler\)"):
        describe(sumwise.BaggingClassifier(scaled, n_estimators=2).fit(X, y))


@pytest.mark.parametrize("passthrough", [False, True])
def test_trees_as_meta_learners(passthrough):
    """Only formats that ask for it get trees that split on outputs of other models."""
    table, rows = make_table(), make_new_rows()
    members = [
        ("boosting", sumwise.GradientBoostingClassifier(**FEW, **CHOSEN)),
        ("tree", sumwise.DecisionTreeClassifier(**TREE, **CHOSEN)),
    ]
    chosen = CHOSEN if passthrough else {}
    final = sumwise.RandomForestClassifier(2, max_depth=3, random_state=0, **chosen)
    inner = sumwise.StackingClassifier(members, final, cv=2, passthrough=passthrough)
    lines = [(name, LogisticRegression(C=c)) for name, c in (("a", 1.0), ("b", 0.1))]
    outer = sumwise.StackingClassifier([("inner", inner)], sumwise.VotingClassifier(lines), cv=2)
    for model in (inner, outer):
        model.fit(table, make_target(table, 3))
        portable = describe(model, nested=True)
        found = [predict_row(portable, row) for row in list_rows(rows)]
        np.testing.assert_allclose(found, model.predict_proba(rows), rtol=1e-12, atol=1e-14)
        again = from_json(to_json(model))
        assert [predict_row(again, row) for row in list_rows(rows)[:5]] == found[:5]
        with pytest.raises(ExportError, match="cannot be held in this format"):
            describe(model)


def test_a_feature_that_members_read_differently_is_named():
    table = make_table()
    members = [
        ("categories", sumwise.DecisionTreeRegressor(categorical_features=["color", "shop"])),
        ("numbers", sumwise.DecisionTreeRegressor(categorical_features=["color"])),
    ]
    model = sumwise.AveragingRegressor(members).fit(table, make_target(table, 0))
    with pytest.raises(ExportError, match="feature 'shop' is a category to one member"):
        describe(model)


def test_a_pipeline_of_a_model_alone_is_that_model():
    X, y = make_numbers(3)
    pipeline = make_pipeline("passthrough", sumwise.DecisionTreeClassifier(**TREE))
    model = sumwise.VotingClassifier([("tree", pipeline)]).fit(X, y)
    check_classes(model, X[:5])


def test_trees_of_one_table_stay_one_sum():
    X, y = make_numbers(3)
    for model in (sumwise.BaggingClassifier(n_estimators=3), sumwise.AdaBoostClassifier()):
        nodes = list(list_nodes(describe(model.fit(X, y)).output))
        assert sum(isinstance(node, TreeSum) for node in nodes) == 1
