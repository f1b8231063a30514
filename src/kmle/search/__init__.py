"""Finding the best optimum: a portfolio of starts learned together on a sample, then moves that leave local optima."""

from .comparing import SAME
from .search import Found, search

__all__ = ["SAME", "Found", "search"]
