"""One call, a folder of files."""

import numpy as np
import pytest

from images.scenes import scene
from kmle import Mixture
from kmle.images import ImageMixture, run, save_image
from kmle.images.run import written_together


@pytest.fixture
def path(tmp_path):
    return save_image(tmp_path / "scene.png", scene())


def names(outcome):
    return {file.name for file in outcome.files}


def test_single_pictures(path, tmp_path):
    outcome = run(path, tmp_path / "out" / "deep", 6)
    images = {"image", "ellipses", "hard_segmentation", "sample", "posterior_mean", "voronoi_diagram"}
    assert names(outcome) == {"model.npz"} | {f"{name}.png" for name in images}
    assert all(file.stat().st_size > 0 for file in outcome.files)
    assert outcome.n_components == 6
    assert outcome.measures["bytes"] == (tmp_path / "out" / "deep" / "model.npz").stat().st_size
    assert ImageMixture.load(tmp_path / "out" / "deep" / "model.npz").n_components == 6


def test_everything_at_once(path, tmp_path):
    outcome = run(path, tmp_path / "out", 4, patch=2, figure=True, superpixels=40, rates=(2, 4))
    assert names(outcome) == {
        "model.npz", "figure.png", "labels.png", "labels.npy", "superpixels.png", "rate_distortion.png"
    }  # fmt: skip
    assert [rate.n_components for rate in outcome.rates] == [2, 4]


@pytest.mark.parametrize("family", ["rayleigh", "gamma", "weibull"])
def test_amplitudes(path, tmp_path, family):
    outcome = run(path, tmp_path / "out", 2, family=family, window=3)
    assert names(outcome) == {"segmentation.png", "figure.png", "labels.npy", "model.json"}
    assert Mixture.from_json((tmp_path / "out" / "model.json").read_text()).family.name == family
    assert np.load(tmp_path / "out" / "labels.npy").shape == (64, 64)
    with pytest.raises(ValueError, match="cannot be combined with patch"):
        run(path, tmp_path / "out", 2, family=family, patch=4)


def test_a_file_where_the_folder_should_be(path):
    with pytest.raises(ValueError, match="give a directory"):
        run(path, path, 2)


def write_until_full(folder):
    with written_together(folder) as made:
        (made / "model.npz").write_text("after")
        raise OSError("disk full")


def test_files_are_written_together_or_not_at_all(tmp_path):
    old = tmp_path / "old"
    old.mkdir()
    (old / "model.npz").write_text("before")
    for folder in (old, tmp_path / "new"):
        with pytest.raises(OSError, match="full"):
            write_until_full(folder)
    assert [path.name for path in tmp_path.iterdir()] == ["old"]
    assert [path.read_text() for path in old.iterdir()] == ["before"]
    with written_together(old) as made:
        (made / "model.npz").write_text("after")
    assert [path.read_text() for path in old.iterdir()] == ["after"]
