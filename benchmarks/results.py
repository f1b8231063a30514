"""Results as values: kept in a file, shown as Markdown."""

import json
import math
import re
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Row:
    """One contestant on one workload."""

    name: str
    is_peer: bool
    same_model: bool = True
    seconds_per_iteration: float | None = None
    iterations: int | None = None
    seconds: float | None = None
    stopped: bool = False
    """Whether the time limit ended it."""
    log_likelihood: float | None = None
    reached: dict[str, float] = field(default_factory=dict)
    """kmle: the seconds after which it had the final likelihood of each peer; those never reached are left out."""
    memory: float | None = None
    note: str = ""
    error: str = ""


@dataclass(frozen=True)
class Result:
    """One workload."""

    name: str
    title: str
    shape: tuple[int, ...]
    n_components: int
    quick: bool
    measured: str
    """When, with how many threads, and how busy the machine was before."""
    complete: bool
    """Whether likelihoods are complete ones."""
    rows: list[Row]

    def peer_iteration(self) -> Row | None:
        """The peer with the cheapest iteration."""
        done = [row for row in self.rows if row.is_peer and row.seconds_per_iteration is not None]
        return min(done, key=lambda row: row.seconds_per_iteration or 0.0, default=None)

    def quickest_peer(self) -> Row | None:
        """The peer that came first to its own end with the same model."""
        done = [row for row in self.rows if row.is_peer and row.same_model and row.seconds is not None]
        return min(done, key=lambda row: row.seconds or 0.0, default=None)

    def ahead(self, row: Row) -> set[str]:
        """In what a peer is ahead of every compiled variant of kmle: "iteration", "seconds", "likelihood", "memory"."""
        own = [other for other in self.rows if not other.is_peer and not other.error and "NumPy" not in other.name]
        soft = [other for other in own if "hard" not in other.name] or own
        if not row.is_peer or row.error or not own:
            return set()
        if row.log_likelihood is None:
            finished = [other.seconds for other in soft]
        else:
            finished = [other.reached.get(row.name) for other in own]
        reached = [seconds for seconds in finished if seconds is not None]
        better = {
            "iteration": _below(row.seconds_per_iteration, [other.seconds_per_iteration for other in soft]),
            "seconds": row.same_model and bool(reached) and _below(row.seconds, finished),
            "likelihood": row.log_likelihood is not None and bool(self.rows) and not reached,
            "memory": _below(row.memory, [other.memory for other in own]),
        }
        return {name for name, is_better in better.items() if is_better}

    def compared(self) -> list[Row]:
        """The peers whose likelihood kmle is to reach."""
        return [row for row in self.rows if row.is_peer and row.log_likelihood is not None]

    def quickest_to(self, peer: Row) -> tuple[Row, float] | None:
        """The variant of kmle that first had a peer's likelihood, and when."""
        times = [(row, row.reached[peer.name]) for row in self.rows if peer.name in row.reached]
        return min(times, key=lambda pair: pair[1], default=None)

    def hardest_peer(self) -> Row | None:
        """The peer against which kmle looks worst: the least ratio of its time to kmle's time to its likelihood."""

        def ratio(peer: Row) -> float:
            quickest = self.quickest_to(peer)
            return 0.0 if quickest is None or peer.seconds is None else peer.seconds / quickest[1]

        return min(self.compared(), key=ratio, default=None)

    def highest_peer(self) -> Row | None:
        """The peer with the highest likelihood."""
        return max(self.compared(), key=lambda row: row.log_likelihood or 0.0, default=None)

    def least_ratio(self, own: Row) -> float | None:
        """How many times sooner than a peer this variant of kmle has its likelihood: the worst case over the peers."""
        ratios = [
            peer.seconds / own.reached[peer.name] if peer.seconds and peer.name in own.reached else None
            for peer in self.compared()
        ]
        return None if not ratios or None in ratios else min(ratio for ratio in ratios if ratio is not None)

    def ours(self, name: str) -> Row | None:
        """A variant of kmle."""
        return next((row for row in self.rows if row.name == name and not row.error), None)


def _below(value: float | None, others: list[float | None]) -> bool:
    known = [other for other in others if other is not None]
    return value is not None and bool(known) and value < min(known)


@dataclass
class Book:
    """All results of one machine so far."""

    machine: dict[str, str] = field(default_factory=dict)
    limits: list[dict[str, Any]] = field(default_factory=list)
    """The machine's own limits and what part of them the dense pass reaches."""
    results: dict[str, Result] = field(default_factory=dict)
    structures: list[dict[str, Any]] = field(default_factory=list)
    """Proximity structures against the dense pass."""
    text: list[dict[str, Any]] = field(default_factory=list)
    """Default fits of sparse text."""
    ablation: list[dict[str, Any]] = field(default_factory=list)
    """Whole fits by every engine against the dense one."""

    @staticmethod
    def read(path: Path) -> "Book":
        """From a file; an empty book if there is none."""
        if not path.exists():
            return Book()
        content = json.loads(path.read_text(encoding="utf-8"))
        results = {
            name: Result(**(entry | {"rows": [Row(**row) for row in entry["rows"]], "shape": tuple(entry["shape"])}))
            for name, entry in content["results"].items()
        }
        later = {name: content.get(name, []) for name in ("structures", "text", "ablation")}
        return Book(content["machine"], content["limits"], results, **later)

    def write(self, path: Path) -> None:
        """Into a file."""
        path.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")

    def add(self, result: Result) -> None:
        """Takes a result; one of quick sizes never replaces one of full sizes."""
        before = self.results.get(result.name)
        if before is None or before.quick or not result.quick:
            self.results[result.name] = result

    def in_order(self) -> list[Result]:
        """W1, W1out, W1raw, W2, ... W10, W50, ... Wadult."""

        def place(result: Result) -> tuple[float, str]:
            number = re.match(r"W(\d+)", result.name)
            return (float(number[1]) if number else math.inf), result.name

        return sorted(self.results.values(), key=place)
