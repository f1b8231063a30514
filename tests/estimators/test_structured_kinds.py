"""Covariance models and low-rank Gaussians with weights, labels, chunks, Dask, holes and online learning."""

import numpy as np
import pytest

from kmle import KMLE, ExponentialFamilyMixture
from kmle.families import Gaussian

FAMILIES = [Gaussian(structure="VEV"), Gaussian(structure="EEE"), Gaussian(structure="VVE"), Gaussian(rank=2)]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    which = rng.integers(3, size=450)
    turn = 0.3 * rng.standard_normal((5, 5)) + np.eye(5)
    return 5 * rng.standard_normal((3, 5))[which] + rng.standard_normal((450, 5)) @ turn, which


def model(family, **settings):
    return ExponentialFamilyMixture(3, family=family, random_state=0, prior_strength=0.0, **settings)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_all_kinds_of_rows_lead_to_the_same_mixture(rows, family):
    X, _ = rows
    score = model(family).fit(X).score(X)
    twice = model(family).fit(X, sample_weight=np.full(len(X), 2.0)).score(X)
    chunks = model(family).fit(lambda: iter([X[:200], X[200:]])).score(X)
    np.testing.assert_allclose([twice, chunks], score, rtol=1e-5)
    holes = X.copy()
    holes[::25, 0] = np.nan
    assert model(family).fit(holes).score(X) == pytest.approx(score, abs=0.01)
    online = KMLE(3, family=family, random_state=0).partial_fit(X[:250]).partial_fit(X[250:])
    assert online.score(X) == pytest.approx(score, abs=0.02)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_labels_are_kept(rows, family):
    X, which = rows
    labels = np.where(np.arange(len(X)) < 60, which, -1)
    found = model(family).fit(X, labels=labels)
    np.testing.assert_array_equal(found.predict(X[:60]), which[:60])


@pytest.mark.parametrize("family", [Gaussian(structure="EEE"), Gaussian(rank=2)], ids=lambda family: family.name)
def test_dask(rows, family):
    dask_array = pytest.importorskip("dask.array")
    X, _ = rows
    found = model(family).fit(dask_array.from_array(X, chunks=(150, 5)))
    assert float(found.score(X)) == pytest.approx(model(family).fit(X).score(X), rel=1e-5)
