"""All commands, in the order in which help lists them."""

from . import (  # noqa: I001
    fit,  # noqa: F401
    select,  # noqa: F401
    exploring,  # noqa: F401
    scoring,  # noqa: F401
    classify,  # noqa: F401
    regress,  # noqa: F401
    outliers,  # noqa: F401
    impute,  # noqa: F401
    reporting,  # noqa: F401
    models,  # noqa: F401
    comparing,  # noqa: F401
    image,  # noqa: F401
    catalogue,  # noqa: F401
)
from .app import app

__all__ = ["app"]
