"""All commands, in the order in which help lists them."""

from . import fit, select, exploring, scoring, reporting, models, comparing, image, catalogue  # noqa: F401, I001
from .app import app

__all__ = ["app"]
