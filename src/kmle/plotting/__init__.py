"""Plots of mixtures (the extra `plot`): every function takes `ax` and returns the Axes it drew on."""

from .cells import plot_cells
from .choosing import plot_dendrogram, plot_selection
from .fit import plot_fit
from .history import plot_history
from .posterior import plot_posterior
from .quantiles import plot_qq
from .survival import plot_survival

__all__ = [
    "plot_cells",
    "plot_dendrogram",
    "plot_fit",
    "plot_history",
    "plot_posterior",
    "plot_qq",
    "plot_selection",
    "plot_survival",
]
