"""Files of every kind give the right levels or one sentence."""

import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from kmle.images import ImageData, read_image, save_image

COLOUR = np.random.default_rng(0).integers(0, 256, (6, 9, 3), dtype=np.uint8)
GREY = np.random.default_rng(0).integers(0, 256, (6, 9), dtype=np.uint8)


@pytest.fixture
def saved(tmp_path):
    def save(image, name="picture.png", **options):
        path = tmp_path / name
        image.save(path, **options)
        return path

    return save


def test_colour(saved):
    image = read_image(saved(Image.fromarray(COLOUR)))
    assert image.levels.shape == (6, 9, 3)
    assert image.notes == ()
    np.testing.assert_allclose(image.levels, COLOUR / 255)


def test_grey_and_colour_that_is_grey_are_one_channel(saved):
    for image in (Image.fromarray(GREY), Image.fromarray(np.stack([GREY] * 3, axis=2))):
        np.testing.assert_allclose(read_image(saved(image)).levels[:, :, 0], GREY / 255)


def test_transparency_is_laid_over_white_with_a_note(saved):
    alpha = np.full((6, 9, 1), 255, dtype=np.uint8)
    alpha[0] = 0
    image = read_image(saved(Image.fromarray(np.concatenate([COLOUR, alpha], axis=2))))
    assert (image.levels[0] == 1).all()
    np.testing.assert_allclose(image.levels[1:], COLOUR[1:] / 255)
    assert image.notes == ("Transparent parts were blended with white.",)


def test_opaque_alpha_changes_nothing(saved):
    alpha = np.full((6, 9, 1), 255, dtype=np.uint8)
    image = read_image(saved(Image.fromarray(np.concatenate([COLOUR, alpha], axis=2))))
    np.testing.assert_allclose(image.levels, COLOUR / 255)
    assert image.notes == ()


def test_sixteen_bits_keep_their_depth(saved):
    rng = np.random.default_rng(0)
    deep = rng.integers(0, 65536, (6, 9), dtype=np.uint16)
    np.testing.assert_allclose(read_image(saved(Image.fromarray(deep))).levels[:, :, 0], deep / 65535)


def test_fractions_and_other_numbers(saved):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(4, 5)).astype(np.float32)
    image = read_image(saved(Image.fromarray(values), "picture.tiff"))
    assert image.levels.min() == 0
    assert image.levels.max() == 1
    assert "scaled" in image.notes[0]
    within = (values - values.min()) / (values.max() - values.min())
    np.testing.assert_allclose(read_image(saved(Image.fromarray(within), "a.tiff")).levels[:, :, 0], within)
    with pytest.raises(ValueError, match="not numbers"):
        read_image(saved(Image.fromarray(np.full((2, 2), np.nan, dtype=np.float32)), "b.tiff"))


def test_cmyk_and_palette_and_two_levels(saved):
    cmyk = read_image(saved(Image.new("CMYK", (3, 2), (0, 255, 255, 0)), "picture.jpg"))
    np.testing.assert_allclose(cmyk.levels[0, 0], [1, 0, 0], atol=0.02)
    assert "CMYK" in cmyk.notes[0]
    palette = Image.fromarray(COLOUR).quantize(8)
    np.testing.assert_allclose(read_image(saved(palette)).levels, np.asarray(palette.convert("RGB")) / 255)
    two = Image.fromarray(GREY).convert("1")
    assert set(np.unique(read_image(saved(two)).levels)) == {0.0, 1.0}


def test_orientation_is_followed(saved):
    exif = Image.Exif()
    exif[0x0112] = 6
    image = read_image(saved(Image.fromarray(COLOUR), exif=exif))
    np.testing.assert_allclose(image.levels, np.rot90(COLOUR, -1) / 255)


def test_first_frame_of_an_animation(saved):
    frames = [Image.new("RGB", (4, 4), colour) for colour in ("red", "blue", "lime")]
    image = read_image(saved(frames[0], "picture.gif", save_all=True, append_images=frames[1:]))
    np.testing.assert_allclose(image.levels[0, 0], [1, 0, 0])
    assert image.notes == ("Only the first of 3 frames was read.",)


def test_a_single_pixel(saved):
    assert read_image(saved(Image.new("RGB", (1, 1), "blue"))).levels.tolist() == [[[0.0, 0.0, 1.0]]]


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_a_large_picture_is_shrunk_by_averages(saved, dtype):
    rng = np.random.default_rng(0)
    large = rng.integers(0, np.iinfo(dtype).max, (40, 60)).astype(dtype)
    image = read_image(saved(Image.fromarray(large)), max_pixels=600)
    means = large.reshape(20, 2, 30, 2).mean(axis=(1, 3)) / np.iinfo(dtype).max
    np.testing.assert_allclose(image.levels[:, :, 0], means, atol=1 / np.iinfo(dtype).max)
    assert image.notes == ("Shrunk from 60 x 40 to 30 x 20 pixels (max_pixels).",)


def test_bad_files(tmp_path, saved):
    with pytest.raises(ValueError, match="not found"):
        read_image(tmp_path / "absent.png")
    with pytest.raises(ValueError, match="cannot be read"):
        read_image(tmp_path)
    words = tmp_path / "words.png"
    words.write_text("not a picture")
    with pytest.raises(ValueError, match="is not an image"):
        read_image(words)
    (tmp_path / "empty.png").touch()
    with pytest.raises(ValueError, match="is not an image"):
        read_image(tmp_path / "empty.png")


@pytest.mark.parametrize("ending", ["png", "jpg", "gif", "tiff", "bmp", "webp"])
@pytest.mark.parametrize("share", [0.3, 0.6, 0.95])
def test_truncated_files(tmp_path, saved, ending, share):
    rng = np.random.default_rng(0)
    noise = rng.integers(0, 256, (64, 64, 3), dtype=np.uint8)
    content = saved(Image.fromarray(noise), f"whole.{ending}").read_bytes()
    path = tmp_path / f"cut.{ending}"
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(ValueError, match=r"truncated|is not an image"):
        read_image(path)


@pytest.mark.parametrize(("width", "height"), [(10_001, 10_000), (30_000, 30_000)])
def test_a_decompression_bomb_is_refused_before_it_unpacks(saved, width, height):
    path = saved(Image.fromarray(GREY))
    content = bytearray(path.read_bytes())
    # The header says how large the picture is, and ends in its own checksum.
    content[16:24] = struct.pack(">II", width, height)
    content[29:33] = struct.pack(">I", zlib.crc32(content[12:29]))
    path.write_bytes(content)
    with pytest.raises(ValueError, match="100 million"):
        read_image(path)


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        ([[2.0]], "from 0 to 1"),
        ([[np.nan]], "from 0 to 1"),
        ([0.5], "shape"),
        (np.zeros((2, 2, 4)), "shape"),
        (np.zeros((0, 2)), "shape"),
        ([["a"]], "numbers"),
    ],
)
def test_bad_arrays(levels, message):
    with pytest.raises(ValueError, match=message):
        ImageData(levels)


@pytest.mark.parametrize("pixels", [COLOUR, COLOUR / 255, GREY, GREY[:, :, None]])
def test_what_is_written_is_read_back(tmp_path, pixels):
    image = read_image(save_image(tmp_path / "picture.png", pixels))
    levels = pixels / 255 if pixels.dtype == np.uint8 else pixels
    np.testing.assert_allclose(image.levels.squeeze(), levels.squeeze())
