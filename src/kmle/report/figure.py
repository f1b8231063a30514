"""What all plots of the page share: a figure is plain data for Plotly.

Colours are written as "@0", "@1"... for components and "@ink", "@pale"... for the rest, with "/0.2" for transparency:
the page puts the colours of its light or dark side in their place.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..mixture import Mixture
from ..numerics.arrays import Array
from ..palette import colours, dark_colours
from .markup import label
from .numbers import percent

Trace = dict[str, Any]
# Shorter lists are not worth a place of their own.
LONG_LIST = 24
NUMBERS = {int, float, type(None)}
# Digits of the range, and of the number itself, that a figure can show.
STEPS, OWN_DIGITS = 3, 3
# The largest power of ten that is a float64.
EXACT_POWER = 22


@dataclass(frozen=True)
class Figure:
    """Traces and layout of one plot, and a sentence under it."""

    traces: list[Trace]
    layout: dict[str, Any]
    note: str = ""

    def content(self) -> dict[str, Any]:
        """What the page is given."""
        return {"data": self.traces, "layout": self.layout, "note": self.note}


@dataclass(frozen=True)
class Panel:
    """One plot, or several to choose from, each with its name (two columns may have the same)."""

    views: list[tuple[str, Figure]]
    caption: str


def rounded(values: ArrayLike) -> list[float | None]:
    """Numbers as exact as a figure can show, None where there is none: a fraction of the length.

    Steps are a thousandth of the range at most, and a hundredth of the number: on a logarithmic axis small ones count.

    >>> rounded([2001.00004, 2001.5, 2001.7512])
    [2001.0, 2001.5, 2001.7512]
    """
    numbers = np.asarray(values, dtype=float).ravel()
    known = np.isfinite(numbers)
    if known.all():
        return _shortened(numbers).tolist()
    written: list[float | None] = [None] * len(numbers)
    for place, number in zip(np.flatnonzero(known).tolist(), _shortened(numbers[known]).tolist(), strict=True):
        written[place] = number
    return written


def _shortened(numbers: Array) -> Array:
    """Finite numbers without the digits that a figure cannot show."""
    range_ = float(np.ptp(numbers)) if numbers.size else 0.0
    if range_ == 0:
        return np.round(numbers, 12)
    sizes = np.abs(numbers)
    digits = np.maximum(OWN_DIGITS - 1 - _magnitudes(np.where(sizes > 0, sizes, 1.0)), STEPS - _magnitudes(range_))
    # Powers of ten up to this one are exact, and so quotients are the nearest numbers with these digits.
    up, down = 10.0 ** np.clip(digits, 0, EXACT_POWER), 10.0 ** np.clip(-digits, 0, EXACT_POWER)
    return np.where(np.abs(digits) <= EXACT_POWER, np.round(numbers * up / down) * down / up, numbers)


def _magnitudes(numbers: ArrayLike) -> Array:
    return np.floor(np.log10(numbers))


def of_component(mixture: Mixture, component: int, *, shown: bool = True, **trace: Any) -> Trace:
    """A trace that goes with the others of its component when the legend is clicked."""
    name = f"{component} ({percent(mixture.weights[component])})"
    return {"name": label(name), "legendgroup": f"component {component}", "showlegend": shown, **trace}


def legend_title(mixture: Mixture) -> dict[str, Any]:
    """The layout's part about the legend."""
    return {"legend": {"title": {"text": "component (weight)"}}, "showlegend": mixture.n_components > 1}


def palettes(n_components: int) -> dict[str, list[str]]:
    """Colours of the components on white, the same as in plots, and on black.

    >>> palettes(1)["light"]
    ['#0072b2']
    """
    return {"light": colours(n_components), "dark": dark_colours(n_components)}


def line_of(lines: Sequence[Array]) -> tuple[list[float | None], list[float | None]]:
    """Lines, each (p, 2), as one with gaps: its x and its y."""
    gap = np.full((1, 2), np.nan)
    joined = np.concatenate([part for line in lines for part in (line, gap)] or [gap])[:-1]
    return rounded(joined[:, 0]), rounded(joined[:, 1])


def note_at(text: str, x: float, y: float, *, size: int = 12, colour: str = "@muted") -> dict[str, Any]:
    """Words at a point of a figure."""
    return {"x": x, "y": y, "text": label(text), "showarrow": False, "font": {"size": size, "color": colour}}


def bare_axes() -> dict[str, Any]:
    """Axes that are not seen, with the same unit on both."""
    hidden: dict[str, Any] = {"visible": False, "fixedrange": True}
    return {"xaxis": {**hidden, "scaleanchor": "y"}, "yaxis": hidden}


def shared_lists(content: Any) -> tuple[Any, list[list[Any]]]:
    """The same content, long lists that occur in it replaced by their place among those returned: each is once in it.

    >>> shared_lists({"x": list(range(40)), "y": list(range(40))})[0]
    {'x': {'shared': 0}, 'y': {'shared': 0}}
    """
    found: dict[tuple[Any, ...], int] = {}

    def walk(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: walk(item) for name, item in value.items()}
        if not isinstance(value, list):
            return value
        if len(value) < LONG_LIST or not set(map(type, value)) <= NUMBERS:
            return [walk(item) for item in value]
        return {"shared": found.setdefault(tuple(value), len(found))}

    thin = walk(content)
    return thin, [list(key) for key in found]
