"""Parameters of a fitted mixture under the names that scikit-learn's mixtures have."""

import numpy as np

from ..mixture import Mixture
from ..mixture.algebra import GAUSSIANS
from ..numerics.arrays import Array
from ..queries.moments import covariances, means


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
