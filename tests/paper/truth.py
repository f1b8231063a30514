"""Numbers found without kmle, to hold it against: integrals, sums, and Bregman divergences by their definition."""

import numpy as np
from scipy import integrate


def integral(function, low, high):
    """The integral of a function of one number, to about twelve digits."""
    return integrate.quad(function, low, high, epsabs=1e-13, epsrel=1e-12, limit=500)[0]


def kl_of_densities(p, q, low, high):
    """KL(p : q) of two frozen SciPy laws on an interval."""
    return integral(lambda x: p.pdf(x) * (p.logpdf(x) - q.logpdf(x)), low, high)


def kl_of_masses(p, q):
    """KL(p : q) of two arrays of probabilities."""
    p, q = np.asarray(p), np.asarray(q)
    seen = p > 0
    return float((p[seen] * (np.log(p[seen]) - np.log(q[seen]))).sum())


def gaussian_mean(function, mean, covariance, nodes=6):
    """E[function(x)] for x Gaussian by Gauss-Hermite quadrature: exact for polynomials of degree 2 nodes - 1."""
    points, weights = np.polynomial.hermite_e.hermegauss(nodes)
    grid = np.stack(np.meshgrid(*[points] * len(mean), indexing="ij"), axis=-1).reshape(-1, len(mean))
    mass = np.prod(np.stack(np.meshgrid(*[weights] * len(mean), indexing="ij"), axis=-1).reshape(grid.shape), axis=1)
    return float(mass @ function(mean + grid @ np.linalg.cholesky(covariance).T) / mass.sum())


def bregman(generator, gradient, p, q):
    """B_F(p : q) by its definition, for numbers or vectors."""
    p, q = np.atleast_1d(p), np.atleast_1d(q)
    return float(generator(p) - generator(q) - (p - q) @ gradient(q))


def itakura_saito(a, b):
    return a / b - np.log(a / b) - 1


def mahalanobis(precision, x, y):
    """M_Q(x, y) = (x - y)^T Q (x - y)."""
    return (x - y) @ precision @ (x - y)
