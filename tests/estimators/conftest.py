"""What the tests of estimators share."""

import pytest


@pytest.fixture
def bytes_of(tmp_path):
    """A function from a fitted model to the bytes of its file."""

    def save(model):
        path = tmp_path / "model.sumwise"
        model.save(path)
        return path.read_bytes()

    return save
