"""The table of covariance models beside mclust: time, and candidates below its likelihoods.

    python -m benchmarks.covariance_models iris faithful 20000x6

Needs R with the package mclust (r-cran-mclust). Data sets are those of scikit-learn and `benchmarks/data`, or simulated
ones as rows x columns. Both run in turns; seconds are medians.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from kmle import select
from kmle.families.structured_gaussian import MODELS_OF_ONE_COLUMN, structure_of

SIZES = range(1, 10)
TURNS = 3
# A candidate is below mclust's where its log-likelihood is lower by more, in nats.
BELOW = 0.01
SCRIPT = """
suppressMessages(library(mclust))
X <- as.matrix(read.csv(commandArgs(TRUE)[1], header = FALSE))
if (ncol(X) == 1) X <- X[, 1]
d <- if (is.null(dim(X))) 1 else ncol(X)
n <- length(X) / d
began <- proc.time()[3]
B <- mclustBIC(X, 1:9, verbose = FALSE)
cat("seconds", proc.time()[3] - began, "\\n")
for (m in colnames(B)) for (k in rownames(B)) if (!is.na(B[k, m]))
  cat(m, k, format((B[k, m] + nMclustParams(m, d, as.integer(k)) * log(n)) / 2, digits = 12), "\\n")
"""


def rows_of(name: str) -> np.ndarray:
    """A data set by its name."""
    if name == "iris":
        from sklearn.datasets import load_iris

        return np.asarray(load_iris().data)
    if "x" in name and name.replace("x", "").isdigit():
        n, d = map(int, name.split("x"))
        rng = np.random.default_rng(5)
        which = rng.integers(4, size=n)
        axes = 0.6 * rng.standard_normal((4, d, d))
        return 3 * rng.standard_normal((4, d))[which] + np.einsum(
            "ni,nij->nj", rng.standard_normal((n, d)), axes[which]
        )
    path = Path(__file__).parent / "data" / f"{name}.csv"
    return np.atleast_2d(np.genfromtxt(path, delimiter=",", skip_header=1).T).T


def of_mclust(X: np.ndarray) -> tuple[float, dict[tuple[str, int], float]]:
    """Seconds, and log-likelihoods by model and number of components."""
    with tempfile.TemporaryDirectory() as folder:
        script, table = Path(folder) / "models.R", Path(folder) / "rows.csv"
        script.write_text(SCRIPT, encoding="utf-8")
        np.savetxt(table, X, delimiter=",")
        done = subprocess.run(["Rscript", script, table], capture_output=True, text=True, check=True)
    lines = [line.split() for line in done.stdout.splitlines()]
    found = {(MODELS_OF_ONE_COLUMN.get(m, m), int(k)): float(value) for m, k, value in lines[1:]}
    return float(lines[0][1]), found


def of_kmle(X: np.ndarray) -> tuple[float, dict[tuple[str, int], float]]:
    """The same of `select`, without prior and resolution, which mclust has not."""
    began = time.perf_counter()
    table = select(X, "gaussians", SIZES, prior_strength=0, resolution=None, random_state=0)
    seconds = time.perf_counter() - began
    fits = [(c, c.fit) for c in table.candidates if c.fit is not None]
    return seconds, {(str(structure_of(c.family)), int(c.n_components or 0)): f.log_likelihood for c, f in fits}


def compared(name: str) -> str:
    """One line: the seconds of both, and the candidates that are below or missing."""
    X = rows_of(name)
    theirs, ours = [], []
    for _ in range(TURNS):
        theirs.append(of_mclust(X))
        ours.append(of_kmle(X))
    known, found = theirs[0][1], ours[0][1]
    below = {
        key: round(found[key] - value, 2) for key, value in known.items() if key in found and found[key] < value - BELOW
    }
    missing = sorted(set(known) - set(found))
    seconds = [statistics.median(second for second, _ in runs) for runs in (theirs, ours)]
    return (
        f"{name} {X.shape[0]} x {X.shape[1]}: mclust {seconds[0]:.3f} s, kmle {seconds[1]:.3f} s, "
        f"{len(known)} candidates, below: {below or 'none'}, missing: {missing or 'none'}"
    )


if __name__ == "__main__":
    for word in sys.argv[1:] or ("iris", "faithful", "galaxies"):
        print(compared(word), flush=True)
