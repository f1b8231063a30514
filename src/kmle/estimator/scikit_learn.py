"""The estimators as scikit-learn knows them. They stand apart because it takes a second to load."""

from sklearn.base import BaseEstimator, ClusterMixin, DensityMixin

from .hard import HardEstimator
from .soft import SoftEstimator


class KMLE(HardEstimator, ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Hard clustering by maximum likelihood: k-MLE, hard EM and their kin, for any exponential family.

    >>> X = [[1], [2], [1], [30], [28], [33]]
    >>> model = KMLE(n_components=2, family="poisson", random_state=0).fit(X)
    >>> sorted(model.mixture_.source["rate"].ravel().round(2).tolist())
    [1.34, 30.33]

    n_components is an upper bound: a component that loses all its rows leaves (`empty="drop"`) or is tried again
    elsewhere (`empty="reseed"`). `algorithm` is "k-mle", "hard-em", "hartigan", "swap", "exact", "online", or an object
    of `kmle.learning`; `init` "k-mle++", "k-mle||" (all rows, in a few passes), "random", "restricted", "quantile",
    "k-means", "short-em", "grid", "agglomerative", labels, or a Mixture; `weights` None (learned), "uniform", or
    numbers held fixed: then no component is removed, and one without rows keeps its weight, with the parameters of the
    distribution of all rows. `prior_strength` pseudo-observations at the mean of the data keep components regular; 0 is
    plain maximum likelihood. `tol` is the gain a row below which learning stops; 0 goes on until no label changes. A
    fit with a `checkpoint`, the path of a file, writes there every few seconds what it needs to go on with
    `resume=True`.
    """


class ExponentialFamilyMixture(SoftEstimator, DensityMixin, BaseEstimator):  # type: ignore[misc]
    """A density model: soft (or sparse) EM for any exponential family, started from the best of several short runs.

    >>> X = [[1], [2], [1], [30], [28], [33]]
    >>> model = ExponentialFamilyMixture(n_components=2, family="poisson", random_state=0).fit(X)
    >>> model.weights_.round(2).tolist()
    [0.5, 0.5]

    `algorithm` is "em" or "sparse-em" (only the `n_kept` largest responsibilities of a row count). The default `init`,
    "short-em", makes a few EM steps from k-means (k-MLE with equal weights) and from k-MLE++ seeds and goes on from the
    best. The other arguments are those of `KMLE`; `tol` is the gain in log-likelihood a row below which EM stops.
    """
