"""Lines of equal density agree with matplotlib's, and hold the shares of the mass they should."""

import numpy as np
import pytest

from kmle.plotting.contours import level_lines, mass_levels

pytest.importorskip("matplotlib")


def bumps(shape=(41, 57)):
    y, x = np.mgrid[: shape[0], : shape[1]]
    first = np.exp(-((x - 15) ** 2 / 60 + (y - 12) ** 2 / 30))
    return first + 0.7 * np.exp(-((x - 40) ** 2 + 0.5 * (x - 40) * (y - 28) + (y - 28) ** 2) / 50)


def enclosed(lines):
    """Twice the signed areas inside closed lines, summed by size."""
    return sum(abs(np.dot(r, np.roll(c, -1)) - np.dot(c, np.roll(r, -1))) for r, c in (line.T for line in lines))


@pytest.mark.parametrize("level", [0.05, 0.3, 0.5, 0.65, 0.9])
def test_lines_are_those_of_matplotlib(level):
    import contourpy

    ours = level_lines(bumps(), level)
    theirs = contourpy.contour_generator(z=bumps()).lines(level)
    assert len(ours) == len(theirs)
    assert enclosed(ours) == pytest.approx(enclosed([line[:, ::-1] for line in theirs]), rel=1e-9)
    assert sorted(len(line) for line in ours) == sorted(len(line) for line in theirs)


def test_lines_end_at_the_edge_and_at_holes():
    density = np.tile(np.arange(6.0), (5, 1))
    (line,) = level_lines(density, 2.5)
    np.testing.assert_allclose(line[:, 1], 2.5)
    assert sorted(line[:, 0]) == [0, 1, 2, 3, 4]
    density[2, 2] = np.nan
    lines = level_lines(density, 2.5)
    assert sorted(row for line in lines for row in line[:, 0]) == [0, 1, 3, 4]


def test_a_saddle_joins_the_corners_its_middle_belongs_to():
    high = level_lines(np.array([[1.0, 0.0], [0.0, 1.0]]), 0.4)
    low = level_lines(np.array([[1.0, 0.0], [0.0, 1.0]]), 0.6)
    assert len(high) == len(low) == 2
    # Above the level in the middle, the lines cut off the low corners; below it, the high ones.
    assert all(min(abs(line.mean(axis=0) - corner).max() for corner in ([0, 1], [1, 0])) < 0.5 for line in high)
    assert all(min(abs(line.mean(axis=0) - corner).max() for corner in ([0, 0], [1, 1])) < 0.5 for line in low)


def test_levels_hold_their_share():
    density = bumps()
    for share in (0.3, 0.6, 0.9):
        (level,) = mass_levels(density, [share])
        assert density[density >= level].sum() / density.sum() == pytest.approx(share, abs=0.01)
    assert mass_levels(np.zeros((3, 3)), [0.5]).size == 0
