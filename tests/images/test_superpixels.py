"""Superpixels: connected, close to the asked number, true to the edges."""

import numpy as np
import pytest
from scipy.ndimage import label

from images.scenes import quarters, scene, which_quarter
from kmle.images import Superpixels, superpixels


@pytest.mark.parametrize(("shape", "n"), [((40, 60), 24), ((64, 64), 100), ((1, 50), 7), ((50, 1), 7), ((3, 3), 9)])
def test_pieces_are_connected_and_about_as_many_as_asked(shape, n):
    noise = np.random.default_rng(0).random(shape)
    found = superpixels(noise, n, compactness=0.5)
    assert found.labels.shape == shape
    assert n / 2 <= found.n_segments <= 1.5 * n
    for piece in range(found.n_segments):
        assert label(found.labels == piece)[1] == 1


def test_a_flat_picture_is_cut_into_squares():
    found = superpixels(np.full((40, 40), 0.3), 16)
    assert found.n_segments == 16
    assert (np.bincount(found.labels.ravel()) == 100).all()


def test_no_piece_crosses_a_strong_edge():
    found = superpixels(quarters(60), 25)
    pairs = np.unique(np.column_stack([found.labels.ravel(), which_quarter(60).ravel()]), axis=0)
    assert len(pairs) == found.n_segments


def test_mean_colours():
    found = superpixels(scene(), 30)
    shown = found.mean_colours(scene())
    own = found.labels == 3
    np.testing.assert_allclose(shown[own][0] / 255, scene()[own].mean(axis=0), atol=0.003)
    with pytest.raises(ValueError, match="do not fit"):
        found.mean_colours(scene(32))


def test_label_maps_are_read_back(tmp_path):
    from PIL import Image

    found = superpixels(scene(), 300, compactness=1.0)
    assert found.n_segments > 255
    png, npy = found.save(tmp_path / "labels")
    with Image.open(png) as image:
        assert np.array_equal(np.asarray(image), found.labels)
    assert np.array_equal(np.load(npy), found.labels)


def test_too_many_labels_for_sixteen_bits(tmp_path):
    many = Superpixels(np.arange(70_000, dtype=np.int32)[None])
    with pytest.raises(ValueError, match="16 bits"):
        many.save(tmp_path / "labels")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_segments": 0}, "n_segments is 0"),
        ({"n_segments": 5000}, "5000"),
        ({"compactness": 0.0}, "compactness is 0"),
        ({"max_iter": 0}, "max_iter is 0"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        superpixels(scene(), **arguments)
