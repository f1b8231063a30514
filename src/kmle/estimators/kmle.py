"""`KMLE`, the hard clusterer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClusterMixin

from ..algorithms import Algorithm
from ..data.batches import Chunk, chunks_of, is_streamed
from ..families import resolve
from ..families.registry import FamilyLike
from ..families.validation import check_weights
from ..mixture import Mixture
from .arguments import weights_of
from .base import MixtureEstimator
from .online import OnlineFit, first_batches, learn_once, opened
from .plan import HARD, Plan
from .prepare import check_rows
from .tables import without_noise


class KMLE(MixtureEstimator, ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Hard clustering by maximum likelihood: k-MLE, hard EM and related algorithms, for any exponential family.

    Parameters
    ----------
    n_components : int, default=8
        The maximum number of components; empty ones are removed, see `empty_components`.
    family : str, ExponentialFamily, list or mapping of them, default="gaussian"
        The exponential family, a name or an object of `kmle.families`. A list, or a text such as "gaussian*2,uniform",
        names the family of each component; `n_components` is then not used. A mapping names the columns of a
        DataFrame: {"visits": "poisson", ("x", "y"): "gaussian", "town": "categorical"}. "auto" guesses it from the
        columns; `notes_` says which it is and why.
    noise : bool, default=False
        Whether to add a component of uniform density over the box of the data, for rows that belong to no other. Its
        rows have the label -1, and its posterior is the last column.
    algorithm : str or Algorithm, default="k-mle"
        "k-mle", "hard-em", "hartigan", "swap", "exact", "online", or an object of `kmle.algorithms`.
    init : str, array of int (n,) or Mixture, default="auto"
        The start. "auto" compares starts of different kinds by short runs on samples. "k-mle++", "k-mle||" (all rows,
        in a few passes), "random", "restricted", "quantile", "k-means", "short-em", "grid" and "agglomerative" are
        kinds of starts. Labels of the rows, or a Mixture, are the only start.
    weights : None, "uniform" or array (n_components,), default=None
        The weights of the components. None estimates them, otherwise they stay fixed. With fixed weights no component
        is removed: one without rows keeps its weight, with the parameters of the distribution of all rows.
    prior_strength : float, default=1e-3
        Pseudo-observations at the mean of the data in every component; 0 is plain maximum likelihood.
    resolution : "auto", None, float or array (d,), default="auto"
        The rounding steps of the columns. No component is narrower than 0.4 of them (0.6 if the family has a shape), so
        that none gains by rounding. "auto" finds them, None assumes none, 0 is a column without a grid.
    empty_components : "drop" or "reseed", default="drop"
        "drop" removes an empty component. "reseed" first tries it at the row that the mixture explains worst.
    n_init : int or "auto", default="auto"
        "auto" compares several starts, makes moves that escape local optima (it splits, merges and moves components),
        and refines the best on all rows. A number runs exactly that many starts to their end and makes no moves. With
        labels, a Mixture or `warm_start`, and with "online" and "exact", there is one start and no moves.
    max_iter : int, default=300
        The maximum number of iterations. A fit that reaches it warns with `ConvergenceWarning`.
    tol : float or "auto", default="auto"
        "auto" stops when further steps would gain less than 0.1 nats in all. A number is the gain per row and step at
        which to stop; 0 goes on until no label changes.
    batch_size : int, default=1024
        The rows of a batch of "online".
    engine : str, default="auto"
        The engine that assigns rows: "dense", "boxes", "ball-tree", "vp-tree", "bounds", "sorted", "panels",
        "compressed", or "auto" for the one expected to be fastest. Labels do not depend on it.
    n_jobs : int or None, default=None
        The number of threads. None is as many as scikit-learn's OpenMP code would use, -1 is all cores.
    random_state : int, RandomState, Generator or None, default=None
        The seed of all random draws; with a number every fit is the same.
    verbose : int, default=0
        Whether to print progress.
    warm_start : bool, default=False
        Whether a further fit starts from the mixture of the last one.
    component_classes : array (k,), default=None
        The class of each component, where `fit` has labels; None or -1 for components of no class. By default every
        class has as many components.
    frozen : array of int, default=None
        Components of `init`, a Mixture, whose parameters are held.
    frozen_weights : array of int, default=None
        Components of `init` whose weights are held; the others share the rest.
    update_weights_only : bool, default=False
        Whether all parameters of `init` are held and only weights are estimated, such as the prevalence of classes.

    Attributes
    ----------
    mixture_ : Mixture
        The mixture. Components come in order of decreasing weight, unless labels, a Mixture, `weights`, `warm_start` or
        `partial_fit` fix another order.
    labels_ : array of int (n,)
        The component of each row, -1 for noise.
    weights_ : array (k,)
        The weights of the components.
    means_, covariances_, precisions_ : arrays (k, d), (k, d, d), (k, d, d)
        Means and covariances of the components, and inverse covariances of Gaussians; attributes only where the family
        has them.
    result_ : Fit
        Likelihoods, criteria, `starts`, `engine`, `removed`, `stop_reason` and more.
    classes_ : array
        The classes, where `fit` had labels; `component_classes_` (k,) has the class of each component.
    notes_ : list of str
        Reasons to doubt the fit: few agreeing starts, components with few rows, an iteration limit.
    n_iter_ : int
        The number of iterations.
    converged_ : bool
        Whether the fit ended before `max_iter`.
    history_ : array
        The objective after each half-step.
    objective_ : float
        The objective at the end.

    Examples
    --------
    >>> X = [[1], [2], [1], [30], [28], [33]]
    >>> model = KMLE(n_components=2, family="poisson", random_state=0).fit(X)
    >>> sorted(model.mixture_.source["rate"].ravel().round(2).tolist())
    [1.34, 30.33]
    """

    _algorithms = HARD
    _online: OnlineFit

    def __init__(
        self,
        n_components: int = 8,
        *,
        family: FamilyLike = "gaussian",
        noise: bool = False,
        algorithm: str | Algorithm = "k-mle",
        init: str | ArrayLike | Mixture = "auto",
        weights: str | ArrayLike | None = None,
        prior_strength: float = 1e-3,
        resolution: str | float | ArrayLike | None = "auto",
        empty_components: str = "drop",
        n_init: int | str = "auto",
        max_iter: int = 300,
        tol: float | str = "auto",
        batch_size: int = 1024,
        engine: str = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        component_classes: ArrayLike | None = None,
        frozen: ArrayLike | None = None,
        frozen_weights: ArrayLike | None = None,
        update_weights_only: bool = False,
    ) -> None:
        self.n_components = n_components
        self.family = family
        self.noise = noise
        self.algorithm = algorithm
        self.init = init
        self.weights = weights
        self.prior_strength = prior_strength
        self.resolution = resolution
        self.empty_components = empty_components
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.batch_size = batch_size
        self.engine = engine
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.component_classes = component_classes
        self.frozen = frozen
        self.frozen_weights = frozen_weights
        self.update_weights_only = update_weights_only

    def _fit_stream(self, X: Any, plan: Plan) -> None:
        fit, self._online = learn_once(X, plan)
        self._know_columns(fit.mixture.family, getattr(X, "columns", None))
        self._take(fit)

    def partial_fit(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Updates the mixture with one more batch: online k-MLE.

        The first batch seeds the mixture; each further one is assigned and added.

        Parameters
        ----------
        X : array (n, d), or several batches
            The rows. An iterator, `Batches` or any other source of batches is used batch by batch.
        y : ignored
            For scikit-learn's pipelines.
        sample_weight : array (n,), default=None
            The weights of the rows, used as they are.

        Returns
        -------
        self
        """
        if is_streamed(X):
            for chunk in self._batches(X):
                self.partial_fit(chunk.X, sample_weight=chunk.weights)
            return self
        if not hasattr(self, "_online"):
            plan = self._plan()
            table = self._table(X, resolve(plan.family), reset=True)
            self._online = OnlineFit.first(check_rows(table, resolve(plan.family), sample_weight, self._names()), plan)
            self.family_ = self._online.family
            rows = self._legal(table)
            self.n_iter_ = 0
        else:
            rows = self._legal(self._table(X, self.family_, reset=False))
            given = weights_of(sample_weight, rows.shape[0])
            self._online = self._online.after(rows, None if given is None else check_weights(given, rows.shape[0]))
        self.mixture_ = self._online.mixture
        self.weights_ = self.mixture_.weights
        self.labels_ = without_noise(self.mixture_, self.mixture_.predict(rows))
        self.n_iter_ += 1
        return self

    def _batches(self, X: Any) -> Iterator[Chunk]:
        if hasattr(self, "_online"):
            return chunks_of(opened(X), self.family_)
        return first_batches(X, self._plan())
