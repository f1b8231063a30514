"""`check_family`: the identities that hold for every exponential family, tried on one family."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..numerics.arrays import Array
from ..numerics.differentiation import gradient, natural_steps
from .coordinate_checks import NotCheckableError, coordinate_checks
from .coordinates import CoordinateFamily
from .custom import CustomFamily
from .derived import ExponentialFamily
from .expectations import SLACK, total_and_mean
from .rays import fault_on_rays
from .support import Integers, Interval

SAMPLES = 4000
# A mean of t over samples further away than this, in standard errors per root degree of freedom, is not chance.
SIX_SIGMA = 6.0


@dataclass(frozen=True)
class CheckResult:
    """One check of a family.

    Attributes
    ----------
    name : str
        What was checked.
    holds : bool or None
        Whether it holds; None where it was not checked.
    sentence : str
        What was found, with the numbers.
    """

    name: str
    holds: bool | None
    sentence: str

    def __str__(self) -> str:
        mark = {True: "holds", False: "FAILS", None: "not checked"}[self.holds]
        return f"{mark:>11}  {self.name}: {self.sentence}"


@dataclass(frozen=True)
class FamilyReport:
    """What `check_family` found.

    Attributes
    ----------
    family : str
        The name of the family.
    results : tuple of CheckResult
        One result for each check.
    """

    family: str
    results: tuple[CheckResult, ...]

    @property
    def ok(self) -> bool:
        """True when no check fails."""
        return all(result.holds is not False for result in self.results)

    @property
    def failures(self) -> tuple[CheckResult, ...]:
        """The checks that fail."""
        return tuple(result for result in self.results if result.holds is False)

    def __str__(self) -> str:
        return "\n".join([f"{self.family}: {self._headline()}", *map(str, self.results)])

    def _headline(self) -> str:
        held, unchecked = (sum(result.holds is state for result in self.results) for state in (True, None))
        not_checked = f", {unchecked} not checked" if unchecked else ""
        if not self.ok:
            return f"NOT a family yet ({len(self.failures)} of {len(self.results)} checks fail{not_checked})"
        return f"{held} of {len(self.results)} checks pass{not_checked}" if unchecked else "all checks pass"


def check_family(family: ExponentialFamily, natural: ArrayLike | None = None, *, random_state: int = 0) -> FamilyReport:
    """Checks the identities that hold for every exponential family, or for every family with estimated shapes.

    Parameters
    ----------
    family : ExponentialFamily
        The family.
    natural : array (k, D), default=None
        Natural parameters to check at; optional for a family from `from_functions`.
    random_state : int, default=0
        The seed of the samples.

    Returns
    -------
    FamilyReport
        `ok`, `failures`, and one line per check when printed.

    Examples
    --------
    >>> from kmle.families import Poisson
    >>> check_family(Poisson(n_features=1), [[0.5]]).ok
    True
    """
    # A wrong family may overflow or take roots of negative numbers: its report is the place to say so.
    with np.errstate(all="ignore"):
        return _report(family, _points(family, natural), np.random.default_rng(random_state))


def _checks(family: ExponentialFamily, points: Array, rng: np.random.Generator) -> dict[str, Callable[[], str | None]]:
    """Each check by its name: it says what is wrong, or None."""
    if isinstance(family, CoordinateFamily):
        return coordinate_checks(family, points, rng)
    return {
        "shapes": lambda: _shapes(family, points),
        "F is convex": lambda: _convex(family, points),
        "the moment is the gradient of F": lambda: _gradient(family, points),
        "F and the moment agree far out": lambda: fault_on_rays(family, points),
        "natural -> moment -> natural is the identity": lambda: _round_trip(family, points),
        "F + F* = <theta, eta>": lambda: _fenchel(family, points),
        "the density integrates to one": lambda: _normalised(family, points),
        "the moment is the mean of t": lambda: _mean_statistic(family, points),
        "samples are legal and have the right mean": lambda: _samples(family, points, rng),
        "usual parameters -> natural -> usual parameters is the identity": lambda: _source(family, points),
    }


def _report(family: ExponentialFamily, points: Array, rng: np.random.Generator) -> FamilyReport:
    results: list[CheckResult] = []
    for name, check in _checks(family, points, rng).items():
        try:
            if results and results[0].holds is False:
                raise NotCheckableError("the shapes are wrong")
            fault = check()
            results.append(CheckResult(name, fault is None, fault or "at every parameter tried"))
        except NotCheckableError as reason:
            results.append(CheckResult(name, None, str(reason)))
        except (ValueError, TypeError, IndexError, FloatingPointError, np.linalg.LinAlgError) as error:
            results.append(CheckResult(name, False, f"it raised {type(error).__name__}: {error}"))
    return FamilyReport(family.name, tuple(results))


def _points(family: ExponentialFamily, natural: ArrayLike | None) -> Array:
    if natural is not None:
        return np.atleast_2d(np.asarray(natural, dtype=float))
    if not isinstance(family, CustomFamily):
        raise ValueError(f"give natural=(k, D), a few legal natural parameters of {family.name} to check")
    start = np.array(family.start)
    # Around the start, at half a standard deviation of t along each coordinate.
    spread = 0.5 / np.sqrt(np.abs(np.diagonal(family.fisher_information(start)[0])))
    return np.vstack([start, start + np.diag(spread), start - np.diag(spread)])


def _worst(error: Array, tolerance: float, points: Array, words: str) -> str | None:
    error = np.asarray(error).reshape(len(points), -1).max(axis=1)
    bad = ~(error <= tolerance)
    if not bad.any():
        return None
    where = int(np.argmax(np.where(np.isnan(error), np.inf, error)))
    return f"at natural {np.round(points[where], 6).tolist()} {words} {error[where]:.3g}"


def _shapes(family: ExponentialFamily, points: Array) -> str | None:
    d = family.n_features or 1
    rows = np.tile(family.support.example(d), (3, 1))
    expected = {"sufficient_statistic": (3, points.shape[1]), "log_carrier": (3,)}
    got = {name: np.shape(getattr(family, name)(rows)) for name in expected}
    stacked = np.stack([points, points])
    expected |= {"log_normalizer": stacked.shape[:2], "moment_from_natural": stacked.shape}
    got |= {name: np.shape(getattr(family, name)(stacked)) for name in ("log_normalizer", "moment_from_natural")}
    for name, shape in expected.items():
        if got[name] != shape:
            return f"{name} gave shape {got[name]} where {shape} was expected"
    return None


def _convex(family: ExponentialFamily, points: Array) -> str | None:
    information = family.fisher_information(points)
    scale = np.sqrt(np.maximum(np.abs(np.diagonal(information, axis1=1, axis2=2)), 1e-300))
    correlation = information / (scale[:, :, None] * scale[:, None, :])
    lowest = np.linalg.eigvalsh(correlation)[:, 0]
    return _worst(-lowest, 1e-8, points, "the Hessian of F has an eigenvalue below zero, by")


def _gradient(family: ExponentialFamily, points: Array) -> str | None:
    steps = natural_steps(family.log_normalizer, points)
    numerical, moment = gradient(family.log_normalizer, points, steps), family.moment_from_natural(points)
    # Differences over short steps of a large F, or of one whose argument is rounded, are no sharper than this.
    rounding = np.abs(family.log_normalizer(points))[:, None] + np.abs(points * moment)
    slack = SLACK * np.finfo(float).eps * rounding / (steps * np.maximum(np.abs(moment), 1.0))
    return _worst(_beyond(_relative(moment, numerical), slack), 1e-8, points, "they differ, relatively, by")


def _relative(a: Array, b: Array) -> Array:
    return np.abs(a - b) / np.maximum(np.maximum(np.abs(a), np.abs(b)), 1.0)


def _round_trip(family: ExponentialFamily, points: Array) -> str | None:
    back = family.natural_from_moment(family.moment_from_natural(points))
    return _worst(_relative(back, points), 1e-6, points, "it comes back off by")


def _fenchel(family: ExponentialFamily, points: Array) -> str | None:
    moment = family.moment_from_natural(points)
    both = family.log_normalizer(points) + family.conjugate(moment)
    return _worst(_relative(both, (points * moment).sum(axis=-1)), 1e-8, points, "they differ, relatively, by")


def _integrals(family: ExponentialFamily, points: Array) -> tuple[Array, Array]:
    if family.n_features not in (None, 1) or not isinstance(family.support, Interval | Integers):
        raise NotCheckableError("quadrature needs one column of numbers")
    found = [total_and_mean(family, theta) for theta in points]
    return np.stack([value for value, _ in found]), np.stack([slack for _, slack in found])


def _normalised(family: ExponentialFamily, points: Array) -> str | None:
    value, slack = _integrals(family, points)
    fault = _worst(_beyond(np.abs(value[:, 0] - 1), slack[:, 0]), 1e-8, points, "the total is off by")
    return fault and f"{fault} (totals {np.round(value[:, 0], 6).tolist()})"


def _mean_statistic(family: ExponentialFamily, points: Array) -> str | None:
    value, slack = _integrals(family, points)
    moment = family.moment_from_natural(points)
    error = _beyond(_relative(value[:, 1:], moment), slack[:, 1:] / np.maximum(np.abs(moment), 1.0))
    return _worst(error, 1e-7, points, "they differ by")


def _beyond(error: Array, slack: Array) -> Array:
    """The error, or zero where it is no more than the slack."""
    return np.where(error <= slack, 0.0, error)


def _samples(family: ExponentialFamily, points: Array, rng: np.random.Generator) -> str | None:
    distances = []
    for theta in points:
        try:
            rows = family.sample(theta, SAMPLES, rng)
        except ValueError as reason:
            raise NotCheckableError(str(reason)) from None
        family.check(rows)
        gap = family.mean_statistic(rows) - family.moment_from_natural(theta[None])[0]
        inverse = np.linalg.pinv(family.fisher_information(theta)[0], rcond=1e-10, hermitian=True)
        distances.append(np.sqrt(SAMPLES * max(gap @ inverse @ gap, 0.0) / len(theta)))
    return _worst(np.array(distances), SIX_SIGMA, points, "the sample mean is off, in standard errors, by")


def _source(family: ExponentialFamily, points: Array) -> str | None:
    back = family.natural_from_source(**family.source_from_natural(points))
    return _worst(_relative(back, points), 1e-8, points, "it comes back off by")
