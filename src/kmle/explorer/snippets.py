"""A fit as code: one snippet of Python, and one command, that give the same model in a fresh process."""

import re
from typing import Any

from ..families import ExponentialFamily, Product
from ..families.registry import kind_of
from .fitting import Fitted
from .provenance import quoted
from .settings import GUESSED, Settings

# What estimators and the command line take where nothing is said.
PRIOR = 1e-3


def python(fitted: Fitted) -> str:
    """The model in Python."""
    settings, family = fitted.settings, fitted.settings.family_of(fitted.chosen)
    name = "KMLE" if settings.algorithm == "k-mle" else "ExponentialFamilyMixture"
    given: dict[str, str] = {"family": repr(family) if isinstance(family, str) else expression(family)}
    if settings.noise:
        given["noise"] = "True"
    if settings.prior_strength != PRIOR:
        given["prior_strength"] = repr(settings.prior_strength)
    given["random_state"] = repr(settings.seed)
    written = ", ".join(f"{key}={value}" for key, value in given.items())
    reading = fitted.source.provenance.python(settings.asked)
    own = ["import numpy as np"] if any("np." in line for line in reading) else []
    imports = [line for line in reading if line.startswith("from ")]
    used = sorted(set(re.findall(r"\b([A-Z]\w+)\(", given["family"])))
    names = [name] if settings.censoring is None else [name, "Intervals"]
    own += [f"from kmle import {', '.join(names)}", *([f"from kmle.families import {', '.join(used)}"] if used else [])]
    known = ", labels=labels" if settings.labels is not None else ""
    model = f"model = {name}({settings.n_components}, {written}).fit(X{known})"
    return "\n".join([*own, *imports, "", *(line for line in reading if line not in imports), model])


def expression(family: ExponentialFamily) -> str:
    """A family as Python makes it, without what the data settles.

    >>> from kmle.families import Binomial, Poisson
    >>> expression(Product((Poisson(), Binomial(n_features=2, trials=10))))
    'Product((Poisson(n_features=1), Binomial(n_features=2, trials=10)))'
    """
    if isinstance(family, Product):
        return f"Product(({', '.join(expression(block) for block in family.families)}))"
    written = ", ".join(f"{name}={value!r}" for name, value in _given(family).items())
    return f"{type(family).__name__}({written})"


def _given(family: ExponentialFamily) -> dict[str, Any]:
    from dataclasses import fields

    values = {field.name: (getattr(family, field.name), field.default) for field in fields(family)}
    return {name: value for name, (value, default) in values.items() if value is not None and value != default}


def command(fitted: Fitted) -> str | None:
    """The model by the command line; None where no command gives it."""
    settings = fitted.settings
    rows = fitted.source.provenance.command(settings.asked)
    family = family_words(settings, fitted)
    if rows is None or family is None or (settings.labels is not None and settings.drop_missing):
        return None  # --labels-from does not go with --drop-missing
    arguments = ["kmle", "fit", *rows, "-k", str(settings.n_components), "--family", family]
    if settings.algorithm == "k-mle":
        arguments.append("--hard")
    if settings.noise:
        arguments.append("--noise")
    if settings.labels is not None:
        arguments += ["--labels-from", settings.labels]
    if settings.prior_strength != PRIOR:
        arguments += ["--prior", repr(settings.prior_strength)]
    if settings.seed:
        arguments += ["--seed", str(settings.seed)]
    return quoted([*arguments, "--out", "model.json"])


def family_words(settings: Settings, fitted: Fitted) -> str | None:
    """The family as the command line names it; None where its words cannot."""
    if settings.family != GUESSED:
        fixed = ",".join(f"{name}={value!r}" for name, value in settings.fixed)
        return f"{settings.family}:{fixed}" if fixed else settings.family
    family = fitted.chosen.guess.family
    blocks = family.families if isinstance(family, Product) else (family,)
    written = [_block_words(block) for block in blocks]
    return None if None in written else "+".join(str(block) for block in written)


def _block_words(family: ExponentialFamily) -> str | None:
    given = _given(family)
    if kind_of(family.name) is not type(family) or not all(isinstance(v, int | float) for v in given.values()):
        return None
    fixed = ",".join(f"{name}={value!r}" for name, value in given.items())
    return f"{family.name}:{fixed}" if fixed else family.name
