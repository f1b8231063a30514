"""What the table of cases is made of: typical parameters as functions of the unit cube, and laws as SciPy has them."""

from itertools import pairwise

import numpy as np
from scipy import stats
from scipy.special import digamma


class Cube:
    """Points (k, m) of the unit cube, spent coordinate by coordinate."""

    def __init__(self, points):
        self.points, self.spent = points, 0

    def take(self, n):
        self.spent += n
        return self.points[:, self.spent - n : self.spent]

    def real(self, low, high, n=1):
        return low + (high - low) * self.take(n)

    def positive(self, low, high, n=1):
        return np.exp(self.real(np.log(low), np.log(high), n))

    def scalar(self, low, high):
        return self.positive(low, high)[:, 0]

    def simplex(self, n):
        raw = self.positive(0.05, 20.0, n)
        return raw / raw.sum(axis=1, keepdims=True)

    def direction(self, n):
        raw = self.real(-1.0, 1.0, n)
        raw[:, 0] += np.where(np.linalg.norm(raw, axis=1) < 1e-3, 1.0, 0.0)
        return raw / np.linalg.norm(raw, axis=1, keepdims=True)

    def covariance(self, p):
        """L L^T with a lower triangle L of entries about one."""
        low = np.zeros((len(self.points), p, p))
        low[:, *np.tril_indices(p, -1)] = self.real(-1.0, 1.0, p * (p - 1) // 2)
        low[:, np.arange(p), np.arange(p)] = self.positive(0.4, 2.5, p)
        return low @ np.swapaxes(low, 1, 2)


class Columns:
    """A SciPy law of one variable, or of independent columns when its parameters are arrays (d,)."""

    def __init__(self, frozen):
        self.frozen = frozen

    def log_density(self, X):
        dist = self.frozen
        return (dist.logpmf(X) if hasattr(dist.dist, "logpmf") else dist.logpdf(X)).sum(axis=1)

    def entropy(self):
        return float(np.sum(self.frozen.entropy()))


class Rows:
    """A SciPy law of whole rows; `shape` turns them into what SciPy expects."""

    def __init__(self, frozen, shape=lambda X: X, entropy=None):
        self.frozen, self.shape, self.own_entropy = frozen, shape, entropy

    def log_density(self, X):
        dist = self.frozen
        return np.atleast_1d(dist.logpmf(self.shape(X)) if hasattr(dist, "logpmf") else dist.logpdf(self.shape(X)))

    def entropy(self):
        return float(self.frozen.entropy() if self.own_entropy is None else self.own_entropy)


class Blocks:
    """Independent blocks of columns, each with a twin of its own."""

    def __init__(self, *blocks):
        self.blocks = blocks

    def log_density(self, X):
        return sum(twin.log_density(X[:, columns]) for columns, twin in self.blocks)

    def entropy(self):
        return sum(twin.entropy() for _, twin in self.blocks)


# Pairs of typical parameters and twin, for families that occur more than once in the table ---------------------------


def positive(twin, d=1, **ranges):
    """Columns whose parameters are all positive, each drawn between its two bounds."""

    def parameters(u):
        return {name: u.positive(*bounds, d) for name, bounds in ranges.items()}

    return parameters, lambda **source: Columns(twin(**source))


def probability(twin, low, high, d=1):
    return lambda u: {"probability": u.real(low, high, d)}, lambda probability: Columns(twin(probability))


def gaussian(d):
    def parameters(u):
        return {"mean": u.real(-3, 3, d), "covariance": u.covariance(d)}

    return parameters, lambda mean, covariance: Rows(stats.multivariate_normal(mean, covariance))


def round_gaussian(d, shared=False):
    """Gaussian columns, with one variance each or one for all."""

    def parameters(u):
        return {"mean": u.real(-3, 3, d), "variance": u.scalar(0.1, 10) if shared else u.positive(0.1, 10, d)}

    def twin(mean, variance):
        return Columns(stats.norm(mean, np.sqrt(np.broadcast_to(variance, mean.shape))))

    return parameters, twin


def categorical(*levels):
    columns = [slice(start, stop) for start, stop in pairwise(np.cumsum((0, *levels)))]

    def one_column(j, p):
        def one_hot(X):
            return np.eye(len(p))[X[:, 0].astype(int)]

        return slice(j, j + 1), Rows(stats.multinomial(1, p), one_hot, -(p * np.log(p)).sum())

    def parameters(u):
        return {"probabilities": np.concatenate([u.simplex(level) for level in levels], axis=1)}

    def twin(probabilities):
        return Blocks(*(one_column(j, probabilities[part]) for j, part in enumerate(columns)))

    return parameters, twin


def direction(d, low=0.05, high=50.0):
    def parameters(u):
        return {"direction": u.direction(d), "concentration": u.scalar(low, high)}

    def twin(direction, concentration):
        return Rows(stats.vonmises_fisher(direction, float(concentration)))

    return parameters, twin


def wishart(p, dist, fixed=None):
    """Degrees `fixed`, or from just above p - 1, the least there can be."""

    def parameters(u):
        scale = {"scale": u.covariance(p)}
        return scale if fixed else {"degrees": p - 1 + u.scalar(0.5, 30.0), **scale}

    def twin(scale, degrees=fixed):
        entropy = inverse_wishart_entropy(degrees, scale) if dist is stats.invwishart else None
        return Rows(dist(float(degrees), scale), lambda X: np.moveaxis(X.reshape(-1, p, p), 0, -1), entropy)

    return parameters, twin


def inverse_wishart_entropy(degrees, scale):
    """From SciPy's Wishart by the change of variables X -> X^-1: its own (1.17) misses p (p + 1) / 4 log 2."""
    p = len(scale)
    mean_log_det = digamma((degrees - np.arange(p)) / 2).sum() + p * np.log(2) - np.linalg.slogdet(scale)[1]
    return stats.wishart(float(degrees), np.linalg.inv(scale)).entropy() - (p + 1) * mean_log_det


class ZeroTruncatedPoisson(stats.rv_discrete):
    """A Poisson distribution given that it is not zero, which SciPy lacks."""

    def _pmf(self, x, rate):
        return np.exp(stats.poisson.logpmf(x, rate) - np.log(-np.expm1(-rate)))

    def _logpmf(self, x, rate):
        return stats.poisson.logpmf(x, rate) - np.log(-np.expm1(-rate))

    def _cdf(self, x, rate):
        return (stats.poisson.cdf(x, rate) - np.exp(-rate)) / -np.expm1(-rate)


zero_truncated_poisson = ZeroTruncatedPoisson(a=1, name="zero_truncated_poisson")
