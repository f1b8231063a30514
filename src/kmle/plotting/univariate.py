"""One column: a histogram, the mixture's density and that of every component."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..families import VonMises
from ..families.support import Integers, Interval
from ..mixture import Mixture
from ..numerics.arrays import Array
from ..palette import PALETTE, colours
from .bins import MOST_BINS, SAMPLED_ROWS, Bins, continuous_bins, integer_bins
from .marginals import column_supports, weighted_nodes
from .scales import bounds, is_logarithmic
from .style import BARS, INK, integer_ticks, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GRID = 400
SMALL_BINS = 32
MIXTURE_DASHES = (0, (4, 2))
# Quadrature nodes of a component that are added to the grid, so that narrow components are drawn smoothly.
NODES = 120
# Above this many whole numbers the masses are drawn as a line without dots.
MOST_DOTS = 45
# Fewer whole numbers than this are not joined by lines: there is nothing between yes and no.
FEWEST_JOINED = 6
# What is less than this part of the highest density is not drawn: lines along the axis hide it.
VISIBLE = 2e-3


def draw_column(ax: "Axes", mixture: Mixture, values: Array, name: str, small: bool = False) -> str:
    """The histogram of all values with the densities over it; returns a note on what is not to be seen."""
    most = SMALL_BINS if small else MOST_BINS
    every = -(-len(values) // SAMPLED_ROWS)
    # The smallest and the largest value are among the few that settle the bins, so the ends are those of all rows.
    few = np.concatenate([values[::every], [values.min(), values.max()]]).astype(float)
    labels = mixture.predict(few[:, None])
    (support,) = column_supports(mixture)
    if isinstance(support, Integers):
        return _draw_counts(ax, mixture, support, values, few, name, small)
    lower, upper = bounds(support)
    if isinstance(mixture.family, VonMises):
        values, few = wrapped(values), wrapped(few)
    if is_logarithmic(few, support):
        return _draw_logarithms(ax, mixture, values, few, labels, name, small)
    bins = continuous_bins(few, labels, lower, upper, most)
    heights = bins.fractions(values) / bins.width
    _bars(ax, bins.edges[:-1], heights, bins.width)
    x = density_grid(mixture, *_margins(bins), lower, upper)
    joint = np.exp(mixture.log_joint(x[:, None]))
    _curves(ax, x, joint, heights, numbered=not small)
    ax.set(xlabel=name, ylabel="density", xlim=_margins(bins))
    if isinstance(mixture.family, VonMises):
        angle_axis(ax, "x")
    return _beyond(values, bins)


def wrapped(angles: Array) -> Array:
    """Angles from -pi to pi."""
    return np.asarray(np.mod(angles + np.pi, 2 * np.pi) - np.pi)


def angle_axis(ax: "Axes", which: str) -> None:
    """One turn, from -pi to pi, with its ticks."""
    places, names = np.linspace(-np.pi, np.pi, 5), ["\N{MINUS SIGN}π", "\N{MINUS SIGN}π/2", "0", "π/2", "π"]
    ax.set(**{f"{which}lim": (-np.pi, np.pi), f"{which}ticks": places, f"{which}ticklabels": names})


def density_grid(mixture: Mixture, start: float, stop: float, lower: float, upper: float) -> Array:
    """Legal points from start to stop, closer where a component is narrow."""
    low, high = max(start, np.nextafter(lower, np.inf)), min(stop, np.nextafter(upper, -np.inf))
    even = np.linspace(low, high, GRID)
    if not isinstance(mixture.family.support, Interval):
        return even
    points = [even]
    for distribution in mixture.natural:
        try:
            x, mass = weighted_nodes(mixture.family, distribution)
        except ValueError:  # a needle, as of a constant column: the even points must do
            continue
        # Evenly spaced in probability, so that a peak has as many points as a slope.
        points.append(np.interp(np.linspace(1e-4, 1 - 1e-4, NODES), np.cumsum(mass), x))
    grid = np.unique(np.concatenate(points))
    return grid[(grid >= low) & (grid <= high)]


def _margins(bins: Bins) -> tuple[float, float]:
    margin = 0.03 * (bins.stop - bins.start)
    return bins.start - margin, bins.stop + margin


def _beyond(values: Array, bins: Bins) -> str:
    outside = int(np.count_nonzero((values < bins.start) | (values > bins.stop)))
    return f"{outside} beyond the edges" if outside else ""


def _bars(ax: "Axes", starts: Array, heights: Array, width: float | Array) -> None:
    ax.bar(starts, heights, width=width, align="edge", color=BARS, edgecolor="white", linewidth=0.4)


def _curves(
    ax: "Axes", x: Array, joint: Array, heights: Array, marker: str = "", joined: bool = True, numbered: bool = True
) -> None:
    """Every component filled lightly, the mixture as a line over all."""
    k = joint.shape[1]
    highest = float(heights.max())
    total = joint.sum(axis=1)
    peak = float(total[np.isfinite(total)].max())
    # A pole or a needle must not press the histogram flat.
    top = 1.08 * max(highest, min(peak, 1.6 * highest))
    shown = np.clip(joint, 0.0, 100 * top)
    dots: dict[str, Any] = {"marker": marker, "markersize": 3.5 if joined else 7, "lw": 1.6 if joined else 0}
    if k > 1 and joined:
        ax.plot(x, np.clip(total, 0.0, 100 * top), color=INK, lw=1.1, ls=MIXTURE_DASHES, zorder=2.1)
    for label, (colour, curve) in enumerate(zip(colours(k), shown.T, strict=True)):
        where = curve > VISIBLE * top
        line = np.where(where, curve, np.nan)
        if joined:
            ax.fill_between(x, 0, curve, where=where.tolist(), color=colour, alpha=0.12, linewidth=0)
        ax.plot(x, line, color=colour, zorder=2.2, **dots)
        # A point mass is no line.
        alone = where & ~np.append(where[1:], False) & ~np.append(False, where[:-1])
        ax.vlines(x[alone], 0, curve[alone], color=colour, lw=3, zorder=2.3)
        if numbered and k > len(PALETTE) and where.any():
            at = int(np.argmax(curve))
            number(ax, label, float(x[at]), min(float(curve[at]), 0.95 * top), colour)
    ax.set_ylim(0, top)


def _draw_counts(
    ax: "Axes", mixture: Mixture, support: Integers, values: Array, few: Array, name: str, small: bool
) -> str:
    bins = integer_bins(few, SMALL_BINS if small else MOST_BINS)
    heights = bins.fractions(values) / bins.width
    gap = 0.1 * bins.width if bins.count <= MOST_DOTS else 0.0
    _bars(ax, bins.edges[:-1] + gap, heights, bins.width - 2 * gap)
    last = float(np.minimum(np.floor(bins.stop), support.upper))
    x = np.arange(max(np.ceil(bins.start), support.lower), last + 1)
    joined = len(x) >= FEWEST_JOINED
    marker = "o" if not joined or (len(x) <= MOST_DOTS and not small) else ""
    _curves(ax, x, np.exp(mixture.log_joint(x[:, None])), heights, marker, joined, not small)
    ax.set(xlabel=name, ylabel="probability", xlim=_margins(bins))
    integer_ticks(ax, "x")
    return _beyond(values, bins)


def _draw_logarithms(
    ax: "Axes", mixture: Mixture, values: Array, few: Array, labels: NDArray[np.intp], name: str, small: bool
) -> str:
    """Over decades: the density of the decimal logarithm, so that areas stay shares."""
    positive = few > 0
    support = mixture.family.support
    lower, _ = bounds(support)
    least = float(np.log10(lower)) if lower > 0 else -np.inf
    most = SMALL_BINS if small else MOST_BINS
    bins = continuous_bins(np.log10(few[positive]), labels[positive], least, np.inf, most)
    with np.errstate(divide="ignore"):
        logarithms = np.log10(values)
    heights = bins.fractions(logarithms) / bins.width
    edges = 10**bins.edges
    _bars(ax, edges[:-1], heights, np.diff(edges))
    x = density_grid(mixture, float(edges[0]), float(edges[-1]), lower, np.inf)
    x = np.unique(np.concatenate([x, np.geomspace(max(x[0], 1e-300), x[-1], GRID)]))
    joint = np.exp(mixture.log_joint(x[:, None])) * (x * np.log(10))[:, None]
    _curves(ax, x, joint, heights, numbered=not small)
    ax.set(xscale="log", xlabel=name, ylabel=f"density of log10 {name}", xlim=(edges[0], edges[-1]))
    return _beyond(logarithms, bins)


def draw_by_label(ax: "Axes", values: Array, labels: NDArray[np.intp], n_components: int, name: str) -> None:
    """Histograms by label, stacked: for columns whose own distribution has no formula."""
    bins = continuous_bins(values, labels, -np.inf, np.inf, SMALL_BINS)
    below = np.zeros(bins.count)
    for label, colour in enumerate(colours(n_components)):
        counts, _ = np.histogram(values[labels == label], bins.count, (bins.start, bins.stop))
        heights = counts / (len(values) * bins.width)
        starts = bins.edges[:-1]
        ax.bar(starts, heights, bins.width, below, align="edge", color=colour, alpha=0.6, edgecolor="white", lw=0.3)
        below += heights
    ax.set(xlabel=name, ylabel="density", xlim=_margins(bins))


def mixture_mark() -> list[tuple[Any, str]]:
    """The legend's entry for the mixture's line."""
    from matplotlib.lines import Line2D

    return [(Line2D([], [], color=INK, lw=1.1, ls=MIXTURE_DASHES), "mixture")]
