"""PSNR, SSIM, and what a model of a picture costs."""

import matplotlib as mpl
import numpy as np
import pytest

from images.scenes import quarters, scene, slope
from kmle.images import plot_rate_distortion, psnr, rate_distortion, ssim


def test_psnr_of_a_known_error():
    assert psnr(np.full((4, 4), 0.5), np.full((4, 4), 0.6)) == pytest.approx(20)
    assert psnr(scene(), scene()) == np.inf


def test_ssim_is_one_for_equal_pictures_alone():
    assert ssim(scene(), scene()) == pytest.approx(1)
    noisy = np.clip(scene() + np.random.default_rng(0).normal(0, 0.1, scene().shape), 0, 1)
    assert ssim(scene(), noisy) == pytest.approx(ssim(noisy, scene()))
    assert 0 < ssim(scene(), noisy) < 0.8


def test_ssim_of_two_flat_pictures_is_the_comparison_of_their_light():
    """With no variance the index is (2ab + c) / (a^2 + b^2 + c), c = 0.01^2."""
    assert ssim(np.full((20, 20), 0.3), np.full((20, 20), 0.6)) == pytest.approx((0.36 + 1e-4) / (0.45 + 1e-4))


def test_ssim_of_opposite_stripes_is_negative():
    stripes = np.tile([0.2, 0.8], (20, 10))
    assert ssim(stripes, 1 - stripes) < -0.9


def test_pictures_of_other_sizes_are_refused():
    for measure in (psnr, ssim):
        with pytest.raises(ValueError, match="32 x 32 and 64 x 64"):
            measure(slope(), scene())


def test_more_components_cost_more_and_give_more():
    rates = rate_distortion(scene(), (2, 6, 20))
    assert [rate.n_components for rate in rates] == [2, 6, 20]
    assert rates[0].n_bytes < rates[1].n_bytes < rates[2].n_bytes
    assert rates[0].psnr < rates[2].psnr
    assert rates[0].ssim < rates[2].ssim
    assert rates[0].bits_per_pixel == 8 * rates[0].n_bytes / 64**2


def test_the_plot_shows_every_rate():
    with mpl.rc_context():
        ax = plot_rate_distortion(rate_distortion(quarters(), (1, 4)))
    assert [text.get_text() for text in ax.texts] == ["k = 1", "k = 4"]
    with pytest.raises(ValueError, match="rates is empty"):
        plot_rate_distortion([])
