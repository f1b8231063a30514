"""Probabilities of the components side by side: bars while there are few, a heat map when there are many."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

from ..families import Bernoulli, Categorical, Multinomial
from ..families.validation import issparse
from ..mixture import Mixture
from ..numerics.arrays import Array
from ..palette import colours
from .marginals import category_counts
from .reading import Subject
from .reading import entries as present
from .style import GREY, INK, NORMAL, SMALL, component_names, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_BARS = 72
# Up to this many cells the heat map shows its numbers.
MOST_NUMBERS = 90
MOST_TICKS = 40
MOST_NUMBERED = 20
ROUND_STEPS = [digit * 10**power for power in range(9) for digit in (1, 2, 5)]
LONG_NAME = 24


@dataclass(frozen=True)
class Profile:
    """Probabilities (k, m) of the components and of all rows (m,), the entries in groups, one a column of the data."""

    table: Array
    overall: Array
    entries: list[str]
    groups: list[tuple[str, int]]
    what: str


def profile_of(subject: Subject) -> Profile:
    """The probabilities of the columns to draw."""
    family, mixture = subject.mixture.family, subject.mixture
    names = subject.chosen_names
    if isinstance(family, Categorical):
        return _categorical(subject, family)
    place = list(subject.columns)
    totals = _column_sums(subject.rows)
    if isinstance(family, Multinomial):
        table, overall = mixture.source["probabilities"][:, place], (totals / totals.sum())[place]
        return Profile(table, overall, names, [("", len(names))], "probability of a column")
    assert isinstance(family, Bernoulli)
    if not issparse(subject.rows) and np.isnan(totals).any():
        totals = np.nanmean(subject.rows, axis=0, dtype=float) * subject.rows.shape[0]
    table, overall = mixture.source["probability"][:, place], (totals / subject.rows.shape[0])[place]
    return Profile(table, overall, names, [("", len(names))], "probability of a one")


def _column_sums(rows: Array | csr_array) -> Array:
    return np.asarray(rows.sum(axis=0), dtype=float).ravel()


def _categorical(subject: Subject, family: Categorical) -> Profile:
    counts = category_counts(family)
    spans = np.split(subject.mixture.source["probabilities"], np.cumsum(counts)[:-1], axis=1)
    tables, overall, entries, groups = [], [], [], []
    for column in subject.columns:
        codes = present(subject.rows, column).astype(np.intp)
        tables.append(spans[column])
        overall.append(np.bincount(codes, minlength=counts[column]) / len(codes))
        entries += [str(code) for code in range(counts[column])]
        groups.append((subject.names[column], counts[column]))
    table = np.concatenate(tables, axis=1)
    return Profile(table, np.concatenate(overall), entries, groups, "probability of a category")


def draw_profile(ax: "Axes", mixture: Mixture, profile: Profile, bars: bool) -> bool:
    """Bars if wished and if there are few enough, else a heat map; whether it was bars."""
    if bars and profile.table.size <= MOST_BARS:
        _draw_bars(ax, profile)
        return True
    _draw_heat_map(ax, mixture, profile)
    return False


def _draw_bars(ax: "Axes", profile: Profile) -> None:
    k, m = profile.table.shape
    # Half a place stays free between the columns of the data.
    group_of = np.repeat(np.arange(len(profile.groups)), [count for _, count in profile.groups])
    places = np.arange(m) + 0.6 * group_of
    width = 0.84 / k
    for label, colour in enumerate(colours(k)):
        ax.bar(places + (label - (k - 1) / 2) * width, profile.table[label], 0.92 * width, color=colour)
    ax.hlines(profile.overall, places - 0.45, places + 0.45, color=INK, lw=1.4, zorder=3)
    ax.set(xlim=(places[0] - 0.7, places[-1] + 0.7), ylabel=profile.what)
    tidy(ax, "y")
    _name_entries(ax, profile, places)


def _draw_heat_map(ax: "Axes", mixture: Mixture, profile: Profile) -> None:
    from matplotlib import colormaps

    k, m = profile.table.shape
    table = np.vstack([profile.table, profile.overall])
    top = 1.0 if isinstance(mixture.family, Bernoulli) else float(table.max())
    edges = np.concatenate([np.arange(k + 1) - 0.5, [k - 0.3, k + 0.7]])
    blues = colormaps["Blues"]
    # The row of all data stands a little apart from the components.
    for rows, ends in ((table[:k], edges[: k + 1]), (table[k:], edges[k + 1 :])):
        mesh = ax.pcolormesh(np.arange(m + 1) - 0.5, ends, rows, cmap=blues, vmin=0, vmax=top, rasterized=True)
    heights = [*range(k), k + 0.2]
    if table.size <= MOST_NUMBERS:
        for (row, column), value in np.ndenumerate(table):
            ink = "white" if value > 0.6 * top else INK
            ax.text(column, heights[row], f"{value:.2f}", ha="center", va="center", fontsize=SMALL, color=ink)
    tidy(ax, None)
    ax.spines[["left", "bottom"]].set_visible(False)
    ax.tick_params(length=0)
    ax.set(ylim=(k + 0.7, -0.5), xlim=(-0.5, m - 0.5), ylabel="component (weight)")
    ax.set_yticks(heights, [*component_names(mixture), "all rows"])
    bar: Any = ax.figure.colorbar(mesh, ax=ax, fraction=0.05, pad=0.02)
    bar.set_label(profile.what, fontsize=NORMAL, color=INK)
    bar.ax.tick_params(labelsize=SMALL, colors=GREY, labelcolor=INK)
    bar.outline.set_visible(False)
    _name_entries(ax, profile, np.arange(m, dtype=float))


def _name_entries(ax: "Axes", profile: Profile, places: Array) -> None:
    entries = profile.entries
    every = -(-len(places) // MOST_TICKS)
    if all(re.fullmatch(r"column \d+", name) for name in entries):
        # Columns without names are known by their numbers, at round ones if there are many.
        entries = [name.removeprefix("column ") for name in entries]
        every = next(step for step in ROUND_STEPS if len(entries) <= MOST_NUMBERED * step)
        ax.set_xlabel("column")
    entries = entries[::every]
    shown = [_short(name) for name in entries]
    slanted = max(map(len, shown)) > 80 / len(shown) and len(shown) > 1
    turned: dict[str, Any] = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"} if slanted else {}
    ax.set_xticks(places[::every], shown, **turned)
    ax.tick_params(axis="x", length=0)
    if len(profile.groups) > 1 or profile.groups[0][0]:
        stops = np.cumsum([count for _, count in profile.groups])
        for (name, count), stop in zip(profile.groups, stops, strict=True):
            ax.annotate(
                _short(name),
                (float(places[stop - count : stop].mean()), 0),
                (0, -18),
                xycoords=("data", "axes fraction"),
                textcoords="offset points",
                ha="center",
                va="top",
                fontsize=NORMAL,
                color=INK,
            )


def _short(name: str) -> str:
    return name if len(name) <= LONG_NAME else name[: LONG_NAME - 1] + "…"


def overall_mark() -> list[tuple[Any, str]]:
    """The legend's entry for the marks of all rows in the bars."""
    from matplotlib.lines import Line2D

    return [(Line2D([], [], color=INK, lw=1.4), "all rows")]
