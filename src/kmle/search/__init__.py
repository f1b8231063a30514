"""Finding the best optimum: a portfolio of starts learned together on a sample, then moves that leave local optima."""

from .search import SAME, Found, search, single_start

__all__ = ["SAME", "Found", "search", "single_start"]
