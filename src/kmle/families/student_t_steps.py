"""The coordinates of Student t distributions, and their degrees of freedom after a step (see `student_t.py`)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from ..numerics.arrays import Array
from ..numerics.line_search import increasing_root
from ..numerics.packing import lower_triangle, size_from_packed
from ..numerics.special import trigamma
from .coordinates import LARGEST_LOGARITHM, CoordinateFamily
from .hidden_scales import (
    LEAST_DEGREES,
    MOST_DEGREES,
    Parts,
    Prior,
    ScaleSums,
    degree_slopes,
    gaussian_fit,
    log_density,
)
from .shaped import SHARED, is_estimated

# Newton steps for the degrees of freedom, and the longest one in their logarithm.
NEWTON_STEPS, LONGEST_STEP = 2, 1.0


@dataclass(frozen=True)
class StudentSteps(CoordinateFamily):
    """Locations, factors of scale matrices and degrees of freedom, and how steps change them."""

    degrees: float | str | None = None

    @property
    def estimates_degrees(self) -> bool:
        """Whether degrees of freedom are not given."""
        return is_estimated(self.degrees)

    @property
    def n_shared(self) -> int:
        return int(self.degrees == SHARED)

    def parts(self, natural: Array) -> Parts:
        """Returns what coordinates stand for.

        Parameters
        ----------
        natural : array (..., D)
            Coordinates of the distributions.

        Returns
        -------
        Parts
            Locations (..., d), lower factors of the scale matrices (..., d, d) and degrees of freedom (...,).
        """
        body = natural[..., :-1] if self.estimates_degrees else natural
        d = size_from_packed(body.shape[-1] + 1) - 1
        rows, columns = lower_triangle(d)
        factor = np.zeros((*natural.shape[:-1], d, d))
        factor[..., rows, columns] = body[..., d:]
        diagonal = np.arange(d)
        bounded = np.clip(factor[..., diagonal, diagonal], -LARGEST_LOGARITHM, LARGEST_LOGARITHM)
        factor[..., diagonal, diagonal] = np.exp(bounded)
        if not self.estimates_degrees:
            degrees = np.full(natural.shape[:-1], float(self.degrees))  # type: ignore[arg-type]
        else:
            degrees = np.exp(np.clip(natural[..., -1], -LARGEST_LOGARITHM, LARGEST_LOGARITHM))
        return Parts(body[..., :d], factor, degrees)

    def from_parts(self, parts: Parts) -> Array:
        """Returns coordinates: the inverse of `parts`.

        Parameters
        ----------
        parts : Parts
            Locations, factors of the scale matrices and degrees of freedom.

        Returns
        -------
        array (..., D)
            The coordinates.
        """
        d = parts.location.shape[-1]
        rows, columns = lower_triangle(d)
        factor, diagonal = parts.factor.copy(), np.arange(d)
        factor[..., diagonal, diagonal] = np.log(parts.factor[..., diagonal, diagonal])
        tail = [np.log(parts.degrees)[..., None]] if self.estimates_degrees else []
        return np.concatenate([parts.location, factor[..., rows, columns], *tail], axis=-1)

    def prior_fit(self, summary: tuple[Array, ...], natural: Array) -> Array:
        # That of Gaussians with the same locations and scale matrices: heavy tails would bound no scale.
        return gaussian_fit(summary, self.parts(natural))

    def estimate_from_sums(
        self, sums: ScaleSums, prior: Prior | None, spread: Array | None, sizes: Array
    ) -> tuple[Array, Array]:
        """Makes a step from what a pass over rows added up.

        A component keeps its own coordinates where no step is sure not to lower its likelihood and that of the prior.

        Parameters
        ----------
        sums : ScaleSums
            What the pass added up.
        prior : Prior, default=None
            The prior's observation; None without a prior.
        spread : array (d,), default=None
            How narrow components may be in each column; None where nothing bounds them.
        sizes : array (d,)
            The largest absolute value in each column.

        Returns
        -------
        natural : array (k, D)
            Coordinates after the step.
        gain : array (k,)
            Lower bounds on what it gains.
        """
        natural = self.from_parts(sums.before)
        gain = np.zeros(len(natural))
        summary = None if prior is None else (prior.mean, prior.covariance)
        own = None if prior is None or summary is None else prior.strength * self.prior_fit(summary, natural)
        left = np.ones(len(natural), dtype=bool)
        for expanded in (True, False):
            moved = sums.step(prior, spread, sizes, expanded)
            if self.estimates_degrees:
                excess = sums.mean_excess(expanded)
                degrees = self.degrees_from_scales(excess, sums.counts, sums.before.degrees, len(sizes))
                moved = moved._replace(degrees=degrees)
            found, proposed = sums.gain(moved), self.from_parts(moved)
            if prior is not None and summary is not None and own is not None:
                found = found + prior.strength * self.prior_fit(summary, proposed) - own
            better = left & (found >= 0)
            if self.n_shared:
                # Components that share their degrees change together.
                better = np.full(len(left), bool(left.all() and found.sum() >= 0))
            natural[better], gain[better] = proposed[better], found[better]
            left &= ~better
            if not left.any():
                break
        return natural, gain

    def likely_degrees(self, cells: list[tuple[Array, Array, int]], parts: Parts) -> Array:
        """Returns degrees of freedom of a higher likelihood by Newton's method, locations and scale matrices as they
        are.

        Those from before where the steps do not gain.

        Parameters
        ----------
        cells : list of tuple
            Squared distances (n, k), shares (n, k) and the number of columns, for the rows that have this many.
        parts : Parts
            The distributions before.

        Returns
        -------
        array (k,)
            The degrees of freedom.
        """
        low, high = np.log(LEAST_DEGREES), np.log(MOST_DEGREES)
        point = np.log(parts.degrees)
        for _ in range(NEWTON_STEPS):
            slopes = [degree_slopes(distance, shares, np.exp(point), d) for distance, shares, d in cells]
            slope, bend = (np.sum(part, axis=0) for part in zip(*slopes, strict=True))
            if self.n_shared:
                slope, bend = (np.full(point.shape, part.sum()) for part in (slope, bend))
            step = np.where(bend < 0, -slope / np.minimum(bend, -1e-300), np.sign(slope) * LONGEST_STEP)
            point = np.clip(point + np.clip(step, -LONGEST_STEP, LONGEST_STEP), low, high)
        moved = parts._replace(degrees=np.exp(point))
        gain = np.zeros(len(point))
        for distance, shares, d in cells:
            change = log_density(distance, moved, d) - log_density(distance, parts, d)
            gain += np.einsum("nk,nk->k", shares, change)
        better = np.full(gain.shape, gain.sum() >= 0) if self.n_shared else gain >= 0
        return np.where(better, moved.degrees, parts.degrees)

    def degrees_from_scales(self, excess: Array, counts: Array, degrees: Array, d: int) -> Array:
        """Returns the degrees of freedom of a step of EM.

        Parameters
        ----------
        excess : array (k,)
            The mean log(u) - u of the expected hidden scales u of each component.
        counts : array (k,)
            The number or weight of the rows of each component.
        degrees : array (k,)
            The degrees of freedom before.
        d : int
            The number of columns.

        Returns
        -------
        array (k,)
            The degrees of freedom.
        """
        half = 0.5 * (degrees + d)
        constant = 1 + excess + scipy.special.digamma(half) - np.log(half)

        def slope(at: Array) -> tuple[Array, Array]:
            own = 0.5 * np.broadcast_to(np.exp(at), constant.shape)
            value = scipy.special.digamma(own) - np.log(own) - constant
            change = own * trigamma(own) - 1
            if not self.n_shared:
                return value, change
            return np.atleast_1d(counts @ value), np.atleast_1d(counts @ change)

        start = np.log(degrees)
        first = np.atleast_1d(start.mean()) if self.n_shared else start
        root = increasing_root(slope, first, np.log(LEAST_DEGREES), np.log(MOST_DEGREES), 1e-9)
        return np.array(np.broadcast_to(np.exp(root), start.shape))
