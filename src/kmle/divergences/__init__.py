"""How far apart two mixtures are: estimates with their errors, bounds that always hold, and closed forms."""

from .bounds import Bounds, kl_bounds, kl_variational
from .estimates import Estimate, jeffreys, jensen_shannon, kl
from .products import cauchy_schwarz

__all__ = ["Bounds", "Estimate", "cauchy_schwarz", "jeffreys", "jensen_shannon", "kl", "kl_bounds", "kl_variational"]
