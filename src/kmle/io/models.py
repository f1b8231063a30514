"""Model files: a mixture as JSON with the columns it was learned from. Reading one never executes anything."""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..mixture import Mixture
from .formats import check_output, existing_file

# No mixture that fits into memory needs more; JSON unfolds to about twenty times its size.
LARGEST_BYTES = 128 << 20


@dataclass(frozen=True)
class Model:
    """What a model file holds: the mixture, the names of its columns and how it was made, where the file says so."""

    mixture: Mixture
    columns: tuple[str, ...] | None = None
    about: Mapping[str, Any] = field(default_factory=dict)


def read_model(path: str) -> Model:
    """The model in a file ("-" is standard input); whatever is wrong with it is said in one sentence."""
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
        raise ValueError(f"{name} is larger than {LARGEST_BYTES >> 20} MB: that is no model file")
    try:
        return parse_model(content)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{name}: {error}") from None


def parse_model(content: bytes) -> Model:
    """The model in JSON text."""
    try:
        plain = json.loads(content.decode())
    except UnicodeDecodeError:
        raise ValueError("this is no model file: it is not text") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"this is no model file, or not all of one: {error}") from None
    mixture = Mixture.from_dict(plain)
    about = plain.get("about", {})
    return Model(mixture, _columns(plain, mixture), about if isinstance(about, dict) else {})


def _columns(plain: Mapping[str, Any], mixture: Mixture) -> tuple[str, ...] | None:
    names = plain.get("columns")
    if names is None:
        return None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError("'columns' in the model file is not a list of names")
    if len(names) != mixture.family.n_features or len(set(names)) != len(names):
        raise ValueError(f"'columns' in the model file must be {mixture.family.n_features} different names")
    return tuple(names)


def model_dict(mixture: Mixture, columns: Sequence[str] | None = None, about: Mapping[str, Any] | None = None) -> Any:
    """What a model file says, as plain words and numbers."""
    content = mixture.to_dict()
    if columns is not None:
        content["columns"] = list(columns)
    if about:
        content["about"] = dict(about)
    return content


def write_model(
    path: str, mixture: Mixture, columns: Sequence[str] | None = None, about: Mapping[str, Any] | None = None
) -> None:
    """Writes a model file, whole or not at all; "-" is standard output."""
    text = json.dumps(model_dict(mixture, columns, about), allow_nan=False, indent=1) + "\n"
    if path == "-":
        sys.stdout.write(text)
        return
    check_output(path)
    where = Path(path)
    beside = where.with_name(f".{where.name}.{os.getpid()}")
    try:
        beside.write_text(text, encoding="utf-8")
        beside.replace(where)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise ValueError(f"{path} cannot be written: {(error.strerror or str(error)).lower()}") from None
