"""The cells of `benchmarks.optima`: a data set, a family and a number of components."""

from dataclasses import dataclass

from kmle import families as f
from kmle.families import ExponentialFamily, resolve

from .competitors import Array
from .data_sets import FAMILIES, data_set

GAUSSIANS = {"full": "gaussian", "diag": "diagonal-gaussian", "spherical": "spherical-gaussian"}
"""scikit-learn's names of covariance types, and ours."""


@dataclass(frozen=True)
class Cell:
    """One model of one data set.

    >>> str(Cell("iris", "gaussian", 3))
    'iris | gaussian | 3'
    """

    data: str
    family: str
    k: int

    def __str__(self) -> str:
        return f"{self.data} | {self.family} | {self.k}"

    @property
    def X(self) -> Array:
        return data_set(self.data)

    def model_family(self) -> ExponentialFamily:
        """The family with its fixed parameters."""
        if self.family in FIXED:
            return FIXED[self.family]
        return FAMILIES[self.family][0] if self.family in FAMILIES else resolve(self.family)

    @property
    def covariance_type(self) -> str | None:
        """What scikit-learn calls the model, if it has it."""
        return next((theirs for theirs, ours in GAUSSIANS.items() if ours == self.family), None)


FIXED: dict[str, ExponentialFamily] = {
    "fixed-covariance-gaussian": f.FixedCovarianceGaussian(1.0),
    "binomial-16": f.Binomial(16),
    "negative-binomial-1.5": f.NegativeBinomial(1.5),
    "weibull-1.2": f.Weibull(1.2),
}
FULL, DIAGONAL, SPHERICAL = GAUSSIANS.values()
# Data set: family: numbers of components.
PUBLIC: dict[str, dict[str, tuple[int, ...]]] = {
    "iris": {
        FULL: (2, 3, 4, 5),
        DIAGONAL: (2, 3, 5),
        SPHERICAL: (3, 6),
        "fixed-covariance-gaussian": (3,),
        "gamma": (2, 3, 4),
        "log-normal": (3, 5),
    },
    "iris petals": {FULL: (2, 3), "gamma": (2, 3), "inverse-gaussian": (2,)},
    "wine": {FULL: (2, 3), DIAGONAL: (2, 3, 4), SPHERICAL: (3,), "log-normal": (3,)},
    "wine, 4 columns": {FULL: (2, 3, 5), DIAGONAL: (4, 7), "gamma": (3,)},
    "breast cancer, 5 columns": {FULL: (2, 3, 4), DIAGONAL: (3, 6), "log-normal": (2, 4)},
    "breast cancer, 3 columns": {FULL: (3, 5), SPHERICAL: (4,), "gamma": (3,)},
    "digits, 4 pixels": {FULL: (4,), DIAGONAL: (5,), "poisson": (4, 8), "binomial-16": (3, 6)},
    "digits, binary": {"bernoulli": (5, 8)},
    "diabetes, 4 columns": {FULL: (2, 3, 4), DIAGONAL: (3, 5), SPHERICAL: (8,)},
    "diabetes, progression": {FULL: (2, 3), "gamma": (2, 3), "log-normal": (2,), "weibull-1.2": (2,)},
    "linnerud": {DIAGONAL: (2, 3), "poisson": (2, 3)},
    "faithful": {
        FULL: (2, 3, 4, 6),
        DIAGONAL: (2, 3, 5),
        SPHERICAL: (3, 5),
        "fixed-covariance-gaussian": (4,),
        "gamma": (2, 3),
        "inverse-gaussian": (2, 3),
    },
    "galaxies": {
        FULL: (2, 3, 4, 5, 6, 7, 8),
        "gamma": (3, 5),
        "log-normal": (3, 6),
        "inverse-gaussian": (4,),
        "inverse-gamma": (3,),
        "fixed-covariance-gaussian": (6,),
    },
    "flexmix": {FULL: (3, 4, 6), DIAGONAL: (4, 5), SPHERICAL: (4, 8), "fixed-covariance-gaussian": (4,)},
    "air quality": {FULL: (2, 3, 4), DIAGONAL: (2, 4), "gamma": (2, 3), "log-normal": (3,)},
    "ozone": {"gamma": (2, 3), "exponential": (2,), "inverse-gaussian": (2,), FULL: (2, 4)},
    "veteran times": {"exponential": (2, 3, 4), "gamma": (2, 3), "log-normal": (2, 3), "weibull-1.2": (2, 3)},
    "veteran ages": {FULL: (2, 3), "poisson": (2, 3)},
    "days absent": {"poisson": (2, 3, 4, 5), "geometric": (2, 3), "negative-binomial-1.5": (2, 3)},
    "copper": {"gamma": (2,), "log-normal": (2, 3), FULL: (2,)},
    "colours": {FULL: (3, 5, 8), DIAGONAL: (6,)},
    "colours, inner": {"beta": (3, 5)},
}
# Many components on few rows: the cells where most optima are close to each other.
HARD: dict[str, dict[str, tuple[int, ...]]] = {
    "breast cancer, 4 columns": {FULL: (4, 6), DIAGONAL: (7,)},
    "breast cancer, errors": {FULL: (4,), "log-normal": (4,), "gamma": (5,)},
    "wine, 4 other columns": {FULL: (3, 5), DIAGONAL: (5,), SPHERICAL: (8,)},
    "iris sepals": {FULL: (4,), DIAGONAL: (5, 8), "gamma": (6,)},
    "eruptions": {FULL: (4,), "gamma": (4,)},
    "faithful": {FULL: (7,), SPHERICAL: (9,), "inverse-gaussian": (5,)},
    "galaxies": {"log-normal": (7,), "inverse-gaussian": (6,)},
    "diabetes, serum": {FULL: (4, 6), DIAGONAL: (8,)},
    "digits, 4 other pixels": {"poisson": (5, 9), FULL: (6,)},
    "digits, middle rows": {"bernoulli": (7, 12)},
    "colours of a patch": {FULL: (4, 7), DIAGONAL: (8,)},
    "ozone and temperature": {FULL: (4,), DIAGONAL: (5,), "gamma": (4,)},
    "days absent": {"poisson": (6, 8)},
    "gaussians 2 7 1.8 21": {FULL: (7,), DIAGONAL: (9,)},
}
SIMULATED: dict[str, dict[str, tuple[int, ...]]] = {
    **{
        f"gaussians {d} {k} {spread} {seed}": {FULL: (k,)}
        for d in (1, 2, 5)
        for k in (3, 6)
        for spread, seed in ((2.0, 1), (3.0, 2))
    },
    "gaussians 2 8 3.0 3": {FULL: (8,), DIAGONAL: (8,), SPHERICAL: (6,)},
    "gaussians 10 4 1.5 4": {FULL: (4,), DIAGONAL: (5,), SPHERICAL: (8,)},
    **{f"sim {name} 4": {name: (3, 4)} for name in FAMILIES},
    **{f"sim {name} 6": {name: (6,)} for name in FAMILIES},
}
CELLS = [
    Cell(data, family, k)
    for data, models in (*PUBLIC.items(), *HARD.items(), *SIMULATED.items())
    for family, numbers in models.items()
    for k in numbers
]
