"""What all divergences need: mixtures that can be compared, seen from a point amid them, and values over all pairs."""

from collections.abc import Callable

import numpy as np

from ..families import ExponentialFamily
from ..families.layout import BLOCK_NUMBERS
from ..families.support import Angles, Integers, Interval, Support
from ..families.tails import growth_of, kl_is_infinite, tails_of
from ..mixture import Mixture
from ..numerics.arrays import Array


def exact_kl(p: Mixture, q: Mixture) -> float | None:
    """KL in closed form, where there is one."""
    if p == q:
        return 0.0
    if p.family == q.family and p.n_components == q.n_components == 1:
        return float(p.family.kl(p.natural, q.natural)[0])
    return None


def tails_too_heavy(p: Mixture, q: Mixture) -> bool:
    """Whether KL(p : q) is surely infinite because of tails of p."""
    own, other = active_part(p).members, active_part(q).members
    tails = np.stack([tails_of(member.family, member.natural[0]) for member in own])
    return kl_is_infinite(tails, np.stack([growth_of(member.family, member.natural[0]) for member in other]))


def pairwise_kl(family: ExponentialFamily, natural: Array, other: Array) -> Array:
    """KL of every distribution (k, D) from every other (m, D), (k, m), block by block."""
    return over_pairs(family.kl, natural, other)


def over_pairs(function: Callable[[Array, Array], Array], first: Array, second: Array) -> Array:
    size = max(1, BLOCK_NUMBERS // second.size)
    starts = range(0, len(first), size)
    return np.concatenate([function(first[start : start + size, None], second[None]) for start in starts])


def centered(p: Mixture, q: Mixture) -> tuple[Mixture, Mixture]:
    """Both mixtures of one family seen from a point amid the first, so that an offset costs no digits."""
    center = p.family.center(p.natural, p.weights)
    p_natural, q_natural = p.family.centered(center, p.natural, q.natural)
    return Mixture(p.family, p.weights, p_natural), Mixture(q.family, q.weights, q_natural)


def active_part(mixture: Mixture) -> Mixture:
    active = mixture.weights > 0
    return mixture if active.all() else Mixture(mixture.family, mixture.weights[active], mixture.natural[active])


def check_one_family(p: Mixture, q: Mixture) -> None:
    if p.family != q.family:
        raise ValueError(f"p is a mixture of {p.family}, q of {q.family}: they must be of one family; use kl")


def check_spaces(p: Mixture, q: Mixture) -> None:
    if p.family == q.family:
        return
    if p.family.n_features != q.family.n_features:
        raise ValueError(f"p has {p.family.n_features} columns and q {q.family.n_features}: they must be the same")
    if _space(p.family.support) != _space(q.family.support):
        raise ValueError(
            f"p ({p.family.name}: {p.family.support.description}) and q ({q.family.name}: "
            f"{q.family.support.description}) have densities of different kinds, which cannot be compared"
        )


def _space(support: Support) -> object:
    """What a density on this support is a density of: two that are equal may be divided."""
    if isinstance(support, Angles):
        return support
    for kind in (Integers, Interval):
        if isinstance(support, kind):
            return kind
    return type(support), getattr(support, "supports", None)
