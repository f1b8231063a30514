"""Components of different families in one mixture (appendix A of the paper).

With families g of the same base measure the score of every component is one inner product <T(x), Theta_j> - F(Theta_j)
of T(x) = (t_1(x), ..., t_G(x), k_1(x), ..., k_G(x)) with Theta_j, which holds theta_j in the block of its family, one
at its carrier and zero elsewhere. So the kernels, engines and algorithms serve such mixtures as they are.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from ..numerics.arrays import Array
from .component_blocks import ComponentBlocks
from .contract import FamilyContract
from .support import OUTSIDE, Support, as_infinite

# The value of a cluster in a slot that it cannot take, beside which all others are small.
IMPOSSIBLE = -1e290


@dataclass(frozen=True)
class ComponentFamilies(ComponentBlocks):
    """The families of the components of one mixture, in their order.

    Natural parameters have a block for each of the different families (the `kinds`), and then one entry for each that
    is one for the kind of the component and zero elsewhere.

    Parameters
    ----------
    families : sequence of ExponentialFamily
        The family of each component.
    n_features : int, default=None
        The number of columns; by default that of the data.

    Examples
    --------
    >>> from kmle.families import Gaussian, Uniform
    >>> ComponentFamilies((Gaussian(), Gaussian(), Uniform())).name
    'gaussian*2,uniform'
    """

    # The formulas -----------------------------------------------------------------------------------------------------

    def sufficient_statistic(self, X: Array) -> Array:
        given, *seen = self._views(X)
        parts, carriers = [], []
        for kind, view in zip(self.kinds, seen, strict=True):
            outside = _rows_outside(kind.support, given)
            if outside.any():
                legal = kind.support.example(given.shape[1])
                view = np.where(outside[:, None], legal, view)
                given_to_kind = np.where(outside[:, None], legal, given)
            else:
                given_to_kind = given
            parts.append(kind.sufficient_statistic(view))
            carrier = kind.log_carrier(given_to_kind)
            carriers.append(np.where(outside, OUTSIDE, carrier)[:, None])
        return np.concatenate([*parts, *carriers], axis=1)

    def log_normalizer(self, natural: Array) -> Array:
        return self._values_of_own(lambda g, theta: self.kinds[g].log_normalizer(theta), natural)

    def moment_from_natural(self, natural: Array) -> Array:
        # The means of each component's own statistics; zero for those of other kinds and for carriers.
        kinds = self.kind_of(natural)
        moments = self._of_own(lambda g, theta: self.kinds[g].moment_from_natural(theta), natural, kinds)
        moments[..., -len(self.kinds) :] = 0.0
        return moments

    def natural_from_moment(self, moment: Array) -> Array:
        # The estimate of the family that fits best, for a component that may be of any.
        return self._best_of(moment, self._values(moment, None), None)

    def natural_with_spread(self, moment: Array, spread: Array) -> Array:
        return self._best_of(moment, self._values(moment, spread), spread)

    def _best_of(self, moment: Array, values: Array, spread: Array | None) -> Array:
        return self._estimated(moment, np.asarray(np.argmax(values, axis=-1)), spread)

    def _estimated(self, moments: Array, kinds: NDArray[np.intp], spread: Array | None) -> Array:
        """Estimates for components of these kinds (...), moments (..., D)."""
        return self._of_own(lambda g, moment: self._estimate(g, moment, spread), moments, kinds)

    def _estimate(self, g: int, moment: Array, spread: Array | None) -> Array:
        kind = self.kinds[g]
        own = None if spread is None else self._spreads(spread)[g]
        if own is None or not own.any():
            return kind.natural_from_moment(moment)
        return kind.natural_with_spread(moment, own)

    def _values(self, moments: Array, spread: Array | None) -> Array:
        """The mean log-likelihood (..., G) of clusters with these moments (..., D) as components of each kind."""
        flat = moments.reshape(-1, moments.shape[-1])
        values = np.empty((len(flat), len(self.kinds)))
        for g, (kind, place) in enumerate(zip(self.kinds, self._places, strict=True)):
            theta = self._estimate(g, flat[:, place], spread)
            with np.errstate(all="ignore"):
                fit = np.einsum("nd,nd->n", theta, flat[:, place]) - kind.log_normalizer(theta)
            values[:, g] = fit + flat[:, flat.shape[1] - len(self.kinds) + g]
        values = np.where(np.isfinite(values), values, IMPOSSIBLE)
        return values.reshape(*moments.shape[:-1], len(self.kinds))

    def joint_estimate(self, counts: Array, moments: Array, before: Array | None, spread: Array | None) -> Array:
        # Components keep their kinds; without any before they have those of their places.
        places = np.broadcast_to(np.resize(self.pattern, counts.shape[-1]), counts.shape)
        return self._estimated(moments, places if before is None else self.kind_of(before), spread)

    def projected(self, counts: Array, natural: Array, spread: Array | None) -> Array:
        return natural

    def matched(self, counts: Array, moments: Array, spread: Array | None) -> NDArray[np.intp] | None:
        slots = np.resize(self.pattern, counts.shape[-1])
        gains = counts[..., None] * self._values(moments, spread)
        order = np.empty(counts.shape, dtype=np.intp)
        for index in np.ndindex(counts.shape[:-1]):
            clusters, chosen = scipy.optimize.linear_sum_assignment(gains[index][:, slots], maximize=True)
            order[index][chosen] = clusters
        return order

    def presented(self, log_weights: Array, natural: Array) -> NDArray[np.intp]:
        # Components in the order of their families, the heavier ones of each first.
        kinds = self.kind_of(natural)
        slots = np.empty(len(kinds), dtype=np.intp)
        for g in range(len(self.kinds)):
            own = np.flatnonzero(kinds == g)
            heaviest = own[np.argsort(-log_weights[own], kind="stable")]
            slots[heaviest] = np.flatnonzero(self.pattern == g)[: len(own)]
        return np.argsort(slots, kind="stable")

    def for_components(self, natural: Array) -> tuple["ComponentFamilies", Array]:
        members = self.members(natural)
        own = ComponentFamilies(tuple(family for family, _ in members))
        return own, own.natural_of(members)

    def joint_projection(self, counts: Array, natural: Array, before: Array, spread: Array | None) -> Array:
        # Each component where it is legal and wide enough, the one before elsewhere; kinds are those before.
        natural = natural.copy()
        natural[..., -len(self.kinds) :] = before[..., -len(self.kinds) :]
        with np.errstate(all="ignore"):
            legal = np.isfinite(self.log_normalizer(natural)) & self.has_spread(natural, spread)
        return np.where(legal[..., None], natural, before)

    def natural_from_source(self, *args: Any, **source: Any) -> Array:
        raise ValueError(
            "the usual parameters of components of different families cannot be told apart by name: "
            "use Mixture.from_members"
        )

    def source_from_natural(self, natural: Array) -> dict[str, Array]:
        # The usual parameters by kind, not a number for components of other kinds.
        kinds = self.kind_of(natural)
        source: dict[str, Array] = {}
        for g, (prefix, kind, place) in enumerate(zip(self.kind_names, self.kinds, self._places, strict=True)):
            if not kind.parameters:
                continue
            own = kinds == g
            if not own.any():
                continue
            for name, value in kind.source_from_natural(natural[own][:, place]).items():
                full = np.full((*kinds.shape, *value.shape[1:]), np.nan)
                full[own] = value
                source[f"{prefix}_{name}"] = full
        return source

    def sample(self, natural: Array, size: int, rng: np.random.Generator) -> Array:
        family, theta = self.members(natural[None])[0]
        return family.sample(theta, size, rng)

    def mean_log_carrier(self, natural: Array) -> Array:
        # Zero: T holds the carriers. The entropy is that of the component's own family.
        return np.zeros(natural.shape[:-1])

    def direct_entropy(self, natural: Array) -> Array:
        return self._values_of_own(lambda g, theta: self.kinds[g].entropy(theta), natural)

    def direct_log_density(self, X: Array, natural: Array) -> Array:
        given, *seen = self._views(X)
        kinds = self.kind_of(natural)
        density = np.full((len(X), len(natural)), -np.inf)
        for g, (kind, place) in enumerate(zip(self.kinds, self._places, strict=True)):
            own = np.flatnonzero(kinds == g)
            inside = np.flatnonzero(~_rows_outside(kind.support, given))
            if len(own) == 0 or len(inside) == 0:
                continue
            theta, view = natural[own][:, place], seen[g][inside]
            direct = kind.direct_log_density(view, theta)
            found = kind.packed_log_density(view, theta) if direct is None else direct
            density[np.ix_(inside, own)] = as_infinite(found)
        return density

    def prior_moment(self, mean_statistic: Array) -> Array:
        # The mean statistic with minus F* of each kind's block in place of its mean carrier. So no component pays for a
        # prior at its own family's estimate from all rows, whatever its family.
        moment = mean_statistic.copy()
        first = len(moment) - len(self.kinds)
        moment[first:] = 0.0
        moment[first:] = -self._values(moment, None)
        return moment

    def from_components(self, other: FamilyContract, natural: Array) -> Array:
        return self.natural_of(other.members(natural)) if isinstance(other, ComponentFamilies) else natural


def _rows_outside(support: Support, X: Array) -> NDArray[np.bool_]:
    outside = support.outside(X)
    return np.asarray(outside.any(axis=1) if outside.ndim == 2 else outside)
