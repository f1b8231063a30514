"""Blocks shared between threads: each is done once, and what goes wrong in one is not lost."""

import os
import warnings

import numpy as np
import pytest

from kmle.data.table import Rows
from kmle.engines.sorted.engine import SortedEngine
from kmle.families import Gamma
from kmle.numerics.threads import for_each


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_every_item_once(n_threads):
    done = np.zeros(100, dtype=int)

    def work(place):
        done[place] += 1

    for_each(work, range(100), n_threads)
    assert (done == 1).all()


@pytest.mark.parametrize("n_threads", [1, 3])
def test_an_error_comes_through(n_threads):
    def work(place):
        if place == 70:
            raise ValueError("seventy")

    with pytest.raises(ValueError, match="seventy"):
        for_each(work, range(100), n_threads)


def test_long_lines_are_the_same_with_any_number_of_threads():
    x = np.random.default_rng(0).gamma(2.0, size=(1_700_000, 1))
    one, two = (SortedEngine(Rows(Gamma().for_data(x), x, n_threads=n)) for n in (1, 2))
    natural = np.array([[1.0, -1.0], [3.0, -1.0]])
    bias = -Gamma().log_normalizer(natural)
    (cells, statistics), (found, sums) = one.hard_pass(natural, bias), two.hard_pass(natural, bias)
    assert np.array_equal(cells.key()[0], found.key()[0])
    assert np.array_equal(cells.labels, found.labels)
    assert np.array_equal(statistics.sums, sums.sums)


def test_calls_within_calls_come_to_an_end():
    seen = []

    def outer(i):
        for_each(lambda j: seen.append((i, j)), range(8), 2, 1)

    for_each(outer, range(200), 100, 1)
    assert sorted(seen) == [(i, j) for i in range(200) for j in range(8)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_has_threads_of_its_own():
    for_each(lambda item: None, range(8), 2, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # forking beside threads is what this is about
        child = os.fork()
    if child == 0:
        seen = []
        for_each(seen.append, range(8), 2, 1)
        os._exit(0 if sorted(seen) == list(range(8)) else 1)
    assert os.waitpid(child, 0)[1] == 0
