"""Families as words on the command line: `gamma`, `binomial:trials=10`, `poisson+gaussian:n_features=2` for columns of
different kinds, `gaussian*2,uniform` for components of different families.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..families import ExponentialFamily


def family_from_words(words: str) -> ExponentialFamily:
    """The family these words name.

    >>> family_from_words("binomial:trials=10")
    Binomial(n_features=None, trials=10)
    >>> family_from_words("gaussian*2,uniform").name
    'gaussian*2,uniform'
    """
    from ..families import SHORT_NAMES, resolve
    from ..families.component_lists import component_families

    if words.strip() in SHORT_NAMES:
        return resolve(words.strip())
    components = [_repeated(component) for component in _listed(words)]
    if len(components) == 1 and "*" not in words:
        return components[0][0]
    return component_families(family for same in components for family in same)


def names_categorical(words: str | None) -> bool:
    """Whether some columns are categorical in a family, or in one of several.

    >>> names_categorical("poisson+categorical"), names_categorical("gaussian*2,uniform"), names_categorical(None)
    (True, False, False)
    """
    return "categorical" in re.split(r"[+,;:* ]+", words or "")


def _listed(words: str) -> list[str]:
    """The families of components, which commas part; so do they the fixed parameters of one family.

    >>> _listed("generalized-gaussian:shape=2,location=1,uniform")
    ['generalized-gaussian:shape=2,location=1', 'uniform']
    """
    parts: list[str] = []
    for part in words.split(","):
        if parts and "=" in part and ":" not in part:
            parts[-1] += f",{part}"
        else:
            parts.append(part.strip())
    return parts


def repeated_words(words: str) -> list[str]:
    """The words of each component.

    >>> repeated_words("gaussian*2,uniform")
    ['gaussian', 'gaussian', 'uniform']
    """
    counts = [(part.rpartition("*") if "*" in part else (part, "", "1")) for part in _listed(words)]
    return [name for name, _, count in counts for _ in range(int(count))]


def _repeated(words: str) -> list[ExponentialFamily]:
    """One family, as often as a number after a star says."""
    from ..families import Product

    name, star, count = words.rpartition("*") if "*" in words else (words, "", "1")
    if star and not (count.strip().isdecimal() and int(count) >= 1):
        raise ValueError(f"--family {words}: {count!r} is not a number of components; write gaussian*2,uniform")
    blocks = [_single(block.strip()) for block in name.split("+")]
    return [blocks[0] if len(blocks) == 1 else Product(tuple(blocks))] * int(count)


def _single(words: str) -> ExponentialFamily:
    from dataclasses import fields

    from ..families.registry import kind_of, resolve, short_names

    name, _, tail = words.partition(":")
    if name == "product":
        raise ValueError("columns of different kinds have one family each: write --family poisson+gamma")
    kind = kind_of(name)
    if kind is None:
        near = get_close_matches(name.lower().replace("_", "-"), short_names(), n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise ValueError(f"unknown family {name!r}: {hint}`kmle families` lists all")
    known = [field.name for field in fields(kind)]
    fixed: dict[str, Any] = {}
    for pair in filter(None, tail.split(",")):
        name_given, sign, value = pair.partition("=")
        if name_given.strip() not in known or not sign:
            raise ValueError(
                f"--family {words}: {name} has the fixed parameters {', '.join(known)}; write {name}:{known[-1]}=..."
            )
        fixed[name_given.strip()] = _value(words, value)
    needed = _needed(kind, fixed)
    if needed:
        raise ValueError(f"--family {name} needs its {needed[0]}: write {name}:{needed[0]}=...")
    return resolve(name, **fixed)


def _needed(kind: type[ExponentialFamily], fixed: dict[str, Any]) -> list[str]:
    from dataclasses import MISSING, fields

    return [field.name for field in fields(kind) if field.default is MISSING and field.name not in fixed]


def _value(words: str, text: str) -> int | float | str:
    from ..families.shaped import SHARED

    if text.strip() == SHARED:
        return SHARED
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f"--family {words}: {text!r} is not a number") from None
    return int(value) if value.is_integer() else value
