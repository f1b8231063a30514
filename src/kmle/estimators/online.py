"""Mixtures that learn from one batch after the other: `partial_fit`, and streams that are read once."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..algorithms import Fit
from ..algorithms.online import absorbed, warmed_up
from ..algorithms.state import DATA_USED_UP, HalfStep, State
from ..data.batches import Batches, Chunk, chunks_of, with_large_first
from ..data.holes import with_entries
from ..data.sparse import SparseRows
from ..data.table import Rows
from ..families import ExponentialFamily, resolve
from ..families.sparse import check_sparse
from ..families.validation import issparse
from ..mixture import Mixture
from ..numerics.arrays import Array
from ..problem.problem import Problem
from .arguments import entropy_of
from .notes import notes_on
from .plan import Plan
from .prepare import CheckedRows, check_rows, start_of

# The first batch of a stream has at least this many rows for each component.
ROWS_PER_COMPONENT = 10


@dataclass(frozen=True)
class OnlineFit:
    """What has been learned from the batches so far: online k-MLE (see `kmle.algorithms.online`)."""

    problem: Problem
    """The family, the prior and the center of the first batch, without its rows."""
    state: State
    n_batches: int = 1

    @staticmethod
    def first(batch: CheckedRows, plan: Plan) -> "OnlineFit":
        """The mixture that the first batch seeds; several starts are compared on it."""
        plan.check(batch.X.shape[0])
        seen: Any = slice(None) if issparse(batch.X) else with_entries(batch.X)
        # Batches that follow cannot know what the weights of the first sum to.
        weights = None if batch.weights is None else batch.weights / batch.weight_factor
        rng = np.random.default_rng(entropy_of(plan.random_state))
        problem = Problem(
            batch.family,
            batch.X if isinstance(seen, slice) else batch.X[seen],
            weights if weights is None or isinstance(seen, slice) else weights[seen],
            plan.strength,
            plan.prescribed_weights,
            n_components=plan.n_components,
            sampling=rng.spawn(1)[0],
            resolution=plan.resolution_for(batch.family),
        )
        starts = [start_of(problem, plan, rng, restart=restart).parameters for restart in range(plan.n_runs)]
        states = [warmed_up(problem, problem.rows, problem.with_prescribed(start)) for start in starts]
        return OnlineFit(problem.without_rows(), max(states, key=lambda state: state.objective))

    def after(self, rows: Array, weights: Array | None) -> "OnlineFit":
        """What is known after one more batch of legal rows."""
        batch: Rows | SparseRows
        if issparse(rows):
            batch = SparseRows(self.family, rows, weights)
        else:
            # Rows without any entry say nothing.
            seen = with_entries(rows)
            if not isinstance(seen, slice):
                rows, weights = rows[seen], None if weights is None else weights[seen]
            if len(rows) == 0:
                return self
            batch = Rows(self.family, rows, weights, self.problem.rows.center)
        return OnlineFit(self.problem, absorbed(self.problem, batch, self.state), self.n_batches + 1)

    @property
    def family(self) -> ExponentialFamily:
        """The family, with what the first batch says of the columns."""
        return self.problem.family

    @property
    def mixture(self) -> Mixture:
        """The mixture so far."""
        return self.problem.to_mixture(self.state.parameters)


def opened(X: Any) -> Any:
    """Batches to be read once, from anything that comes in batches."""
    return iter(X() if callable(X) and not isinstance(X, Batches) else X)


def first_batches(X: Any, plan: Plan) -> Iterator[Chunk]:
    """The batches of a stream, of which the first is large enough to seed a mixture."""
    needed = max(plan.batch_size, ROWS_PER_COMPONENT * plan.n_components)
    return with_large_first(chunks_of(opened(X), resolve(plan.family)), needed)


def learn_once(X: Any, plan: Plan) -> tuple[Fit, OnlineFit]:
    """Learns from a stream that is read once; its likelihoods are of each batch before it was learned from."""
    began, n, likelihoods = time.perf_counter(), 0.0, np.zeros(2)
    known: OnlineFit | None = None
    for chunk in first_batches(X, plan):
        n += float(len(chunk) if chunk.weights is None else chunk.weights.sum())
        if known is None:
            batch = check_rows(chunk.X, resolve(plan.family), chunk.weights, None)
            known = OnlineFit.first(batch, plan)
            likelihoods += known.mixture.log_likelihoods(batch.X, chunk.weights, plan.n_threads)
            continue
        rows = legal_rows(known.family, chunk.X, chunk.first_row)
        likelihoods += known.mixture.log_likelihoods(rows, chunk.weights, plan.n_threads)
        known = known.after(rows, chunk.weights)
    assert known is not None  # a stream without rows is refused
    fit = Fit(
        mixture=known.mixture,
        labels=np.zeros(0, dtype=np.int32),
        history=(HalfStep("all batches", float(likelihoods[1])),),
        n_iter=known.n_batches,
        stop_reason=DATA_USED_UP,
        removed=tuple(int(j) for j in np.flatnonzero(~known.state.parameters.active)),
        seconds=time.perf_counter() - began,
        objective=float(likelihoods[1]),
        complete_log_likelihood=float(likelihoods[1]),
        log_likelihood=float(likelihoods[0]),
        mean_entropy=0.0,
        algorithm="online",
        engine="stream read once",
        prior_strength=plan.strength,
        n_responsibilities=None,
        n=n,
        prescribed_weights=plan.weights is not None,
    )
    once = "One pass: likelihoods are those of each batch under the mixture before its update."
    return replace(fit, notes=(*notes_on(fit, plan, None, 1.0), once)), known


def legal_rows(family: ExponentialFamily, X: Any, first_row: int = 0) -> Array:
    """Rows inside the family's support, dense or sparse."""
    return check_sparse(family, X, first_row) if issparse(X) else family.check(X, first_row=first_row, missing=True)
