"""Positive definite matrices: ellipses for 2 x 2, eigenvalues for larger ones."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..numerics.arrays import Array
from ..palette import colours
from .style import number, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# More rows than this are a blot.
MOST_MATRICES = 300


def draw_matrices(ax: "Axes", rows: Array, labels: NDArray[np.intp], n_components: int) -> None:
    """Rows of p * p numbers by label, and boldly the mean of each label (of the logarithms, for eigenvalues)."""
    size = round(np.sqrt(rows.shape[1]))
    matrices = rows.reshape(-1, size, size)
    draw = _draw_ellipses if size == 2 else _draw_eigenvalues
    draw(ax, matrices, labels, n_components)


def _averages(rows: Array, labels: NDArray[np.intp]) -> list[tuple[int, Array]]:
    return [(int(label), rows[labels == label].mean(axis=0)) for label in np.unique(labels)]


def _draw_ellipses(ax: "Axes", matrices: Array, labels: NDArray[np.intp], n_components: int) -> None:
    """Each matrix S as the points with x^T S^-1 x = 1."""
    from matplotlib.collections import LineCollection

    turn = np.linspace(0, 2 * np.pi, 73)
    circle = np.stack([np.cos(turn), np.sin(turn)])
    palette = np.array(colours(n_components))

    def outlines(stack: Array) -> list[Array]:
        return list(np.swapaxes(np.linalg.cholesky(stack) @ circle, 1, 2))

    lines = LineCollection(outlines(matrices), colors=palette[labels].tolist(), linewidths=0.6, alpha=0.3)
    ax.add_collection(lines)
    reach = 0.0
    for label, average in _averages(matrices, labels):
        (outline,) = outlines(average[None])
        ax.plot(*outline.T, color=palette[label], lw=2.4, zorder=4)
        if n_components > 1:
            x, y = outline[np.argmax(outline[:, 0])]
            number(ax, label, float(x), float(y), str(palette[label]))
        reach = max(reach, float(np.abs(outline).max()))
    far = float(np.quantile(np.sqrt(np.diagonal(matrices, axis1=1, axis2=2).max(axis=1)), 0.98))
    reach = 1.08 * max(reach, far)
    ax.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
    ax.set(xlabel="first coordinate", ylabel="second coordinate")
    tidy(ax)


def _draw_eigenvalues(ax: "Axes", matrices: Array, labels: NDArray[np.intp], n_components: int) -> None:
    """The eigenvalues of each matrix, the largest first, on a logarithmic scale."""
    from matplotlib.collections import LineCollection

    palette = np.array(colours(n_components))
    size = matrices.shape[1]
    ranks = np.arange(1.0, size + 1)
    values = np.linalg.eigvalsh(matrices)[:, ::-1]
    lines = [np.stack([ranks, row], axis=1) for row in values]
    ax.add_collection(LineCollection(lines, colors=palette[labels].tolist(), linewidths=0.6, alpha=0.3))
    for label, average in _averages(np.log(values), labels):
        ax.plot(ranks, np.exp(average), color=palette[label], lw=2.4, marker="o", markersize=5, zorder=4)
    low, high = np.quantile(values[:, -1], 0.01), np.quantile(values[:, 0], 0.99)
    ax.set(yscale="log", ylim=(low / 1.3, high * 1.3), xlim=(0.8, size + 0.2), xticks=ranks)
    ax.set(xlabel="eigenvalue, the largest first", ylabel="value")
    tidy(ax, "y")
