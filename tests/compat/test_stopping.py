from sumwise.compat.evaluation import Entry
from sumwise.compat.stopping import Patience


def entries(*values, higher=False):
    return [Entry("set", f"m{k}", value, higher) for k, value in enumerate(values)]


def run(stopper, rounds):
    for number, values in enumerate(rounds, start=1):
        if stopper(number, values):
            return number
    return None


def test_it_stops_after_rounds_without_improvement():
    stopper = Patience(2, lambda found: found)
    assert run(stopper, [entries(v) for v in (3.0, 2.0, 2.5, 2.0, 1.0)]) == 4
    assert (stopper.best_round, stopper.best_score) == (2, 2.0)


def test_higher_may_be_better():
    stopper = Patience(2, lambda found: found)
    assert run(stopper, [entries(v, higher=True) for v in (1.0, 2.0, 1.5, 3.0)]) is None
    assert stopper.best_round == 4


def test_any_of_several_stops_and_decides():
    stopper = Patience(2, lambda found: found)
    rounds = [entries(*v) for v in ((3.0, 1.0), (2.0, 2.0), (1.0, 3.0))]
    assert run(stopper, rounds) == 3
    assert stopper.best_round == 1
    assert stopper.best_entries == rounds[0]


def test_an_improvement_must_be_large_enough():
    stopper = Patience(2, lambda found: found, min_delta=[0.5])
    assert run(stopper, [entries(v) for v in (3.0, 2.8, 2.6, 2.0)]) == 3
    assert stopper.best_round == 1
