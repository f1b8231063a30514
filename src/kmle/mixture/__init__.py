"""Mixtures as values: parameters (`mixture`), what they say of rows (`densities`), their file format (`files`)."""

from .mixture import Mixture

__all__ = ["Mixture"]
