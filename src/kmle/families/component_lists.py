"""Lists of families for the components of a mixture."""

from collections.abc import Iterable, Sequence

from .components import ComponentFamilies
from .derived import ExponentialFamily
from .parameterless import Parameterless


def component_families(families: Iterable[ExponentialFamily]) -> ExponentialFamily:
    """The family of a mixture whose components have these families: a plain one where all are the same and have
    parameters.
    """
    listed = tuple(families)
    if len(set(listed)) == 1 and not isinstance(listed[0], Parameterless):
        return listed[0]
    return ComponentFamilies(listed)


def with_components(families: Sequence[ExponentialFamily], n_components: int) -> tuple[ExponentialFamily, ...]:
    """The families of that many components: those with parameters in turn, those without once and not counted.

    >>> from kmle.families import Gaussian, Uniform
    >>> ComponentFamilies(with_components((Gaussian(), Uniform()), 3)).name
    'gaussian*3,uniform'
    """
    counted = [family for family in families if not isinstance(family, Parameterless)]
    if not counted:
        return tuple(families)
    rounds, left = divmod(n_components, len(counted))
    numbers = {family: rounds + (place < left) for place, family in enumerate(counted)}
    each = [(family, 1 if isinstance(family, Parameterless) else numbers[family]) for family in dict.fromkeys(families)]
    return tuple(family for family, number in each for _ in range(number))
