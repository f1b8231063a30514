"""Learn mixtures of exponential families: k-MLE, hard and soft EM, one kernel for every family."""

from importlib.metadata import version

__version__ = version("kmle")

__all__ = ["__version__"]
