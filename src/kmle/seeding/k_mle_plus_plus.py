"""k-MLE++: Bregman k-means++ on shrunk points, with greedy candidates.

The first seed is any row; each next one a row drawn with probability proportional to its divergence B_F* to the seeds
so far. Of several candidates the one that lowers the total divergence most is kept (greedy k-means++,
Arthur and Vassilvitskii, 2007). Shrinking makes the divergences finite for every family.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..numerics.arrays import Array
from ..problem.problem import LearningProblem, Parameters
from ..problem.shrinking import Candidates, drawn, parameters_at, seed_candidates

# Relative rounding error of a sum of a few products.
ROUNDING = 8 * np.finfo(float).eps


def k_mle_plus_plus(problem: LearningProblem, n_components: int, rng: np.random.Generator) -> Parameters:
    """Seeds spread by the divergence of the family itself; fewer than asked when there are no more distinct rows."""
    return spread_over(problem, n_components, rng).parameters(problem, n_components, rng)


@dataclass(frozen=True)
class Spread:
    """Candidate rows and what their divergences need; computed once, they serve any number of draws."""

    candidates: Candidates
    natural: Array
    normalizer: Array
    conjugate: Array
    rounding: Array
    """What rounding may do to the total divergence from each: little, unless the distribution of all rows is
    degenerate.
    """

    def divergence_to(self, natural: Array, normalizer: Array) -> Array:
        """(c, n) divergences of all candidates to c distributions, weighted."""
        # B_F*(y : c) = F*(y) - F*(c) - <y - c, theta_c> = F*(y) + F(theta_c) - <y, theta_c>.
        values = self.conjugate + normalizer[:, None] - natural @ self.candidates.moments.T
        return np.maximum(values, 0.0) * self.candidates.weights

    def parameters(self, problem: LearningProblem, n_components: int, rng: np.random.Generator) -> Parameters:
        """Fresh seeds with equal (or the prescribed) weights."""
        return parameters_at(problem, self.candidates.moments[self.seeds(n_components, rng)])

    def seeds(self, n_components: int, rng: np.random.Generator) -> list[int]:
        """Places of the seeds among the candidates."""
        seeds = [int(drawn(self.candidates.weights, rng)[0])]
        nearest = self.divergence_to(self.natural[seeds], self.normalizer[seeds])[0]
        nearest[seeds] = 0.0
        while len(seeds) < n_components and nearest.sum() > 0:
            place, nearest = self.next_seed(nearest, n_components, rng)
            seeds.append(place)
            nearest[seeds] = 0.0
        return seeds

    def next_seed(self, nearest: Array, n_components: int, rng: np.random.Generator) -> tuple[int, Array]:
        """The best of a few candidates drawn by their divergence to what is there, and the divergences after it."""
        trials: NDArray[np.intp] = drawn(nearest, rng, 2 + int(np.log(n_components)))
        remaining = np.minimum(nearest, self.divergence_to(self.natural[trials], self.normalizer[trials]))
        totals = remaining.sum(axis=1)
        # Of totals that rounding cannot tell apart the first one drawn is the best.
        best = int(np.argmax(totals <= totals.min() + self.rounding[trials].max()))
        return int(trials[best]), remaining[best]


def spread_over(problem: LearningProblem, n_components: int, rng: np.random.Generator) -> Spread:
    """All distinct rows, or a sample of many, ready to draw seeds from."""
    return spread_of(problem, seed_candidates(problem, n_components, rng))


def spread_of(problem: LearningProblem, candidates: Candidates) -> Spread:
    """Candidates ready to draw seeds from."""
    moments = candidates.moments
    natural = problem.estimate(moments)
    normalizer = problem.family.log_normalizer(natural)
    conjugate = np.einsum("nd,nd->n", natural, moments) - normalizer
    largest = np.abs(natural) @ np.abs(moments).max(axis=0) + np.abs(normalizer)
    return Spread(candidates, natural, normalizer, conjugate, ROUNDING * candidates.weights.sum() * largest)
