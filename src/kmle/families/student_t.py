"""Student t distributions of one column and several: Gaussians with heavy tails, for robust clustering.

A row is Gaussian given a hidden scale. Estimates weight each row by the expected scale (EM, Dempster, Laird and Rubin,
1980; for mixtures Peel and McLachlan, 2000). Degrees of freedom follow from the likelihood itself where rows are few
(ECME, Liu and Rubin, 1995), and from the expected scales where they are many.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy
from numpy.typing import NDArray

from ..numerics.arrays import Array
from ..numerics.linear_algebra import cholesky_or_nan
from ..numerics.packing import lower_triangle, packed_length
from .derived import ExponentialFamily
from .gaussian import Gaussian
from .hidden_scales import (
    LEAST_DEGREES,
    MOST_DEGREES,
    Parts,
    Prior,
    bounds_of_degrees,
    factors_of,
    largest_of,
    log_density,
    log_diagonal,
    nearly_gaussian,
    scatter_around,
    squared_distances,
    weighted_moments,
)
from .laplace import weighted_medians
from .resolution import Resolution
from .shaped import CLOSE, is_estimated, shares_shape
from .shapes import as_matrices, as_scalars
from .student_t_steps import StudentSteps
from .support import POSITIVE, REALS, PositiveDefinite, Support

FIRST_DEGREES = 8.0
# Rows times components up to which degrees follow from the likelihood itself.
FEW = 400_000
# Rows of a component that its first estimate begins with, where rows are many.
SAMPLE = 20_000
# Steps of a first estimate of one distribution and of several, and the gain per row at which they end: few rows, many.
FIRST_STEPS, FEW_STEPS, ENOUGH, ENOUGH_OF_MANY = 400, 6, 1e-13, 1e-9


@dataclass(frozen=True)
class StudentT(StudentSteps):
    """Heavy-tailed vectors: t distributions with a `location`, a `scale` matrix and `degrees` of freedom.

    In one column the scale matrix is the square of the usual scale. A number fixes the degrees of freedom; without one
    each component has estimated ones, from 0.5 to 1000, and with degrees="shared" they have some together.

    Parameters
    ----------
    degrees : float, default=None
        The degrees of freedom; by default they are estimated.
    n_features : int, default=None
        The number of columns; by default that of the data.

    Examples
    --------
    >>> StudentT(degrees=3.0).mle([[0.0], [1.0], [2.0], [3.0], [40.0]])
    student-t(location=1.63603, scale=5.76465)
    """

    name: ClassVar = "student-t"
    support: ClassVar = REALS
    in_one_step: ClassVar = False
    parameters: ClassVar[Mapping[str, Support]] = {"location": REALS, "scale": PositiveDefinite(), "degrees": POSITIVE}

    def __post_init__(self) -> None:
        super().__post_init__()
        if is_estimated(self.degrees):
            shares_shape("degrees", self.degrees)
        elif not 0 < float(self.degrees) < np.inf:  # type: ignore[arg-type]
            raise ValueError(f"degrees is {self.degrees}: it must be above 0, 'shared', or left out to be estimated")
        else:
            # Given degrees are no parameter.
            own = {name: domain for name, domain in type(self).parameters.items() if name != "degrees"}
            object.__setattr__(self, "parameters", own)

    @property
    def has_marginals(self) -> bool:
        return True

    def shared_places(self) -> list[int]:
        return [self.n_statistics - 1] if self.n_shared else []

    def fixed_parameters(self) -> dict[str, Any]:
        return {"n_features": self.n_features, "degrees": self.degrees}

    @property
    def stand_in(self) -> ExponentialFamily:
        return Gaussian()

    # Coordinates: locations, lower triangles of factors with logarithms on the diagonal, logarithms of degrees -------

    def n_statistics_for(self, n_features: int) -> int:
        return n_features + packed_length(n_features) + self.estimates_degrees

    def source_from_natural(self, natural: Array) -> dict[str, Array]:
        location, factor, degrees = self.parts(natural)
        source = {"location": location, "scale": factor @ np.swapaxes(factor, -1, -2)}
        return source | ({"degrees": degrees} if self.estimates_degrees else {})

    def natural_from_source(self, *args: Any, **source: Any) -> Array:
        scale = as_matrices(source["scale"])
        location = np.asarray(source["location"], dtype=float).reshape(-1, scale.shape[-1])
        degrees = as_scalars(np.asarray(source["degrees"] if self.estimates_degrees else self.degrees, dtype=float))
        k = max(len(location), len(scale), len(degrees))
        location, factor = np.broadcast_to(location, (k, location.shape[1])), cholesky_or_nan(scale)
        factor = np.broadcast_to(factor, (k, *factor.shape[1:]))
        return self.from_parts(Parts(location, factor, np.broadcast_to(degrees, k)))

    def locations(self, natural: Array) -> Array:
        return self.parts(natural).location

    def shifted(self, natural: Array, offset: Array) -> Array:
        d = offset.shape[-1]
        shape = np.broadcast_shapes(natural.shape[:-1], offset.shape[:-1])
        moved = np.array(np.broadcast_to(natural, (*shape, natural.shape[-1])))
        moved[..., :d] += offset
        return moved

    def coordinate_units(self, natural: Array) -> Array:
        location, factor, _ = self.parts(natural)
        deviations = np.sqrt((factor**2).sum(axis=-1))
        rows, columns = lower_triangle(location.shape[-1])
        triangle = np.where(rows == columns, 1.0, deviations[..., rows])
        tail = [np.ones((*natural.shape[:-1], 1))] if self.estimates_degrees else []
        return np.concatenate([deviations, triangle, *tail], axis=-1)

    # Floors -----------------------------------------------------------------------------------------------------------

    def smallest_spread(self, resolution: Resolution, center: Array | None) -> Array:
        return resolution.joint_spread

    def has_spread(self, natural: Array, spread: Array | None) -> NDArray[np.bool_]:
        _, factor, degrees = self.parts(natural)
        wide = np.ones(natural.shape[:-1], dtype=bool)
        if self.estimates_degrees:
            wide &= (degrees >= LEAST_DEGREES * (1 - CLOSE)) & (degrees <= MOST_DEGREES * (1 + CLOSE))
        if spread is None:
            return wide
        scale = factor @ np.swapaxes(factor, -1, -2)
        left = scale - (1 - 1e-9) * np.diag(spread**2)
        return wide & np.isfinite(cholesky_or_nan(left)[..., -1, -1])

    def bounds_reached(self, natural: Array) -> list[str]:
        return bounds_of_degrees(self.parts(natural).degrees, CLOSE) if self.estimates_degrees else []

    def limits_met(self, natural: Array, n_rows: float) -> list[str]:
        return nearly_gaussian(self.parts(natural), n_rows, CLOSE) if self.estimates_degrees else []

    # Densities --------------------------------------------------------------------------------------------------------

    def direct_log_density(self, X: Array, natural: Array) -> Array:
        parts = self.parts(natural)
        return log_density(squared_distances(X, parts), parts)

    def prior_summary(self, X: Array, prior: Array) -> tuple[Array, ...]:
        return weighted_moments(X, prior)

    def prior_peak(self, summary: tuple[Array, ...] | None, X: Array) -> Array:
        assert summary is not None  # the mean and the covariance
        factor = factors_of(summary[1][None], None, largest_of(X))
        return self.from_parts(Parts(summary[0][None], factor, np.array([FIRST_DEGREES])))[0]

    def direct_entropy(self, natural: Array) -> Array:
        location, factor, degrees = self.parts(natural)
        d = location.shape[-1]
        half = 0.5 * (degrees + d)
        constant = scipy.special.gammaln(half) - scipy.special.gammaln(0.5 * degrees)
        constant -= 0.5 * d * np.log(np.pi * degrees) + log_diagonal(factor)
        return np.asarray(half * (scipy.special.digamma(half) - scipy.special.digamma(0.5 * degrees)) - constant)

    def sample(self, natural: Array, size: int, rng: np.random.Generator) -> Array:
        location, factor, degrees = self.parts(natural)
        hidden = rng.chisquare(float(degrees), (size, 1)) / degrees
        return location + (rng.standard_normal((size, len(location))) @ factor.T) / np.sqrt(np.maximum(hidden, 1e-300))

    # Estimates --------------------------------------------------------------------------------------------------------

    def weighted_estimate(
        self, X: Array, shares: Array, prior: Array | None, before: Array | None, spread: Array | None
    ) -> Array:
        known = None if prior is None else Prior(float(prior.sum()), *weighted_moments(X, prior))
        if before is not None:
            return self.from_parts(self._step(X, shares, known, self.parts(before), spread)[0])
        alone = shares.shape[1] == 1
        if shares.size <= FEW:
            return self.from_parts(self._first(X, shares, known, spread, FIRST_STEPS if alone else FEW_STEPS))
        parts = self._first_of_samples(X, shares, known, spread)
        if alone:
            parts = self._converged(X, shares, known, parts, spread, FIRST_STEPS, ENOUGH_OF_MANY)[0]
        return self.from_parts(parts)

    def _first(self, X: Array, shares: Array, prior: Prior | None, spread: Array | None, n_steps: int) -> Parts:
        """The better end of steps from moments, and from medians."""
        starts = [self._start(X, shares, spread, robust) for robust in (False, True)]
        ends = [self._converged(X, shares, prior, start, spread, n_steps, ENOUGH) for start in starts]
        values = np.array([fits for _, fits in ends])
        best = values.argmax(axis=0) if not self.n_shared else np.full(len(values[0]), values.sum(axis=1).argmax())
        place = np.arange(len(best))
        return Parts(*(np.stack(each)[best, place] for each in zip(*(parts for parts, _ in ends), strict=True)))

    def _first_of_samples(self, X: Array, shares: Array, prior: Prior | None, spread: Array | None) -> Parts:
        """The same from some of the rows of each component."""
        found, n_steps = [], FIRST_STEPS if shares.shape[1] == 1 else FEW_STEPS
        for own in shares.T:
            places = np.flatnonzero(own > 0)
            places = places[:: -(-len(places) // SAMPLE)]
            weights = own[places, None] * (own.sum() / own[places].sum())
            found.append(self._first(X[places], weights, prior, spread, n_steps))
        location, factor, degrees = (np.concatenate(each) for each in zip(*found, strict=True))
        if self.n_shared:
            degrees = np.full(len(degrees), np.exp(np.average(np.log(degrees), weights=shares.sum(axis=0))))
        return Parts(location, factor, degrees)

    def _start(self, X: Array, shares: Array, spread: Array | None, robust: bool) -> Parts:
        """Means and covariances, or medians and mean absolute deviations."""
        moments = [weighted_moments(X, own) for own in shares.T]
        location = np.stack([mean for mean, _ in moments])
        scale = np.stack([covariance for _, covariance in moments])
        if robust:
            location = np.stack([weighted_medians(x, shares) for x in X.T], axis=1)
            gaps = np.stack([own @ np.abs(X - at) / own.sum() for own, at in zip(shares.T, location, strict=True)])
            scale = np.stack([np.diag(gap**2) for gap in gaps])
        first = FIRST_DEGREES if self.estimates_degrees else float(self.degrees)  # type: ignore[arg-type]
        return Parts(location, factors_of(scale, spread, largest_of(X)), np.full(len(location), first))

    def _converged(
        self,
        X: Array,
        shares: Array,
        prior: Prior | None,
        parts: Parts,
        spread: Array | None,
        n_steps: int,
        enough: float,
    ) -> tuple[Parts, Array]:
        """What steps end with, and its log-likelihood by component (k,)."""
        fits, total = np.full(shares.shape[1], -np.inf), float(shares.sum())
        distance: Array | None = None
        for _ in range(n_steps):
            parts, distance = self._step(X, shares, prior, parts, spread, distance)
            distance = squared_distances(X, parts) if distance is None else distance
            following = np.einsum("nk,nk->k", shares, log_density(distance, parts))
            gain, fits = float(following.sum() - fits.sum()), following
            if gain <= enough * total:
                break
        return parts, fits

    def _step(
        self,
        X: Array,
        shares: Array,
        prior: Prior | None,
        parts: Parts,
        spread: Array | None,
        distance: Array | None = None,
    ) -> tuple[Parts, Array | None]:
        """One step of EM: rows weighted by their expected hidden scales, then the degrees of freedom.

        Squared distances (n, k) are computed unless they are given; those after the step come with it where it needs
        them.
        """
        d = X.shape[1]
        strength, middle, own_scatter = (0.0, np.zeros(d), np.zeros((d, d))) if prior is None else prior
        distance = squared_distances(X, parts) if distance is None else distance
        hidden = (parts.degrees + d) / (parts.degrees + distance)
        weights, counts = shares * hidden, shares.sum(axis=0)
        sums = weights.sum(axis=0)
        location = (weights.T @ X + strength * middle) / (sums + strength)[:, None]
        scatter = np.empty((len(counts), d, d))
        for j, (own, at) in enumerate(zip(weights.T, location, strict=True)):
            scatter[j] = scatter_around(X, own, at) + strength * (own_scatter + np.outer(middle - at, middle - at))
        # The sum of hidden scales in place of the count converges faster (parameter expansion, Liu et al., 1998).
        scale = scatter / (sums if prior is None else counts + strength)[:, None, None]
        moved = Parts(location, factors_of(scale, spread, largest_of(X)), parts.degrees)
        if not self.estimates_degrees:
            return moved, None
        if shares.size <= FEW or shares.shape[1] == 1:
            distance = squared_distances(X, moved)
            return moved._replace(degrees=self.likely_degrees([(distance, shares, d)], moved)), distance
        excess = np.einsum("nk,nk->k", shares, np.log(hidden) - hidden) / counts
        return moved._replace(degrees=self.degrees_from_scales(excess, counts, parts.degrees, d)), None
