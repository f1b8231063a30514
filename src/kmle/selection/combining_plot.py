"""The plot of combined components: entropy against the number of clusters."""

from typing import TYPE_CHECKING

import numpy as np

from ..titles import GREY, INK, SMALL, pyplot, title
from .combining import Combination
from .plots import COLOURS, FAINT, NORMAL

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_combination(found: Combination, ax: "Axes | None" = None) -> "Axes":
    """Draws the entropies, the straight lines that meet at the best number of clusters, and a ring around it."""
    plt = pyplot("Combination.plot")
    from matplotlib.ticker import MaxNLocator  # an extra

    if ax is None:
        _, ax = plt.subplots(figsize=(6.5, 4.0), layout="constrained")
    k, best = np.arange(1, found.n_components + 1), found.best
    ax.plot(k, found.entropies, "o", color=COLOURS[0], markersize=6)
    for part in (slice(0, best), slice(best - 1, None)):
        if len(k[part]) > 1:
            line = np.polynomial.Polynomial.fit(k[part], found.entropies[part], 1)
            ax.plot(k[part], line(k[part]), "--", color=COLOURS[1], linewidth=1.2)
    ax.plot(best, found.entropies[best - 1], "o", markersize=14, fillstyle="none", color=INK)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlabel("number of clusters", size=NORMAL, color=INK)
    ax.set_ylabel("entropy of the posterior", size=NORMAL, color=INK)
    plural = "cluster" if best == 1 else "clusters"
    title(ax, f"{found.n_components} components, {best} {plural}")
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(GREY)
    ax.tick_params(labelsize=SMALL, colors=GREY, labelcolor=INK)
    ax.set_axisbelow(True)
    ax.grid(visible=True, color=FAINT, linewidth=0.6)
    return ax
