"""The interface of row samplers."""

import pytest

from sumwise import Mvs
from sumwise.sampling import ROW_SAMPLERS, DrawnRows, RowSampler, Subsample
from sumwise.sampling.bootstrap import BootstrapRows


@pytest.mark.parametrize("kind", [*ROW_SAMPLERS, BootstrapRows])
def test_which_samplers_work_among_peers(kind):
    assert kind().works_among_peers is (kind is not Mvs)
    assert "works_among_peers" not in kind().get_params()


def test_samplers_of_users_must_say_that_they_work_among_peers():
    class Own(RowSampler):
        def draw(self, source):
            return DrawnRows(source.rows)

    class Changed(Subsample):
        def draw(self, source):
            return DrawnRows(source.rows)

    class Renamed(Subsample):
        def count_drawn(self, n_rows):
            return n_rows

    class Declared(Changed):
        works_among_peers = True

        def draw(self, source):
            return DrawnRows(source.rows)

    class FromDeclared(Declared):
        pass

    kinds = (Own, Changed, Renamed, Declared, FromDeclared, Subsample)
    assert [kind().works_among_peers for kind in kinds] == [False, False, True, True, True, True]
