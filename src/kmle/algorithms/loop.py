"""The only place where steps are made: `run` takes any algorithm to its end, `steps` makes a few.

When to stop follows from what going on would still gain, estimated from the gains so far (Aitken, 1926; Boehning et
al., 1994): gains of plain steps shrink by a nearly constant rate r near an optimum, so after a gain g about g r / (1 -
r) is left.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace

import numpy as np

from ..engines.partition import Partition
from ..numerics.arrays import Array
from ..problem.problem import LearningProblem, Parameters
from .acceleration import Acceleration
from .contract import Algorithm
from .lloyd import LABELS
from .soft_em import ACCELERATED, NEGLIGIBLE, PLAIN
from .state import ITERATION_LIMIT, STOPPED, TOLERANCE_REACHED, Fit, HalfStep, Run, State

# Steps in a row that gain nothing at all before rounding is taken to be going round in circles.
IDLE_STEPS = 3
# "auto" stops where less than this is left to gain, in nats, for all rows together.
LEFT = 0.1
# Rates creep towards one as fast modes die out, so more is left than the last rate says: by about this factor.
CAUTION = 20.0
# Gains of accelerated and of hard steps are uneven: they are added up over this many steps before they are compared.
BLOCK = {ACCELERATED: 12, LABELS: 10}
# Hard algorithms end by themselves when no label changes; only longer tails than this are cut.
HARD_STEPS = 50
# Plain steps in a slow direction gain next to nothing: only gains below NEGLIGIBLE are believed before acceleration
# was tried.
# Steps that together gain less than this, in nats, have arrived, whatever their kinds and rates: the rest is rounding.
CONVERGED, CONVERGED_STEPS = 1e-6, 4
# No rate is believed to be faster or slower than this.
FASTEST, SLOWEST = 0.2, 0.995

Progress = Callable[[int, float], bool | None]
# Is given the run so far, and whether it is the last time.
Keep = Callable[[Run, bool], None]

_watcher: ContextVar[Progress | None] = ContextVar("watcher", default=None)
_stop: ContextVar[Callable[[], bool] | None] = ContextVar("stop", default=None)
_interruption: ContextVar[Callable[[], None] | None] = ContextVar("interruption", default=None)


@contextmanager
def watched(progress: Progress, stop: Callable[[], bool] | None = None) -> Iterator[None]:
    """Within it every fit of this thread calls `progress` after each step, wherever the fit was started.

    Searches for starts, which are no steps of the fit, end with the best found as soon as `stop` returns True.

    >>> from kmle import KMLE
    >>> with watched(lambda iteration, objective: iteration < 2):
    ...     KMLE(2, family="poisson", random_state=0).fit([[1], [2], [4], [5], [7], [9]]).result_.n_iter <= 2
    True
    """
    tokens = _watcher.set(progress), _stop.set(stop)
    try:
        yield
    finally:
        _watcher.reset(tokens[0])
        _stop.reset(tokens[1])


@contextmanager
def interruptible(check: Callable[[], None]) -> Iterator[None]:
    """Within it every fit of this thread calls `check` before each step, also in its search; an exception ends the fit.

    >>> from kmle import KMLE
    >>> def check():
    ...     raise TimeoutError("too late")
    >>> with interruptible(check):
    ...     KMLE(2, family="poisson", random_state=0).fit([[1], [2], [4], [5], [7], [9]])
    Traceback (most recent call last):
    TimeoutError: too late
    """
    token = _interruption.set(check)
    try:
        yield
    finally:
        _interruption.reset(token)


def check_interruption() -> None:
    """Raises what the caller of `interruptible` wants raised, if anything."""
    check = _interruption.get()
    if check is not None:
        check()


def stop_requested() -> bool:
    """Whether searches are to end with the best found so far; raises what `check_interruption` raises."""
    check_interruption()
    stop = _stop.get()
    return stop is not None and stop()


def steps(algorithm: Algorithm, problem: LearningProblem, state: State, most: int) -> Iterator[State]:
    """The states after each of up to `most` steps, for short runs; none comes after a finished one."""
    for _ in range(most):
        if state.finished is not None or stop_requested():
            return
        state = algorithm.step(problem, state)
        yield state


def after_steps(algorithm: Algorithm, problem: LearningProblem, state: State, most: int) -> State:
    """The state after up to `most` steps."""
    for following in steps(algorithm, problem, state, most):
        state = following
    return state


def run(
    algorithm: Algorithm,
    problem: LearningProblem,
    start: Parameters | Run,
    *,
    max_iter: int = 300,
    tol: float | str = "auto",
    progress: Progress | None = None,
    keep: Sequence[Keep] = (),
    by_weight: bool = False,
) -> Fit:
    """Steps until the algorithm finishes, the tolerance is reached, or `max_iter` steps are made.

    Parameters
    ----------
    algorithm : Algorithm
        What a step is.
    problem : LearningProblem
        The data and the model.
    start : Parameters or Run
        Where to begin, or a run to go on with.
    max_iter : int, default=300
        The most steps.
    tol : float or "auto", default="auto"
        The gain of a step per row at which to stop; "auto" stops when going on would gain less than 0.1 nats in all.
    progress : callable, default=None
        `progress(iteration, objective)` is called after every step, as is the one given to `watched`. If it returns
        False, the fit ends there.
    keep : sequence of callables, default=()
        Each is given the run after every step, and once more when it ends or is cut off.
    by_weight : bool, default=False
        Whether the components of the outcome come in order of decreasing weight.

    Returns
    -------
    Fit
        The outcome.
    """
    observers = [observer for observer in (progress, _watcher.get()) if observer is not None]
    with problem.undisturbed():
        now, reason = _stepped(algorithm, problem, start, max_iter, Tolerance(tol, problem.total), observers, keep)
        return finish(algorithm, problem, now, reason, by_weight)


def _stepped(
    algorithm: Algorithm,
    problem: LearningProblem,
    start: Parameters | Run,
    max_iter: int,
    tolerance: "Tolerance",
    observers: Sequence[Progress],
    keep: Sequence[Keep],
) -> tuple[Run, str]:
    """The run at its end, without what only further steps need, and why it ended."""
    began = time.perf_counter()
    if isinstance(start, Run):
        now = start
    else:
        state = algorithm.init(problem, problem.with_prescribed(start))
        now = Run(state, state.trace)
    before = now.seconds
    reason = now.state.finished
    try:
        while reason is None:
            check_interruption()
            if now.n_iter >= max_iter:
                reason = ITERATION_LIMIT
                break
            pauses = tolerance.pauses(now.history)
            following = algorithm.step(problem, now.state.paused() if pauses else now.state)
            gain = following.objective - now.state.objective
            now = now.after(following, idle=gain <= 0, seconds=before + time.perf_counter() - began)
            reason = following.finished
            if reason is None and algorithm.monotone:
                ended = now.idle >= IDLE_STEPS or tolerance.reached(now.history, gain, following.acceleration)
                reason = TOLERANCE_REACHED if ended else None
            for each in keep:
                each(now, False)
            answers = [observer(now.n_iter, following.objective) for observer in observers]
            if reason is None and any(answer is False for answer in answers):
                reason = STOPPED
    finally:
        # Also after an interruption or a failure: what was reached is not lost.
        for each in keep:
            each(now if reason in (None, ITERATION_LIMIT, STOPPED) else now.ended(reason), True)
    return replace(now, state=replace(now.state, acceleration=None)), reason


def finish(algorithm: Algorithm, problem: LearningProblem, run: Run, reason: str, by_weight: bool = False) -> Fit:
    """The outcome: active components only, labels as the final mixture gives them."""
    state = run.state
    parameters = state.parameters
    active = parameters.active
    if not active.all():
        # Labels count the active components only.
        parameters = Parameters(parameters.natural[active], parameters.log_weights[active])
        problem = problem.restricted(active)
    resolved = problem.resolved(parameters)
    lifted, parameters = resolved is not parameters, resolved
    partition, complete = _assigned(problem, parameters)
    if state.softened and active.all() and not lifted:
        soft = problem.soft_summary_in(parameters, state.statistics)
    else:
        soft = problem.log_likelihood(parameters)
    # A stable sort: equal weights keep their order, and with it who wins a tie.
    order = problem.family.presented(parameters.log_weights, parameters.natural)
    if by_weight and (order[1:] < order[:-1]).any():
        parameters = Parameters(parameters.natural[order], parameters.log_weights[order])
        labels = partition.renumbered(np.argsort(order).astype(np.int32))
    else:
        labels = partition.labels
    mixture = problem.to_mixture(parameters)
    reported = problem.reported_likelihoods(parameters, mixture)
    if reported is not None:
        soft, complete = replace(soft, log_likelihood=reported[0]), reported[1]
    objective = state.objective
    if lifted:
        objective = problem.penalty(parameters) + (complete if state.partition is not None else soft.log_likelihood)
    return Fit(
        mixture=mixture,
        labels=labels,
        history=run.history,
        n_iter=run.n_iter,
        stop_reason=reason,
        removed=tuple(int(j) for j in np.flatnonzero(~active)),
        seconds=run.seconds,
        objective=objective,
        complete_log_likelihood=complete,
        log_likelihood=soft.log_likelihood,
        mean_entropy=max(0.0, soft.mean_entropy),
        algorithm=algorithm.name,
        engine=problem.engine_name,
        prior_strength=problem.prior_strength,
        resolution=problem.resolution,
        n_responsibilities=state.n_responsibilities,
        n=problem.total,
        prescribed_weights=problem.weights is not None,
        work=problem.meter.work,
    )


def _assigned(problem: LearningProblem, parameters: Parameters) -> tuple[Partition, float]:
    """Who belongs where, and the complete log-likelihood; statistics, which may be large, are not held on to."""
    partition, statistics = problem.assign(parameters)
    return partition, problem.complete_objective(parameters, statistics, partition) - problem.penalty(parameters)


# When to stop ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tolerance:
    """`tol` is "auto", or the gain of a step per row at which to stop; `total` is the number of rows.

    >>> halving = [HalfStep(PLAIN, -(2.0**-i)) for i in range(20)]
    >>> Tolerance("auto", 100).reached(halving), Tolerance("auto", 100).reached(halving[:4])
    (True, False)
    """

    tol: float | str
    total: float

    def reached(self, history: Sequence[HalfStep], gain: float = 0.0, acceleration: Acceleration | None = None) -> bool:
        """Whether to stop after these steps, the last of which gained so much.

        Soft steps carry on an `acceleration`, which estimates what is left to gain.
        """
        if not isinstance(self.tol, str):
            return self.tol > 0 and gain <= self.tol * self.total
        if history[-1].kind in (PLAIN, ACCELERATED):
            expected = np.inf if acceleration is None else acceleration.expected_gain
            return CAUTION * expected < LEFT or self._arrived(history[-5:]) or _converged(history)
        return _few_left(history, LABELS) and sum(step.kind == LABELS for step in history) >= HARD_STEPS

    @staticmethod
    def _arrived(recent: Sequence[HalfStep]) -> bool:
        """Whether three plain steps, after accelerated steps or of next to no gain, leave little to gain."""
        if len(recent) < 4 or any(step.kind != PLAIN for step in recent[-3:]):
            return False
        gains = _gains(recent)
        tried = any(step.kind == ACCELERATED for step in recent)
        return CAUTION * left(gains) < LEFT and (tried or bool(gains[-1] < NEGLIGIBLE))

    def pauses(self, history: Sequence[HalfStep]) -> bool:
        """Whether accelerated steps seem to have arrived, so that plain ones are to tell."""
        block = history[-BLOCK[ACCELERATED] :]
        return (
            isinstance(self.tol, str) and all(s.kind == ACCELERATED for s in block) and _few_left(history, ACCELERATED)
        )


def left(gains: Array) -> float:
    """What is left to gain after the last two of some gains in a row, by Aitken's rule.

    >>> round(left(np.array([1.0, 0.5])), 6)
    0.5
    """
    before, last = float(gains[-2]), float(gains[-1])
    if last <= 0:
        return 0.0
    rate = min(max(last / before if before > 0 else SLOWEST, FASTEST), SLOWEST)
    return last * rate / (1 - rate)


def _converged(history: Sequence[HalfStep]) -> bool:
    """Whether the last few steps gained nothing worth a number."""
    recent = history[-1 - CONVERGED_STEPS :]
    return len(recent) > CONVERGED_STEPS and bool(recent[-1].objective - recent[0].objective < CONVERGED)


def _few_left(history: Sequence[HalfStep], kind: str) -> bool:
    """Whether two blocks of steps leave little to gain; between steps of a kind there may be others."""
    size = BLOCK[kind]
    kinds = (LABELS,) if kind == LABELS else (PLAIN, ACCELERATED)
    recent = [step for step in history[-3 * (2 * size + 1) :] if step.kind in kinds][-2 * size - 1 :]
    if len(recent) <= 2 * size:
        return False
    gains = _gains(recent).reshape(4, -1).sum(axis=1)
    # Fast directions may just have come to their end: the halves of the last block tell of the slow ones.
    return CAUTION * max(left(gains.reshape(2, 2).sum(axis=1)), left(gains[2:])) < LEFT


def _gains(history: Sequence[HalfStep]) -> Array:
    return np.diff([step.objective for step in history])
