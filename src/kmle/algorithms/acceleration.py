"""Points beyond the plain EM step, for tails in which plain steps gain little.

Two ways of finding them. Anderson acceleration (Anderson, 1965; for EM Henderson and Varadhan, 2019) combines the
latest steps so that their residuals, plain estimate minus point, cancel: near an optimum it converges almost as fast as
Newton's method. Lengths of residuals are measured by the Fisher information of the components: the change of natural
parameters times the change of moments, so that units of columns do not matter. Where that model does not hold (on
ridges, near saddles) points have momentum: they lie beyond the last estimate in the direction of its last change
(Nesterov, 1983), with restarts (O'Donoghue and Candes, 2015).
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..numerics.arrays import Array
from ..problem.problem import LearningProblem, Parameters

# Changes of residuals that Anderson acceleration combines, at most, and the numbers that they may hold.
MEMORY, NUMBERS = 8, 250_000
# Directions in which residuals differ by less than this share, squared, are rounding.
RANK = 1e-10
# Momentum after s accepted steps is s / (s + DELAY), at most LARGEST.
DELAY = 1.5
LARGEST = 0.995
# Steps of a tail before momentum begins.
FIRST_MOMENTUM = 3
# After a point of Anderson's was refused, momentum takes over for this many steps, twice as many each further time.
PAUSE, LONGEST_PAUSE = 4, 16
# A point of Anderson's that is refused is tried once more at this share of its way beyond the plain estimate: on curved
# ridges the way is right but too long. The next ones begin there, and each accepted one may go further by a factor.
SHORTER, LONGER = 0.25, 2.0
SHORTEST = 0.01
# Estimates of what is left to gain are believed if this many in a row agree, each from at least two residuals.
ESTIMATES = 3
# No estimate may be less than the gain of this many plain steps.
PLAIN_STEPS = 40


@dataclass(frozen=True)
class Acceleration:
    """What accelerated steps carry on."""

    plain: Parameters
    """The latest plain estimate."""
    streak: int = 0
    """Steps since the tail began or momentum was last lost."""
    residuals: Array | None = None
    """The latest points, their residuals, and these in moments times the rows of each component: (3, m, p).

    Points are vectors of natural parameters and log-weights; the moments' counterparts of the latter are weights.
    """
    pause: int = 0
    """Steps until Anderson acceleration is tried again."""
    refused: int = 0
    left: tuple[float, ...] = ()
    """The latest estimates of what is left to gain, in nats."""
    reach: float = 1.0
    """The share of the way beyond the plain estimate that Anderson's points go."""

    @property
    def expected_gain(self) -> float:
        """What is left to gain as the latest estimates agree; infinite where they are too few."""
        return max(self.left[-ESTIMATES:]) if len(self.left) >= ESTIMATES else np.inf

    def after(self, plain: Parameters, left: float | None) -> "Acceleration":
        """The same after an accepted step, with an estimate of what is left to gain if there is one."""
        known = () if left is None else (*self.left, left)[-ESTIMATES:]
        return replace(self, plain=plain, streak=self.streak + 1, left=known, pause=max(0, self.pause - 1))

    def without_momentum(self) -> "Acceleration":
        """The same after a point with momentum was refused."""
        return replace(self, streak=0, left=())

    def without_residuals(self) -> "Acceleration":
        """The same after a point of Anderson's was refused."""
        pause = min(PAUSE * 2**self.refused, LONGEST_PAUSE)
        return Acceleration(self.plain, self.streak, pause=pause, refused=self.refused + 1, reach=self.reach)

    def with_shorter_reach(self) -> "Acceleration":
        """The same after a point of Anderson's was refused that is to be tried at a shorter way."""
        return replace(self, reach=max(SHORTER * self.reach, SHORTEST), left=())

    def with_longer_reach(self) -> "Acceleration":
        """The same after a point of Anderson's was accepted."""
        return replace(self, reach=min(LONGER * self.reach, 1.0))

    def restarted(self) -> "Acceleration":
        """The same without anything to build on."""
        return Acceleration(self.plain, pause=self.pause, refused=self.refused, reach=self.reach)

    def observed(self, problem: LearningProblem, point: Parameters, plain: Parameters) -> "Acceleration":
        """The same with one more residual: that of a point with this plain estimate. Long ones are not kept."""
        active = plain.active & point.active
        x, g = _vector(point, active), _vector(plain, active)
        kept = 1 + min(MEMORY, NUMBERS // len(x))
        if kept < 2:
            return self
        moments, there = (problem.family.moment_from_natural(theta.natural[active]) for theta in (point, plain))
        before, shares = np.exp(point.log_weights[active]), np.exp(plain.log_weights[active])
        dual = problem.total * np.append((shares[:, None] * (there - moments)).ravel(), shares - before)
        new = np.stack([x, g - x, dual])[:, np.newaxis]
        if self.residuals is None or self.residuals.shape[2] != len(x):
            return replace(self, residuals=new)
        return replace(self, residuals=np.concatenate([self.residuals, new], axis=1)[:, -kept:])

    def anderson(self, problem: LearningProblem, plain: Parameters) -> tuple[Parameters | None, float]:
        """The point where the combined residuals cancel, or on the way to it, and half the gain the whole way promises.

        There is none if residuals are few or point back: where the objective is not concave along the latest steps the
        point of no residual is a saddle.
        """
        if self.pause > 0 or self.residuals is None or self.residuals.shape[1] < 2:
            return None, np.inf
        point, residual, dual = self.residuals[:, -1]
        changes, residual_changes, dual_changes = np.diff(self.residuals, axis=1)
        factors = _least(residual_changes, dual_changes, residual, dual)
        if factors is None:
            return None, np.inf
        way = residual - factors @ (changes + residual_changes)
        promised = 0.5 * float(dual @ way)
        if not promised >= 0.5 * float(dual @ residual) >= 0:
            return None, np.inf
        return _moved(problem, plain, point + residual + self.reach * (way - residual)), promised

    def momentum(self, problem: LearningProblem, plain: Parameters) -> Parameters | None:
        """The point beyond the plain estimate; None where that is no legal mixture, or too early."""
        streak = self.streak - FIRST_MOMENTUM + 1
        if streak <= 0 or not np.array_equal(plain.active, self.plain.active):
            return None
        active = plain.active
        here, before = _vector(plain, active), _vector(self.plain, active)
        return _moved(problem, plain, here + min(streak / (streak + DELAY), LARGEST) * (here - before))


def _vector(parameters: Parameters, active: NDArray[np.bool_]) -> Array:
    return np.append(parameters.natural[active].ravel(), parameters.log_weights[active])


def _moved(problem: LearningProblem, plain: Parameters, vector: Array) -> Parameters | None:
    """The mixture of a vector, confined to what the data's resolution allows; None where it is not legal."""
    active = plain.active
    k = int(active.sum())
    natural, log_weights = plain.natural.copy(), plain.log_weights.copy()
    natural[active] = vector[:-k].reshape(k, -1)
    if problem.weights is None:
        log_weights[active] = vector[-k:] - vector[-k:].max()
        log_weights = problem.normalized(log_weights)
    natural = problem.confined(natural, plain.natural, log_weights)
    return Parameters(natural, log_weights) if problem.legal(natural, active) else None


def _least(changes: Array, dual_changes: Array, residual: Array, dual: Array) -> Array | None:
    """The factors (m,) with which changes of residuals come closest to a residual; None where rounding hides them."""
    with np.errstate(all="ignore"):
        products = changes @ dual_changes.T
        right = 0.5 * (changes @ dual + dual_changes @ residual)
        scales = np.sqrt(np.diagonal(products))
        scaled = 0.5 * (products + products.T) / (scales[:, None] * scales)
    if not np.isfinite(scaled).all():
        return None
    values, vectors = np.linalg.eigh(scaled)
    good = values > RANK * values[-1]
    return (vectors[:, good] @ ((vectors[:, good].T @ (right / scales)) / values[good])) / scales
