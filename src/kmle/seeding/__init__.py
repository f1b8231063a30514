"""Where learning starts: one small file for each kind of start, all found by name in `SEEDINGS`."""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from ..problem.problem import LearningProblem, Parameters
from .agglomerative import agglomerative
from .grid import grid
from .k_means import k_means
from .k_mle_parallel import k_mle_parallel
from .k_mle_plus_plus import k_mle_plus_plus
from .quantile import quantile
from .random_rows import random_rows
from .restricted import restricted
from .short_em import short_em

Seeding: TypeAlias = Callable[[LearningProblem, int, np.random.Generator], Parameters]

SEEDINGS: dict[str, Seeding] = {
    "k-mle++": k_mle_plus_plus,
    "k-mle||": k_mle_parallel,
    "random": random_rows,
    "restricted": restricted,
    "quantile": quantile,
    "k-means": k_means,
    "short-em": short_em,
    "grid": grid,
    "agglomerative": agglomerative,
}

__all__ = ["SEEDINGS", "Seeding"]
