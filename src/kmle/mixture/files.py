"""Mixtures as plain numbers and strings, ready for JSON; every float keeps all its digits."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..families import ExponentialFamily
from ..families.serialization import family_from_dict, family_to_dict
from ..numerics.arrays import Array

FORMAT, VERSION = "kmle-mixture", 2


def parameters_to_dict(
    family: ExponentialFamily, weights: Array, natural: Array, columns: Sequence[str] | None
) -> dict[str, Any]:
    """The content of a model file."""
    content = {
        "format": FORMAT,
        "version": VERSION,
        "family": family_to_dict(family),
        "weights": weights.tolist(),
        "natural": natural.tolist(),
    }
    return content if columns is None else content | {"columns": list(columns)}


def parsed_json(text: str) -> Any:
    """The content of JSON text; it never executes anything."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the model file is not JSON: {error}") from None


def parameters_from_dict(content: Any) -> tuple[ExponentialFamily, Array, Array]:
    """The family, weights and natural parameters of a model file; other content is a ValueError that names the problem.

    Whether they fit each other, the mixture checks.
    """
    _check_header(content)
    weights, natural = _numbers(content, "weights", 1), _numbers(content, "natural", 2)
    try:
        family = family_from_dict(content["family"])
    except (TypeError, OverflowError, RecursionError) as error:
        raise ValueError(f"the family in the model file cannot be built: {error}") from None
    return family, weights, natural


def columns_from_dict(content: Mapping[str, Any], width: int | None) -> tuple[str, ...] | None:
    """The names of the columns in a model file; None where it has none."""
    names = content.get("columns")
    if names is None:
        return None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError("'columns' in the model file is not a list of names")
    if len(names) != width or len(set(names)) != len(names):
        raise ValueError(f"'columns' in the model file must be {width} different names")
    return tuple(names)


def _check_header(content: Any) -> None:
    if not isinstance(content, Mapping) or content.get("format") != FORMAT:
        raise ValueError(f"not a {FORMAT} file: its 'format' is different or missing")
    version = content.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise ValueError("the model file has no version number")
    if version > VERSION:
        raise ValueError(
            f"the model file has version {version}; this version of kmle reads up to {VERSION}: update kmle"
        )
    missing = [key for key in ("family", "weights", "natural") if key not in content]
    if missing:
        raise ValueError(f"the model file lacks {', '.join(missing)}")


def _numbers(content: Mapping[str, Any], key: str, dimensions: int) -> Array:
    """The table of plain numbers under `key`: no words, no truth values, no missing entries."""
    try:
        table = np.array(content[key])
    except ValueError:  # rows of different lengths
        table = np.array(None)
    if table.dtype.kind not in "iuf" and table.size:
        raise ValueError(f"'{key}' in the model file is not a table of numbers")
    if table.ndim != dimensions or table.size == 0:
        raise ValueError(f"'{key}' in the model file has the wrong shape {table.shape}")
    return table.astype(float)
