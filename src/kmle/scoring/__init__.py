"""Densities of many rows under many components, block by block on the compiled passes; fits score rows the same way."""

from .precision import SCORE_ERROR, centred_form, score_error
from .scorer import Scorer, scorer_of

__all__ = ["SCORE_ERROR", "Scorer", "centred_form", "score_error", "scorer_of"]
