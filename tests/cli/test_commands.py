"""Each command on good and bad input, called in this process."""

import csv
import io
import json
import sys

import numpy as np
import pytest

import sumwise
from sumwise.cli.main import main
from sumwise.cli.reading.files import read_table


def run(capsys, *argv):
    """Return the exit code, standard output and standard error."""
    code = main([str(word) for word in argv])
    found = capsys.readouterr()
    return code, found.out, found.err


# --- fit ---


def test_fit_says_what_it_guesses_and_saves(flats, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, "fit", flats, "--set", "n_estimators=10", "--jobs", 1)
    assert (code, out) == (0, "")
    for line in ("target: 'rent' (guessed", "id: 'flat_id' (guessed", "task: regression (numbers"):
        assert line in err
    model = sumwise.load("flats.sumwise")
    assert model.feature_names_in_.tolist() == ["size", "city"]
    assert model.n_estimators_ == 10
    assert sorted(path.name for path in tmp_path.iterdir()) == ["flats.csv", "flats.sumwise"]


def test_fit_with_validation_rows_stops_early_and_rates(flats, tmp_path, capsys):
    path = tmp_path / "m.sumwise"
    options = ["--valid", flats, "--set", "n_estimators=30", "-o", path, "--json", "--jobs", 1]
    code, out, _ = run(capsys, "fit", flats, "--target", "rent", *options)
    result = json.loads(out)
    assert code == 0
    assert result["n_rounds"] <= 30
    assert result["scores"]["R²"]["low"] <= result["scores"]["R²"]["value"]
    assert result["features"] == ["size", "city"]


def test_fit_without_arrow_gives_the_same_model(flats, tmp_path, capsys, request):
    path = tmp_path / "m.sumwise"
    options = ["--set", "n_estimators=10", "-q", "-o", path]
    assert run(capsys, "fit", flats, *options) == (0, "", "")
    fast, predictions = path.read_bytes(), run(capsys, "predict", path, flats, "-q")
    request.getfixturevalue("_no_arrow")
    assert run(capsys, "fit", flats, *options) == (0, "", "")
    assert path.read_bytes() == fast
    assert run(capsys, "predict", path, flats, "-q") == predictions
    assert sumwise.load(path).feature_names_in_.tolist() == ["size", "city"]


def test_fit_keeps_groups_weights_and_time(flats, tmp_path, capsys):
    path = tmp_path / "m.sumwise"
    options = ["--target", "rent", "--early-stopping", "--set", "n_estimators=5", "-o", path]
    roles = ["--group", "city", "--weight", "size", "--id", "flat_id"]
    code, _, err = run(capsys, "fit", flats, *options, *roles)
    assert code == 2
    assert "no column left for features" in err
    flats.write_text(flats.read_text().replace(",,", ",none,"))
    assert run(capsys, "fit", flats, *options, "--group", "city")[0] == 0
    assert sumwise.load(path).feature_names_in_.tolist() == ["size"]
    assert run(capsys, "fit", flats, *options, "--time", "flat_id", "--drop", "city")[0] == 0
    assert sumwise.load(path).feature_names_in_.tolist() == ["size"]
    assert sumwise.load(path).validation_rows == "last"


def test_fit_of_an_ensemble_without_a_model_file_is_distilled(pets, tmp_path, capsys, monkeypatch):
    from sumwise import AutoEnsembleClassifier

    def refuse(self, path):
        raise TypeError("no model file")

    monkeypatch.setattr(AutoEnsembleClassifier, "save", refuse)
    path = tmp_path / "m.sumwise"
    options = ["--set", 'members=["leaf_quick"]', "--set", "n_folds=2", "--set", "n_repeats=1"]
    code, _, err = run(capsys, "fit", pets, "--time-limit", 30, *options, "-o", path, "--jobs", 1)
    assert code == 0
    assert "distilled" in err
    assert isinstance(sumwise.load(path), sumwise.GradientBoostingClassifier)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--target", "rennt"], "no column 'rennt'; did you mean 'rent'?"),
        (["--set", "learnig_rate=1"], "did you mean 'learning_rate'?"),
        (["--model", "forest", "--time-limit", "5"], "--time-limit needs --model auto"),
        (["--model", "forest", "--early-stopping"], "no rounds to stop at"),
        (["--valid", "absent.csv"], "absent.csv: there is no such file"),
        (["--output", "absent/m.sumwise"], "there is no folder 'absent'"),
    ],
)
def test_fit_refuses(options, message, flats, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, "fit", flats, *options)
    assert (code, out) == (2, "")
    assert message in err
    assert "Traceback" not in err
    assert [path.name for path in tmp_path.iterdir()] == ["flats.csv"]


def test_fit_of_a_single_class(pets, capsys):
    pets.write_text(pets.read_text().replace("dog", "cat"))
    code, _, err = run(capsys, "fit", pets)
    assert code == 2
    assert "the same value 'cat' in all rows" in err


# --- predict ---


def test_predict_keeps_the_id_and_the_order(flats, flats_model, capsys):
    code, out, err = run(capsys, "predict", flats_model, flats)
    rows = list(csv.DictReader(io.StringIO(out)))
    assert code == 0
    assert "id: 'flat_id'" in err
    assert [row["flat_id"] for row in rows] == [str(k) for k in range(1000, 1200)]
    table = read_table(str(flats))
    expected = sumwise.load(flats_model).predict(table.select(["size", "city"]))
    np.testing.assert_array_equal([float(row["prediction"]) for row in rows], expected)


def test_predict_writes_labels_and_probabilities(pets, pets_model, tmp_path, capsys):
    path = tmp_path / "p.parquet"
    assert run(capsys, "predict", pets_model, pets, "--id", "home", "-o", path, "-q") == (0, "", "")
    table = read_table(str(path))
    assert table.names == ("home", "prediction", "probability_cat", "probability_dog")
    code, out, _ = run(capsys, "predict", pets_model, pets, "--no-probabilities", "--keep-all")
    assert code == 0
    assert out.splitlines()[0] == "weight,home,label,prediction"


def test_predict_reads_unseen_categories_and_gaps_from_standard_input(
    flats_model, capsys, monkeypatch
):
    text = b'{"size": null, "city": "Oslo"}\n{"city": 7, "size": 50}\n'
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    code, out, _ = run(capsys, "predict", flats_model, "-", "--format", "jsonl")
    assert code == 0
    assert len(out.splitlines()) == 3


def test_predict_names_what_is_missing_or_of_another_kind(flats_model, pets, flats, capsys):
    code, _, err = run(capsys, "predict", flats_model, pets)
    assert code == 2
    assert "lacks columns 'size', 'city'" in err
    flats.write_text("size,city\nbig,Bern\n")
    code, _, err = run(capsys, "predict", flats_model, flats)
    assert code == 2
    assert "column 'size' held numbers in fit, and holds categories now" in err


# --- evaluate ---


def test_evaluate(pets, pets_model, flats, flats_model, capsys):
    code, out, _ = run(capsys, "evaluate", pets_model, pets)
    assert code == 0
    assert out.splitlines()[0] == "120 rows, 95 % intervals by bootstrap"
    assert "ROC AUC" in out
    code, out, _ = run(capsys, "evaluate", flats_model, flats, "--target", "rent", "--json")
    scores = json.loads(out)["scores"]
    assert scores["RMSE"]["low"] < scores["RMSE"]["value"] < scores["RMSE"]["high"]


def test_evaluate_names_unknown_labels(pets, pets_model, capsys):
    pets.write_text(pets.read_text().replace("dog", "fox"))
    code, _, err = run(capsys, "evaluate", pets_model, pets)
    assert code == 2
    assert "labels that" in err
    assert "'fox'; its classes are 'cat', 'dog'" in err


def test_evaluate_without_true_values(flats_model, flats, capsys):
    flats.write_text("size,city\n50,Bern\n")
    code, _, err = run(capsys, "evaluate", flats_model, flats)
    assert code == 2
    assert "no column with true values" in err


# --- explain ---


def test_explain_prints_means_and_writes_rows(flats, flats_model, tmp_path, capsys):
    path = tmp_path / "c.csv"
    code, out, _ = run(capsys, "explain", flats_model, flats, "-o", path)
    assert code == 0
    assert out.splitlines()[:3][0] == "mean size of contributions to the prediction in 200 rows"
    assert out.splitlines()[2].startswith("size")
    table = read_table(str(path))
    assert table.names == ("flat_id", "base value", "size", "city")
    total = sum(table.get(name) for name in table.names[1:])
    model = sumwise.load(flats_model)
    np.testing.assert_allclose(
        total, model.predict(read_table(str(flats)).select(["size", "city"]))
    )


def test_explain_one_row(flats, flats_model, capsys):
    code, out, _ = run(capsys, "explain", flats_model, flats, "--row", 3, "--json")
    found = json.loads(out)
    assert code == 0
    parts = [entry["contribution"] for entry in found["features"]]
    assert found["base_value"] + sum(parts) == pytest.approx(found["sum"])
    code, out, _ = run(capsys, "explain", flats_model, flats, "--row", 3)
    assert [line.split()[0] for line in out.splitlines()[1:]] == [
        "feature",
        "base",
        *(entry["feature"] for entry in found["features"]),
        "sum",
    ]
    code, _, err = run(capsys, "explain", flats_model, flats, "--row", 201)
    assert code == 2
    assert "has 200 rows" in err


# --- export ---


@pytest.mark.parametrize(
    ("options", "start"),
    [
        (["--format", "c", "--name", "rent"], "/*"),
        (["--format", "python"], '"""'),
        (["--format", "sql", "--table", "flats", "--keep", "flat_id"], "WITH"),
        (["--format", "pmml"], "<?xml"),
        (["--format", "json"], "{"),
    ],
)
def test_export_prints_text(options, start, flats_model, capsys):
    code, out, err = run(capsys, "export", flats_model, *options)
    assert (code, err) == (0, "")
    assert out.startswith(start)


def test_export_to_a_file_by_its_name(flats_model, tmp_path, capsys):
    path = tmp_path / "m.onnx"
    code, _, err = run(capsys, "export", flats_model, "-o", path)
    assert code == 0
    assert f"wrote {path}" in err
    code, _, err = run(capsys, "export", flats_model, "--format", "onnx")
    assert code == 2
    assert "is not text: name a file" in err
    code, _, err = run(capsys, "export", flats_model)
    assert code == 2
    assert "--format is needed: one of onnx, c" in err


# --- diversity ---


def test_diversity_of_the_members_of_a_forest(pets, pets_model, capsys):
    code, out, _ = run(capsys, "diversity", pets_model, pets, "--json")
    found = json.loads(out)
    parts = found["decomposition"]
    assert code == 0
    assert parts["error"] == pytest.approx(parts["mean_error"] - parts["good"] + parts["bad"])
    assert len(found["members"]) == 5
    assert len(found["pairs"]) == 10
    assert -1 <= found["pairs"][0]["kappa"] <= 1


def test_diversity_of_several_models(flats, flats_model, tmp_path, capsys):
    other = tmp_path / "tree.sumwise"
    options = ["--model", "tree", "--target", "rent", "--id", "flat_id", "-q", "-o", other]
    assert run(capsys, "fit", flats, *options)[0] == 0
    code, out, _ = run(capsys, "diversity", flats_model, other, flats, "--target", "rent")
    assert code == 0
    assert "squared error of their average = mean error of the members - their ambiguity" in out
    assert "flats, tree" in out


def test_diversity_of_a_single_model(flats, flats_model, capsys):
    code, _, err = run(capsys, "diversity", flats_model, flats)
    assert code == 2
    assert "name a forest, or several models" in err


# --- info and completion ---


def test_info_of_a_model(pets_model, capsys):
    code, out, _ = run(capsys, "info", pets_model)
    assert code == 0
    assert "model      RandomForestClassifier (classification)" in out
    assert "classes    'cat', 'dog'" in out
    assert "category (2 values)" in out
    code, out, _ = run(capsys, "info", pets_model, "--json")
    found = json.loads(out)
    assert found["trees"] == 5
    assert [entry["name"] for entry in found["features"]] == ["weight", "home"]
    assert sum(entry["importance"] for entry in found["features"]) == pytest.approx(1)


def test_info_of_something_else(pets, capsys):
    code, _, err = run(capsys, "info", pets)
    assert code == 2
    assert "not a sumwise model file" in err
