"""The only loop: runs any algorithm to its end and returns a Fit."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

from ..problem.problem import LearningProblem, Parameters
from .state import ITERATION_LIMIT, STOPPED, TOLERANCE_REACHED, Algorithm, Fit, Run
from .tolerance import Tolerance

# Steps in a row that gain nothing at all before rounding is taken to be going round in circles.
IDLE_STEPS = 3

Progress = Callable[[int, float], bool | None]
# Is given the run so far, and whether it is the last time.
Keep = Callable[[Run, bool], None]

_watcher: ContextVar[Progress | None] = ContextVar("watcher", default=None)


@contextmanager
def watched(progress: Progress) -> Iterator[None]:
    """Within it every fit of this thread calls `progress` after each step, whoever started the fit.

    >>> from kmle import KMLE
    >>> with watched(lambda iteration, objective: iteration < 2):
    ...     KMLE(2, family="poisson", random_state=0).fit([[1], [2], [4], [5], [7], [9]]).result_.n_iter <= 2
    True
    """
    token = _watcher.set(progress)
    try:
        yield
    finally:
        _watcher.reset(token)


def run(
    algorithm: Algorithm,
    problem: LearningProblem,
    start: Parameters | Run,
    *,
    max_iter: int = 300,
    tol: float | str = "auto",
    progress: Progress | None = None,
    keep: Keep | None = None,
    by_weight: bool = False,
) -> Fit:
    """Steps until the algorithm finishes, the tolerance is reached, or `max_iter` steps are made.

    `tol` is the gain of a step per row at which to stop, or "auto": going on would gain less than 0.1 nats in all.

    `progress(iteration, objective)` is called after every step; if it returns False the fit ends there. So is the one
    given to `watched`. `start` may be a run to go on with; `keep` is given the run after every step, and once more when
    it ends or is cut off. With `by_weight` the components of the outcome come in order of decreasing weight.
    """
    with problem.undisturbed():
        now, reason = _run(algorithm, problem, start, max_iter, tol, progress, keep)
        return finish(algorithm, problem, now, reason, by_weight)


def _run(
    algorithm: Algorithm,
    problem: LearningProblem,
    start: Parameters | Run,
    max_iter: int,
    tol: float | str,
    progress: Progress | None,
    keep: Keep | None,
) -> tuple[Run, str]:
    """The last state, and why it is the last."""
    began = time.perf_counter()
    observers = [observer for observer in (progress, _watcher.get()) if observer is not None]
    if isinstance(start, Run):
        now = start
    else:
        state = algorithm.init(problem, problem.with_prescribed(start))
        now = Run(state, state.trace)
    before = now.seconds
    tolerance = Tolerance(tol, problem.total)
    reason = now.state.finished
    try:
        while reason is None:
            if now.n_iter >= max_iter:
                reason = ITERATION_LIMIT
                break
            pauses = tolerance.pauses(now.history)
            following = algorithm.step(problem, now.state.paused() if pauses else now.state)
            gain = following.objective - now.state.objective
            now = now.after(following, idle=gain <= 0, seconds=before + time.perf_counter() - began)
            reason = following.finished
            if reason is None and algorithm.monotone:
                ended = now.idle >= IDLE_STEPS or tolerance.reached(now.history, gain, following.expected_gain)
                reason = TOLERANCE_REACHED if ended else None
            if keep is not None:
                keep(now, False)
            answers = [observer(now.n_iter, following.objective) for observer in observers]
            if reason is None and any(answer is False for answer in answers):
                reason = STOPPED
    finally:
        # Also after an interruption or a failure: what was reached is not lost.
        if keep is not None:
            keep(now if reason in (None, ITERATION_LIMIT, STOPPED) else now.ended(reason), True)
    return now, reason


def finish(algorithm: Algorithm, problem: LearningProblem, run: Run, reason: str, by_weight: bool = False) -> Fit:
    """The outcome: active components only, labels as the final mixture gives them."""
    state = run.state
    parameters = state.parameters
    active = parameters.active
    if not active.all():
        # Labels count the active components only.
        parameters = Parameters(parameters.natural[active], parameters.log_weights[active])
    partition, statistics = problem.assign(parameters)
    complete = problem.complete_objective(parameters, statistics, partition) - problem.penalty(parameters)
    if state.softened and active.all():
        soft = problem.soft_summary_in(parameters, state.statistics)
    else:
        soft = problem.log_likelihood(parameters)
    # A stable sort: equal weights keep their order, and with it who wins a tie.
    order = np.argsort(-parameters.log_weights, kind="stable")
    if by_weight and (order[1:] < order[:-1]).any():
        parameters = Parameters(parameters.natural[order], parameters.log_weights[order])
        labels = partition.renumbered(np.argsort(order).astype(np.int32))
    else:
        labels = partition.labels
    return Fit(
        mixture=problem.to_mixture(parameters),
        labels=labels,
        history=run.history,
        n_iter=run.n_iter,
        stop_reason=reason,
        removed=tuple(int(j) for j in np.flatnonzero(~active)),
        seconds=run.seconds,
        objective=state.objective,
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
