"""Tables in pages: what pages share, and what cannot be a page."""

import numpy as np
import pytest

from sumwise.data.binned import BinnedData
from sumwise.data.categories import bins as category_bins
from sumwise.data.categories.bins import CategoryBins, collect_categories
from sumwise.data.categories.set_splits import Native
from sumwise.data.paged import Page, PagedData
from sumwise.kernels.runtime.threads import Team
from sumwise.kernels.table.layout import CATEGORICAL, DENSE

N_VALUE_BINS = np.array([3, 200, 1, 5])
USABLE = np.array([1, 1, 0, 1], dtype=np.uint8)


def make_page(n_rows, usable=USABLE, n_value_bins=N_VALUE_BINS, **more):
    codes = np.random.default_rng(n_rows).integers(0, n_value_bins[:, None] + 1, (4, n_rows))
    with Team(1) as team:
        own = codes.astype(np.uint8)
        return BinnedData.from_columns(own, n_value_bins, team, usable=usable, **more)


def test_rows_and_head():
    pages = [Page(0, make_page(5)), Page(5, make_page(0)), Page(5, make_page(7))]
    data = PagedData(pages, N_VALUE_BINS, USABLE)
    assert (data.n_rows, data.n_features) == (12, 4)
    assert [page.end for page in data.pages] == [5, 5, 12]
    head = data.head
    assert head is data.head
    assert head.n_rows == 0
    assert head.n_features == 4
    assert head.table.bin_start.tolist() == [0, 4, 205, 205, 211]
    assert head.table.lanes.members.tolist() == [0, 1, 3]
    for page in pages:
        assert page.data.table.bin_start.tolist() == head.table.bin_start.tolist()
        assert page.data.usable.tolist() == USABLE.tolist()


def test_given_features_are_usable_on_a_page_of_one_value():
    with Team(1) as team:
        codes = np.ones((4, 3), dtype=np.uint8)
        data = BinnedData.from_columns(codes, N_VALUE_BINS, team, usable=USABLE)
    assert sorted(data.table.lanes.members) == [0, 1, 3]


def test_no_pages():
    data = PagedData([], N_VALUE_BINS, USABLE)
    assert (data.n_rows, data.n_features) == (0, 4)


def test_kinds_of_storage():
    bins = {3: CategoryBins(np.empty(0), np.array([-1, 4, 5, 6, 7, 8], dtype=np.int32), False)}
    categories = collect_categories(bins, np.empty((0, 0), dtype=np.uint32), 4, Native())
    page = Page(0, make_page(9, categories=categories))
    data = PagedData([page], N_VALUE_BINS, USABLE, categories)
    assert data.storage.tolist() == [DENSE, DENSE, DENSE, CATEGORICAL]
    with pytest.raises(ValueError, match="same bins, usable features and categories"):
        PagedData([page], N_VALUE_BINS, USABLE)


@pytest.mark.parametrize(
    "data",
    [
        make_page(5, np.array([1, 1, 1, 1], dtype=np.uint8)),
        make_page(5, n_value_bins=np.array([3, 200, 1, 6])),
    ],
)
def test_pages_must_share_bins(data):
    with pytest.raises(ValueError, match="same bins"):
        PagedData([Page(0, data)], N_VALUE_BINS, USABLE)


def test_pages_must_follow_each_other():
    with pytest.raises(ValueError, match="begins at row 6, but row 5 comes next"):
        PagedData([Page(0, make_page(5)), Page(6, make_page(5))], N_VALUE_BINS, USABLE)


def test_wide_categories_are_refused(monkeypatch):
    monkeypatch.setattr(category_bins, "MAX_NARROW", 3)
    bins = {3: CategoryBins(np.empty(0), np.array([-1, 4, 5, 6, 7, 8], dtype=np.int32), False)}
    categories = collect_categories(bins, np.ones((1, 5), dtype=np.uint32), 4, Native())
    with pytest.raises(ValueError, match="more than 255 bins"):
        PagedData([Page(0, make_page(5))], N_VALUE_BINS, USABLE, categories)
    with pytest.raises(ValueError, match="more than 255 bins"):
        PagedData([], N_VALUE_BINS, USABLE, categories)


def test_mapped_pages(tmp_path):
    page = make_page(5)
    path = tmp_path / "tiles"
    path.write_bytes(page.table.tiles.tobytes())
    assert not PagedData([Page(0, page)], N_VALUE_BINS, USABLE).is_mapped
    tiles = np.memmap(path, dtype=np.uint64, mode="r")
    for own in (tiles, np.asarray(tiles), tiles[:3], np.frombuffer(tiles._mmap, dtype=np.uint64)):
        data = BinnedData(page.table._replace(tiles=own), page.usable)
        assert PagedData([Page(0, data)], N_VALUE_BINS, USABLE).is_mapped
