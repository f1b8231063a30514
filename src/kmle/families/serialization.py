"""Families as plain words and numbers, and back; reading one never executes anything."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from .components import ComponentFamilies
from .coordinates import CoordinateFamily
from .derived import ExponentialFamily
from .product import Product
from .registry import kind_of, resolve

# What components of different families are called in a file.
COMPONENTS = "components"
# Fixed parameters of families that older files call otherwise.
FORMER_NAMES = {("negative-binomial", "successes"): "size"}


def family_to_dict(family: ExponentialFamily) -> dict[str, Any]:
    """The short name and the fixed parameters.

    >>> from kmle.families import Binomial
    >>> family_to_dict(Binomial(10, n_features=2))
    {'name': 'binomial', 'facts': {'n_features': 2, 'trials': 10}}
    """
    if isinstance(family, ComponentFamilies):
        return {"name": COMPONENTS, "families": [family_to_dict(own) for own in family.families]}
    if isinstance(family, Product):
        return {"name": family.name, "families": [family_to_dict(block) for block in family.families]}
    if isinstance(family, CoordinateFamily) and type(_estimated(family)) is type(family):
        return {"name": family.name, "facts": family.fixed_parameters()}
    if kind_of(family.name) is not type(family):
        raise ValueError(f"{family.name} is a custom family, which cannot be written to a file")
    return {"name": family.name, "facts": {field.name: getattr(family, field.name) for field in fields(family)}}


def _estimated(family: CoordinateFamily) -> ExponentialFamily | None:
    """The family of the same name with the same parameters estimated; None for custom families."""
    return resolve(family.name, **family.fixed_parameters()) if kind_of(family.name) is not None else None


def family_from_dict(content: Any) -> ExponentialFamily:
    """The inverse; a ValueError says what is wrong with anything else."""
    if not isinstance(content, Mapping) or not isinstance(content.get("name"), str):
        raise ValueError("the model file names no family")
    name = content["name"]
    if name == COMPONENTS:
        return ComponentFamilies(tuple(family_from_dict(own) for own in _listed(content, name)))
    kind = kind_of(name)
    if kind is None:
        raise ValueError(f"the model file names the family {name!r}, which this version of kmle does not have")
    if name == Product.name:
        return Product(tuple(family_from_dict(block) for block in _listed(content, name)))
    fixed = content.get("facts")
    if isinstance(fixed, Mapping):
        fixed = {FORMER_NAMES.get((name, key), key): value for key, value in fixed.items()}
    known = {field.name for field in fields(kind)}
    if not isinstance(fixed, Mapping) or not set(fixed) <= known:
        raise ValueError(
            f"the fixed parameters of the {name} family in the model file must be: {', '.join(sorted(known))}"
        )
    try:
        return resolve(name, **{key: _plain(value) for key, value in fixed.items()})
    except (TypeError, OverflowError) as error:
        raise ValueError(
            f"the fixed parameters of the {name} family in the model file are not valid: {error}"
        ) from None


def _listed(content: Mapping[str, Any], name: str) -> list[Any]:
    families = content.get("families")
    if not isinstance(families, list) or not families:
        raise ValueError(f"the {name} family in the model file lists no families")
    return families


def _plain(value: Any) -> Any:
    """Lists back to the tuples that families keep."""
    return tuple(_plain(entry) for entry in value) if isinstance(value, list) else value
