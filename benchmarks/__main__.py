"""`python -m benchmarks`: runs the workloads, writes the table and the pictures of docs/benchmarks.md."""

import argparse
import sys
from importlib.util import find_spec
from pathlib import Path

from . import charts, machine
from .ablation import ablation
from .harness import CONTESTANTS, Settings, measure
from .limits import limits, scaling
from .markdown import ablation_section, page_part, put_into, text_section, workload_section
from .results import Book
from .structures import structures
from .text import text
from .workloads import WORKLOADS

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "benchmarks.md"
PICTURES = ROOT / "docs" / "pictures"
BOOKS = Path(__file__).with_name("measured")
OTHER_PARTS = ("Wtext", "ablation", "limits", "structures", "scaling")


def arguments(given: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="sizes about sixteen times smaller")
    parser.add_argument("--only", metavar="W1,W3", help=f"some of {', '.join([*WORKLOADS, *OTHER_PARTS])}")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each contestant; medians are shown")
    parser.add_argument("--time-limit", type=float, default=60.0, metavar="SECONDS", help="for one run of a contestant")
    parser.add_argument("--threads", type=int, default=machine.cores(), help="for every contestant")
    parser.add_argument(
        "--competitors", metavar="'scikit-learn,kmle hard'", help="only these, by the names in the tables"
    )
    parser.add_argument("--no-peers", action="store_true", help="kmle alone")
    parser.add_argument("--no-memory", action="store_true", help="leave out the peak memory")
    parser.add_argument("--no-write", action="store_true", help="show the tables and write no file")
    chosen = parser.parse_args(given)
    chosen.parts = chosen.only.split(",") if chosen.only else [*WORKLOADS, *OTHER_PARTS]
    unknown = [part for part in chosen.parts if part not in (*WORKLOADS, *OTHER_PARTS)]
    if unknown:
        parser.error(f"there is no {', '.join(unknown)}; choose from {', '.join([*WORKLOADS, *OTHER_PARTS])}")
    chosen.names = tuple(chosen.competitors.split(",")) if chosen.competitors else None
    unknown = [name for name in chosen.names or () if name not in CONTESTANTS]
    if unknown:
        parser.error(f"there is no {', '.join(unknown)}; choose from {', '.join(CONTESTANTS)}")
    return chosen


def main(given: list[str] | None = None) -> int:
    chosen = arguments(given)
    settings = Settings(
        quick=chosen.quick,
        repeats=chosen.repeats,
        time_limit=chosen.time_limit,
        n_threads=chosen.threads,
        competitors=chosen.names,
        peers=not chosen.no_peers,
        memory=not chosen.no_memory,
    )
    book = Book() if chosen.no_write else Book.read(file_of(machine.processor()))
    book.machine = machine.description(settings.n_threads)
    for name, value in book.machine.items():
        print(f"{name}: {value}")
    for name in (part for part in chosen.parts if part in WORKLOADS):
        try:
            result = measure(WORKLOADS[name], settings)
        except ModuleNotFoundError as error:
            print(f"\n{name} is left out: {error}", flush=True)
            continue
        print("\n" + workload_section(result), flush=True)
        book.add(result)
        if not chosen.no_write:
            write(book)
    if "Wtext" in chosen.parts:
        book.text = text(settings.quick, settings.n_threads, settings.repeats)
        print("\n" + text_section(book), flush=True)
    if "ablation" in chosen.parts:
        book.ablation = ablation(settings.quick, settings.n_threads, settings.repeats, memory=settings.memory)
        print("\n" + ablation_section(book), flush=True)
    if "limits" in chosen.parts:
        book.limits = limits(settings.quick, settings.n_threads)
        print(*book.limits, sep="\n", flush=True)
    if "structures" in chosen.parts:
        book.structures = structures(settings.quick, settings.n_threads)
        print(*book.structures, sep="\n", flush=True)
    if not chosen.no_write:
        write(book)
    if "scaling" in chosen.parts and not chosen.no_write and drawable():
        charts.draw_scaling(scaling(settings.quick, settings.n_threads), PICTURES / "scaling.png")
    return 0


def drawable() -> bool:
    """Whether pictures can be drawn; says so when not."""
    if find_spec("matplotlib") is None:
        print("matplotlib is not installed: the pictures stay as they are", file=sys.stderr)
        return False
    return True


def file_of(processor: str) -> Path:
    """Where the results of a machine are kept."""
    return BOOKS / f"{machine.short_name(processor)}.json"


def write(book: Book) -> None:
    """The results so far: kept, on the page beside those of other machines, and as a picture."""
    processor = book.machine["Processor"]
    book.write(file_of(processor))
    books = [Book.read(path) for path in sorted(BOOKS.glob("*.json"))]
    put_into(PAGE, page_part(books))
    if drawable():
        charts.draw_ratios(book, PICTURES / f"benchmarks-{machine.short_name(processor)}.png")


if __name__ == "__main__":
    sys.exit(main())
