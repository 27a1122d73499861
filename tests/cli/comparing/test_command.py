import json

import pytest
from sklearn.dummy import DummyClassifier, DummyRegressor

import sumwise
from sumwise.cli.comparing import command, warming
from sumwise.cli.comparing.contenders import Contender, list_contenders
from sumwise.cli.comparing.datasets import load_dataset
from sumwise.cli.main import main

QUICK = ["--folds", "2", "--rounds", "2", "--jobs", "1", "--auto-seconds", "0"]


def make_mean(data, terms):
    return (DummyClassifier if data.task == "classification" else DummyRegressor)()


def make_tree(data, terms):
    kind = "Classifier" if data.task == "classification" else "Regressor"
    return getattr(sumwise, f"DecisionTree{kind}")(max_depth=3, random_state=0)


def make_bagging(data, terms):
    kind = "Classifier" if data.task == "classification" else "Regressor"
    return getattr(sumwise, f"Bagging{kind}")(n_estimators=5, n_jobs=1, random_state=0)


@pytest.fixture
def few(monkeypatch):
    """Three contenders: the best has no model file, the worst is the reference."""
    found = [
        Contender("tree", "trees", make_tree),
        Contender("bagging", "trees", make_bagging, averages=True),
        Contender("mean", "reference", make_mean),
    ]
    monkeypatch.setattr(command, "list_contenders", lambda data, terms: found)


def test_the_whole_comparison_with_its_reports_and_model(tmp_path, capsys):
    page, text, model = (tmp_path / "new" / name for name in ("r.html", "r.md", "best.sumwise"))
    options = ["--report", str(page), "--report", str(text), "--save", str(model)]
    assert main(["compare", "--data", "diabetes", *QUICK, *options]) == 0
    found = capsys.readouterr()
    data = load_dataset("diabetes")
    for contender in list_contenders(data, command.Terms(auto_seconds=0)):
        assert f"\n{contender.name} " in found.out
        assert f"| {contender.name} " in text.read_text(encoding="utf-8")
    assert "442 rows, 10 features, regression" in found.err
    assert f"model: {model}" in found.err
    html = page.read_text(encoding="utf-8")
    assert html.lower().startswith("<!doctype html>")
    assert "sumwise compare --data diabetes --folds 2" in html
    best = sumwise.load(model)
    assert best.feature_names_in_.tolist() == list(data.names)
    assert sorted(path.name for path in page.parent.iterdir()) == ["best.sumwise", "r.html", "r.md"]


@pytest.mark.usefixtures("few")
def test_a_table_of_the_user(flats, tmp_path, capsys):
    path = tmp_path / "best.sumwise"
    options = ["--target", "rent", "--max-rows", "50", "--save", str(path), "--json", *QUICK]
    assert main(["compare", str(flats), *options]) == 0
    found = capsys.readouterr()
    (entry,) = json.loads(found.out)["data"]
    assert (entry["name"], entry["n_rows"], entry["metric"]) == ("flats", 50, "R²")
    assert [model["name"] for model in entry["models"]] == ["bagging", "tree", "mean"]
    assert "bagging is best, and has no model file" in found.err
    assert "tree, fitted to all 200 rows" in found.err
    assert sumwise.load(path).feature_names_in_.tolist() == ["size", "city"]


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("has_arrow", [True, False])
def test_dates_and_booleans_of_the_user_are_reported(has_arrow, tmp_path, capsys, request):
    path, page = tmp_path / "t.csv", tmp_path / "r.html"
    rows = [f"2026-01-{1 + k % 28:02},{k % 3 == 0},{k % 5},{k % 7}" for k in range(80)]
    path.write_text("\n".join(["day,open,shop,sold", *rows]).replace("True", "true"))
    if not has_arrow:
        request.getfixturevalue("_no_arrow")
    options = ["--task", "regression", "--max-rows", "70", "--report", str(page), *QUICK]
    assert main(["compare", str(path), *options]) == 0
    assert "day" in page.read_text(encoding="utf-8")


@pytest.mark.usefixtures("few")
def test_several_data_sets_have_files_of_their_own(tmp_path, capsys):
    options = [
        "--data",
        "rentals",
        "--data",
        "breast_cancer",
        "--save",
        str(tmp_path / "best.sumwise"),
        "--report",
        str(tmp_path / "r.md"),
    ]
    assert main(["compare", "-q", *QUICK, *options]) == 0
    out = capsys.readouterr().out
    assert "rentals: 2-fold R², best first" in out
    assert "breast_cancer: 2-fold accuracy, best first" in out
    names = ["best-breast_cancer.sumwise", "best.sumwise", "r.md"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    assert "\n## breast_cancer\n" in (tmp_path / "r.md").read_text(encoding="utf-8")


@pytest.mark.usefixtures("few")
def test_other_metrics(pets, capsys):
    assert main(["compare", str(pets), "--metric", "log_loss", *QUICK, "--json"]) == 0
    (entry,) = json.loads(capsys.readouterr().out)["data"]
    scores = [model["mean_score"] for model in entry["models"]]
    assert scores == sorted(scores)
    assert entry["metric"] == "log loss"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--data", "diabetes", "--folds", "1000"], "--folds 1000: "),
        (["--data", "diabetes", "--metric", "accuracy"], "choose r2, rmse, mae"),
        (["--report", "."], "a directory, not a file"),
        (["--target", "y"], "--target needs a FILE"),
        (["a.csv", "--data", "digits"], "not both"),
        (["absent.csv"], "absent.csv: there is no such file"),
    ],
)
def test_refusals(options, message, capsys):
    assert main(["compare", *options]) == 2
    assert message in capsys.readouterr().err


def test_a_comparison_without_a_model_fails(monkeypatch, capsys):
    def refuse(data, terms):
        raise ValueError("no")

    found = [Contender("a", "trees", refuse)]
    monkeypatch.setattr(command, "list_contenders", lambda data, terms: found)
    assert main(["compare", "--data", "diabetes", *QUICK]) == 1
    err = capsys.readouterr().err
    assert "warning: a failed: ValueError: no" in err
    assert "no model could be trained" in err


def test_kernels_are_compiled_in_the_order_that_suits_two_processes(monkeypatch):
    helped, warmed = [], []

    class Helper:
        def __init__(self, target, args, daemon):
            helped.append(target)

        def start(self):
            helped.append("start")

        def join(self):
            helped.append("join")

        def terminate(self):
            helped.append("terminate")

    class Context:
        Process = Helper

    monkeypatch.setattr(warming, "is_cold", lambda: True)
    monkeypatch.setattr(warming.multiprocessing, "get_context", lambda kind: Context)
    monkeypatch.setattr(warming.os, "cpu_count", lambda: 2)
    monkeypatch.setattr(warming, "warm_up", lambda each, data, terms: warmed.append(each.name))
    data = load_dataset("diabetes")
    contenders = [Contender("tree", "trees", None), Contender("boosting", "boosting", None)]
    contenders += [Contender(name, "combinations", None) for name in ("average", "stack")]
    contenders.append(Contender("other", "reference", None))
    told = []
    warming.warm_up_all(contenders, data, command.Terms(), told.append)
    assert warmed == told == ["boosting", "average", "tree"]
    assert helped == [warming._warm_up_part, "start", "join", "terminate", "join"]
    warmed.clear()
    warming._warm_up_part(data, command.Terms())
    trees = ["decision tree", "bagging", "random forest", "extra trees"]
    assert warmed == [*trees, "boosting, CatBoost style"]


def test_a_machine_is_cold_if_nothing_was_compiled(monkeypatch, tmp_path):
    monkeypatch.setattr(warming.library, "choose_level", lambda: None)
    monkeypatch.setattr(warming.cache, "find_roots", lambda: [tmp_path / "absent", tmp_path])
    assert warming.is_cold()
    (tmp_path / "kernel").touch()
    assert not warming.is_cold()
    monkeypatch.setattr(warming.cache, "find_roots", list)
    monkeypatch.setattr(warming.library, "choose_level", lambda: "x86-64-v3")
    assert not warming.is_cold()
