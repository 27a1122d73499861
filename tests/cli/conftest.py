"""Tables and model files that the tests of commands share."""

import csv

import numpy as np
import pytest

from sumwise import GradientBoostingRegressor, RandomForestClassifier


def write_csv(path, columns):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return path


@pytest.fixture
def flats(tmp_path):
    """A table of flats: an id, numbers, a category with gaps, and a rent."""
    rng = np.random.default_rng(0)
    size = rng.integers(20, 120, 200)
    city = rng.choice(["Bern", "Chur", ""], 200)
    rent = 15.5 * size + 300 * (city == "Bern") + rng.normal(0, 20, 200).round(2)
    columns = {"flat_id": range(1000, 1200), "size": size, "city": city, "rent": rent}
    return write_csv(tmp_path / "flats.csv", columns)


@pytest.fixture
def pets(tmp_path):
    """A table of pets with labels "cat" and "dog"."""
    rng = np.random.default_rng(1)
    weight = rng.uniform(2, 20, 120).round(2)
    label = np.where(weight + rng.normal(0, 2, 120) > 8, "dog", "cat")
    home = rng.choice(["house", "flat"], 120)
    return write_csv(tmp_path / "pets.csv", {"weight": weight, "home": home, "label": label})


@pytest.fixture
def flats_model(flats, tmp_path):
    """A regressor of the flats, saved."""
    from sumwise.cli.reading.files import read_table

    table = read_table(str(flats))
    model = GradientBoostingRegressor(n_estimators=10, n_jobs=1)
    model.fit(table.select(["size", "city"]), table.get("rent")).save(tmp_path / "flats.sumwise")
    return str(tmp_path / "flats.sumwise")


@pytest.fixture
def pets_model(pets, tmp_path):
    """A forest of the pets, saved."""
    from sumwise.cli.reading.files import read_table

    table = read_table(str(pets))
    model = RandomForestClassifier(5, n_jobs=1, random_state=0)
    model.fit(table.select(["weight", "home"]), table.get("label"))
    model.save(tmp_path / "pets.sumwise")
    return str(tmp_path / "pets.sumwise")


@pytest.fixture
def _no_arrow(monkeypatch):
    """An installation without pyarrow."""
    for module in ("files", "table", "delimited"):
        monkeypatch.setattr(f"sumwise.cli.reading.{module}.find_spec", lambda name: None)
