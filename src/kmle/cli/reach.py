"""Ends fits that cannot become the best any more, where only the best number of components is wanted."""

from __future__ import annotations

from math import isfinite, log
from typing import Any

# A fit goes on while this many steps with the gain of the latest ones would make it the best.
STEPS = 300
RECENT = 3


class Reach:
    """Watches the fits of one family with 1, 2, 3, ... components by EM.

    A fit with more components than the best one so far starts from a higher likelihood and has to make up for its
    parameters. It is ended where its gains have become too small for that.
    """

    def __init__(self, criterion: str) -> None:
        self._criterion = criterion
        self._best: Any = None
        self._n_parameters = 0
        self._objectives: list[float] = []

    def candidate(self, candidate: Any) -> None:
        """One candidate is done; the next fit is of one component more."""
        if self._best is None or candidate.value(self._criterion) < self._best.value(self._criterion):
            self._best = candidate
        k = candidate.n_components + 1
        self._n_parameters = candidate.fit.mixture.family.n_parameters_for(k) + k - 1
        self._objectives = []

    def step(self, objective: float) -> bool:
        """Whether the fit is to go on."""
        if self._best is None:
            return True
        before, self._objectives = self._objectives, [*self._objectives[-RECENT:], objective]
        if len(before) <= RECENT or not isfinite(objective):
            return True
        criteria, fit = self._best.criteria, self._best.fit
        log_likelihood = objective + (fit.log_likelihood - fit.objective)
        each = log(criteria.n) if self._criterion in ("bic", "icl") else 2.0
        missing = (each * self._n_parameters - 2 * log_likelihood - self._best.value(self._criterion)) / 2
        gain = max(after - own for own, after in zip(self._objectives, self._objectives[1:], strict=False))
        above = log_likelihood >= criteria.log_likelihood
        return not (above and missing > STEPS * gain)
