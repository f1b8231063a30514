"""The one table of families under test: instance, typical parameters, and the same distribution in SciPy.

A new family is registered here and nowhere else in the tests; `test_contract.py` fails while one is missing.
Parameters are functions of points of the unit cube, so that Hypothesis (which loves 0 and 1, the ends of the typical
ranges) and a plain random generator draw from the same table, one distribution or many at a time.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import quadrature
from kmle import families as f
from twins import (
    Blocks,
    Columns,
    Cube,
    Rows,
    categorical,
    direction,
    gaussian,
    positive,
    probability,
    round_gaussian,
    wishart,
    zero_truncated_poisson,
)


@dataclass(frozen=True)
class Case:
    """One family under test."""

    id: str
    family: f.ExponentialFamily
    parameters: Callable[[Cube], dict[str, Any]]
    """The usual parameters of k laws, from points (k, m) of the unit cube."""
    twin: Callable[..., Any]
    """The law with these usual parameters (those of one law, without the leading axis) as SciPy has it."""
    mesh: Callable[..., Any] | None = None
    """For rows of several numbers: quadrature nodes from the usual parameters of one law."""
    size: int = field(init=False)
    """How many coordinates of the cube the parameters take."""
    univariate: bool = field(init=False)
    """Whether the rows are single numbers and SciPy knows their quantiles."""

    def __post_init__(self):
        cube = Cube(np.full((1, 200), 0.5))
        twin = self.twin(**{name: value[0] for name, value in self.parameters(cube).items()})
        object.__setattr__(self, "size", cube.spent)
        object.__setattr__(self, "univariate", self.family.n_features == 1 and isinstance(twin, Columns))

    def points(self, k=8):
        """A strategy for points (k, m) of the cube."""
        values = st.lists(st.floats(0.0, 1.0), min_size=k * self.size, max_size=k * self.size)
        return values.map(lambda flat: np.array(flat).reshape(k, self.size))

    def dists(self, k=8):
        """A strategy for the natural parameters (k, D) of k typical laws."""
        return self.points(k).map(self.naturals_at)

    def sources_at(self, points):
        return self.parameters(Cube(points))

    def naturals_at(self, points):
        return self.family.natural_from_source(**self.sources_at(points))

    def naturals(self, k, seed):
        """k typical laws (k, D), drawn at random."""
        return self.naturals_at(np.random.default_rng(seed).random((k, self.size)))

    def sample(self, natural, size, seed=0):
        return self.family.sample(natural, size, np.random.default_rng(seed))

    def twins_at(self, points):
        sources = self.sources_at(points)
        return [self.twin(**{name: value[dist] for name, value in sources.items()}) for dist in range(len(points))]

    def nodes_at(self, points):
        """Rows and weights that integrate over the laws at these points of the cube."""
        if self.univariate:
            return quadrature.line(*(twin.frozen for twin in self.twins_at(points)))
        return self.mesh(**{name: value[0] for name, value in self.sources_at(points).items()})


def round_mesh(mean, variance):
    return quadrature.around(mean, np.diag(np.broadcast_to(variance, mean.shape)))


def mixed_parameters(u):
    return {
        "poisson_rate": u.positive(0.3, 30),
        "gamma_shape": u.positive(0.3, 20),
        "gamma_scale": u.positive(0.2, 5),
        "gaussian_mean": u.real(-3, 3, 2),
        "gaussian_covariance": u.covariance(2),
    }


def mixed_twin(poisson_rate, gamma_shape, gamma_scale, gaussian_mean, gaussian_covariance):
    return Blocks(
        (slice(0, 1), Columns(stats.poisson(poisson_rate))),
        (slice(1, 2), Columns(stats.gamma(gamma_shape, scale=gamma_scale))),
        (slice(2, 4), Rows(stats.multivariate_normal(gaussian_mean, gaussian_covariance))),
    )


MATRIX = ((2.0, 0.6), (0.6, 0.5))
SCALE = {"scale": (0.2, 5)}

GAUSSIAN = [
    *(Case(f"gaussian-{d}", f.Gaussian(n_features=d), *gaussian(d), quadrature.around) for d in (1, 2, 3)),
    *(Case(f"diagonal-gaussian-{d}", f.DiagonalGaussian(n_features=d), *round_gaussian(d), round_mesh) for d in (1, 2)),
    *(
        Case(f"spherical-gaussian-{d}", f.SphericalGaussian(n_features=d), *round_gaussian(d, True), round_mesh)
        for d in (1, 3)
    ),
    Case(
        "fixed-covariance-gaussian-scalar",
        f.FixedCovarianceGaussian(2.5, n_features=1),
        lambda u: {"mean": u.real(-3, 3)},
        lambda mean: Columns(stats.norm(mean, 2.5**0.5)),
    ),
    Case(
        "fixed-covariance-gaussian-matrix",
        f.FixedCovarianceGaussian(MATRIX),
        lambda u: {"mean": u.real(-3, 3, 2)},
        lambda mean: Rows(stats.multivariate_normal(mean, MATRIX)),
        lambda mean: quadrature.around(mean, MATRIX),
    ),
    Case(
        "log-normal",
        f.LogNormal(n_features=1),
        lambda u: {"log_mean": u.real(-2, 2), "log_std": u.positive(0.2, 2)},
        lambda log_mean, log_std: Columns(stats.lognorm(log_std, scale=np.exp(log_mean))),
    ),
]
DISCRETE = [
    Case("bernoulli-1", f.Bernoulli(n_features=1), *probability(stats.bernoulli, 0.02, 0.98)),
    Case(
        "bernoulli-3",
        f.Bernoulli(n_features=3),
        *probability(stats.bernoulli, 0.02, 0.98, 3),
        lambda probability: quadrature.all_rows(2, 2, 2),
    ),
    Case("binomial", f.Binomial(12, n_features=1), *probability(lambda p: stats.binom(12, p), 0.02, 0.98)),
    Case(
        "categorical-one-column",
        f.Categorical(4, n_features=1),
        *categorical(4),
        lambda probabilities: quadrature.all_rows(4),
    ),
    Case(
        "categorical-two-columns",
        f.Categorical((3, 5)),
        *categorical(3, 5),
        lambda probabilities: quadrature.all_rows(3, 5),
    ),
    Case(
        "multinomial",
        f.Multinomial(6, n_features=4),
        lambda u: {"probabilities": u.simplex(4)},
        lambda probabilities: Rows(stats.multinomial(6, probabilities)),
        lambda probabilities: quadrature.all_counts(6, 4),
    ),
    *(
        Case(f"poisson-{d}", f.Poisson(n_features=d), *positive(lambda rate: stats.poisson(rate), d, rate=(0.05, 200)))
        for d in (1, 2)
    ),
    Case(
        "zero-truncated-poisson",
        f.ZeroTruncatedPoisson(n_features=1),
        *positive(lambda rate: zero_truncated_poisson(rate), rate=(0.05, 200)),
    ),
    Case("geometric", f.Geometric(n_features=1), *probability(lambda p: stats.geom(p, -1), 0.02, 0.98)),
    *(
        Case(
            f"negative-binomial-{r}",
            f.NegativeBinomial(r, n_features=1),
            *probability(lambda p, r=r: stats.nbinom(r, p), 0.05, 0.95),
        )
        for r in (4, 1.7)
    ),
]
SCALES = [
    Case("exponential", f.Exponential(n_features=1), *positive(lambda rate: stats.expon(0, 1 / rate), rate=(0.05, 20))),
    Case("rayleigh", f.Rayleigh(n_features=1), *positive(lambda scale: stats.rayleigh(0, scale), **SCALE)),
    Case("weibull", f.Weibull(1.6, n_features=1), *positive(lambda scale: stats.weibull_min(1.6, 0, scale), **SCALE)),
    Case("laplace", f.Laplace(0.7, n_features=1), *positive(lambda scale: stats.laplace(0.7, scale), **SCALE)),
    Case(
        "generalized-gaussian",
        f.GeneralizedGaussian(3.3, -0.4, n_features=1),
        *positive(lambda scale: stats.gennorm(3.3, -0.4, scale), **SCALE),
    ),
    Case("half-normal", f.HalfNormal(n_features=1), *positive(lambda scale: stats.halfnorm(0, scale), **SCALE)),
    Case("maxwell", f.Maxwell(n_features=1), *positive(lambda scale: stats.maxwell(0, scale), **SCALE)),
    Case(
        "fixed-shape-gamma",
        f.FixedShapeGamma(2.3, n_features=1),
        *positive(lambda scale: stats.gamma(2.3, 0, scale), **SCALE),
    ),
    Case("pareto", f.Pareto(1.5, n_features=1), *positive(lambda shape: stats.pareto(shape, 0, 1.5), shape=(0.3, 8))),
]
TWO_PARAMETERS = [
    *(
        Case(
            f"gamma-{d}",
            f.Gamma(n_features=d),
            *positive(lambda shape, scale: stats.gamma(shape, 0, scale), d, shape=(0.2, 50), **SCALE),
        )
        for d in (1, 2)
    ),
    Case(
        "inverse-gamma",
        f.InverseGamma(n_features=1),
        *positive(lambda shape, scale: stats.invgamma(shape, 0, scale), shape=(0.3, 50), **SCALE),
    ),
    Case(
        "inverse-gaussian",
        f.InverseGaussian(n_features=1),
        *positive(lambda mean, shape: stats.invgauss(mean / shape, 0, shape), mean=(0.3, 8), shape=(0.3, 20)),
    ),
    Case("chi-square", f.ChiSquare(n_features=1), *positive(lambda degrees: stats.chi2(degrees), degrees=(0.5, 60))),
    Case(
        "beta",
        f.Beta(n_features=1),
        *positive(lambda alpha, beta: stats.beta(alpha, beta), alpha=(0.8, 30), beta=(0.8, 30)),
    ),
    *(
        Case(
            f"dirichlet-{k}",
            f.Dirichlet(n_features=k),
            lambda u, k=k: {"concentration": u.positive(0.5, 20, k)},
            lambda concentration: Rows(stats.dirichlet(concentration), np.transpose),
            quadrature.simplex,
        )
        for k in (2, 3)
    ),
    Case(
        "von-mises",
        f.VonMises(n_features=1),
        lambda u: {"mean": u.real(-3.1, 3.1), "concentration": u.positive(0.05, 50)},
        lambda mean, concentration: Columns(stats.vonmises(concentration, mean)),
    ),
    *(
        Case(f"von-mises-fisher-{d}", f.VonMisesFisher(n_features=d), *direction(d), lambda mesh=mesh, **_: mesh())
        for d, mesh in ((2, quadrature.circle), (3, quadrature.sphere))
    ),
    Case("von-mises-fisher-50", f.VonMisesFisher(n_features=50), *direction(50, 1.0, 500.0)),
]
MATRICES = [
    Case("wishart-1", f.Wishart(n_features=1), *wishart(1, stats.wishart), quadrature.chi_square),
    *(Case(f"wishart-{p}", f.Wishart(n_features=p * p), *wishart(p, stats.wishart)) for p in (2, 3)),
    Case("wishart-2-fixed", f.FixedDegreesWishart(4.5, n_features=4), *wishart(2, stats.wishart, 4.5)),
    Case("inverse-wishart-2", f.InverseWishart(n_features=4), *wishart(2, stats.invwishart)),
    Case(
        "inverse-wishart-2-fixed",
        f.FixedDegreesInverseWishart(5.5, n_features=4),
        *wishart(2, stats.invwishart, 5.5),
    ),
]
MIXED = Case("product", f.Product((f.Poisson(), f.Gamma(), f.Gaussian(n_features=2))), mixed_parameters, mixed_twin)

CASES = [*GAUSSIAN, *DISCRETE, *SCALES, *TWO_PARAMETERS, *MATRICES, MIXED]
BY_ID = {case.id: case for case in CASES}
UNIVARIATE = [case for case in CASES if case.univariate]
INTEGRABLE = [case for case in CASES if case.univariate or case.mesh]


def case_id(case):
    """For `pytest.mark.parametrize`."""
    return case.id


def for_all(strategy, dist, examples=25):
    """Tries `law` on draws of the strategy; Hypothesis reports the simplest one that breaks it.

    A draw is eight laws at once unless said otherwise, so that 25 examples are 200 laws: drawing, not computing, is
    what takes time.
    """
    settings(max_examples=examples)(given(strategy)(dist))()
