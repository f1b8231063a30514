"""Samples of streams: uniform, without replacement, and the same for the same generator."""

import numpy as np
import pytest

from kmle.numerics.reservoir import reservoir_places


@pytest.mark.parametrize(
    ("n", "size"), [(1, 1), (5, 9), (10, 10), (11, 10), (1000, 10), (100_000, 7), (30_000, 20_000)]
)
def test_places_are_distinct_and_in_order(n, size):
    places = reservoir_places(n, size, np.random.default_rng(1))
    assert len(places) == min(n, size)
    assert (np.diff(places) > 0).all()
    assert places[0] >= 0
    assert places[-1] < n


def test_every_row_is_drawn_as_often_as_any_other():
    n, size, draws = 60, 12, 4000
    rng = np.random.default_rng(2)
    counts = np.bincount(np.concatenate([reservoir_places(n, size, rng) for _ in range(draws)]), minlength=n)
    expected = draws * size / n
    # Draws without replacement: the counts' variance is that of a binomial.
    spread = np.sqrt(expected * (1 - size / n))
    assert np.abs(counts - expected).max() < 4.5 * spread
    assert ((counts - expected) ** 2).sum() / spread**2 < n + 5 * np.sqrt(2 * n)


def test_a_long_stream_is_sampled_from_end_to_end():
    places = reservoir_places(10**12, 1000, np.random.default_rng(3))
    assert np.quantile(places, [0.1, 0.5, 0.9]) == pytest.approx([1e11, 5e11, 9e11], rel=0.4)


def test_more_rows_only_replace():
    """What is held after n rows is what is held after more, less what the further rows replaced."""
    few = reservoir_places(5_000, 100, np.random.default_rng(4))
    more = reservoir_places(20_000, 100, np.random.default_rng(4))
    assert set(more[more < 5_000]) <= set(few)
