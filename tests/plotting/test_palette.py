"""Colours: the same everywhere, distinct however many, told apart by every kind of colour vision."""

import numpy as np
import pytest

from kmle.palette import PALETTE, colours, dark_colours, visible_distances


@pytest.mark.parametrize("count", [1, 2, 8, 9, 20, 40, 200])
def test_colours_are_distinct_and_do_not_change_with_their_number(count):
    assert len(set(colours(count))) == len(set(dark_colours(count))) == count
    assert colours(count) == colours(300)[:count]
    assert dark_colours(count) == dark_colours(300)[:count]


def test_the_first_are_those_of_okabe_and_ito():
    assert tuple(colours(8)) == PALETTE


@pytest.mark.parametrize(("draw", "least"), [(colours, 0.06), (dark_colours, 0.035)])
def test_every_kind_of_eye_tells_two_dozen_apart(draw, least):
    distances = visible_distances(draw(24))
    assert distances[~np.eye(24, dtype=bool)].min() > least


def test_the_measure_knows_what_red_green_blindness_is():
    # Red and green of the same lightness: far apart for most, close for some.
    hard, easy = visible_distances(["#c00000", "#5a6a00"])[0, 1], visible_distances(["#0000c0", "#c0c000"])[0, 1]
    assert hard < 0.2 * easy


def test_page_and_plot_have_the_same_colours():
    from kmle.report.figure import palettes

    for count in (3, 8, 9, 30):
        assert palettes(count)["light"] == colours(count)
