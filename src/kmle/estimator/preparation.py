"""Checked data made ready to learn from, once for any number of fits."""

from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..assignment.compression import Compressed, compressed
from ..assignment.problem import Problem
from ..families import ExponentialFamily
from ..families.resolution import Asked
from ..families.sparse import issparse
from ..learning import Fit
from ..numerics.arrays import Array
from ..numerics.digest import digest
from .notes import overfit_notes

# Which rows a fit looks at: all, or those of positive weight.
Seen: TypeAlias = slice | NDArray[np.bool_]


@dataclass(frozen=True)
class Prepared:
    """A learning problem, and the way back from its rows to those of the data."""

    problem: Problem
    rows: Array
    """The rows the problem was made from: those of the data, or the distinct ones among them."""
    seen: Seen
    few: Compressed | None

    @property
    def engine(self) -> str:
        """What finds the labels, in words."""
        name = self.problem.engine.name
        return name if self.few is None else f"{name} on {self.rows.shape[0]} distinct rows"

    @property
    def content(self) -> str:
        """What tells the data from other data."""
        return digest(self.problem.rows.X, self.problem.rows.weights)

    def completed(self, fit: Fit) -> Fit:
        """The fit with a label for every row of the data."""
        labels = fit.labels if isinstance(self.seen, slice) else fit.mixture.predict(self.rows)
        fit = replace(fit, labels=labels if self.few is None else self.few.spread(labels), engine=self.engine)
        return replace(fit, notes=overfit_notes(fit, self.problem))

    def relabelled(self, fit: Fit) -> Fit:
        """A fit whose labels were not kept, with a label for every row of the data."""
        partition, _ = self.problem.assign(self.problem.from_mixture(fit.mixture))
        return self.completed(replace(fit, labels=partition.labels))


def prepared(
    family: ExponentialFamily,
    rows: Array,
    weights: Array | None,
    *,
    prior_strength: float,
    prescribed_weights: Array | None,
    n_threads: int,
    n_components: int,
    assignment: str = "auto",
    may_compress: bool = True,
    sampling: np.random.Generator | None = None,
    hard: bool = False,
    resolution: Asked = None,
) -> Prepared:
    """The problem of legal rows: on the distinct ones where that is asked for or pays, without rows of no weight."""
    compressible = may_compress and not issparse(rows) and assignment in ("auto", "compressed")
    few = compressed(rows, weights, n_threads) if compressible else None
    X, multiplicity = (rows, weights) if few is None else (few.X, few.weights)
    seen: Seen = slice(None) if multiplicity is None or multiplicity.all() else multiplicity > 0
    problem = Problem(
        family,
        X if isinstance(seen, slice) else X[seen],  # a slice of all sparse rows would be a copy
        None if multiplicity is None else multiplicity[seen],
        prior_strength,
        prescribed_weights,
        n_threads=n_threads,
        n_components=n_components,
        assignment="auto" if assignment == "compressed" else assignment,
        sampling=sampling,
        hard=hard,
        resolution=resolution,
    )
    return Prepared(problem, X, seen, few)
