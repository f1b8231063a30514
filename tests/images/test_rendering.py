"""Pictures made from models: the paper's figures."""

import numpy as np
import pytest
from scipy.integrate import quad

from images.scenes import quarters, scene, slope, which_quarter
from kmle.images import (
    ImageMixture,
    contact_sheet,
    ellipses,
    figure,
    mosaic,
    panels,
    patch_sheet,
    reconstructed,
    sampled,
    segmentation,
    voronoi,
    voronoi_labels,
    with_boundaries,
)
from kmle.images.points import levels_of
from kmle.images.rendering import boundaries

FOUR = ImageMixture.fit(quarters(), 4)
SCENE = ImageMixture.fit(scene(), 6)
PATCHES = ImageMixture.fit(scene(), 4, patch=4)


def test_segmentation_of_flat_squares_is_the_picture():
    np.testing.assert_allclose(segmentation(FOUR, quarters()) / 255, quarters(), atol=0.01)


def test_voronoi_cells_of_equal_squares_are_the_squares():
    cells = voronoi_labels(FOUR)
    assert all(len(np.unique(cells[which_quarter() == quarter])) == 1 for quarter in range(4))
    np.testing.assert_allclose(voronoi(FOUR) / 255, quarters(), atol=0.01)
    assert (voronoi(FOUR, borders=True)[boundaries(cells)] == 0).all()


def test_voronoi_cells_are_where_weight_times_density_is_largest():
    cells = voronoi_labels(SCENE, (10, 20))
    place = np.array([[(3 + 0.5) / 10, (17 + 0.5) / 20]])
    assert cells.shape == (20, 10)
    assert cells[17, 3] == SCENE.positions.log_joint(place).argmax()


def test_reconstruction_is_the_mean_of_the_conditional_density():
    """E[level | x, y] by quadrature over the joint density, which knows nothing of conditional Gaussians."""
    grey = scene()[:, :, 0]
    model = ImageMixture.fit(grey, 3)
    shown = reconstructed(model)
    for row, column in [(10, 12), (40, 33), (32, 20)]:
        place = [(column + 0.5) / 64, (row + 0.5) / 64]

        def density(level, place=place):
            return np.exp(model.mixture.log_density([[*place, level]]))[0]

        mass = quad(density, -1, 2, limit=400, points=[0.3, 0.5, 0.8])[0]
        mean = quad(lambda level, f=density: level * f(level), -1, 2, limit=400, points=[0.3, 0.5, 0.8])[0] / mass
        assert shown[row, column, 0] == pytest.approx(255 * levels_of(np.array(mean)), abs=1)


def test_one_component_reconstructs_a_plane():
    shown = reconstructed(ImageMixture.fit(slope(), 1))
    np.testing.assert_allclose(shown[:, :, 0] / 255, slope(), atol=0.01)


@pytest.mark.parametrize("make", [reconstructed, sampled, voronoi])
@pytest.mark.parametrize("model", [SCENE, PATCHES])
def test_any_resolution(make, model):
    assert make(model, (50, 21)).shape == (21, 50, 3)
    assert make(model).shape == (64, 64, 3)
    with pytest.raises(ValueError, match="size is 0 x 3"):
        make(model, (0, 3))


def test_many_draws_come_close_to_the_reconstruction():
    few, many = (
        np.abs(sampled(SCENE, (16, 16), draws=draws).astype(float) - reconstructed(SCENE, (16, 16))).mean()
        for draws in (1, 400)
    )
    assert many < 6
    assert many < few / 3


def test_smooth_samples_vary_less():
    rough, smooth = (np.abs(np.diff(sampled(SCENE, smooth=s).astype(float), axis=0)).mean() for s in (0.0, 2.0))
    assert smooth < rough / 2


def test_samples_follow_their_seed():
    assert np.array_equal(sampled(SCENE, random_state=1), sampled(SCENE, random_state=1))
    assert not np.array_equal(sampled(SCENE, random_state=1), sampled(SCENE, random_state=2))


@pytest.mark.parametrize(("draws", "smooth"), [(0, 0), (1, -1), (np.nan, 0)])
def test_bad_draws(draws, smooth):
    with pytest.raises(ValueError, match="draws"):
        sampled(SCENE, draws=draws, smooth=smooth)


def test_mosaic_is_made_of_mean_patches():
    tile = mosaic(PATCHES, scene())[8:12, 20:24]
    label = PATCHES.labels(scene())[2, 5]
    np.testing.assert_allclose(tile / 255, PATCHES.patches[label], atol=0.003)


def test_patches_reconstruct_far_more_than_the_mean_colour():
    missed = np.abs(reconstructed(PATCHES) / 255 - scene()).mean()
    assert missed < 0.6 * np.abs(scene().mean(axis=(0, 1)) - scene()).mean()


def test_patch_sheet_shows_every_patch():
    sheet = patch_sheet(PATCHES, zoom=2, contrast=False)
    assert sheet.shape == (2 * 10, 3 * 10, 3)
    heaviest = PATCHES.patches[PATCHES.mixture.weights.argmax()]
    np.testing.assert_allclose(sheet[1:9:2, 1:9:2] / 255, heaviest, atol=0.003)


def test_mean_patches_are_shown_with_contrast():
    sheet = patch_sheet(PATCHES, zoom=2)
    heaviest = PATCHES.patches[PATCHES.mixture.weights.argmax()]
    shown = sheet[1:9:2, 1:9:2] / 255
    factor = np.ptp(shown) / np.ptp(heaviest)
    assert 1.0 < factor <= 12.0
    # The pattern stays the same: deviations from the mean are all larger by one factor.
    away, shown_away = (patch - patch.mean(axis=(0, 1)) for patch in (heaviest, shown))
    largest = np.abs(shown_away).max()
    np.testing.assert_allclose(shown_away, away * largest / np.abs(away).max(), atol=0.01)
    assert largest == pytest.approx(0.35, abs=0.01) or largest < 0.35


def test_ellipses_go_through_their_points():
    drawn = ellipses(FOUR, radius=1.5)
    assert drawn.shape == (32, 32, 3)
    spread = np.sqrt(FOUR.covariance[0, 0, 0]) * FOUR.unit
    x, y = FOUR.mean[0, :2] * FOUR.unit
    assert drawn[int(y), int(x + 1.5 * spread)].min() < 200
    assert drawn[int(y), int(x)].min() == 255
    with pytest.raises(ValueError, match="radius is 0"):
        ellipses(FOUR, radius=0)


def test_boundaries_are_drawn_where_labels_change():
    drawn = with_boundaries(quarters(), which_quarter(), (1, 2, 3))
    assert (drawn == [1, 2, 3]).all(axis=2).sum() == 63
    with pytest.raises(ValueError, match="do not fit"):
        with_boundaries(quarters(), which_quarter(16))


@pytest.mark.parametrize(("model", "count"), [(SCENE, 6), (PATCHES, 8)])
def test_contact_sheet(model, count):
    shown = panels(model, scene())
    assert len(shown) == count
    sheet = contact_sheet(shown, cell=64)
    assert sheet.shape[1] >= 3 * 64
    assert (sheet[8 + 26 : 8 + 26 + 64, 8 : 8 + 64] == shown["image"]).all()
    with pytest.raises(ValueError, match="at least one image"):
        contact_sheet({})


def test_grey_pictures_have_all_panels():
    assert all(pixels.shape[2] == 3 for pixels in panels(ImageMixture.fit(slope(), 2), slope()).values())


def test_the_figure_is_the_sheet_of_all_panels():
    np.testing.assert_array_equal(figure(SCENE, scene()), contact_sheet(panels(SCENE, scene())))


def test_the_figure_of_a_large_picture_is_drawn_small():
    large = np.tile(scene(), (1, 20, 1))
    shown = panels(ImageMixture.fit(large, 3), large, size=(512, 26))
    assert shown["sample"].shape == shown["Voronoi diagram"].shape == (26, 512, 3)
    assert shown["image"].shape == (64, 1280, 3)
