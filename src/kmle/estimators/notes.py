"""What to know before trusting a fit, one sentence each."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..algorithms import Fit
from ..algorithms.certificate import SOFT_ALGORITHMS
from ..algorithms.state import ITERATION_LIMIT, NEAR_OPTIMUM, Starts
from ..data.holes import Holes
from ..families import Poisson, Product
from ..families.blocks import blocks_of
from ..families.resolution import NARROWEST, NARROWEST_SHAPED
from ..inspection.diagnostics import OVERLAP
from ..numerics.arrays import Array
from ..problem.problem import LearningProblem
from ..selection.redundancy import redundant_columns
from .plan import Plan

# A component with fewer effective rows than this has parameters that mean little.
FEWEST_ROWS = 5.0
# The share of the starts up to which it is worth a note that no more agree.
FEW_AGREE = 1 / 24
# Standard deviations of up to this many steps of the data are as narrow as its resolution.
NARROW_STEPS = 0.41
# A component this many times narrower than its column is a spike if most of its rows hold one value.
SPIKE, MOST = 0.02, 0.5
# The least eigenvalue of a correlation matrix below which columns may be combinations of others.
SINGULAR = 1e-6
# More columns than this are counted rather than named.
NAMED = 4
# Counts whose variance is OVERDISPERSED times what Poisson distributions allow are not Poisson, given ENOUGH_ROWS rows.
OVERDISPERSED, ENOUGH_ROWS = 2.0, 20


def notes_on(
    fit: Fit, plan: Plan, columns: Sequence[str] | None, weight_factor: float, holes: Holes | None = None
) -> Iterator[str]:
    """The notes on a fit that followed this plan; its own, on its components, are among them."""
    if holes is not None:
        yield from missing_entries(holes)
    missing = plan.n_components - fit.mixture.n_components
    if missing > 0:
        verb = "was" if missing == 1 else "were"
        yield f"{missing} of {plan.n_components} components ended up empty and {verb} removed."
    if fit.stop_reason == ITERATION_LIMIT:
        yield f"The iteration limit ended the fit before it converged: raise max_iter above {plan.iteration_limit}."
    yield from few_agree(fit.starts)
    yield from fit.notes
    if fit.n > 0 and np.shape(fit.labels) == (0,):
        yield f"Labels of {fit.n:.0f} rows are not kept: predict computes them batch by batch."
    if fit.prescribed_weights and fit.algorithm not in SOFT_ALGORITHMS:
        yield from _without_rows(fit)
    if fit.stop_reason.startswith(NEAR_OPTIMUM):
        yield f"This may not be the global optimum: {fit.stop_reason}."
    if fit.algorithm == "exact" and plan.prior_strength > 0:
        yield "The exact optimum is that of the plain likelihood; prior_strength is not used."
    yield from rounded_columns(fit, columns)
    yield from relative_weights(fit, weight_factor)
    if plan.hard and fit.mean_entropy > OVERLAP:
        yield (
            f"The components overlap (mean posterior entropy {fit.mean_entropy:.2f} nats): a hard fit moves their "
            "parameters apart. ExponentialFamilyMixture removes that bias."
        )


def _without_rows(fit: Fit) -> Iterator[str]:
    """Components that have prescribed weights and no rows."""
    k = fit.mixture.n_components
    if isinstance(fit.labels, np.ndarray) and len(fit.labels):
        empty = k - len(np.unique(fit.labels))
        if empty > 0:
            yield f"{empty} of {k} components have no rows; their prescribed weights are kept."


def missing_entries(holes: Holes) -> Iterator[str]:
    """How many entries are missing, and in how many patterns.

    >>> from kmle.data.holes import holes_of
    >>> next(missing_entries(holes_of(np.array([[1.0, np.nan], [2.0, 3.0]]))))
    '1 of 4 entries (25 %) is missing, in 1 pattern: the fit is that of the entries that are there.'
    """
    if not holes:
        return
    n, patterns = holes.n_entries, int(holes.patterns.any(axis=1).sum())
    yield (
        f"{n} of {holes.n_rows * len(holes.missing)} entries ({100 * n / holes.n_rows / len(holes.missing):.2g} %) "
        f"{'is' if n == 1 else 'are'} missing, in {patterns} pattern{'s' * (patterns > 1)}: the fit is that of the "
        "entries that are there."
    )
    if holes.n_empty:
        rows = "1 row has" if holes.n_empty == 1 else f"{holes.n_empty} rows have"
        yield f"{rows} no entry at all: nothing is learned from such rows, and their posterior is the weights."


def relative_weights(fit: Fit, factor: float) -> Iterator[str]:
    """Sample weights that do not count rows."""
    if factor != 1:
        yield (
            f"The sample weights sum to {fit.n / factor:.6g}, less than the {fit.n:.0f} rows: they are relative, and "
            f"were multiplied by {factor:.6g} to count rows."
        )


def few_agree(starts: Starts) -> Iterator[str]:
    """Whether another seed may well end elsewhere.

    Starts that fall behind are dropped before their end, so a few that agree are many.

    >>> next(few_agree(Starts({"random": 24}, agreeing=1)))
    'Only 1 of 24 starts reached the best optimum; another random_state may give another result: raise n_init.'
    """
    if starts.n > 1 and starts.agreeing <= FEW_AGREE * starts.n:
        yield (
            f"Only {starts.agreeing} of {starts.n} starts reached the best optimum; another random_state may give "
            "another result: raise n_init."
        )


# Overfitting ------------------------------------------------------------------------------------------------------


def overfit_notes(fit: Fit, problem: LearningProblem) -> tuple[str, ...]:
    """What the data says against the components."""
    return (
        *few_rows(fit),
        *narrow_components(fit),
        *repeated_values(fit, problem),
        *redundant(fit, problem),
        *overdispersion(fit, problem),
    )


def few_rows(fit: Fit) -> Iterator[str]:
    """Components with hardly any rows; weights that do not count rows are shares of them."""
    mixture = fit.mixture
    n_rows = len(fit.labels) if isinstance(fit.labels, np.ndarray) else 0
    shares = mixture.weights
    if fit.prescribed_weights and n_rows:
        shares = np.bincount(fit.labels, minlength=mixture.n_components) / n_rows
    rows = shares * max(fit.n, n_rows)
    few = np.flatnonzero(rows < FEWEST_ROWS)
    if len(few) and mixture.n_components > 1:
        message = "has fewer than five rows: its" if len(few) == 1 else "have fewer than five rows each: their"
        yield f"{_named(few)} {message} parameters are unreliable: try fewer components."


def narrow_components(fit: Fit) -> Iterator[str]:
    """Gaussian components no wider than the steps in which the columns were recorded."""
    if fit.resolution is None or not fit.resolution.coarse_steps.any():
        return
    deviations = _deviations(fit.mixture.source)
    if deviations is None:
        return
    narrow = np.flatnonzero((deviations <= NARROW_STEPS * fit.resolution.coarse_steps).any(axis=1))
    if len(narrow):
        verb = "is" if len(narrow) == 1 else "are"
        yield f"{_named(narrow)} {verb} as narrow as the resolution of the data, which may only reflect rounding."


def repeated_values(fit: Fit, problem: LearningProblem) -> Iterator[str]:
    """Gaussian components that hold one repeated value of a column, such as the zeros of amounts."""
    source = fit.mixture.source
    deviations = _deviations(source)
    if deviations is None or fit.mixture.n_components == 1:
        return
    means, weights = source["mean"], fit.mixture.weights[:, None]
    center = (weights * means).sum(axis=0)
    overall = np.sqrt((weights * (deviations**2 + (means - center) ** 2)).sum(axis=0))
    for component, column in np.argwhere(deviations < SPIKE * overall):
        value = _shared_value(problem, column, means[component, column], 3 * deviations[component, column])
        if value is not None:
            yield (
                f"Component {component} is a spike at {value:.6g} in column {column}, a value that many rows share: "
                "its likelihood cannot be compared with that of a density; fit such rows apart."
            )


def redundant(fit: Fit, problem: LearningProblem) -> Iterator[str]:
    """Columns that Gaussian components see as flat: constant ones, and combinations of others under covariances."""
    source, whole = fit.mixture.source, getattr(problem, "rows", None)
    if _deviations(source) is None or whole is None or not isinstance(whole.X, np.ndarray):
        return
    sample: Any = problem.sample
    X = sample.rows.filled().X
    constant = (X[0] == X).all(axis=0)
    for column in np.flatnonzero(constant):
        constant[column] = (whole.X[:, column] == X[0, column]).all()
    if constant.all():
        yield from ["All rows are equal: components are as narrow as numbers allow."] * int(fit.n > 1)
        return
    flat = np.zeros_like(constant)
    if "covariance" in source and _is_singular(source["mean"], source["covariance"], fit.mixture.weights, constant):
        flat[redundant_columns(X)] = True
    for columns, one, several in (
        (constant, "constant", "constant"),
        (flat & ~constant, "an exact linear combination of others", "exact linear combinations of others"),
    ):
        yield from flat_columns(np.flatnonzero(columns), one, several)


def flat_columns(places: NDArray[np.intp], one: str, several: str, narrowest: str = "Gaussians") -> Iterator[str]:
    """What columns that are flat, in these words for one and several of them, do to likelihoods."""
    if len(places):
        words = f"is {one}: its part" if len(places) == 1 else f"are {several}: their part"
        yield (
            f"{_some_columns(places)} {words} of the likelihood is that of the narrowest {narrowest} allowed; omit "
            f"{'it' if len(places) == 1 else 'them'} to compare likelihoods."
        )


def _some_columns(places: NDArray[np.intp]) -> str:
    if len(places) > NAMED:
        return f"{len(places)} columns ({', '.join(str(place) for place in places[:NAMED])}, ...)"
    named = ", ".join(f"column {place}" for place in places)
    return f"{named[0].upper()}{named[1:]}"


def _is_singular(means: Array, covariances: Array, weights: Array, constant: NDArray[np.bool_]) -> bool:
    """Whether columns that are not constant may be linear combinations of others, by the covariance of the mixture."""
    gaps = (means - weights @ means)[:, ~constant]
    inner = covariances[:, ~constant][:, :, ~constant]
    overall = np.einsum("k,kij->ij", weights, inner) + (gaps.T * weights) @ gaps
    scale = np.sqrt(np.diagonal(overall))
    return bool(np.linalg.eigvalsh(overall / scale / scale[:, None])[0] < SINGULAR)


def _shared_value(problem: LearningProblem, column: int, center: float, radius: float) -> float | None:
    """The value that most of the sampled rows near the center hold in a column, if there is one."""
    sample: Any = problem.sample
    X, weights = sample.rows.filled().X, sample.rows.weights
    if not isinstance(X, np.ndarray):
        return None
    near = abs(X[:, column] - center) <= radius
    shares = np.ones(len(X)) if weights is None else weights
    values, places = np.unique(X[near, column], return_inverse=True)
    counts = np.bincount(places, shares[near])
    common = len(values) > 0 and counts.max() > max(MOST * counts.sum(), 1.5)
    return float(values[counts.argmax()]) if common else None


def _deviations(source: Mapping[str, Any]) -> Array | None:
    """Standard deviations (k, d) of Gaussian components with these usual parameters; None for other families."""
    if "covariance" in source:
        return np.sqrt(np.diagonal(source["covariance"], axis1=-2, axis2=-1))
    if "variance" in source and "mean" in source:
        mean = source["mean"]
        return np.broadcast_to(np.sqrt(source["variance"]).reshape(len(mean), -1), mean.shape)
    return None


def overdispersion(fit: Fit, problem: LearningProblem) -> Iterator[str]:
    """Counts that vary far more within components than Poisson distributions do."""
    family = fit.mixture.family
    if not isinstance(family, Poisson | Product) or not family.exponential:
        return
    counts = [block.columns.start for block in blocks_of(family) if isinstance(block.family, Poisson)]
    if not counts:
        return
    sample: Any = problem.sample
    parameters = sample.from_mixture(fit.mixture)
    scores = sample.scores(parameters)
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares *= (1.0 if sample.rows.weights is None else sample.rows.weights[:, None]) / shares.sum(axis=1, keepdims=True)
    X = sample.rows.filled().X
    ratios = _dispersions(X if isinstance(family, Poisson) else X[:, counts], shares)
    if sample.total < ENOUGH_ROWS or ratios.max() <= OVERDISPERSED:
        return
    if isinstance(family, Poisson):
        yield (
            f"Within components the counts vary {ratios.max():.1f} times as much as Poisson distributions do: try the "
            "negative binomial family, kmle.families.NegativeBinomial."
        )
        return
    for column, ratio in zip(counts, ratios, strict=True):
        if ratio > OVERDISPERSED:
            yield (
                f"Within components the counts in column {column} vary {ratio:.1f} times as much as Poisson "
                "distributions do: try the negative binomial family for this column, kmle.families.NegativeBinomial."
            )


def _dispersions(X: Any, shares: Array) -> Array:
    """The variance within components divided by the mean (d,), zero where all counts are."""
    counts = shares.sum(axis=0)[:, None]
    squares = X**2 if isinstance(X, np.ndarray) else X.power(2)
    sums = np.asarray((X.T @ shares).T, dtype=float)
    total = np.asarray((squares.T @ shares).T, dtype=float).sum(axis=0)
    within = total - (sums**2 / np.maximum(counts, 1e-300)).sum(axis=0)
    mean = sums.sum(axis=0)
    return np.where(mean > 0, within / np.where(mean > 0, mean, 1.0), 0.0)


def _named(components: Any) -> str:
    if len(components) == 1:
        return f"Component {components[0]}"
    shown = ", ".join(str(j) for j in components[:5]) + (", ..." if len(components) > 5 else "")
    return f"{len(components)} components ({shown})"


def named_columns(notes: Sequence[str], columns: Sequence[str]) -> list[str]:
    """The library's notes with the names of the table's columns.

    >>> named_columns(["Values are rounded, column 1 to steps of 0.5."], ["a", "b"])
    ["Values are rounded, 'b' to steps of 0.5."]
    """
    return [
        re.sub(r"\b([Cc])olumn (\d+)", lambda match: "Column " * (match[1] == "C") + repr(columns[int(match[2])]), note)
        for note in notes
    ]


# Rounding -------------------------------------------------------------------------------------------------------------


def rounded_columns(fit: Fit, names: Sequence[str] | None) -> Iterator[str]:
    """Which columns are rounded to which steps, and what that means for families with a scale."""
    resolution, family = fit.resolution, fit.mixture.family
    spread = None if resolution is None else family.smallest_spread(resolution, None)
    if resolution is None or spread is None:
        return
    # Columns of a product that have no scale have no spread either.
    # Components of different families have one each.
    widest = spread.reshape(-1, len(resolution.steps)).max(axis=0)
    coarse = np.flatnonzero((resolution.coarse_steps > 0) & (widest > 0))
    if len(coarse):
        shaped = spread is resolution.shaped_spread
        message = f"no component is narrower than {NARROWEST_SHAPED if shaped else NARROWEST} steps"
        yield f"{_columns(coarse, resolution.steps, names)}: {message}, so that none gains by rounding."


def _columns(coarse: NDArray[np.intp], steps: Array, names: Sequence[str] | None) -> str:
    if len(coarse) > NAMED:
        lowest, highest = steps[coarse].min(), steps[coarse].max()
        message = f"of {lowest:.6g}" if lowest == highest else f"from {lowest:.6g} to {highest:.6g}"
        return f"{len(coarse)} columns are rounded to steps {message}"
    each = [f"{f'column {c}' if names is None else repr(names[c])} to steps of {steps[c]:.6g}" for c in coarse]
    return f"Values are rounded, {', '.join(each)}"
