"""What a likelihood is measured against: only likelihoods on the same footing compare."""

from collections.abc import Sequence
from itertools import groupby

from .contract import FamilyContract
from .support import (
    Angles,
    AnyOf,
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
# What a multinomial distribution is while rows differ in their totals, or before data has shown that they do not.
COUNTS_GIVEN_TOTALS = "probabilities of counts given their totals"


def measure_of(support: Support) -> str:
    """The kind of likelihood a support has, in words that tell it from the others.

    >>> from kmle.families import Gamma, Poisson
    >>> measure_of(Gamma().support), measure_of(Poisson().support)
    ('densities of real numbers', 'probabilities of counts')
    """
    if isinstance(support, Blocks):
        measured = [(measure_of(block), width) for block, width in zip(support.supports, support.widths, strict=True)]
        runs = [(kind, list(several)) for kind, several in groupby(measured, key=lambda pair: pair[0])]
        if [kind for kind, _ in runs] in ([REAL_NUMBERS], [COUNTS]):
            return runs[0][0]
        return ", ".join(f"{kind} in {sum(width for _, width in several)} columns" for kind, several in runs)
    if isinstance(support, AnyOf):
        return measure_of(support.supports[0])
    if isinstance(support, CountVectors) and support.total is None:
        return COUNTS_GIVEN_TOTALS
    words: dict[type[Support], str] = {
        Angles: "densities of angles",
        Interval: REAL_NUMBERS,
        Integers: COUNTS,
        CountVectors: COUNTS,
        Simplex: "densities of proportions",
        UnitSphere: "densities of directions",
        PositiveDefinite: "densities of matrices",
    }
    return words.get(type(support), support.description)


def check_comparable(families: Sequence[FamilyContract], complete: bool = True) -> None:
    """One sentence when the likelihoods of two of the families do not compare.

    Families that are not `complete` lack parameters that the data determines, and count as comparable until then.
    """
    measures = [measure_of(family.support) for family in families]
    if not complete:
        measures = [measure.replace(COUNTS_GIVEN_TOTALS, COUNTS) for measure in measures]
    for family, measure in zip(families, measures, strict=True):
        if measure != measures[0]:
            raise ValueError(
                f"families mixes {measures[0]} ({families[0].name}) with {measure} ({family.name}), "
                "whose likelihoods are not comparable: select among families of one kind"
            )


def check_one_measure(families: Sequence[FamilyContract]) -> None:
    """One sentence when two of the families of a mixture's components have different base measures."""
    measures = [measure_of(family.support).replace(COUNTS_GIVEN_TOTALS, COUNTS) for family in families]
    for family, measure in zip(families, measures, strict=True):
        if measure != measures[0]:
            raise ValueError(
                f"a mixture cannot have components with {measures[0]} ({families[0].name}) and {measure} "
                f"({family.name}): use families of one kind"
            )
