"""Scoring of a mixture as an ONNX model: labels, probabilities and log-densities without kmle.

Gaussians and Student t are scored by whitened differences to the means, families of independent columns by their own
formulas.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ..families import Categorical, ComponentFamilies, ExponentialFamily, Product, StudentT
from ..families.hidden_scales import Parts, log_density
from ..families.shaped import Shaped
from ..mixture import Mixture
from ..mixture.algebra import GAUSSIANS
from ..numerics.arrays import Array
from ..queries.marginals import category_spans
from ..queries.moments import covariances, means


class NoExportError(NotImplementedError, AttributeError):
    """A formula uses a function that is not written down as ONNX."""


def to_onnx(mixture: Mixture, dtype: str = "float64") -> Any:
    """Makes an ONNX model of a mixture.

    Parameters
    ----------
    mixture : Mixture
        Gaussians, Student t, families of independent columns, or products of these.
    dtype : "float64" or "float32", default="float64"
        The precision of the input, the probabilities and the log-densities; in between it is always double.

    Returns
    -------
    onnx.ModelProto
        Its input is X (n, d), its outputs are `label` (n,), `probabilities` (n, k) and `log_density` (n,).
    """
    if dtype not in ("float64", "float32"):
        raise ValueError(f"dtype is {dtype!r}: it must be 'float64' or 'float32'")
    try:
        from .onnx_graph import DOUBLE, SINGLE, WHOLE, Graph
    except ImportError:
        raise ImportError("ONNX models need the package onnx: pip install 'kmle[onnx]'") from None
    from onnx import helper

    width, k = mixture.family.n_features or 1, mixture.n_components
    graph = Graph()
    outside = DOUBLE if dtype == "float64" else SINGLE
    X = graph.symbol("X" if outside == DOUBLE else graph.add("Cast", "X", to=DOUBLE), (1, width))
    with np.errstate(divide="ignore"):
        log_weights = np.maximum(np.log(mixture.weights), -1e300)
    try:
        scores = _scores(graph, X, mixture.family, mixture.natural) + log_weights
    except NoExportError as error:
        raise ValueError(
            f"{mixture.family.name} has no ONNX export: Gaussians, Student t, families of independent columns and "
            "their products have one"
        ) from error
    axis = graph.constant([1], np.int64)
    top = graph.add("ReduceMax", scores.name, axes=[1], keepdims=1)
    shares = graph.add("Exp", graph.add("Sub", scores.name, top))
    total = graph.add("ReduceSum", shares, axis, keepdims=1)
    density = graph.add("Squeeze", graph.add("Add", graph.add("Log", total), top), axis)
    graph.nodes += [
        helper.make_node("ArgMax", [scores.name], ["label"], axis=1, keepdims=0),
        helper.make_node("Cast", [graph.add("Div", shares, total)], ["probabilities"], to=outside),
        helper.make_node("Cast", [density], ["log_density"], to=outside),
    ]
    given = helper.make_tensor_value_info("X", outside, [None, width])
    return graph.model(
        given,
        [
            helper.make_tensor_value_info("label", WHOLE, [None]),
            helper.make_tensor_value_info("probabilities", outside, [None, k]),
            helper.make_tensor_value_info("log_density", outside, [None]),
        ],
    )


def write_onnx(path: str | PathLike[str], mixture: Mixture, dtype: str = "float64") -> None:
    """Writes an ONNX model of a mixture.

    Parameters
    ----------
    path : path
        The file.
    mixture : Mixture
        Gaussians, Student t, families of independent columns, or products of these.
    dtype : "float64" or "float32", default="float64"
        The precision of input and outputs.
    """
    Path(path).write_bytes(to_onnx(mixture, dtype).SerializeToString())


def _scores(graph: Any, X: Any, family: ExponentialFamily, natural: Array) -> Any:
    """log p (n, k)."""
    if isinstance(family, Product):
        ends = np.cumsum([0, *family.widths])
        starts = np.cumsum([0, *(own.n_statistics for own in family.families)])
        total: Any = 0.0
        for place, own in enumerate(family.families):
            columns = X[..., int(ends[place]) : int(ends[place + 1])]
            total = total + _scores(graph, columns, own, natural[:, starts[place] : starts[place + 1]])
        return total
    if isinstance(family, ComponentFamilies):
        return np.concatenate([_scores(graph, X, own, theta[None]) for own, theta in family.members(natural)], axis=-1)
    if isinstance(family, Shaped):
        return np.concatenate([_column_scores(graph, X, columns) for columns in family.members(natural)], axis=-1)
    if isinstance(family, StudentT):
        return _student_scores(graph, X, *family.parts(natural))
    if isinstance(family, GAUSSIANS):
        return _gaussian_scores(graph, X, means(family, natural), covariances(family, natural))
    if isinstance(family, Categorical):
        return _category_scores(graph, X, family, natural)
    statistics: Any = family.sufficient_statistic(X)
    if not hasattr(statistics, "graph"):
        raise NoExportError("its statistics")
    product = graph.add("MatMul", statistics.name, graph.constant(natural.T))
    carrier: Any = family.log_carrier(X)
    scores = graph.symbol(product, (1, len(natural))) - family.log_normalizer(natural)
    if hasattr(carrier, "graph"):
        axes = graph.constant([1], np.int64)
        scores = scores + graph.symbol(graph.add("Unsqueeze", carrier.name, axes), (1, 1))
    elif np.any(carrier):
        scores = scores + carrier[0]
    return scores


def _category_scores(graph: Any, X: Any, family: Categorical, natural: Array) -> Any:
    """The sum over columns of the log-probabilities of their codes."""
    axis = graph.constant([1], np.int64)
    total: Any = -family.log_normalizer(natural)
    for column, span in enumerate(category_spans(family, natural)[1]):
        codes = graph.add("Cast", graph.add("Squeeze", X[..., column : column + 1].name, axis), to=graph.whole)
        found = graph.add("Gather", graph.constant(natural[:, span].T), codes, axis=0)
        total = total + graph.symbol(found, (1, len(natural)))
    return total


def _column_scores(graph: Any, X: Any, columns: list[tuple[ExponentialFamily, Array]]) -> Any:
    """The sum over columns, each with its own family and natural parameter (1, D)."""
    total: Any = 0.0
    for column, (own, natural) in enumerate(columns):
        total = total + _scores(graph, X[..., column : column + 1], own, natural)
    return total


def _gaussian_scores(graph: Any, X: Any, mean: Array, covariance: Array) -> Any:
    log_scale = np.linalg.slogdet(covariance)[1] + mean.shape[1] * np.log(2 * np.pi)
    return _distances(graph, X, mean, np.linalg.cholesky(covariance)) * -0.5 - 0.5 * log_scale


def _student_scores(graph: Any, X: Any, location: Array, factor: Array, degrees: Array) -> Any:
    """The density at distance zero, and how it falls with the distance."""
    peak = log_density(np.zeros((1, len(location))), Parts(location, factor, degrees))[0]
    distance = _distances(graph, X, location, factor)
    return np.log1p(distance / degrees) * (-0.5 * (degrees + location.shape[1])) + peak


def _distances(graph: Any, X: Any, mean: Array, factor: Array) -> Any:
    """Squared Mahalanobis distances (n, k) by whitened differences to the means, all components side by side."""
    k, d = mean.shape
    center = mean.mean(axis=0)
    whiten = np.linalg.inv(factor)
    wide = np.moveaxis(whiten, 0, 1).transpose(2, 1, 0).reshape(d, k * d)
    shift = np.einsum("kij,kj->ki", whiten, mean - center).reshape(k * d)
    offset = X - center
    product = graph.symbol(graph.add("MatMul", offset.name, graph.constant(wide)), (1, k * d)) - shift
    table = graph.add("Reshape", product.name, graph.constant([-1, k, d], np.int64))
    return graph.symbol(graph.add("ReduceSumSquare", table, axes=[2], keepdims=0), (1, k))
