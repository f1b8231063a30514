"""Draws docs/pictures/mixtures.png: one estimator, three kinds of data, three families.

Needs the extra `plot`: pip install '.[plot]' && python examples/picture.py [another-file.png]
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Ellipse

from kmle import KMLE

HERE = Path(__file__).parent
COLOURS = ["#3b6fb6", "#d1603d", "#4f9d69"]
INK, FAINT = "#2b2b2b", "#c9c9c9"


def draw_gaussians(axes: Axes) -> None:
    X = np.loadtxt(HERE / "data" / "faithful.csv", delimiter=",", skiprows=1)
    model = KMLE(2, family="gaussian", random_state=0).fit(X)
    source = model.mixture_.source
    for j, (mean, covariance) in enumerate(zip(source["mean"], source["covariance"], strict=True)):
        rows = X[model.labels_ == j]
        axes.scatter(*rows.T, s=9, color=COLOURS[j], alpha=0.55, linewidths=0)
        values, vectors = np.linalg.eigh(covariance)
        angle = np.degrees(np.arctan2(vectors[1, 1], vectors[0, 1]))
        for radius in (1.0, 2.0):
            width, height = 2 * radius * np.sqrt(values[::-1])
            axes.add_patch(Ellipse(tuple(mean), width, height, angle=angle, fill=False, color=COLOURS[j], lw=1.4))
    axes.set(xlabel="length of an eruption (minutes)", ylabel="wait for the next (minutes)")


def draw_gammas(axes: Axes) -> None:
    X = np.loadtxt(HERE / "data" / "iris.csv", delimiter=",", skiprows=1, usecols=2)[:, None]
    mixture = KMLE(3, family="gamma", init="quantile").fit(X).mixture_
    axes.hist(X[:, 0], bins=np.arange(0.75, 7.26, 0.25), density=True, color=FAINT, edgecolor="white")
    x = np.linspace(0.5, 7.5, 600)[:, None]
    for j, curve in enumerate(np.exp(mixture.log_joint(x)).T):
        shown = curve > 1e-3
        axes.plot(x[shown, 0], curve[shown], color=COLOURS[j], lw=1.8)
    axes.set(xlabel="length of an iris petal (cm)", ylabel="density", xlim=(0.5, 7.5))


def draw_angles(axes: Axes) -> None:
    rng = np.random.default_rng(4)
    centers, spreads, sizes = [0.6, 2.4, -2.0], [12.0, 25.0, 4.0], [120, 80, 150]
    X = np.concatenate([rng.vonmises(m, c, n) for m, c, n in zip(centers, spreads, sizes, strict=True)])[:, None]
    mixture = KMLE(3, family="von-mises", init="quantile").fit(X).mixture_
    edges = np.linspace(-np.pi, np.pi, 49)
    counts, _ = np.histogram(X, edges)
    density = counts / (len(X) * (edges[1] - edges[0]))
    base = 0.3  # an inner circle, so that narrow bars do not run into a point
    axes.bar(
        edges[:-1], density, width=np.diff(edges), bottom=base, align="edge", color=FAINT, edgecolor="white", lw=0.4
    )
    turn = np.linspace(-np.pi, np.pi, 721)
    axes.plot(turn, np.full_like(turn, base), color=FAINT, lw=1.0)
    for j, mean in enumerate(mixture.source["mean"].ravel()):
        # From the middle of the law outwards, so that no curve jumps at the half turn.
        angles = mean + turn
        curve = np.exp(mixture.log_joint(angles[:, None])[:, j])
        shown = curve > 2e-3
        axes.plot(angles[shown], base + curve[shown], color=COLOURS[j], lw=1.8)
    axes.set_xticks(np.radians([0, 90, 180, 270]), ["0°", "90°", "180°", "270°"])
    axes.tick_params(axis="x", pad=-5)
    axes.set(yticks=[], ylim=(0, 0.81), xlabel="directions (drawn at random)")
    axes.grid(visible=False)
    axes.spines["polar"].set_visible(False)


def main() -> None:
    plt.rcParams |= {"font.size": 9, "text.color": INK, "axes.edgecolor": "#8a8a8a"}
    plt.rcParams |= {"axes.labelcolor": INK, "xtick.color": INK, "ytick.color": INK}
    figure = plt.figure(figsize=(10, 3.4), layout="constrained")
    panels = figure.subfigures(1, 3, wspace=0.03)
    for panel, title in zip(panels, ["Gaussian", "Gamma", "Von Mises"], strict=True):
        panel.suptitle(title, fontsize=11, fontweight="bold")
    left, middle = panels[0].subplots(), panels[1].subplots()
    draw_gaussians(left)
    draw_gammas(middle)
    draw_angles(panels[2].subplots(subplot_kw={"projection": "polar"}))
    for axes in (left, middle):
        axes.spines[["top", "right"]].set_visible(False)
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE.parent / "docs" / "pictures" / "mixtures.png"
    figure.savefig(target, dpi=110)
    print(f"wrote {target}")


if __name__ == "__main__":
    main()
