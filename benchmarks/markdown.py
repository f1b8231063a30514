"""Results as Markdown."""

from pathlib import Path
from typing import Any

from .machine import short_name
from .results import Book, Result, Row

OPENING, CLOSING = "<!-- results -->", "<!-- end of results -->"
EMPTY = "-"


def seconds_text(seconds: float | None) -> str:
    """Three digits, in the unit that reads best."""
    if seconds is None:
        return EMPTY
    for factor, unit in ((1, "s"), (1e3, "ms")):
        if seconds * factor >= 1:
            return f"{significant(seconds * factor)} {unit}"
    return f"{significant(seconds * 1e6)} µs"


def significant(number: float) -> str:
    """Three significant digits, never in powers of ten."""
    return f"{number:.0f}" if number >= 100 else f"{number:.3g}"


def ratio_text(peer: float | None, own: float | None) -> str:
    return f"{significant(peer / own)}x" if peer and own else EMPTY


def bold_below_one(peer: float | None, own: float | None) -> str:
    """The ratio, bold where the peer is ahead."""
    return bold(ratio_text(peer, own), bool(peer and own and peer < own))


def bold(text: str, chosen: bool) -> str:
    """The text, bold where chosen: a number in which a peer is ahead."""
    return f"**{text}**" if chosen and text != EMPTY else text


def table(header: list[str], rows: list[list[str]]) -> str:
    """A Markdown table: the first column and notes to the left, numbers to the right."""
    lines = [header, ["---", *["---" if name == "notes" else "---:" for name in header[1:]]], *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def row_cells(row: Row, result: Result) -> list[str]:
    """A contestant's line."""
    name = f"**{row.name}**" if not row.is_peer else row.name
    if row.error:
        return [name, *[EMPTY] * 6, row.error.replace("|", "/")]
    end = seconds_text(row.seconds)
    notes = [row.note] if row.note else []
    if row.stopped:
        end = f"> {end}"
        notes.insert(0, f"stopped by the time limit after {row.iterations} iterations")
    if row.is_peer:
        quickest = result.quickest_to(row)
        there = None if quickest is None else quickest[1]
        notes += [] if quickest is None else [f"reached by {quickest[0].name}"]
    else:
        highest = result.highest_peer()
        there = None if highest is None else row.reached.get(highest.name)
    likelihood = EMPTY if row.log_likelihood is None else f"{row.log_likelihood:.4f}"
    memory = EMPTY if row.memory is None else f"{row.memory:.0f} MB"
    ahead = result.ahead(row)
    return [
        name,
        bold(seconds_text(row.seconds_per_iteration), "iteration" in ahead),
        str(row.iterations),
        bold(end, "seconds" in ahead),
        bold(likelihood, "likelihood" in ahead),
        seconds_text(there),
        bold(memory, "memory" in ahead),
        "; ".join(notes),
    ]


def workload_section(result: Result) -> str:
    """One workload: a heading and one line for each contestant."""
    n, d = result.shape
    size = f"{n:,}".replace(",", " ") + f" x {d} ({8e-6 * n * d:.0f} MB), k = {result.n_components}"
    quick = ", quick sizes" if result.quick else ""
    likelihood = "complete log-likelihood" if result.complete else "log-likelihood"
    header = [
        "contestant",
        "an iteration",
        "iterations",
        "to the end",
        likelihood,
        "kmle to there",
        "memory beside the data",
        "notes",
    ]
    return f"#### {result.name}: {result.title}\n\n{size}{quick}; {result.measured}.\n\n" + table(
        header, [row_cells(row, result) for row in result.rows]
    )


def summary(book: Book) -> str:
    """The ratios: best peer to kmle."""
    lines = []
    for result in book.in_order():
        iteration, hardest = result.peer_iteration(), result.hardest_peer()
        quickest = None if hardest is None else result.quickest_to(hardest)
        if hardest is None:
            hardest, soft = result.quickest_peer(), result.ours("kmle soft")
            quickest = None if hardest is None or soft is None or soft.seconds is None else (soft, soft.seconds)
        each = None if iteration is None else iteration.seconds_per_iteration
        variants = [
            result.ours("kmle k-means") or result.ours("kmle hard"),
            result.ours("kmle k-means float32") or result.ours("kmle hard float32"),
            result.ours("kmle soft"),
        ]
        ratios = [bold_below_one(each, row.seconds_per_iteration if row else None) for row in variants]
        name = f"{result.name} (quick)" if result.quick else result.name
        lines.append(
            [
                name,
                f"{iteration.name}, {seconds_text(each)}" if iteration else EMPTY,
                *ratios,
                f"{hardest.name}, {seconds_text(hardest.seconds)}" if hardest else EMPTY,
                f"{quickest[0].name}, {seconds_text(quickest[1])}" if quickest else EMPTY,
                bold_below_one(hardest.seconds, quickest[1]) if hardest and quickest else EMPTY,
            ]
        )
    header = ["workload", "cheapest iteration of a peer", "hard", "hard float32", "soft"]
    return table([*header, "hardest peer to its end", "kmle to the same likelihood", "ratio"], lines)


def limits_section(book: Book) -> str:
    """How close the dense pass comes to what the machine can do."""
    if not book.limits:
        return ""
    rows = [
        [
            entry["name"],
            entry["type"],
            seconds_text(entry["seconds"]),
            f"{entry['rate'] / 1e9:.0f} Gflop/s",
            f"{entry['gemm'] / 1e9:.0f} Gflop/s",
            f"{100 * entry['rate'] / entry['gemm']:.0f} %",
        ]
        for entry in book.limits
    ]
    sizes = " (quick sizes)" if any(entry["quick"] for entry in book.limits) else ""
    header = ["workload", "type", "a hard pass", "its rate", "large matrix product", "part of it"]
    return f"#### Against the machine{sizes}\n\n" + table(header, rows)


def structures_section(book: Book) -> str:
    """Where a proximity structure pays."""
    if not book.structures:
        return ""
    names = list(book.structures[0]["seconds"])
    rows = []
    for entry in book.structures:
        dense, *others = (entry["seconds"][name] for name in names)
        shown = [f"{seconds_text(other)} ({ratio_text(dense, other)})" for other in others]
        rows.append([entry["case"], str(entry["components"]), seconds_text(dense), *shown])
    size = f"{book.structures[0]['rows']:,}".replace(",", " ")
    message = f"A hard pass over {size} rows; in brackets, how many times faster than dense."
    return f"#### Many components\n\n{message}\n\n" + table(["model", "components", *names], rows)


def text_section(book: Book) -> str:
    """Default fits of sparse text; where the peer is ahead of the same model, its numbers are bold."""
    if not book.text:
        return ""
    by_name = {entry["contestant"]: entry for entry in book.text}
    peer, own = by_name["scikit-learn k-means"], by_name["kmle k-means"]
    rows = []
    for entry in book.text:
        ahead = {name for name in ("seconds", "megabytes", "inertia") if entry is peer and peer[name] < own[name]}
        shown = {
            "seconds": seconds_text(entry["seconds"]),
            "megabytes": f"{entry['megabytes']:.0f} MB",
            "inertia": "" if entry["inertia"] is None else f"{entry['inertia']:.0f}",
        }
        message = [f"**{value}**" if name in ahead else value for name, value in shown.items()]
        rows.append([entry["contestant"], entry["rows"], message[0], str(entry["iterations"]), message[1], message[2]])
    n, d = peer["shape"]
    sizes = " (quick sizes)" if peer["quick"] else ""
    intro = f"Default fits of {n} documents of {d} words, {peer['stored']} stored entries, 20 components, with starts."
    header = ["contestant", "rows", "a fit", "iterations", "peak memory beside the data", "inertia"]
    return f"#### Wtext: sparse text{sizes}\n\n{intro}\n\n" + table(header, rows)


def ablation_section(book: Book) -> str:
    """Every engine against the dense one."""
    if not book.ablation:
        return ""
    sizes = " (quick sizes)" if any(entry["quick"] for entry in book.ablation) else ""
    intro = (
        "Whole fits from the same start: seconds, how many times faster than dense (bold where slower), and memory "
        'beside the data. All engines make the same labels, or the cell says so. "auto" names its choice.'
    )
    return f"#### Engines against dense{sizes}\n\n{intro}\n\n" + ablation_table(book.ablation)


def ablation_table(entries: list[dict[str, Any]]) -> str:
    """One line for each workload and kind of fit, one column for each engine."""
    by_line: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}
    for entry in entries:
        by_line.setdefault((entry["case"], entry["kind"]), {})[entry["engine"]] = entry
    # In the order of the line that has most of them: some engines take only some data.
    engines = list(max(by_line.values(), key=len))
    engines += [name for name in dict.fromkeys(entry["engine"] for entry in entries) if name not in engines]
    rows = []
    for (case, kind), found in by_line.items():
        dense = found["dense"]
        cells = [engine_cell(found.get(engine), dense) for engine in engines]
        rows.append([f"{case}, {kind}", str(dense["iterations"]), *cells])
    return table(["workload", "iterations", *engines], rows)


def engine_cell(entry: dict[str, Any] | None, dense: dict[str, Any]) -> str:
    """Seconds, the ratio to dense and memory of one engine's fit."""
    if entry is None:
        return EMPTY
    parts = [seconds_text(entry["seconds"])]
    if entry["engine"] != "dense":
        parts[0] += f" ({bold_below_one(dense['seconds'], entry['seconds'])})"
    parts += [] if entry["megabytes"] is None else [f"{entry['megabytes']:.0f} MB"]
    parts += [] if entry["same"] else ["**other labels**"]
    parts += [entry["chosen"]] if entry["engine"] == "auto" else []
    return ", ".join(parts)


def page_part(books: list[Book]) -> str:
    """Everything between the markers: machine by machine."""
    return "\n\n".join(map(machine_section, books))


def machine_section(book: Book) -> str:
    """All that was measured on one machine."""
    processor = book.machine["Processor"]
    facts = "\n".join(f"- {name}: {value}" for name, value in book.machine.items() if name != "Processor")
    image = f"![How many times faster than the best peer](pictures/benchmarks-{short_name(processor)}.png)"
    parts = [f"### On {processor}", facts, image, summary(book), *map(workload_section, book.in_order())]
    parts += [text_section(book), ablation_section(book), limits_section(book), structures_section(book)]
    return "\n\n".join(part for part in parts if part)


def put_into(page: Path, text: str) -> None:
    """Replaces what stands between the markers of a page."""
    before, opening, rest = page.read_text(encoding="utf-8").partition(OPENING)
    _, closing, after = rest.partition(CLOSING)
    if not opening or not closing:
        raise ValueError(f"{page.name} has lost its markers {OPENING} and {CLOSING}: put them back around the results")
    page.write_text(f"{before}{OPENING}\n\n{text}\n\n{CLOSING}{after}", encoding="utf-8")
