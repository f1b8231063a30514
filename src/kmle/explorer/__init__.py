"""A live page in the browser: columns, family and number of components are chosen, and the mixture is seen at once.

The server is small. A page sends its settings (`settings`). One worker fits them, and a newer request ends its work
(`worker`, `fitting`). What was found becomes plots and tables (`views`), made by the same code as reports.
"""

from .launch import explore, serve

__all__ = ["explore", "serve"]
