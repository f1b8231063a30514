"""The criteria by which candidates are compared. They stand one layer below, where every fit has its own."""

from ..algorithms.criteria import CRITERIA, Criteria, aic, aicc, bic, icl

__all__ = ["CRITERIA", "Criteria", "aic", "aicc", "bic", "icl"]
