"""Looking at a fitted mixture: how sure its parameters are, how well components are told apart, how well it fits."""

from .bootstrap import Bootstrap, bootstrap
from .uncertainty import StandardErrors, standard_errors

__all__ = ["Bootstrap", "StandardErrors", "bootstrap", "standard_errors"]
