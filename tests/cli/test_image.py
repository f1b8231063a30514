"""`kmle image`: pictures in, pictures out."""

import json

import numpy as np
import pytest

from cli.drawing import refusal, run

Image = pytest.importorskip("PIL.Image")


@pytest.fixture
def picture(tmp_path):
    pixels = np.zeros((40, 60, 3), dtype=np.uint8)
    pixels[:, :30], pixels[:, 30:] = (200, 60, 20), (20, 80, 190)
    path = tmp_path / "two.png"
    Image.fromarray(pixels).save(path)
    return path


def test_single_pictures_and_a_model(picture, tmp_path):
    told = json.loads(run("image", picture, "-k", 2, "--out", tmp_path / "out", "--json").stdout)
    assert told["components"] == 2
    assert told["psnr"] > 15
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"model.npz", "hard_segmentation.png"} <= written
    assert len(told["files"]) == len(written)


def test_one_sheet(picture, tmp_path):
    run("image", picture, "-k", 2, "--out", tmp_path / "out", "--figure")
    with Image.open(tmp_path / "out" / "figure.png") as sheet:
        assert sheet.size[0] > 300


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--rates", "8,many"], "--rates is '8,many': give whole numbers"),
        (["--family", "rayleigh", "--patch", 2], "leave out patch"),
        (["--restarts", "many"], "--restarts is many: write auto, or a whole number from 1 on"),
        (["--restarts", 3], "leave out restarts, which are for amplitudes"),
    ],
)
def test_bad_options(picture, tmp_path, options, sentence):
    assert sentence in refusal(run("image", picture, "--out", tmp_path / "out", *options))


def test_no_picture(tmp_path):
    path = tmp_path / "words.png"
    path.write_text("no picture")
    assert "words.png" in refusal(run("image", path, "--out", tmp_path / "out"))
