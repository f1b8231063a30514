"""Blocks shared between threads: each is done once, and what goes wrong in one is not lost."""

import numpy as np
import pytest

from kmle.assignment.rows import Rows
from kmle.assignment.sorted import SortedEngine
from kmle.assignment.threads import for_each
from kmle.families import Gamma


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
    assert np.array_equal(cells.cuts, found.cuts)
    assert np.array_equal(cells.labels, found.labels)
    assert np.array_equal(statistics.sums, sums.sums)
