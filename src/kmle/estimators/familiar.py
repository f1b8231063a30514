"""Parameters of a fitted mixture under the names that scikit-learn's mixtures have."""

import numpy as np

from ..mixture import Mixture
from ..mixture.algebra import GAUSSIANS
from ..numerics.arrays import Array
from ..queries.moments import covariances, means

# Tab completion asks for every attribute: matrices of more numbers (1 GiB) would fill the memory of a small machine.
MOST_NUMBERS = 1 << 27


class FamiliarParameters:
    """Attributes that exist where the family has them: `hasattr` says so."""

    mixture_: Mixture

    @property
    def means_(self) -> Array:
        """The means (k, d) of the components."""
        mixture = self._fitted_mixture("means_")
        try:
            return means(mixture.family, mixture.natural)
        except ValueError as error:
            raise AttributeError(f"there are no means_: {error}") from None

    @property
    def covariances_(self) -> Array:
        """The covariances (k, d, d) of the components, whatever the family knows of their shape."""
        mixture = self._fitted_mixture("covariances_")
        k, d = mixture.n_components, mixture.family.n_features or 1
        if k * d * d > MOST_NUMBERS:
            raise AttributeError(
                f"there are no covariances_: {k} matrices of {d} x {d} numbers take {8e-9 * k * d * d:.1f} GB; use "
                "mixture_.marginal for some of the columns"
            )
        try:
            return covariances(mixture.family, mixture.natural)
        except ValueError as error:
            raise AttributeError(f"there are no covariances_: {error}") from None

    @property
    def precisions_(self) -> Array:
        """The inverse covariances (k, d, d) of Gaussian components."""
        mixture = self._fitted_mixture("precisions_")
        if not isinstance(mixture.family, GAUSSIANS):
            raise AttributeError(f"there are no precisions_: {mixture.family.name} is not Gaussian")
        return np.linalg.inv(self.covariances_)

    def _fitted_mixture(self, name: str) -> Mixture:
        if "mixture_" not in vars(self):
            raise AttributeError(f"there are no {name} before fit")
        return self.mixture_
