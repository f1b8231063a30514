"""What the paper says about likelihoods and entropies, for one law and for a hard mixture."""

import numpy as np
import pytest
from scipy import optimize, stats

from kmle.families import (
    DiagonalGaussian,
    Exponential,
    Gamma,
    Geometric,
    InverseGaussian,
    LogNormal,
    Poisson,
    Rayleigh,
    VonMises,
)
from paper.truth import integral, kl_of_densities

# A family, usual parameters, and SciPy's law with the same parameters.
CONTINUOUS = [
    (Rayleigh(), {"scale": 1.7}, stats.rayleigh(scale=1.7), (0, np.inf)),
    (Exponential(), {"rate": 0.4}, stats.expon(scale=2.5), (0, np.inf)),
    (Gamma(), {"shape": 2.5, "scale": 1.5}, stats.gamma(2.5, scale=1.5), (0, np.inf)),
    (DiagonalGaussian(), {"mean": 1.0, "variance": 4.0}, stats.norm(1, 2), (-np.inf, np.inf)),
    (LogNormal(), {"log_mean": 0.5, "log_std": 0.7}, stats.lognorm(0.7, scale=np.exp(0.5)), (0, np.inf)),
    (InverseGaussian(), {"mean": 2.0, "shape": 3.0}, stats.invgauss(2 / 3, scale=3.0), (0, np.inf)),
    (VonMises(), {"mean": 0.5, "concentration": 2.0}, stats.vonmises(2.0, loc=0.5), (-np.pi + 0.5, np.pi + 0.5)),
]
DISCRETE = [
    (Poisson(), {"rate": 3.5}, stats.poisson(3.5)),
    (Geometric(), {"probability": 0.3}, stats.geom(0.3, loc=-1)),
]
NAMES = [family.name for family, *_ in CONTINUOUS + DISCRETE]


def log_probability(dist):
    return dist.logpdf if hasattr(dist.dist, "pdf") else dist.logpmf


# One law --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("family", "source", "dist", "bounds"), CONTINUOUS, ids=NAMES[: len(CONTINUOUS)])
def test_entropy_is_minus_conjugate_minus_mean_carrier(family, source, dist, bounds):
    member = family.member(**source)
    one = family.for_data([[1.0]])
    truth = -integral(lambda x: dist.pdf(x) * dist.logpdf(x) if dist.pdf(x) > 0 else 0.0, *bounds)
    mean_carrier = integral(lambda x: dist.pdf(x) * one.log_carrier(np.array([[x]])).item() if x else 0.0, *bounds)
    assert -family.conjugate(member.moment).item() - mean_carrier == pytest.approx(truth, rel=1e-8, abs=1e-9)
    assert family.entropy(member.natural).item() == pytest.approx(truth, rel=1e-8, abs=1e-9)


@pytest.mark.parametrize(("family", "source", "dist"), DISCRETE, ids=NAMES[len(CONTINUOUS) :])
def test_entropy_of_counts(family, source, dist):
    x = np.arange(300)
    truth = -(dist.pmf(x) * dist.logpmf(x)).sum()
    assert family.entropy(family.member(**source).natural).item() == pytest.approx(truth, rel=1e-9)


def test_cross_entropy_is_entropy_plus_divergence():
    family = Gamma(n_features=1)
    p, q = stats.gamma(2.5, scale=1.5), stats.gamma(4.0, scale=0.5)
    first, second = family.member(shape=2.5, scale=1.5).natural, family.member(shape=4.0, scale=0.5).natural
    truth = -integral(lambda x: p.pdf(x) * q.logpdf(x) if x > 0 else 0.0, 0, np.inf)
    assert family.cross_entropy(first, second).item() == pytest.approx(truth, rel=1e-8)
    merge = family.entropy(first) + family.kl(first, second)
    assert merge.item() == pytest.approx(truth, rel=1e-8)
    assert family.kl(first, second).item() == pytest.approx(kl_of_densities(p, q, 0, np.inf), rel=1e-8)


def test_canonical_divergence_mixes_the_two_parameters():
    family = Gamma(n_features=1)
    first, second = family.member(shape=2.5, scale=1.5), family.member(shape=4.0, scale=0.5)
    mixed = family.log_normalizer(second.natural) + family.conjugate(first.moment)
    mixed = mixed - (second.natural * first.moment).sum(axis=-1)
    truth = kl_of_densities(stats.gamma(2.5, scale=1.5), stats.gamma(4.0, scale=0.5), 0, np.inf)
    assert mixed.item() == pytest.approx(truth, rel=1e-8)


@pytest.mark.parametrize(("family", "dist"), [(f, dist) for f, _, dist, *_ in CONTINUOUS + DISCRETE], ids=NAMES)
def test_best_mean_log_likelihood_is_conjugate_plus_mean_carrier(family, dist):
    X = dist.rvs(200, random_state=1)[:, None].astype(float)
    best = family.mle(X)
    t, k = best.family.sufficient_statistic(X), best.family.log_carrier(X)
    identity = family.conjugate(t.mean(axis=0, keepdims=True)).item() + k.mean()
    assert best.log_density(X).mean() == pytest.approx(identity, rel=1e-9)
    # The law the rows came from fits them a little worse.
    assert log_probability(dist)(X).mean() < identity


def test_the_estimate_is_the_top_of_the_likelihood():
    X = stats.gamma(2.5, scale=1.5).rvs(100, random_state=2)
    truth = optimize.minimize(
        lambda p: -stats.gamma(np.exp(p[0]), scale=np.exp(p[1])).logpdf(X).sum(), [0.0, 0.0], tol=1e-10
    )
    source = Gamma().mle(X).source
    assert source["shape"].item() == pytest.approx(np.exp(truth.x[0]), rel=1e-4)
    assert Gamma().mle(X).log_density(X).sum() >= -truth.fun - 1e-9


def test_a5_every_row_pays_the_log_normalizer():
    X = stats.rayleigh(scale=1.7).rvs(50, random_state=3)[:, None]
    dist = Rayleigh().mle(X)
    t, k = dist.family.sufficient_statistic(X), dist.family.log_carrier(X)
    F = dist.family.log_normalizer(dist.natural).item()
    truth = stats.rayleigh(scale=dist.source["scale"].item()).logpdf(X).sum()
    linear = (t @ dist.natural.T).sum()
    assert linear - len(X) * F + k.sum() == pytest.approx(truth, rel=1e-10)
    assert linear - F + k.sum() != pytest.approx(truth, rel=0.1)  # as the exponent reads


def test_a6_the_jensen_diversity_is_a_mean():
    X = stats.rayleigh(scale=1.7).rvs(50, random_state=3)[:, None]
    family = Rayleigh(n_features=1)
    t, k = family.sufficient_statistic(X), family.log_carrier(X)
    conjugates, best = family.conjugate(t), family.conjugate(t.mean(axis=0, keepdims=True)).item()
    truth = stats.rayleigh(scale=np.sqrt((X**2).mean() / 2)).logpdf(X).mean()
    corrected = -(conjugates.mean() - best) + conjugates.mean() + k.mean()
    printed = -(conjugates.sum() - best) + conjugates.mean() + k.mean()
    assert corrected == pytest.approx(truth, rel=1e-10)
    assert -family.bregman_information(t) + conjugates.mean() + k.mean() == pytest.approx(truth, rel=1e-10)
    assert abs(printed - truth) > 1


# A hard mixture -------------------------------------------------------------------------------------------------------


class HardMixture:
    """Exponential laws (whose conjugate is finite at every x > 0) fitted to two clusters of fixed rows."""

    family = Exponential(n_features=1)

    def __init__(self):
        rng = np.random.default_rng(5)
        self.X = np.concatenate([rng.exponential(0.2, 40), rng.exponential(5.0, 25)])[:, None]
        self.labels = (self.X[:, 0] > 1.0).astype(int)
        self.n = len(self.X)
        self.clusters = [self.X[self.labels == j] for j in (0, 1)]
        self.proportions = np.array([len(cluster) / self.n for cluster in self.clusters])
        self.dists = [self.family.mle(cluster) for cluster in self.clusters]
        self.constant = (self.family.conjugate(self.X) + self.family.log_carrier(self.X)).mean()

    def complete_log_likelihood(self, weights):
        """The mean of log(w_z p(x | z)) by SciPy."""
        scales = np.array([cluster.mean() for cluster in self.clusters])[self.labels]
        return (stats.expon(scale=scales).logpdf(self.X[:, 0]) + np.log(weights)[self.labels]).mean()

    def loss(self):
        """The Bregman k-means loss of the clusters, without weights."""
        parts = [
            self.family.dual_bregman(c, dist.moment).sum() for c, dist in zip(self.clusters, self.dists, strict=True)
        ]
        return sum(parts) / self.n


def test_a8_the_decomposition_is_of_minus_the_log_likelihood():
    mixture = HardMixture()
    diversity = mixture.proportions @ [mixture.family.bregman_information(c) for c in mixture.clusters]
    entropy = -(mixture.proportions * np.log(mixture.proportions)).sum()
    truth = mixture.complete_log_likelihood(mixture.proportions)
    assert -diversity - entropy + mixture.constant == pytest.approx(truth, rel=1e-10)
    printed = diversity + entropy - mixture.constant
    assert printed == pytest.approx(-truth, rel=1e-10)  # the other sign: a loss, which falls


def test_the_loss_is_the_diversity_within_the_clusters():
    mixture = HardMixture()
    diversity = mixture.proportions @ [mixture.family.bregman_information(c) for c in mixture.clusters]
    assert mixture.loss() == pytest.approx(diversity, rel=1e-10)


def test_proportions_are_the_best_weights():
    mixture = HardMixture()
    best = mixture.complete_log_likelihood(mixture.proportions)
    for first in (0.1, 0.5, mixture.proportions[0] + 0.01, mixture.proportions[0] - 0.01, 0.9):
        assert mixture.complete_log_likelihood(np.array([first, 1 - first])) < best


def test_a9_the_loss_runs_over_all_rows():
    mixture = HardMixture()
    moments = np.concatenate([dist.moment for dist in mixture.dists])
    nearest = np.min([mixture.family.dual_bregman(mixture.X, m[None]) for m in moments], axis=0)
    uniform = np.full(2, 0.5)
    # Every row to its best law: that is what the loss says about the complete log-likelihood.
    scores = [stats.expon(scale=m.item()).logpdf(mixture.X[:, 0]) + np.log(0.5) for m in moments]
    truth = np.max(scores, axis=0).mean()
    assert -nearest.sum() / mixture.n + np.log(uniform[0]) + mixture.constant == pytest.approx(truth, rel=1e-10)
    printed = nearest[:2].sum() / mixture.n  # as many rows as components
    assert -printed + np.log(uniform[0]) + mixture.constant != pytest.approx(truth, rel=0.05)


def test_a10_equal_weights_cost_the_log_of_their_number():
    mixture = HardMixture()
    n, k = mixture.n, 2
    truth = n * mixture.complete_log_likelihood(np.full(k, 1 / k))
    rest = -n * mixture.loss() + n * mixture.constant
    assert rest - n * np.log(k) == pytest.approx(truth, rel=1e-10)
    assert rest + n * np.log(k) == pytest.approx(truth + 2 * n * np.log(k), rel=1e-10)  # as printed
    # And it is the likelihood of rows and labels together, not of the rows alone.
    densities = np.exp([stats.expon(scale=c.mean()).logpdf(mixture.X[:, 0]) for c in mixture.clusters])
    incomplete = np.log(densities.mean(axis=0)).sum()
    assert incomplete > truth + 1
