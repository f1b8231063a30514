"""Files that kmle 0.1 wrote are still read: models, checkpoints, image models."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from kmle import KMLE, ExponentialFamilyMixture, Mixture
from kmle.images import ImageMixture

FOLDER = Path(__file__).parent
X = np.random.default_rng(0).poisson(np.repeat([2.0, 9.0, 30.0], [40, 50, 60]))[:, None]
SETTINGS = {"family": "poisson", "n_init": 1, "init": "k-mle++", "random_state": 0, "tol": 0.0}
# What an uninterrupted fit reached; the checkpoints were written after two of its iterations.
CHECKPOINTS = {
    "hard": (KMLE, {}, -553.8039001759352),
    "hartigan": (KMLE, {"algorithm": "hartigan"}, -552.7546320872322),
    "soft": (ExponentialFamilyMixture, {}, -545.7975796441265),
    "sparse": (ExponentialFamilyMixture, {"algorithm": "sparse-em", "n_responsibilities": 2}, -545.8002990333096),
}


@pytest.mark.parametrize("name", CHECKPOINTS)
def test_a_fit_goes_on_from_an_old_checkpoint(name, tmp_path):
    kind, settings, expected = CHECKPOINTS[name]
    path = shutil.copy(FOLDER / f"{name}.checkpoint", tmp_path)
    model = kind(3, **SETTINGS, **settings).fit(X, checkpoint=path, resume=True)
    assert model.objective_ == pytest.approx(expected, abs=1e-6)
    assert model.n_iter_ > 2


def test_an_old_model_file():
    mixture = Mixture.from_json((FOLDER / "faithful.json").read_text(encoding="utf-8"))
    assert mixture.family.name == "gaussian"
    np.testing.assert_allclose(mixture.weights, [0.6441249046023342, 0.35587509539766576])


def test_an_old_image_model():
    model = ImageMixture.load(FOLDER / "image.npz")
    np.testing.assert_allclose(model.mixture.weights, [0.5, 0.5])
    assert (model.width, model.height) == (12, 12)
