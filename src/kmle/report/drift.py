"""New data compared with a model: how far each column, the components' shares and the likelihood have moved."""

from dataclasses import dataclass

import numpy as np

from ..inspection import kolmogorov_smirnov, pit
from ..inspection.diagnostics import IMPROBABLE
from ..inspection.outliers import tail_probabilities
from ..mixture import Mixture
from ..numerics.arrays import Array
from ..plotting.reading import Subject, entries
from .calibration import calibrated_columns, limit, significance
from .figure import Figure, Panel, rounded
from .markup import element, table, text
from .numbers import count, plain, short

MOST_ROWS, DRAWS, SLICES, BARS = 100_000, 20_000, 10, 60
# Population stability index: below the first a column is stable, from the second on it has changed.
SMALL_CHANGE, LARGE_CHANGE = 0.1, 0.25
# Means of log-densities that differ by more than this many standard errors differ.
FAR = 3.0


@dataclass(frozen=True)
class ColumnDrift:
    """How one column of new rows differs from the model."""

    name: str
    mean: float
    expected_mean: float
    shift: float
    """Difference of the means in standard deviations of the model."""
    stability: float
    """Population stability index over ten slices that hold a tenth of the model's mass each."""
    distance: float
    """Kolmogorov-Smirnov distance."""
    chance: float
    """The probability of a distance at least as large by chance."""
    n: int

    @property
    def verdict(self) -> str:
        """One word on the drift; a difference that chance explains is none."""
        if self.distance <= limit(self.n, 0.01):
            return "none"
        if self.stability < SMALL_CHANGE:
            return "small"
        return "moderate" if self.stability < LARGE_CHANGE else "large"


@dataclass(frozen=True)
class LikelihoodDrift:
    """How the log-densities of new rows differ from those of the model's own draws."""

    density: Array
    drawn: Array
    improbable: float
    """Share of rows less probable than all but one in a thousand draws."""

    @property
    def mean(self) -> float:
        """Of the new rows."""
        return float(self.density.mean())

    @property
    def expected(self) -> float:
        """Of rows that follow the model."""
        return float(self.drawn.mean())

    @property
    def errors(self) -> float:
        """The difference of the two in standard errors."""
        spread = np.sqrt(self.drawn.var() * (1 / len(self.density) + 1 / len(self.drawn)))
        return float((self.mean - self.expected) / spread) if spread > 0 else 0.0

    @property
    def verdict(self) -> str:
        """What the difference means, in a sentence."""
        if abs(self.errors) <= FAR:
            return "The rows are as probable as samples of the model: chance explains the difference."
        side = "less" if self.errors < 0 else "more"
        return f"The rows are {side} probable than samples of the model, by {abs(self.errors):.1f} standard errors."


def likelihood_drift(subject: Subject) -> LikelihoodDrift:
    """Log-densities of the rows beside those of draws from the model."""
    drawn = subject.mixture.log_density(subject.mixture.sample(DRAWS, 0))
    density = subject.mixture.log_density(subject.sampled(MOST_ROWS))
    return LikelihoodDrift(density, drawn, float((tail_probabilities(density, drawn) < IMPROBABLE).mean()))


def column_drifts(subject: Subject) -> list[ColumnDrift]:
    """The drift of every column, by its own distribution where that has a formula, else by draws."""
    rows, draws = subject.sampled(MOST_ROWS), np.asarray(subject.mixture.sample(DRAWS, 0)).reshape(DRAWS, -1)
    known = dict(calibrated_columns(subject))
    found = []
    for column in subject.columns:
        values = entries(rows, column)[:, None].astype(float)
        expected = draws[:, column].astype(float)
        shares = _shares(known.get(column), values, expected)
        found.append(_drift(subject.names[column], values[:, 0], expected, shares))
    return found


def _shares(alone: Mixture | None, values: Array, expected: Array) -> Array:
    """The share of the model below each value: uniform if the rows follow it."""
    if alone is not None:
        return pit(alone, values, 0)
    # Among draws, ties are broken at random.
    ordered, rng = np.sort(expected), np.random.default_rng(0)
    below = np.searchsorted(ordered, values[:, 0], "left")
    above = np.searchsorted(ordered, values[:, 0], "right")
    return np.asarray((below + rng.random(len(below)) * (above - below + 1)) / (len(ordered) + 1))


def _drift(name: str, values: Array, expected: Array, shares: Array) -> ColumnDrift:
    parts = np.histogram(shares, SLICES, (0.0, 1.0))[0] / len(shares)
    # An empty slice counts as half a row: the index stays finite.
    parts = np.maximum(parts, 0.5 / len(shares))
    stability = float(((parts - 1 / SLICES) * np.log(parts * SLICES)).sum())
    spread = float(expected.std())
    mean, middle = float(values.mean()), float(expected.mean())
    distance, n = kolmogorov_smirnov(shares), len(values)
    shift = (mean - middle) / spread if spread > 0 else 0.0
    return ColumnDrift(name, mean, middle, shift, stability, distance, significance(distance, n), n)


def drift_section(drifts: list[ColumnDrift]) -> str:
    """A line for each column, the largest drift first."""
    order = sorted(drifts, key=lambda drift: -drift.distance)
    rows = [
        [
            text(drift.name),
            text(drift.verdict),
            short(drift.mean),
            short(drift.expected_mean),
            plain(drift.shift, 2),
            plain(drift.stability, 3),
            plain(drift.distance, 3),
            "< 0.001" if drift.chance < 1e-3 else plain(drift.chance, 3),
        ]
        for drift in order
    ]
    heads = [
        "column",
        "drift",
        "mean of the rows",
        "mean of the model",
        "shift (std. dev.)",
        "stability index",
        "distance",
        "by chance",
    ]
    message = (
        "The distance is the Kolmogorov-Smirnov distance; “by chance” is the probability of one at least as large if "
        "the rows "
        "follow the model. The population stability index compares ten slices: below 0.1 a column is stable, from 0.25 "
        "on it has changed."
    )
    return table(heads, rows) + element("p", text(message), class_="note")


def likelihood_panel(found: LikelihoodDrift) -> Panel:
    """The log-densities of the rows over those of samples of the model."""
    low, high = np.quantile(np.concatenate([found.density, found.drawn]), [0.001, 1.0])
    edges = np.linspace(low, high if high > low else low + 1, BARS + 1)
    middles = rounded(0.5 * (edges[:-1] + edges[1:]))
    rows = np.histogram(np.maximum(found.density, low), edges, density=True)[0]
    drawn = np.histogram(np.maximum(found.drawn, low), edges, density=True)[0]
    traces = [
        {"type": "bar", "name": "rows", "x": middles, "y": rounded(rows), "marker": {"color": "@bars"}},
        {
            "type": "scatter",
            "mode": "lines",
            "name": "model",
            "x": middles,
            "y": rounded(drawn),
            "line": {"color": "@accent", "width": 2, "shape": "hvh"},
        },
    ]
    layout = {
        "xaxis": {"title": {"text": "log-density of a row"}},
        "yaxis": {"title": {"text": "density"}},
        "bargap": 0.02,
        "showlegend": True,
    }
    return Panel([("", Figure(traces, layout))], found.verdict)


def likelihood_details(found: LikelihoodDrift, learned: float | None) -> dict[str, str]:
    """Mean log-densities, as they are told."""
    message = {
        "Mean log-density": text(
            f"{plain(found.mean, 4)} of the rows, {plain(found.expected, 4)} of samples of the model"
        ),
        "Difference": text(
            f"{plain(found.mean - found.expected, 4)} nats per row, {plain(found.errors, 1)} standard errors"
        ),
        "Improbable rows": text(
            f"{plain(100 * found.improbable, 2)} % are less probable than all but one in a thousand samples"
        ),
    }
    if learned is not None:
        message["In the fit"] = text(f"{plain(learned, 4)} per row of its data")
    return message


def moved(drifts: list[ColumnDrift]) -> str:
    """Which columns have drifted, in a sentence."""
    far = [drift.name for drift in drifts if drift.verdict in ("moderate", "large")]
    if not far:
        some = sum(drift.verdict == "small" for drift in drifts)
        return "No column has drifted far." if some else "No column has drifted."
    named = ", ".join(far[:6]) + (f" and {count(len(far) - 6)} more" if len(far) > 6 else "")
    return f"Drifted: {named}."
