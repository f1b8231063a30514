"""Data for fits in chunks: three families, more rows than a sample for seeds holds."""

import numpy as np

from kmle import KMLE, ExponentialFamilyMixture, Mixture

ROWS = 24_000
KINDS = {"hard": KMLE, "soft": ExponentialFamilyMixture}


def rows_of(family, n=ROWS):
    """Rows of a mixture of three components."""
    rng = np.random.default_rng(0)
    if family == "gaussian":
        places, widths = np.array([[0, 0, 0], [3, 3, 3], [-4, -4, 0]]), np.array([1.0, 0.7, 2.0])
        chosen = rng.integers(3, size=n)
        return places[chosen] + widths[chosen, None] * rng.standard_normal((n, 3))
    if family == "poisson":
        return rng.poisson(rng.choice([2.0, 15.0, 60.0], size=n))[:, None].astype(float)
    dist = Mixture.from_source(family, [0.3, 0.3, 0.4], direction=np.eye(3), concentration=[5.0, 10.0, 20.0])
    return dist.sample(n, random_state=0)


FAMILIES = ("gaussian", "poisson", "von-mises-fisher")


def model_of(kind, family, **settings):
    """An estimator of three components."""
    return KINDS[kind](3, family=family, random_state=0, **settings)


def assert_same(one, other):
    """The same objectives on the way, labels and parameters.

    Steps of EM that gain nothing but rounding, at its end, may be made by one and not by the other.
    """
    if one.n_iter_ != other.n_iter_:
        n = min(len(one.history_), len(other.history_))
        np.testing.assert_allclose(one.history_[:n], other.history_[:n], rtol=1e-12)
        longer = one.history_ if len(one.history_) > n else other.history_
        assert one.result_.algorithm == "em"
        assert np.abs(np.diff(longer[n - 1 :])).max(initial=0.0) < 1e-8 * abs(one.objective_)
    assert_same_optimum(one, other)


def assert_same_optimum(one, other):
    """The same labels; parameters to ten digits, to six where accelerated steps magnify rounding.

    Where no row is in doubt, rounding decides on one more step.
    """
    digits = 1e-10 if one.result_.algorithm in ("k-mle", "hard-em", "online") else 1e-6
    np.testing.assert_array_equal(np.asarray(one.labels_), np.asarray(other.labels_))
    np.testing.assert_allclose(one.weights_, other.weights_, rtol=digits)
    for name, value in one.mixture_.source.items():
        np.testing.assert_allclose(value, other.mixture_.source[name], rtol=digits, atol=digits)
    np.testing.assert_allclose(one.objective_, other.objective_, rtol=1e-12)
