"""What a likelihood is measured against: only likelihoods on the same footing compare."""

from collections.abc import Sequence

from ..families import ExponentialFamily
from ..families.support import (
    Angles,
    Blocks,
    CountVectors,
    Integers,
    Interval,
    PositiveDefinite,
    Simplex,
    Support,
    UnitSphere,
)

REAL_NUMBERS, COUNTS = "densities of real numbers", "probabilities of counts"


def measure_of(support: Support) -> str:
    """The kind of likelihood a support has, in words that tell it from the others.

    >>> from kmle.families import Gamma, Poisson
    >>> measure_of(Gamma().support), measure_of(Poisson().support)
    ('densities of real numbers', 'probabilities of counts')
    """
    if isinstance(support, Blocks):
        kinds = [measure_of(block) for block in support.supports]
        same = set(kinds) == {REAL_NUMBERS} or set(kinds) == {COUNTS}
        widths = zip(kinds, support.widths, strict=True)
        return kinds[0] if same else ", ".join(f"{kind} in {width} columns" for kind, width in widths)
    if isinstance(support, CountVectors):
        return COUNTS if support.total is not None else "probabilities of counts given their totals"
    words: dict[type[Support], str] = {
        Angles: "densities of angles",
        Interval: REAL_NUMBERS,
        Integers: COUNTS,
        Simplex: "densities of proportions",
        UnitSphere: "densities of directions",
        PositiveDefinite: "densities of matrices",
    }
    return words.get(type(support), support.description)


def check_comparable(families: Sequence[ExponentialFamily]) -> None:
    """One sentence when the likelihoods of two of the families do not compare."""
    first = families[0]
    measure = measure_of(first.support)
    for other in families[1:]:
        if measure_of(other.support) != measure:
            raise ValueError(
                f"families mixes {measure} ({first.name}) with {measure_of(other.support)} ({other.name}), "
                "whose likelihoods do not compare: select among families of one kind at a time"
            )
