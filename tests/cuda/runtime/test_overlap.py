"""Items are used one after the other, each while the next is made."""

import threading

import pytest

from sumwise.cuda.runtime.overlap import use_meanwhile


def test_order_and_overlap():
    made, used = [], []
    second_is_made = threading.Event()

    def make():
        for item in range(5):
            assert len(used) >= item - 1  # a buffer is free
            made.append(item)
            if item == 1:
                second_is_made.set()
            yield item

    def use(item):
        assert item or second_is_made.wait(5)
        used.append(item)

    use_meanwhile(make(), use)
    assert made == used == list(range(5))
    use_meanwhile([], use)


def test_errors_of_both_sides_are_raised():
    def fail(item):
        raise ValueError("of the user")

    with pytest.raises(ValueError, match="of the user"):
        use_meanwhile([1, 2, 3], fail)

    def make():
        yield 1
        raise ValueError("of the maker")

    used = []
    with pytest.raises(ValueError, match="of the maker"):
        use_meanwhile(make(), used.append)
    assert used == [1]
