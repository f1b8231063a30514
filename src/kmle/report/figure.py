"""What all pictures of the page share: a figure is plain data for Plotly.

Colours are written as "@0", "@1"... for components and "@ink", "@pale"... for the rest, with "/0.2" for transparency:
the page puts the colours of its light or dark side in their place.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..mixture import Mixture
from ..plotting.style import PALETTE
from .markup import label
from .numbers import percent

Trace = dict[str, Any]


@dataclass(frozen=True)
class Figure:
    """Traces and layout of one picture, and a sentence under it."""

    traces: list[Trace]
    layout: dict[str, Any]
    note: str = ""

    def content(self) -> dict[str, Any]:
        """What the page is given."""
        return {"data": self.traces, "layout": self.layout, "note": self.note}


@dataclass(frozen=True)
class Panel:
    """One picture, or several to choose from, each with its name (two columns may have the same)."""

    views: list[tuple[str, Figure]]
    caption: str


def rounded(values: ArrayLike) -> list[float | None]:
    """Numbers with five digits, None where there is none: what a picture can show, at a fraction of the length."""
    return [float(f"{value:.5g}") if np.isfinite(value) else None for value in np.asarray(values, dtype=float).ravel()]


def of_component(mixture: Mixture, component: int, *, shown: bool = True, **trace: Any) -> Trace:
    """A trace that goes with the others of its component when the legend is clicked."""
    name = f"{component} ({percent(mixture.weights[component])})"
    return {"name": label(name), "legendgroup": f"component {component}", "showlegend": shown, **trace}


def legend_title(mixture: Mixture) -> dict[str, Any]:
    """The layout's part about the legend."""
    return {"legend": {"title": {"text": "component (weight)"}}, "showlegend": mixture.n_components > 1}


def palettes(n_components: int) -> dict[str, list[str]]:
    """Colours of the components on white and on black: distinct ones up to eight, then hues all round.

    >>> palettes(1)["light"]
    ['#0072b2']
    """
    if n_components <= len(PALETTE):
        return {"light": list(PALETTE[:n_components]), "dark": list(BRIGHT[:n_components])}
    hues = [round(360 * component / n_components) for component in range(n_components)]
    return {"light": _hues(hues, 62, 40), "dark": _hues(hues, 65, 64)}


# The same hues as PALETTE, light enough on black.
BRIGHT = ("#4aa8e0", "#f08a3c", "#2fc79b", "#e39bc4", "#f2bd4b", "#9ad4f5", "#c99a8d", "#b5b5b5")


def _hues(hues: Sequence[int], saturation: int, lightness: int) -> list[str]:
    return [f"hsl({hue},{saturation}%,{lightness}%)" for hue in hues]
