"""Closed forms behind questions to a mixture: marginals, conditionals, moments, distribution functions, modes, regions.

Functions take a family and natural parameters; `kmle.Mixture` has the methods.
"""
