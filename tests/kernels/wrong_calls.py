"""Every function of the compiled module, called as it should be and in many other ways; run by test_bindings.py.

One line for each wrong call: the function, the argument, what is wrong with it, and what came of it ("refused",
"accepted", or "differs" where memory between the slots of an array was taken for its values). `MAY` lists the few that
are right after all: there, one may have fewer rows, or a longer list.
"""

import os
import sys
from typing import Any

import numpy as np

from kmle import _kernels as kernels
from kmle._kernels import _compiled as compiled  # type: ignore[attr-defined]

N, D, K = 200, 2, 3
STATISTICS = D + D * (D + 1) // 2
WIDTH, SPANS = 16, -(-N // 64)

# Arguments of which another length, or another value, is as good.
MAY = {
    ("PackedRows64.load", "rows", "short"),
    ("PackedRows64.load", "rows", "empty"),
    ("PanelsRows.load", "rows", "short"),
    ("PanelsRows.load", "rows", "empty"),
    ("CenteredForm", "factor", "broad"),
    ("CenteredForm", "linear", "narrow"),
    ("CenteredForm", "linear", "broad"),
    ("Buckets", "borders", "short"),
    ("Buckets", "borders", "long"),
    ("spatial_order64", "rows", "narrow"),
    ("spatial_order64", "rows", "broad"),
    ("summarize_columns64", "table", "short"),
    ("summarize_columns64", "table", "long"),
    ("summarize_columns64", "table", "empty"),
    ("squares64", "table", "short"),
    ("squares64", "table", "long"),
    ("squares64", "table", "empty"),
    ("tabulate64", "counts", "short"),
    ("tabulate64", "counts", "long"),
    ("look_up64", "table", "short"),
    ("look_up64", "table", "long"),
    ("PackedRows64.boxes_pass", "candidates", "long"),
    ("PackedRows64.balls", "centers", "short"),
    ("PackedRows64.balls", "centers", "long"),
    ("product_sums", "rows", "long"),
    ("gaussian_natural", "moments", "empty"),
}
# Arrays that index memory.
INDICES = {
    ("PackedRows64.load_shifted", "places"),
    ("PackedRows64.hard_pass", "labels"),
    ("PackedRows64.boxes_pass", "candidates"),
    ("PackedRows64.boxes_pass", "starts"),
    ("PackedRows64.bounds_pass", "labels"),
    ("PackedRows64.bounds_pass", "anchors"),
    ("PackedRows64.bounds_log_likelihood", "labels"),
    ("PackedRows64.bounds_log_likelihood", "anchors"),
    ("PackedRows64.balls", "anchors"),
    ("PackedRows64.label_sums", "labels"),
    ("SparseRows64", "columns"),
    ("SparseRows64", "starts"),
    ("SparseRows64.hard_pass", "labels"),
    ("SparseRows64.label_sums", "labels"),
    ("PanelsRows.hard_pass", "labels"),
    ("PanelsRows.row_scores", "labels"),
    ("PackedRows64.own_scores", "labels"),
    ("PanelsRows.soft_pass", "labels"),
    ("spread_labels", "places"),
    ("product_sums", "places"),
    ("product_sums", "components"),
}


def drawn() -> np.ndarray[Any, Any]:
    return np.random.default_rng(0).normal(size=(N, D))


def labels() -> np.ndarray[Any, Any]:
    return np.arange(N, dtype=np.int32) % K


def packed(features: int = 2, columns: int = D) -> Any:
    rows = compiled.PackedRows64(N, columns, features, np.ones(N), 2)
    rows.load(0, np.ascontiguousarray(drawn()[:, :columns]))
    return rows


def model(order: int = STATISTICS) -> dict[str, Any]:
    return {"natural": np.random.default_rng(1).normal(size=(K, order)) * 0.1, "bias": np.zeros(K)}


def totals(order: int = STATISTICS) -> dict[str, Any]:
    return {"counts": np.zeros(K), "sums": np.zeros((K, order))}


def row_outputs() -> dict[str, Any]:
    numbers = {name: np.zeros(N) for name in ("log_sums", "tops")}
    return numbers | {name: np.zeros((N, K)) for name in ("shares", "scores")}


def clusters() -> dict[str, Any]:
    return {"labels": labels(), "sizes": np.bincount(labels()).astype(np.int64)}


def form() -> Any:
    parts = np.zeros((K, D)), np.ones((K, D)), np.zeros(K), np.zeros((K, 0))
    return compiled.CenteredForm(*parts, list(range(D)), [], [False] * D)


def bounds() -> dict[str, Any]:
    return {
        "rows_each": 64,
        "leads": np.full((SPANS, WIDTH), -np.inf, np.float32),
        "limits": np.full(SPANS, -np.inf),
        "anchors": np.zeros(SPANS, np.int32),
        "radii": np.ones(SPANS, np.float32),
        "change": np.zeros((K, WIDTH), np.float32),
        "apart": np.zeros((K, WIDTH), np.float32),
        "rounding": 1e-6,
        "gained": np.zeros((K, WIDTH), np.float32),
        "reached": np.zeros((K, WIDTH), np.float32),
        "most_gained": np.zeros(K),
        "most_apart": np.zeros(K),
    }


def pruned() -> dict[str, Any]:
    levels = {"centers": [np.zeros((SPANS, D))], "halves": [np.full((SPANS, D), 9.0)]}
    lists = {"starts": np.arange(SPANS + 1) * K, "candidates": np.tile(np.arange(K, dtype=np.int32), SPANS)}
    before = {"owners_before": np.full(SPANS, -1, np.int32), "labels_before": labels()}
    out = {"owners": np.zeros(SPANS, np.int32), "labels": np.zeros(N, np.int32)}
    return {"rows_each": [64], **levels, "totals": [np.zeros((SPANS, STATISTICS + 1))], **lists, **before, **out}


def sorted_line() -> dict[str, Any]:
    line = np.sort(drawn()[:, 0])
    rows = compiled.PackedRows64(N, 1, 1, None, 2)
    rows.load(0, line[:, None])
    return {"packed": rows, "line": line, "starts": [0, 50, N]}


def runs(steps: int) -> Any:
    made = compiled.Buckets(np.array([-1.0, 0.0, 1.0]), N, 64)
    values = np.ascontiguousarray(drawn()[:, 0])
    for first in range(0, N, 64):
        if steps > 0:
            made.count(first, values[first : first + 64])
    if steps > 1:
        made.lay_out()
    for first in range(0, N, 64):
        if steps > 2:
            made.place(first, values[first : first + 64], None, np.empty(N), None)
    return made


def sparse_arrays() -> dict[str, Any]:
    columns = np.tile(np.arange(D, dtype=np.int32), N)
    starts = np.arange(0, D * N + 1, D, dtype=np.int32)
    return {"values": drawn().ravel(), "columns": columns, "starts": starts}


def sparse() -> Any:
    return compiled.SparseRows64(**sparse_arrays(), n_columns=D, weights=np.ones(N), threads=2)


def wide() -> Any:
    rows = compiled.PanelsRows(N, D, 2)
    rows.load(0, drawn())
    return rows


def factors() -> dict[str, Any]:
    return {"factors": np.tile(np.eye(D), (K, 1, 1)), "shifts": np.zeros((K, D)), "constants": np.zeros(K)}


def with_threads(**arguments: Any) -> dict[str, Any]:
    return {**arguments, "threads": 2}


def calls() -> dict[str, tuple[Any, dict[str, Any]]]:
    """Every function, and arguments it accepts; made anew for every call."""
    x, column = drawn(), np.ascontiguousarray(drawn()[:, 0])
    whole = np.floor(np.abs(column))
    by_class = {
        "PackedRows64": (compiled.PackedRows64, with_threads(rows=N, columns=D, features=2, weights=np.ones(N))),
        "PackedRows64.load": (packed().load, {"first": 0, "rows": x}),
        "PackedRows64.load_shifted": (
            packed().load_shifted,
            {"table": x, "shift": np.zeros(D), "places": np.arange(N, dtype=np.int32)},
        ),
        "PackedRows64.column": (packed(0, 1).column, {}),
        "PackedRows64.measure": (packed(0, 1).measure, {}),
        "PackedRows64.work": (packed().work, {}),
        "PackedRows64.largest": (packed().largest, {"out": np.zeros(D)}),
        "PackedRows64.hard_pass": (
            packed().hard_pass,
            {**model(), **clusters(), **totals(), "margins": np.zeros(N, np.float32), "centered": form()},
        ),
        "PackedRows64.groups": (
            packed().groups,
            {
                "rows_each": 64,
                "low": np.zeros((SPANS, D)),
                "high": np.zeros((SPANS, D)),
                "totals": np.zeros((SPANS, STATISTICS + 1)),
            },
        ),
        "PackedRows64.boxes_pass": (packed().boxes_pass, {**model(), **pruned(), **totals()}),
        "PackedRows64.bounds_pass": (
            packed().bounds_pass,
            {**model(), **clusters(), **totals(), "margins": np.zeros(N, np.float32), **bounds()},
        ),
        "PackedRows64.bounds_log_likelihood": (
            packed().bounds_log_likelihood,
            {**model(), "labels": labels(), **bounds()},
        ),
        "PackedRows64.balls": (
            packed().balls,
            {
                "rows_each": 64,
                "every": 1,
                "scale": np.ones(STATISTICS),
                "centers": np.zeros((K, STATISTICS)),
                "anchors": np.zeros(SPANS, np.int32),
                "radii": np.zeros(SPANS, np.float32),
                "squares": np.zeros(STATISTICS),
            },
        ),
        "PackedRows64.soft_passes": (
            packed().soft_passes,
            {**model(), "mixtures": 1, "kept": K, **totals(), "scores": np.zeros(1), "centered": form()},
        ),
        "PackedRows64.log_likelihood": (packed().log_likelihood, {**model(), "centered": form()}),
        "PackedRows64.row_scores": (
            packed().row_scores,
            {**model(), "centered": form(), "by_differences": False, **row_outputs()},
        ),
        "PackedRows64.label_rows": (packed().label_rows, {**model(), "labels": labels(), "centered": form()}),
        "PackedRows64.own_scores": (
            packed().own_scores,
            {"labels": labels(), "centered": form(), "totals": np.zeros(K)},
        ),
        "PackedRows64.label_sums": (packed().label_sums, {"labels": labels(), **totals()}),
        "CenteredForm": (
            compiled.CenteredForm,
            {
                "mean": np.zeros((K, D)),
                "factor": np.ones((K, D)),
                "constant": np.zeros(K),
                "linear": np.zeros((K, 0)),
                "places": [0, 1],
                "linear_places": [],
                "carried": [False] * D,
            },
        ),
        "SortedRows": (compiled.SortedRows, sorted_line()),
        "SortedRows.hard_pass": (compiled.SortedRows(**sorted_line()).hard_pass, {**model(2), **totals(2)}),
        "Buckets": (compiled.Buckets, {"borders": np.array([-1.0, 0.0, 1.0]), "rows": N, "rows_a_block": 64}),
        "Runs.count": (runs(0).count, {"first": 0, "values": column[:64]}),
        "Runs.lay_out": (runs(1).lay_out, {}),
        "Runs.place": (
            runs(2).place,
            {
                "first": 0,
                "values": column[:64],
                "weights": np.ones(64),
                "line": np.zeros(N),
                "line_weights": np.zeros(N),
            },
        ),
        "Runs.finish": (runs(3).finish, with_threads(line=np.zeros(N), weights=np.zeros(N))),
        "SparseRows64": (
            compiled.SparseRows64,
            with_threads(**sparse_arrays(), n_columns=D, weights=np.ones(N)),
        ),
        "SparseRows64.hard_pass": (sparse().hard_pass, {**model(D), **clusters(), **totals(D)}),
        "SparseRows64.best": (sparse().best, {**model(D), "labels": labels()}),
        "SparseRows64.row_scores": (sparse().row_scores, {**model(D), **row_outputs()}),
        "SparseRows64.log_likelihood": (sparse().log_likelihood, model(D)),
        "SparseRows64.soft_pass": (sparse().soft_pass, {**model(D), "kept": K, **totals(D)}),
        "SparseRows64.label_sums": (sparse().label_sums, {"labels": labels(), **totals(D)}),
        "PanelsRows": (compiled.PanelsRows, with_threads(rows=N, columns=D)),
        "PanelsRows.load": (wide().load, {"first": 0, "rows": x}),
        "PanelsRows.hard_pass": (wide().hard_pass, {**factors(), "labels": labels()}),
        "PanelsRows.row_scores": (
            wide().row_scores,
            {**factors(), "labels": labels(), **row_outputs(), "entropies": np.zeros(N)},
        ),
        "PanelsRows.soft_pass": (
            wide().soft_pass,
            {
                **factors(),
                "labels": labels(),
                "rows": x,
                "center": np.zeros(D),
                "weights": np.ones(N),
                "kept": K,
                **totals(),
            },
        ),
    }
    functions = {
        "summarize_columns64": with_threads(table=x, lowest=np.zeros(D), highest=np.zeros(D), totals=np.zeros(D)),
        "tabulate64": with_threads(values=whole, low=0.0, weights=np.ones(N), counts=np.zeros(9)),
        "score_table64": with_threads(
            table=x,
            shift=np.zeros(D),
            **model(D),
            labels=labels(),
            **row_outputs(),
            lowest=np.zeros(D),
            highest=np.zeros(D),
        ),
        "squares64": with_threads(table=x, center=np.zeros(D), totals=np.zeros(D)),
        "spatial_order64": with_threads(rows=x, leaf=64, places=np.zeros(N, np.int32)),
        "look_up64": with_threads(values=whole, low=0.0, table=np.arange(9, dtype=np.int32), out=np.zeros(N, np.int32)),
        "spread_labels": with_threads(
            owners=np.full(SPANS, -1, np.int32),
            labels=labels(),
            each=64,
            places=np.arange(N, dtype=np.int32),
            out=np.zeros(N, np.int32),
        ),
        "locate": with_threads(
            values=column,
            firsts=np.array([-1.0, 1.0]),
            owners=np.arange(3, dtype=np.int32),
            labels=np.zeros(N, np.int32),
        ),
        "product_sums": with_threads(
            rows=x,
            center=np.zeros(D),
            places=np.arange(N, dtype=np.int32),
            components=labels(),
            shares=np.ones(N),
            **totals(),
        ),
        "gaussian_natural": {
            "moments": np.tile([0.0, 0.0, 1.0, 0.1, 1.0], (K, 1)),
            "spread": np.zeros(D),
            "smallest": 1e-9,
            "rounding": 1e-12,
            "natural": np.zeros((K, STATISTICS)),
            "safe": np.zeros(K, np.uint8),
        },
        "gaussian_has_spread": {
            "natural": np.tile([0.0, 0.0, -0.5, 0.0, -0.5], (K, 1)),
            "spread": np.ones(D),
            "rounding": 1e-6,
            "wide": np.zeros(K, np.uint8),
        },
        "gaussian_log_normalizer": {
            "natural": np.tile([0.0, 0.0, -0.5, 0.0, -0.5], (K, 1)),
            "columns": D,
            "values": np.zeros(K),
        },
        "gaussian_step": with_threads(
            counts=np.ones((2, K)),
            sums=np.tile([0.0, 0.0, 1.0, 0.1, 1.0], (2 * K, 1)),
            before=np.tile([0.0, 0.0, -0.5, 0.0, -0.5], (2 * K, 1)),
            weights_before=np.zeros((2, K)),
            factors=np.zeros(2),
            prior_moment=np.zeros(STATISTICS),
            prior_strength=0.0,
            prior_top=0.0,
            largest=np.ones(STATISTICS),
            spread=np.zeros(D),
            center=np.zeros(D),
            smallest=1e-9,
            rounding=1e-12,
            spread_rounding=1e-6,
            far=1.0,
            natural=np.zeros((2 * K, STATISTICS)),
            log_weights=np.zeros((2, K)),
            beyond=np.zeros((2 * K, STATISTICS)),
            weights_beyond=np.zeros((2, K)),
            bias=np.zeros((2, K)),
            penalty=np.zeros(2),
            size=np.zeros(2),
        ),
        "add_drift": with_threads(
            moved=np.zeros((STATISTICS, K)),
            lifted=np.zeros(K),
            centers=np.zeros((K, STATISTICS)),
            scale=np.ones(STATISTICS),
            **{name: value for name, value in bounds().items() if name in STEP},
        ),
        "margin_order": with_threads(
            labels=labels(),
            margins=np.ones(N, np.float32),
            steps=100,
            typical=1.0,
            most=1e30,
            places=np.zeros(N, np.int32),
        ),
        "use_instruction_set": {"name": kernels.instruction_set()},
    }
    return by_class | {name: (getattr(compiled, name), arguments) for name, arguments in functions.items()}


# Sanitizers end the process where there is no memory for so much.
NUMBERS = (0, 1, 3, -1, 10**6, 2**62, None) + (() if "LD_PRELOAD" in os.environ else (2**44,))
STEP = ("rounding", "change", "apart", "gained", "reached", "most_gained", "most_apart")
OTHER_TYPE = {
    np.dtype(np.float64): np.float32,
    np.dtype(np.float32): np.float64,
    np.dtype(np.int32): np.int64,
    np.dtype(np.int64): np.int32,
    np.dtype(np.uint8): np.int32,
}


def wrong_arrays(given: np.ndarray[Any, Any]) -> dict[str, Any]:
    """An array in many wrong forms."""
    last = given[-1:]
    wrong = {
        "short": given[:-1].copy(),
        "long": np.concatenate([given, last]),
        "empty": given[:0].copy(),
        "of another type": given.astype(OTHER_TYPE[given.dtype]),
        "with another axis": given[np.newaxis].copy(),
        "without an axis": given[0],
        "nothing": None,
        "text": "text",
    }
    if given.ndim > 1:
        wrong |= {"narrow": given[..., :-1].copy(), "broad": np.concatenate([given, given[..., :1]], axis=-1)}
    return wrong


def strided_arrays(given: np.ndarray[Any, Any]) -> dict[str, Any]:
    """The same values, lying otherwise."""
    forms = {"strided": np.repeat(given, 2, axis=0)[::2], "reversed": given[::-1].copy()[::-1]}
    return forms | ({"by columns": np.asfortranarray(given)} if given.ndim > 1 else {})


def outcome(name: str, changes: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Whether a call with some other arguments is refused, and what all its arguments are then."""
    function, arguments = calls()[name]
    arguments |= changes
    try:
        function(**arguments)
    except (TypeError, ValueError, MemoryError):
        return "refused", arguments
    return "accepted", arguments


def arrays_of(arguments: dict[str, Any]) -> list[Any]:
    return [value for value in arguments.values() if isinstance(value, np.ndarray)]


def try_array(name: str, argument: str, given: np.ndarray[Any, Any]) -> None:
    for what, value in wrong_arrays(given).items():
        say(name, argument, what, outcome(name, {argument: value})[0])
    for what, value in strided_arrays(given).items():
        came, after = outcome(name, {argument: value})
        if came == "accepted":
            _, plain = outcome(name, {})
            pairs = zip(arrays_of(after), arrays_of(plain), strict=True)
            came = "accepted" if all(np.array_equal(a, b, equal_nan=True) for a, b in pairs) else "differs"
        say(name, argument, what, came)
    if given.dtype.kind == "i" and len(given):
        for what, value in {"one too large": 10**6, "one negative": -7}.items():
            other = given.copy()
            other[len(other) // 2] = value
            say(name, argument, what, outcome(name, {argument: other})[0])
    if given.dtype.kind == "f":
        for what in ("nan", "inf"):
            say(name, argument, what, outcome(name, {argument: np.full_like(given, float(what))})[0])


def say(name: str, argument: str, what: str, came: str) -> None:
    print(f"{name}|{argument}|{what}|{came}", flush=True)


def main(version: str) -> None:
    kernels.use(version)
    for name, (_, arguments) in calls().items():
        say(name, "", "as it should be", outcome(name, {})[0])
        for argument, given in arguments.items():
            if isinstance(given, np.ndarray):
                try_array(name, argument, given)
            elif isinstance(given, list) and given and isinstance(given[0], np.ndarray):
                for what, value in wrong_arrays(given[0]).items():
                    say(name, argument, f"list {what}", outcome(name, {argument: [value]})[0])
                say(name, argument, "list long", outcome(name, {argument: given * 2})[0])
            elif isinstance(given, list):
                for value in ([], [*given, 10**6], [-1], [0], given[::-1]):
                    say(name, argument, f"list {value}", outcome(name, {argument: value})[0])
            elif isinstance(given, int):
                for value in NUMBERS:
                    say(name, argument, f"number {value}", outcome(name, {argument: value})[0])
    print("done")


if __name__ == "__main__":
    main(*sys.argv[1:])
