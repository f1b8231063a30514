"""Pictures of a stored model look like the stored ones, whatever the machine: compared by SSIM, not by byte.

`python tests/images/test_golden.py` draws the stored ones anew; look at them before keeping them.
"""

from pathlib import Path

import pytest

from images.scenes import scene
from kmle.images import ImageMixture, panels, read_image, save_image, ssim

GOLDEN = Path(__file__).parent / "golden"
MODELS = {"pixels": {}, "patches": {"patch": 4}}


def drawn(kind):
    return panels(ImageMixture.load(GOLDEN / f"{kind}.npz"), scene())


@pytest.mark.parametrize("kind", MODELS)
def test_pictures_look_like_the_stored_ones(kind):
    for title, pixels in drawn(kind).items():
        assert ssim(read_image(GOLDEN / f"{kind} {title}.png").levels, pixels) > 0.98, title


@pytest.mark.parametrize(("kind", "options"), MODELS.items())
def test_a_new_model_is_about_as_likely_as_the_stored_one(kind, options):
    stored = ImageMixture.load(GOLDEN / f"{kind}.npz")
    anew = ImageMixture.fit(scene(), stored.n_components, **options)
    assert anew.score(scene()) > stored.score(scene()) - 0.05 * stored.mean.shape[1]


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for name, chosen in MODELS.items():
        ImageMixture.fit(scene(), 8, **chosen).save(GOLDEN / f"{name}.npz")
        for title, pixels in drawn(name).items():
            save_image(GOLDEN / f"{name} {title}.png", pixels)
