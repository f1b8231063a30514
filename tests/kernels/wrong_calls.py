"""Every function of the compiled module, called as it should be and in many other ways; run by test_bindings.py.

One line for each wrong call: the function, the argument, what is wrong with it, and what came of it ("refused",
"accepted", or "differs" where memory between the slots of an array was taken for its values). An argument that is an
object of the module is tried by its parts, "clusters.labels": the object is made anew with one part wrong, and either
it or the call must refuse. `MAY` lists the few that are right after all: there, one may have fewer rows, or a longer
list.
"""

import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from right_calls import D, N, Parts, calls, made

from kmle import _kernels as kernels
from kmle._kernels import _compiled as compiled  # type: ignore[attr-defined]

# Arguments of which another length, or another value, is as good.
MAY = {
    ("StepSetting", "held", "short"),
    ("StepSetting", "held", "long"),
    ("StepSetting", "held", "empty"),
    ("gaussian_step", "setting.held", "empty"),
    ("PackedRows64.gaussian_steps", "setting.held", "empty"),
    ("PackedRows64.load", "rows", "short"),
    ("PackedRows64.load", "rows", "empty"),
    ("PatternRows.load", "rows", "short"),
    ("PatternRows.load", "rows", "empty"),
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
    ("PackedRows64.boxes_pass", "candidates.names", "long"),
    ("PackedRows64.measure_balls", "balls.centers", "short"),
    ("PackedRows64.measure_balls", "balls.centers", "long"),
    ("product_sums", "table.rows", "long"),
    ("gaussian_natural", "moments", "empty"),
    ("structured_natural", "before", "empty"),
    *(("PackedRows64.climb", "history", what) for what in ("narrow", "broad")),
    # Only a pass knows how many rows and statistics there are, and only the drift how many spans.
    *(("Clusters", "labels", what) for what in ("short", "long", "empty")),
    *(("Clusters", "sums", what) for what in ("narrow", "broad")),
    *(("Totals", "sums", what) for what in ("narrow", "broad")),
    *(("Balls", "centers", what) for what in ("short", "long", "empty")),
    *(("Level", "totals", what) for what in ("narrow", "broad")),
    *(("Boxes", "levels.totals", what) for what in ("narrow", "broad")),
    *(("GroupLabels", "rows", what) for what in ("short", "long")),
    ("Candidates", "names", "long"),
    *(("Candidates", "starts", what) for what in ("short", "long")),
    *(("CenteredTable", "rows", what) for what in ("short", "long", "empty")),
    *(("MarginBounds", "balls.centers", what) for what in ("short", "long", "empty")),
}
# Arrays that index memory.
INDICES = {
    ("PackedRows64.load_shifted", "places"),
    ("PackedRows64.hard_pass", "clusters.labels"),
    ("PackedRows64.boxes_pass", "candidates.names"),
    ("PackedRows64.boxes_pass", "candidates.starts"),
    ("PackedRows64.bounds_pass", "clusters.labels"),
    ("PackedRows64.bounds_pass", "bounds.balls.anchors"),
    ("PackedRows64.bounds_log_likelihood", "labels"),
    ("PackedRows64.bounds_log_likelihood", "bounds.balls.anchors"),
    ("PackedRows64.measure_balls", "balls.anchors"),
    ("PackedRows64.label_sums", "labels"),
    ("Candidates", "starts"),
    ("SparseRows64", "columns"),
    ("SparseRows64", "starts"),
    ("SparseRows64.hard_pass", "clusters.labels"),
    ("SparseRows64.label_sums", "labels"),
    ("PatternRows.fits", "labels"),
    ("PanelsRows.hard_pass", "labels"),
    ("PanelsRows.row_scores", "labels"),
    ("PackedRows64.own_scores", "labels"),
    ("PanelsRows.soft_pass", "labels"),
    ("PackedRows64.climb", "state.models"),
    ("spread_labels", "places"),
    ("product_sums", "members.places"),
    ("product_sums", "members.components"),
}


# Sanitizers end the process where there is no memory for so much.
NUMBERS = (0, 1, 3, -1, 10**6, 2**62, None) + (() if "LD_PRELOAD" in os.environ else (2**44,))
OTHER_TYPE = {
    np.dtype(np.float64): np.float32,
    np.dtype(np.float32): np.float64,
    np.dtype(np.int32): np.int64,
    np.dtype(np.int64): np.int32,
    np.dtype(np.uint8): np.int32,
}


def wrong_arrays(given: np.ndarray[Any, Any]) -> dict[str, Any]:
    """An array in many wrong forms."""
    if given.size == 0:  # there is nothing to be short of
        return {"of another type": given.astype(OTHER_TYPE[given.dtype]), "nothing": None, "text": "text"}
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


def replaced(arguments: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """The arguments with another value at a path of names; that of the first where there is a list of objects."""
    name, _, rest = path.partition(".")
    given = arguments[name]
    if rest and isinstance(given, list):
        return arguments | {name: [replace(given[0], arguments=replaced(given[0].arguments, rest, value)), *given[1:]]}
    if rest:
        value = replace(given, arguments=replaced(given.arguments, rest, value))
    return arguments | {name: value}


def outcome(name: str, path: str = "", value: Any = None) -> tuple[str, dict[str, Any]]:
    """Whether a call with another value at some path is refused, and what all its arguments are then."""
    function, arguments = calls()[name]
    arguments = replaced(arguments, path, value) if path else arguments
    try:
        function(**{argument: made(given) for argument, given in arguments.items()})
    except (TypeError, ValueError, MemoryError):
        return "refused", arguments
    return "accepted", arguments


def leaves(arguments: dict[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Paths and values of all arguments, those of objects among them."""
    for name, given in arguments.items():
        objects = given if isinstance(given, list) else [given]
        if objects and isinstance(objects[0], Parts):
            yield from leaves(objects[0].arguments, f"{before}{name}.")
        yield before + name, given


def arrays_of(arguments: dict[str, Any]) -> list[Any]:
    return [value for _, value in leaves(arguments) if isinstance(value, np.ndarray)]


def try_array(name: str, argument: str, given: np.ndarray[Any, Any]) -> None:
    for what, value in wrong_arrays(given).items():
        say(name, argument, what, outcome(name, argument, value)[0])
    for what, value in strided_arrays(given).items():
        came, after = outcome(name, argument, value)
        if came == "accepted":
            _, plain = outcome(name)
            pairs = zip(arrays_of(after), arrays_of(plain), strict=True)
            came = "accepted" if all(np.array_equal(a, b, equal_nan=True) for a, b in pairs) else "differs"
        say(name, argument, what, came)
    if given.dtype.kind == "i" and len(given):
        for what, value in {"one too large": 10**6, "one negative": -7}.items():
            other = given.copy()
            other[len(other) // 2] = value
            say(name, argument, what, outcome(name, argument, other)[0])
    if given.dtype.kind == "f":
        for what in ("nan", "inf"):
            say(name, argument, what, outcome(name, argument, np.full_like(given, float(what)))[0])


def try_object(name: str, argument: str, given: Any) -> None:
    """No object, an object of another class, and, where it is one of a list, another number of them."""
    other = compiled.PanelsRows(N, D, 1)
    for what, value in {"nothing": None, "text": "text", "another object": other}.items():
        say(name, argument, what, outcome(name, argument, [value] if isinstance(given, list) else value)[0])
    if isinstance(given, list):
        say(name, argument, "empty", outcome(name, argument, [])[0])
        coarse = replace(given[0], arguments=given[0].arguments | {"rows_each": 65})
        say(name, argument, "another length", outcome(name, argument, [coarse, *given])[0])
        say(name, argument, "twice", outcome(name, argument, given * 2)[0])


def say(name: str, argument: str, what: str, came: str) -> None:
    print(f"{name}|{argument}|{what}|{came}", flush=True)


def main(version: str) -> None:
    kernels.use(version)
    for name, (_, arguments) in calls().items():
        say(name, "", "as it should be", outcome(name)[0])
        for argument, given in leaves(arguments):
            if isinstance(given, np.ndarray):
                try_array(name, argument, given)
            elif isinstance(given, Parts) or (isinstance(given, list) and given and isinstance(given[0], Parts)):
                try_object(name, argument, given)
            elif isinstance(given, list):
                for value in ([], [*given, 10**6], [-1], [0], given[::-1]):
                    say(name, argument, f"list {value}", outcome(name, argument, value)[0])
            elif isinstance(given, int):
                for value in NUMBERS:
                    say(name, argument, f"number {value}", outcome(name, argument, value)[0])
    print("done")


if __name__ == "__main__":
    main(*sys.argv[1:])
