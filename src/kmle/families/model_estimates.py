"""Estimates of many mixtures of full Gaussians at once, each under a covariance model of its own.

Compiled where nothing is at a bound; the formulas of the families serve the others. Diagonal and round Gaussians are
seen as full ones.
"""

import numpy as np
from numpy.typing import NDArray

from .._kernels import COVARIANCE_MODELS, structured_natural
from ..numerics.arrays import Array
from ..numerics.packing import diagonal_places, packed_length
from .gaussian import ROUNDING_VARIANCE, SMALLEST_CORRELATION, dimension
from .structured_gaussian import Structured, StructuredGaussian, structured


def compiled_estimates(
    models: NDArray[np.int32], counts: Array, moments: Array, before: Array | None, spread: Array | None
) -> tuple[Array, NDArray[np.bool_]]:
    """Natural parameters (S, k, D) of full Gaussians, each mixture under a model of its own (by its place in `MODELS`).

    And which mixtures have them: those where no component is close to a bound, none without the compiled module.
    """
    found = structured_natural(
        models,
        counts,
        moments,
        before,
        np.zeros(dimension(moments)) if spread is None else spread,
        smallest=10 * SMALLEST_CORRELATION,
        rounding=ROUNDING_VARIANCE,
    )
    return found or (np.empty(moments.shape), np.zeros(len(models), dtype=bool))


def estimates_of_models(
    models: NDArray[np.int32], counts: Array, moments: Array, before: Array | None, spread: Array | None
) -> Array:
    """The same for all mixtures: the formulas of the families serve those that are close to a bound."""
    natural, safe = compiled_estimates(models, counts, moments, before, spread)
    for model in np.unique(models[~safe]):
        rest = np.flatnonzero(~safe & (models == model))
        start = None if before is None else before[rest]
        natural[rest] = _by_formulas(COVARIANCE_MODELS[model], counts[rest], moments[rest], start, spread)
    return natural


def _by_formulas(structure: str, counts: Array, moments: Array, before: Array | None, spread: Array | None) -> Array:
    """The same under one model, by the formulas of its family."""
    d = dimension(moments)
    family = structured(structure, d)
    if isinstance(family, StructuredGaussian):
        return Structured.joint_estimate(family, counts, moments, before, spread)
    own = narrow_moments(structure, moments)
    if not isinstance(family, Structured):
        flat = own.reshape(-1, own.shape[-1])
        alone = family.natural_from_moment(flat) if spread is None else family.natural_with_spread(flat, spread)
        return wide_natural(structure, alone.reshape(own.shape), d)
    start = None if before is None else narrow_natural(structure, before)
    return wide_natural(structure, family.joint_estimate(counts, own, start, spread), d)


# Diagonal and round Gaussians as full ones ----------------------------------------------------------------------------


def narrow_moments(structure: str, moments: Array) -> Array:
    """The moments (..., D) of full Gaussians as the family of a model has them."""
    if structure[2] != "I":
        return moments
    d = dimension(moments)
    squares = moments[..., d + diagonal_places(d)]
    squares = squares.sum(axis=-1, keepdims=True) if structure[1] == "I" else squares
    return np.concatenate([moments[..., :d], squares], axis=-1)


def narrow_natural(structure: str, natural: Array) -> Array:
    """Natural parameters of full Gaussians that are of a model, as its family has them."""
    if structure[2] != "I":
        return natural
    d = dimension(natural)
    quadratic = natural[..., d + diagonal_places(d)]
    return np.concatenate([natural[..., :d], quadratic[..., :1] if structure[1] == "I" else quadratic], axis=-1)


def wide_natural(structure: str, natural: Array, n_features: int) -> Array:
    """The inverse of `narrow_natural`."""
    if structure[2] != "I":
        return natural
    d = n_features
    wide = np.zeros((*natural.shape[:-1], d + packed_length(d)))
    wide[..., :d] = natural[..., :d]
    wide[..., d + diagonal_places(d)] = natural[..., d:]
    return wide
