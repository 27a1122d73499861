"""Fits on many threads, in many threads and processes, and fits that fail or are interrupted."""

import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from joblib import Parallel, delayed, parallel_config
from sklearn.exceptions import NotFittedError

from sumwise import GradientBoostingClassifier, GradientBoostingRegressor, Subsample
from sumwise.estimators.input import jobs
from sumwise.tree import grower


@pytest.fixture
def eight_cpus(monkeypatch, all_cpus):
    """Work for eight threads, however few CPUs there are."""
    monkeypatch.setattr(jobs, "count_cpus", lambda: 8)
    monkeypatch.setattr(jobs, "STEPS_PER_THREAD", 1)
    monkeypatch.setattr(jobs, "count_growers", lambda n_values: 99)


@pytest.fixture(params=["short", "long"])
def length(request, monkeypatch):
    """Whether the calling thread works or waits."""
    monkeypatch.setattr(jobs, "LONG_STEPS", 1 if request.param == "long" else 10**18)


def make_table(n_rows=3000):
    rng = np.random.default_rng(n_rows)
    X = rng.normal(size=(n_rows, 20))
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, np.nan_to_num(X[:, 0]) + rng.normal(size=n_rows)


def make_model(**params):
    """A model of few leaves: threads that share their CPUs with others wait long at barriers."""
    own = {"n_estimators": 3, "max_leaves": 8, "sampler": Subsample(0.8), "random_state": 1}
    return GradientBoostingRegressor(**{**own, **params})


@pytest.mark.parametrize("growth", ["leaf", "depth", "symmetric"])
def test_more_threads_than_cpus_change_no_byte(growth, eight_cpus, length, bytes_of):
    X, y = make_table()
    alone, crowd = (make_model(growth=growth, n_jobs=n).fit(X, y) for n in (1, 8))
    assert bytes_of(alone) == bytes_of(crowd)
    assert np.array_equal(alone.predict(X), crowd.predict(X))


def test_no_more_threads_than_cpus(monkeypatch):
    seen = []

    class RecordedTeam(jobs.Team):
        def run(self, kernel, *args):
            seen.append(self.n_threads)
            super().run(kernel, *args)

    monkeypatch.setattr(jobs, "Team", RecordedTeam)
    monkeypatch.setattr(jobs, "STEPS_PER_THREAD", 1)
    monkeypatch.setattr(jobs, "count_growers", lambda n_values: 99)
    monkeypatch.setattr(jobs, "count_cpus", lambda: 3)
    X, y = make_table()
    make_model(n_jobs=1000).fit(X, y).predict(X)
    assert set(seen) == {3}


def test_many_threads_fit_and_predict_at_once(eight_cpus, length, bytes_of):
    n_jobs = [1, 2, None, 8] * 4
    tables = [make_table(1000 + 100 * i) for i in range(4)]
    expected = [make_model(n_jobs=1).fit(*table) for table in tables]
    files = [bytes_of(model) for model in expected]
    predictions = [model.predict(tables[0][0]) for model in expected]

    def fit_and_predict(i):
        model = make_model(n_jobs=n_jobs[i]).fit(*tables[i % 4])
        same_model = expected[i % 4].predict(tables[0][0])  # one model for four threads
        return model, model.predict(tables[0][0]), same_model

    with ThreadPoolExecutor(16) as pool:
        results = list(pool.map(fit_and_predict, range(16)))
    for i, (model, prediction, again) in enumerate(results):
        assert bytes_of(model) == files[i % 4]
        assert np.array_equal(prediction, predictions[i % 4])
        assert np.array_equal(again, predictions[i % 4])
    assert jobs._taken.n_threads == 0


# Processes


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_fit_in_a_forked_child_while_others_fit(eight_cpus, length, tmp_path):
    X, y = make_table()
    expected = make_model().fit(X, y).predict(X)
    stages = make_model().fit(X, y).staged_predict(X)
    next(stages)  # a team that was begun by the parent
    with ThreadPoolExecutor(2) as pool:
        fits = [pool.submit(make_model(n_estimators=30).fit, X, y) for _ in range(2)]
        child = os.fork()
        if child == 0:
            try:
                np.save(tmp_path / "child.npy", make_model().fit(X, y).predict(X))
                np.save(tmp_path / "stages.npy", list(stages)[-1])
            finally:
                os._exit(0)
        assert all(fit.result(120).n_trees_ == 30 for fit in fits)
    os.waitpid(child, 0)
    assert np.array_equal(np.load(tmp_path / "child.npy"), expected)
    assert np.array_equal(np.load(tmp_path / "stages.npy"), expected)
    assert np.array_equal(list(stages)[-1], expected)


FORKED_EARLY = textwrap.dedent(
    """
    import os, threading, time
    import numpy as np
    from sumwise import GradientBoostingRegressor

    def fit():
        X = np.arange(900.0).reshape(300, 3)
        GradientBoostingRegressor(n_estimators=2).fit(X, X[:, 0]).predict(X)

    first = threading.Thread(target=fit)  # loads its kernels, or compiles them
    first.start()
    children = []
    for _ in range(4):
        time.sleep(0.01)
        children.append(os.fork())
        if children[-1] == 0:
            fit()
            os._exit(7)
    first.join()
    print([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children])
    """
)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_fork_while_another_thread_loads_its_first_kernels():
    make_model(n_estimators=2).fit(*make_table(300))
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKED_EARLY],
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert (done.stdout, done.stderr) == ("[7, 7, 7, 7]\n", "")


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_fit_in_processes(method, bytes_of):
    X, y = make_table(20_000)
    model = make_model().fit(X, y)
    n_processes = 2 if method == "fork" else 1  # others import everything anew, for seconds
    with multiprocessing.get_context(method).Pool(n_processes) as pool:
        results = [pool.apply_async(make_model().fit, (X, y)) for _ in range(2)]
        fitted = [result.get(120) for result in results]
        assert [bytes_of(each) for each in fitted] == [bytes_of(model)] * 2
        assert np.array_equal(pool.apply_async(model.predict, (X,)).get(120), model.predict(X))


@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_fit_under_joblib(backend, bytes_of):
    X, y = make_table(20_000)
    model = make_model().fit(X, y)
    with parallel_config(backend=backend, n_jobs=2):
        fitted = Parallel()(delayed(make_model(n_jobs=-1).fit)(X, y) for _ in range(4))
        predictions = Parallel()(delayed(model.predict)(X) for _ in range(4))
    assert [bytes_of(each) for each in fitted] == [bytes_of(model)] * 4
    assert all(np.array_equal(each, model.predict(X)) for each in predictions)


# Failures


@pytest.mark.parametrize("who", [0, 1, 7])
def test_a_kernel_that_fails_in_one_thread_ends_the_fit(who, eight_cpus, length, monkeypatch):
    def fail_once(thread, *args):
        if thread == who:
            raise MemoryError("in one thread")
        return grow(thread, *args)

    grow = grower.grow_best_first_tree
    X, y = make_table()
    model = make_model(n_jobs=8).fit(X, y)
    expected = model.predict(X)
    with monkeypatch.context() as patch:
        patch.setattr(grower, "grow_best_first_tree", fail_once)
        with pytest.raises(MemoryError, match="in one thread"):
            model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)
    assert jobs._taken.n_threads == 0
    assert np.array_equal(model.fit(X, y).predict(X), expected)


# Each line of standard input is a fit.
INTERRUPTED = textwrap.dedent(
    """
    import sys
    import numpy as np
    from sklearn.exceptions import NotFittedError
    from sumwise import GradientBoostingRegressor

    table = np.random.default_rng(0).normal(size=(400_000, 30)).astype(np.float32)
    for line in sys.stdin:
        n_rows, growth, max_leaves, n_jobs = line.split()
        X = table[: int(n_rows)]
        y = X[:, 0] * X[:, 1]
        model = GradientBoostingRegressor(n_estimators=2, n_jobs=int(n_jobs))
        model.fit(X[:1000], y[:1000])
        model.set_params(
            n_estimators=10**9, growth=growth, max_leaves=int(max_leaves), min_samples_leaf=1,
            verbose=True,  # its lines tell when to interrupt
        )
        try:
            model.fit(X, y)
        except KeyboardInterrupt:
            print("interrupted", end=", ")
        try:
            model.predict(X)
        except NotFittedError:
            print("not fitted", end=", ")
        model.set_params(n_estimators=2, max_leaves=4, verbose=False)
        print("then", model.fit(X[:1000], y[:1000]).predict(X[:5]).shape, model.n_trees_)
        print("done", file=sys.stderr)
    """
)
INTERRUPTS = [(1000, "leaf", 31, 2), (400_000, "leaf", 31, 1), (400_000, "symmetric", 4096, 2)]


@pytest.mark.skipif(sys.platform == "win32", reason="signals are different there")
def test_an_interrupt_ends_a_fit(all_cpus):
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        for case in INTERRUPTS:
            print(*case, file=process.stdin, flush=True)
            assert process.stderr.readline().startswith("round 1/")
            process.send_signal(signal.SIGINT)
            while process.stderr.readline().startswith("round "):
                pass  # more rounds, until the signal came
        output, _ = process.communicate(timeout=120)
    finally:
        process.kill()
        process.wait()
    assert output == "interrupted, not fitted, then (5,) 2\n" * len(INTERRUPTS)
    assert process.returncode == 0


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_error_of_the_watcher_ends_a_fit(n_jobs, eight_cpus, length, monkeypatch):
    """What is raised between the kernels, too, leaves no model and no threads taken."""

    def refuse(text):
        raise OSError("no one listens")

    X, y = make_table()
    model = GradientBoostingClassifier(n_estimators=2, verbose=True, n_jobs=n_jobs)
    monkeypatch.setattr(sys.stderr, "write", refuse)
    with pytest.raises(OSError, match="no one listens"):
        model.fit(X, y > 0)
    monkeypatch.undo()
    assert not hasattr(model, "ensemble_")
    assert jobs._taken.n_threads == 0
