"""Tables and models in files: CSV, TSV, Parquet, Arrow, NPY, NPZ, gzip; JSON, ONNX for models. Tables need polars."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..data.guess import Guess, guess_family
    from .models import Model, read_model, write_model
    from .onnx_export import to_onnx, write_onnx
    from .reading import read_table
    from .streaming import TableStream, open_stream
    from .table import Table
    from .writing import write_batches, write_table

__all__ = [
    "Guess",
    "Model",
    "Table",
    "TableStream",
    "guess_family",
    "open_stream",
    "read_model",
    "read_table",
    "to_onnx",
    "write_batches",
    "write_model",
    "write_onnx",
    "write_table",
]

# Where each name lives; fetched when first asked for, as tables need polars, which is an extra, and models need not.
_MODULES = {
    "Guess": ".data.guess",
    "Model": "models",
    "Table": "table",
    "TableStream": "streaming",
    "guess_family": ".data.guess",
    "open_stream": "streaming",
    "read_model": "models",
    "read_table": "reading",
    "to_onnx": "onnx_export",
    "write_batches": "writing",
    "write_model": "models",
    "write_onnx": "onnx_export",
    "write_table": "writing",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f".{_MODULES[name]}", __name__), name)
    except ModuleNotFoundError as error:
        if error.name != "polars":
            raise
        raise ModuleNotFoundError(f"{name} needs polars: pip install 'kmle[cli]'", name="polars") from None
