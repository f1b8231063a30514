"""Streams and Dask collections for components that are no exponential families.

Their estimates look at the rows again and again. The rows are read once, distinct ones are kept with what they weigh,
and labels follow from one more reading.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..algorithms import Fit
from ..data.batches import as_batches, chunks_of, is_dask
from ..data.gathered import MOST_ROWS, Gathered, gather
from ..families import ExponentialFamily, resolve
from ..families.validation import relative_factor
from ..mixture import Mixture
from ..problem.chunked import SAME_EVERY_TIME, Chunks
from ..problem.stream import StreamedChunks
from .plan import Plan
from .prepare_parts import checked_intervals
from .prepare_shapes import PreparedShapes, prepare_known_shapes


@dataclass(frozen=True)
class PreparedGathered(PreparedShapes):
    """The problem of the distinct rows of chunks; `all_labels` reads the chunks for the labels of a mixture."""

    all_labels: Callable[[Mixture], Any] = lambda mixture: None

    @property
    def engine(self) -> str:
        return f"{self.problem.engine_name} on {len(self.order)} distinct rows"

    def completed(self, fit: Fit) -> Fit:
        return replace(super().completed(fit), labels=self.all_labels(fit.mixture))


def prepare_gathered(X: Any, plan: Plan, sample_weight: Any) -> PreparedGathered:
    """The problem of rows in chunks."""
    if not isinstance(plan.init, str | Mixture):
        raise ValueError("labels as init need the rows in memory: on chunks give a name or a Mixture")
    family = resolve(plan.family)
    chunks, all_labels = _read(X, sample_weight, family)
    found = chunks.summarize(gather)
    if found.X is None or found.weights is None:
        raise ValueError(
            f"{family.name} is estimated from rows in memory, and more than {MOST_ROWS} are different: round the "
            "values, give a sample, or fix the shape"
        )
    total = float(found.weights.sum())
    if total == 0:
        raise ValueError("all sample weights are zero: at least one must be positive")
    names = getattr(X, "columns", None)
    known, intervals = checked_intervals(found.X, family, None if names is None else [str(name) for name in names])
    plan.check(found.n_rows)
    factor = relative_factor(total, found.n_weighty)
    prepared = prepare_known_shapes(known, intervals, factor * found.weights, factor, plan)
    return PreparedGathered(**vars(prepared), all_labels=all_labels(found))


def _read(
    X: Any, sample_weight: Any, family: ExponentialFamily
) -> tuple[Chunks, Callable[[Gathered], Callable[[Mixture], Any]]]:
    """The chunks, and what labels their rows once it is known how many there are."""
    if is_dask(X):
        from ..problem.dask import DaskChunks, by_block  # Dask is an extra

        return DaskChunks(X, sample_weight, family), lambda _: lambda mixture: by_block(mixture.predict, X, np.int32)
    batches = as_batches(X, sample_weight)

    def labels_of(found: Gathered) -> Callable[[Mixture], NDArray[np.int32]]:
        def labels(mixture: Mixture) -> NDArray[np.int32]:
            each = [mixture.predict(chunk.X).astype(np.int32) for chunk in chunks_of(batches, family)]
            every = np.concatenate(each)
            if len(every) != found.n_rows:
                raise ValueError(
                    f"the stream had {found.n_rows} rows in the first pass, and now {len(every)}: {SAME_EVERY_TIME}"
                )
            return every

        return labels

    return StreamedChunks(batches, family), labels_of
