"""The plot of likelihood-ratio tests: what samples gain by one more component, and what the data gains."""

from typing import TYPE_CHECKING

import numpy as np

from ..titles import GREY, INK, SMALL, pyplot, title
from .likelihood_ratio import LikelihoodRatios

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Those of `kmle.plotting`.
BLUE, ORANGE, FAINT = "#0072b2", "#d55e00", "#e4e4e4"
NORMAL = 9.0


def plot_likelihood_ratios(tests: LikelihoodRatios, ax: "Axes | None" = None) -> "Axes":
    """Draws a column of points for each test, the samples beside the data; p-values stand above."""
    plt = pyplot("LikelihoodRatios.plot")
    if ax is None:
        _, ax = plt.subplots(figsize=(6.5, 4.0), layout="constrained")
    rng = np.random.default_rng(0)
    places = np.arange(len(tests.statistics))
    for place, own in zip(places, tests.simulated, strict=True):
        beside = place + rng.uniform(-0.18, 0.18, len(own))
        ax.plot(beside, own, ".", color=BLUE, markersize=4, alpha=0.5, label="samples" if place == 0 else None)
    ax.plot(places, tests.statistics, "D", color=ORANGE, markersize=7, label="data")
    highest = max(float(tests.statistics.max()), *(float(own.max()) for own in tests.simulated))
    for place, value, p in zip(places, tests.statistics, tests.p_values, strict=True):
        ax.annotate(f"p = {p:.3f}", (place, value), (0, 9), textcoords="offset points", ha="center", size=SMALL)
    # What samples gain is small beside what the data gains by a component that is needed.
    ax.set_yscale("asinh", linear_width=max(float(np.median(tests.simulated[-1])), 1.0))
    ax.set_ylim(-0.5, 2.0 * highest + 1.0)
    ax.set_xlim(-0.5, len(places) - 0.3)
    ax.set_xticks(places, [f"{k} vs {k + 1}" for k in tests.n_components])
    ax.set_xlabel("numbers of components", size=NORMAL, color=INK)
    ax.set_ylabel("twice the gain in log-likelihood", size=NORMAL, color=INK)
    title(ax, f"Likelihood-ratio tests: {tests.best} at level {tests.level:g}")
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(GREY)
    ax.tick_params(labelsize=SMALL, colors=GREY, labelcolor=INK)
    ax.set_axisbelow(True)
    ax.grid(axis="y", color=FAINT, linewidth=0.6)
    ax.legend(frameon=False, fontsize=SMALL, labelcolor=INK)
    return ax
