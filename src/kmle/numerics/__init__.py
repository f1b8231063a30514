"""Pure helpers: packed symmetric matrices, special functions, safe solvers, quadrature. No families here."""
