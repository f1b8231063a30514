"""What a page asks for: a value, checked where it enters, and the plan that follows from it."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any, Self

from ..estimators.plan import Plan
from ..families import ExponentialFamily
from ..families.registry import resolve, short_names
from .censoring import KINDS, Censoring
from .provenance import Asked
from .source import Chosen, Source

ALGORITHMS = ("em", "k-mle")
CRITERIA = ("bic", "icl", "aic", "aicc")
MOST_COMPONENTS = 60
GUESSED = "auto"


@dataclass(frozen=True)
class Settings:
    """The settings of one fit, as the page shows them."""

    columns: tuple[str, ...]
    family: str = GUESSED
    fixed: tuple[tuple[str, float], ...] = ()
    n_components: int = 3
    algorithm: str = "em"
    prior_strength: float = 1e-3
    noise: bool = False
    labels: str | None = None
    drop_missing: bool = False
    seed: int = 0
    censoring: Censoring | None = None

    @classmethod
    def read(cls, given: Any, source: Source) -> Self:
        """From what a page sent; what cannot be is one sentence."""
        if not isinstance(given, Mapping):
            raise ValueError("the page sent no settings")
        columns = given.get("columns")
        if not isinstance(columns, list) or not columns:
            raise ValueError("no column is chosen: choose at least one")
        for name in columns:
            if name not in source.columns:
                raise ValueError(f"{source.name} has no column {name!r}")
        labels = given.get("labels") or None
        if labels is not None and labels not in source.classes:
            raise ValueError(f"{labels!r} is not a column of classes")
        censoring = _censoring(given.get("censoring"), source)
        if censoring is not None:
            columns = [name for name in columns if name != censoring.column]
            if not columns:
                raise ValueError(f"no column besides {censoring.column!r} is chosen: choose that of the values")
        family = str(given.get("family", GUESSED))
        if family != GUESSED and family not in short_names():
            raise ValueError(f"unknown family {family!r}")
        return cls(
            tuple(name for name in source.columns if name in columns),
            family,
            _fixed(given.get("fixed")),
            whole("k", given.get("n_components", 3), 1, MOST_COMPONENTS),
            one_of("algorithm", given.get("algorithm", "em"), ALGORITHMS),
            _number("the prior", given.get("prior_strength", 1e-3)),
            given.get("noise") is True,
            labels,
            given.get("drop_missing") is True and censoring is None,
            whole("the seed", given.get("seed", 0), 0, 2**31 - 1),
            censoring,
        )

    def chosen(self, source: Source) -> Chosen:
        """The rows that are fitted."""
        return source.chosen(self.columns, self.drop_missing, self.censoring)

    @property
    def asked(self) -> Asked:
        """What is read of the data."""
        return Asked(self.columns, self.drop_missing, self.labels, self.censoring)

    def family_of(self, chosen: Chosen) -> ExponentialFamily | str:
        """The family, as an estimator takes it: a name where there are no fixed parameters."""
        if self.family == GUESSED:
            guess = chosen.guess.family
            return guess.name if guess == resolve_or_none(guess.name) else guess
        return resolve(self.family, **dict(self.fixed)) if self.fixed else self.family

    def plan(self, chosen: Chosen, **changes: Any) -> Plan:
        """How to learn."""
        known: dict[str, Any] = {
            "family": self.family_of(chosen),
            "algorithm": self.algorithm,
            "prior_strength": self.prior_strength,
            "noise": self.noise,
            "random_state": self.seed,
        }
        return Plan(self.n_components, **known | changes)


def resolve_or_none(name: str) -> ExponentialFamily | None:
    """The family of a name; None where there is none by the name alone."""
    try:
        return resolve(name)
    except (TypeError, ValueError):
        return None


def _censoring(given: Any, source: Source) -> Censoring | None:
    if not given:
        return None
    kind, _, column = str(given).partition(":")
    if kind not in KINDS or column not in source.columns:
        raise ValueError(f"censoring must be none, or a column of events or of upper bounds, not {given!r}")
    return Censoring(kind, column)


def _fixed(given: Any) -> tuple[tuple[str, float], ...]:
    if not given:
        return ()
    if not isinstance(given, Mapping):
        raise ValueError("fixed parameters must be numbers by their names")
    values = {str(name): _number(str(name), value) for name, value in given.items()}
    return tuple((name, int(value) if value.is_integer() else value) for name, value in values.items())


def whole(name: str, value: Any, least: int, most: int) -> int:
    """A whole number within limits, or one sentence."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise ValueError(f"{name} must be a whole number from {least} to {most}")
    return value


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value) or value < 0:
        raise ValueError(f"{name} must be a number, zero or more")
    return float(value)


def one_of(name: str, value: Any, known: tuple[str, ...]) -> str:
    """One of some words, or one sentence."""
    if value not in known:
        raise ValueError(f"{name} must be one of {', '.join(known)}")
    return str(value)
