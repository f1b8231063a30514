"""The estimators as scikit-learn knows them. They stand apart because it takes a second to load."""

from sklearn.base import BaseEstimator, ClusterMixin, DensityMixin

from .hard import HardEstimator
from .soft import SoftEstimator


class KMLE(HardEstimator, ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Hard clustering by maximum likelihood: k-MLE, hard EM and their kin, for any exponential family.

    Parameters
    ----------
    n_components : int, default=8
        The most components there are to be: one that loses all its rows is removed, see `empty`.
    family : str or ExponentialFamily, default="gaussian"
        The exponential family, by its name or as an object of `kmle.families`.
    algorithm : str or Algorithm, default="k-mle"
        "k-mle", "hard-em", "hartigan", "swap", "exact", "online", or an object of `kmle.learning`.
    init : str, array of int (n,) or Mixture, default="auto"
        Where learning starts. "auto" compares starts of different kinds by short runs on samples. "k-mle++", "k-mle||"
        (all rows, in a few passes), "random", "restricted", "quantile", "k-means", "short-em", "grid" and
        "agglomerative" are kinds of starts; labels of the rows, or a Mixture, are the only start.
    weights : None, "uniform" or array (n_components,), default=None
        The weights of the components: estimated, or held fixed. Then no component is removed: one without rows keeps
        its weight, with the parameters of the distribution of all rows.
    prior_strength : float, default=1e-3
        Pseudo-observations at the mean of the data that keep components regular; 0 is plain maximum likelihood.
    resolution : "auto", None, float or array (d,), default="auto"
        The steps that the columns were rounded to: no component is narrower than 0.4 of them (0.6 where the family has
        a shape), so none gains by rounding. "auto" finds them, None knows of none, 0 is a column without a grid.
    empty : "drop" or "reseed", default="drop"
        Whether an empty component is removed at once, or tried elsewhere first.
    n_init : int or "auto", default="auto"
        "auto" makes as many starts as pay, of several kinds or of the one that `init` names, and refines the best on
        all rows after moves that leave local optima (components split, merged and put elsewhere). A number runs
        exactly that many starts to their end and makes no moves. With labels, a Mixture, `warm_start`, "online" and
        "exact" there is one start and no moves.
    max_iter : int, default=300
        The most iterations.
    tol : float or "auto", default="auto"
        When to stop: "auto" where going on would gain less than 0.1 nats in all; a number is the gain of a step per row
        at which to stop, 0 goes on until no label changes.
    batch_size : int, default=1024
        Rows of a batch of "online".
    assignment : str, default="auto"
        The engine that assigns rows: "auto" takes the one expected to be fastest. Labels do not depend on it.
    n_jobs : int or None, default=None
        Threads; None is as many as scikit-learn's OpenMP code would use, -1 is all cores.
    random_state : int, RandomState, Generator or None, default=None
        The seed of all random draws; with a number every fit is the same.
    verbose : int, default=0
        Whether to print progress.
    warm_start : bool, default=False
        Whether a further fit goes on from the mixture of the last one.
    checkpoint : path or None, default=None
        A file to write to, every few seconds, what the fit needs to go on.
    resume : bool, default=False
        Whether to go on from the checkpoint, if there is one. Data and settings must be those it was written with.

    Attributes
    ----------
    mixture_ : Mixture
        The mixture.
    labels_ : array of int (n,)
        The component of each row.
    weights_ : array (k,)
        The weights of the components.
    fit_ : Fit
        How it went: likelihoods, criteria, `starts`, why it stopped.
    notes_ : list of str
        What to know before trusting it: few agreeing starts, components with few rows, an iteration limit.
    n_iter_, converged_, history_, objective_
        The iterations, whether they ended by themselves, and the objective after each half-step and in the end.

    Examples
    --------
    >>> X = [[1], [2], [1], [30], [28], [33]]
    >>> model = KMLE(n_components=2, family="poisson", random_state=0).fit(X)
    >>> sorted(model.mixture_.source["rate"].ravel().round(2).tolist())
    [1.34, 30.33]
    """


class ExponentialFamilyMixture(SoftEstimator, DensityMixin, BaseEstimator):  # type: ignore[misc]
    """A density model: soft (or sparse) EM for any exponential family.

    Parameters
    ----------
    n_components : int, default=1
        The most components there are to be: one that loses all its rows is removed, see `empty`.
    family : str or ExponentialFamily, default="gaussian"
        The exponential family, by its name or as an object of `kmle.families`.
    algorithm : str or Algorithm, default="em"
        "em", "sparse-em" (only the `n_kept` largest responsibilities of a row count), or an object of `kmle.learning`.
    n_kept : int, default=2
        Responsibilities per row that count in "sparse-em".
    init : str, array of int (n,) or Mixture, default="auto"
        Where learning starts. "auto" compares starts of different kinds by short runs on samples. "k-mle++", "k-mle||"
        (all rows, in a few passes), "random", "restricted", "quantile", "k-means", "short-em", "grid" and
        "agglomerative" are kinds of starts; labels of the rows, or a Mixture, are the only start.
    weights : None, "uniform" or array (n_components,), default=None
        The weights of the components: estimated, or held fixed. Then no component is removed: one without rows keeps
        its weight, with the parameters of the distribution of all rows.
    prior_strength : float, default=1e-3
        Pseudo-observations at the mean of the data that keep components regular; 0 is plain maximum likelihood.
    resolution : "auto", None, float or array (d,), default="auto"
        The steps that the columns were rounded to: no component is narrower than 0.4 of them (0.6 where the family has
        a shape), so none gains by rounding. "auto" finds them, None knows of none, 0 is a column without a grid.
    empty : "drop" or "reseed", default="drop"
        Whether an empty component is removed at once, or tried elsewhere first.
    n_init : int or "auto", default="auto"
        "auto" makes as many starts as pay, of several kinds or of the one that `init` names, and refines the best on
        all rows after moves that leave local optima (components split, merged and put elsewhere). A number runs
        exactly that many starts to their end and makes no moves. With labels, a Mixture, `warm_start`, "online" and
        "exact" there is one start and no moves.
    max_iter : int, default=1000
        The most iterations.
    tol : float or "auto", default="auto"
        When to stop: "auto" where going on would gain less than 0.1 nats in all; a number is the gain of a step per row
        at which to stop, 0 goes on while there is any gain.
    assignment : str, default="auto"
        The engine that assigns rows: "auto" takes the one expected to be fastest. Labels do not depend on it.
    n_jobs : int or None, default=None
        Threads; None is as many as scikit-learn's OpenMP code would use, -1 is all cores.
    random_state : int, RandomState, Generator or None, default=None
        The seed of all random draws; with a number every fit is the same.
    verbose : int, default=0
        Whether to print progress.
    warm_start : bool, default=False
        Whether a further fit goes on from the mixture of the last one.
    checkpoint : path or None, default=None
        A file to write to, every few seconds, what the fit needs to go on.
    resume : bool, default=False
        Whether to go on from the checkpoint, if there is one. Data and settings must be those it was written with.

    Attributes
    ----------
    mixture_ : Mixture
        The mixture.
    labels_ : array of int (n,)
        The component of each row.
    weights_ : array (k,)
        The weights of the components.
    fit_ : Fit
        How it went: likelihoods, criteria, `starts`, why it stopped.
    notes_ : list of str
        What to know before trusting it: few agreeing starts, components with few rows, an iteration limit.
    n_iter_, converged_, history_, objective_
        The iterations, whether they ended by themselves, and the objective after each half-step and in the end.

    Examples
    --------
    >>> X = [[1], [2], [1], [30], [28], [33]]
    >>> model = ExponentialFamilyMixture(n_components=2, family="poisson", random_state=0).fit(X)
    >>> model.weights_.round(2).tolist()
    [0.5, 0.5]
    """
