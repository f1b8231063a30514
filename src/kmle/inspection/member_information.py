"""The information on mixtures whose components are of different families, or of none that is exponential.

Each component has its own coordinates: natural parameters of its exponential family, or those of `coordinates`. The
rest is Louis' identity as in `uncertainty`; derivatives of densities that have no closed form are differences.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from .._kernels import has_missing
from ..data.intervals import Intervals
from ..engines.patterns.entries import Entries, entries_of
from ..families import ComponentFamilies, ExponentialFamily
from ..families.coordinates import CoordinateFamily
from ..families.shaped import Shaped
from ..families.shaped_product import ShapedProduct
from ..mixture import Mixture
from ..mixture.intervals import interval_scores
from ..numerics.arrays import Array
from ..numerics.differentiation import hessian, jacobian, natural_steps

# Differences of coordinates, whose unit is about a relative change.
STEP = 1e-3


@dataclass(frozen=True, eq=False)
class Scored:
    """One component and rows: derivatives of its log-density by its coordinates (p,)."""

    family: ExponentialFamily
    natural: Array
    rows: Array | Intervals

    @cached_property
    def _entries(self) -> Entries | None:
        """The rows as seen from the center where entries are missing: derivatives are differences there."""
        if isinstance(self.rows, Intervals) or not has_missing(self.rows):
            return None
        rows = self.rows if self.center is None else self.family.centered_rows(self.rows, self.center)
        return entries_of(self.family, rows)

    @property
    def _by_differences(self) -> bool:
        return isinstance(self.family, CoordinateFamily) or self._entries is not None

    @cached_property
    def center(self) -> Array | None:
        """Where rows are measured from."""
        if isinstance(self.family, CoordinateFamily):
            return None
        assert isinstance(self.rows, np.ndarray)  # only shaped families have intervals here
        return self.family.data_center(self.rows)

    @cached_property
    def point(self) -> Array:
        """The coordinates, as seen from there."""
        return self.family.centered(self.center, self.natural[None])[0][0]

    @cached_property
    def steps(self) -> Array:
        """Differences of coordinates."""
        if isinstance(self.family, CoordinateFamily):
            return STEP * self.family.coordinate_units(self.point)
        return natural_steps(self.family.log_normalizer, self.point)

    def _log_density(self, natural: Array) -> Array:
        if isinstance(self.rows, Intervals):
            return interval_scores(self.family, np.ones(len(natural)), natural, self.rows)
        if self._entries is not None:
            return self._entries.log_densities(natural)
        found = self.family.direct_log_density(self.rows, natural)
        assert found is not None  # such families have no others
        return found

    @cached_property
    def gradients(self) -> Array:
        """By row (n, p)."""
        if len(self.point) == 0:
            return np.zeros((len(self.rows), 0))
        if self._by_differences:
            return jacobian(lambda at: self._by_row(at), self.point, self.steps).T
        assert isinstance(self.rows, np.ndarray)
        rows = self.rows if self.center is None else self.family.centered_rows(self.rows, self.center)
        return self.family.sufficient_statistic(rows) - self.family.moment_from_natural(self.point[None])

    def _by_row(self, at: Array) -> Array:
        """Log-densities (..., n) at coordinates (..., p)."""
        found = self._log_density(at.reshape(-1, at.shape[-1]))
        return found.T.reshape(*at.shape[:-1], -1)

    def curvature(self, weights: Array) -> Array:
        """Minus the second derivatives (p, p) of the weighted log-likelihood."""
        if len(self.point) == 0:
            return np.zeros((0, 0))
        if not self._by_differences:
            return float(weights.sum()) * self.family.fisher_information(self.point)[0]
        if isinstance(self.family, CoordinateFamily) and not self.family.smooth:
            return (self.gradients * weights[:, None]).T @ self.gradients
        return -hessian(lambda at: self._by_row(at) @ weights, self.point, self.steps)

    def errors(self, covariance: Array) -> dict[str, Array]:
        """Standard errors of the usual parameters from the covariance (p, p) of the coordinates."""
        if not self.family.parameters:
            return {}
        shapes = {name: value.shape[1:] for name, value in self.family.source_from_natural(self.point[None]).items()}

        def flat(at: Array) -> Array:
            source = self.family.source_from_natural(at.reshape(-1, at.shape[-1]))
            parts = [value.reshape(len(value), -1) for value in source.values()]
            return np.concatenate(parts, axis=1).reshape(*at.shape[:-1], -1)

        slopes = jacobian(flat, self.point, self.steps)
        errors = np.sqrt(np.maximum(np.einsum("im,ij,jm->m", slopes, covariance, slopes), 0.0))
        ends = np.cumsum([int(np.prod(shape)) for shape in shapes.values()])[:-1]
        parts = zip(shapes.items(), np.split(errors, ends), strict=True)
        return {name: part.reshape(shape) for (name, shape), part in parts}


class MemberInformation:
    """The information on k logits of the weights, then the coordinates of each component."""

    def __init__(self, mixture: Mixture, rows: Array | Intervals, weights: Array | None) -> None:
        self.mixture = mixture
        self.weights = np.ones(len(rows)) if weights is None else weights
        self.members = [Scored(member.family, member.natural[0], rows) for member in mixture.members]
        self.shares = np.asarray(mixture.posterior(rows))  # type: ignore[arg-type]
        ends = np.cumsum([mixture.n_components, *(len(member.natural) for member in self.members)])
        self.places = [slice(int(first), int(last)) for first, last in pairwise(ends)]
        self.size = int(ends[-1])

    @property
    def redundancy(self) -> int:
        """Coordinates that are not free."""
        return sum(member.family.redundancy for member in self.members if len(member.natural))

    def information(self, method: str) -> Array:
        """By one of the methods of `standard_errors`."""
        k, w = self.mixture.n_components, self.mixture.weights
        if method == "complete":
            own = np.eye(k)[self.shares.argmax(axis=1)] * self.weights[:, None]
            return self._complete(own)
        outer, within = np.zeros((self.size, self.size)), np.zeros((self.size, self.size))
        away = np.eye(k) - w
        score = np.empty((len(self.weights), self.size))
        score[:, :k] = self.shares - w
        weighted = self.shares * self.weights[:, None]
        for j, (member, place) in enumerate(zip(self.members, self.places, strict=True)):
            gradients = np.where(self.shares[:, [j]] > 0, member.gradients, 0.0)
            score[:, place] = self.shares[:, [j]] * gradients
            within[place, place] = (weighted[:, [j]] * gradients).T @ gradients
            within[:k, place] = np.outer(away[j], weighted[:, j] @ gradients)
            within[place, :k] = within[:k, place].T
        outer = score.T @ (score * self.weights[:, None])
        if method == "empirical":
            return outer
        within[:k, :k] = away.T @ (weighted.sum(axis=0)[:, None] * away)
        return self._complete(weighted) - within + outer

    def _complete(self, shares: Array) -> Array:
        k, w = self.mixture.n_components, self.mixture.weights
        information = np.zeros((self.size, self.size))
        information[:k, :k] = self.weights.sum() * (np.diag(w) - np.outer(w, w))
        for j, (member, place) in enumerate(zip(self.members, self.places, strict=True)):
            information[place, place] = member.curvature(shares[:, j])
        return information

    @cached_property
    def embedding(self) -> Array:
        """The coordinates (all of them, free ones): a shared one stands for those of all components."""
        merged = np.arange(self.size)
        for family in dict.fromkeys(member.family for member in self.members):
            if isinstance(family, CoordinateFamily) and family.n_shared:
                own = [place for place, m in zip(self.places, self.members, strict=True) if m.family == family]
                for index in family.shared_places():
                    merged[[place.start + index for place in own]] = own[0].start + index
        _, numbers = np.unique(merged, return_inverse=True)
        return np.eye(int(numbers.max()) + 1)[numbers]

    def errors(self, covariance: Array) -> dict[str, Array]:
        """Standard errors by the names and shapes of `mixture.source`; not a number for those of other families."""
        found = [m.errors(covariance[p, p]) for m, p in zip(self.members, self.places, strict=True)]
        family, source = self.mixture.family, self.mixture.source
        errors = {name: np.full(value.shape, np.nan) for name, value in source.items()}
        for j, (own, prefix) in enumerate(zip(found, self._prefixes(family), strict=True)):
            for name, value in own.items():
                errors[prefix + name][j] = value
        return errors

    def _prefixes(self, family: ExponentialFamily) -> list[str]:
        if not isinstance(family, ComponentFamilies):
            return [""] * self.mixture.n_components
        kinds: NDArray[np.intp] = family.kind_of(self.mixture.natural)
        return [f"{family.kind_names[kind]}_" for kind in kinds]


def by_members(mixture: Mixture) -> bool:
    """Whether the information on a mixture is that of its members."""
    return isinstance(mixture.family, ComponentFamilies) or not mixture.family.exponential


def takes_intervals(mixture: Mixture) -> bool:
    """Whether such a mixture may have intervals."""
    return isinstance(mixture.family, Shaped | ShapedProduct)
