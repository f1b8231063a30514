"""`learn`: data and a plan in, a `Fit` out. The estimators and the command line both call it."""

import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ..algorithms import Algorithm, Fit, run
from ..algorithms.checkpoint import Checkpoint, CheckpointWriter, generator_of, read, seed_of
from ..algorithms.loop import Keep, finish
from ..algorithms.state import ITERATION_LIMIT, STOPPED, Run
from ..data.batches import is_streamed
from ..families.support import as_infinite
from ..mixture import Mixture
from ..problem.problem import Parameters
from ..search import SAME
from .arguments import distinct_names, entropy_of, reporter
from .notes import notes_on
from .online import learn_once
from .plan import Plan
from .prepare import AnyPrepared, prepare, start_of
from .prepare_parts import PreparedParts
from .prepare_shapes import PreparedShapes
from .start_parts import start_of_parts
from .start_shapes import start_of_shapes

# Settings that two fits must share for one to go on where the other was.
SHARED = ("n_components", "n_init", "prior_strength")
# Is given, after each step, a function that makes the fit as it is then, which takes a pass over the rows or two.
Preview = Callable[[Callable[[], Fit]], None]


def learn(
    X: Any,
    plan: Plan,
    *,
    sample_weight: Any = None,
    columns: Sequence[str] | None = None,
    checkpoint: str | PathLike[str] | None = None,
    resume: bool = False,
    labels: Any = None,
    groups: Any = None,
    preview: Preview | None = None,
) -> Fit:
    """Fits a mixture to the rows of X.

    Parameters
    ----------
    X : array (n, d), Intervals, CSR array, Dask collection or batches
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
    labels : array (n,) or (n, k), default=None
        Known classes of rows, or prior probabilities of their components; see `ExponentialFamilyMixture.fit`.
    groups : array (n,), default=None
        Rows of one group share a component.
    preview : callable, default=None
        Called after each step with a function that returns the fit so far. It does not change the outcome.

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
    plan = plan.with_held_families()
    saved, rng = _opened(plan, checkpoint, resume)
    seed = None if checkpoint is None else seed_of(rng)
    prepared, generators = prepare(X, plan, sample_weight, columns, rng, labels, groups)
    prepared.problem.frozen = plan.frozen_parts
    writer = None if checkpoint is None or seed is None else _writer(Path(checkpoint), plan, saved, seed, prepared)
    fit = prepared.completed(held(best_fit(prepared, plan, generators, saved, writer, preview), plan))
    if as_infinite(np.array(fit.log_likelihood)) == -np.inf:
        raise ValueError(
            f"some rows lie outside all components of {fit.mixture.family.name}: add a component that holds them, as "
            "noise=True does, or give a larger box"
        )
    notes = tuple(notes_on(fit, plan, columns, prepared.weight_factor, prepared.holes))
    names = distinct_names(columns)
    return replace(fit, mixture=fit.mixture if names is None else fit.mixture.with_columns(names), notes=notes)


def held(fit: Fit, plan: Plan) -> Fit:
    """The fit with frozen parameters exactly as they were given, and their number."""
    frozen, start = plan.frozen_parts, plan.init if plan.start is None else plan.start
    if frozen is None or not isinstance(start, Mixture):
        return fit
    kept = np.delete(np.arange(plan.n_components), list(fit.removed))
    same = np.flatnonzero(frozen.natural[kept])
    natural = np.array(fit.mixture.natural)
    natural[same] = start.natural[kept[same]]
    n_weights = int(np.isfinite(frozen.weights[kept]).sum())
    n_held = len(same) * fit.mixture.family.n_parameters + min(n_weights, len(kept) - 1)
    return replace(fit, mixture=replace(fit.mixture, natural=natural), n_frozen=n_held)


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
    preview: Preview | None = None,
) -> Fit:
    """The best fit from all starts; its `starts` are those of all."""
    problem, by_weight = prepared.problem, not (plan.keeps_order or prepared.keeps_order)
    fits: list[Fit] = []
    if saved is not None and saved.best is not None:
        # The starts that a checkpoint has behind it are represented by their best.
        reason = saved.best.state.finished or ITERATION_LIMIT
        fits.append(finish(plan.make_algorithm(generators[0]), problem, saved.best, reason, by_weight))
    for restart, rng in enumerate(generators):
        if saved is not None and restart < saved.restart:
            continue
        start: Parameters | Run
        if saved is not None and restart == saved.restart:
            algorithm = plan.make_algorithm(rng)
            start, starts = saved.resume(algorithm, problem, rng), saved.starts
        else:
            with problem.undisturbed():
                if isinstance(prepared, PreparedParts):
                    found = start_of_parts(prepared, plan, rng, restart)
                elif isinstance(prepared, PreparedShapes):
                    found = start_of_shapes(prepared, plan, rng)
                else:
                    found = start_of(problem, plan, rng, prepared.used, restart)
            algorithm = plan.make_algorithm(rng)
            start, starts = problem.with_prescribed(found.parameters), found.starts
        keepers: list[Keep] = []
        if writer is not None:
            keepers.append(partial(writer.keep, restart, starts, algorithm, rng))
        if preview is not None:
            keepers.append(partial(_preview, preview, prepared, plan, algorithm))
        fit = run(
            algorithm,
            problem,
            start,
            max_iter=plan.iteration_limit,
            tol=plan.tol,
            progress=reporter(plan.verbose, restart, plan.n_runs),
            keep=keepers,
            by_weight=by_weight,
        )
        fits.append(replace(fit, starts=starts))
        if plan.verbose:
            _report_end(fit, prepared.engine)
        if fit.stop_reason == STOPPED:
            break
    return fits[0] if len(fits) == 1 else _best_of(fits)


def _preview(
    preview: Preview, prepared: AnyPrepared, plan: Plan, algorithm: Algorithm, now: Run, last: bool = False
) -> None:
    """Offers the fit as it is after a step."""
    if last:
        return
    by_weight = not (plan.keeps_order or prepared.keeps_order)
    preview(lambda: prepared.completed(held(finish(algorithm, prepared.problem, now, STOPPED, by_weight), plan)))


def _best_of(fits: list[Fit]) -> Fit:
    """The best fit, with the kinds of all starts and how many agree with it."""
    best = max(fits, key=lambda fit: fit.objective)
    kinds = Counter[str]()
    for fit in fits:
        kinds.update(fit.starts.kinds)
    agreeing = sum(fit.objective > best.objective - SAME for fit in fits)
    return replace(best, starts=replace(best.starts, kinds=dict(kinds), agreeing=agreeing))


def _report_end(fit: Fit, engine: str) -> None:
    ended = f"{fit.stop_reason} after {fit.n_iter} iterations, {engine} engine, {fit.seconds:.3f} s"
    print(f"{ended}; {fit.work}", file=sys.stderr, flush=True)


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
