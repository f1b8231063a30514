"""A `Plan` is everything that says how to learn; the estimators and the command line make one and call `learn`."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..algorithms import Algorithm, Exact, HardEM, Hartigan, KMLELloyd, Online, SoftEM, Swap
from ..algorithms.lloyd import PLAIN_STEPS, PLAIN_STEPS_AFTER_SEARCH
from ..engines.choose import ENGINES
from ..families import ComponentFamilies, ExponentialFamily, resolve
from ..families.component_lists import component_families
from ..families.parameterless import Parameterless
from ..families.registry import FamilyLike, families_of_components
from ..families.resolution import Asked
from ..mixture import Mixture
from ..numerics.arrays import Array
from ..numerics.options import whole_number
from ..problem.model import Frozen
from ..seeding import SEEDINGS
from .arguments import threads_of

HARD = ("k-mle", "hard-em", "hartigan", "swap", "exact", "online")
SOFT = ("em", "sparse-em")
# Iterations at most, where no number is given.
MAX_ITER = {"hard": 300, "soft": 1000}
# Algorithms that do not depend on where they start.
ONE_START = ("exact",)
# Algorithms that make few passes: a search for the best start would make more.
NO_SEARCH = ("exact", "online")
# Algorithms that value clusters one by one, which components that are estimated together do not allow.
SINGLE_CLUSTERS = ("hartigan", "swap", "exact")
# Algorithms in which components of the start can be held.
MAY_FREEZE = ("k-mle", "hard-em", "em", "sparse-em")


@dataclass(frozen=True, eq=False)
class Plan:
    """How to learn: the settings of the estimators, which document them, under the same names.

    >>> Plan(3, algorithm="k-mle").hard
    True
    """

    n_components: int
    """All components, also those of a list of families and that for noise."""
    family: FamilyLike = "gaussian"
    algorithm: str | Algorithm = "em"
    init: str | ArrayLike | Mixture = "auto"
    weights: str | ArrayLike | None = None
    prior_strength: float = 1e-3
    resolution: str | float | ArrayLike | None = "auto"
    empty_components: str = "drop"
    n_init: int | str = "auto"
    max_iter: int | None = None
    tol: float | str = "auto"
    batch_size: int = 1024
    n_responsibilities: int = 2
    engine: str = "auto"
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0
    component_classes: ArrayLike | None = None
    frozen: ArrayLike | None = None
    frozen_weights: ArrayLike | None = None
    update_weights_only: bool = False
    noise: bool = False
    """Whether to add a component for noise; the family has it from then on."""
    start: Mixture | None = None
    """The mixture of an earlier fit to go on from (`warm_start`)."""
    soft: bool | None = None
    """Whether rows are shared between components, where `algorithm` is an object."""

    def __post_init__(self) -> None:
        if not isinstance(self.noise, bool | np.bool_):
            raise ValueError(f"noise is {self.noise!r}: it must be True or False")
        whole_number("n_components", self.n_components, 1)
        family, n_components = families_of_components(self.family, self.n_components, bool(self.noise))
        if isinstance(family, ComponentFamilies):
            object.__setattr__(self, "family", family)
        object.__setattr__(self, "n_components", n_components)
        object.__setattr__(self, "noise", False)

    @property
    def algorithm_name(self) -> str:
        """The algorithm's short name."""
        return self.algorithm if isinstance(self.algorithm, str) else self.algorithm.name

    @property
    def hard(self) -> bool:
        """Whether each row belongs to one component."""
        return self.algorithm_name not in SOFT if self.soft is None else not self.soft

    @property
    def is_exact(self) -> bool:
        """Whether the global optimum is sought, which is one of the plain likelihood."""
        return isinstance(self.algorithm, Exact) or self.algorithm == "exact"

    @property
    def is_online(self) -> bool:
        """Whether batches are learned from one after the other."""
        return isinstance(self.algorithm, Online) or self.algorithm == "online"

    @property
    def iteration_limit(self) -> int:
        """The most iterations; an online fit ends when its batches do."""
        if self.is_online:
            return sys.maxsize
        return MAX_ITER["hard" if self.hard else "soft"] if self.max_iter is None else self.max_iter

    @property
    def strength(self) -> float:
        """The pseudo-observations of the prior."""
        return 0.0 if self.is_exact else float(self.prior_strength)

    @property
    def n_threads(self) -> int:
        """The threads of a pass."""
        return threads_of(self.n_jobs)

    @property
    def has_one_start(self) -> bool:
        """Whether there is only one place to start from, or it does not matter."""
        return self.start is not None or not isinstance(self.init, str) or self.algorithm_name in ONE_START

    @property
    def searches(self) -> bool:
        """Whether several starts are compared by short runs before one is learned to its end."""
        several = self.n_init == "auto" and self.n_components > 1 and not self.has_one_start
        return several and self.algorithm_name not in NO_SEARCH

    @property
    def n_runs(self) -> int:
        """Starts that are learned to their end one after the other; a search counts as one."""
        return 1 if isinstance(self.n_init, str) or self.has_one_start else int(self.n_init)

    @property
    def keeps_order(self) -> bool:
        """Whether the order of the components is the user's: that of labels, of a mixture, or of given weights."""
        return self.start is not None or not isinstance(self.init, str) or self.weights is not None

    @property
    def may_compress(self) -> bool:
        """Rows that carry labels of their own, or come one after the other, are not merged into distinct ones."""
        return isinstance(self.init, str | Mixture) and not self.is_online

    # Checks -----------------------------------------------------------------------------------------------------------

    def check(self, n_rows: int) -> None:
        """Refuses settings that cannot be, with the name of the argument and the remedy."""
        whole_number("n_components", self.n_components, 1)
        if self.n_init != "auto":
            whole_number("n_init", self.n_init, 1, " or 'auto'")
        if self.max_iter is not None:
            whole_number("max_iter", self.max_iter, 1)
        whole_number("batch_size", self.batch_size, 1)
        whole_number("n_responsibilities", self.n_responsibilities, 1)
        if self.tol != "auto":
            _positive_number("tol", self.tol)
        _positive_number("prior_strength", self.prior_strength)
        if n_rows < self.n_components:
            raise ValueError(
                f"n_components is {self.n_components} but there are only n_samples = {n_rows} rows: "
                "use fewer components"
            )
        self._check_names()
        self._check_family(resolve(self.family))
        if self.frozen_parts is not None and self.algorithm_name not in MAY_FREEZE:
            raise ValueError(
                f"algorithm={self.algorithm_name!r} cannot hold components: use one of {', '.join(MAY_FREEZE)}"
            )
        if self.frozen_parts is not None and self.prescribed_weights is not None and self.frozen_weights is not None:
            raise ValueError("weights prescribe all weights: leave frozen_weights out")

    def _check_family(self, family: ExponentialFamily) -> None:
        """Refuses algorithms that value clusters one by one where components are estimated together."""
        if not family.exponential:
            self._check_coordinates(family)
        if family.joint and self.algorithm_name in SINGLE_CLUSTERS:
            raise ValueError(
                f"algorithm={self.algorithm_name!r} judges each cluster by itself, but components of {family.name} are "
                "estimated together: use 'k-mle', 'hard-em', 'em' or 'sparse-em'"
            )
        if family.joint and not family.has_places and self.frozen_parts is not None:
            raise ValueError(f"components of {family.name} are estimated together: none of them can be frozen")

    def _check_coordinates(self, family: ExponentialFamily) -> None:
        """Refuses what needs sums of statistics, for families that have none."""
        if self.algorithm_name not in MAY_FREEZE:
            raise ValueError(
                f"algorithm is {self.algorithm_name!r}, which cannot estimate {family.name}: use one of "
                f"{', '.join(MAY_FREEZE)}, or fix its shape"
            )
        if self.empty_components == "reseed":
            raise ValueError(f"empty_components='reseed' cannot be combined with {family.name}: use 'drop'")

    def _check_names(self) -> None:
        if self.empty_components not in ("drop", "reseed"):
            raise ValueError(f"empty_components is {self.empty_components!r}: it must be 'drop' or 'reseed'")
        engines = ("auto", "compressed", *ENGINES)
        if self.engine not in engines:
            raise ValueError(f"engine is {self.engine!r}: it must be one of {', '.join(engines)}")
        known = self.algorithm in (*HARD, *SOFT) if isinstance(self.algorithm, str) else hasattr(self.algorithm, "step")
        if not known:
            raise ValueError(f"algorithm is {self.algorithm!r}: it must be one of {', '.join((*HARD, *SOFT))}")
        if not isinstance(self.verbose, int | np.integer):
            raise ValueError(f"verbose is {self.verbose!r}: it must be True, False or a whole number")
        if isinstance(self.init, str) and self.init not in ("auto", *SEEDINGS):
            raise ValueError(
                f"init is {self.init!r}: it must be one of auto, {', '.join(SEEDINGS)}, labels of rows, or a Mixture"
            )

    # What follows from the settings -----------------------------------------------------------------------------------

    def resolution_for(self, family: ExponentialFamily) -> Asked:
        """ "auto", None, or the step of each column."""
        if self.is_exact:
            return None
        if self.resolution is None or (isinstance(self.resolution, str) and self.resolution == "auto"):
            return self.resolution
        width = family.n_features or 1
        try:
            steps = np.broadcast_to(np.asarray(self.resolution, dtype=float), (width,))
        except (TypeError, ValueError):
            raise ValueError(
                f"resolution is {self.resolution!r}: it must be 'auto', None, one step, or {width} of them"
            ) from None
        if not np.isfinite(steps).all() or (steps < 0).any():
            raise ValueError(f"resolution is {self.resolution!r}: steps must be numbers, zero or more")
        return steps

    @cached_property
    def prescribed_weights(self) -> Array | None:
        """The weights that components are to keep; None where they are estimated."""
        if self.weights is None:
            return None
        if isinstance(self.weights, str):
            if self.weights != "uniform":
                raise ValueError(
                    f"weights is {self.weights!r}: it must be None, 'uniform' or {self.n_components} numbers"
                )
            return np.full(self.n_components, 1 / self.n_components)
        try:
            weights = np.asarray(self.weights, dtype=float)
        except (TypeError, ValueError):
            raise ValueError(f"weights is {self.weights!r}: {self.n_components} numbers are needed") from None
        if weights.shape != (self.n_components,):
            raise ValueError(f"weights has shape {weights.shape}: {self.n_components} numbers are needed")
        if not np.isfinite(weights).all() or (weights <= 0).any() or abs(weights.sum() - 1) > 1e-6:
            raise ValueError(f"weights must be positive and sum to one; their sum is {weights.sum():.6g}")
        return weights / weights.sum()

    @cached_property
    def frozen_parts(self) -> Frozen | None:
        """Which parameters and weights of the start are held; None where all are estimated."""
        if self.frozen is None and self.frozen_weights is None and not self.update_weights_only:
            return None
        start = self.init if self.start is None else self.start
        if not isinstance(start, Mixture):
            raise ValueError(
                "frozen, frozen_weights and update_weights_only hold parts of a start: give init a Mixture"
            )
        natural = self._chosen("frozen", self.frozen)
        if self.update_weights_only:
            natural[: start.n_components] = True
        held = self._chosen("frozen_weights", self.frozen_weights)
        for name, chosen in (("frozen", natural), ("frozen_weights", held)):
            if (beyond := np.flatnonzero(chosen[start.n_components :])).size:
                raise ValueError(
                    f"{name} has {start.n_components + beyond[0]}, but init has {start.n_components} components"
                )
        weights = np.full(self.n_components, np.nan)
        weights[held] = start.weights[held[: start.n_components]]
        if held.any() and not held.all() and not weights[held].sum() < 1:
            raise ValueError("frozen_weights leave nothing for the other components: their weights sum to one")
        return Frozen(natural, weights)

    def with_held_families(self) -> "Plan":
        """The plan with frozen components without parameters as the start has them: noise keeps its box."""
        start, family, frozen = self.init if self.start is None else self.start, resolve(self.family), self.frozen_parts
        if frozen is None or not isinstance(start, Mixture) or not isinstance(family, ComponentFamilies):
            return self
        members = start.members
        families = [
            members[j].family if held and j < len(members) and isinstance(own, Parameterless) else own
            for j, (own, held) in enumerate(zip(family.families, frozen.natural, strict=True))
        ]
        if any(type(own) is not type(before) for own, before in zip(families, family.families, strict=True)):
            return self
        return replace(self, family=component_families(families))

    def _chosen(self, name: str, indices: ArrayLike | None) -> NDArray[np.bool_]:
        """Which components (k,) a list of indices names."""
        chosen = np.zeros(self.n_components, dtype=bool)
        if indices is None:
            return chosen
        places = np.atleast_1d(np.asarray(indices))
        if places.size and (places.ndim != 1 or not np.issubdtype(places.dtype, np.integer)):
            raise ValueError(f"{name} is {indices!r}: it must be indices of components")
        for place in places.tolist():
            if not 0 <= place < self.n_components:
                raise ValueError(f"{name} has {place}: components are numbered from 0 to {self.n_components - 1}")
        chosen[places.astype(np.intp)] = True
        return chosen

    def make_algorithm(self, rng: np.random.Generator) -> Algorithm:
        """The algorithm, ready to run once."""
        if not isinstance(self.algorithm, str):
            return self.algorithm
        reseed = self.empty_components == "reseed"
        plain_steps = PLAIN_STEPS_AFTER_SEARCH if self.searches else PLAIN_STEPS
        kinds: Mapping[str, Algorithm] = {
            "k-mle": KMLELloyd(reseed, plain_steps=plain_steps),
            "hard-em": HardEM(reseed, plain_steps=plain_steps),
            "hartigan": Hartigan(reseed),
            "swap": Swap(rng, reseed=reseed),
            "exact": Exact(),
            "online": Online(rng, self.batch_size),
            "em": SoftEM(),
            "sparse-em": SoftEM(self.n_responsibilities, name="sparse-em"),
        }
        return kinds[self.algorithm]


def _positive_number(name: str, value: Any) -> None:
    if not isinstance(value, int | float | np.number) or not np.isfinite(value) or value < 0:
        raise ValueError(f"{name} is {value!r}: it must be a number, zero or more")
