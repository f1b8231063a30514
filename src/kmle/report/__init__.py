"""A fit as one page of HTML: plots, tables, the model to download, and how to get it again."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .comparison import write_comparison
    from .page import write_report

__all__ = ["write_comparison", "write_report"]

# Where each name lives; fetched when first asked for, as the live page needs scripts and styles of reports at once, and
# what makes reports only later.
_MODULES = {"write_comparison": "comparison", "write_report": "page"}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_MODULES[name]}", __name__), name)
