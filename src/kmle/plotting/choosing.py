"""`plot_selection` and `plot_dendrogram`: how many components, and how they merge."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..numerics.arrays import Array
from ..palette import PALETTE
from ..titles import title
from .style import GREY, plain_axes, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_selection(selection: Any, ax: "Axes | None" = None) -> "Axes":
    """Plots the criterion of all candidates, as `Selection.plot` does.

    Parameters
    ----------
    selection : Selection
        The result of `kmle.select`.
    ax : Axes, default=None
        Where to draw; None creates a figure.

    Returns
    -------
    Axes
        The Axes.
    """
    if not callable(getattr(selection, "plot", None)):
        raise ValueError(f"plot_selection draws a selection of candidates, not a {type(selection).__name__}")
    return selection.plot(plain_axes("plot_selection", ax))


def plot_dendrogram(path: Any, ax: "Axes | None" = None, *, labels: list[str] | None = None) -> "Axes":
    """Plots the tree of merges.

    Parameters
    ----------
    path : MergePath, Simplification or linkage matrix
        Anything with a SciPy `linkage`, or the linkage matrix itself.
    ax : Axes, default=None
        Where to draw; None creates a figure.
    labels : list of str, default=None
        The names of the components.

    Returns
    -------
    Axes
        The Axes.

    Examples
    --------
    >>> plot_dendrogram([[0, 1, 0.5, 2], [2, 3, 2.0, 3]]).get_ylabel()
    'cost of the merge'
    """
    from scipy.cluster.hierarchy import dendrogram, is_valid_linkage

    given = getattr(path, "linkage", path)
    linkage = np.array(given, dtype=float) if isinstance(given, np.ndarray | list | tuple) else np.empty(0)
    if linkage.ndim != 2 or not is_valid_linkage(linkage):
        raise ValueError(f"plot_dendrogram draws merges with a SciPy linkage; this {type(path).__name__} has none")
    count = len(linkage) + 1
    names = [str(leaf) for leaf in range(count)] if labels is None else [str(label) for label in labels]
    if len(names) != count:
        raise ValueError(f"labels has {len(names)} names for {count} components: give one for each")
    axes = plain_axes("plot_dendrogram", ax, (float(np.clip(0.3 * count, 6.4, 12)), 4.2))
    dendrogram(
        linkage,
        ax=axes,
        labels=names,
        link_color_func=_link_colours(linkage),
        leaf_rotation=90 if sum(map(len, names)) > 90 else 0,
    )
    tidy(axes, "y")
    axes.tick_params(axis="x", length=0, labelsize=float(np.clip(260 / count, 4, 8)))
    axes.set(xlabel="component", ylabel="cost of the merge")
    title(axes, f"Merges of {count} components")
    return axes


def _link_colours(linkage: Array) -> Callable[[int], str]:
    """One colour for each tree that is left when the tree is cut where the costs rise most; grey above the cut."""
    from scipy.cluster.hierarchy import fcluster

    costs = np.sort(np.maximum.accumulate(linkage[:, 2]))
    rises = np.diff(costs)
    at = int(np.argmax(rises)) if len(rises) else 0
    cut = 0.5 * (costs[at] + costs[min(at + 1, len(costs) - 1)])
    groups = [int(group) for group in fcluster(linkage, cut, "distance")]
    for left, right in linkage[:, :2].astype(int):
        groups.append(groups[left] if groups[left] == groups[right] else 0)
    return lambda node: PALETTE[(groups[node] - 1) % len(PALETTE)] if groups[node] else GREY
