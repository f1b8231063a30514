"""The two pictures of docs/benchmarks.md."""

from pathlib import Path
from typing import Any

from .results import Book, Result

# Okabe and Ito's colours: told apart by everyone; the markers differ too.
STYLES = {
    "hard": ("#0072B2", "o"),
    "hard float32": ("#56B4E9", "s"),
    "soft": ("#D55E00", "^"),
    "hard then soft": ("#009E73", "D"),
    "hard NumPy": ("#CC79A7", "v"),
    "soft NumPy": ("#E69F00", "<"),
    "k-means": ("#0072B2", "o"),
    "k-means float32": ("#56B4E9", "s"),
}
LABELS = {"k-means": "hard", "k-means float32": "hard float32"}
PEER_COLOUR = "#999999"


def iteration_ratios(result: Result) -> tuple[dict[str, float], list[float]]:
    """How many times cheaper than the best peer's an iteration of kmle is; and of the other peers."""
    best = result.peer_iteration()
    if best is None or best.seconds_per_iteration is None:
        return {}, []
    timed = [row for row in result.rows if row.seconds_per_iteration]
    ratios = {row.name: best.seconds_per_iteration / (row.seconds_per_iteration or 1.0) for row in timed}
    ours = {row.name.removeprefix("kmle "): ratios[row.name] for row in timed if not row.is_peer}
    ours.pop("hard then soft", None)  # its iterations are the soft ones
    return ours, [ratios[row.name] for row in timed if row.is_peer]


def reach_ratios(result: Result) -> tuple[dict[str, float], list[float]]:
    """How many times sooner than the peers kmle has their likelihood, for the peer it does worst with."""
    ratios = {row.name.removeprefix("kmle "): result.least_ratio(row) for row in result.rows if not row.is_peer}
    return {name: ratio for name, ratio in ratios.items() if ratio is not None}, []


def draw_ratios(book: Book, path: Path) -> None:
    """Ratios to the best peer, one line for each workload."""
    from matplotlib.figure import Figure

    results = book.in_order()[::-1]
    figure = Figure(figsize=(11, 1.9 + 0.42 * len(results)), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    titles = ("one iteration", "to a peer's final likelihood (the hardest peer)")
    for axes, ratios_of, title in zip(panels, (iteration_ratios, reach_ratios), titles, strict=True):
        shown: set[str] = set()
        for place, result in enumerate(results):
            ours, peers = ratios_of(result)
            axes.plot(peers, [place] * len(peers), "|", color=PEER_COLOUR, markersize=11, markeredgewidth=1.6)
            for name, ratio in ours.items():
                if name not in STYLES:
                    continue
                colour, marker = STYLES[name]
                label = LABELS.get(name, name)
                axes.plot(
                    ratio, place, marker, color=colour, markersize=7, markeredgecolor="white",
                    label=None if label in shown else f"kmle {label}",
                )  # fmt: skip
                shown.add(label)
        axes.axvline(1, color="#444444", linewidth=1)
        axes.set_xscale("log")
        axes.set_title(title, fontsize=11)
        axes.set_xlabel("times faster")
        axes.grid(axis="x", which="major", color="#dddddd")
        axes.set_axisbelow(True)
        axes.set_yticks(range(len(results)), [r.name + (" (quick)" if r.quick else "") for r in results])
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
    handles, labels = panels[0].get_legend_handles_labels()
    more_handles, more_labels = panels[1].get_legend_handles_labels()
    legend = dict(zip([*labels, *more_labels], [*handles, *more_handles], strict=True))
    (peer,) = panels[0].plot([], [], "|", color=PEER_COLOUR, markersize=11, markeredgewidth=1.6)
    legend["peers"] = peer
    figure.legend(legend.values(), legend.keys(), loc="outside lower center", ncols=4, frameon=False)
    figure.savefig(path, dpi=130)


def draw_scaling(measured: dict[str, Any], path: Path) -> None:
    """Time of a dense pass against n, k and d, with the machine's limits."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4), layout="constrained")
    words = {"n": "rows n", "k": "components k", "d": "dimensions d"}
    for axes, (name, grid) in zip(figure.subplots(1, 3, sharey=True), measured["grids"].items(), strict=True):
        products, memory = [], []
        for value in grid:
            n, k, d = (measured["base"] | {name: value}).values()
            products.append(2 * n * k * (d * (d + 3) // 2) / measured["gemm"])
            memory.append(8 * n * d / measured["bandwidth"])
        axes.loglog(grid, measured["seconds"][name], "o-", color="#0072B2", label="a dense hard pass of kmle")
        axes.loglog(grid, products, "--", color="#D55E00", label="its products at the rate of a large matrix product")
        axes.loglog(grid, memory, ":", color="#009E73", linewidth=2, label="reading the rows once from memory")
        held = ", ".join(f"{other} = {value:,}" for other, value in measured["base"].items() if other != name)
        axes.set_title(held.replace(",000", " 000"), fontsize=10)
        axes.set_xlabel(words[name])
        axes.grid(which="major", color="#dddddd")
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
    first = figure.axes[0]
    first.set_ylabel("seconds")
    figure.suptitle(f"Full Gaussians, float64, {measured['n_threads']} threads", fontsize=11)
    figure.legend(*first.get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(path, dpi=130)
