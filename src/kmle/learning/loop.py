"""The only loop: drives any algorithm to its end and returns a Fit."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

from ..assignment.problem import Parameters, Problem
from .soft_em import SoftEM
from .state import ITERATION_LIMIT, STOPPED, TOLERANCE_REACHED, Algorithm, Fit, HalfStep, State

# Steps in a row that gain nothing at all before rounding is taken to be going round in circles.
IDLE_STEPS = 3

Progress = Callable[[int, float], bool | None]

_watcher: ContextVar[Progress | None] = ContextVar("watcher", default=None)


@contextmanager
def watched(progress: Progress) -> Iterator[None]:
    """Within it every fit of this thread calls `progress` after each step, whoever started the fit.

    >>> from kmle import KMLE
    >>> with watched(lambda iteration, objective: iteration < 2):
    ...     KMLE(2, family="poisson", random_state=0).fit([[1], [2], [4], [5], [7], [9]]).fit_.n_iter <= 2
    True
    """
    token = _watcher.set(progress)
    try:
        yield
    finally:
        _watcher.reset(token)


def run(
    algorithm: Algorithm,
    problem: Problem,
    start: Parameters,
    *,
    max_iter: int = 300,
    tol: float = 0.0,
    progress: Progress | None = None,
) -> Fit:
    """Steps until the algorithm finishes, a step gains less than `tol` a row, or `max_iter` steps are made.

    `progress(iteration, objective)` is called after every step; if it returns False the fit ends there. So is the one
    given to `watched`.
    """
    began = time.perf_counter()
    observers = [observer for observer in (progress, _watcher.get()) if observer is not None]
    state = algorithm.init(problem, start)
    history = list(state.trace)
    iteration, idle = 0, 0
    reason = state.finished
    while reason is None:
        if iteration >= max_iter:
            reason = ITERATION_LIMIT
            break
        following = algorithm.step(problem, state)
        iteration += 1
        history.extend(following.trace)
        gain = (following.objective - state.objective) / problem.total
        idle = idle + 1 if gain <= 0 else 0
        state = following
        reason = state.finished
        if reason is None and algorithm.monotone and ((tol > 0 and gain <= tol) or idle >= IDLE_STEPS):
            reason = TOLERANCE_REACHED
        answers = [observer(iteration, state.objective) for observer in observers]
        if reason is None and any(answer is False for answer in answers):
            reason = STOPPED
    return finish(algorithm, problem, state, history, iteration, reason, time.perf_counter() - began)


def finish(
    algorithm: Algorithm,
    problem: Problem,
    state: State,
    history: list[HalfStep],
    n_iter: int,
    reason: str,
    seconds: float,
) -> Fit:
    """The outcome: living components only, labels as the final mixture gives them."""
    parameters = state.parameters
    alive = parameters.alive
    partition, statistics = problem.assign(parameters)
    # Prescribed weights of components that died are shared out among the others, in the mixture and so here.
    lost = problem.total * float(np.log(np.exp(parameters.log_weights).sum()))
    complete = problem.complete_objective(parameters, statistics) - problem.penalty(parameters) - lost
    labels = partition.labels
    if not alive.all():
        labels = (np.cumsum(alive) - 1).astype(np.int32)[labels]
    softened = problem.soften(parameters)
    return Fit(
        mixture=problem.to_mixture(parameters),
        labels=labels,
        history=tuple(history),
        n_iter=n_iter,
        stop_reason=reason,
        died=tuple(int(j) for j in np.flatnonzero(~alive)),
        seconds=seconds,
        objective=state.objective,
        complete_log_likelihood=complete,
        log_likelihood=softened.score + problem.sum_log_carrier - lost,
        mean_entropy=problem.mean_entropy(parameters, softened),
        algorithm=algorithm.name,
        engine=problem.engine.name,
        prior_strength=problem.prior_strength,
        n_kept=algorithm.n_kept if isinstance(algorithm, SoftEM) else None,
        n=problem.total,
        prescribed_weights=problem.weights is not None,
    )
