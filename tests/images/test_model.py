"""The mixture of a picture: what it learns, what it says, its files."""

import numpy as np
import pytest
from PIL import Image
from sklearn.mixture import GaussianMixture

from images.scenes import quarters, scene, slope, which_quarter
from kmle import Mixture
from kmle.images import ImageData, ImageMixture
from kmle.images.points import anchors, levels_of, points


def test_four_flat_squares_are_found():
    model = ImageMixture.fit(quarters(), 4)
    labels = model.labels(quarters())
    for quarter in range(4):
        own = labels[which_quarter() == quarter]
        assert (own == own[0]).all()
        np.testing.assert_allclose(model.colours[own[0]], quarters()[which_quarter() == quarter][0], atol=0.01)
    np.testing.assert_allclose(model.mixture.weights, 0.25, atol=1e-3)


def test_middles_of_the_squares():
    model = ImageMixture.fit(quarters(), 4)
    middles = sorted((model.mean[:, :2] * model.unit).round(0).tolist())
    assert middles == [[8, 8], [8, 24], [24, 8], [24, 24]]


def test_points_hold_position_and_colour():
    image = ImageData(scene(16)[:, :12])
    rows, columns = anchors(image, 1, 1)
    table = points(image, rows, columns, 1, 2.0)
    assert table.shape == (16 * 12, 5)
    np.testing.assert_allclose(table[5 * 12 + 7, :2], [2 * 7.5 / 16, 2 * 5.5 / 16])
    np.testing.assert_allclose(levels_of(table[5 * 12 + 7, 2:]), image.levels[5, 7])


def test_patches_are_small_pictures():
    image = ImageData(scene(16))
    rows, columns = anchors(image, 4, 2)
    assert len(rows) == 49
    table = points(image, rows, columns, 4, 1.0)
    assert table.shape == (49, 2 + 3 * 16)
    patch = levels_of(table[7 * 2 + 3, 2:]).reshape(4, 4, 3)
    np.testing.assert_allclose(patch, image.levels[4:8, 6:10])


def test_noise_stays_within_the_pixel_and_its_level():
    image = ImageData(scene(16))
    rows, columns = anchors(image, 1, 1)
    still = points(image, rows, columns, 1, 1.0)
    spread = points(image, rows, columns, 1, 1.0, np.random.default_rng(0))
    assert np.abs(spread - still)[:, :2].max() <= 0.5 / 16
    assert np.abs(spread - still)[:, 2:].max() <= 0.5 / 256


def test_grey_has_three_columns():
    model = ImageMixture.fit(slope(), 2)
    assert model.mixture.family.n_features == 3
    assert model.patches.shape == (2, 1, 1, 1)


@pytest.mark.parametrize("algorithm", ["k-mle", "hard-em", "hartigan", "online", "em", "sparse-em"])
def test_every_algorithm(algorithm):
    model = ImageMixture.fit(scene(), 5, algorithm=algorithm)
    single = ImageMixture.fit(scene(), 1)
    assert model.score(scene()) > single.score(scene()) + 1


def test_by_default_single_pixels_are_learned_by_em_and_wide_patches_by_k_mle():
    assert ImageMixture.fit(scene(), 4).mixture == ImageMixture.fit(scene(), 4, algorithm="em").mixture
    small = scene(24)
    assert ImageMixture.fit(small, 4, patch=3).mixture == ImageMixture.fit(small, 4, patch=3, algorithm="k-mle").mixture


@pytest.mark.parametrize("seed", range(3))
def test_no_less_likely_than_the_peer_on_the_same_points(seed):
    image = ImageData(scene())
    table = points(image, *anchors(image, 1, 1), 1, 1.0, np.random.default_rng(seed))
    peer = GaussianMixture(8, random_state=seed).fit(table)
    assert ImageMixture.fit(image, 8, random_state=seed).mixture.log_density(table).mean() > peer.score(table)


def test_as_many_components_as_pixels():
    tiny = scene(3)
    assert 1 <= ImageMixture.fit(tiny, 9).n_components <= 9


@pytest.mark.parametrize("family", ["gaussian", "diagonal-gaussian", "spherical-gaussian"])
def test_every_family_has_covariances(family):
    model = ImageMixture.fit(scene(), 3, family=family)
    d = model.mean.shape[1]
    assert model.covariance.shape == (3, d, d)
    same = Mixture.from_source("gaussian", model.mixture.weights, mean=model.mean, covariance=model.covariance)
    rows = model.mixture.sample(5, 0)
    np.testing.assert_allclose(same.log_density(rows), model.mixture.log_density(rows))


def test_the_larger_the_scale_the_more_position_counts():
    def extent(scale):
        model = ImageMixture.fit(scene(), 8, family="spherical-gaussian", scale=scale)
        return np.median(np.sqrt(model.covariance[:, 0, 0]) / scale)

    assert extent(4.0) < extent(0.25)


def test_the_same_seed_gives_the_same_model():
    first, again = (ImageMixture.fit(scene(), 4, random_state=3, n_jobs=1) for _ in range(2))
    assert first.mixture == again.mixture


def test_a_part_of_the_points_with_a_note():
    model = ImageMixture.fit(scene(), 4, max_points=500)
    assert model.notes == ("Fitted to 500 of 4096 points, drawn at random.",)
    assert model.score(scene()) > ImageMixture.fit(scene(), 1).score(scene())


@pytest.mark.parametrize("level", [0.0, 0.4, 1.0])
def test_a_single_colour(level):
    flat = np.full((20, 30, 3), level)
    model = ImageMixture.fit(flat, 3)
    np.testing.assert_allclose(model.colours, level, atol=0.01)
    assert np.isfinite(model.score(flat))


def test_a_single_pixel():
    model = ImageMixture.fit([[0.25]], 1)
    assert model.labels([[0.25]]).tolist() == [[0]]
    with pytest.raises(ValueError, match="use fewer components"):
        ImageMixture.fit([[0.25]], 2)


def test_labels_of_tiles_reach_the_border():
    model = ImageMixture.fit(scene(30), 3, patch=4)
    assert model.labels(scene(30)).shape == (8, 8)


def test_a_file_round_trip(tmp_path):
    model = ImageMixture.fit(scene(), 6, scale=2.0)
    size = model.save(tmp_path / "model.npz")
    assert size == (tmp_path / "model.npz").stat().st_size < 2000
    again = ImageMixture.load(tmp_path / "model.npz")
    assert (again.width, again.height, again.channels, again.patch, again.scale) == (64, 64, 3, 1, 2.0)
    np.testing.assert_allclose(again.mean, model.mean, rtol=1e-6)
    np.testing.assert_allclose(again.score(scene()), model.score(scene()), atol=1e-4)


def test_files_that_are_no_models(tmp_path):
    path = tmp_path / "model.npz"
    for content in (b"", b"words", b"PK\x03\x04"):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="not a valid image model"):
            ImageMixture.load(path)
    with path.open("wb") as file:
        np.savez(file, facts=np.array([1.0, 4, 4, 3, 1, 1]), laws=np.ones((2, 3)))
    with pytest.raises(ValueError, match="shape"):
        ImageMixture.load(path)
    with path.open("wb") as file:
        np.savez(file, facts=np.array([9.0, 4, 4, 3, 1, 1]), laws=np.ones((2, 21)))
    with pytest.raises(ValueError, match="version 9"):
        ImageMixture.load(path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_components": 0}, "n_components is 0"),
        ({"patch": 0}, "patch is 0"),
        ({"patch": 100}, "patch is 100, but the image has 64 x 64"),
        ({"scale": 0.0}, "scale is 0"),
        ({"family": "poisson"}, "family is 'poisson'"),
        ({"algorithm": "magic"}, "algorithm is 'magic': it must be one of em, "),
        ({"stride": 0}, "stride is 0"),
        ({"max_points": 1}, "max_points is 1"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        ImageMixture.fit(scene(), **arguments)


def test_another_picture_is_refused():
    model = ImageMixture.fit(scene(), 2)
    with pytest.raises(ValueError, match="64 x 64 pixels with 3 channels, but the image has 32 x 32"):
        model.labels(scene(32))


def test_from_a_file(tmp_path):
    Image.fromarray((scene() * 255).astype(np.uint8)).save(tmp_path / "scene.png")
    assert ImageMixture.fit(tmp_path / "scene.png", 2).n_components == 2
