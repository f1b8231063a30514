"""Mixtures, fits and selections as they are read: text of parameters (`cells`), pages of notebooks (`notebook`)."""
