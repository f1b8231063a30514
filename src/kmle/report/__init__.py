"""A fit as one page of HTML: plots, tables, the model to download, and how to get it again."""

from .comparison import write_comparison
from .page import write_report

__all__ = ["write_comparison", "write_report"]
