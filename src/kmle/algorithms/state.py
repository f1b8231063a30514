"""What algorithms carry from step to step, and what a fit returns."""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._kernels import Work
from ..engines.partition import Partition
from ..engines.statistics import ClusterStatistics
from ..families.resolution import Resolution
from ..mixture import Mixture
from ..numerics.arrays import Array
from ..problem.problem import Parameters
from .acceleration import Acceleration
from .criteria import Criteria

if TYPE_CHECKING:
    from .certificate import Certificate

NO_LABEL_CHANGED = "exact local optimum: no label changed"
NO_MOVE_GAINS = "exact local optimum: no single move gains"
GLOBAL_OPTIMUM = "global optimum"
NEAR_OPTIMUM = "no partition is better by more than"
TOLERANCE_REACHED = "tolerance reached"
ITERATION_LIMIT = "iteration limit"
TRIALS_USED_UP = "all swap trials made"
DATA_USED_UP = "every batch seen"
STOPPED = "stopped by the caller"


@dataclass(frozen=True)
class HalfStep:
    """One half of an iteration.

    Attributes
    ----------
    kind : str
        What it changed.
    objective : float
        The objective after it.
    """

    kind: str
    objective: float


def near_optimum(gap: float) -> str:
    """Why a search ended that could not tell the best partition from others almost as good.

    >>> near_optimum(0.0123)
    'no partition is better by more than 0.012 nats'
    """
    return f"{NEAR_OPTIMUM} {gap:.2g} nats"


@dataclass(frozen=True)
class State:
    """Parameters and, for hard algorithms, the partition and statistics they produced.

    Attributes
    ----------
    parameters : Parameters
        Natural parameters and logarithms of the weights.
    objective : float
        The objective at them.
    statistics : ClusterStatistics
        The statistics of each component.
    partition : Partition or None
        The labels of hard algorithms.
    trace : tuple of HalfStep
        The half-steps of the latest step.
    finished : str or None
        Why there is no further step; None while there is one.
    n_responsibilities : int or None
        How many responsibilities of a row count in soft statistics; None is all.
    softened : bool
        Whether the statistics are those of a full soft pass with these very parameters.
    acceleration : Acceleration or None
        What accelerated steps carry on.
    """

    parameters: Parameters
    objective: float
    statistics: ClusterStatistics
    partition: Partition | None = None
    trace: tuple[HalfStep, ...] = ()
    finished: str | None = None
    n_responsibilities: int | None = None
    softened: bool = False
    acceleration: Acceleration | None = None

    def has_labels_of(self, other: "State") -> bool:
        """Compares the labels of two states.

        Parameters
        ----------
        other : State
            The other state.

        Returns
        -------
        bool
            Whether no label differs; False without labels.
        """
        return self.partition is not None and other.partition is not None and self.partition.same_as(other.partition)

    def ended(self, reason: str) -> "State":
        """Returns the same state, finished.

        Parameters
        ----------
        reason : str
            Why there is no further step.

        Returns
        -------
        State
            The state.
        """
        return replace(self, finished=reason)

    def paused(self) -> "State":
        """Returns the same state, from which a few plain steps come next: their gains tell how much is left to gain.

        Returns
        -------
        State
            The state.
        """
        return self if self.acceleration is None else replace(self, acceleration=self.acceleration.restarted())

    def unmoved(self, reason: str) -> "State":
        """Returns the same state after a step that changed nothing, finished.

        Parameters
        ----------
        reason : str
            Why there is no further step.

        Returns
        -------
        State
            The state.
        """
        return replace(self, trace=(), finished=reason)


@dataclass(frozen=True)
class Run:
    """A state with what led to it: all that is needed to go on from there."""

    state: State
    history: tuple[HalfStep, ...]
    n_iter: int = 0
    idle: int = 0
    """Steps in a row that gained nothing."""
    seconds: float = 0.0

    def after(self, state: State, *, idle: bool, seconds: float) -> "Run":
        """The run after one more step."""
        return Run(state, self.history + state.trace, self.n_iter + 1, self.idle + 1 if idle else 0, seconds)

    def ended(self, reason: str) -> "Run":
        """The run with nothing left to do."""
        return replace(self, state=self.state.ended(reason))


@dataclass(frozen=True)
class Starts:
    """How a fit found where to start.

    >>> print(Starts({"k-means": 12, "random": 12}, agreeing=21))
    21 of 24 starts agree

    Attributes
    ----------
    kinds : dict of int
        How many starts of each kind were tried.
    agreeing : int
        How many of them led to the best optimum found from any start, to half a nat.
    moves : int
        How many moves were tried from there: components split, removed and put elsewhere.
    improved : int
        How many of these led to a better optimum.
    ascent : tuple of float
        The best objective of any start after every pass of the search, per row of its sample.
    """

    kinds: dict[str, int]
    agreeing: int
    moves: int = 0
    improved: int = 0
    ascent: tuple[float, ...] = ()

    @property
    def n(self) -> int:
        """How many starts were tried."""
        return sum(self.kinds.values())

    def __str__(self) -> str:
        if self.n == 1:
            return "1 start"
        message = f"{self.agreeing} of {self.n} starts agree"
        return message if self.improved == 0 else f"{message}; moves between optima led further"


@dataclass(frozen=True)
class Fit:
    """The outcome of learning, as a value.

    Attributes
    ----------
    mixture : Mixture
        The mixture found.
    labels : array (n,) of int
        The component of each row.
    history : tuple of HalfStep
        The objective at every half-step.
    n_iter : int
        The number of iterations.
    stop_reason : str
        Why learning ended.
    removed : tuple of int
        The removed components, by their index in the start.
    seconds : float
        How long it took.
    objective : float
        What was maximised, at the end.
    complete_log_likelihood : float
        The log-likelihood of rows and labels.
    log_likelihood : float
        The log-likelihood of the rows.
    mean_entropy : float
        How much uncertain the labels are: the mean entropy of the posteriors, in nats.
    algorithm : str
        The algorithm that ran.
    engine : str
        How rows were assigned to components.
    prior_strength : float
        How many observations the prior counts as.
    n_responsibilities : int or None
        How many responsibilities of a row counted (sparse EM); None is all.
    n : float
        The number of rows, or their total weight.
    prescribed_weights : bool
        Whether the weights were given rather than learned.
    n_frozen : int
        How many parameters, weights among them, were held rather than estimated.
    starts : Starts
        How many starts were tried, of which kinds, and how many led to the best optimum.
    resolution : Resolution or None
        The steps that the columns were rounded to: no component is narrower than 0.4 of them.
    work : Work
        Passes over rows and pairs scored, of the search for starts too.
    notes : tuple of str
        What the data says against the components, such as too few rows; the estimator adds it.
    """

    mixture: Mixture
    labels: NDArray[np.integer[Any]]
    history: tuple[HalfStep, ...]
    n_iter: int
    stop_reason: str
    removed: tuple[int, ...]
    seconds: float
    objective: float
    complete_log_likelihood: float
    log_likelihood: float
    mean_entropy: float
    algorithm: str
    engine: str
    prior_strength: float
    n_responsibilities: int | None
    n: float
    prescribed_weights: bool = False
    n_frozen: int = 0
    starts: Starts = field(default_factory=lambda: Starts({"given": 1}, agreeing=1))
    resolution: Resolution | None = None
    work: Work = field(default_factory=Work)
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        k, family = self.mixture.n_components, self.mixture.family.name
        ended = "converged" if self.converged else "stopped"
        return (
            f"<Fit of {k} {family} component{'s' * (k != 1)} to {self.n:.6g} rows: log-likelihood "
            f"{self.log_likelihood:.6g}, {ended} after {self.n_iter} iteration{'s' * (self.n_iter != 1)}>"
        )

    def _repr_html_(self) -> str:
        """The mixture and how it was reached, for notebooks."""
        from ..presentation.notebook import fit_html  # only notebooks need it

        return fit_html(self)

    @property
    def includes_penalty(self) -> bool:
        """Whether the objective includes the prior's penalty (it does when prior_strength is positive)."""
        return self.prior_strength > 0

    @property
    def criteria(self) -> Criteria:
        """AIC, AICc, BIC and ICL on the data of the fit."""
        free = self.mixture.count_parameters(self.prescribed_weights) - self.n_frozen
        return Criteria(self.log_likelihood, self.complete_log_likelihood, free, self.n)

    @property
    def converged(self) -> bool:
        """Whether learning ended by itself rather than by a limit."""
        return self.stop_reason not in (ITERATION_LIMIT, STOPPED)

    @property
    def objectives(self) -> Array:
        """The objective at every half-step."""
        return np.array([half.objective for half in self.history])

    def certify(self, X: ArrayLike, sample_weight: ArrayLike | None = None) -> "Certificate":
        """What can be said for sure about this outcome; takes one or two passes over the rows.

        Parameters
        ----------
        X : array (n, d) or sparse
            The rows it was learned from.
        sample_weight : array (n,), default=None
            Their weights.

        Returns
        -------
        Certificate
            The kind of optimum and a sentence about it.
        """
        from .certificate import certificate  # it stands on the algorithms, and those on this module

        return certificate(
            self.mixture,
            X,
            sample_weight,
            algorithm=self.algorithm,
            prior_strength=self.prior_strength,
            resolution=self.resolution,
            weights_held=self.prescribed_weights,
            n_responsibilities=self.n_responsibilities,
            optimum=self.objective if self.stop_reason == GLOBAL_OPTIMUM else None,
        )
