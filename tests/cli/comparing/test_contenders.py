import numpy as np
import pytest
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import BaggingClassifier
from threadpoolctl import threadpool_limits

from sumwise.cli import compare
from sumwise.cli.combining import list_combinations
from sumwise.cli.datasets import NAMES, Dataset, load_dataset, make_friedman
from sumwise.cli.main import main


class CountingRegressor(DummyRegressor):
    """A regressor with the parameters a competitor is given; it predicts the mean."""

    def __init__(self, n_estimators=1, n_jobs=None, random_state=None):
        super().__init__()
        self.n_estimators = n_estimators
        self.n_jobs = n_jobs
        self.random_state = random_state

    @property
    def best_iteration_(self):
        return self.n_estimators


class CountingClassifier(DummyClassifier):
    """The same for classes; it predicts the most frequent one."""

    def __init__(self, n_estimators=1, random_state=None):
        super().__init__(strategy="most_frequent")
        self.n_estimators = n_estimators
        self.random_state = random_state

    @property
    def best_iteration_(self):
        return self.n_estimators


MEAN = compare.Competitor("mean", CountingClassifier, CountingRegressor, {})


@pytest.fixture
def _only_mean(monkeypatch):
    monkeypatch.setattr(compare, "COMPETITORS", (MEAN,))
    monkeypatch.setattr(compare, "can_combine", lambda data: False)


@pytest.fixture
def tiny():
    X = np.arange(40.0).reshape(20, 2)
    return Dataset("tiny", "classification", X, np.repeat([0, 1], [15, 5]))


@pytest.fixture
def quantity(tiny):
    return tiny._replace(task="regression")


@pytest.fixture
def colors():
    """A table with one category per pair of rows, a few missing values and a number."""
    names = np.array([f"color {i // 2}" for i in range(600)], dtype=object)
    X = np.column_stack([np.arange(600.0), names])
    X[:3, 1] = None
    X[-1, 0] = np.nan
    with threadpool_limits(1, user_api="openmp"):  # scikit-learn's threads wait for each other
        yield Dataset("colors", "regression", X, np.arange(600.0))


def test_build_passes_settings(quantity):
    model = MEAN.build(quantity, n_rounds=7, n_jobs=3)
    assert isinstance(model, CountingRegressor)
    assert (model.n_estimators, model.n_jobs, model.random_state) == (7, 3, 0)


def test_build_asks_for_all_cpus_by_default(quantity):
    assert MEAN.build(quantity, n_rounds=1, n_jobs=None).n_jobs == -1


def test_build_accepts_models_without_n_jobs(tiny):
    assert isinstance(MEAN.build(tiny, 1, n_jobs=2), CountingClassifier)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_every_competitor_can_be_built(task, tiny):
    for competitor in compare.COMPETITORS:
        parameters = competitor.build(tiny._replace(task=task), n_rounds=3, n_jobs=1).get_params()
        expected = dict(competitor.parameters)
        if competitor.rounds_parameter is not None:
            expected[competitor.rounds_parameter] = 3
        assert parameters.items() >= expected.items()


@pytest.mark.filterwarnings("error")
def test_every_competitor_reads_categories(colors):
    """Also unseen categories in test rows, and more categories than scikit-learn accepts."""
    for competitor in compare.COMPETITORS:
        model = competitor.build(colors, n_rounds=2, n_jobs=1)
        model.fit(colors.X[::2], colors.y[::2])
        assert np.isfinite(model.predict(colors.X)).all()
        assert 1 <= competitor.count_rounds(model) <= 2


def test_encoded_categories_come_first(colors):
    steps = compare.COMPETITORS[-1].build(colors, 2, 1).fit(colors.X, colors.y)
    assert steps[-1].is_categorical_.tolist() == [True, False]
    encoded = steps[0].transform(colors.X).astype(float)
    np.testing.assert_array_equal(encoded[:, 1], colors.X[:, 0].astype(float))
    assert len(np.unique(encoded[:, 0])) == 255
    assert len(np.unique(encoded[:3, 0])) == 1
    assert encoded[0, 0] not in encoded[3:, 0]


def test_numbers_are_not_encoded(tiny):
    assert not hasattr(compare.COMPETITORS[-1].build(tiny, 2, 1), "steps")


def test_folds_are_stratified_and_cover_every_row_once(tiny):
    folds = compare.split_folds(tiny, 5)
    assert sorted(np.concatenate([test for _, test in folds])) == list(range(20))
    assert [tiny.y[test].sum() for _, test in folds] == [1] * 5


def test_cross_validate_scores_each_fold(tiny):
    result = compare.cross_validate(MEAN, tiny, n_folds=5, n_rounds=3, n_jobs=1)
    assert result.scores == [0.75] * 5
    assert result.rounds == [3] * 5
    assert len(result.fit_seconds) == len(result.predict_seconds) == 5


def test_results_show_mean_and_deviation(tiny):
    result = compare.Result("some", [0.5, 0.7], [40, 61], [1.0, 2.0], [0.001, 0.002], [])
    table = compare.format_results(tiny, [result])
    assert "| some   | 0.6000 ± 0.1000 |     50 |   1.500 |         1.50 |" in table
    assert "| method |        accuracy | rounds |" in table
    assert "| members |" in compare.format_results(tiny, [result], "members")


@pytest.mark.usefixtures("_only_mean")
def test_sections_begin_with_what_the_data_are(tiny):
    section = compare.compare_dataset(tiny, n_folds=2, n_rounds=2, n_jobs=1)
    assert section.startswith("## tiny\n\n20 rows, 2 features, classification\n\n| method ")
    assert "###" not in section


def test_members_are_counted_where_they_are_listed(tiny):
    forest = compare.Competitor(
        "trees", BaggingClassifier, CountingRegressor, {}, rounds_attribute="estimators_"
    )
    result = compare.cross_validate(forest, tiny, n_folds=2, n_rounds=3, n_jobs=1)
    assert result.rounds == [3, 3]
    assert [type(model) for model in result.models] == [BaggingClassifier] * 2


def test_description_tells_of_categories(tiny, colors):
    assert compare.describe_dataset(tiny) == "20 rows, 2 features, classification"
    text = compare.describe_dataset(colors)
    assert text.startswith("600 rows, 2 features, regression; categories (299 of them), missing")
    assert "sharing one where there are more than 255" in text
    few = colors._replace(X=colors.X[10:20])
    assert "missing" not in compare.describe_dataset(few)
    assert "sharing" not in compare.describe_dataset(few)


def test_report_is_what_was_printed(tmp_path, capsys):
    report = tmp_path / "new" / "report.md"
    options = ["--data", "diabetes", "--folds", "2", "--rounds", "2", "--jobs", "1"]
    assert main(["compare", *options, "--report", str(report)]) == 0
    text = report.read_text(encoding="utf-8")
    assert capsys.readouterr().out == f"{text}\nReport: {report}\n"
    assert "2 folds, 2 rounds, 1 of" in text
    assert "kernels warmed up before timing" in text
    assert "442 rows, 10 features, regression" in text
    for competitor in compare.COMPETITORS:
        assert f"| {competitor.name} " in text
    for combination in list_combinations(load_dataset("diabetes")):
        assert f"| {combination.name} " in text
    assert "\n### diabetes: four learners and their combinations\n\n| method" in text
    assert "Squared error of the average" in text
    assert list(report.parent.iterdir()) == [report]


@pytest.mark.usefixtures("_only_mean")
def test_default_data_sets(capsys):
    assert main(["compare", "--folds", "2"]) == 0
    headings = [line for line in capsys.readouterr().out.splitlines() if line.startswith("## ")]
    assert headings == ["## breast_cancer", "## diabetes", "## friedman", "## rentals"]


def test_too_many_folds(capsys):
    assert main(["compare", "--data", "diabetes", "--folds", "1000"]) == 2
    assert "error: --folds 1000: " in capsys.readouterr().err


def test_report_in_the_way_of_a_directory(tmp_path, capsys):
    assert main(["compare", "--report", str(tmp_path)]) == 2
    assert "a directory, not a file" in capsys.readouterr().err


def test_failed_write_keeps_the_old_report(tmp_path, monkeypatch):
    report = tmp_path / "report.md"
    report.write_text("old")
    monkeypatch.setattr("pathlib.Path.replace", _fail)
    with pytest.raises(OSError, match="disk full"):
        compare.write_atomically(report, "new")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]


def _fail(*args):
    raise OSError("disk full")


@pytest.mark.parametrize("name", NAMES)
def test_data_sets_are_complete(name):
    data = load_dataset(name)
    assert data.name == name
    assert data.X.ndim == 2
    assert data.y.shape == (len(data.X),)
    assert data.X.dtype == object or np.isfinite(data.X).all()
    assert np.isfinite(data.y).all()
    assert (data.task == "classification") == (len(np.unique(data.y)) <= 10)


def test_friedman_follows_its_formula():
    X, y = make_friedman(n_rows=5_000, seed=1)
    signal = (
        10 * np.sin(np.pi * X[:, 0] * X[:, 1])
        + 20 * (X[:, 2] - 0.5) ** 2
        + 10 * X[:, 3]
        + 5 * X[:, 4]
    )
    noise = y - signal
    assert abs(noise.mean()) < 0.06  # four standard errors
    assert abs(noise.std() - 1) < 0.05


def test_friedman_repeats_with_its_seed():
    np.testing.assert_array_equal(make_friedman(10, seed=3)[1], make_friedman(10, seed=3)[1])
    assert (make_friedman(10, seed=3)[1] != make_friedman(10, seed=4)[1]).all()
