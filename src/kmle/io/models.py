"""Model files: a mixture as JSON with the columns it was learned from. Reading one never executes anything."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..mixture import Mixture
from .formats import existing_file
from .outputs import opened_output

# No mixture that fits into memory needs more; JSON unfolds to about twenty times its size.
LARGEST_BYTES = 128 << 20


@dataclass(frozen=True)
class Model:
    """What a model file holds.

    Attributes
    ----------
    mixture : Mixture
        The mixture.
    columns : tuple of str or None
        The names of its columns; None where the file has none.
    about : mapping
        How it was made, where the file says so.
    categories : mapping
        The names of the categories, by column, that codes stand for.
    """

    mixture: Mixture
    columns: tuple[str, ...] | None = None
    about: Mapping[str, Any] = field(default_factory=dict)
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def read_model(path: str) -> Model:
    """Reads a model file.

    Parameters
    ----------
    path : str
        The file; "-" is standard input.

    Returns
    -------
    Model
        The mixture, the names of its columns and how it was fitted. An invalid file is a ValueError.
    """
    if path == "-":
        name, content = "standard input", sys.stdin.buffer.read(LARGEST_BYTES + 1)
    else:
        name, where = path, existing_file(path)
        try:
            with where.open("rb") as file:
                content = file.read(LARGEST_BYTES + 1)
        except OSError as error:
            raise ValueError(f"{path} cannot be read: {(error.strerror or str(error)).lower()}") from None
    if len(content) > LARGEST_BYTES:
        raise ValueError(f"{name} is larger than {LARGEST_BYTES >> 20} MB and cannot be a model file")
    try:
        return parse_model(content)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{name}: {error}") from None


def parse_model(content: bytes) -> Model:
    """The model in JSON text."""
    try:
        plain = json.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise ValueError("not a valid model file: it is not UTF-8 text") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not a valid model file (possibly truncated): {_described(error)}") from None
    mixture = Mixture.from_dict(plain)
    about = plain.get("about", {})
    columns = mixture.columns
    return Model(mixture, columns, about if isinstance(about, dict) else {}, _categories(plain, columns))


def _described(error: Exception) -> str:
    """What is wrong with JSON text, in words of its own."""
    if isinstance(error, json.JSONDecodeError):
        return f"invalid JSON at line {error.lineno}, character {error.colno}"
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)


def _categories(plain: Mapping[str, Any], columns: Sequence[str] | None) -> dict[str, tuple[str, ...]]:
    content = plain.get("categories", {})
    sound = isinstance(content, dict) and all(
        name in (columns or ())
        and isinstance(levels, list)
        and all(isinstance(level, str) for level in levels)
        and len(set(levels)) == len(levels)
        for name, levels in content.items()
    )
    if not sound:
        raise ValueError("'categories' in the model file must name different categories for some of its columns")
    return {name: tuple(levels) for name, levels in content.items()}


def model_dict(
    mixture: Mixture,
    columns: Sequence[str] | None = None,
    about: Mapping[str, Any] | None = None,
    categories: Mapping[str, Sequence[str]] | None = None,
) -> Any:
    """What a model file says, as plain words and numbers."""
    content = mixture.to_dict()
    if columns is not None:
        content["columns"] = list(columns)
    if categories:
        content["categories"] = {name: list(levels) for name, levels in categories.items()}
    if about:
        content["about"] = dict(about)
    return content


def write_model(
    path: str,
    mixture: Mixture,
    columns: Sequence[str] | None = None,
    about: Mapping[str, Any] | None = None,
    categories: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """Writes a model file atomically.

    Parameters
    ----------
    path : str
        The file; "-" is standard output.
    mixture : Mixture
        The mixture.
    columns : sequence of str, default=None
        The names of the columns.
    about : mapping, default=None
        How the model was fitted.
    categories : mapping of str to sequence of str, default=None
        The names of the categories by column.
    """
    text = json.dumps(model_dict(mixture, columns, about, categories), allow_nan=False, indent=1) + "\n"
    with opened_output(path) as file:
        file.write(text.encode())
