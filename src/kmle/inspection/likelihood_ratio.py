"""How many components: likelihood-ratio tests by the parametric bootstrap (McLachlan, 1987; mclustBootstrapLRT).

Twice the gain of one more component has no known distribution, as the smaller mixture lies on the edge of the larger
model. It is found by simulation: samples are drawn from the smaller mixture, and both numbers of components are fitted
to each of them.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..mixture import Mixture
from ..numerics.arrays import Array
from ..numerics.options import inner_share, whole_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class LikelihoodRatios:
    """Tests of k components against k + 1, one after the other; `bootstrap_lrt` makes them.

    Attributes
    ----------
    n_components : tuple of int
        The k of each test.
    statistics : array (m,)
        Twice the gain in log-likelihood of one more component.
    simulated : tuple of arrays
        The same of samples from the fit with k components.
    level : float
        The level of the tests.
    """

    n_components: tuple[int, ...]
    statistics: Array
    simulated: tuple[Array, ...]
    level: float

    @property
    def p_values(self) -> Array:
        """The share of samples that gain at least as much, the data counted as one of them, (m,)."""
        return np.array(
            [
                (1 + np.sum(own >= value)) / (1 + len(own))
                for value, own in zip(self.statistics, self.simulated, strict=True)
            ]
        )

    @property
    def best(self) -> int:
        """The first k that is not rejected; the largest tested plus one where all are."""
        for k, p in zip(self.n_components, self.p_values, strict=True):
            if p > self.level:
                return k
        return self.n_components[-1] + 1

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draws the simulated gains of each test beside the gain on the data; needs matplotlib.

        Parameters
        ----------
        ax : Axes, default=None
            Where to draw; None makes new axes.

        Returns
        -------
        Axes
            What was drawn in.
        """
        from .likelihood_ratio_plot import plot_likelihood_ratios

        return plot_likelihood_ratios(self, ax)

    def __str__(self) -> str:
        lines = ["components   2 x gain   p-value"]
        for k, value, p in zip(self.n_components, self.statistics, self.p_values, strict=True):
            lines.append(f"{f'{k} vs {k + 1}':>10}{value:11.3f}{p:10.4f}")
        if self.p_values[-1] > self.level:
            return "\n".join([*lines, f"{self.best} is the first number that is not rejected at {self.level:g}."])
        return "\n".join([*lines, f"All are rejected at {self.level:g}: test larger numbers of components."])


def bootstrap_lrt(
    estimator: Any,
    X: ArrayLike,
    n_components: int | Iterable[int] = 9,
    *,
    n_resamples: int = 199,
    level: float = 0.05,
    random_state: Any = None,
) -> LikelihoodRatios:
    """Tests k components against k + 1, for growing k, until one is not rejected.

    Parameters
    ----------
    estimator : estimator
        An `ExponentialFamilyMixture` or `KMLE` with the settings of the fits; it is not changed.
    X : array (n, d)
        The rows.
    n_components : int or iterable of int, default=9
        The k to test in order; a number stands for 1, 2, ... up to it.
    n_resamples : int, default=199
        Samples drawn from each fit.
    level : float, default=0.05
        The tests end with the first p-value above it.
    random_state : int, Generator or None, default=None
        The seed of samples and fits.

    Returns
    -------
    LikelihoodRatios
        Statistics, p-values and the number of components.

    Examples
    --------
    >>> from kmle import ExponentialFamilyMixture
    >>> X = np.concatenate([np.arange(30) % 5, 40 + np.arange(30) % 7])[:, None]
    >>> tests = bootstrap_lrt(ExponentialFamilyMixture(family="poisson"), X, 3, n_resamples=19, random_state=0)
    >>> tests.best
    2
    """
    tested = tuple(range(1, n_components + 1)) if isinstance(n_components, int) else tuple(n_components)
    if not tested or tested[0] < 1 or any(b <= a for a, b in pairwise(tested)):
        raise ValueError(f"n_components is {n_components!r}: give growing whole numbers, at least 1")
    whole_number("n_resamples", n_resamples, 1)
    inner_share("level", level)
    rng = np.random.default_rng(random_state)
    statistics: list[float] = []
    simulated: list[Array] = []
    fitted: dict[int, Any] = {}
    for k in tested:
        for size in (k, k + 1):
            if size not in fitted:
                fitted[size] = _fitted(estimator, X, size, rng)
        statistics.append(_twice_gain(fitted[k], fitted[k + 1]))
        simulated.append(_simulated(fitted[k], np.shape(X)[0], n_resamples, rng))
        if np.sum(simulated[-1] >= statistics[-1]) + 1 > level * (n_resamples + 1):
            break
    return LikelihoodRatios(tested[: len(statistics)], np.array(statistics), tuple(simulated), level)


def _fitted(estimator: Any, X: ArrayLike, k: int, rng: np.random.Generator, **settings: Any) -> Any:
    """A fresh estimator with k components, fitted."""
    from sklearn.base import clone  # slow to import, and only this needs it

    fresh = clone(estimator).set_params(n_components=k, random_state=int(rng.integers(2**31 - 1)), **settings)
    return fresh.fit(X)


def _log_likelihood(fitted: Any) -> float:
    return float(fitted.result_.criteria.log_likelihood)


def _twice_gain(smaller: Any, larger: Any) -> float:
    """Never negative: every mixture is one with a further component of no weight."""
    return max(2 * (_log_likelihood(larger) - _log_likelihood(smaller)), 0.0)


def _simulated(smaller: Any, n_rows: int, n_resamples: int, rng: np.random.Generator) -> Array:
    """The statistic of samples from a fit. That of k components begins at the mixture they are drawn from."""
    mixture: Mixture = smaller.mixture_
    # Samples are not rounded, and no component may become narrower than in the data all the same.
    resolution = smaller.result_.resolution
    settings = {"resolution": None if resolution is None else resolution.steps}
    found = np.empty(n_resamples)
    for resample in range(n_resamples):
        X = mixture.sample(n_rows, random_state=int(rng.integers(2**31 - 1)))
        k = mixture.n_components
        same = _fitted(smaller, X, k, rng, init=mixture, n_init=1, **settings)
        found[resample] = _twice_gain(same, _fitted(smaller, X, k + 1, rng, **settings))
    return found
