"""Families by the names of columns, on pandas and polars frames: {"visits": "poisson", ("x", "y"): "gaussian"}."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..data.named_columns import NamedColumns, check_columns, check_frame, is_missing, objects
from ..families import Categorical, ExponentialFamily, Product, resolve
from ..families.registry import FamilyLike


@dataclass(frozen=True)
class NamedFamilies(NamedColumns):
    """Families of the same named columns, with the levels of those that hold categories."""

    families: tuple[FamilyLike, ...]
    """Each mapping as the family of these columns, and other families as they were given."""
    given: tuple[Any, ...]
    """The families as they were given."""

    @staticmethod
    def of(families: Sequence[Any], X: Any) -> "NamedFamilies":
        """The families of columns of a frame, whose categories are those it holds; at least one names columns."""
        mappings = [_blocks(given) for given in families if isinstance(given, Mapping)]
        check_frame(X)
        columns = _common_order(mappings)
        check_columns(X, columns)
        levels = {name: _levels(X, name) for name in sorted(_categorical(mappings))}
        resolved = tuple(
            _product(_blocks(given), columns, levels) if isinstance(given, Mapping) else given for given in families
        )
        return NamedFamilies(columns, levels, resolved, tuple(families))

    @staticmethod
    def of_types(X: Any) -> "NamedFamilies | None":
        """All columns of a frame, with the categories of those whose type is categorical; None where none is."""
        kinds = dict(zip(getattr(X, "columns", ()), getattr(X, "dtypes", ()), strict=False))
        coded = [
            name for name, kind in kinds.items() if str(kind).lower().startswith(("category", "categorical", "enum"))
        ]
        if not coded:
            return None
        return NamedFamilies(tuple(kinds), {name: _levels(X, name) for name in coded}, (), ())

    def only(self, family: FamilyLike) -> "NamedFamilies":
        """One of the families alone, by the names of its columns."""
        place = next((place for place, own in enumerate(self.families) if own == family), None)
        given = None if place is None else self.given[place]
        mapping = given if isinstance(given, Mapping) else {self.columns: family}
        return NamedFamilies(self.columns, self.levels, (family,), (mapping,))


def named_families(families: Any, X: Any) -> NamedFamilies | None:
    """The families of the columns of a frame, where one or several are mappings; None where none is."""
    listed = [families] if isinstance(families, Mapping) else families
    several = isinstance(listed, Sequence) and not isinstance(listed, str)
    if not several or not any(isinstance(given, Mapping) for given in listed):
        return None
    return NamedFamilies.of(listed, X)


Block = tuple[tuple[str, ...], ExponentialFamily]


def _blocks(families: Mapping[Any, Any]) -> list[Block]:
    """The names and the family of each block of columns."""
    if not families:
        raise ValueError("family names no column: give at least one, such as {'visits': 'poisson'}")
    blocks = [((names,) if isinstance(names, str) else tuple(names), resolve(own)) for names, own in families.items()]
    columns = [name for names, _ in blocks for name in names]
    twice = [name for name in columns if columns.count(name) > 1]
    if twice:
        raise ValueError(f"family names the column {twice[0]!r} twice: name each column once")
    return blocks


def _common_order(mappings: Sequence[list[Block]]) -> tuple[str, ...]:
    """An order of the columns in which every block of every mapping has its columns side by side."""
    orders = [tuple(name for names, _ in blocks for name in names) for blocks in mappings]
    for order in orders[1:]:
        if odd := set(order) ^ set(orders[0]):
            raise ValueError(f"the families name different columns ({min(odd)!r} is not in all): name the same in each")
    for order in orders:
        if all(_side_by_side(names, order) for blocks in mappings for names, _ in blocks):
            return order
    raise ValueError("no order of the columns keeps the blocks of all families together: compare fewer families")


def _side_by_side(names: tuple[str, ...], order: tuple[str, ...]) -> bool:
    places = sorted(order.index(name) for name in names)
    return places[-1] - places[0] == len(places) - 1


def _categorical(mappings: Sequence[list[Block]]) -> set[str]:
    """The columns that hold categories, in all mappings or in none."""
    found = [{name for names, own in blocks if isinstance(own, Categorical) for name in names} for blocks in mappings]
    for columns in found[1:]:
        if odd := columns ^ found[0]:
            raise ValueError(
                f"column {min(odd)!r} is categorical in some of the families: make it so in all of them or in none"
            )
    return found[0]


def _product(blocks: list[Block], columns: tuple[str, ...], levels: Mapping[str, tuple[Any, ...]]) -> ExponentialFamily:
    """The family of all columns in this order."""
    parts: list[ExponentialFamily] = []
    for names, family in sorted(blocks, key=lambda block: min(columns.index(name) for name in block[0])):
        ordered = sorted(names, key=columns.index)
        if isinstance(family, Categorical):
            parts.append(Categorical(tuple(len(levels[name]) for name in ordered)))
        else:
            parts.append(replace(family, n_features=len(names)))
    return parts[0] if len(parts) == 1 else Product(tuple(parts))


def _levels(X: Any, name: str) -> tuple[Any, ...]:
    """The categories of a column: those of its type, or those it holds, in order."""
    known = getattr(getattr(X[name], "cat", None), "categories", None)
    if known is not None and not callable(known):
        return tuple(known.tolist() if hasattr(known, "tolist") else known)
    found = {value for value in objects(X, name) if not is_missing(value)}
    if not found:
        raise ValueError(f"column {name!r} has no entry, all its values are missing: drop the column")
    try:
        return tuple(sorted(found))
    except TypeError:
        return tuple(sorted(found, key=str))
