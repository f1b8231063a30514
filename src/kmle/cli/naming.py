"""Families as words on the command line: `gamma`, `binomial:trials=10`, `poisson+gaussian:n_features=2`."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..families import ExponentialFamily


def family_from_words(words: str) -> ExponentialFamily:
    """The family these words name.

    >>> family_from_words("binomial:trials=10")
    Binomial(n_features=None, trials=10)
    """
    from ..families import Product

    blocks = [_single(block.strip()) for block in words.split("+")]
    return blocks[0] if len(blocks) == 1 else Product(tuple(blocks))


def _single(words: str) -> ExponentialFamily:
    from dataclasses import fields

    from ..families import FAMILIES, resolve

    name, _, tail = words.partition(":")
    if name == "product":
        raise ValueError("columns of different kinds have one family each: write --family poisson+gamma")
    if name not in FAMILIES:
        near = get_close_matches(name.lower().replace("_", "-"), FAMILIES, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise ValueError(f"unknown family {name!r}: {hint}`kmle families` lists all")
    known = [field.name for field in fields(FAMILIES[name])]
    fixed: dict[str, Any] = {}
    for pair in filter(None, tail.split(",")):
        name_given, sign, value = pair.partition("=")
        if name_given.strip() not in known or not sign:
            raise ValueError(
                f"--family {words}: {name} has the fixed parameters {', '.join(known)}; write {name}:{known[-1]}=..."
            )
        fixed[name_given.strip()] = _number(words, value)
    needed = _needed(name, fixed)
    if needed:
        raise ValueError(f"--family {name} needs its {needed[0]}: write {name}:{needed[0]}=...")
    return resolve(name, **fixed)


def _needed(name: str, fixed: dict[str, Any]) -> list[str]:
    from dataclasses import MISSING, fields

    from ..families import FAMILIES

    return [field.name for field in fields(FAMILIES[name]) if field.default is MISSING and field.name not in fixed]


def _number(words: str, text: str) -> int | float:
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f"--family {words}: {text!r} is not a number") from None
    return int(value) if value.is_integer() else value


def words_from_family(family: ExponentialFamily) -> str:
    """How a family is named on the command line, without the fixed parameters the data settles.

    >>> from kmle.families import Gamma, Poisson, Product
    >>> words_from_family(Product((Poisson(), Gamma(n_features=2))))
    'poisson + gamma'
    """
    from ..families import Product

    if isinstance(family, Product):
        return " + ".join(words_from_family(block) for block in family.families)
    return family.name
