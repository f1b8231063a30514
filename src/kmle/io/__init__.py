"""Tables and models in files: CSV, TSV, Parquet, Arrow, NPY, NPZ, gzip; JSON for models. Tables need polars."""

from typing import TYPE_CHECKING, Any

from .guess import Guess, guess_family
from .models import Model, read_model, write_model
from .table import Table

if TYPE_CHECKING:
    from .reading import read_table
    from .writing import write_table

__all__ = ["Guess", "Model", "Table", "guess_family", "read_model", "read_table", "write_model", "write_table"]


def __getattr__(name: str) -> Any:
    # These two need polars, which is an extra.
    if name not in ("read_table", "write_table"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from . import reading, writing
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"{name} needs polars: pip install 'kmle[cli]'", name=error.name) from None
    return {"read_table": reading.read_table, "write_table": writing.write_table}[name]
