"""Components combined to clusters by entropy, beside mclust's clustCombi."""

import numpy as np
import pytest

from kmle import ExponentialFamilyMixture, Mixture
from kmle.selection import combine
from published.datasets import FAITHFUL

# mclust 6.0.0: Mclust(faithful, G = 4, modelNames = "VVV").
WEIGHTS = [0.0940805684536775, 0.131028149408223, 0.549405414343096, 0.225485867795002]
MEAN = [
    [4.11526073414703, 87.0975765251208],
    [1.83822945911538, 52.0947602032668],
    [4.32109879679678, 78.7655821113408],
    [2.15411344708342, 55.8915382910402],
]
COVARIANCE = [
    [[0.185930314244728, 1.34915303921894], [1.34915303921894, 17.4781547835045]],
    [[0.00428796871605949, -0.0827519045359552], [-0.0827519045359552, 23.5709078644072]],
    [[0.159109231580846, 1.09751028031405], [1.09751028031405, 28.8181930957184]],
    [[0.0723522277861492, 0.31995344087932], [0.31995344087932, 34.4889421937906]],
]


@pytest.fixture(scope="module")
def found():
    mixture = Mixture.from_source("gaussian", WEIGHTS, mean=MEAN, covariance=COVARIANCE)
    return combine(mixture, FAITHFUL)


def test_entropies_and_clusters_are_those_of_mclust(found):
    """clustCombi and clustCombiOptim: entropies for 1 to 4 clusters, the number of clusters and their sizes.

    The posterior is that of the mixture (mclust's estep); the one that Mclust keeps is of the step before.
    """
    np.testing.assert_allclose(found.entropies[1:], [0.5842951321, 26.95635218, 54.51729927], rtol=1e-8)
    assert found.entropies[0] == pytest.approx(0.0, abs=1e-9)
    assert found.best == 2
    assert sorted(np.bincount(found.predict(FAITHFUL)).tolist()) == [97, 175]
    assert found.groups(3).tolist() == [0, 1, 0, 2]
    assert found.groups().tolist() == [0, 1, 0, 1]
    assert found.groups(1).tolist() == [0, 0, 0, 0]


def test_posteriors_add_up(found):
    whole = found.mixture.posterior(FAITHFUL)
    np.testing.assert_allclose(found.posterior(FAITHFUL, 4), whole, rtol=1e-12)
    two = found.posterior(FAITHFUL)
    np.testing.assert_allclose(two.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(two[:, 0], whole[:, 0] + whole[:, 2], rtol=1e-12)


def test_weights_are_repeated_rows(found):
    weights = np.random.default_rng(0).integers(0, 3, len(FAITHFUL))
    weighted = combine(found.mixture, FAITHFUL, sample_weight=weights)
    repeated = combine(found.mixture, np.repeat(FAITHFUL, weights, axis=0))
    np.testing.assert_allclose(weighted.entropies, repeated.entropies, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(weighted.pairs, repeated.pairs)


def test_a_curved_cluster_of_several_components_is_one():
    rng = np.random.default_rng(1)
    angle = rng.uniform(0, np.pi, 400)
    arc = np.column_stack([np.cos(angle), np.sin(angle)]) * 6 + 0.3 * rng.standard_normal((400, 2))
    X = np.concatenate([arc, rng.normal([0, -6], 0.5, (200, 2))])
    model = ExponentialFamilyMixture(6, random_state=0).fit(X)
    labels = combine(model, X).predict(X, 2)
    assert np.mean(labels[:400] == labels[0]) > 0.99
    assert np.mean(labels[400:] != labels[0]) > 0.99


def test_it_is_printed_and_plotted(found):
    assert "The entropy bends at 2: components 0, 2; components 1, 3." in str(found)
    ax = found.plot()
    assert ax.get_title(loc="left") == "4 components, 2 clusters"


def test_few_components():
    mixture = Mixture.from_source("poisson", [1.0], rate=[[2.0]])
    one = combine(mixture, [[1], [2]])
    assert (one.best, one.entropies.tolist(), one.groups().tolist()) == (1, [0.0], [0])


def test_wrong_numbers_are_refused(found):
    with pytest.raises(ValueError, match="between 1 and 4"):
        found.groups(5)
    with pytest.raises(TypeError, match="is it fitted"):
        combine(ExponentialFamilyMixture(2), FAITHFUL)
