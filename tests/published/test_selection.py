"""The number of components that BIC chooses, and its values, where the models compared are kmle's.

Sources as in test_gaussian_mixtures; mclust's BIC is ours with the sign turned.
"""

import numpy as np
import pytest

from kmle import select
from published.datasets import FAITHFUL, GALAXIES, IRIS, NCLUS

GAUSSIANS = ("gaussian", "diagonal-gaussian", "spherical-gaussian")


def chosen(X, families="gaussian", sizes=range(1, 6), **options):
    return select(X, families, sizes, random_state=0, **options)


def value(selection, k, name="gaussian"):
    return next(c.criteria.bic for c in selection.candidates if (c.name, c.n_components) == (name, k))


def test_galaxies():
    selection = chosen(GALAXIES, prior_strength=0)
    assert selection.best.n_components == 3
    assert selection.best.criteria.bic == pytest.approx(441.6122, abs=2e-3)
    assert chosen(GALAXIES).best.n_components == 3


def test_old_faithful():
    selection = chosen(FAITHFUL, GAUSSIANS)
    assert (selection.best.name, selection.best.n_components) == ("gaussian", 2)
    assert selection.best.criteria.bic == pytest.approx(2322.192, abs=5e-3)
    assert value(selection, 2, "diagonal-gaussian") == pytest.approx(2 * 1147.806353 + 9 * np.log(272), abs=5e-3)


def test_iris():
    """Widths rounded to 0.1 make many rows equal: no component may settle on those."""
    selection = chosen(IRIS, GAUSSIANS, n_init=3)
    assert (selection.best.name, selection.best.n_components) == ("gaussian", 2)
    assert selection.best.criteria.bic == pytest.approx(574.0178, abs=0.01)
    assert value(selection, 3) == pytest.approx(580.8396, abs=0.01)


def test_nclus():
    selection = chosen(NCLUS, GAUSSIANS, n_init=2)
    assert (selection.best.name, selection.best.n_components) == ("gaussian", 4)
    assert selection.best.criteria.log_likelihood == pytest.approx(-2223.661176, abs=5e-3)
