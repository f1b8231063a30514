"""How often does a default fit find the best optimum known?

    python -m benchmarks.optima                    # three seeds of every cell, a few minutes
    python -m benchmarks.optima --reference        # first the best of 200 starts for each cell, an hour
    python -m benchmarks.optima --left             # also: how much more 10 000 further steps would gain

Cells are data sets with a family and a number of components (`benchmarks/cells.py`). The best objectives known are kept
in `benchmarks/best_known.json`, which a better fit improves. Everything is seeded.
"""

import argparse
import sys
import time
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.mixture import GaussianMixture

from kmle import ExponentialFamilyMixture, Mixture
from kmle.algorithms import Fit, HardEM, SoftEM, run

from .cells import CELLS, GAUSSIANS, Cell
from .references import FILE, MODELS, Reference, problem_of, read, reference, write
from .regular import is_regular

# A cell is missed where a fit ends this far below the best known, in nats.
MISSED = 0.5
TARGETS = {"em": 0.05, "k-mle": 0.10}
FURTHER_STEPS = 10_000


@dataclass(frozen=True)
class Outcome:
    """A default fit of a cell."""

    cell: Cell
    kind: str
    seed: int
    objective: float
    regular: bool
    seconds: float
    peer: float | None
    """The objective that scikit-learn's default start leads to."""
    left: float | None

    def behind(self, best: float) -> bool:
        return self.objective < best - MISSED


def fitted(cell: Cell, kind: str, seed: int, peers: bool, left: bool) -> Outcome:
    began = time.perf_counter()
    fit = MODELS[kind](cell.k, family=cell.model_family(), random_state=seed).fit(cell.X).result_
    seconds = time.perf_counter() - began
    peer = peer_objective(cell, seed) if peers and kind == "em" and cell.covariance_type else None
    more = left_to_gain(cell, kind, fit) if left else None
    return Outcome(cell, kind, seed, fit.objective, is_regular(fit.mixture, cell.X), seconds, peer, more)


def peer_objective(cell: Cell, seed: int) -> float:
    """Our objective of scikit-learn's solution after our EM goes on from it, so that all have the same prior."""
    theirs = GaussianMixture(cell.k, covariance_type=cell.covariance_type, random_state=seed).fit(cell.X)
    name = {"full": "covariance", "diag": "variance", "spherical": "variance"}[str(cell.covariance_type)]
    parameters = {"mean": theirs.means_, name: theirs.covariances_}
    start = Mixture.from_source(GAUSSIANS[str(cell.covariance_type)], theirs.weights_, **parameters)
    model = ExponentialFamilyMixture(cell.k, family=cell.model_family(), init=start)
    return float(model.fit(cell.X).result_.objective)


def left_to_gain(cell: Cell, kind: str, fit: Fit) -> float:
    """What many further steps gain."""
    problem = problem_of(cell, kind)
    algorithm = HardEM() if kind == "k-mle" else SoftEM()
    further = run(algorithm, problem, problem.from_mixture(fit.mixture), max_iter=FURTHER_STEPS, tol=0.0)
    return further.objective - fit.objective


def report(outcomes: list[Outcome], references: dict[str, Reference], kind: str) -> list[str]:
    """Shares of cells that are missed, time, and the worst cells."""
    own = [outcome for outcome in outcomes if outcome.kind == kind]
    seeds = len({outcome.seed for outcome in own})
    best = {outcome: references[str(outcome.cell)] for outcome in own}
    missed = [o for o in own if o.behind(best[o].regular.get(kind, -np.inf))]
    absolute = [o for o in own if o.behind(best[o].best[kind])]
    lines = [
        f"{kind}: {len(own) // seeds} cells, {seeds} seeds, {sum(o.seconds for o in own) / seeds:.1f} s for all cells",
        f"  missed the best regular optimum known: {share(missed, own)} (target {100 * TARGETS[kind]:.0f} %)",
        f"  missed the best of any kind: {share(absolute, own)}; with a narrow component or one of few rows: "
        f"{share([o for o in own if not o.regular], own)}",
    ]
    peers = [o for o in own if o.peer is not None]
    if peers:
        behind = [o for o in peers if o.peer is not None and o.behind(o.peer)]
        lines.append(f"  below scikit-learn's default: {share(behind, peers)}")
    lines += left_lines([o.left for o in own if o.left is not None])
    gaps = sorted(((best[o].regular[kind] - o.objective, o) for o in missed), key=lambda gap: -gap[0])
    return lines + [f"  {gap:9.2f} nats below: {o.cell}, seed {o.seed}" for gap, o in gaps[:25]]


def share(some: list[Outcome], of: list[Outcome]) -> str:
    return f"{len(some)} of {len(of)} ({100 * len(some) / max(1, len(of)):.1f} %)"


def left_lines(left: list[float]) -> list[str]:
    if not left:
        return []
    quantiles = np.quantile(left, [0.5, 0.9, 0.99, 1.0])
    message = ", ".join(f"{value:.3g}" for value in quantiles)
    over = sum(value > 0.1 for value in left)
    return [f"  left to gain, nats (median, 90 %, 99 %, most): {message}; more than 0.1 in {over} of {len(left)}"]


def measure(cells: Iterable[Cell], given: argparse.Namespace, references: dict[str, Reference]) -> list[Outcome]:
    outcomes = []
    for cell in cells:
        if str(cell) not in references or given.reference:
            began = time.perf_counter()
            known = references.setdefault(str(cell), Reference())
            known.merge(reference(cell, given.reference_seed))
            print(f"{cell}: {time.perf_counter() - began:.1f} s for the reference", file=sys.stderr, flush=True)
        for kind in given.kinds.split(","):
            for seed in range(given.first_seed, given.first_seed + given.seeds):
                outcome = fitted(cell, kind, seed, not given.no_peers, given.left)
                references[str(cell)].improve(kind, outcome.objective, outcome.regular, f"default, seed {seed}")
                outcomes.append(outcome)
    return outcomes


def arguments(given: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.optima", description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--kinds", default="em,k-mle")
    parser.add_argument("--only", default="", help="cells whose names contain this")
    parser.add_argument("--reference", action="store_true", help="the best of 200 further starts for each cell first")
    parser.add_argument("--reference-seed", type=int, default=0)
    parser.add_argument("--left", action="store_true", help="how much further steps would gain")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--no-write", action="store_true", help="leave the best known as they are")
    parser.add_argument("--file", type=Path, default=FILE)
    return parser.parse_args(given)


def main(given: list[str] | None = None) -> int:
    chosen = arguments(given)
    references = read(chosen.file)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outcomes = measure([cell for cell in CELLS if chosen.only in str(cell)], chosen, references)
    if not chosen.no_write:
        write(references, chosen.file)
    for kind in chosen.kinds.split(","):
        print(*report(outcomes, references, kind), sep="\n", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
