"""Small plots as SVG: densities of one column, ellipses of two, lines over the number of components."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..families import Uniform
from ..numerics.arrays import Array
from ..queries.distribution import bounds, is_discrete, quantile
from ..queries.modes import log_densities
from ..queries.moments import covariances, means
from ..queries.regions import line_nodes
from .cells import Shown, line_names, number, shown_components
from .markup import element, text

WIDTH, HEIGHT = 300, 150
LEFT, RIGHT, TOP, BOTTOM = 8, 8, 6, 30
# Points of a curve, and the largest number of bars that are drawn one by one.
POINTS, MOST_BARS = 160, 60
# The probability outside a plot, on each side.
TAIL = 2e-3
# Radius of the ellipses, in standard deviations.
REACH = 2.0


class Frame:
    """Coordinates of a plot: numbers to pixels."""

    def __init__(self, x: tuple[float, float], y: tuple[float, float]) -> None:
        self.x, self.y = _widened(x), _widened(y)

    def across(self, x: ArrayLike) -> Array:
        """Pixels from the left."""
        share = (np.asarray(x, dtype=float) - self.x[0]) / (self.x[1] - self.x[0])
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def down(self, y: ArrayLike) -> Array:
        """Pixels from the top."""
        share = (np.asarray(y, dtype=float) - self.y[0]) / (self.y[1] - self.y[0])
        return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)

    def path(self, x: ArrayLike, y: ArrayLike, close: bool = False) -> str:
        """The path through points."""
        # What lies above is cut off by the plot's edge; coordinates stay of a usual size.
        room = 10 * (self.y[1] - self.y[0])
        points = zip(self.across(x), self.down(np.clip(y, self.y[0], self.y[1] + room)), strict=True)
        return "M" + "L".join(f"{a:.1f},{b:.1f}" for a, b in points) + ("Z" if close else "")

    def axis(self, name: str) -> str:
        """The horizontal axis: a line, both ends and the name of what it measures."""
        base = HEIGHT - BOTTOM
        low, high = (text(number(end)) for end in self.x)
        return "".join(
            [
                element("path", d=f"M{LEFT},{base}H{WIDTH - RIGHT}", class_="axis"),
                element("text", low, x=LEFT, y=base + 13),
                element("text", high, x=WIDTH - RIGHT, y=base + 13, text_anchor="end"),
                element("text", text(_short(name)), x=WIDTH / 2, y=base + 25, text_anchor="middle"),
            ]
        )


def _widened(ends: tuple[float, float]) -> tuple[float, float]:
    low, high = ends
    return (low, high) if high > low else (low - 0.5, low + 0.5)


def _short(name: str, most: int = 36) -> str:
    return name if len(name) <= most else name[: most - 1] + "…"


def image(label: str, *parts: str) -> str:
    """An SVG image with a title that screen readers say."""
    title = element("title", text(label))
    return element("svg", title, *parts, viewBox=f"0 0 {WIDTH} {HEIGHT}", width=WIDTH, height=HEIGHT, role="img")


def mixture_plot(mixture: Shown) -> str:
    """The densities of one column, ellipses of the first two, or nothing where the family has neither."""
    width = mixture.family.n_features or 1
    names = line_names(mixture.family, mixture.columns)
    try:
        with np.errstate(all="ignore"):
            if width == 1:
                return _densities(mixture, names[0])
            return _ellipses(mixture, names) if len(names) == width else ""
    except (ValueError, NotImplementedError):  # no distribution function, no moments
        return ""


def _densities(mixture: Shown, name: str) -> str:
    family, weights = mixture.family, mixture.weights
    members = mixture.members
    spans = [line_nodes(member.family, member.natural) for member in members]
    around = min(float(span[0]) for span in spans), max(float(span[-1]) for span in spans)
    low, high = quantile(family, weights, mixture.natural, np.array([TAIL, 1 - TAIL]), around)
    discrete = is_discrete(family)
    margin = 0.5 if discrete else 0.04 * (high - low)
    least, most = bounds(family)
    if discrete:
        step = max(1, int(np.ceil((high - low + 1) / MOST_BARS)))
        x = np.arange(low, high + 1, step)
    else:
        x = np.linspace(max(low - margin, least), min(high + margin, most), POINTS + 2)[1:-1]
    parts = np.stack([log_densities(member.family, member.natural, x[:, None])[:, 0] for member in members], axis=1)
    height = np.exp(parts) * weights
    total = height.sum(axis=1)
    # Densities may be unbounded at an end.
    top = 1.05 * min(float(total.max()), 4 * float(np.quantile(total, 0.9)))
    ends = (x[0] - margin, x[-1] + margin) if discrete else (max(low - margin, least), min(high + margin, most))
    frame = Frame((float(ends[0]), float(ends[1])), (0.0, top))
    drawn = [_component_curve(frame, x, height[:, j], j, discrete) for j in shown_components(mixture)]
    whole = element("path", d=frame.path(x, total), class_="whole")
    return image(f"density of {name}, with its components", *drawn, whole, frame.axis(name))


def _component_curve(frame: Frame, x: Array, height: Array, j: int, discrete: bool) -> str:
    if not discrete:
        ends = np.concatenate([[x[0]], x, [x[-1]]]), np.concatenate([[0.0], height, [0.0]])
        return element("path", d=frame.path(*ends, close=True), class_="part", style=paint(j))
    base = frame.down(0.0)
    tops = frame.down(np.clip(height, *frame.y))
    bars = "".join(f"M{a:.1f},{base:.1f}V{b:.1f}" for a, b in zip(frame.across(x), tops, strict=True))
    return element("path", d=bars, class_="bars", style=paint(j))


def _ellipses(mixture: Shown, names: Sequence[str]) -> str:
    shown = shown_components(mixture)
    turn = np.linspace(0, 2 * np.pi, 49)[:-1]
    circle = REACH * np.stack([np.cos(turn), np.sin(turn)])
    outlines = {}
    members = mixture.members
    for j in shown:
        family, natural = members[j].family, members[j].natural
        if isinstance(family, Uniform):  # noise
            continue
        center, spread = means(family, natural)[0], covariances(family, natural)[0]
        values, vectors = np.linalg.eigh(spread[:2, :2])
        outlines[j] = center[:2, None] + vectors @ (np.sqrt(np.maximum(values, 0.0))[:, None] * circle)
    every = np.concatenate(list(outlines.values()), axis=1)
    if not np.isfinite(every).all():
        return ""
    low, high = every.min(axis=1), every.max(axis=1)
    # The name of the second column stands above.
    frame = Frame((float(low[0]), float(high[0])), (float(low[1]), float(high[1] + 0.16 * (high[1] - low[1]))))
    drawn = [
        element("path", d=frame.path(outline[0], outline[1], close=True), class_="part", style=paint(j))
        for j, outline in outlines.items()
    ]
    side = element("text", text(f"{_short(names[1], 24)} ↑"), x=LEFT, y=TOP + 8)
    label = f"components in {names[0]} and {names[1]}: ellipses of {REACH:g} standard deviations"
    return image(label, *drawn, side, frame.axis(f"{names[0]} →"))


def lines_plot(
    lines: Sequence[tuple[Array, Array]],
    x_name: str,
    y_name: str,
    best: tuple[float, float] | None = None,
    top: float | None = None,
) -> str:
    """Lines through points, one colour each, with a ring around the best point, cut at `top`."""
    x, y = (np.concatenate([line[axis] for line in lines]) for axis in (0, 1))
    low, high = float(y.min()), float(y.max()) if top is None else min(top, float(y.max()))
    room = 0.08 * (high - low)
    frame = Frame((float(x.min()), float(x.max())), (low - room, high + 2 * room))
    drawn = [element("path", d=frame.path(*line), class_="line", style=paint(j)) for j, line in enumerate(lines)]
    if len(x) <= MOST_BARS:
        drawn += [
            element("circle", cx=f"{a:.1f}", cy=f"{b:.1f}", r=2.2, class_="dot", style=paint(j))
            for j, line in enumerate(lines)
            for a, b in zip(frame.across(line[0]), frame.down(line[1]), strict=True)
            if b >= 0
        ]
    if best is not None:
        place = f"{float(frame.across(best[0])):.1f}", f"{float(frame.down(best[1])):.1f}"
        drawn.append(element("circle", cx=place[0], cy=place[1], r=5, class_="ring"))
    # The name of the vertical axis stands where the first line is low.
    falls = float(frame.down(lines[0][1][0])) < HEIGHT / 2
    place_of_name = {"x": WIDTH - RIGHT, "text_anchor": "end"} if falls else {"x": LEFT}
    side = element("text", text(f"{y_name} ↑"), y=TOP + 8, **place_of_name)
    return image(f"{y_name} by {x_name}", *drawn, side, frame.axis(x_name))


def paint(j: int) -> str:
    """The colour of a component, as a variable that the theme sets."""
    return f"--own: var(--kmle-{j})"
