"""Amplitudes of grey pictures: known mixtures are found again."""

import numpy as np
import pytest

from images.scenes import scene
from kmle.families import Weibull
from kmle.images import segment_amplitude
from kmle.palette import PALETTE

SIDE = 96
SCALES = np.array([0.05, 0.2])


def speckle(seed=0):
    """Simulated: a bright disc in a dark ground, amplitudes by Rayleigh's law, rounded to 8 bits."""
    y, x = np.mgrid[:SIDE, :SIDE] / SIDE - 0.5
    inside = x**2 + y**2 < 0.1
    amplitudes = np.random.default_rng(seed).rayleigh(SCALES[inside.astype(int)])
    return np.rint(np.clip(amplitudes, 0, 1) * 255).astype(np.uint8), inside


def test_scales_are_found_again():
    image, inside = speckle()
    found = segment_amplitude(image, 2)
    np.testing.assert_allclose(found.mixture.source["scale"].ravel(), SCALES, rtol=0.05)
    np.testing.assert_allclose(found.mixture.weights, [1 - inside.mean(), inside.mean()], atol=0.03)
    assert found.means[0] < found.means[1]


def test_a_window_finds_the_disc():
    image, inside = speckle()
    single, windowed = (segment_amplitude(image, 2, window=window).labels for window in (1, 7))
    assert (windowed == inside).mean() > 0.94
    assert (windowed == inside).mean() > (single == inside).mean() + 0.03


@pytest.mark.parametrize("family", ["rayleigh", "gamma", "weibull"])
@pytest.mark.parametrize("algorithm", ["em", "k-mle"])
def test_every_family(family, algorithm):
    image, inside = speckle()
    found = segment_amplitude(image, 2, family=family, algorithm=algorithm, window=5)
    assert (found.labels == inside).mean() > 0.9
    assert found.image().shape == (SIDE, SIDE, 3)


def test_segments_have_colours_and_a_legend():
    image, _ = speckle()
    found = segment_amplitude(image, 2, window=5)
    drawn = found.segments()
    colours = [tuple(int(colour[at : at + 2], 16) for at in (1, 3, 5)) for colour in PALETTE[:2]]
    for component, colour in enumerate(colours):
        assert (drawn[:SIDE, :SIDE][found.labels == component] == colour).all()
        # A swatch of it stands below the image, beside words.
        assert (drawn[SIDE:] == colour).all(axis=2).sum() > 100
    assert (drawn[SIDE:] < 100).all(axis=2).any()


def test_the_weibull_shape_of_rayleigh_amplitudes_is_two():
    found = segment_amplitude(speckle()[0], 2, family="weibull")
    assert found.mixture.family.shape == 2
    assert "shape" in found.notes[0]


def test_a_family_object_is_taken_as_it_is():
    assert segment_amplitude(speckle()[0], 2, family=Weibull(shape=1.5)).mixture.family.shape == 1.5


def test_colours_become_grey_with_a_note():
    assert segment_amplitude(scene(), 2).notes == ("Colours were converted to grey.",)


@pytest.mark.parametrize("level", [0.0, 1.0])
def test_a_single_level(level):
    assert (segment_amplitude(np.full((5, 5), level), 1).labels == 0).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"family": "gaussian"}, "family is 'gaussian'"), ({"window": 4}, "window is 4"), ({"window": 0}, "window is 0")],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        segment_amplitude(speckle()[0], 2, **arguments)
