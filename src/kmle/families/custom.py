"""A family of your own from three functions: t, F and k. Everything else is derived numerically.

The gradient of F may be given as a fourth one, which makes estimates faster.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..numerics.arrays import Array
from ..numerics.differentiation import gradient, jacobian, natural_steps
from ..numerics.inversion import invert_gradient
from .derived import ExponentialFamily
from .support import REALS, Integers, Interval, Support

Function = Callable[[Array], Array]


@dataclass(frozen=True)
class CustomFamily(ExponentialFamily):
    """What `from_functions` makes. Its only usual parameter is `natural` itself.

    Parameters
    ----------
    title : str
        The name.
    statistic : callable
        t(X), an array (n, D).
    normalizer : callable
        F of natural parameters.
    carrier : callable or None
        k(X), an array (n,); None is zero.
    legal : Support
        The values that data may have.
    start : tuple of float
        Natural parameters inside of the parameter space.
    slope : callable, default=None
        The gradient of F; by default it is computed numerically.
    n_features : int, default=None
        The number of columns; by default that of the data.
    """

    title: str
    statistic: Function
    normalizer: Function
    carrier: Function | None
    legal: Support
    start: tuple[float, ...]
    slope: Function | None = None

    parameters: ClassVar = {"natural": REALS}

    @property
    def name(self) -> str:
        return self.title

    @property
    def support(self) -> Support:
        return self.legal

    def n_statistics_for(self, n_features: int) -> int:
        return len(self.start)

    def sufficient_statistic(self, X: Array) -> Array:
        return np.asarray(self.statistic(X), dtype=float)

    def log_carrier(self, X: Array) -> Array:
        return np.zeros(X.shape[:-1]) if self.carrier is None else np.asarray(self.carrier(X), dtype=float)

    def log_normalizer(self, natural: Array) -> Array:
        return np.asarray(self.normalizer(natural), dtype=float)

    def moment_from_natural(self, natural: Array) -> Array:
        return gradient(self.log_normalizer, natural) if self.slope is None else self._slope(natural)

    def _slope(self, natural: Array) -> Array:
        assert self.slope is not None
        return np.asarray(self.slope(natural), dtype=float)

    def natural_from_moment(self, moment: Array) -> Array:
        flat = moment.reshape(-1, moment.shape[-1])
        slope = None if self.slope is None else self._slope
        return invert_gradient(self.log_normalizer, flat, np.array(self.start), slope).reshape(moment.shape)

    def natural_from_source(self, *, natural: Array) -> Array:
        """Returns the natural parameters of distributions that are given by their usual parameters.

        Parameters
        ----------
        natural : array (k, D)
            The natural parameters, which are the usual ones here.

        Returns
        -------
        array (k, D)
            Natural parameters.
        """
        return np.atleast_2d(natural)

    def source_from_natural(self, natural: Array) -> dict[str, Array]:
        return {"natural": natural}

    def mean_log_carrier(self, natural: Array) -> Array:
        if self.n_features not in (None, 1):
            raise ValueError(f"the entropy of {self.name} needs E[k(x)], which is integrated for one column only")
        return self.integrate_log_carrier(natural)

    def sample(self, natural: Array, size: int, rng: np.random.Generator) -> Array:
        # Draws by inverting the cumulative sum of the density over its quadrature nodes: one column only.
        if self.n_features not in (None, 1) or not isinstance(self.support, Integers | Interval):
            raise ValueError(f"{self.name} samples one column only: subclass ExponentialFamily to write its `sample`")
        x, weight = self.nodes(natural)
        column = x[:, None]
        log_density = self.sufficient_statistic(column) @ natural + self.log_carrier(column)
        mass = weight * np.exp(log_density - log_density.max())
        upper = np.cumsum(mass) / mass.sum()
        u = rng.random(size)
        if isinstance(self.support, Integers):
            return np.round(x[np.searchsorted(upper, u)])[:, None]
        return np.interp(u, upper - 0.5 * mass / mass.sum(), x)[:, None]


def from_functions(
    name: str,
    statistic: Function,
    log_normalizer: Function,
    log_carrier: Function | None = None,
    *,
    support: Support = REALS,
    start: ArrayLike | None = None,
    n_features: int = 1,
    gradient: Function | None = None,
) -> CustomFamily:
    """Makes a family from its formulas; run `check_family` on the result.

    Parameters
    ----------
    name : str
        The short name.
    statistic : callable, (n, d) -> (n, D)
        The sufficient statistic t.
    log_normalizer : callable, (..., D) -> (...)
        The log-normalizer F; NaN or infinite outside its domain.
    log_carrier : callable, (n, d) -> (n,), default=None
        The carrier k; None is zero.
    support : Support, default=all real numbers
        The legal data.
    start : array (D,), default=None
        Any legal natural parameter; None searches for one.
    n_features : int, default=1
        The number of columns.
    gradient : callable, (..., D) -> (..., D), default=None
        The gradient of F; None uses differences of F.

    Returns
    -------
    ExponentialFamily
        The family.

    Examples
    --------
    >>> from kmle.families import from_functions
    >>> from kmle.families.support import POSITIVE
    >>> levy = from_functions(  # waiting times with a very heavy tail
    ...     "levy",
    ...     statistic=lambda X: 1 / X,
    ...     log_normalizer=lambda natural: -0.5 * np.log(-2 * natural[..., 0]),
    ...     log_carrier=lambda X: -1.5 * np.log(X[:, 0]) - 0.5 * np.log(2 * np.pi),
    ...     support=POSITIVE,
    ... )
    >>> levy.mle([[1.0], [2.0], [4.0]]).natural.round(6)  # minus half of 1 / mean(1/x)
    array([[-0.857143]])
    """
    order = _order(support, n_features, statistic, log_normalizer, log_carrier)
    if gradient is not None:
        _check_gradient(gradient, order)
    point = _legal_start(name, log_normalizer, order) if start is None else np.asarray(start, dtype=float)
    if point.shape != (order,):
        raise ValueError(f"start has shape {point.shape}; the statistic has {order} entries")
    return CustomFamily(
        name, statistic, log_normalizer, log_carrier, support, tuple(point.tolist()), gradient, n_features=n_features
    )


def _check_gradient(gradient: Function, order: int) -> None:
    natural = np.full((2, 5, order), -1.0)
    with np.errstate(all="ignore"):
        got = np.shape(gradient(natural))
    if got != natural.shape:
        raise ValueError(
            f"gradient gave shape {got} for natural parameters of shape {natural.shape}: it must give the same shape"
        )


def _order(
    support: Support, n_features: int, statistic: Function, log_normalizer: Function, log_carrier: Function | None
) -> int:
    """D, after making sure that the three functions give arrays of the right shapes."""
    rows = np.tile(support.example(n_features), (3, 1))
    shape = np.shape(statistic(rows))
    if len(shape) != 2 or shape[0] != 3:
        raise ValueError(f"statistic gave shape {shape} for data of shape {rows.shape}: it must give (n, D)")
    if log_carrier is not None and (got := np.shape(log_carrier(rows))) != (3,):
        raise ValueError(f"log_carrier gave shape {got} for data of shape {rows.shape}: it must give (n,)")
    natural = np.full((2, 5, shape[1]), -1.0)
    with np.errstate(all="ignore"):
        got = np.shape(log_normalizer(natural))
    if got != (2, 5):
        raise ValueError(
            f"log_normalizer gave shape {got} for natural parameters of shape {natural.shape}: "
            "it must give one number for each along the last axis, here (2, 5)"
        )
    return shape[1]


def _legal_start(name: str, log_normalizer: Function, order: int) -> Array:
    """A natural parameter where F is finite and convex, among simple ones."""
    if order <= 6:
        signs = np.array(list(product((-1.0, 0.0, 1.0), repeat=order)))
    else:
        signs = np.vstack([np.full(order, value) for value in (-1.0, 0.0, 1.0)])
    for magnitude in (1.0, 0.5, 2.0, 3.0, 0.1, 10.0):
        candidates = magnitude * signs
        with np.errstate(all="ignore"):
            finite = np.isfinite(np.asarray(log_normalizer(candidates), dtype=float))
        for candidate in candidates[finite]:
            if _is_convex_at(log_normalizer, candidate):
                return candidate
    raise ValueError(f"no natural parameter of {name} was found where F is finite and convex: give one as start=[...]")


def _is_convex_at(log_normalizer: Function, natural: Array) -> bool:
    """Whether F has a positive definite Hessian here, as it must inside its domain."""
    point = natural[None]
    with np.errstate(all="ignore"):
        steps = natural_steps(log_normalizer, point)
        hessian = jacobian(
            lambda theta: gradient(log_normalizer, theta, np.broadcast_to(steps[:, None, None, :], theta.shape)),
            point,
            steps,
        )[0]
    if not np.isfinite(hessian).all():
        return False
    scale = np.sqrt(np.abs(np.diagonal(hessian)))
    if not np.all(scale > 0):
        return False
    correlation = hessian / np.outer(scale, scale)
    return bool(np.linalg.eigvalsh(0.5 * (correlation + correlation.T))[0] > 1e-6)
