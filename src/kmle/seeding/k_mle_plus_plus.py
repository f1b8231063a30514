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
        return self.starts(problem, n_components, 1, rng)[0]

    def starts(
        self, problem: LearningProblem, n_components: int, count: int, rng: np.random.Generator
    ) -> list[Parameters]:
        """The same several times, with seeds drawn together."""
        moments = [self.candidates.moments[seeds] for seeds in self.seeds_together(n_components, count, rng)]
        return [parameters_at(problem, own) for own in moments]

    def seeds(self, n_components: int, rng: np.random.Generator) -> list[int]:
        """Places of the seeds among the candidates."""
        return self.seeds_together(n_components, 1, rng)[0]

    def seeds_together(self, n_components: int, count: int, rng: np.random.Generator) -> list[list[int]]:
        """Places of the seeds of several starts."""
        first = drawn(np.tile(self.candidates.weights, (count, 1)), rng, 1)[:, 0]
        seeds = [[place] for place in first.tolist()]
        nearest = self.divergence_to(self.natural[first], self.normalizer[first])
        nearest[np.arange(count), first] = 0.0
        for _ in range(1, n_components):
            apart = np.flatnonzero(nearest.sum(axis=1) > 0)
            if len(apart) == 0:
                break
            places, nearest[apart] = self._next_seeds(nearest[apart], n_components, rng)
            for start, place in zip(apart.tolist(), places.tolist(), strict=True):
                seeds[start].append(place)
                nearest[start, seeds[start]] = 0.0
        return seeds

    def _next_seeds(
        self, nearest: Array, n_components: int, rng: np.random.Generator
    ) -> tuple[NDArray[np.intp], Array]:
        """The best of a few candidates for each start (S,), drawn by their divergence to what is there, (S, n).

        With them the divergences after they are added.
        """
        trials = drawn(nearest, rng, 2 + int(np.log(n_components)))
        flat = trials.ravel()
        divergence = self.divergence_to(self.natural[flat], self.normalizer[flat]).reshape(*trials.shape, -1)
        remaining = np.minimum(nearest[:, np.newaxis], divergence)
        totals = remaining.sum(axis=2)
        # Of totals that rounding cannot tell apart the first one drawn is the best.
        rounding = self.rounding[trials].max(axis=1, keepdims=True)
        best = np.argmax(totals <= totals.min(axis=1, keepdims=True) + rounding, axis=1)
        every = np.arange(len(best))
        return trials[every, best], remaining[every, best]


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
