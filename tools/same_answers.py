"""Labels and objectives of many fits, to be compared before and after a change that should not alter them.

    PYTHONPATH=tests:. python tools/same_answers.py before.json          writes them
    PYTHONPATH=tests:. python tools/same_answers.py after.json before.json   writes and compares them

The fits: the benchmark's workloads W1 to W10 in their quick sizes, and 50 random problems of every family in
`tests/cases.py`. Components may come in another order, so labels are numbered by their first rows.
"""

import hashlib
import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.workloads import WORKLOADS

from cases import CASES
from kmle import KMLE, ExponentialFamilyMixture

PROBLEMS = 50
WORKLOAD_NAMES = [f"W{number}" for number in range(1, 11)]
# What single rounding errors may do to an objective, relative to its size.
TOLERANCE = 1e-9


def outcome(model: Any) -> dict[str, Any]:
    """A digest of the labels and the objective of a fit."""
    _, first, labels = np.unique(model.labels_, return_index=True, return_inverse=True)
    by_first_row = np.argsort(np.argsort(first))[labels].astype(np.int32)
    return {"labels": hashlib.sha256(by_first_row.tobytes()).hexdigest()[:16], "objective": float(model.objective_)}


def workload_fits() -> dict[str, Any]:
    fits = {}
    for workload in (WORKLOADS[name] for name in WORKLOAD_NAMES):
        rows = workload.data(quick=True)
        settings = {"family": workload.family, "n_init": 1, "init": "k-mle++", "random_state": 0, "max_iter": 20}
        for kind in (KMLE, ExponentialFamilyMixture):
            fits[f"{workload.name} {kind.__name__}"] = outcome(kind(workload.n_components, **settings).fit(rows))
    return fits


def random_fits() -> dict[str, Any]:
    fits = {}
    for case in CASES:
        for number in range(PROBLEMS):
            rng = np.random.default_rng(number)
            k = int(rng.integers(2, 5))
            natural = case.naturals(k, seed=number)
            rows = np.concatenate([case.sample(theta, int(rng.integers(20, 60)), number) for theta in natural])
            kind = (KMLE, ExponentialFamilyMixture)[number % 2]
            starts: dict[str, Any] = {"n_init": 1, "init": "k-mle++"} if number % 4 < 2 else {}
            model = kind(k, family=case.family, random_state=number, **starts)
            fits[f"{case.id} {number}"] = outcome(model.fit(rows))
    return fits


def differences(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Sentences on the fits that differ."""
    found = [f"{name}: only in one of the two" for name in sorted(before.keys() ^ after.keys())]
    for name in sorted(before.keys() & after.keys()):
        old, new = before[name], after[name]
        if old["labels"] != new["labels"]:
            found.append(f"{name}: other labels (objective {old['objective']:.9g}, now {new['objective']:.9g})")
        elif abs(old["objective"] - new["objective"]) > TOLERANCE * max(1.0, abs(old["objective"])):
            found.append(f"{name}: objective {old['objective']!r}, now {new['objective']!r}")
    return found


def main(written: str, compared: str | None = None) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fits = workload_fits() | random_fits()
    Path(written).write_text(json.dumps(fits, indent=1), encoding="utf-8")
    if compared is None:
        print(f"{len(fits)} fits written")
        return 0
    found = differences(json.loads(Path(compared).read_text(encoding="utf-8")), fits)
    print("\n".join(found) or f"{len(fits)} fits are the same")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
