"""Formulas of NumPy written down as an ONNX graph.

A `Symbol` stands for an array. NumPy and SciPy hand their functions to it (`__array_ufunc__`, `__array_function__`),
and it adds a node to the graph for each: a family's own formulas are exported, and no second copy of them exists.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
from numpy.lib.mixins import NDArrayOperatorsMixin
from onnx import TensorProto, helper, numpy_helper
from scipy import special

from .onnx_export import NoExportError

# Arguments from which Stirling's series is accurate to rounding; smaller ones are moved up to it.
STIRLING_FROM = 10
STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188)


class Graph:
    """Nodes and constants in double precision."""

    whole = TensorProto.INT64

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, value: Any, dtype: Any = np.float64) -> str:
        """The name of a constant."""
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value, dtype=dtype), name))
        return name

    def add(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """The name of what a new node computes."""
        name = f"n{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def symbol(self, name: str, shape: tuple[int, ...]) -> "Symbol":
        """What is computed under this name, with one row in place of any number."""
        return Symbol(self, name, shape)

    def model(self, given: Any, results: Sequence[Any]) -> Any:
        """The whole, from inputs to outputs."""
        graph = helper.make_graph(self.nodes, "mixture", [given], list(results), self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], producer_name="kmle")
        model.ir_version = 8
        onnx.checker.check_model(model)
        return model


class Symbol(NDArrayOperatorsMixin):
    """An array that is not there yet: its shape is that of a single row, (1, ...)."""

    def __init__(self, graph: Graph, name: str, shape: tuple[int, ...]) -> None:
        self.graph, self.name, self.shape = graph, name, shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of entries of a single row."""
        return int(np.prod(self.shape))

    dtype = np.dtype(float)

    def __len__(self) -> int:
        return self.shape[0]

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method != "__call__" or ufunc not in UFUNCS or any(value is not None for value in kwargs.values()):
            raise NoExportError(ufunc.__name__)
        return UFUNCS[ufunc](self.graph, *inputs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function not in FUNCTIONS:
            raise NoExportError(function.__name__)
        return FUNCTIONS[function](self.graph, *args, **kwargs)

    def sum(self, axis: int = -1, keepdims: bool = False, **_: Any) -> "Symbol":
        """The sum along the last axis."""
        if axis not in (-1, self.ndim - 1):
            raise NoExportError("sum over rows")
        axes = self.graph.constant([self.ndim - 1], np.int64)
        name = self.graph.add("ReduceSum", self.name, axes, keepdims=int(keepdims))
        return Symbol(self.graph, name, (*self.shape[:-1], 1) if keepdims else self.shape[:-1])

    def __getitem__(self, key: Any) -> "Symbol":
        if isinstance(key, tuple) and len(key) == 2 and key[0] is Ellipsis and isinstance(key[1], slice):
            first, last, _ = key[1].indices(self.shape[-1])
            ends = [self.graph.constant([value], np.int64) for value in (first, last, self.ndim - 1)]
            name = self.graph.add("Slice", self.name, *ends)
            return Symbol(self.graph, name, (*self.shape[:-1], last - first))
        raise NoExportError("indexing")

    def __getattr__(self, name: str) -> Any:
        raise NoExportError(name)

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise NoExportError("numbers")

    def __bool__(self) -> bool:
        raise NoExportError("comparisons")

    def __float__(self) -> float:
        raise NoExportError("numbers")

    def astype(self, *_: Any, **__: Any) -> "Symbol":
        """Itself: everything is in double precision."""
        return self


def _named(graph: Graph, value: Any) -> tuple[str, tuple[int, ...]]:
    if isinstance(value, Symbol):
        return value.name, value.shape
    return graph.constant(value), np.shape(value)


def _node(kind: str) -> Callable[..., Symbol]:
    """A function of one or more arrays that ONNX has, entry by entry."""

    def compute(graph: Graph, *inputs: Any) -> Symbol:
        names, shapes = zip(*(_named(graph, value) for value in inputs), strict=True)
        return Symbol(graph, graph.add(kind, *names), np.broadcast_shapes(*shapes))

    return compute


def _log_gamma(graph: Graph, x: Any) -> Any:
    """Stirling's series at x + 10, less the logarithms of what lies between."""
    steps = np.log(x)
    for step in range(1, STIRLING_FROM):
        steps = steps + np.log(x + step)
    z = x + STIRLING_FROM
    series = 0.0
    for place, coefficient in enumerate(STIRLING):
        series = series + coefficient / z ** (2 * place + 1)
    return (z - 0.5) * np.log(z) - z + 0.5 * np.log(2 * np.pi) + series - steps


UFUNCS: dict[Any, Callable[..., Any]] = {
    np.add: _node("Add"),
    np.subtract: _node("Sub"),
    np.multiply: _node("Mul"),
    np.divide: _node("Div"),
    np.power: _node("Pow"),
    np.negative: _node("Neg"),
    np.absolute: _node("Abs"),
    np.log: _node("Log"),
    np.exp: _node("Exp"),
    np.sqrt: _node("Sqrt"),
    np.cos: _node("Cos"),
    np.sin: _node("Sin"),
    np.maximum: _node("Max"),
    np.minimum: _node("Min"),
    np.square: lambda graph, x: x * x,
    np.log1p: lambda graph, x: np.log(1.0 + x),
    np.reciprocal: lambda graph, x: 1.0 / x,
    special.gammaln: _log_gamma,
}


def _concatenated(graph: Graph, parts: Sequence[Any], axis: int = 0) -> Symbol:
    symbols = [part for part in parts if isinstance(part, Symbol)]
    if len(symbols) != len(parts) or axis not in (-1, symbols[0].ndim - 1):
        raise NoExportError("concatenate")
    width = sum(part.shape[-1] for part in symbols)
    name = graph.add("Concat", *(part.name for part in symbols), axis=symbols[0].ndim - 1)
    return Symbol(graph, name, (*symbols[0].shape[:-1], width))


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.concatenate: _concatenated,
    np.broadcast_arrays: lambda graph, *parts: list(parts),
    np.sum: lambda graph, x, axis=-1, **kwargs: x.sum(axis=axis),
    np.zeros_like: lambda graph, x: x * 0.0,
}

DOUBLE, SINGLE, WHOLE = TensorProto.DOUBLE, TensorProto.FLOAT, TensorProto.INT64
