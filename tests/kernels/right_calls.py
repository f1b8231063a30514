"""Every function of the compiled module and arguments it accepts; wrong_calls.py changes them one by one."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from kmle import _kernels as kernels
from kmle._kernels import _compiled as compiled  # type: ignore[attr-defined]

N, D, K = 200, 2, 3
STATISTICS = D + D * (D + 1) // 2
WIDTH, SPANS = 16, -(-N // 64)


@dataclass
class Parts:
    """An object of the module that is an argument: what makes it, and of what."""

    make: Any
    arguments: dict[str, Any]


def made(value: Any) -> Any:
    """What a call is given for an argument."""
    if isinstance(value, Parts):
        return value.make(**{name: made(part) for name, part in value.arguments.items()})
    return [made(part) for part in value] if isinstance(value, list) else value


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


def totals(order: int = STATISTICS) -> Parts:
    return Parts(compiled.Totals, {"counts": np.zeros(K), "sums": np.zeros((K, order))})


def row_scores() -> Parts:
    numbers = {name: np.zeros(N) for name in ("log_sums", "tops")}
    return Parts(compiled.RowScores, numbers | {name: np.zeros((N, K)) for name in ("shares", "scores")})


def clusters(order: int = STATISTICS) -> Parts:
    sizes = np.bincount(labels()).astype(np.int64)
    return Parts(compiled.Clusters, {"labels": labels(), "sizes": sizes, **totals(order).arguments})


def form() -> Any:
    parts = np.zeros((K, D)), np.ones((K, D)), np.zeros(K), np.zeros((K, 0))
    return compiled.CenteredForm(*parts, list(range(D)), [], [False] * D)


def gaussians() -> Parts:
    shapes = np.zeros((K, D)), np.tile(np.eye(D), (K, 1, 1))
    return Parts(compiled.Gaussians, {"mean": shapes[0], "covariance": shapes[1], "log_weights": np.zeros(K)})


def expected() -> Parts:
    return Parts(compiled.Expected, {"counts": np.zeros(K), "delta": np.zeros((K, D)), "scatter": np.zeros((K, D, D))})


def patterns() -> Parts:
    ends, holes = np.array([120, N]), np.array([[0, 1], [1, 0]], np.uint8)
    return Parts(
        compiled.PatternRows, {"columns": D, "ends": ends, "holes": holes, "weights": np.ones(N), "threads": 2}
    )


def packed_patterns() -> Any:
    rows = made(patterns())
    rows.load(0, drawn())
    return rows


def tailed() -> Parts:
    lines = {"degrees": np.full(K, 3.0), "constant": np.zeros(K)}
    return Parts(compiled.Tailed, {"location": np.zeros((K, D)), "whitening": np.ones((K, D * (D + 1) // 2)), **lines})


def balls() -> Parts:
    anchors, radii = np.zeros(SPANS, np.int32), np.ones(SPANS, np.float32)
    centers, scale = np.zeros((K, STATISTICS)), np.ones(STATISTICS)
    return Parts(
        compiled.Balls, {"rows_each": 64, "centers": centers, "anchors": anchors, "radii": radii, "scale": scale}
    )


def bounds() -> Parts:
    margin_bounds, limits = np.full((SPANS, WIDTH), -np.inf, np.float32), np.full(SPANS, -np.inf)
    return Parts(compiled.MarginBounds, {"margin_bounds": margin_bounds, "limits": limits, "balls": balls()})


def step() -> Parts:
    lines = {name: np.zeros((K, WIDTH), np.float32) for name in ("change", "apart", "gained", "reached")}
    return Parts(compiled.Step, {**lines, "rounding": 1e-6, "most_gained": np.zeros(K), "most_apart": np.zeros(K)})


def level() -> Parts:
    boxes = {"centers": np.zeros((SPANS, D)), "halves": np.full((SPANS, D), 9.0)}
    return Parts(compiled.Level, {"rows_each": 64, **boxes, "totals": np.zeros((SPANS, STATISTICS + 1))})


def boxes() -> Parts:
    return Parts(compiled.Boxes, {"levels": [level()]})


def candidates() -> Parts:
    names = np.tile(np.arange(K, dtype=np.int32), SPANS)
    return Parts(compiled.Candidates, {"starts": np.arange(SPANS + 1) * K, "names": names})


def group_labels() -> Parts:
    return Parts(compiled.GroupLabels, {"owners": np.full(SPANS, -1, np.int32), "rows": labels()})


def sorted_line() -> dict[str, Any]:
    line = np.sort(drawn()[:, 0])
    rows = compiled.PackedRows64(N, 1, 1, None, 2)
    rows.load(0, line[:, None])
    return {"packed": rows, "line": line, "starts": [0, 50, N]}


def buckets(steps: int) -> Any:
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


def panels() -> Any:
    rows = compiled.PanelsRows(N, D, 2)
    rows.load(0, drawn())
    return rows


def panels_model() -> Parts:
    factors = {"factors": np.tile(np.eye(D), (K, 1, 1)), "shifts": np.zeros((K, D)), "constants": np.zeros(K)}
    return Parts(compiled.PanelsModel, with_threads(**factors))


def table() -> Parts:
    return Parts(compiled.CenteredTable, {"rows": drawn(), "center": np.zeros(D)})


def members() -> Parts:
    places = np.arange(N, dtype=np.int32)
    return Parts(compiled.Members, {"places": places, "components": labels(), "shares": np.ones(N)})


def step_setting() -> Parts:
    arguments = with_threads(
        prior_moment=np.zeros(STATISTICS),
        largest=np.ones(STATISTICS),
        spread=np.zeros(D),
        center=np.zeros(D),
        prior_strength=0.0,
        prior_top=0.0,
        smallest=1e-9,
        rounding=1e-12,
        spread_rounding=1e-6,
        far=1.0,
        variances=np.zeros(0),
        held=np.zeros(K),
    )
    return Parts(compiled.StepSetting, arguments)


def mixture_step() -> Parts:
    tables = {name: np.zeros((2, K)) for name in ("log_weights", "weights_beyond", "bias")}
    naturals = {name: np.zeros((2 * K, STATISTICS)) for name in ("natural", "beyond")}
    return Parts(compiled.MixtureStep, tables | naturals | {"penalty": np.zeros(2), "size": np.zeros(2)})


def mixtures() -> Parts:
    tables = {name: np.ones((2, K)) for name in ("log_weights", "counts", "weights_before")}
    naturals = {name: np.tile([0.0, 0.0, -0.5, 0.0, -0.5], (2 * K, 1)) for name in ("natural", "before")}
    sums = {"sums": np.tile([0.0, 0.0, 1.0, 0.1, 1.0], (2 * K, 1))}
    numbers = {"objective": np.zeros(2), "gain": np.ones(2), "streak": np.zeros(2, np.int64)}
    return Parts(compiled.Mixtures, tables | naturals | sums | numbers)


def pace() -> Parts:
    whole = {"steps": 2, "later": 0, "kept": K}
    names = ("cost", "limit", "least", "converged", "patience", "delay", "largest_factor", "offset")
    numbers = dict.fromkeys((*names, "most_rounding", "work_at_once"), 1.0)
    return Parts(compiled.Pace, whole | numbers | {"limit": 1e9, "most_rounding": 1e9, "least": -1e9})


def climb_setting() -> Parts:
    numbers = dict.fromkeys(("prior_strength", "prior_top", "sum_log_carrier"), 0.0)
    limits = {"smallest": 1e-9, "rounding": 1e-12, "score_error": 1e-3, "arrived": 1e-9, "recent": 4}
    moment, largest = np.array([0.0, 0.0, 1.0, 0.0, 1.0]), np.ones(STATISTICS)
    lines = {"prior_moment": moment, "largest": largest, "spread": np.zeros(D)}
    return Parts(
        compiled.ClimbSetting, lines | numbers | limits | {"delay": 1.5, "largest_factor": 0.99, "hard": False}
    )


def climb_state() -> Parts:
    tables = {name: np.tile([0.0, 0.0, 1.0, 0.1, 1.0], (2 * K, 1)) for name in ("sums", "sums_before")}
    counts = {name: np.ones((2, K)) for name in ("log_weights", "counts", "counts_before")}
    lines = {"objective": np.full(2, -1e9), "streak": np.zeros(2), "models": np.array([0, 13], dtype=np.int32)}
    natural = np.tile([0.0, 0.0, -0.5, 0.0, -0.5], (2 * K, 1))
    return Parts(compiled.ClimbState, tables | counts | lines | {"natural": natural})


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
            {
                "table": x,
                "shift": np.zeros(D),
                "places": np.arange(N, dtype=np.int32),
                "lowest": np.zeros(D),
                "highest": np.zeros(D),
            },
        ),
        "PackedRows64.column": (packed(0, 1).column, {}),
        "PackedRows64.measure": (packed(0, 1).measure, {}),
        "PackedRows64.work": (packed().work, {}),
        "PackedRows64.largest": (packed().largest, {"out": np.zeros(D)}),
        "PackedRows64.hard_pass": (
            packed().hard_pass,
            {**model(), "clusters": clusters(), "margins": np.zeros(N, np.float32), "centered": form()},
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
        "PackedRows64.boxes_pass": (
            packed().boxes_pass,
            {
                **model(),
                "boxes": boxes(),
                "candidates": candidates(),
                "before": group_labels(),
                "after": group_labels(),
                "totals": totals(),
            },
        ),
        "PackedRows64.bounds_pass": (
            packed().bounds_pass,
            {**model(), "clusters": clusters(), "margins": np.zeros(N, np.float32), "bounds": bounds(), "step": step()},
        ),
        "PackedRows64.bounds_log_likelihood": (
            packed().bounds_log_likelihood,
            {**model(), "labels": labels(), "bounds": bounds(), "step": step()},
        ),
        "PackedRows64.measure_balls": (
            packed().measure_balls,
            {"balls": balls(), "every": 1, "squares": np.zeros(STATISTICS)},
        ),
        "PackedRows64.soft_passes": (
            packed().soft_passes,
            {**model(), "mixtures": 1, "kept": K, "totals": totals(), "scores": np.zeros(1), "centered": form()},
        ),
        "PackedRows64.gaussian_steps": (
            packed().gaussian_steps,
            {"mixtures": mixtures(), "setting": step_setting(), "pace": pace(), "work": 0.0},
        ),
        "PackedRows64.climb": (
            packed().climb,
            {
                "setting": climb_setting(),
                "state": climb_state(),
                "history": np.zeros((2, 5)),
                "made": np.zeros(2, np.int32),
                "reached": np.zeros(2, np.uint8),
            },
        ),
        "ClimbSetting": (compiled.ClimbSetting, climb_setting().arguments),
        "ClimbState": (compiled.ClimbState, climb_state().arguments),
        "Gaussians": (compiled.Gaussians, gaussians().arguments),
        "Expected": (compiled.Expected, expected().arguments),
        "PatternRows": (compiled.PatternRows, patterns().arguments),
        "PatternRows.load": (made(patterns()).load, {"first": 0, "rows": drawn()}),
        "PatternRows.work": (packed_patterns().work, {}),
        "PatternRows.soft_passes": (
            packed_patterns().soft_passes,
            {"gaussians": gaussians(), "mixtures": 1, "kept": K, "expected": expected(), "scores": np.zeros(1)},
        ),
        "PatternRows.hard_pass": (
            packed_patterns().hard_pass,
            {"gaussians": gaussians(), "labels": labels(), "expected": expected(), "fits": np.zeros(K)},
        ),
        "PatternRows.fits": (
            packed_patterns().fits,
            {"gaussians": gaussians(), "labels": labels(), "fits": np.zeros(K)},
        ),
        "PatternRows.log_likelihood": (packed_patterns().log_likelihood, {"gaussians": gaussians()}),
        "PatternRows.row_scores": (packed_patterns().row_scores, {"gaussians": gaussians(), "out": row_scores()}),
        "PackedRows64.tails_pass": (
            packed(0).tails_pass,
            {"components": tailed(), "kept": K, "labels": labels(), "sums": np.zeros((K, 3 + STATISTICS))},
        ),
        "PackedRows64.tails_own_scores": (
            packed(0).tails_own_scores,
            {"components": tailed(), "labels": labels(), "totals": np.zeros(K)},
        ),
        "PackedRows64.log_likelihood": (packed().log_likelihood, {**model(), "centered": form()}),
        "PackedRows64.row_scores": (
            packed().row_scores,
            {**model(), "centered": form(), "by_differences": False, "out": row_scores()},
        ),
        "PackedRows64.label_rows": (packed().label_rows, {**model(), "labels": labels(), "centered": form()}),
        "PackedRows64.label_table": (
            packed().label_table,
            {
                "table": x,
                "shift": np.zeros(D),
                **model(),
                "labels": labels(),
                "centered": form(),
                "lowest": np.zeros(D),
                "highest": np.zeros(D),
            },
        ),
        "PackedRows64.own_scores": (
            packed().own_scores,
            {"labels": labels(), "centered": form(), "totals": np.zeros(K)},
        ),
        "PackedRows64.label_sums": (packed().label_sums, {"labels": labels(), "totals": totals()}),
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
        "SortedRows.hard_pass": (compiled.SortedRows(**sorted_line()).hard_pass, {**model(2), "totals": totals(2)}),
        "Buckets": (compiled.Buckets, {"borders": np.array([-1.0, 0.0, 1.0]), "rows": N, "rows_a_block": 64}),
        "Buckets.count": (buckets(0).count, {"first": 0, "values": column[:64]}),
        "Buckets.lay_out": (buckets(1).lay_out, {}),
        "Buckets.place": (
            buckets(2).place,
            {
                "first": 0,
                "values": column[:64],
                "weights": np.ones(64),
                "line": np.zeros(N),
                "line_weights": np.zeros(N),
            },
        ),
        "Buckets.finish": (buckets(3).finish, with_threads(line=np.zeros(N), weights=np.zeros(N))),
        "SparseRows64": (
            compiled.SparseRows64,
            with_threads(**sparse_arrays(), n_columns=D, weights=np.ones(N)),
        ),
        "SparseRows64.hard_pass": (sparse().hard_pass, {**model(D), "clusters": clusters(D)}),
        "SparseRows64.best": (sparse().best, {**model(D), "labels": labels()}),
        "SparseRows64.row_scores": (sparse().row_scores, {**model(D), "out": row_scores()}),
        "SparseRows64.log_likelihood": (sparse().log_likelihood, model(D)),
        "SparseRows64.soft_pass": (sparse().soft_pass, {**model(D), "kept": K, "totals": totals(D)}),
        "SparseRows64.label_sums": (sparse().label_sums, {"labels": labels(), "totals": totals(D)}),
        "PanelsRows": (compiled.PanelsRows, with_threads(rows=N, columns=D)),
        "PanelsRows.load": (panels().load, {"first": 0, "rows": x}),
        "PanelsRows.hard_pass": (panels().hard_pass, {"model": panels_model(), "labels": labels()}),
        "PanelsRows.row_scores": (
            panels().row_scores,
            {"model": panels_model(), "labels": labels(), "out": row_scores(), "entropies": np.zeros(N)},
        ),
        "PanelsRows.soft_pass": (
            panels().soft_pass,
            {
                "model": panels_model(),
                "labels": labels(),
                "table": table(),
                "weights": np.ones(N),
                "kept": K,
                "totals": totals(),
            },
        ),
    }
    functions = {
        "summarize_columns64": with_threads(table=x, lowest=np.zeros(D), highest=np.zeros(D), totals=np.zeros(D)),
        "score_table64": with_threads(
            table=x,
            shift=np.zeros(D),
            **model(D),
            labels=labels(),
            out=row_scores(),
            lowest=np.zeros(D),
            highest=np.zeros(D),
        ),
        "tabulate64": with_threads(values=whole, low=0.0, weights=np.ones(N), counts=np.zeros(9)),
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
        "product_sums": with_threads(table=table(), members=members(), totals=totals()),
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
        "structured_natural": with_threads(
            models=np.array([0, 13], dtype=np.int32),
            counts=np.ones((2, K)),
            moments=np.tile([0.0, 0.0, 1.0, 0.1, 1.0], (2 * K, 1)),
            before=np.tile([0.0, 0.0, -0.5, 0.0, -0.5], (2 * K, 1)),
            spread=np.zeros(D),
            smallest=1e-9,
            rounding=1e-12,
            natural=np.zeros((2 * K, STATISTICS)),
            safe=np.zeros(2, np.uint8),
        ),
        "gaussian_step": {
            "counts": np.ones((2, K)),
            "sums": np.tile([0.0, 0.0, 1.0, 0.1, 1.0], (2 * K, 1)),
            "before": np.tile([0.0, 0.0, -0.5, 0.0, -0.5], (2 * K, 1)),
            "weights_before": np.zeros((2, K)),
            "factors": np.zeros(2),
            "setting": step_setting(),
            "out": mixture_step(),
        },
        "add_drift": with_threads(
            moved=np.zeros((STATISTICS, K)),
            lifted=np.zeros(K),
            balls=balls(),
            step=step(),
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
    objects = {
        "Totals": totals(),
        "Tailed": tailed(),
        "Clusters": clusters(),
        "RowScores": row_scores(),
        "Balls": balls(),
        "MarginBounds": bounds(),
        "Step": step(),
        "Level": level(),
        "Boxes": boxes(),
        "Candidates": candidates(),
        "GroupLabels": group_labels(),
        "PanelsModel": panels_model(),
        "CenteredTable": table(),
        "Members": members(),
        "StepSetting": step_setting(),
        "MixtureStep": mixture_step(),
        "Mixtures": mixtures(),
        "Pace": pace(),
    }
    by_name = {name: (getattr(compiled, name), arguments) for name, arguments in functions.items()}
    return by_class | by_name | {name: (parts.make, parts.arguments) for name, parts in objects.items()}
