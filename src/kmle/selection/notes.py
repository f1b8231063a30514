"""What a selection should be doubted for: the edge of the range, and fits below what is known to be reachable."""

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from ..algorithms.state import STOPPED

if TYPE_CHECKING:
    from .candidates import Candidate, Selection

# Likelihoods that fall by less, in nats, are equal for the eye.
FALL = 0.5
# Families whose members are members of another one: a fit of the other should be at least as likely.
NESTED = {
    "exponential": "gamma",
    "chi-square": "gamma",
    "rayleigh": "weibull",
    "poisson": "negative-binomial",
    "geometric": "negative-binomial",
    "spherical-gaussian": "diagonal-gaussian",
    "diagonal-gaussian": "gaussian",
}


def notes_on(selection: "Selection") -> Iterator[str]:
    """One sentence for each reason to look again."""
    from .candidates import BEHIND  # candidates know their notes

    if selection.left_out:
        columns, verb = ("Column", "is") if len(selection.left_out) == 1 else ("Columns", "are")
        yield (
            f"{columns} {', '.join(selection.left_out)} {verb} excluded from the comparison: constant, or an exact "
            "combination of the others."
        )
    fitted = [candidate for candidate in selection.candidates if candidate.fit is not None]
    families: dict[str, dict[int, float]] = {}
    for candidate in fitted:
        if candidate is not selection.best and candidate.fit is not None and candidate.fit.stop_reason == STOPPED:
            continue  # its likelihood is not that of its optimum
        families.setdefault(candidate.name, {})[candidate.n_components or 0] = _likelihood(candidate)
    own = [candidate for candidate in selection.candidates if candidate.name == selection.best.name]
    sizes = {one.n_components or 0 for one in own if one.fit is not None or one.note == BEHIND}
    yield from _edge(selection, sorted(sizes))
    criteria = selection.best.criteria
    if criteria is not None and criteria.n_parameters >= criteria.n:
        yield (
            f"The best candidate has {criteria.n_parameters} free parameters for {criteria.n:g} rows: "
            "the comparison says little."
        )
    other = selection.alternative
    if other is not None:
        gain = selection.best.value(selection.criterion) - other.value(selection.criterion)
        yield (
            f"The counts vary far more than Poisson distributions do: one component of the negative binomial family is "
            f"better by {gain:.2f} of {selection.criterion}; add it to the families."
        )
    for name, likelihoods in families.items():
        for fewer, more in pairwise(sorted(likelihoods)):
            if likelihoods[more] < likelihoods[fewer] - FALL:
                yield (
                    f"{name} with {more} components has a lower likelihood than with {fewer}: the fit missed a "
                    "better optimum, raise n_init."
                )
        wider = families.get(NESTED.get(name, ""), {})
        for k in sorted(set(likelihoods) & set(wider)):
            if wider[k] < likelihoods[k] - FALL:
                yield (
                    f"{NESTED[name]} with {k} components has a lower likelihood than {name}, a special case of it: "
                    "the fit missed a better optimum, raise n_init."
                )


def _edge(selection: "Selection", sizes: list[int]) -> Iterator[str]:
    best = selection.best
    if len(sizes) > 1 and best.n_components == sizes[-1]:
        yield f"The best number of components, {sizes[-1]}, is the largest that was tried: try more."
    elif len(sizes) > 1 and best.n_components == sizes[0] > 1:
        yield f"The best number of components, {sizes[0]}, is the smallest that was tried: try fewer."


def _likelihood(candidate: "Candidate") -> float:
    """The likelihood that learning made high: complete for hard fits."""
    assert candidate.fit is not None
    hard = candidate.fit.algorithm not in ("em", "sparse-em")
    return candidate.fit.complete_log_likelihood if hard else candidate.fit.log_likelihood
