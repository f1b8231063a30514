"""`kmle image`: pictures in, pictures out."""

import json

import numpy as np
import pytest

from cli.drawing import refusal, run

Image = pytest.importorskip("PIL.Image")


@pytest.fixture
def image(tmp_path):
    pixels = np.zeros((40, 60, 3), dtype=np.uint8)
    pixels[:, :30], pixels[:, 30:] = (200, 60, 20), (20, 80, 190)
    path = tmp_path / "two.png"
    Image.fromarray(pixels).save(path)
    return path


def test_single_pictures_and_a_model(image, tmp_path):
    message = json.loads(run("image", image, "-k", 2, "--out", tmp_path / "out", "--json").stdout)
    assert message["components"] == 2
    assert message["psnr"] > 15
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"model.npz", "hard_segmentation.png"} <= written
    assert len(message["files"]) == len(written)


def test_one_sheet(image, tmp_path):
    run("image", image, "-k", 2, "--out", tmp_path / "out", "--figure")
    with Image.open(tmp_path / "out" / "figure.png") as sheet:
        assert sheet.size[0] > 300


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--rates", "8,many"], "--rates is '8,many': give whole numbers"),
        (["--family", "rayleigh", "--patch", 2], "cannot be combined with patch"),
        (["--restarts", "many"], "--restarts is many: write auto or a whole number of at least 1"),
        (["--restarts", 3], "cannot be combined with restarts"),
        (
            ["--family", "poisson"],
            "--family poisson does not apply to images: choose one of gaussian, diagonal-gaussian",
        ),
        (["--family", "gausian"], "did you mean 'gaussian'?"),
        (["--algorithm", "exact"], "--algorithm exact does not apply to images: choose one of em, sparse-em"),
        (["--superpixels", 2401], "--superpixels is 2401: an image of 2400 pixels has 1 to 2400 segments"),
        (["--patch", 41], "--patch is 41 but the image has 60 x 40 pixels: give a smaller patch"),
        (["--scale", 0], "--scale is 0: give a positive number"),
        (["--window", 2], "--window is 2: give an odd number of pixels"),
    ],
)
def test_bad_options(image, tmp_path, options, sentence):
    assert sentence in refusal(run("image", image, "--out", tmp_path / "out", *options))


def test_no_picture(tmp_path):
    path = tmp_path / "words.png"
    path.write_text("no picture")
    assert "words.png" in refusal(run("image", path, "--out", tmp_path / "out"))


def test_refused_before_anything_is_learned(image, tmp_path, monkeypatch):
    monkeypatch.setattr("kmle.images.run", lambda *_, **__: pytest.fail("something was learned"))
    assert "is a directory: name a file in it" in refusal(run("image", tmp_path, "--out", tmp_path / "out"))
    assert "not found" in refusal(run("image", tmp_path / "none.png", "--out", tmp_path / "out"))
    assert "is a file: give a directory" in refusal(run("image", image, "--out", image))
    assert "is the directory of" in refusal(run("image", image, "--out", tmp_path, "--force"))
    assert "--superpixels is 9999" in refusal(run("image", image, "--out", tmp_path / "o", "--superpixels", 9999))


def test_files_of_an_earlier_run_need_force(image, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "figure.png").write_text("precious")
    command = ["image", image, "-k", 2, "--out", tmp_path / "out", "--figure"]
    assert "is not empty: give another directory, or --force" in refusal(run(*command))
    assert (tmp_path / "out" / "figure.png").read_text() == "precious"
    assert run(*command, "--force").exit_code == 0
