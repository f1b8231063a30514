"""The algorithms: each a first state and a step; `loop.run` drives any of them."""

from .certificate import Certificate, certificate
from .contract import Algorithm
from .exact import Exact
from .hard_em import HardEM
from .hartigan import Hartigan
from .lloyd import KMLELloyd
from .loop import run
from .online import Online
from .soft_em import SoftEM
from .state import Fit, HalfStep, Starts, State
from .swap import Swap

__all__ = [
    "Algorithm",
    "Certificate",
    "Exact",
    "Fit",
    "HalfStep",
    "HardEM",
    "Hartigan",
    "KMLELloyd",
    "Online",
    "SoftEM",
    "Starts",
    "State",
    "Swap",
    "certificate",
    "run",
]
