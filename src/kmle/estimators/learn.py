"""`learn`: data and a plan in, a `Fit` out. The estimators and the command line both call it."""

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ..algorithms import Fit, run
from ..algorithms.checkpoint import Checkpoint, CheckpointWriter, generator_of, read, seed_of
from ..algorithms.loop import finish
from ..algorithms.state import ITERATION_LIMIT, STOPPED
from ..data.batches import is_streamed
from ..search import SAME
from .arguments import entropy_of, reporter
from .notes import notes_on
from .online import learn_once
from .plan import Plan
from .prepare import AnyPrepared, prepare
from .start import start_of

# Settings that two fits must share for one to go on where the other was.
SHARED = ("n_components", "n_init", "prior_strength")


def learn(
    X: Any,
    plan: Plan,
    *,
    sample_weight: Any = None,
    columns: Sequence[str] | None = None,
    checkpoint: str | PathLike[str] | None = None,
    resume: bool = False,
) -> Fit:
    """Fits a mixture to the rows of X.

    Parameters
    ----------
    X : array (n, d), CSR array, Dask collection or batches
        The rows.
    plan : Plan
        The settings.
    sample_weight : array (n,), default=None
        The weights of the rows.
    columns : sequence of str, default=None
        The names of the columns, for error messages and notes.
    checkpoint : path, default=None
        A file to which the state of the fit is written every few seconds.
    resume : bool, default=False
        Whether to continue from the checkpoint, if the file exists.

    Returns
    -------
    Fit
        The mixture, the labels and how they were found. Components come in order of decreasing weight, unless labels, a
        Mixture, weights or a start from an earlier fit fix another order.

    Examples
    --------
    >>> learn([[1.0], [2.0], [30.0]], Plan(2, family="poisson", random_state=0)).mixture.n_components
    2
    """
    if is_streamed(X) and plan.is_online:
        check_no_checkpoint(checkpoint)
        plan.check(sys.maxsize)
        return learn_once(X, plan)[0]
    saved, rng = _opened(plan, checkpoint, resume)
    seed = None if checkpoint is None else seed_of(rng)
    prepared, generators = prepare(X, plan, sample_weight, columns, rng)
    writer = None if checkpoint is None or seed is None else _writer(Path(checkpoint), plan, saved, seed, prepared)
    fit = prepared.completed(best_fit(prepared, plan, generators, saved, writer))
    return replace(fit, notes=tuple(notes_on(fit, plan, columns, prepared.weight_factor)))


def check_no_checkpoint(checkpoint: str | PathLike[str] | None) -> None:
    """Refuses a checkpoint of a stream that is read once."""
    if checkpoint is not None:
        raise ValueError(
            "a stream that is read once cannot have a checkpoint: save the model between calls of partial_fit, or give "
            "the rows as a Dask array or in memory"
        )


def best_fit(
    prepared: AnyPrepared,
    plan: Plan,
    generators: list[np.random.Generator],
    saved: Checkpoint | None = None,
    writer: CheckpointWriter | None = None,
) -> Fit:
    """The best fit from all starts; its `starts` are those of all."""
    fits = _fits(prepared, plan, generators, saved, writer)
    best = max(fits, key=lambda fit: fit.objective)
    if len(fits) == 1:
        return best
    kinds = Counter[str]()
    for fit in fits:
        kinds.update(fit.starts.kinds)
    agreeing = sum(fit.objective > best.objective - SAME for fit in fits)
    return replace(best, starts=replace(best.starts, kinds=dict(kinds), agreeing=agreeing))


def _fits(
    prepared: AnyPrepared,
    plan: Plan,
    generators: list[np.random.Generator],
    saved: Checkpoint | None,
    writer: CheckpointWriter | None,
) -> list[Fit]:
    """The fits from all starts; those that a checkpoint has behind it are represented by their best."""
    fits: list[Fit] = []
    if saved is not None and saved.best is not None:
        reason = saved.best.state.finished or ITERATION_LIMIT
        algorithm = plan.make_algorithm(generators[0])
        fits.append(finish(algorithm, prepared.problem, saved.best, reason, by_weight=not plan.keeps_order))
    for restart, generator in enumerate(generators):
        if saved is not None and restart < saved.restart:
            continue
        going_on = saved if saved is not None and restart == saved.restart else None
        fits.append(_fit_once(prepared, plan, generator, restart, writer, going_on))
        if fits[-1].stop_reason == STOPPED:
            break
    return fits


def _fit_once(
    prepared: AnyPrepared,
    plan: Plan,
    rng: np.random.Generator,
    restart: int,
    writer: CheckpointWriter | None,
    going_on: Checkpoint | None,
) -> Fit:
    """One start, learned to its end."""
    problem = prepared.problem
    found = None
    if going_on is None:
        with problem.undisturbed():
            found = start_of(problem, plan, rng, prepared.used, restart)
    algorithm = plan.make_algorithm(rng)
    if found is not None:
        begun, starts = problem.with_prescribed(found.parameters), found.starts
        start: Any = begun
    else:
        assert going_on is not None
        start, starts = going_on.resume(algorithm, problem, rng), going_on.starts
    fit = run(
        algorithm,
        problem,
        start,
        max_iter=plan.iteration_limit,
        tol=plan.tol,
        progress=reporter(plan.verbose, restart, plan.n_runs),
        keep=None if writer is None else partial(writer.keep, restart, starts, algorithm, rng),
        by_weight=not plan.keeps_order,
    )
    fit = replace(fit, starts=starts)
    if plan.verbose:
        ended = f"{fit.stop_reason} after {fit.n_iter} iterations, {prepared.engine} engine, {fit.seconds:.3f} s"
        print(f"{ended}; {fit.work}", file=sys.stderr, flush=True)
    return fit


# Checkpoints ----------------------------------------------------------------------------------------------------------


def _opened(
    plan: Plan, checkpoint: str | PathLike[str] | None, resume: bool
) -> tuple[Checkpoint | None, np.random.Generator]:
    """The checkpoint to go on from, if there is one, and the generator of all draws."""
    if checkpoint is None:
        if resume:
            raise ValueError("resume needs checkpoint: give the path of the file")
        return None, np.random.default_rng(entropy_of(plan.random_state))
    path = Path(checkpoint)
    if not path.parent.is_dir():
        raise ValueError(f"checkpoint is {str(path)!r}: the directory {str(path.parent)!r} does not exist")
    saved = read(path) if resume else None
    if saved is None:
        return None, np.random.default_rng(entropy_of(plan.random_state))
    return saved, generator_of(saved.seed)


def _writer(
    path: Path, plan: Plan, saved: Checkpoint | None, seed: Mapping[str, Any], prepared: AnyPrepared
) -> CheckpointWriter:
    """What writes checkpoints; one of another fit is refused."""
    about = {
        "family": repr(prepared.problem.family),
        "algorithm": plan.algorithm_name,
        "weights": None if plan.weights is None else str(plan.weights),
        "empty": plan.empty_components,
        **{name: getattr(plan, name) for name in SHARED},
    }
    if saved is not None:
        saved.check(about, prepared.content, prepared.problem, path)
    return CheckpointWriter(path, seed, about, prepared.content, prepared.problem, saved)
